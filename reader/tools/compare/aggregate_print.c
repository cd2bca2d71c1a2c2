/*
 * Prints an aggregate as text and as JSON. Runs are numbered from 1, in the order of the files on the command line.
 *
 * SPDX-License-Identifier: MIT
 */
#define _GNU_SOURCE 1
#include "reader/tools/compare/aggregate.h"

#include <math.h>
#include <string.h>

#define OUTLIERS_TOLD_MAX 3

static bool has_outliers(const struct aggregate *aggregate)
{
    return aggregate->run_count >= TBED_OUTLIER_RUNS_MIN;
}

/* ---- Text ---- */

static void put_figure(const struct aggregate *aggregate, enum tbed_figure figure, double value)
{
    char buffer[32];
    compare_put_column("", compare_format(buffer, aggregate->runs, figure, value));
}

static void put_spread(const struct aggregate *aggregate, enum tbed_figure figure,
                       const struct tbed_spread *spread)
{
    char buffer[32];
    put_figure(aggregate, figure, spread->mean);
    if (spread->count > 1) {
        put_figure(aggregate, figure, compare_deviation(spread));
        snprintf(buffer, sizeof buffer, "%.1f %%", 100 * compare_variation(spread));
        compare_put_column("", buffer);
    } else {
        compare_put_column("", "-");
        compare_put_column("", "-");
    }
    put_figure(aggregate, figure, spread->median);
    put_figure(aggregate, figure, (double)spread->min);
    put_figure(aggregate, figure, (double)spread->max);
}

static void put_headings(const char *const headings[], size_t count, const char *last)
{
    printf("\n%s", tool_bold());
    for (size_t i = 0; i < count; i++)
        printf("%*s", COMPARE_COLUMN_WIDTH, headings[i]);
    printf("  %s%s\n", last, tool_plain());
}

static const char *const spread_headings[] = {"mean", "std dev", "cv", "median", "min", "max"};

/* One note on a row; the first opens the bracket. */
static void open_note(bool *open)
{
    if (*open)
        fputs(", ", stdout);
    else
        printf("  %s[", tool_dim());
    *open = true;
}

static void note_counts(const struct aggregate *aggregate, const struct aggregate_row *row, bool *open)
{
    static const char *const names[] = {
        [TBED_FIGURE_INVOCATIONS] = "count", [TBED_FIGURE_MISSES] = "misses", [TBED_FIGURE_HITS] = "hits"};
    char min[32], max[32];
    bool same_misses = true;
    for (enum tbed_figure figure = TBED_FIGURE_INVOCATIONS; figure <= TBED_FIGURE_HITS; figure++) {
        struct tbed_spread spread = aggregate_spread(aggregate, row->index, figure);
        /* If every call is a miss, differing counts of misses add nothing to differing counts of calls. */
        if (spread.min == spread.max || (figure == TBED_FIGURE_MISSES && same_misses))
            continue;
        if (figure == TBED_FIGURE_INVOCATIONS) {
            struct tbed_spread misses = aggregate_spread(aggregate, row->index, TBED_FIGURE_MISSES);
            same_misses = misses.min == spread.min && misses.max == spread.max;
        }
        open_note(open);
        printf("%s %s to %s", names[figure], tool_format_count(min, spread.min),
               tool_format_count(max, spread.max));
    }
}

static void note_outliers(const struct aggregate *aggregate, const struct aggregate_row *row, bool *open)
{
    char buffer[32];
    size_t told = 0;
    if (row->spread.outlier_count == 0)
        return;
    aggregate_spread(aggregate, row->index, aggregate->options->figure);
    open_note(open);
    printf("outlier%s:", row->spread.outlier_count == 1 ? "" : "s");
    for (size_t run = 0; run < aggregate->run_count && told < OUTLIERS_TOLD_MAX; run++) {
        uint64_t value = aggregate->values[run];
        if (!tbed_spread_is_outlier(&row->spread, value))
            continue;
        printf("%s run %zu with %s", told++ == 0 ? "" : ",", run + 1,
               compare_format(buffer, aggregate->runs, aggregate->options->figure, (double)value));
    }
    if (told < row->spread.outlier_count)
        printf(" and %zu more", row->spread.outlier_count - told);
}

