/*
 * Shared by the files of 'tracebed aggregate': aggregate_verb.c sorts the rows, aggregate_print.c prints them.
 *
 * SPDX-License-Identifier: MIT
 */
#ifndef TRACEBED_AGGREGATE_H
#define TRACEBED_AGGREGATE_H

#include "reader/tools/compare/compare_verbs.h"

enum aggregate_sort { /* 0: the default */
                      AGGREGATE_SORT_VARIANCE,
                      AGGREGATE_SORT_CV,
                      AGGREGATE_SORT_MEAN,
                      AGGREGATE_SORT_MEDIAN,
                      AGGREGATE_SORT_MIN,
                      AGGREGATE_SORT_MAX,
                      AGGREGATE_SORT_OUTLIERS,
                      AGGREGATE_SORT_RUNS,
                      AGGREGATE_SORT_NAME,
};

struct aggregate_row {
    size_t index; /* in the comparison */
    struct tbed_comparison_row label;
    struct tbed_spread spread; /* of the requested figure */
    bool counts_differ;        /* invocations, cache hits or misses differ between runs */
};

struct aggregate {
    struct compare_options *options;
    const struct tbed_comparison *comparison;
    enum aggregate_sort sort;
    bool by_position; /* see positions_table.h */
    struct compare_run *runs;
    size_t run_count;
    uint64_t *values; /* one per run, reused for each row */
    double *scratch;
    struct tbed_spread total;
    size_t *outlier_counts;     /* the number of labels in which each run is an outlier */
    struct aggregate_row *rows; /* not hidden by --percent-above, in the order in which they are shown */
    size_t row_count, row_shown;
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

void aggregate_print_text(const struct aggregate *aggregate);
void aggregate_print_json(const struct aggregate *aggregate);

#endif
