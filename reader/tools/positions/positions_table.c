/*
 * Prints positions as text and as JSON. Runs, threads and positions are numbered from 1 in text and from 0 in JSON.
 *
 * SPDX-License-Identifier: MIT
 */
#define _GNU_SOURCE 1
#include "reader/tools/positions/positions_table.h"

#include <math.h>
#include <string.h>

static bool counts(const struct positions_table *table)
{
    return table->info.clock == TBED_CLOCK_USER;
}

/* ---- Text ---- */

static void put_figure(const struct positions_table *table, double value)
{
    char buffer[32];
    if (counts(table))
        tool_format_count(buffer, (uint64_t)(value + 0.5));
    else
        tool_format_time(buffer, value, table->resolution_ns);
    compare_put_column("", buffer);
}

static void put_point(enum tbed_point_kind kind, const char *label)
{
    static const char *const verbs[] = {"", " begins", " ends", ""};
    if (kind == TBED_POINT_NONE) {
        fputs("the end", stdout);
        return;
    }
    tool_print_text(stdout, label, strlen(label), 0);
    fputs(verbs[kind], stdout);
}

static void put_divergence(const struct positions_table *table, size_t run)
{
    const struct tbed_divergence *divergence = tbed_positions_divergence(table->positions, run);
    char buffer[32];
    if (!divergence->differs)
        return;
    fputs(tool_red(), stdout);
    tool_print_text(stdout, tool_path(table->paths[run]), strlen(tool_path(table->paths[run])), 0);
    printf(": differs from the first run in thread %zu from position %s on: ", divergence->thread + 1,
           tool_format_count(buffer, divergence->number + 1));
    put_point(divergence->found, divergence->found_label);
    fputs(" instead of ", stdout);
    put_point(divergence->expected, divergence->expected_label);
    printf("%s\n", tool_plain());
}

static void put_head(const struct positions_table *table)
{
    char buffer[32];
    size_t threads = tbed_positions_thread_count(table->positions);
    printf("%s%zu run%s%s: ", tool_bold(), table->run_count, table->run_count == 1 ? "" : "s", tool_plain());
    printf("%s position%s in %zu thread%s %s the same in all runs%s\n",
           tool_format_count(buffer, table->row_count), table->row_count == 1 ? "" : "s", threads,
           threads == 1 ? "" : "s", table->row_count == 1 ? "is" : "are",
           tool_filter_is_given(&table->options->filter) ? " (only a part of each)" : "");
    for (size_t run = 0; run < table->run_count; run++)
        put_divergence(table, run);
}

static void put_row(const struct positions_table *table, const struct positions_row *row)
{
    struct tbed_position position;
    char buffer[32];
    tbed_positions_get(table->positions, row->thread, row->number, &position);
    double deviation = sqrt(position.variance);
    put_figure(table, position.mean);
    if (table->run_count > 1) {
        put_figure(table, deviation);
        snprintf(buffer, sizeof buffer, "%.1f %%", position.mean > 0 ? 100 * deviation / position.mean : 0);
        compare_put_column("", buffer);
    } else {
        compare_put_column("", "-");
        compare_put_column("", "-");
    }
    put_figure(table, (double)position.min);
    put_figure(table, (double)position.max);
    printf(" %6zu %9s  ", row->thread + 1, tool_format_count(buffer, row->number + 1));
    put_point(position.from, position.from_label);
    fputs(" to ", stdout);
    put_point(position.to, position.to_label);
    if (position.inside != NULL) {
        printf("  %s[in ", tool_dim());
        tool_print_text(stdout, position.inside, strlen(position.inside), 0);
        printf("]%s", tool_plain());
    }
    putchar('\n');
}

