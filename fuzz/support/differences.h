/*
 * What must hold for the differences of any runs.
 *
 * SPDX-License-Identifier: MIT
 */
#ifndef TRACEBED_FUZZ_DIFFERENCES_H
#define TRACEBED_FUZZ_DIFFERENCES_H

#include <math.h>
#include <tracebed/compare.h>

#include "fuzz/support/fuzz.h"

static inline void check_difference(const struct tbed_difference *row, double alpha, double threshold)
{
    REQUIRE(row->p >= 0 && row->p <= 1 && row->p_corrected >= row->p && row->p_corrected <= 1);
    REQUIRE(!isnan(row->change) && !isnan(row->low) && !isnan(row->high) && !isnan(row->effect));
    REQUIRE(row->low <= row->high && !signbit(row->before_mean) && !signbit(row->after_mean));
    REQUIRE(row->is_tested || (row->p >= 1 && !row->is_marked));
    REQUIRE(row->is_marked ==
            (row->is_tested && row->p_corrected <= alpha && fabs(row->change) >= threshold));
}

/* The first 'before_count' runs against the others. */
static inline void check_differences(const struct tbed_comparison *comparison, size_t before_count,
                                     enum tbed_figure figure, unsigned choices)
{
    struct tbed_difference_options options = {.size = sizeof options,
                                              .before_count = before_count,
                                              .figure = figure,
                                              .alpha = choices & 1 ? 0.3 : 0.01,
                                              .threshold = choices & 2 ? 0.02 : 0,
                                              .resolution = choices & 4 ? 100 : 0,
                                              .keep_shift = choices & 8};
    struct tbed_differences *differences = NULL;
    const struct tbed_difference *row;
    struct tbed_comparison_row label;
    size_t count = 0, tested = 0;
    REQUIRE(tbed_differences_make(comparison, &options, &differences) == TBED_OK);
    for (; (row = tbed_differences_row(differences, count)) != NULL; count++) {
        REQUIRE(tbed_comparison_row(comparison, count, &label));
        REQUIRE(row->before_run_count + row->after_run_count == label.run_count);
        check_difference(row, options.alpha, options.threshold);
        tested += row->is_tested;
    }
    REQUIRE(!tbed_comparison_row(comparison, count, &label));
    REQUIRE(tested == tbed_differences_tested_count(differences));
    row = tbed_differences_common(differences);
    REQUIRE(row == NULL || !options.keep_shift);
    if (row != NULL)
        check_difference(row, options.alpha, options.threshold);
    for (size_t run = 0; run <= tbed_comparison_run_count(comparison); run++)
        REQUIRE(!isnan(tbed_differences_shift(differences, run)));
    tbed_differences_close(differences);
}

/* 'is_same': both runs have the same calls. */
static inline void check_call_differences(const struct tbed_comparison *comparison, size_t before,
                                          size_t after, unsigned choices, bool is_same)
{
    struct tbed_call_difference_options options = {.size = sizeof options,
                                                   .before_run = before,
                                                   .after_run = after,
                                                   .alpha = choices & 1 ? 0.3 : 0,
                                                   .threshold = choices & 2 ? 0.02 : 0,
                                                   .keep_shift = choices & 8};
    struct tbed_call_differences *differences = NULL;
    const struct tbed_call_difference *row;
    size_t tested = 0;
    REQUIRE(tbed_call_differences_make(comparison, &options, &differences) == TBED_OK);
    for (size_t i = 0; (row = tbed_call_differences_row(differences, i)) != NULL; i++) {
        REQUIRE(row->p >= 0 && row->p <= 1 && row->p_corrected >= row->p && row->p_corrected <= 1);
        REQUIRE(row->change > -1 - 1e-9 && fabs(row->effect) <= 1 + 1e-9);
        REQUIRE(row->before.p50 <= row->before.p90 && row->before.p90 <= row->before.p99);
        REQUIRE(row->is_tested == (row->before.count > 0 && row->after.count > 0));
        REQUIRE(!is_same || (fabs(row->change) < 1e-6 && fabs(row->effect) < 1e-6 && row->p > 0.99));
        tested += row->is_tested;
    }
    REQUIRE(tested == tbed_call_differences_tested_count(differences));
    REQUIRE(tbed_call_differences_shift(differences) > -1);
    tbed_call_differences_close(differences);
}

#endif
