/*
 * The table of differences between two sets of runs, and what is printed around it as text and as JSON.
 *
 * SPDX-License-Identifier: MIT
 */
#define _GNU_SOURCE 1
#include "reader/tools/compare/sets.h"

#include <math.h>
#include <string.h>

static size_t first_of(const struct sets *sets, unsigned side)
{
    return side == 0 ? 0 : sets->before_count;
}

static size_t end_of(const struct sets *sets, unsigned side)
{
    return side == 0 ? sets->before_count : sets->run_count;
}

static const char *color_of(const struct tbed_difference *difference)
{
    if (!difference->is_marked)
        return "";
    return difference->change > 0 ? tool_red() : tool_green();
}

/* ---- Columns ---- */

static const struct sets *sets_of(const struct table *table)
{
    return table->context;
}

static const char *state_of(const struct tbed_difference *difference)
{
    return difference->before_run_count == 0 ? "new" : difference->after_run_count == 0 ? "gone" : "both";
}

/* What a test has found. */
static struct table_value result_of(const struct tbed_difference *difference, double value)
{
    return (struct table_value){.is_unknown = !difference->is_tested || !isfinite(value),
                                .number = difference->is_tested && !isnan(value) ? value : 0};
}

static void show_mean(const struct table *table, double mean, struct tool_buffer *text)
{
    const struct sets *sets = sets_of(table);
    char buffer[32];
    compare_append(text, "%s", compare_format(buffer, sets->runs, sets->options->figure, mean));
}

static void show_part(const struct tbed_difference *difference, double value, struct tool_buffer *text)
{
    char buffer[32];
    if (!difference->is_tested)
        compare_append(text, "-");
    else if (!isfinite(value))
        compare_append(text, difference->before_run_count == 0 ? "new" : "from 0");
    else if (difference->after_run_count == 0)
        compare_append(text, "gone");
    else
        compare_append(text, "%s", compare_format_percent(buffer, 100 * value));
}