static void put_row(const struct aggregate *aggregate, const struct aggregate_row *row)
{
    bool open = false;
    put_spread(aggregate, aggregate->options->figure, &row->spread);
    compare_put_label(row->label.label, row->label.label_nbytes);
    if (row->label.run_count < aggregate->run_count) {
        open_note(&open);
        printf("in %zu of %zu runs", row->label.run_count, aggregate->run_count);
    }
    if (row->counts_differ)
        note_counts(aggregate, row, &open);
    note_outliers(aggregate, row, &open);
    if (open)
        printf("]%s", tool_plain());
    putchar('\n');
}

static void put_rows(const struct aggregate *aggregate)
{
    if (aggregate->row_count == 0)
        return;
    put_headings(spread_headings, 6, compare_figure_heading(aggregate->options->figure));
    for (size_t i = 0; i < aggregate->row_shown && !tool_output_failed(); i++)
        put_row(aggregate, &aggregate->rows[i]);
    compare_put_rest(aggregate->row_shown, aggregate->row_count, "labels");
}

/* The sizes of an artifact; its values are in 'values' until the next call. */
static struct tbed_spread spread_sizes(const struct aggregate *aggregate, size_t index)
{
    struct tbed_spread spread;
    for (size_t run = 0; run < aggregate->run_count; run++)
        aggregate->values[run] = tbed_comparison_size(aggregate->comparison, index, run);
    tbed_spread_make(aggregate->values, aggregate->run_count, aggregate->scratch, &spread);
    return spread;
}

static void put_artifact(const struct aggregate *aggregate, size_t index,
                         const struct tbed_comparison_row *row)
{
    struct tbed_spread spread = spread_sizes(aggregate, index);
    const double figures[] = {spread.mean, compare_deviation(&spread), spread.median, (double)spread.min,
                              (double)spread.max};
    char buffer[32];
    for (size_t i = 0; i < 5; i++) {
        compare_put_column("",
                           i == 1 && spread.count < 2 ? "-" : tool_format_bytes(buffer, round(figures[i])));
        snprintf(buffer, sizeof buffer, "%.1f %%", 100 * compare_variation(&spread));
        if (i == 1)
            compare_put_column("", spread.count < 2 ? "-" : buffer);
    }
    compare_put_label(row->label, row->label_nbytes);
    if (row->run_count < aggregate->run_count)
        printf("  %s[in %zu of %zu runs]%s", tool_dim(), row->run_count, aggregate->run_count, tool_plain());
    putchar('\n');
}

/* One row per kind of file that the traced program writes, so few. */
static void put_artifacts(const struct aggregate *aggregate)
{
    struct tbed_comparison_row row;
    size_t shown = 0, count = 0;
    for (size_t i = 0; tbed_comparison_artifact(aggregate->comparison, i, &row); i++) {
        count++;
        if (shown == aggregate->options->limit)
            continue;
        if (shown++ == 0)
            put_headings(spread_headings, 6, "artifact");
        put_artifact(aggregate, i, &row);
    }
    compare_put_rest(shown, count, "artifacts");
}

static void put_run(const struct aggregate *aggregate, size_t run)
{
    char buffer[32];
    const char *path = tool_path(aggregate->runs[run].path);
    uint64_t total = tbed_comparison_total(aggregate->comparison, run);
    double median = aggregate->total.median;
    bool is_outlier = tbed_spread_is_outlier(&aggregate->total, total);
    compare_put_column("", tool_format_count(buffer, run + 1));
    compare_put_column(is_outlier ? tool_red() : "",
                       compare_format(buffer, aggregate->runs, TBED_FIGURE_TIME, (double)total));
    compare_put_column(
        "", median > 0 ? compare_format_percent(buffer, 100 * ((double)total - median) / median) : "-");
    compare_put_column("", tool_format_count(buffer, aggregate->runs[run].totals.span_count));
    compare_put_column("", has_outliers(aggregate) ? tool_format_count(buffer, aggregate->outlier_counts[run])
                                                   : "-");
    compare_put_label(path, strlen(path));
    if (is_outlier)
        printf("  %s[outlier]%s", tool_dim(), tool_plain());
    putchar('\n');
}

