/*
 * The tables of a diff, and what is printed around them as text and as JSON.
 *
 * SPDX-License-Identifier: MIT
 */
#define _GNU_SOURCE 1
#include "reader/tools/compare/diff.h"

#include <math.h>
#include <string.h>

static int64_t change_of(const struct diff_row *row, enum tbed_figure figure)
{
    return tbed_figure_change(row->before.of[figure], row->after.of[figure]);
}

static double percent_of(uint64_t before, uint64_t after)
{
    double change = after >= before ? (double)(after - before) : -(double)(before - after);
    return 100 * change / (double)before;
}

static const char *state_of(const struct diff_row *row)
{
    return !row->before.present ? "new" : !row->after.present ? "gone" : "both";
}

/* ---- Columns of labels ---- */

static const struct diff *diff_of(const struct table *table)
{
    return table->context;
}

static void show_change(const struct table *table, const void *row, enum tbed_figure figure,
                        struct tool_buffer *text)
{
    char buffer[32];
    compare_append(text, "%s",
                   compare_format_change(buffer, diff_of(table)->runs, figure, change_of(row, figure)));
}

/* What is new has grown beyond any percentage. */
static struct table_value percent_value(const struct diff_row *row, enum tbed_figure figure)
{
    uint64_t before = row->before.of[figure], after = row->after.of[figure];
    bool is_known = row->before.present && row->after.present && before != 0;
    return (struct table_value){.is_unknown = !is_known,
                                .number = before != 0  ? percent_of(before, after)
                                          : after != 0 ? INFINITY
                                                       : 0};
}

static void show_percent(const struct diff_row *row, enum tbed_figure figure, struct tool_buffer *text)
{
    char buffer[32];
    const char *state = state_of(row);
    if (*state != 'b')
        compare_append(text, "%s", state);
    else if (row->before.of[figure] == 0)
        compare_append(text, row->after.of[figure] == 0 ? "-" : "from 0");
    else
        compare_append(
            text, "%s",
            compare_format_percent(buffer, percent_of(row->before.of[figure], row->after.of[figure])));
}

