/*
 * tracebed diff --calls: show which labels have calls of other durations in one trace than in another one.
 *
 * SPDX-License-Identifier: MIT
 */
#define _GNU_SOURCE 1
#include "reader/tools/compare/diff_calls.h"

#include <math.h>
#include <stdlib.h>
#include <string.h>

/* ---- Columns ---- */

static const char *state_of(const struct tbed_call_difference *difference)
{
    return difference->before.count == 0 ? "new" : difference->after.count == 0 ? "gone" : "both";
}

static struct table_value result_of(const struct tbed_call_difference *difference, double value)
{
    return compare_number(difference->is_tested, value);
}

static struct table_value duration_of(const struct tbed_call_durations *durations, uint64_t value)
{
    struct table_value duration = table_value_of(value);
    duration.is_unknown = durations->count == 0;
    return duration;
}

static struct table_value percent_of(const struct tbed_call_difference *difference, uint64_t before,
                                     uint64_t after)
{
    bool is_known = difference->is_tested && before > 0;
    return compare_number(is_known, 100 * ((double)after - (double)before) / (double)before);
}

/* 'format' has a buffer of 32 bytes. */
#define SHOWN(name, value, format)                                                                           \
    TABLE_GETTER(get_##name, diff_calls_row, value)                                                          \
    static void show_##name(const struct table *table, const void *row, struct tool_buffer *text)            \
    {                                                                                                        \
        struct table_value found = get_##name(table, row);                                                   \
        char buffer[32];                                                                                     \
        compare_append(text, "%s", found.is_unknown ? "-" : format(buffer, found.number));                   \
    }

static const char *format_effect(char buffer[32], double effect)
{
    snprintf(buffer, 32, "%+.3f", effect);
    return buffer;
}

#define DURATION(name, side, of)                                                                             \
    SHOWN_DURATION(name, TBED_FIGURE_P50, duration_of(&row->difference->side, row->difference->side.of))
#define SHOWN_DURATION(name, figure, value)                                                                  \
    TABLE_GETTER(get_##name, diff_calls_row, value)                                                          \
    static void show_##name(const struct table *table, const void *row, struct tool_buffer *text)            \
    {                                                                                                        \
        show_duration(table, figure, get_##name(table, row), text);                                          \
    }

static void show_duration(const struct table *table, enum tbed_figure figure, struct table_value value,
                          struct tool_buffer *text)
{
    const struct diff_calls *diff = table->context;
    char buffer[32];
    compare_append(text, "%s",
                   value.is_unknown ? "-" : compare_format(buffer, diff->runs, figure, value.number));
}

DURATION(p50_before, before, p50)
DURATION(p50_after, after, p50)
DURATION(p90_before, before, p90)
DURATION(p90_after, after, p90)
DURATION(p99_before, before, p99)
DURATION(p99_after, after, p99)
SHOWN_DURATION(magnitude, TBED_FIGURE_TIME, compare_number(true, row->magnitude))
SHOWN(p90, percent_of(row->difference, row->difference->before.p90, row->difference->after.p90),
      compare_format_percent)
SHOWN(p99, percent_of(row->difference, row->difference->before.p99, row->difference->after.p99),
      compare_format_percent)
SHOWN(effect, result_of(row->difference, row->difference->effect), format_effect)
SHOWN(p, result_of(row->difference, row->difference->p_corrected), compare_format_probability)
SHOWN(single_p, result_of(row->difference, row->difference->p), compare_format_probability)
TABLE_GETTER(get_change, diff_calls_row, result_of(row->difference, 100 * row->difference->change))
TABLE_GETTER(get_marked, diff_calls_row, table_value_of(row->difference->is_marked))
TABLE_GETTER(get_count_before, diff_calls_row, table_value_of(row->difference->before.count))
TABLE_GETTER(get_count_after, diff_calls_row, table_value_of(row->difference->after.count))
TABLE_GETTER(get_state, diff_calls_row,
             table_text_of(state_of(row->difference), strlen(state_of(row->difference))))
TABLE_GETTER(get_label, diff_calls_row, table_text_of(row->label.label, row->label.label_nbytes))

static void show_change(const struct table *table, const void *of, struct tool_buffer *text)
{
    const struct tbed_call_difference *difference = ((const struct diff_calls_row *)of)->difference;
    char buffer[32];
    (void)table;
    if (difference->is_tested)
        compare_append(text, "%s", compare_format_percent(buffer, 100 * difference->change));
    else
        compare_append(text, "%s", difference->before.count == 0 ? "new" : "gone");
}

static const char *color_change(const struct table *table, const void *of)
{
    const struct tbed_call_difference *difference = ((const struct diff_calls_row *)of)->difference;
    (void)table;
    return !difference->is_marked ? "" : difference->change > 0 ? tool_red() : tool_green();
}

static bool is_marked(const struct table *table, const void *row)
{
    (void)table;
    return ((const struct diff_calls_row *)row)->difference->is_marked;
}

#define COLUMN(name, of, heading, UNIT)                                                                      \
    {                                                                                                        \
        .key = #name, .field = of, .title = heading, .unit = UNIT, .get = get_##name, .show = show_##name    \
    }

static const struct table_column columns[] = {
    COLUMN(p50_before, "p50*_before", "p50 before", TABLE_TICKS),
    COLUMN(p50_after, "p50*_after", "p50 after", TABLE_TICKS),
    {.key = "change",
     .field = "percent_change",
     .title = "calls %",
     .unit = TABLE_PERCENT,
     .get = get_change,
     .show = show_change,
     .color = color_change},
    COLUMN(p90, "p90_percent_change", "p90 %", TABLE_PERCENT),
    COLUMN(p99, "p99_percent_change", "p99 %", TABLE_PERCENT),
    COLUMN(effect, "effect", NULL, TABLE_NUMBER),
    COLUMN(p, "p_corrected", NULL, TABLE_NUMBER),
    COLUMN(single_p, "p", "single p", TABLE_NUMBER),
    COLUMN(p90_before, "p90*_before", "p90 before", TABLE_TICKS),
    COLUMN(p90_after, "p90*_after", "p90 after", TABLE_TICKS),
    COLUMN(p99_before, "p99*_before", "p99 before", TABLE_TICKS),
    COLUMN(p99_after, "p99*_after", "p99 after", TABLE_TICKS),
    {.key = "magnitude",
     .unit = TABLE_TICKS,
     .has_fraction = true,
     .get = get_magnitude,
     .show = show_magnitude},
    {.key = "count_before", .title = "before", .unit = TABLE_COUNT, .get = get_count_before},
    {.key = "count_after", .title = "after", .unit = TABLE_COUNT, .get = get_count_after},
    {.key = "marked", .unit = TABLE_COUNT, .get = get_marked},
    {.key = "state", .unit = TABLE_TEXT, .get = get_state},
    {.key = "name", .unit = TABLE_TEXT, .is_in_order = true, .get = get_label},
};

const struct table diff_calls_columns = {
    .key = "rows",
    .what = "labels",
    .columns = columns,
    .column_count = sizeof columns / sizeof columns[0],
    .name_title = "label, by change of time",
    .text_columns = "p50_before,p50_after,change,p90,p99,effect,p,name",
    .data_columns =
        "name,state,marked,change,effect,single_p,p,count_before,count_after,p50_before,p50_after,"
        "p90_before,p90_after,p99_before,p99_after",
    .order = "marked,magnitude",
    .has_many_files = true,
    .is_marked = is_marked,
};

void diff_calls_open_table(struct diff_calls *diff)
{
    diff->clock = (struct table_clock){.is_time = diff->runs[0].unit[0] == '\0',
                                       .resolution_ns = diff->runs[0].resolution_ns};
    diff->table = diff_calls_columns;
    diff->table.context = diff;
    diff->table.clock = &diff->clock;
}

/* ---- Text ---- */

static void put_run(const struct diff_calls *diff, unsigned side)
{
    const struct compare_run *run = &diff->runs[side];
    const char *path = tool_path(run->path);
    char buffer[32];
    printf("%s%-6s ", tool_bold(), side == 0 ? "before" : "after");
    tool_print_text(stdout, path, strlen(path), 0);
    printf("%s: %s call%s%s\n", tool_plain(), tool_format_count(buffer, run->totals.span_count),
           run->totals.span_count == 1 ? "" : "s",
           tool_filter_is_given(&diff->options->filter) ? " (only a part)" : "");
    compare_put_warnings(run);
}

static void put_summary(const struct diff_calls *diff)
{
    char buffer[32];
    double shift = tbed_call_differences_shift(diff->differences);
    size_t tested = tbed_call_differences_tested_count(diff->differences);
    if (fabs(shift) > 0)
        printf("all labels together: %s, which is taken out of the rows\n",
               compare_format_percent(buffer, 100 * shift));
    printf("%s of ", tool_format_count(buffer, diff->marked_count));
    printf("%s label%s marked with '*': ", tool_format_count(buffer, diff->row_count),
           diff->row_count == 1 ? "" : "s");
    printf("at least %.3g %% change, p at most %.3g for ", 100 * diff->threshold, diff->alpha);
    printf("%s test%s\n", tool_format_count(buffer, tested), tested == 1 ? "" : "s");
}

void diff_calls_print_text(const struct diff_calls *diff)
{
    char buffer[32];
    put_run(diff, 0);
    put_run(diff, 1);
    put_summary(diff);
    if (diff->label_count == 0)
        puts("Nothing to compare: neither has a span that ended.");
    else if (diff->row_count == 0)
        printf("--percent-above leaves none of %s labels.\n", tool_format_count(buffer, diff->label_count));
    table_print_text(&diff->table, &diff->options->columns);
}

/* ---- JSON ---- */

static void json_pair(struct tbed_json *json, const char *key, uint64_t before, uint64_t after)
{
    tbed_json_array_open(json, key);
    tbed_json_u64(json, NULL, before);
    tbed_json_u64(json, NULL, after);
    tbed_json_array_close(json);
}

static void json_row(struct tbed_json *json, const struct table *table, const void *of)
{
    const struct diff_calls *diff = table->context;
    const struct diff_calls_row *row = of;
    const struct tbed_call_difference *difference = row->difference;
    const struct tbed_call_durations *before = &difference->before, *after = &difference->after;
    bool counts = diff->runs[0].unit[0] != '\0';
    tbed_json_object_open(json, NULL);
    compare_json_name(json, diff->options, &row->label);
    tbed_json_string(json, "state", state_of(difference));
    tbed_json_bool(json, "marked", difference->is_marked);
    if (difference->is_tested) {
        tbed_json_f64(json, "percent_change", 100 * difference->change);
        tbed_json_f64(json, "effect", difference->effect);
        tbed_json_f64(json, "p", difference->p);
        tbed_json_f64(json, "p_corrected", difference->p_corrected);
    } else {
        tbed_json_null(json, "percent_change");
        tbed_json_null(json, "effect");
        tbed_json_null(json, "p");
        tbed_json_null(json, "p_corrected");
    }
    json_pair(json, "count", before->count, after->count);
    json_pair(json, counts ? "p50_ticks" : "p50_ns", before->p50, after->p50);
    json_pair(json, counts ? "p90_ticks" : "p90_ns", before->p90, after->p90);
    json_pair(json, counts ? "p99_ticks" : "p99_ns", before->p99, after->p99);
    tbed_json_object_close(json);
}

void diff_calls_print_json(const struct diff_calls *diff)
{
    struct tbed_json json = {.out = stdout};
    tbed_json_object_open(&json, NULL);
    for (unsigned side = 0; side < 2; side++)
        compare_json_run(&json, side == 0 ? "before" : "after", diff->options, &diff->runs[side],
                         tbed_comparison_total(diff->comparison, side));
    tbed_json_f64(&json, "alpha", diff->alpha);
    tbed_json_f64(&json, "threshold_percent", 100 * diff->threshold);
    tbed_json_u64(&json, "test_count", tbed_call_differences_tested_count(diff->differences));
    tbed_json_u64(&json, "marked_count", diff->marked_count);
    tbed_json_f64(&json, "shift_percent", 100 * tbed_call_differences_shift(diff->differences));
    compare_json_rows(&json, &diff->table, json_row);
    compare_json_end(&json, &diff->table);
}