void positions_print_text(const struct positions_table *table)
{
    static const char *const headings[] = {"mean", "std dev", "cv", "min", "max"};
    put_head(table);
    if (table->row_count == 0)
        return;
    printf("\n%s", tool_bold());
    for (size_t i = 0; i < sizeof headings / sizeof headings[0]; i++)
        printf("%*s", COMPARE_COLUMN_WIDTH, headings[i]);
    printf(" thread  position  interval%s\n", tool_plain());
    for (size_t i = 0; i < table->row_shown && !tool_output_failed(); i++)
        put_row(table, &table->rows[i]);
    compare_put_rest(table->row_shown, table->row_count, "positions");
}

/* ---- JSON ---- */

/* 'key' is NULL in an array. */
static void json_point(struct tbed_json *json, const char *key, enum tbed_point_kind kind, const char *label)
{
    static const char *const kinds[] = {"", "begin", "end", "instant"};
    struct tbed_id_info unknown = {0};
    if (kind == TBED_POINT_NONE) {
        tbed_json_null(json, key);
        return;
    }
    tbed_json_object_open(json, key);
    tbed_json_string(json, "type", kinds[kind]);
    tool_json_known_name(json, label, strlen(label), &unknown);
    tbed_json_object_close(json);
}

static void json_run(struct tbed_json *json, const struct positions_table *table, size_t run)
{
    const struct tbed_divergence *divergence = tbed_positions_divergence(table->positions, run);
    tbed_json_object_open(json, NULL);
    tbed_json_string(json, "file", tool_path(table->paths[run]));
    tool_filter_json(json, &table->options->filter, &table->windows[run]);
    if (divergence->differs) {
        tbed_json_object_open(json, "differs");
        tbed_json_u64(json, "thread", divergence->thread);
        tbed_json_u64(json, "position", divergence->number);
        json_point(json, "expected", divergence->expected, divergence->expected_label);
        json_point(json, "found", divergence->found, divergence->found_label);
        tbed_json_object_close(json);
    } else {
        tbed_json_null(json, "differs");
    }
    tbed_json_object_close(json);
}

static void json_row(struct tbed_json *json, const struct positions_table *table,
                     const struct positions_row *row)
{
    const char *unit = counts(table) ? "ticks" : "ns";
    struct tbed_position position;
    char key[32];
    tbed_positions_get(table->positions, row->thread, row->number, &position);
    tbed_json_object_open(json, NULL);
    tbed_json_u64(json, "thread", row->thread);
    tbed_json_u64(json, "position", row->number);
    json_point(json, "from", position.from, position.from_label);
    json_point(json, "to", position.to, position.to_label);
    if (position.inside != NULL)
        tbed_json_text(json, "inside", position.inside, strlen(position.inside));
    else
        tbed_json_null(json, "inside");
    snprintf(key, sizeof key, "mean_%s", unit);
    tbed_json_f64(json, key, position.mean);
    snprintf(key, sizeof key, "standard_deviation_%s", unit);
    tbed_json_f64(json, key, sqrt(position.variance));
    snprintf(key, sizeof key, "min_%s", unit);
    tbed_json_u64(json, key, position.min);
    snprintf(key, sizeof key, "max_%s", unit);
    tbed_json_u64(json, key, position.max);
    tbed_json_object_close(json);
}

void positions_print_json(const struct positions_table *table)
{
    struct tbed_json json = {.out = stdout};
    tbed_json_object_open(&json, NULL);
    tbed_json_u64(&json, "run_count", table->run_count);
    tbed_json_array_open(&json, "runs");
    for (size_t run = 0; run < table->run_count; run++)
        json_run(&json, table, run);
    tbed_json_array_close(&json);
    tbed_json_u64(&json, "position_count", table->row_count);
    tbed_json_array_open(&json, "rows");
    for (size_t i = 0; i < table->row_shown && !tool_output_failed(); i++)
        json_row(&json, table, &table->rows[i]);
    tbed_json_array_close(&json);
    tbed_json_object_open(&json, "left_out");
    tbed_json_u64(&json, "rows", table->row_count - table->row_shown);
    tbed_json_object_close(&json);
    tbed_json_object_close(&json);
    tbed_json_line(&json);
}