#define CHANGE(name, figure)                                                                                 \
    TABLE_GETTER(get_##name, diff_row, compare_change(change_of(row, figure)))                               \
    static void show_##name(const struct table *table, const void *row, struct tool_buffer *text)            \
    {                                                                                                        \
        show_change(table, row, figure, text);                                                               \
    }

/* With its percentage and color. */
#define TIME_CHANGE(name, figure)                                                                            \
    CHANGE(name, figure)                                                                                     \
    TABLE_GETTER(percent_##name, diff_row, percent_value(row, figure))                                       \
    TABLE_GETTER(before_##name, diff_row, table_value_of(row->before.of[figure]))                            \
    TABLE_GETTER(after_##name, diff_row, table_value_of(row->after.of[figure]))                              \
    static void show_percent_##name(const struct table *table, const void *row, struct tool_buffer *text)    \
    {                                                                                                        \
        (void)table;                                                                                         \
        show_percent(row, figure, text);                                                                     \
    }                                                                                                        \
    static const char *color_##name(const struct table *table, const void *row)                              \
    {                                                                                                        \
        (void)table;                                                                                         \
        return compare_color((double)change_of(row, figure));                                                \
    }

TIME_CHANGE(self, TBED_FIGURE_SELF)
TIME_CHANGE(total, TBED_FIGURE_TIME)
CHANGE(count, TBED_FIGURE_INVOCATIONS)
CHANGE(misses, TBED_FIGURE_MISSES)
CHANGE(hits, TBED_FIGURE_HITS)
CHANGE(blocked, TBED_FIGURE_BLOCKED)
CHANGE(load, TBED_FIGURE_LOAD)
CHANGE(hashing, TBED_FIGURE_HASHING)
TABLE_GETTER(before_count, diff_row, table_value_of(row->before.of[TBED_FIGURE_INVOCATIONS]))
TABLE_GETTER(after_count, diff_row, table_value_of(row->after.of[TBED_FIGURE_INVOCATIONS]))
TABLE_GETTER(get_state, diff_row, table_text_of(state_of(row), strlen(state_of(row))))
TABLE_GETTER(get_label, diff_row, table_text_of(row->label.label, row->label.label_nbytes))

static struct table_value get_magnitude(const struct table *table, const void *of)
{
    const struct diff_row *row = of;
    uint64_t before = row->before.of[TBED_FIGURE_SELF], after = row->after.of[TBED_FIGURE_SELF];
    (void)table;
    return table_value_of(after > before ? after - before : before - after);
}

#define CHANGE_COLUMN(name, of, UNIT)                                                                        \
    {                                                                                                        \
        .key = #name, .field = of, .unit = UNIT, .has_sign = true, .get = get_##name, .show = show_##name    \
    }

#define TIME_COLUMNS(name, of, heading)                                                                      \
    {.key = #name,                                                                                           \
     .field = of "*_change",                                                                                 \
     .unit = TABLE_TICKS,                                                                                    \
     .has_sign = true,                                                                                       \
     .get = get_##name,                                                                                      \
     .show = show_##name,                                                                                    \
     .color = color_##name},                                                                                 \
        {.key = #name "_percent",                                                                            \
         .field = of "_percent_change",                                                                      \
         .title = heading,                                                                                   \
         .unit = TABLE_PERCENT,                                                                              \
         .get = percent_##name,                                                                              \
         .show = show_percent_##name},                                                                       \
        {.key = #name "_before", .field = of "*_before", .unit = TABLE_TICKS, .get = before_##name},         \
    {                                                                                                        \
        .key = #name "_after", .field = of "*_after", .unit = TABLE_TICKS, .get = after_##name               \
    }

static const struct table_column label_columns[] = {
    TIME_COLUMNS(self, "self", "self %"),
    TIME_COLUMNS(total, "time", "total %"),
    CHANGE_COLUMN(count, "invocations_change", TABLE_COUNT),
    CHANGE_COLUMN(misses, "cache_misses_change", TABLE_COUNT),
    CHANGE_COLUMN(hits, "cache_hits_change", TABLE_COUNT),
    CHANGE_COLUMN(blocked, "blocked*_change", TABLE_TICKS),
    CHANGE_COLUMN(load, "incremental_load*_change", TABLE_TICKS),
    CHANGE_COLUMN(hashing, "incremental_hashing*_change", TABLE_TICKS),
    {.key = "count_before", .field = "invocations_before", .unit = TABLE_COUNT, .get = before_count},
    {.key = "count_after", .field = "invocations_after", .unit = TABLE_COUNT, .get = after_count},
    {.key = "magnitude", .unit = TABLE_TICKS, .get = get_magnitude},
    {.key = "state", .unit = TABLE_TEXT, .get = get_state},
    {.key = "name", .unit = TABLE_TEXT, .is_in_order = true, .get = get_label},
};

/* ---- Columns of artifacts ---- */

static int64_t size_change(const struct diff_artifact *row)
{
    return tbed_figure_change(row->before, row->after);
}

static void show_size(const struct table *table, const void *row, struct tool_buffer *text)
{
    int64_t change = size_change(row);
    char size[32];
    (void)table;
    if (change == 0)
        compare_append(text, "0");
    else
        compare_append(text, "%c%s", change < 0 ? '-' : '+', tool_format_bytes(size, fabs((double)change)));
}

static const char *color_size(const struct table *table, const void *row)
{
    (void)table;
    return compare_color((double)size_change(row));
}

static struct table_value get_size_percent(const struct table *table, const void *of)
{
    const struct diff_artifact *row = of;
    (void)table;
    if (row->before == 0)
        return (struct table_value){.is_unknown = true, .number = row->after == 0 ? 0 : INFINITY};
    return compare_number(true, percent_of(row->before, row->after));
}

static void show_size_percent(const struct table *table, const void *row, struct tool_buffer *text)
{
    struct table_value value = get_size_percent(table, row);
    char buffer[32];
    if (value.is_unknown)
        compare_append(text, value.number > 0 ? "new" : "-");
    else
        compare_append(text, "%s", compare_format_percent(buffer, value.number));
}

TABLE_GETTER(get_size, diff_artifact, compare_change(size_change(row)))
TABLE_GETTER(get_size_before, diff_artifact, table_value_of(row->before))
TABLE_GETTER(get_size_after, diff_artifact, table_value_of(row->after))
TABLE_GETTER(get_artifact, diff_artifact, table_text_of(row->label.label, row->label.label_nbytes))

static const struct table_column artifact_columns[] = {
    {.key = "size",
     .field = "bytes_change",
     .unit = TABLE_BYTES,
     .has_sign = true,
     .get = get_size,
     .show = show_size,
     .color = color_size},
    {.key = "size_percent",
     .field = "bytes_percent_change",
     .title = "size %",
     .unit = TABLE_PERCENT,
     .get = get_size_percent,
     .show = show_size_percent},
    {.key = "before", .field = "bytes_before", .unit = TABLE_BYTES, .get = get_size_before},
    {.key = "after", .field = "bytes_after", .unit = TABLE_BYTES, .get = get_size_after},
    {.key = "name", .unit = TABLE_TEXT, .is_in_order = true, .get = get_artifact},
};

/* ---- Tables ---- */

#define COLUMNS(array) .columns = (array), .column_count = sizeof(array) / sizeof(array)[0]

const struct table diff_tables[DIFF_TABLE_COUNT] = {
    [DIFF_LABELS] = {.key = "rows",
                     .what = "labels",
                     COLUMNS(label_columns),
                     .name_title = "label",
                     .data_columns = "name,state,self,self_percent,total,total_percent,count,misses,hits,"
                                     "blocked,load,hashing,self_before,self_after,total_before,total_after,"
                                     "count_before,count_after",
                     .order = "magnitude",
                     .has_many_files = true},
    [DIFF_ARTIFACTS] = {.key = "artifacts",
                        .what = "artifacts",
                        COLUMNS(artifact_columns),
                        .name_title = "artifact",
                        .text_columns = "size,size_percent,before,after,name",
                        .data_columns = "name,size,size_percent,before,after",
                        .order = "size",
                        .has_many_files = true},
};

void diff_open_tables(struct diff *diff)
{
    diff->clock = (struct table_clock){.is_time = diff->runs[0].unit[0] == '\0',
                                       .resolution_ns = diff->runs[0].resolution_ns};
    for (size_t i = 0; i < DIFF_TABLE_COUNT; i++) {
        diff->tables[i] = diff_tables[i];
        diff->tables[i].context = diff;
        diff->tables[i].clock = &diff->clock;
    }
}

/* The counts and times that are shown without a percentage. */
static const struct {
    enum tbed_figure figure;
    const char *key;
} plain_columns[] = {
    {TBED_FIGURE_INVOCATIONS, "count"}, {TBED_FIGURE_MISSES, "misses"}, {TBED_FIGURE_HITS, "hits"},
    {TBED_FIGURE_BLOCKED, "blocked"},   {TBED_FIGURE_LOAD, "load"},     {TBED_FIGURE_HASHING, "hashing"},
};
#define PLAIN_COLUMN_COUNT (sizeof plain_columns / sizeof plain_columns[0])

/* Omits columns without a change in the shown rows, and misses if every call is a miss. */
static bool is_shown(const struct table *table, enum tbed_figure figure)
{
    bool changes = false, is_known = figure == TBED_FIGURE_MISSES;
    for (size_t i = 0; i < table->shown; i++) {
        int64_t change = change_of(table->rows[i], figure);
        changes |= change != 0;
        is_known &= change == change_of(table->rows[i], TBED_FIGURE_INVOCATIONS);
    }
    return changes && !is_known;
}

void diff_choose_columns(struct diff *diff)
{
    struct table *table = &diff->tables[DIFF_LABELS];
    size_t room = sizeof diff->text_columns;
    int at = snprintf(diff->text_columns, room, "self,self_percent,total,total_percent");
    for (size_t i = 0; i < PLAIN_COLUMN_COUNT; i++)
        if (is_shown(table, plain_columns[i].figure))
            at += snprintf(diff->text_columns + at, room - (size_t)at, ",%s", plain_columns[i].key);
    snprintf(diff->text_columns + at, room - (size_t)at, ",name");
    table->text_columns = diff->text_columns;
}

/* ---- Text ---- */

static void put_run(const struct diff *diff, size_t i, const char *what)
{
    char buffer[32];
    const struct compare_run *run = &diff->runs[i];
    const char *path = tool_path(run->path);
    printf("%s%-6s ", tool_bold(), what);
    tool_print_text(stdout, path, strlen(path), 0);
    printf("%s: total %s", tool_plain(),
           compare_format(buffer, run, TBED_FIGURE_TIME, (double)tbed_comparison_total(diff->comparison, i)));
    if (run->unit[0] != '\0') {
        putchar(' ');
        tool_print_text(stdout, run->unit, strlen(run->unit), 0);
    }
    printf(", %s span%s", tool_format_count(buffer, run->totals.span_count),
           run->totals.span_count == 1 ? "" : "s");
    printf(" in %s stream%s%s\n", tool_format_count(buffer, run->totals.stream_count),
           run->totals.stream_count == 1 ? "" : "s",
           tool_filter_is_given(&diff->options->filter) ? " (only a part)" : "");
    compare_put_warnings(run);
}

static void put_total(const struct diff *diff)
{
    char buffer[32];
    uint64_t before = tbed_comparison_total(diff->comparison, 0);
    uint64_t after = tbed_comparison_total(diff->comparison, 1);
    int64_t change = tbed_figure_change(before, after);
    printf("change %s%s%s", compare_color((double)change),
           compare_format_change(buffer, diff->runs, TBED_FIGURE_TIME, change),
           change != 0 ? tool_plain() : "");
    if (before != 0)
        printf(" (%s)", compare_format_percent(buffer, percent_of(before, after)));
    printf(", %s of ", tool_format_count(buffer, diff->changed_count));
    printf("%s label%s differ%s\n", tool_format_count(buffer, diff->row_count),
           diff->row_count == 1 ? "" : "s", diff->row_count == 1 ? "s" : "");
}

void diff_print_text(const struct diff *diff)
{
    char buffer[32];
    put_run(diff, 0, "before");
    put_run(diff, 1, "after");
    put_total(diff);
    table_print_text(&diff->tables[DIFF_LABELS], &diff->options->columns);
    table_print_text(&diff->tables[DIFF_ARTIFACTS], &diff->options->columns);
    if (diff->label_count == 0)
        fputs("Nothing to compare: neither has a span that ended.\n", stdout);
    else if (diff->row_count == 0)
        printf("--percent-above leaves none of %s labels.\n", tool_format_count(buffer, diff->label_count));
}

/* ---- JSON ---- */

static void json_percent(struct tbed_json *json, const char *key, bool is_number, uint64_t before,
                         uint64_t after)
{
    if (is_number && before != 0)
        tbed_json_f64(json, key, percent_of(before, after));
    else
        tbed_json_null(json, key);
}

static void json_change(struct tbed_json *json, const struct diff *diff, const struct diff_row *row,
                        enum tbed_figure figure)
{
    char key[48];
    tbed_json_i64(json, compare_key(key, diff->runs, figure, "_change"), change_of(row, figure));
}

static void json_both(struct tbed_json *json, const char *key, uint64_t before, uint64_t after)
{
    tbed_json_array_open(json, key);
    tbed_json_u64(json, NULL, before);
    tbed_json_u64(json, NULL, after);
    tbed_json_array_close(json);
}

static void json_row(struct tbed_json *json, const struct table *table, const void *of)
{
    const struct diff *diff = table->context;
    const struct diff_row *row = of;
    static const enum tbed_figure whole[] = {TBED_FIGURE_TIME, TBED_FIGURE_SELF, TBED_FIGURE_INVOCATIONS};
    bool in_both = row->before.present && row->after.present;
    char key[48];
    tbed_json_object_open(json, NULL);
    compare_json_name(json, diff->options, &row->label);
    tbed_json_string(json, "state", state_of(row));
    json_change(json, diff, row, TBED_FIGURE_TIME);
    json_percent(json, "time_percent_change", in_both, row->before.of[TBED_FIGURE_TIME],
                 row->after.of[TBED_FIGURE_TIME]);
    json_change(json, diff, row, TBED_FIGURE_SELF);
    json_percent(json, "self_percent_change", in_both, row->before.of[TBED_FIGURE_SELF],
                 row->after.of[TBED_FIGURE_SELF]);
    for (size_t i = 0; i < PLAIN_COLUMN_COUNT; i++)
        json_change(json, diff, row, plain_columns[i].figure);
    for (size_t i = 0; i < 3; i++)
        json_both(json, compare_key(key, diff->runs, whole[i], ""), row->before.of[whole[i]],
                  row->after.of[whole[i]]);
    tbed_json_object_close(json);
}

static void json_artifact(struct tbed_json *json, const struct diff *diff, const struct diff_artifact *row)
{
    tbed_json_object_open(json, NULL);
    compare_json_name(json, diff->options, &row->label);
    tbed_json_i64(json, "bytes_change", tbed_figure_change(row->before, row->after));
    json_both(json, "bytes", row->before, row->after);
    tbed_json_object_close(json);
}

void diff_print_json(const struct diff *diff)
{
    const struct table *labels = &diff->tables[DIFF_LABELS], *artifacts = &diff->tables[DIFF_ARTIFACTS];
    struct tbed_json json = {.out = stdout};
    uint64_t before = tbed_comparison_total(diff->comparison, 0);
    uint64_t after = tbed_comparison_total(diff->comparison, 1);
    bool counts = diff->runs[0].unit[0] != '\0';
    tbed_json_object_open(&json, NULL);
    compare_json_run(&json, "before", diff->options, &diff->runs[0], before);
    compare_json_run(&json, "after", diff->options, &diff->runs[1], after);
    tbed_json_i64(&json, counts ? "total_ticks_change" : "total_ns_change",
                  tbed_figure_change(before, after));
    json_percent(&json, "total_percent_change", true, before, after);
    compare_json_rows(&json, labels, json_row);
    tbed_json_array_open(&json, "artifacts");
    for (size_t i = 0; i < artifacts->shown; i++)
        json_artifact(&json, diff, artifacts->rows[i]);
    tbed_json_array_close(&json);
    tbed_json_object_open(&json, "left_out");
    tbed_json_u64(&json, "rows", labels->count - labels->shown);
    tbed_json_u64(&json, "artifacts", artifacts->count - artifacts->shown);
    tbed_json_object_close(&json);
    tbed_json_object_close(&json);
    tbed_json_line(&json);
}
