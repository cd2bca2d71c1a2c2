/*
 * Which labels differ between two sets of runs.
 *
 * SPDX-License-Identifier: MIT
 */
#include "format/base/sized.h"
#include "reader/analysis/compare/run_shift.h"
#include "reader/analysis/compare/two_samples.h"
#include <tracebed/compare.h>

#include <math.h>
#include <stdlib.h>

#define ALPHA_DEFAULT    0.01
#define PERCENTILE_RANGE (1 / 64.0) /* as a part of the percentile */

struct tbed_differences {
    struct tbed_difference *rows;
    size_t row_count, tested_count;
    double *shifts; /* of the logarithms; by run */
    size_t run_count;
    struct tbed_difference common;
    bool has_common;
};

/* What is needed to make them. */
struct maker {
    const struct tbed_comparison *comparison;
    struct tbed_difference_options options;
    struct tbed_differences *differences;
    size_t run_count, before_count;
    double *values; /* of one label, by run */
};

/* ---- Figures ---- */

/* The figures of a label in all runs; false: there are none, or none in some run ('is_everywhere_ret'). */
static bool load_values(const struct maker *maker, size_t index, double *values, bool *is_everywhere_ret)
{
    bool is_anywhere = false;
    *is_everywhere_ret = true;
    for (size_t run = 0; run < maker->run_count; run++) {
        struct tbed_figures figures = tbed_comparison_figures(maker->comparison, index, run);
        uint64_t value = figures.of[maker->options.figure];
        values[run] = (double)value;
        is_anywhere |= value > 0;
        *is_everywhere_ret &= value > 0;
    }
    return is_anywhere;
}

static double mean_of(const double *values, size_t from, size_t to)
{
    double sum = 0;
    for (size_t i = from; i < to; i++)
        sum += values[i];
    return to > from ? sum / (double)(to - from) : 0;
}

/*
 * The variance of one value that comes from rounding: each end of a span is off by up to one step, and a percentile is
 * anywhere in its range, as large as 'mean' is.
 */
static double rounding_of(const struct maker *maker, size_t index, double mean)
{
    double calls = 0, step = maker->options.resolution;
    if (maker->options.figure == TBED_FIGURE_P50)
        return mean * mean * PERCENTILE_RANGE * PERCENTILE_RANGE / 12 + (step > 0 ? step * step / 6 : 0);
    if (!tbed_figure_is_time(maker->options.figure) || !(maker->options.resolution > 0))
        return 0;
    for (size_t run = 0; run < maker->run_count; run++)
        calls += (double)tbed_comparison_figures(maker->comparison, index, run).of[TBED_FIGURE_INVOCATIONS];
    return calls / (double)maker->run_count * maker->options.resolution * maker->options.resolution / 6;
}

/* ---- Tests ---- */

/* Tests the values, the variance of which is at least 'rounding'. Sorts them. */
static struct sample_test test_values(const struct maker *maker, double rounding, struct sample *before_ret)
{
    struct sample samples[2];
    samples[0] = tbed_sample_make(maker->values, maker->before_count);
    samples[1] =
        tbed_sample_make(maker->values + maker->before_count, maker->run_count - maker->before_count);
    for (unsigned i = 0; i < 2; i++)
        samples[i].variance = fmax(samples[i].variance, rounding / (double)samples[i].kept);
    *before_ret = samples[0];
    return tbed_samples_test(&samples[0], &samples[1], maker->options.alpha);
}

static void take_test(struct tbed_difference *row, const struct sample_test *test)
{
    row->is_tested = true;
    row->effect = test->effect;
    row->p = row->p_corrected = test->p;
}