#define SHOWN(name, value, call)                                                                             \
    TABLE_GETTER(get_##name, sets_row, value)                                                                \
    static void show_##name(const struct table *table, const void *of, struct tool_buffer *text)             \
    {                                                                                                        \
        const struct sets_row *row = of;                                                                     \
        (void)table;                                                                                         \
        call;                                                                                                \
    }

#define MEAN(name, mean) SHOWN(name, compare_number(true, mean), show_mean(table, mean, text))
#define PART(name)                                                                                           \
    SHOWN(name, result_of(row->difference, 100 * row->difference->name),                                     \
          show_part(row->difference, row->difference->name, text))

MEAN(before, row->difference->before_mean)
MEAN(after, row->difference->after_mean)
MEAN(magnitude, row->magnitude)
PART(change)
PART(low)
PART(high)

static void append_effect(const struct tbed_difference *difference, struct tool_buffer *text)
{
    double size = fabs(difference->effect);
    if (!difference->is_tested)
        compare_append(text, "-");
    else if (size >= 1e4)
        compare_append(text, "large");
    else
        compare_append(text, "%+.*f", size < 9.995 ? 2 : size < 99.95 ? 1 : 0, difference->effect);
}

static void append_probability(const struct tbed_difference *difference, double p, struct tool_buffer *text)
{
    char buffer[32];
    compare_append(text, "%s", difference->is_tested ? compare_format_probability(buffer, p) : "-");
}

SHOWN(effect, result_of(row->difference, row->difference->effect), append_effect(row->difference, text))
SHOWN(p, result_of(row->difference, row->difference->p_corrected),
      append_probability(row->difference, row->difference->p_corrected, text))
SHOWN(single_p, result_of(row->difference, row->difference->p),
      append_probability(row->difference, row->difference->p, text))
TABLE_GETTER(get_marked, sets_row, table_value_of(row->difference->is_marked))
TABLE_GETTER(get_runs_before, sets_row, table_value_of(row->difference->before_run_count))
TABLE_GETTER(get_runs_after, sets_row, table_value_of(row->difference->after_run_count))
TABLE_GETTER(get_state, sets_row, table_text_of(state_of(row->difference), strlen(state_of(row->difference))))
TABLE_GETTER(get_label, sets_row, table_text_of(row->label.label, row->label.label_nbytes))

static const char *color_change(const struct table *table, const void *row)
{
    (void)table;
    return color_of(((const struct sets_row *)row)->difference);
}

static bool is_marked(const struct table *table, const void *row)
{
    (void)table;
    return ((const struct sets_row *)row)->difference->is_marked;
}

static void note_runs(const struct table *table, const void *of, struct tool_buffer *notes)
{
    const struct sets_row *row = of;
    if (row->label.run_count < sets_of(table)->run_count)
        compare_append(notes, "  [in %zu and %zu runs]", row->difference->before_run_count,
                       row->difference->after_run_count);
}

#define MEAN_COLUMN(name, of, UNIT)                                                                          \
    {                                                                                                        \
        .key = #name, .field = of, .unit = UNIT, .has_fraction = true, .get = get_##name,                    \
        .show = show_##name                                                                                  \
    }
#define RESULT_COLUMN(name, of, heading, UNIT, get_name)                                                     \
    {                                                                                                        \
        .key = name, .field = of, .title = heading, .unit = UNIT, .get = get_##get_name,                     \
        .show = show_##get_name                                                                              \
    }
#define SETS_COLUMNS(UNIT)                                                                                   \
    {.key = "change",                                                                                        \
     .field = "percent_change",                                                                              \
     .title = "change %",                                                                                    \
     .unit = TABLE_PERCENT,                                                                                  \
     .get = get_change,                                                                                      \
     .show = show_change,                                                                                    \
     .color = color_change},                                                                                 \
        RESULT_COLUMN("low", "percent_low", "from", TABLE_PERCENT, low),                                     \
        RESULT_COLUMN("high", "percent_high", "to", TABLE_PERCENT, high),                                    \
        RESULT_COLUMN("deviations", "effect_deviations", NULL, TABLE_NUMBER, effect),                        \
        RESULT_COLUMN("p", "p_corrected", NULL, TABLE_NUMBER, p),                                            \
        RESULT_COLUMN("single_p", "p", "single p", TABLE_NUMBER, single_p),                                  \
        MEAN_COLUMN(before, "mean*_before", UNIT), MEAN_COLUMN(after, "mean*_after", UNIT),                  \
        MEAN_COLUMN(magnitude, "magnitude", UNIT),                                                           \
        {.key = "marked", .unit = TABLE_COUNT, .get = get_marked},                                           \
        {.key = "runs_before",                                                                               \
         .field = "run_count_before",                                                                        \
         .title = "runs",                                                                                    \
         .unit = TABLE_COUNT,                                                                                \
         .get = get_runs_before},                                                                            \
        {.key = "runs_after",                                                                                \
         .field = "run_count_after",                                                                         \
         .title = "runs",                                                                                    \
         .unit = TABLE_COUNT,                                                                                \
         .get = get_runs_after},                                                                             \
        {.key = "state", .unit = TABLE_TEXT, .get = get_state},                                              \
    {                                                                                                        \
        .key = "name", .unit = TABLE_TEXT, .is_in_order = true, .get = get_label                             \
    }

static const struct table_column time_columns[] = {SETS_COLUMNS(TABLE_TICKS)};
static const struct table_column count_columns[] = {SETS_COLUMNS(TABLE_COUNT)};

const struct table sets_columns = {
    .key = "rows",
    .what = "labels",
    .columns = time_columns,
    .column_count = sizeof time_columns / sizeof time_columns[0],
    .text_columns = "before,after,change,low,high,deviations,p,name",
    .data_columns = "name,state,marked,change,low,high,deviations,single_p,p,runs_before,runs_after,before,"
                    "after",
    .order = "marked,magnitude",
    .has_many_files = true,
    .is_marked = is_marked,
    .notes = note_runs,
};

void sets_open_table(struct sets *sets)
{
    enum tbed_figure figure = sets->options->figure;
    sets->clock = (struct table_clock){.is_time = sets->runs[0].unit[0] == '\0',
                                       .resolution_ns = sets->runs[0].resolution_ns};
    sets->table = sets_columns;
    sets->table.context = sets;
    sets->table.clock = &sets->clock;
    sets->table.name_title = compare_figure_heading(figure);
    if (!tbed_figure_is_time(figure))
        sets->table.columns = count_columns;
}

/* ---- Text ---- */

static void put_set(const struct sets *sets, unsigned side)
{
    const struct tbed_spread *total = &sets->totals[side];
    const struct compare_run *first = sets->runs;
    char buffer[32];
    printf("%s%-6s %zu runs%s: total %s", tool_bold(), side == 0 ? "before" : "after", total->count,
           tool_plain(), compare_format(buffer, first, TBED_FIGURE_TIME, total->mean));
    printf(" +- %s (%.1f %%)", compare_format(buffer, first, TBED_FIGURE_TIME, compare_deviation(total)),
           100 * compare_variation(total));
    if (first->unit[0] != '\0') {
        fputs(", in ", stdout);
        tool_print_text(stdout, first->unit, strlen(first->unit), 0);
    }
    puts(tool_filter_is_given(&sets->options->filter) ? " (only a part of each)" : "");
    for (size_t run = first_of(sets, side); run < end_of(sets, side); run++)
        compare_put_warnings(&sets->runs[run]);
}

static void put_common(const struct sets *sets)
{
    const struct tbed_difference *common = tbed_differences_common(sets->differences);
    char change[32], low[32], high[32];
    if (common == NULL)
        return;
    printf("all labels together: %s%s%s (%s to %s), ", color_of(common),
           compare_format_percent(change, 100 * common->change), common->is_marked ? tool_plain() : "",
           compare_format_percent(low, 100 * common->low), compare_format_percent(high, 100 * common->high));
    puts(common->is_marked ? "which is significant; it is taken out of the rows"
                           : "which is not significant; it is taken out of the rows");
}

static void put_summary(const struct sets *sets)
{
    char buffer[32];
    put_common(sets);
    printf("%s of ", tool_format_count(buffer, sets->marked_count));
    printf("%s label%s marked with '*': ", tool_format_count(buffer, sets->row_count),
           sets->row_count == 1 ? "" : "s");
    printf("at least %.3g %% change, p at most %.3g for ", 100 * sets->threshold, sets->alpha);
    size_t tested = tbed_differences_tested_count(sets->differences);
    printf("%s test%s\n", tool_format_count(buffer, tested), tested == 1 ? "" : "s");
}

void sets_print_text(const struct sets *sets)
{
    char buffer[32];
    put_set(sets, 0);
    put_set(sets, 1);
    put_summary(sets);
    table_print_text(&sets->table, &sets->options->columns);
    if (sets->label_count == 0)
        fputs("Nothing to compare: no run has a span that ended.\n", stdout);
    else if (sets->row_count == 0)
        printf("--percent-above leaves none of %s labels.\n", tool_format_count(buffer, sets->label_count));
}

/* ---- JSON ---- */

static void json_result(struct tbed_json *json, const char *key, const struct tbed_difference *difference,
                        double value)
{
    if (difference->is_tested && isfinite(value))
        tbed_json_f64(json, key, value);
    else
        tbed_json_null(json, key);
}

/* What a row and the shifts of all labels have in common. */
static void json_difference(struct tbed_json *json, const char *prefix,
                            const struct tbed_difference *difference)
{
    char key[64];
    tbed_json_bool(json, "marked", difference->is_marked);
    snprintf(key, sizeof key, "%spercent_change", prefix);
    json_result(json, key, difference, 100 * difference->change);
    snprintf(key, sizeof key, "%spercent_interval", prefix);
    tbed_json_array_open(json, key);
    json_result(json, NULL, difference, 100 * difference->low);
    json_result(json, NULL, difference, 100 * difference->high);
    tbed_json_array_close(json);
    json_result(json, "effect_deviations", difference, difference->effect);
    json_result(json, "p", difference, difference->p);
    json_result(json, "p_corrected", difference, difference->p_corrected);
}

static void json_set(struct tbed_json *json, const struct sets *sets, unsigned side)
{
    bool counts = sets->runs[0].unit[0] != '\0';
    const struct tbed_spread *total = &sets->totals[side];
    tbed_json_object_open(json, side == 0 ? "before" : "after");
    tbed_json_u64(json, "run_count", total->count);
    tbed_json_f64(json, counts ? "total_ticks_mean" : "total_ns_mean", total->mean);
    tbed_json_f64(json, counts ? "total_ticks_standard_deviation" : "total_ns_standard_deviation",
                  compare_deviation(total));
    tbed_json_array_open(json, "shift_percents");
    for (size_t run = first_of(sets, side); run < end_of(sets, side); run++)
        tbed_json_f64(json, NULL, 100 * tbed_differences_shift(sets->differences, run));
    tbed_json_array_close(json);
    tbed_json_array_open(json, "runs");
    for (size_t run = first_of(sets, side); run < end_of(sets, side); run++)
        compare_json_run(json, NULL, sets->options, &sets->runs[run],
                         tbed_comparison_total(sets->comparison, run));
    tbed_json_array_close(json);
    tbed_json_object_close(json);
}

static void json_values(struct tbed_json *json, const char *key, const struct sets *sets,
                        const struct sets_row *row)
{
    tbed_json_array_open(json, key);
    for (unsigned side = 0; side < 2; side++) {
        tbed_json_array_open(json, NULL);
        for (size_t run = first_of(sets, side); run < end_of(sets, side); run++)
            tbed_json_u64(
                json, NULL,
                tbed_comparison_figures(sets->comparison, row->index, run).of[sets->options->figure]);
        tbed_json_array_close(json);
    }
    tbed_json_array_close(json);
}

static void json_row(struct tbed_json *json, const struct table *table, const void *of)
{
    const struct sets *sets = table->context;
    const struct sets_row *row = of;
    const struct tbed_difference *difference = row->difference;
    char key[48];
    tbed_json_object_open(json, NULL);
    compare_json_name(json, sets->options, &row->label);
    tbed_json_string(json, "state", state_of(difference));
    snprintf(key, sizeof key, "%s_", compare_figure_name(sets->options->figure));
    json_difference(json, key, difference);
    tbed_json_array_open(json, "run_counts");
    tbed_json_u64(json, NULL, difference->before_run_count);
    tbed_json_u64(json, NULL, difference->after_run_count);
    tbed_json_array_close(json);
    tbed_json_array_open(json, compare_key(key, sets->runs, sets->options->figure, "_mean"));
    tbed_json_f64(json, NULL, difference->before_mean);
    tbed_json_f64(json, NULL, difference->after_mean);
    tbed_json_array_close(json);
    json_values(json, compare_key(key, sets->runs, sets->options->figure, ""), sets, row);
    tbed_json_object_close(json);
}

void sets_print_json(const struct sets *sets)
{
    const struct tbed_difference *common = tbed_differences_common(sets->differences);
    struct tbed_json json = {.out = stdout};
    tbed_json_object_open(&json, NULL);
    json_set(&json, sets, 0);
    json_set(&json, sets, 1);
    tbed_json_f64(&json, "alpha", sets->alpha);
    tbed_json_f64(&json, "threshold_percent", 100 * sets->threshold);
    tbed_json_u64(&json, "test_count", tbed_differences_tested_count(sets->differences));
    tbed_json_u64(&json, "marked_count", sets->marked_count);
    if (common != NULL) {
        tbed_json_object_open(&json, "common");
        json_difference(&json, "", common);
        tbed_json_object_close(&json);
    } else {
        tbed_json_null(&json, "common");
    }
    compare_json_rows(&json, &sets->table, json_row);
    compare_json_end(&json, &sets->table);
}
