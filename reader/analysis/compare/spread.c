/*
 * How much one figure differs between runs: moments, and a robust rule for outliers.
 *
 * SPDX-License-Identifier: MIT
 */
#include <tracebed/compare.h>

#include <math.h>
#include <stdlib.h>

/* Factors from an absolute deviation to the standard deviation, for normally distributed values. */
#define MEDIAN_DEVIATION_SCALE 1.482602218505602 /* 1 / quantile(3/4) */
#define MEAN_DEVIATION_SCALE   1.253314137315500 /* sqrt(pi / 2) */
#define OUTLIER_DEVIATIONS     3.5

static int compare_doubles(const void *left, const void *right)
{
    double a = *(const double *)left, b = *(const double *)right;
    return a < b ? -1 : a > b;
}

/* Sorts. */
static double median_of(double *values, size_t count)
{
    qsort(values, count, sizeof *values, compare_doubles);
    return count % 2 != 0 ? values[count / 2] : values[count / 2 - 1] / 2 + values[count / 2] / 2;
}

static void make_moments(const uint64_t *values, struct tbed_spread *spread)
{
    double sum = 0, squares = 0, rest = 0;
    for (size_t i = 0; i < spread->count; i++)
        sum += (double)values[i];
    spread->mean = sum / (double)spread->count;
    /* Corrected by the sum of the differences, which is not exactly 0 because of rounding. */
    for (size_t i = 0; i < spread->count; i++) {
        double difference = (double)values[i] - spread->mean;
        squares += difference * difference;
        rest += difference;
    }
    if (spread->count > 1) {
        double corrected = squares - rest * rest / (double)spread->count;
        spread->variance = corrected > 0 ? corrected / (double)(spread->count - 1) : 0;
    }
}

static double outlier_distance(double *values, const struct tbed_spread *spread)
{
    double sum = 0;
    if (spread->count < TBED_OUTLIER_RUNS_MIN)
        return INFINITY;
    for (size_t i = 0; i < spread->count; i++) {
        values[i] = fabs(values[i] - spread->median);
        sum += values[i];
    }
    double deviation = median_of(values, spread->count) * MEDIAN_DEVIATION_SCALE;
    if (deviation <= 0)
        deviation = sum / (double)spread->count * MEAN_DEVIATION_SCALE;
    return OUTLIER_DEVIATIONS * deviation;
}

bool tbed_spread_is_outlier(const struct tbed_spread *spread, uint64_t value)
{
    return fabs((double)value - spread->median) > spread->outlier_distance;
}

void tbed_spread_make(const uint64_t *values, size_t count, double *scratch, struct tbed_spread *spread_ret)
{
    struct tbed_spread spread = {.count = count};
    for (size_t i = 0; i < count; i++) {
        scratch[i] = (double)values[i];
        spread.min = i == 0 || values[i] < spread.min ? values[i] : spread.min;
        spread.max = values[i] > spread.max ? values[i] : spread.max;
    }
    if (count > 0) {
        make_moments(values, &spread);
        spread.median = median_of(scratch, count);
        spread.outlier_distance = outlier_distance(scratch, &spread);
    }
    for (size_t i = 0; i < count; i++)
        spread.outlier_count += tbed_spread_is_outlier(&spread, values[i]);
    *spread_ret = spread;
}