static void put_runs(const struct aggregate *aggregate)
{
    static const char *const headings[] = {"run", "total", "vs median", "spans", "outliers"};
    size_t limit = aggregate->options->limit;
    size_t shown = aggregate->run_count < limit ? aggregate->run_count : limit;
    put_headings(headings, 5, "file");
    for (size_t run = 0; run < shown && !tool_output_failed(); run++)
        put_run(aggregate, run);
    compare_put_rest(shown, aggregate->run_count, "runs");
}

static void put_counts(const struct aggregate *aggregate)
{
    char buffer[32];
    if (aggregate->run_count < 2 || aggregate->row_count == 0)
        return;
    if (aggregate->differ_count == 0) {
        fputs("All counts are the same in every run\n", stdout);
        return;
    }
    printf("%s of ", tool_format_count(buffer, aggregate->differ_count));
    printf("%s label%s counts that differ between runs\n", tool_format_count(buffer, aggregate->row_count),
           aggregate->row_count == 1 ? " has" : "s have");
}

static void put_head(const struct aggregate *aggregate)
{
    const struct tbed_spread *total = &aggregate->total;
    const struct compare_run *first = aggregate->runs;
    char buffer[32];
    printf("%s%zu run%s%s: total %s", tool_bold(), aggregate->run_count, aggregate->run_count == 1 ? "" : "s",
           tool_plain(), compare_format(buffer, first, TBED_FIGURE_TIME, total->mean));
    if (total->count > 1) {
        printf(" +- %s (%.1f %%)", compare_format(buffer, first, TBED_FIGURE_TIME, compare_deviation(total)),
               100 * compare_variation(total));
        printf(", from %s", compare_format(buffer, first, TBED_FIGURE_TIME, (double)total->min));
        printf(" to %s", compare_format(buffer, first, TBED_FIGURE_TIME, (double)total->max));
    }
    if (first->unit[0] != '\0') {
        fputs("; in ", stdout);
        tool_print_text(stdout, first->unit, strlen(first->unit), 0);
    }
    puts(tool_filter_is_given(&aggregate->options->filter) ? " (only a part of each)" : "");
    put_counts(aggregate);
    if (!has_outliers(aggregate))
        printf("%sWith fewer than %u runs nothing is called an outlier.%s\n", tool_dim(),
               TBED_OUTLIER_RUNS_MIN, tool_plain());
    for (size_t run = 0; run < aggregate->run_count; run++)
        compare_put_warnings(&aggregate->runs[run]);
}

void aggregate_print_text(const struct aggregate *aggregate)
{
    char buffer[32];
    put_head(aggregate);
    put_runs(aggregate);
    put_rows(aggregate);
    put_artifacts(aggregate);
    if (aggregate->label_count == 0)
        fputs("\nNothing to compare: no run has a span that ended.\n", stdout);
    else if (aggregate->row_count == 0)
        printf("\n--percent-above leaves none of %s labels.\n",
               tool_format_count(buffer, aggregate->label_count));
}

/* ---- JSON ---- */

static void json_moments(struct tbed_json *json, const struct tbed_spread *spread)
{
    tbed_json_f64(json, "mean", spread->mean);
    tbed_json_f64(json, "median", spread->median);
    if (spread->count > 1) {
        tbed_json_f64(json, "standard_deviation", compare_deviation(spread));
        tbed_json_f64(json, "variance", spread->variance);
        tbed_json_f64(json, "coefficient_of_variation", compare_variation(spread));
    } else {
        tbed_json_null(json, "standard_deviation");
        tbed_json_null(json, "variance");
        tbed_json_null(json, "coefficient_of_variation");
    }
    tbed_json_u64(json, "min", spread->min);
    tbed_json_u64(json, "max", spread->max);
}