static void test_logs(const struct maker *maker, double rounding, struct tbed_difference *row)
{
    struct sample before;
    double mean = mean_of(maker->values, 0, maker->run_count);
    for (size_t run = 0; run < maker->run_count; run++)
        maker->values[run] = log(maker->values[run]) - maker->differences->shifts[run];
    struct sample_test test = test_values(maker, rounding / mean / mean, &before);
    take_test(row, &test);
    row->change = expm1(test.difference);
    row->low = expm1(test.difference - test.margin);
    row->high = expm1(test.difference + test.margin);
}

static double part_of(double change, double before)
{
    if (before > 0)
        return change / before;
    return change > 0 ? INFINITY : change < 0 ? -INFINITY : 0;
}

/* In units of the mean: a label that is not in all runs. */
static void test_amounts(const struct maker *maker, double rounding, struct tbed_difference *row)
{
    struct sample before;
    double mean = mean_of(maker->values, 0, maker->run_count);
    for (size_t run = 0; run < maker->run_count; run++)
        maker->values[run] *= exp(-maker->differences->shifts[run]) / mean;
    struct sample_test test = test_values(maker, rounding / mean / mean, &before);
    take_test(row, &test);
    row->change = part_of(test.difference, before.mean);
    row->low = part_of(test.difference - test.margin, before.mean);
    row->high = part_of(test.difference + test.margin, before.mean);
}

static bool can_test(const struct maker *maker)
{
    return maker->before_count >= 2 && maker->run_count - maker->before_count >= 2;
}

static void make_row(const struct maker *maker, size_t index, struct tbed_difference *row)
{
    bool is_everywhere;
    bool is_anywhere = load_values(maker, index, maker->values, &is_everywhere);
    *row = (struct tbed_difference){.p = 1, .p_corrected = 1};
    row->before_mean = mean_of(maker->values, 0, maker->before_count);
    row->after_mean = mean_of(maker->values, maker->before_count, maker->run_count);
    for (size_t run = 0; run < maker->run_count; run++) {
        bool present = tbed_comparison_figures(maker->comparison, index, run).present;
        *(run < maker->before_count ? &row->before_run_count : &row->after_run_count) += present;
    }
    if (!is_anywhere || !can_test(maker))
        return;
    double rounding = rounding_of(maker, index, mean_of(maker->values, 0, maker->run_count));
    if (is_everywhere)
        test_logs(maker, rounding, row);
    else
        test_amounts(maker, rounding, row);
}

static void mark(const struct maker *maker, struct tbed_difference *row)
{
    row->is_marked = row->is_tested && row->p_corrected <= maker->options.alpha &&
                     fabs(row->change) >= maker->options.threshold;
}

/* False: no memory. */
static bool correct_rows(const struct maker *maker)
{
    struct tbed_differences *differences = maker->differences;
    double *ps = calloc(differences->row_count + 1, sizeof *ps);
    size_t *order = calloc(differences->row_count + 1, sizeof *order), at = 0;
    bool fits = ps != NULL && order != NULL;
    for (size_t i = 0; fits && i < differences->row_count; i++)
        if (differences->rows[i].is_tested)
            ps[differences->tested_count++] = differences->rows[i].p;
    if (fits)
        tbed_holm_correct(ps, order, differences->tested_count);
    for (size_t i = 0; fits && i < differences->row_count; i++) {
        if (differences->rows[i].is_tested)
            differences->rows[i].p_corrected = ps[at++];
        mark(maker, &differences->rows[i]);
    }
    free(ps);
    free(order);
    return fits;
}

/* ---- Shifts ---- */

static void test_shifts(const struct maker *maker)
{
    struct tbed_difference *common = &maker->differences->common;
    struct sample before;
    for (size_t run = 0; run < maker->run_count; run++)
        maker->values[run] = maker->differences->shifts[run];
    struct sample_test test = test_values(maker, 0, &before);
    *common = (struct tbed_difference){.before_run_count = maker->before_count,
                                       .after_run_count = maker->run_count - maker->before_count,
                                       .change = expm1(test.difference),
                                       .low = expm1(test.difference - test.margin),
                                       .high = expm1(test.difference + test.margin)};
    take_test(common, &test);
    mark(maker, common);
    maker->differences->has_common = true;
}

