/*
 * Shared by the files of 'tracebed aggregate': aggregate_verb.c collects the rows, aggregate_print.c prints
 * them.
 *
 * SPDX-License-Identifier: MIT
 */
#ifndef TRACEBED_AGGREGATE_H
#define TRACEBED_AGGREGATE_H

#include "reader/tools/compare/compare_verbs.h"

enum aggregate_table {
    AGGREGATE_LABELS,
    AGGREGATE_ARTIFACTS,
    AGGREGATE_SORTED_COUNT, /* the tables below are not sorted */
    AGGREGATE_RUNS = AGGREGATE_SORTED_COUNT,
    AGGREGATE_TABLE_COUNT,
};

/* Of a label or an artifact. */
struct aggregate_row {
    size_t index; /* in the comparison */
    struct tbed_comparison_row label;
    struct tbed_spread spread; /* of the requested figure, or of the sizes */
    bool counts_differ;        /* invocations, cache hits or misses differ between runs */
};

struct aggregate {
    struct compare_options *options;
    const struct tbed_comparison *comparison;
    bool by_position; /* see positions_table.h */
    struct compare_run *runs;
    size_t run_count;
    uint64_t *values; /* one per run, reused for each row */
    double *scratch;
    struct tbed_spread total;
    size_t *outlier_counts;                 /* the number of labels in which each run is an outlier */
    struct aggregate_row *rows, *artifacts; /* in the order of the comparison */
    size_t row_count;                       /* not hidden by --percent-above */
    struct table tables[AGGREGATE_TABLE_COUNT];
    struct table_clock clock;
    size_t label_count;  /* including hidden ones */
    size_t differ_count; /* rows whose counts differ between runs */
};

/* The spread of a figure over all runs; its values are in 'values' until the next call. */
static inline struct tbed_spread aggregate_spread(const struct aggregate *aggregate, size_t index,
                                                  enum tbed_figure figure)
{
    struct tbed_spread spread;
    for (size_t run = 0; run < aggregate->run_count; run++)
        aggregate->values[run] = tbed_comparison_figures(aggregate->comparison, index, run).of[figure];
    tbed_spread_make(aggregate->values, aggregate->run_count, aggregate->scratch, &spread);
    return spread;
}

/* The sizes of an artifact; as above. */
static inline struct tbed_spread aggregate_sizes(const struct aggregate *aggregate, size_t index)
{
    struct tbed_spread spread;
    for (size_t run = 0; run < aggregate->run_count; run++)
        aggregate->values[run] = tbed_comparison_size(aggregate->comparison, index, run);
    tbed_spread_make(aggregate->values, aggregate->run_count, aggregate->scratch, &spread);
    return spread;
}

/* aggregate_print.c: the tables' columns. */
extern const struct table aggregate_tables[AGGREGATE_TABLE_COUNT];
void aggregate_open_tables(struct aggregate *aggregate);

void aggregate_print_text(const struct aggregate *aggregate);
void aggregate_print_json(const struct aggregate *aggregate);

#endif
