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

static void put_percent(uint64_t before, uint64_t after)
{
    char buffer[32];
    double change = 100 * ((double)after - (double)before) / (double)before;
    compare_put_column("", before > 0 ? compare_format_percent(buffer, change) : "-");
}

static void put_duration(const struct diff_calls *diff, const struct tbed_call_durations *durations)
{
    char buffer[32];
    compare_put_column("", durations->count == 0 ? "-"
                                                 : compare_format(buffer, diff->runs, TBED_FIGURE_TIME,
                                                                  (double)durations->p50));
}

static void put_row(const struct diff_calls *diff, const struct diff_calls_row *row)
{
    const struct tbed_call_difference *difference = row->difference;
    char buffer[32];
    put_duration(diff, &difference->before);
    put_duration(diff, &difference->after);
    if (difference->is_tested) {
        const char *color = !difference->is_marked ? "" : difference->change > 0 ? tool_red() : tool_green();
        compare_put_column(color, compare_format_percent(buffer, 100 * difference->change));
        put_percent(difference->before.p90, difference->after.p90);
        put_percent(difference->before.p99, difference->after.p99);
        snprintf(buffer, sizeof buffer, "%+.3f", difference->effect);
        compare_put_column("", buffer);
        compare_put_column("", compare_format_probability(buffer, difference->p_corrected));
    } else {
        compare_put_column("", difference->before.count == 0 ? "new" : "gone");
        for (unsigned i = 0; i < 4; i++)
            compare_put_column("", "-");
    }
    fputs(difference->is_marked ? " *" : "  ", stdout);
    tool_print_text(stdout, row->label.label, row->label.label_nbytes, 0);
    putchar('\n');
}

void diff_calls_print_text(const struct diff_calls *diff)
{
    static const char *const headings[] = {"p50 before", "p50 after", "calls %", "p90 %",
                                           "p99 %",      "effect",    "p"};
    char buffer[32];
    put_run(diff, 0);
    put_run(diff, 1);
    put_summary(diff);
    if (diff->label_count == 0)
        puts("Nothing to compare: neither has a span that ended.");
    else if (diff->row_count == 0)
        printf("--percent-above leaves none of %s labels.\n", tool_format_count(buffer, diff->label_count));
    if (diff->row_count == 0)
        return;
    printf("\n%s", tool_bold());
    for (size_t i = 0; i < sizeof headings / sizeof headings[0]; i++)
        printf("%*s", COMPARE_COLUMN_WIDTH, headings[i]);
    printf("  label, by change of time%s\n", tool_plain());
    for (size_t i = 0; i < diff->row_shown && !tool_output_failed(); i++)
        put_row(diff, &diff->rows[i]);
    compare_put_rest(diff->row_shown, diff->row_count, "labels");
}

/* ---- JSON ---- */

static void json_pair(struct tbed_json *json, const char *key, uint64_t before, uint64_t after)
{
    tbed_json_array_open(json, key);
    tbed_json_u64(json, NULL, before);
    tbed_json_u64(json, NULL, after);
    tbed_json_array_close(json);
}

static void json_row(struct tbed_json *json, const struct diff_calls *diff, const struct diff_calls_row *row)
{
    const struct tbed_call_difference *difference = row->difference;
    const struct tbed_call_durations *before = &difference->before, *after = &difference->after;
    bool counts = diff->runs[0].unit[0] != '\0';
    tbed_json_object_open(json, NULL);
    compare_json_name(json, diff->options, &row->label);
    tbed_json_string(json, "state", before->count == 0 ? "new" : after->count == 0 ? "gone" : "both");
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
    tbed_json_array_open(&json, "rows");
    for (size_t i = 0; i < diff->row_shown && !tool_output_failed(); i++)
        json_row(&json, diff, &diff->rows[i]);
    tbed_json_array_close(&json);
    tbed_json_object_open(&json, "left_out");
    tbed_json_u64(&json, "rows", diff->row_count - diff->row_shown);
    tbed_json_object_close(&json);
    tbed_json_object_close(&json);
    tbed_json_line(&json);
}