/* False: no memory. */
static bool find_shifts(const struct maker *maker)
{
    struct tbed_differences *differences = maker->differences;
    size_t count = 0, room = differences->row_count;
    if (maker->options.keep_shift || !can_test(maker) || !tbed_figure_is_time(maker->options.figure))
        return true;
    double *logs = calloc(room + 1, maker->run_count * sizeof *logs);
    for (size_t i = 0; logs != NULL && i < room; i++) {
        bool is_everywhere;
        double *values = logs + count * maker->run_count;
        load_values(maker, i, values, &is_everywhere);
        for (size_t run = 0; is_everywhere && run < maker->run_count; run++)
            values[run] = log(values[run]);
        count += is_everywhere;
    }
    bool fits = logs != NULL &&
                tbed_run_shifts_find(logs, count, maker->run_count, maker->before_count, differences->shifts);
    free(logs);
    if (fits && count >= RUN_SHIFT_LABELS_MIN)
        test_shifts(maker);
    return fits;
}

/* ---- Making and reading ---- */

static bool make(struct maker *maker)
{
    struct tbed_differences *differences = maker->differences;
    struct tbed_comparison_row row;
    while (tbed_comparison_row(maker->comparison, differences->row_count, &row))
        differences->row_count++;
    differences->run_count = maker->run_count;
    differences->rows = calloc(differences->row_count + 1, sizeof *differences->rows);
    differences->shifts = calloc(maker->run_count + 1, sizeof *differences->shifts);
    maker->values = calloc(maker->run_count + 1, sizeof *maker->values);
    bool fits = differences->rows != NULL && differences->shifts != NULL && maker->values != NULL;
    fits = fits && find_shifts(maker);
    for (size_t i = 0; fits && i < differences->row_count; i++)
        make_row(maker, i, &differences->rows[i]);
    fits = fits && correct_rows(maker);
    free(maker->values);
    return fits;
}

enum tbed_status tbed_differences_make(const struct tbed_comparison *comparison,
                                       const struct tbed_difference_options *options,
                                       struct tbed_differences **differences_ret)
{
    struct maker maker = {.comparison = comparison, .run_count = tbed_comparison_run_count(comparison)};
    if (!tbed_options_take(&maker.options, sizeof maker.options, options))
        return TBED_ERR_ARGUMENT;
    maker.before_count = maker.options.before_count;
    if (maker.options.alpha <= 0)
        maker.options.alpha = ALPHA_DEFAULT;
    if (maker.before_count > maker.run_count || maker.options.figure >= TBED_FIGURE_COUNT ||
        !(maker.options.alpha < 1) || !(maker.options.threshold >= 0))
        return TBED_ERR_ARGUMENT;
    maker.differences = calloc(1, sizeof *maker.differences);
    if (maker.differences == NULL || !make(&maker)) {
        tbed_differences_close(maker.differences);
        return TBED_ERR_MEMORY;
    }
    *differences_ret = maker.differences;
    return TBED_OK;
}

void tbed_differences_close(struct tbed_differences *differences)
{
    if (differences == NULL)
        return;
    free(differences->rows);
    free(differences->shifts);
    free(differences);
}

const struct tbed_difference *tbed_differences_row(const struct tbed_differences *differences, size_t index)
{
    return index < differences->row_count ? &differences->rows[index] : NULL;
}

const struct tbed_difference *tbed_differences_common(const struct tbed_differences *differences)
{
    return differences->has_common ? &differences->common : NULL;
}

double tbed_differences_shift(const struct tbed_differences *differences, size_t run)
{
    return run < differences->run_count ? expm1(differences->shifts[run]) : 0;
}

size_t tbed_differences_tested_count(const struct tbed_differences *differences)
{
    return differences->tested_count;
}
