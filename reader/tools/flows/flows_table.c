/*
 * The tables of `tracebed flows`: a row for each name, and for each part of its time.
 *
 * SPDX-License-Identifier: MIT
 */
#include "reader/tools/flows/flows_verb.h"

#include <stdlib.h>
#include <string.h>

/* ---- Columns ---- */

#define GETTER(getter, value) TABLE_GETTER(getter, flows_line, value)

static struct table_value time_of(const struct tbed_flow_row *row, uint64_t ticks)
{
    struct table_value value = table_value_of(ticks);
    value.is_unknown = row->count == 0;
    return value;
}

static struct table_value mean_of(const struct tbed_flow_row *row)
{
    struct table_value value = time_of(row, row->count > 0 ? row->total_ticks / row->count : 0);
    value.number = row->count > 0 ? (double)row->total_ticks / (double)row->count : 0;
    return value;
}

static struct table_value share_of(uint64_t ticks, uint64_t all)
{
    return (struct table_value){.is_unknown = all == 0,
                                .number = all > 0 ? 100 * (double)ticks / (double)all : 0};
}

GETTER(row_name, table_text_of(row->row->name, row->row->name_nbytes))
GETTER(row_kind, table_text_of(flows_kind(row->row->is_async), strlen(flows_kind(row->row->is_async))))
GETTER(row_count, table_value_of(row->row->count))
GETTER(row_total, table_value_of(row->row->total_ticks))
GETTER(row_mean, mean_of(row->row))
GETTER(row_min, time_of(row->row, row->row->min_ticks))
GETTER(row_p50, time_of(row->row, row->row->p50_ticks))
GETTER(row_p90, time_of(row->row, row->row->p90_ticks))
GETTER(row_p99, time_of(row->row, row->row->p99_ticks))
GETTER(row_max, time_of(row->row, row->row->max_ticks))
GETTER(row_running, table_value_of(row->row->running_ticks))
GETTER(row_waiting, table_value_of(row->row->waiting_ticks))
GETTER(row_share, share_of(row->row->waiting_ticks, row->row->total_ticks))
GETTER(row_open, table_value_of(row->row->open_count))
GETTER(row_lost, table_value_of(row->row->lost_end_count + row->row->lost_step_count))
GETTER(row_lost_ends, table_value_of(row->row->lost_end_count))
GETTER(row_lost_steps, table_value_of(row->row->lost_step_count))
GETTER(row_decreases, table_value_of(row->row->decrease_count))

GETTER(part_what, flows_what(row->part->is_waiting))
GETTER(part_span, table_text_of(row->part->name, row->part->name_nbytes))
GETTER(part_stream, table_value_of(row->part->stream))
GETTER(part_count, table_value_of(row->part->count))
GETTER(part_total, table_value_of(row->part->ticks))
GETTER(part_share, share_of(row->part->ticks, row->row->total_ticks))

static void row_name_json(struct tbed_json *json, const struct table *table, const void *of)
{
    const struct tbed_flow_row *row = ((const struct flows_line *)of)->row;
    const struct flows_verb *verb = table->context;
    tool_json_row_name(json, verb->trace.reader, row->id, TBED_NAME_ALL, row->name, row->name_nbytes);
}

/* A span, or null outside of all spans. */
static void part_span_json(struct tbed_json *json, const struct table *table, const void *of)
{
    const struct tbed_flow_part *part = ((const struct flows_line *)of)->part;
    (void)table;
    if (part->id == TBED_ID_INVALID)
        tbed_json_null(json, "span");
    else
        tbed_json_text(json, "span", part->name, part->name_nbytes);
}

static struct table_value part_thread(const struct table *table, const void *of)
{
    struct flows_verb *verb = (struct flows_verb *)table->context;
    return query_thread(&verb->trace, "thread ", ((const struct flows_line *)of)->part->stream);
}

static void show_span(const struct table *table, const void *of, struct tool_buffer *text)
{
    const struct tbed_flow_part *part = ((const struct flows_line *)of)->part;
    (void)table;
    if (part->id == TBED_ID_INVALID)
        tool_append(text, FLOWS_OUTSIDE, strlen(FLOWS_OUTSIDE));
    else
        tool_append(text, part->name, part->name_nbytes);
}

