/*
 * Which labels have calls of other durations in one run than in another one.
 *
 * SPDX-License-Identifier: MIT
 */
#define _GNU_SOURCE 1
#include "format/base/sized.h"
#include "reader/analysis/compare/run_shift.h"
#include "reader/analysis/compare/two_samples.h"
#include "reader/analysis/sums/histogram.h"
#include <tracebed/compare.h>

#include <math.h>
#include <stdlib.h>

#define ALPHA_DEFAULT 0.01
#define RATIO_STEPS   50
/* Of a duration: those that are no further apart are taken for equal, however a factor between them is rounded. */
#define ACCURACY (1 / 64.0 + 1e-9)

struct tbed_call_differences {
    struct tbed_call_difference *rows;
    size_t row_count, tested_count;
    double shift; /* a factor */
};

struct maker {
    const struct tbed_comparison *comparison;
    struct tbed_call_difference_options options;
    struct tbed_call_differences *differences;
};

/* ---- Pairs of calls ---- */

/* The calls of a label in both runs. */
struct pair {
    struct tbed_durations before, after;
    double before_count, after_count;
};

static double count_of(const struct tbed_durations *durations)
{
    double count = 0;
    for (size_t i = 0; i < durations->count; i++)
        count += (double)durations->counts[i].count;
    return count;
}

static struct pair pair_of(const struct maker *maker, size_t index)
{
    struct pair pair = {
        .before = tbed_comparison_durations(maker->comparison, index, maker->options.before_run),
        .after = tbed_comparison_durations(maker->comparison, index, maker->options.after_run)};
    pair.before_count = count_of(&pair.before);
    pair.after_count = count_of(&pair.after);
    return pair;
}

/* Durations of 0 are taken for a tenth of a unit, so that they have a ratio. */
static double duration_at(const struct tbed_durations *durations, size_t index)
{
    return fmax((double)durations->counts[index].ticks, 0.1);
}

/* The pairs in which the call of AFTER takes less than 'ratio' times that of BEFORE; or at most as long. */
static double pairs_below(const struct pair *pair, double ratio, bool or_equal)
{
    double below = 0, pairs = 0;
    size_t at = 0;
    for (size_t i = 0; i < pair->before.count; i++) {
        double limit = ratio * duration_at(&pair->before, i);
        while (at < pair->after.count && (duration_at(&pair->after, at) < limit ||
                                          (or_equal && duration_at(&pair->after, at) <= limit)))
            below += (double)pair->after.counts[at++].count;
        pairs += below * (double)pair->before.counts[i].count;
    }
    return pairs;
}

static double longest(const struct tbed_durations *durations)
{
    return duration_at(durations, durations->count - 1);
}

static double shortest(const struct tbed_durations *durations)
{
    return duration_at(durations, 0);
}

/*
 * The median of the ratios of all pairs, after Hodges and Lehmann: the middle of the range in which half of the pairs are
 * below.
 */
static double median_ratio(const struct pair *pair)
{
    double low = log(shortest(&pair->after) / longest(&pair->before)) - 1;
    double high = log(longest(&pair->after) / shortest(&pair->before)) + 1;
    double first[2] = {low, low}, last[2] = {high, high}, half = pair->before_count * pair->after_count / 2;
    for (unsigned side = 0; side < 2; side++)
        for (unsigned step = 0; step < RATIO_STEPS; step++) {
            double middle = first[side] / 2 + last[side] / 2;
            double pairs = pairs_below(pair, exp(middle), side == 0);
            if (side == 0 ? pairs >= half : pairs > half)
                last[side] = middle;
            else
                first[side] = middle;
        }
    return exp(last[0] / 2 + last[1] / 2);
}

/* ---- Rows ---- */

static uint64_t percentile(const struct tbed_durations *durations, double count, double part)
{
    uint64_t rank = tbed_percentile_rank((uint64_t)count, part), seen = 0;
    for (size_t i = 0; i < durations->count; i++)
        if ((seen += durations->counts[i].count) >= rank)
            return durations->counts[i].ticks;
    return 0;
}

static void fill_percentiles(const struct tbed_durations *durations, double count,
                             struct tbed_call_durations *found)
{
    found->count = (uint64_t)count;
    found->p50 = percentile(durations, count, 0.5);
    found->p90 = percentile(durations, count, 0.9);
    found->p99 = percentile(durations, count, 0.99);
}

/* Mann and Whitney's test, without a correction for ties, which makes it careful. */
static void test_pair(const struct pair *pair, double shift, struct tbed_call_difference *row)
{
    double pairs = pair->before_count * pair->after_count;
    double shorter = pairs_below(pair, shift / (1 + ACCURACY), false);
    double longer = pairs - pairs_below(pair, shift * (1 + ACCURACY), true);
    double error = sqrt(pairs * (pair->before_count + pair->after_count + 1) / 12);
    row->effect = (longer - shorter) / pairs;
    double distance = fmax(fabs(row->effect) * pairs / 2 - 0.5, 0);
    row->p = row->p_corrected = erfc(distance / error / sqrt(2));
}

static void make_rows(const struct maker *maker)
{
    struct tbed_call_differences *differences = maker->differences;
    for (size_t i = 0; i < differences->row_count; i++) {
        struct tbed_call_difference *row = &differences->rows[i];
        struct pair pair = pair_of(maker, i);
        *row = (struct tbed_call_difference){.p = 1, .p_corrected = 1};
        fill_percentiles(&pair.before, pair.before_count, &row->before);
        fill_percentiles(&pair.after, pair.after_count, &row->after);
        row->is_tested = pair.before.count > 0 && pair.after.count > 0;
        if (row->is_tested)
            row->change = median_ratio(&pair) - 1;
    }
}

