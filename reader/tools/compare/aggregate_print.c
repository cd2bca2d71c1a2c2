/*
 * The tables of an aggregate, and what is printed around them as text and as JSON. Runs are numbered from 1, in the order of the files on the command line.
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

/* ---- Columns ---- */

static const struct aggregate *aggregate_of(const struct table *table)
{
    return table->context;
}

static void show_figure(const struct table *table, struct table_value value, struct tool_buffer *text)
{
    const struct aggregate *aggregate = aggregate_of(table);
    char buffer[32];
    compare_append(text, "%s",
                   value.is_unknown
                       ? "-"
                       : compare_format(buffer, aggregate->runs, aggregate->options->figure, value.number));
}

static void show_size(struct table_value value, struct tool_buffer *text)
{
    char buffer[32];
    compare_append(text, "%s", value.is_unknown ? "-" : tool_format_bytes(buffer, round(value.number)));
}

/* A column of labels and of artifacts. */
#define SPREAD(name, value)                                                                                  \
    TABLE_GETTER(get_##name, aggregate_row, value)                                                           \
    static void show_##name(const struct table *table, const void *row, struct tool_buffer *text)            \
    {                                                                                                        \
        show_figure(table, get_##name(table, row), text);                                                    \
    }                                                                                                        \
    static void size_##name(const struct table *table, const void *row, struct tool_buffer *text)            \
    {                                                                                                        \
        show_size(get_##name(table, row), text);                                                             \
    }

SPREAD(mean, compare_number(true, row->spread.mean))
SPREAD(deviation, compare_number(row->spread.count > 1, compare_deviation(&row->spread)))
SPREAD(median, compare_number(true, row->spread.median))
SPREAD(min, table_value_of(row->spread.min))
SPREAD(max, table_value_of(row->spread.max))
TABLE_GETTER(get_variance, aggregate_row, compare_number(row->spread.count > 1, row->spread.variance))
TABLE_GETTER(get_variation, aggregate_row,
             compare_number(row->spread.count > 1, 100 * compare_variation(&row->spread)))
TABLE_GETTER(get_run_count, aggregate_row, table_value_of(row->label.run_count))
TABLE_GETTER(get_label, aggregate_row, table_text_of(row->label.label, row->label.label_nbytes))
TABLE_GETTER(get_differ, aggregate_row, table_value_of(row->counts_differ))

static struct table_value get_outliers(const struct table *table, const void *of)
{
    const struct aggregate_row *row = of;
    struct table_value value = table_value_of(row->spread.outlier_count);
    value.is_unknown = !has_outliers(aggregate_of(table));
    return value;
}

/* 'unit' ends the fields of figures; 'text' is show_ or size_. */
#define SPREAD_COLUMNS(UNIT, unit_text, text)                                                                \
    {.key = "variance", .unit = TABLE_NUMBER, .get = get_variance},                                          \
        {.key = "cv", .field = "cv_percent", .unit = TABLE_PERCENT, .get = get_variation},                   \
        {.key = "mean",                                                                                      \
         .field = "mean" unit_text,                                                                          \
         .unit = UNIT,                                                                                       \
         .has_fraction = true,                                                                               \
         .get = get_mean,                                                                                    \
         .show = text##mean},                                                                                \
        {.key = "median",                                                                                    \
         .field = "median" unit_text,                                                                        \
         .unit = UNIT,                                                                                       \
         .has_fraction = true,                                                                               \
         .get = get_median,                                                                                  \
         .show = text##median},                                                                              \
        {.key = "min", .field = "min" unit_text, .unit = UNIT, .get = get_min, .show = text##min},           \
        {.key = "max", .field = "max" unit_text, .unit = UNIT, .get = get_max, .show = text##max},           \
        {.key = "outliers", .field = "outlier_count", .unit = TABLE_COUNT, .get = get_outliers},             \
        {.key = "runs", .field = "run_count", .unit = TABLE_COUNT, .rises = true, .get = get_run_count},     \
        {.key = "name", .unit = TABLE_TEXT, .is_in_order = true, .get = get_label},                          \
    {                                                                                                        \
        .key = "stddev", .field = "standard_deviation" unit_text, .title = "std dev", .unit = UNIT,          \
        .has_fraction = true, .get = get_deviation, .show = text##deviation                                  \
    }

#define DIFFER_COLUMN                                                                                        \
    {                                                                                                        \
        .key = "differ", .field = "counts_differ", .unit = TABLE_COUNT, .get = get_differ                    \
    }

static const struct table_column time_columns[] = {SPREAD_COLUMNS(TABLE_TICKS, "", show_), DIFFER_COLUMN};
static const struct table_column count_columns[] = {SPREAD_COLUMNS(TABLE_COUNT, "", show_), DIFFER_COLUMN};
static const struct table_column size_columns[] = {SPREAD_COLUMNS(TABLE_BYTES, "_bytes", size_)};

/* ---- Columns of runs ---- */

static size_t run_of(const struct table *table, const void *row)
{
    return (size_t)((const struct compare_run *)row - aggregate_of(table)->runs);
}

static uint64_t total_of(const struct table *table, const void *row)
{
    return tbed_comparison_total(aggregate_of(table)->comparison, run_of(table, row));
}

static bool is_outlier(const struct table *table, const void *row)
{
    return tbed_spread_is_outlier(&aggregate_of(table)->total, total_of(table, row));
}

static struct table_value run_number(const struct table *table, const void *row)
{
    return table_value_of(run_of(table, row) + 1);
}

static struct table_value run_total(const struct table *table, const void *row)
{
    return table_value_of(total_of(table, row));
}

static void show_total(const struct table *table, const void *row, struct tool_buffer *text)
{
    char buffer[32];
    compare_append(
        text, "%s",
        compare_format(buffer, aggregate_of(table)->runs, TBED_FIGURE_TIME, (double)total_of(table, row)));
}

static const char *color_total(const struct table *table, const void *row)
{
    return is_outlier(table, row) ? tool_red() : "";
}

static struct table_value run_distance(const struct table *table, const void *row)
{
    double median = aggregate_of(table)->total.median, total = (double)total_of(table, row);
    return compare_number(median > 0, 100 * (total - median) / median);
}

static void show_distance(const struct table *table, const void *row, struct tool_buffer *text)
{
    struct table_value value = run_distance(table, row);
    char buffer[32];
    compare_append(text, "%s", value.is_unknown ? "-" : compare_format_percent(buffer, value.number));
}

static struct table_value run_outliers(const struct table *table, const void *row)
{
    const struct aggregate *aggregate = aggregate_of(table);
    struct table_value value = table_value_of(aggregate->outlier_counts[run_of(table, row)]);
    value.is_unknown = !has_outliers(aggregate);
    return value;
}

TABLE_GETTER(run_spans, compare_run, table_value_of(row->totals.span_count))
TABLE_GETTER(run_path, compare_run, table_text_of(tool_path(row->path), strlen(tool_path(row->path))))

static void note_run(const struct table *table, const void *row, struct tool_buffer *notes)
{
    if (is_outlier(table, row))
        compare_append(notes, "  [outlier]");
}

static const struct table_column run_columns[] = {
    {.key = "run", .unit = TABLE_COUNT, .get = run_number},
    {.key = "total", .unit = TABLE_TICKS, .get = run_total, .show = show_total, .color = color_total},
    {.key = "vs_median",
     .field = "vs_median_percent",
     .title = "vs median",
     .unit = TABLE_PERCENT,
     .get = run_distance,
     .show = show_distance},
    {.key = "spans", .field = "span_count", .unit = TABLE_COUNT, .get = run_spans},
    {.key = "outliers", .field = "outlier_count", .unit = TABLE_COUNT, .get = run_outliers},
    {.key = "name", .unit = TABLE_TEXT, .get = run_path},
};

/* ---- Remarks on a row ---- */

static void open_note(struct tool_buffer *notes)
{
    compare_append(notes, notes->nbytes > 0 ? ", " : "  [");
}

static void note_counts(const struct aggregate *aggregate, const struct aggregate_row *row,
                        struct tool_buffer *notes)
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
        open_note(notes);
        compare_append(notes, "%s %s to %s", names[figure], tool_format_count(min, spread.min),
                       tool_format_count(max, spread.max));
    }
}

static void note_outliers(const struct aggregate *aggregate, const struct aggregate_row *row,
                          struct tool_buffer *notes)
{
    char buffer[32];
    size_t told = 0;
    if (row->spread.outlier_count == 0)
        return;
    aggregate_spread(aggregate, row->index, aggregate->options->figure);
    open_note(notes);
    compare_append(notes, "outlier%s:", row->spread.outlier_count == 1 ? "" : "s");
    for (size_t run = 0; run < aggregate->run_count && told < OUTLIERS_TOLD_MAX; run++) {
        uint64_t value = aggregate->values[run];
        if (!tbed_spread_is_outlier(&row->spread, value))
            continue;
        compare_append(notes, "%s run %zu with %s", told++ == 0 ? "" : ",", run + 1,
                       compare_format(buffer, aggregate->runs, aggregate->options->figure, (double)value));
    }
    if (told < row->spread.outlier_count)
        compare_append(notes, " and %zu more", row->spread.outlier_count - told);
}

static void note_runs(const struct aggregate *aggregate, const struct aggregate_row *row,
                      struct tool_buffer *notes)
{
    if (row->label.run_count == aggregate->run_count)
        return;
    open_note(notes);
    compare_append(notes, "in %zu of %zu runs", row->label.run_count, aggregate->run_count);
}

static void note_label(const struct table *table, const void *of, struct tool_buffer *notes)
{
    const struct aggregate *aggregate = aggregate_of(table);
    const struct aggregate_row *row = of;
    note_runs(aggregate, row, notes);
    if (row->counts_differ)
        note_counts(aggregate, row, notes);
    note_outliers(aggregate, row, notes);
    if (notes->nbytes > 0)
        compare_append(notes, "]");
}

static void note_artifact(const struct table *table, const void *row, struct tool_buffer *notes)
{
    note_runs(aggregate_of(table), row, notes);
    if (notes->nbytes > 0)
        compare_append(notes, "]");
}

/* ---- Tables ---- */

#define COLUMNS(array) .columns = (array), .column_count = sizeof(array) / sizeof(array)[0]
#define SPREAD_TEXT    "mean,stddev,cv,median,min,max,name"
#define SPREAD_DATA    "name,runs,mean,median,stddev,variance,cv,min,max,outliers"

const struct table aggregate_tables[AGGREGATE_TABLE_COUNT] = {
    [AGGREGATE_LABELS] = {.key = "rows",
                          .what = "labels",
                          COLUMNS(time_columns),
                          .text_columns = SPREAD_TEXT,
                          .data_columns = SPREAD_DATA ",differ",
                          .order = "variance",
                          .ties = "mean", /* so that a single run is sorted too */
                          .has_many_files = true,
                          .notes = note_label},
    [AGGREGATE_ARTIFACTS] = {.key = "artifacts",
                             .what = "artifacts",
                             COLUMNS(size_columns),
                             .name_title = "artifact",
                             .text_columns = SPREAD_TEXT,
                             .data_columns = SPREAD_DATA,
                             .has_many_files = true,
                             .notes = note_artifact},
    [AGGREGATE_RUNS] = {.key = "runs",
                        .what = "runs",
                        COLUMNS(run_columns),
                        .name_title = "file",
                        .text_columns = "run,total,vs_median,spans,outliers,name",
                        .data_columns = "run,name,total,vs_median,spans,outliers",
                        .has_many_files = true,
                        .notes = note_run},
};

void aggregate_open_tables(struct aggregate *aggregate)
{
    enum tbed_figure figure = aggregate->options->figure;
    aggregate->clock = (struct table_clock){.is_time = aggregate->runs[0].unit[0] == '\0',
                                            .resolution_ns = aggregate->runs[0].resolution_ns};
    for (size_t i = 0; i < AGGREGATE_TABLE_COUNT; i++) {
        aggregate->tables[i] = aggregate_tables[i];
        aggregate->tables[i].context = aggregate;
        aggregate->tables[i].clock = &aggregate->clock;
    }
    aggregate->tables[AGGREGATE_LABELS].name_title = compare_figure_heading(figure);
    if (!tbed_figure_is_time(figure))
        aggregate->tables[AGGREGATE_LABELS].columns = count_columns;
}

/* ---- Text ---- */

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
    table_print_text(&aggregate->tables[AGGREGATE_RUNS], &aggregate->options->columns);
    table_print_text(&aggregate->tables[AGGREGATE_LABELS], &aggregate->options->columns);
    table_print_text(&aggregate->tables[AGGREGATE_ARTIFACTS], &aggregate->options->columns);
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

static void json_row(struct tbed_json *json, const struct table *table, const void *of)
{
    const struct aggregate *aggregate = table->context;
    const struct aggregate_row *row = of;
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
    const struct table *table = &aggregate->tables[AGGREGATE_ARTIFACTS];
    tbed_json_array_open(json, "artifacts");
    for (size_t i = 0; i < table->count; i++) {
        const struct aggregate_row *row = table->rows[i];
        struct tbed_spread spread = aggregate_sizes(aggregate, row->index);
        tbed_json_object_open(json, NULL);
        compare_json_name(json, aggregate->options, &row->label);
        tbed_json_u64(json, "run_count", row->label.run_count);
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
    const struct table *labels = &aggregate->tables[AGGREGATE_LABELS];
    struct tbed_json json = {.out = stdout};
    tbed_json_object_open(&json, NULL);
    tbed_json_u64(&json, "run_count", aggregate->run_count);
    json_runs(&json, aggregate);
    tbed_json_u64(&json, "differing_label_count", aggregate->differ_count);
    compare_json_rows(&json, labels, json_row);
    json_artifacts(&json, aggregate);
    compare_json_end(&json, labels);
}
