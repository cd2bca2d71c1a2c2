/*
 * Yuen's test of trimmed means (Biometrika 61, 1974), Student's distribution, and Holm's correction for many tests.
 *
 * SPDX-License-Identifier: MIT
 */
#define _GNU_SOURCE 1
#include "reader/analysis/compare/two_samples.h"
#include "reader/core/system/system.h"

#include <math.h>
#include <stdbool.h>
#include <stdlib.h>

/* ---- Student's distribution ---- */

#define FRACTION_STEPS 1000

static double not_zero(double value)
{
    return fabs(value) < 1e-300 ? 1e-300 : value;
}

/* The continued fraction of the incomplete beta function, by Lentz's method. It converges for x < (a + 1) / (a + b + 2). */
static double beta_fraction(double a, double b, double x)
{
    double upper = 1, lower = 1 / not_zero(1 - (a + b) * x / (a + 1)), value = lower;
    for (unsigned step = 1; step < FRACTION_STEPS; step++) {
        double m = step, before = value;
        double even = m * (b - m) * x / ((a + 2 * m - 1) * (a + 2 * m));
        double odd = -(a + m) * (a + b + m) * x / ((a + 2 * m) * (a + 2 * m + 1));
        lower = 1 / not_zero(1 + even * lower);
        upper = not_zero(1 + even / upper);
        value *= lower * upper;
        lower = 1 / not_zero(1 + odd * lower);
        upper = not_zero(1 + odd / upper);
        value *= lower * upper;
        if (fabs(value - before) <= 1e-15 * fabs(value))
            break;
    }
    return value;
}

/* By the continued fraction, which needs few steps for an x up to the mean. */
static double beta_share_low(double a, double b, double x, double rest)
{
    double front = tbed_log_gamma(a + b) - tbed_log_gamma(a) - tbed_log_gamma(b);
    return exp(front + a * log(x) + b * log(rest)) * beta_fraction(a, b, x) / a;
}

/* The regularized incomplete beta function of x, where 'rest' is 1 - x. */
static double beta_share(double a, double b, double x, double rest)
{
    if (x <= 0 || rest <= 0)
        return x <= 0 ? 0 : 1;
    return x > (a + 1) / (a + b + 2) ? 1 - beta_share_low(b, a, rest, x) : beta_share_low(a, b, x, rest);
}

double tbed_student_p(double t, double freedom)
{
    double square = t * t;
    if (isinf(square))
        return 0;
    return beta_share(freedom / 2, 0.5, freedom / (freedom + square), square / (freedom + square));
}

double tbed_student_t(double p, double freedom)
{
    double low = 0, high = 1;
    while (tbed_student_p(high, freedom) > p && high < 1e300)
        high *= 2;
    for (unsigned step = 0; step < 60; step++) {
        double middle = low + (high - low) / 2;
        if (tbed_student_p(middle, freedom) > p)
            low = middle;
        else
            high = middle;
    }
    return high;
}

/* ---- Two samples ---- */

static int compare_doubles(const void *left, const void *right)
{
    double a = *(const double *)left, b = *(const double *)right;
    return a < b ? -1 : a > b;
}

static double limited(double value, double low, double high)
{
    return value < low ? low : value > high ? high : value;
}

/* The squared distances from the mean of the values, the extremes of which are replaced by what is next to them. */
static double winsorized_squares(const double *values, size_t count, size_t cut)
{
    double low = values[cut], high = values[count - 1 - cut], sum = 0, squares = 0;
    for (size_t i = 0; i < count; i++)
        sum += limited(values[i], low, high) - low;
    double mean = low + sum / (double)count;
    for (size_t i = 0; i < count; i++) {
        double distance = limited(values[i], low, high) - mean;
        squares += distance * distance;
    }
    return squares;
}

struct sample tbed_sample_make(double *values, size_t count)
{
    size_t cut = count < SAMPLE_TRIM_COUNT ? 0 : count / 5, kept = count - 2 * cut;
    double sum = 0;
    qsort(values, count, sizeof *values, compare_doubles);
    for (size_t i = cut; i < count - cut; i++)
        sum += values[i] - values[cut];
    return (struct sample){.count = count,
                           .mean = values[cut] + sum / (double)kept,
                           .variance =
                               winsorized_squares(values, count, cut) / (double)kept / (double)(kept - 1),
                           .kept = kept};
}

/* By Welch and Satterthwaite. */
static double freedom_of(const struct sample *before, const struct sample *after)
{
    double sum = before->variance + after->variance;
    double a = before->variance / sum, b = after->variance / sum;
    return 1 / (a * a / (double)(before->kept - 1) + b * b / (double)(after->kept - 1));
}

struct sample_test tbed_samples_test(const struct sample *before, const struct sample *after, double alpha)
{
    struct sample_test test = {.difference = after->mean - before->mean, .p = 1};
    double error = sqrt(before->variance + after->variance);
    if (!(error > 0)) {
        bool is_same = test.difference <= 0 && test.difference >= 0;
        test.p = is_same ? 1 : 0;
        test.effect = is_same ? 0 : copysign(INFINITY, test.difference);
        return test;
    }
    double t = test.difference / error, freedom = freedom_of(before, after);
    test.p = tbed_student_p(t, freedom);
    test.margin = error * tbed_student_t(alpha, freedom);
    test.effect = t * sqrt(1 / (double)before->count + 1 / (double)after->count);
    return test;
}

/* ---- Many tests ---- */

static int compare_ps(const void *left, const void *right, void *context)
{
    const double *ps = context;
    size_t a = *(const size_t *)left, b = *(const size_t *)right;
    if (ps[a] < ps[b] || ps[a] > ps[b])
        return ps[a] < ps[b] ? -1 : 1;
    return a < b ? -1 : a > b;
}

void tbed_holm_correct(double *ps, size_t *order, size_t count)
{
    double least = 0;
    for (size_t i = 0; i < count; i++)
        order[i] = i;
    qsort_r(order, count, sizeof *order, compare_ps, ps);
    for (size_t i = 0; i < count; i++) {
        double corrected = ps[order[i]] * (double)(count - i);
        least = limited(corrected, least, 1);
        ps[order[i]] = least;
    }
}