static const struct table_column row_columns[] = {
    {.key = "count", .unit = TABLE_COUNT, .get = row_count},
    {.key = "mean", .unit = TABLE_TICKS, .get = row_mean},
    {.key = "min", .unit = TABLE_DURATION, .get = row_min},
    {.key = "p50", .unit = TABLE_DURATION, .get = row_p50},
    {.key = "p90", .unit = TABLE_DURATION, .get = row_p90},
    {.key = "p99", .unit = TABLE_DURATION, .get = row_p99},
    {.key = "max", .unit = TABLE_DURATION, .get = row_max},
    {.key = "total", .unit = TABLE_TICKS, .get = row_total},
    {.key = "running", .unit = TABLE_TICKS, .get = row_running},
    {.key = "waiting", .unit = TABLE_TICKS, .get = row_waiting},
    {.key = "share", .title = "waiting %", .unit = TABLE_PERCENT, .get = row_share},
    {.key = "open", .field = "open_count", .unit = TABLE_COUNT, .get = row_open},
    {.key = "lost", .title = "no begin", .unit = TABLE_COUNT, .get = row_lost},
    {.key = "lost_ends", .field = "lost_end_count", .unit = TABLE_COUNT, .get = row_lost_ends},
    {.key = "lost_steps", .field = "lost_step_count", .unit = TABLE_COUNT, .get = row_lost_steps},
    {.key = "decreases", .field = "decrease_count", .unit = TABLE_COUNT, .get = row_decreases},
    {.key = "kind", .unit = TABLE_TEXT, .get = row_kind},
    {.key = "name", .unit = TABLE_TEXT, .get = row_name, .json = row_name_json},
};

static const struct table_column part_columns[] = {
    {.key = "total", .unit = TABLE_TICKS, .get = part_total},
    {.key = "share", .title = "%", .unit = TABLE_PERCENT, .get = part_share},
    {.key = "count", .unit = TABLE_COUNT, .get = part_count},
    {.key = "what", .unit = TABLE_TEXT, .get = part_what},
    {.key = "thread", .unit = TABLE_TEXT, .get = part_thread},
    {.key = "stream", .unit = TABLE_COUNT, .get = part_stream},
    {.key = "span", .unit = TABLE_TEXT, .get = part_span, .show = show_span, .json = part_span_json},
    {.key = "kind", .unit = TABLE_TEXT, .get = row_kind},
    {.key = "name", .unit = TABLE_TEXT, .get = row_name, .json = row_name_json},
};

#define COLUMNS(array) .columns = (array), .column_count = sizeof(array) / sizeof(array)[0]

/* ---- Tables ---- */

const struct table flows_tables[] = {
    {.key = "flows",
     .what = "flows",
     COLUMNS(row_columns),
     .text_columns = "count,mean,p50,p90,p99,max,share,open,lost,kind,name",
     .data_columns = "name,kind,count,mean,min,p50,p90,p99,max,total,running,waiting,open,lost_ends,"
                     "lost_steps,decreases"},
    {.key = "path",
     .what = "parts",
     COLUMNS(part_columns),
     .text_columns = "total,share,count,what,thread,span",
     .data_columns = "name,kind,what,stream,span,count,total,share"},
};

/* Where the lines of the name at 'from' end. */
static size_t name_end(const struct table *table, size_t from)
{
    const struct flows_line *const *lines = (const struct flows_line *const *)table->rows;
    size_t end = from;
    while (end < table->count && lines[end]->row == lines[from]->row)
        end++;
    return end;
}

