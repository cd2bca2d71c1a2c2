/*
 * tracebed aggregate --positions: reads the runs one after the other, and collects the positions that they share.
 *
 * SPDX-License-Identifier: MIT
 */
#define _GNU_SOURCE 1
#include "reader/tools/positions/positions_table.h"

#include <math.h>
#include <stdlib.h>
#include <string.h>

static bool counts(const struct tbed_trace_info *info)
{
    return info->clock == TBED_CLOCK_USER;
}

static bool goes_with_first(const struct positions_table *table, size_t run,
                            const struct tbed_trace_info *info)
{
    const struct tbed_trace_info *first = &table->info;
    if (counts(first) == counts(info) && (!counts(first) || strcmp(first->clock_unit, info->clock_unit) == 0))
        return true;
    tool_complain("%s and %s count different things: cannot compare them", tool_path(table->paths[0]),
                  tool_path(table->paths[run]));
    return false;
}

static int add_reader(struct positions_table *table, size_t run, struct tbed_reader *reader,
                      struct tool_places *places)
{
    struct tbed_stacks_options options = {.size = sizeof options,
                                          .name = tool_places_name,
                                          .name_context = places,
                                          .prepare = tool_places_prepare};
    struct tool_filter *filter = &table->options->filter;
    struct tbed_trace_info info;
    tbed_reader_info(reader, &info);
    if (run == 0)
        table->info = info;
    if (!goes_with_first(table, run, &info))
        return TOOL_TROUBLE;
    table->resolution_ns = fmax(table->resolution_ns, tbed_tick_span_to_ns(reader, info.resolution_ticks));
    int exit = tool_filter_open(filter, table->paths[run], reader, places, table->options->jobs);
    if (exit >= 0)
        return exit;
    table->windows[run] = filter->window;
    options.filter = filter->filter;
    enum tbed_status status = tbed_positions_add(table->positions, reader, &options);
    if (status == TBED_OK)
        return -1;
    tool_complain("%s: %s", tool_path(table->paths[run]), tbed_status_text(status));
    return TOOL_TROUBLE;
}

/* Returns -1, or the exit status after a complaint. */
static int add_run(struct positions_table *table, size_t run)
{
    struct tbed_reader *reader = tool_open(table->paths[run]);
    struct tool_places places;
    if (reader == NULL)
        return TOOL_TROUBLE;
    tool_places_open(&places, reader, TBED_NAME_ALL);
    int exit = add_reader(table, run, reader, &places);
    if (exit < 0) {
        tool_tell_damage(table->paths[run], reader);
        table->is_damaged |= tool_damage_count(reader) > 0;
    }
    tool_filter_end(&table->options->filter);
    tool_places_close(&places);
    tbed_reader_close(reader);
    return exit;
}

/* ---- Rows ---- */

static void collect_rows(struct positions_table *table)
{
    for (size_t i = 0; i < tbed_positions_thread_count(table->positions); i++)
        table->row_count += tbed_positions_count(table->positions, i);
    table->rows = tool_realloc(NULL, (table->row_count + 1) * sizeof *table->rows);
    table->row_count = 0;
    for (size_t i = 0; i < tbed_positions_thread_count(table->positions); i++)
        for (size_t k = 0; k < tbed_positions_count(table->positions, i); k++)
            table->rows[table->row_count++] = (struct positions_row){i, k};
}

static void fill_table(struct positions_table *table)
{
    bool is_time = table->info.clock != TBED_CLOCK_USER;
    collect_rows(table);
    table->clock = (struct table_clock){.is_time = is_time, .resolution_ns = table->resolution_ns};
    table->table = positions_columns;
    table->table.context = table;
    table->table.clock = &table->clock;
    table_fill(&table->table, table->rows, sizeof *table->rows, table->row_count, &table->options->sort,
               table->options->limit);
}

static void print(const struct positions_table *table)
{
    if (table->options->json)
        positions_print_json(table);
    else if (table->options->csv)
        compare_print_csv(&table->table, 1, 1, &table->options->columns);
    else
        positions_print_text(table);
}

int positions_aggregate(struct positions_table *table)
{
    struct tool_buffer intervals[2] = {{0}, {0}};
    int exit = -1;
    if (tbed_positions_open(&table->positions) != TBED_OK) {
        tool_complain("out of memory");
        return TOOL_TROUBLE;
    }
    table->intervals = intervals;
    table->windows = tool_realloc(NULL, table->run_count * sizeof *table->windows);
    for (size_t run = 0; run < table->run_count && exit < 0; run++)
        exit = add_run(table, run);
    if (exit < 0) {
        fill_table(table);
        print(table);
        exit = table->is_damaged ? TOOL_FOUND : TOOL_FINE;
    }
    compare_free_rows(&table->table, 1);
    free(table->rows);
    free(intervals[0].bytes);
    free(intervals[1].bytes);
    free(table->windows);
    tbed_positions_close(table->positions);
    return exit;
}
