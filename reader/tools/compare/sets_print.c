/*
 * Prints the differences between two sets of runs as text and as JSON.
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

static const char *color_of(const struct tbed_difference *difference)
{
    if (!difference->is_marked)
        return "";
    return difference->change > 0 ? tool_red() : tool_green();
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

static void put_change(const struct tbed_difference *difference, double value, const char *color)
{
    char buffer[32];
    if (!difference->is_tested)
        compare_put_column("", "-");
    else if (!isfinite(value))
        compare_put_column(color, difference->before_run_count == 0 ? "new" : "from 0");
    else if (difference->after_run_count == 0)
        compare_put_column(color, "gone");
    else
        compare_put_column(color, compare_format_percent(buffer, 100 * value));
}

static void put_effect(const struct tbed_difference *difference)
{
    char buffer[32];
    double size = fabs(difference->effect);
    snprintf(buffer, sizeof buffer, "%+.*f", size < 9.995 ? 2 : size < 99.95 ? 1 : 0, difference->effect);
    compare_put_column("", !difference->is_tested ? "-" : size < 1e4 ? buffer : "large");
}

static void put_probability(const struct tbed_difference *difference)
{
    char buffer[32];
    const char *text = compare_format_probability(buffer, difference->p_corrected);
    compare_put_column("", difference->is_tested ? text : "-");
}

static void put_row(const struct sets *sets, const struct sets_row *row)
{
    const struct tbed_difference *difference = row->difference;
    const struct compare_run *first = sets->runs;
    char buffer[32];
    compare_put_column("", compare_format(buffer, first, sets->options->figure, difference->before_mean));
    compare_put_column("", compare_format(buffer, first, sets->options->figure, difference->after_mean));
    put_change(difference, difference->change, color_of(difference));
    put_change(difference, difference->low, "");
    put_change(difference, difference->high, "");
    put_effect(difference);
    put_probability(difference);
    fputs(difference->is_marked ? " *" : "  ", stdout);
    tool_print_text(stdout, row->label.label, row->label.label_nbytes, 0);
    if (row->label.run_count < sets->run_count)
        printf("  %s[in %zu and %zu runs]%s", tool_dim(), difference->before_run_count,
               difference->after_run_count, tool_plain());
    putchar('\n');
}

static void put_rows(const struct sets *sets)
{
    static const char *const headings[] = {"before", "after", "change %", "from", "to", "deviations", "p"};
    if (sets->row_count == 0)
        return;
    printf("\n%s", tool_bold());
    for (size_t i = 0; i < sizeof headings / sizeof headings[0]; i++)
        printf("%*s", COMPARE_COLUMN_WIDTH, headings[i]);
    printf("  %s%s\n", compare_figure_heading(sets->options->figure), tool_plain());
    for (size_t i = 0; i < sets->row_shown && !tool_output_failed(); i++)
        put_row(sets, &sets->rows[i]);
    compare_put_rest(sets->row_shown, sets->row_count, "labels");
}

void sets_print_text(const struct sets *sets)
{
    char buffer[32];
    put_set(sets, 0);
    put_set(sets, 1);
    put_summary(sets);
    put_rows(sets);
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

static void json_row(struct tbed_json *json, const struct sets *sets, const struct sets_row *row)
{
    const struct tbed_difference *difference = row->difference;
    char key[48];
    tbed_json_object_open(json, NULL);
    compare_json_name(json, sets->options, &row->label);
    tbed_json_string(json, "state",
                     difference->before_run_count == 0  ? "new"
                     : difference->after_run_count == 0 ? "gone"
                                                        : "both");
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
    tbed_json_array_open(&json, "rows");
    for (size_t i = 0; i < sets->row_shown && !tool_output_failed(); i++)
        json_row(&json, sets, &sets->rows[i]);
    tbed_json_array_close(&json);
    tbed_json_object_open(&json, "left_out");
    tbed_json_u64(&json, "rows", sets->row_count - sets->row_shown);
    tbed_json_object_close(&json);
    tbed_json_object_close(&json);
    tbed_json_line(&json);
}