/* All lines of a table, which the caller frees. Those of a path are sorted within each name. */
static struct flows_line *list(const struct flows_verb *verb, bool parts, struct table *table)
{
    static const struct table_keys as_given = {.count = 0};
    const struct table_keys *sort = &verb->query.sort;
    const struct tbed_flow_row *row;
    const struct tbed_flow_part *part;
    struct flows_line *lines = NULL;
    size_t count = 0;
    for (size_t i = 0; (row = tbed_flows_row(verb->flows, i)) != NULL; i++) {
        size_t more = parts ? row->part_count : 1;
        lines = tool_realloc(lines, (count + more + 1) * sizeof *lines);
        for (size_t k = 0; !parts ? k < 1 : (part = tbed_flows_part(verb->flows, i, k)) != NULL; k++)
            lines[count++] = (struct flows_line){row, parts ? part : NULL};
    }
    *table = flows_tables[parts];
    table->context = verb;
    table->file = tool_path(verb->trace.path);
    table->clock = &verb->trace.clock;
    table_fill(table, lines, sizeof *lines, count, parts ? &as_given : sort, SIZE_MAX);
    for (size_t from = 0, end; parts && from < count; from = end) {
        struct table path = *table;
        end = name_end(table, from);
        path.rows += from;
        path.count = path.shown = end - from;
        table_sort(&path, sort);
    }
    return lines;
}

/* ---- Text ---- */

static void put_rows(struct flows_verb *verb)
{
    struct table table;
    struct flows_line *lines = list(verb, false, &table);
    table_print_text(&table, &verb->query.columns);
    free(table.rows);
    free(lines);
}

static void put_path_of(struct flows_verb *verb, struct table *table, size_t from, size_t count)
{
    const struct tbed_flow_row *row = ((const struct flows_line *)table->rows[from])->row;
    struct table part = *table;
    char hidden[32];
    printf("\n%s", tool_bold());
    tool_print_text(stdout, row->name, row->name_nbytes, 0);
    printf("%s (%s)\n", tool_plain(), flows_kind(row->is_async));
    part.rows += from;
    part.count = part.shown = count < verb->limit ? count : verb->limit;
    table_print_text(&part, &verb->query.columns);
    if (part.shown < count)
        printf("%s more; --limit=N shows more\n", tool_format_count(hidden, count - part.shown));
}

static void put_path(struct flows_verb *verb)
{
    struct table table;
    struct flows_line *lines = list(verb, true, &table);
    bool is_shown = table_is_asked_for(&table, &verb->query.columns);
    for (size_t i = 0, end; is_shown && i < table.count && !tool_output_failed(); i = end) {
        end = name_end(&table, i);
        put_path_of(verb, &table, i, end - i);
    }
    free(table.rows);
    free(lines);
}

void flows_print_text(struct flows_verb *verb)
{
    if (tbed_flows_row(verb->flows, 0) == NULL) {
        tool_print_text(stdout, tool_path(verb->trace.path), strlen(tool_path(verb->trace.path)), 0);
        puts(": no flows and no asynchronous spans");
        return;
    }
    put_rows(verb);
    if (verb->parts)
        put_path(verb);
    if (verb->slowest)
        flows_put_slowest(verb);
}

/* ---- For programs ---- */

void flows_print_csv(struct flows_verb *verb)
{
    struct table table;
    const struct table *tables[] = {&table};
    if (verb->slowest) {
        flows_csv_slowest(verb);
        return;
    }
    struct flows_line *lines = list(verb, verb->parts, &table);
    table_print_csv(tables, 1, &verb->query.columns, true);
    free(table.rows);
    free(lines);
}

static void json_table(struct flows_verb *verb, struct tbed_json *json, bool parts)
{
    struct table table;
    struct flows_line *lines = list(verb, parts, &table);
    if (table_is_asked_for(&table, &verb->query.columns))
        table_print_json(json, &table, &verb->query.columns);
    free(table.rows);
    free(lines);
}

void flows_print_json(struct flows_verb *verb)
{
    struct tbed_json json = {.out = stdout};
    query_json_open(&json, &verb->query, &verb->trace);
    json_table(verb, &json, false);
    if (verb->parts)
        json_table(verb, &json, true);
    if (verb->slowest)
        flows_json_slowest(verb, &json);
    query_json_close(&json, &verb->trace);
    tbed_json_line(&json);
}