/*
 * How precisely the change of a label is known, by the number of its calls, and how much of it is its own: a label that became
 * slower would otherwise count again in each of those that it is nested in.
 */
static double weight_of(const struct maker *maker, size_t index)
{
    const struct tbed_call_difference_options *options = &maker->options;
    struct tbed_figures before = tbed_comparison_figures(maker->comparison, index, options->before_run);
    struct tbed_figures after = tbed_comparison_figures(maker->comparison, index, options->after_run);
    const struct tbed_call_difference *row = &maker->differences->rows[index];
    double self = (double)before.of[TBED_FIGURE_SELF] + (double)after.of[TBED_FIGURE_SELF];
    double time = (double)before.of[TBED_FIGURE_TIME] + (double)after.of[TBED_FIGURE_TIME];
    double before_count = (double)row->before.count, after_count = (double)row->after.count;
    if (!(time > 0))
        return 0;
    return sqrt(before_count * after_count / (before_count + after_count)) * fmin(self / time, 1);
}

/* What the calls of all labels have in common. False: no memory. */
static bool find_shift(const struct maker *maker)
{
    struct tbed_call_differences *differences = maker->differences;
    struct weighed *items = calloc(differences->row_count + 1, sizeof *items);
    size_t count = 0;
    for (unsigned turn = 0; items != NULL && turn < 2; turn++) {
        double limit = turn == 0 || count < RUN_SHIFT_LABELS_MIN ? INFINITY : tbed_weight_limit(items, count);
        count = 0;
        for (size_t i = 0; i < differences->row_count; i++) {
            const struct tbed_call_difference *row = &differences->rows[i];
            double weight = row->is_tested ? weight_of(maker, i) : 0;
            if (weight > 0)
                items[count++] = turn == 0 ? (struct weighed){weight, 1}
                                           : (struct weighed){row->change, fmin(weight, limit)};
        }
    }
    if (items != NULL && count >= RUN_SHIFT_LABELS_MIN && !maker->options.keep_shift)
        differences->shift = 1 + tbed_weighed_median(items, count);
    free(items);
    return items != NULL;
}

/* False: no memory. */
static bool test_rows(const struct maker *maker)
{
    struct tbed_call_differences *differences = maker->differences;
    double *ps = calloc(differences->row_count + 1, sizeof *ps);
    size_t *order = calloc(differences->row_count + 1, sizeof *order), at = 0;
    bool fits = ps != NULL && order != NULL;
    for (size_t i = 0; fits && i < differences->row_count; i++) {
        struct tbed_call_difference *row = &differences->rows[i];
        struct pair pair = pair_of(maker, i);
        if (!row->is_tested)
            continue;
        test_pair(&pair, differences->shift, row);
        row->change = (1 + row->change) / differences->shift - 1;
        ps[differences->tested_count++] = row->p;
    }
    if (fits)
        tbed_holm_correct(ps, order, differences->tested_count);
    for (size_t i = 0; fits && i < differences->row_count; i++) {
        struct tbed_call_difference *row = &differences->rows[i];
        if (!row->is_tested)
            continue;
        row->p_corrected = ps[at++];
        row->is_marked =
            row->p_corrected <= maker->options.alpha && fabs(row->change) >= maker->options.threshold;
    }
    free(ps);
    free(order);
    return fits;
}

/* ---- Making and reading ---- */

static bool make(const struct maker *maker)
{
    struct tbed_call_differences *differences = maker->differences;
    struct tbed_comparison_row row;
    while (tbed_comparison_row(maker->comparison, differences->row_count, &row))
        differences->row_count++;
    differences->shift = 1;
    differences->rows = calloc(differences->row_count + 1, sizeof *differences->rows);
    if (differences->rows == NULL)
        return false;
    make_rows(maker);
    return find_shift(maker) && test_rows(maker);
}

enum tbed_status tbed_call_differences_make(const struct tbed_comparison *comparison,
                                            const struct tbed_call_difference_options *options,
                                            struct tbed_call_differences **differences_ret)
{
    struct maker maker = {.comparison = comparison};
    if (!tbed_options_take(&maker.options, sizeof maker.options, options))
        return TBED_ERR_ARGUMENT;
    if (maker.options.alpha <= 0)
        maker.options.alpha = ALPHA_DEFAULT;
    if (!(maker.options.alpha < 1) || !(maker.options.threshold >= 0))
        return TBED_ERR_ARGUMENT;
    maker.differences = calloc(1, sizeof *maker.differences);
    if (maker.differences == NULL || !make(&maker)) {
        tbed_call_differences_close(maker.differences);
        return TBED_ERR_MEMORY;
    }
    *differences_ret = maker.differences;
    return TBED_OK;
}

void tbed_call_differences_close(struct tbed_call_differences *differences)
{
    if (differences == NULL)
        return;
    free(differences->rows);
    free(differences);
}

const struct tbed_call_difference *tbed_call_differences_row(const struct tbed_call_differences *differences,
                                                             size_t index)
{
    return index < differences->row_count ? &differences->rows[index] : NULL;
}

double tbed_call_differences_shift(const struct tbed_call_differences *differences)
{
    return differences->shift - 1;
}

size_t tbed_call_differences_tested_count(const struct tbed_call_differences *differences)
{
    return differences->tested_count;
}