/* Uses the values of the last aggregate_spread(). */
static void json_spread(struct tbed_json *json, const struct aggregate *aggregate, const char *key,
                        const struct tbed_spread *spread)
{
    tbed_json_object_open(json, key);
    json_moments(json, spread);
    tbed_json_array_open(json, "values");
    for (size_t run = 0; run < aggregate->run_count; run++)
        tbed_json_u64(json, NULL, aggregate->values[run]);
    tbed_json_array_close(json);
    if (has_outliers(aggregate)) {
        tbed_json_array_open(json, "outlier_runs");
        for (size_t run = 0; run < aggregate->run_count; run++)
            if (tbed_spread_is_outlier(spread, aggregate->values[run]))
                tbed_json_u64(json, NULL, run + 1);
        tbed_json_array_close(json);
    } else {
        tbed_json_null(json, "outlier_runs");
    }
    tbed_json_object_close(json);
}

static void json_row(struct tbed_json *json, const struct aggregate *aggregate,
                     const struct aggregate_row *row)
{
    char key[48];
    tbed_json_object_open(json, NULL);
    compare_json_name(json, aggregate->options, &row->label);
    tbed_json_u64(json, "run_count", row->label.run_count);
    tbed_json_bool(json, "counts_differ", row->counts_differ);
    for (enum tbed_figure figure = 0; figure < TBED_FIGURE_COUNT; figure++) {
        if (figure == TBED_FIGURE_P50 && aggregate->options->figure != figure)
            continue; /* not computed */
        struct tbed_spread spread = aggregate_spread(aggregate, row->index, figure);
        json_spread(json, aggregate, compare_key(key, aggregate->runs, figure, ""), &spread);
    }
    tbed_json_object_close(json);
}

static void json_artifacts(struct tbed_json *json, const struct aggregate *aggregate)
{
    struct tbed_comparison_row row;
    tbed_json_array_open(json, "artifacts");
    for (size_t i = 0; tbed_comparison_artifact(aggregate->comparison, i, &row); i++) {
        struct tbed_spread spread = spread_sizes(aggregate, i);
        tbed_json_object_open(json, NULL);
        compare_json_name(json, aggregate->options, &row);
        tbed_json_u64(json, "run_count", row.run_count);
        json_spread(json, aggregate, "bytes", &spread);
        tbed_json_object_close(json);
    }
    tbed_json_array_close(json);
}

static void json_runs(struct tbed_json *json, const struct aggregate *aggregate)
{
    bool counts = aggregate->runs[0].unit[0] != '\0';
    tbed_json_array_open(json, "runs");
    for (size_t run = 0; run < aggregate->run_count; run++) {
        uint64_t total = tbed_comparison_total(aggregate->comparison, run);
        aggregate->values[run] = total;
        compare_json_run(json, NULL, aggregate->options, &aggregate->runs[run], total);
    }
    tbed_json_array_close(json);
    tbed_json_array_open(json, "outlier_label_counts");
    for (size_t run = 0; run < aggregate->run_count; run++)
        tbed_json_u64(json, NULL, aggregate->outlier_counts[run]);
    tbed_json_array_close(json);
    json_spread(json, aggregate, counts ? "total_ticks" : "total_ns", &aggregate->total);
}

void aggregate_print_json(const struct aggregate *aggregate)
{
    struct tbed_json json = {.out = stdout};
    tbed_json_object_open(&json, NULL);
    tbed_json_u64(&json, "run_count", aggregate->run_count);
    json_runs(&json, aggregate);
    tbed_json_u64(&json, "differing_label_count", aggregate->differ_count);
    tbed_json_array_open(&json, "rows");
    for (size_t i = 0; i < aggregate->row_shown && !tool_output_failed(); i++)
        json_row(&json, aggregate, &aggregate->rows[i]);
    tbed_json_array_close(&json);
    json_artifacts(&json, aggregate);
    tbed_json_object_open(&json, "left_out");
    tbed_json_u64(&json, "rows", aggregate->row_count - aggregate->row_shown);
    tbed_json_object_close(&json);
    tbed_json_object_close(&json);
    tbed_json_line(&json);
}
