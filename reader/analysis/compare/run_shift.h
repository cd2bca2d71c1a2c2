/*
 * How much slower or faster a whole run was than the others: what its labels have in common.
 *
 * SPDX-License-Identifier: MIT
 */
#ifndef TRACEBED_RUN_SHIFT_H
#define TRACEBED_RUN_SHIFT_H

#include <stdbool.h>
#include <stddef.h>

/* With fewer labels, a change of one of them could be taken for a change of the run. */
#define RUN_SHIFT_LABELS_MIN 5u

struct weighed {
    double value, weight;
};

/* Sorts. If the halves have the same weight, it is the middle between them. 'count' is not 0. */
double tbed_weighed_median(struct weighed *items, size_t count);

/*
 * What the heaviest weights, at most four, are cut to so that none is more than a fifth of all. The weights are the values of
 * the items, which are sorted; there are at least RUN_SHIFT_LABELS_MIN.
 */
double tbed_weight_limit(struct weighed *items, size_t count);

/*
 * Estimates the shifts of the runs from 'logs', the logarithms of the times of 'label_count' labels, 'run_count' of each.
 * The first 'before_count' runs are one set, the others the second one. Both sets have at least two runs.
 *
 * The shift of a run is the median, over the labels, of the distances from the labels' own medians. Labels count in
 * proportion to their steadiness in each of the sets, but none for more than a fifth, so that a label that has changed
 * cannot move the median far.
 *
 * False: no memory.
 */
bool tbed_run_shifts_find(const double *logs, size_t label_count, size_t run_count, size_t before_count,
                          double *shifts);

#endif
