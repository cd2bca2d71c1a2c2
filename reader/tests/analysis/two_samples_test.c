/*
 * The test of two samples, and what it consists of, against slow formulas.
 *
 * SPDX-License-Identifier: MIT
 */
#define _GNU_SOURCE 1
#include "reader/analysis/compare/two_samples.h"
#include "reader/tests/analysis/random_samples.h"

/* ---- Student's distribution ---- */

/* The density integrated by Simpson's rule, after t = tan(x). */
static double student_by_integration(double t, double freedom)
{
    enum { STEPS = 20000 };
    double from = atan(t), to = 1.5707963267948966, width = (to - from) / STEPS, sum = 0;
    double front = exp(lgamma((freedom + 1) / 2) - lgamma(freedom / 2)) / sqrt(freedom * 3.141592653589793);
    for (unsigned i = 0; i <= STEPS; i++) {
        double x = from + i * width, y = tan(x), slope = 1 + y * y;
        double density = i == STEPS ? 0 : front * pow(1 + y * y / freedom, -(freedom + 1) / 2) * slope;
        sum += density * (i == 0 || i == STEPS ? 1 : i % 2 != 0 ? 4 : 2);
    }
    return 2 * sum * width / 3;
}

static void students_distribution_is_that_of_tables_and_integration(void **state)
{
    (void)state;
    assert_near(tbed_student_p(0, 5), 1, 0);
    assert_near(tbed_student_p(1, 1), 0.5, 1e-12);
    assert_near(tbed_student_p(12.7062047362, 1), 0.05, 1e-12);
    assert_near(tbed_student_p(-2.2281388520, 10), 0.05, 1e-11);
    assert_near(tbed_student_p(INFINITY, 3), 0, 0);
    for (double freedom = 1.5; freedom < 60; freedom *= 1.7)
        for (double t = 0.01; t < 12; t *= 1.9)
            assert_near(tbed_student_p(t, freedom), student_by_integration(t, freedom), 1e-7);
}

static void quantiles_are_the_inverse(void **state)
{
    (void)state;
    assert_near(tbed_student_t(0.05, 10), 2.2281388520, 1e-9);
    for (double freedom = 1; freedom < 100; freedom *= 2.3)
        for (double p = 0.9; p > 1e-9; p /= 7)
            assert_near(tbed_student_p(tbed_student_t(p, freedom), freedom), p, p * 1e-9);
}

/* ---- Two samples ---- */

/* The definitions, word by word, on sorted values. */
static void oracle_of(const double *sorted, size_t count, double *mean_ret, double *variance_ret,
                      double *kept_ret)
{
    size_t cut = count >= 8 ? count / 5 : 0;
    double mean = 0, replaced[64], middle = 0, squares = 0;
    for (size_t i = 0; i < count; i++)
        replaced[i] = i < cut ? sorted[cut] : i >= count - cut ? sorted[count - cut - 1] : sorted[i];
    for (size_t i = cut; i < count - cut; i++)
        mean += sorted[i] / (double)(count - 2 * cut);
    for (size_t i = 0; i < count; i++)
        middle += replaced[i] / (double)count;
    for (size_t i = 0; i < count; i++)
        squares += (replaced[i] - middle) * (replaced[i] - middle);
    *kept_ret = (double)(count - 2 * cut);
    *mean_ret = mean;
    *variance_ret = squares / (*kept_ret * (*kept_ret - 1));
}

static void test_of_two_samples_is_that_of_the_definition(void **state)
{
    (void)state;
    for (unsigned round = 0; round < 500; round++) {
        size_t counts[2] = {2 + (size_t)(uniform() * 20), 2 + (size_t)(uniform() * 20)};
        double values[2][64], means[2], variances[2], kept[2];
        struct sample samples[2];
        for (unsigned side = 0; side < 2; side++) {
            for (size_t i = 0; i < counts[side]; i++)
                values[side][i] = 100 + side + normal();
            samples[side] = tbed_sample_make(values[side], counts[side]);
            oracle_of(values[side], counts[side], &means[side], &variances[side], &kept[side]);
        }
        struct sample_test test = tbed_samples_test(&samples[0], &samples[1], 0.05);
        double sum = variances[0] + variances[1], t = (means[1] - means[0]) / sqrt(sum);
        double freedom =
            sum * sum /
            (variances[0] * variances[0] / (kept[0] - 1) + variances[1] * variances[1] / (kept[1] - 1));
        assert_near(test.difference, means[1] - means[0], 1e-9);
        assert_near(test.p, tbed_student_p(t, freedom), 1e-9);
        assert_near(test.margin, tbed_student_t(0.05, freedom) * sqrt(sum), 1e-6);
        assert_near(test.effect, t * sqrt(1.0 / (double)counts[0] + 1.0 / (double)counts[1]), 1e-9);
        assert_int_equal(test.p <= 0.05, fabs(test.difference) >= test.margin);
    }
}

static void values_without_spread_differ_or_do_not(void **state)
{
    double same[] = {7, 7, 7}, more[] = {8, 8};
    struct sample a = tbed_sample_make(same, 3), b = tbed_sample_make(more, 2);
    (void)state;
    assert_near(tbed_samples_test(&a, &a, 0.01).p, 1, 0);
    assert_near(tbed_samples_test(&a, &b, 0.01).p, 0, 0);
    assert_true(tbed_samples_test(&a, &b, 0.01).effect > 1e300);
    assert_true(tbed_samples_test(&b, &a, 0.01).effect < -1e300);
}

static void corrected_probabilities_are_holms(void **state)
{
    double ps[] = {0.01, 0.04, 0.03, 0.005, 0.9};
    size_t order[5];
    (void)state;
    tbed_holm_correct(ps, order, 5);
    assert_near(ps[3], 0.025, 1e-15);
    assert_near(ps[0], 0.04, 1e-15);
    assert_near(ps[2], 0.09, 1e-15);
    assert_near(ps[1], 0.09, 1e-15); /* not less than that of a lower one */
    assert_near(ps[4], 0.9, 1e-15);
    ps[0] = ps[1] = 0.7;
    tbed_holm_correct(ps, order, 2);
    assert_near(ps[0], 1, 0);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(students_distribution_is_that_of_tables_and_integration),
        cmocka_unit_test(quantiles_are_the_inverse),
        cmocka_unit_test(test_of_two_samples_is_that_of_the_definition),
        cmocka_unit_test(values_without_spread_differ_or_do_not),
        cmocka_unit_test(corrected_probabilities_are_holms),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
