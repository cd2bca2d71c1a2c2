/*
 * The table of positions, and what is printed around it as text and as JSON. Runs, threads and positions are numbered from 1 in text,
 * and from 0 in JSON and CSV.
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

static const char *const point_verbs[] = {"", " begins", " ends", ""};

/* ---- Columns ---- */

static const struct positions_table *positions_of(const struct table *table)
{
    return table->context;
}

static struct tbed_position position_of(const struct table *table, const void *of)
{
    const struct positions_row *row = of;
    struct tbed_position position;
    tbed_positions_get(positions_of(table)->positions, row->thread, row->number, &position);
    return position;
}

/* A column of figures, with its text. */
#define FIGURE(name, value)                                                                                  \
    static struct table_value get_##name(const struct table *table, const void *row)                         \
    {                                                                                                        \
        struct tbed_position position = position_of(table, row);                                             \
        return value;                                                                                        \
    }                                                                                                        \
    static void show_##name(const struct table *table, const void *row, struct tool_buffer *text)            \
    {                                                                                                        \
        show_figure(table, get_##name(table, row), text);                                                    \
    }

static void show_figure(const struct table *table, struct table_value value, struct tool_buffer *text)
{
    char buffer[32] = "-";
    if (!value.is_unknown && counts(positions_of(table)))
        tool_format_count(buffer, (uint64_t)(value.number + 0.5));
    else if (!value.is_unknown)
        tool_format_time(buffer, value.number, positions_of(table)->resolution_ns);
    compare_append(text, "%s", buffer);
}

/* What needs more than one run. */
static struct table_value variation(const struct table *table, double number)
{
    return compare_number(positions_of(table)->run_count > 1, number);
}

FIGURE(mean, compare_number(true, position.mean))
FIGURE(deviation, variation(table, sqrt(position.variance)))
FIGURE(min, table_value_of(position.min))
FIGURE(max, table_value_of(position.max))

static struct table_value get_variance(const struct table *table, const void *row)
{
    return variation(table, position_of(table, row).variance);
}

static struct table_value get_variation(const struct table *table, const void *row)
{
    struct tbed_position position = position_of(table, row);
    return variation(table, position.mean > 0 ? 100 * sqrt(position.variance) / position.mean : 0);
}

TABLE_GETTER(get_thread, positions_row, table_value_of(row->thread))
TABLE_GETTER(get_number, positions_row, table_value_of(row->number))

static void show_thread(const struct table *table, const void *row, struct tool_buffer *text)
{
    compare_append(text, "%zu", (size_t)get_thread(table, row).whole + 1);
}

static void show_number(const struct table *table, const void *row, struct tool_buffer *text)
{
    char buffer[32];
    compare_append(text, "%s", tool_format_count(buffer, get_number(table, row).whole + 1));
}

static void append_point(struct tool_buffer *text, enum tbed_point_kind kind, const char *label)
{
    if (kind == TBED_POINT_NONE)
        label = "the end";
    tool_append(text, label, strlen(label));
    tool_append(text, point_verbs[kind], strlen(point_verbs[kind]));
}

static struct table_value get_interval(const struct table *table, const void *row)
{
    struct tbed_position position = position_of(table, row);
    struct tool_buffer *text = positions_of(table)->intervals, last = text[0];
    text[0] = text[1];
    text[1] = last;
    text->nbytes = 0;
    append_point(text, position.from, position.from_label);
    compare_append(text, " to ");
    append_point(text, position.to, position.to_label);
    return table_text_of(text->bytes, text->nbytes);
}

static struct table_value get_inside(const struct table *table, const void *row)
{
    const char *inside = position_of(table, row).inside;
    if (inside == NULL)
        return (struct table_value){.is_unknown = true, .text = ""};
    return table_text_of(inside, strlen(inside));
}

static void note_inside(const struct table *table, const void *row, struct tool_buffer *notes)
{
    struct table_value inside = get_inside(table, row);
    if (inside.is_unknown || positions_of(table)->options->columns.count > 0)
        return;
    compare_append(notes, "  [in ");
    tool_append(notes, inside.text, inside.nbytes);
    compare_append(notes, "]");
}

static const struct table_column columns[] = {
    {.key = "variance", .unit = TABLE_NUMBER, .get = get_variance},
    {.key = "cv", .field = "cv_percent", .unit = TABLE_PERCENT, .get = get_variation},
    {.key = "mean", .unit = TABLE_TICKS, .has_fraction = true, .get = get_mean, .show = show_mean},
    {.key = "min", .unit = TABLE_TICKS, .get = get_min, .show = show_min},
    {.key = "max", .unit = TABLE_TICKS, .get = get_max, .show = show_max},
    {.key = "stddev",
     .field = "standard_deviation",
     .title = "std dev",
     .unit = TABLE_TICKS,
     .has_fraction = true,
     .get = get_deviation,
     .show = show_deviation},
    {.key = "thread", .unit = TABLE_COUNT, .width = 7, .rises = true, .get = get_thread, .show = show_thread},
    {.key = "position",
     .unit = TABLE_COUNT,
     .width = 10,
     .rises = true,
     .get = get_number,
     .show = show_number},
    {.key = "interval", .unit = TABLE_TEXT, .get = get_interval},
    {.key = "inside", .unit = TABLE_TEXT, .get = get_inside},
};

const struct table positions_columns = {
    .key = "rows",
    .what = "positions",
    .columns = columns,
    .column_count = sizeof columns / sizeof columns[0],
    .text_columns = "mean,stddev,cv,min,max,thread,position,interval",
    .data_columns = "thread,position,interval,inside,mean,stddev,variance,cv,min,max",
    .order = "variance",
    .has_many_files = true,
    .notes = note_inside,
};

/* ---- Text ---- */

static void put_point(enum tbed_point_kind kind, const char *label)
{
    if (kind == TBED_POINT_NONE) {
        fputs("the end", stdout);
        return;
    }
    tool_print_text(stdout, label, strlen(label), 0);
    fputs(point_verbs[kind], stdout);
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

void positions_print_text(const struct positions_table *table)
{
    put_head(table);
    table_print_text(&table->table, &table->options->columns);
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

static void json_row(struct tbed_json *json, const struct table *table, const void *of)
{
    const char *unit = counts(positions_of(table)) ? "ticks" : "ns";
    const struct positions_row *row = of;
    struct tbed_position position = position_of(table, row);
    char key[32];
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
    compare_json_rows(&json, &table->table, json_row);
    compare_json_end(&json, &table->table);
}
