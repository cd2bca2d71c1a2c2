/*
 * Two sets of runs: how often labels are marked, in simulated runs of which it is known what has changed.
 *
 * The simulations are the point. A test of means can be computed correctly and still mark something in every second
 * comparison, because runs are not normally distributed, whole runs are slower than others, and there are many labels.
 * So runs are made with each of these, from fixed random numbers, and the false marks are counted.
 *
 * SPDX-License-Identifier: MIT
 */
#define _GNU_SOURCE 1
#include "reader/tests/analysis/random_samples.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <tracebed/compare.h>

/* ---- Comparisons of runs that are known ---- */

#define LABELS_MAX 60
#define RUNS_MAX   40

struct table {
    size_t label_count, run_count;
    double self[LABELS_MAX][RUNS_MAX]; /* 0: the run lacks the label */
    uint64_t calls;
};

static struct tbed_comparison *compare(const struct table *table)
{
    static char names[LABELS_MAX][8];
    struct tbed_comparison *comparison = NULL;
    assert_int_equal(tbed_comparison_open(&comparison), TBED_OK);
    for (size_t run = 0; run < table->run_count; run++) {
        struct tbed_span_row rows[LABELS_MAX] = {0};
        size_t count = 0;
        for (size_t i = 0; i < table->label_count; i++) {
            snprintf(names[i], sizeof names[i], "f%02zu", i);
            if (table->self[i][run] > 0)
                rows[count++] = (struct tbed_span_row){.name = names[i],
                                                       .name_nbytes = 3,
                                                       .self_ticks = (uint64_t)table->self[i][run],
                                                       .p50_ticks = (uint64_t)table->self[i][run],
                                                       .invocation_count = table->calls};
        }
        struct tbed_comparison_run added = {.rows = rows, .row_count = count, .total = 1};
        assert_int_equal(tbed_comparison_add_run(comparison, &added), TBED_OK);
    }
    return comparison;
}

/* The differences of a table, half of whose runs are BEFORE. */
static struct tbed_differences *differ_with(const struct table *table, struct tbed_difference_options options)
{
    struct tbed_comparison *comparison = compare(table);
    struct tbed_differences *differences = NULL;
    options.size = sizeof options;
    options.before_count = table->run_count / 2;
    assert_int_equal(tbed_differences_make(comparison, &options, &differences), TBED_OK);
    tbed_comparison_close(comparison);
    return differences;
}
#define DIFFER(table, ...) differ_with(table, (struct tbed_difference_options){__VA_ARGS__})

enum noise { NORMAL, SPIKES, SKEWED, HEAVY, NOISE_COUNT };

static double noise_of(enum noise noise, double size)
{
    double sum = 0;
    switch (noise) {
    case SPIKES:
        return size * normal() + (uniform() < 0.05 ? 0.2 * uniform() : 0);
    case SKEWED:
        return size * -log(uniform());
    case HEAVY: /* Student's, with 3 degrees of freedom */
        for (unsigned i = 0; i < 3; i++) {
            double value = normal();
            sum += value * value;
        }
        return size * normal() / sqrt(sum / 3);
    default:
        return size * normal();
    }
}

/* Runs of functions of some ms. Whole runs vary by 3 %, and the second one is a third slower than the others. */
static void simulate(struct table *table, size_t label_count, size_t run_count, enum noise noise)
{
    *table = (struct table){.label_count = label_count, .run_count = run_count, .calls = 10};
    for (size_t run = 0; run < run_count; run++) {
        double shift = 0.03 * normal() + (run == 1 ? 0.3 : 0);
        for (size_t i = 0; i < label_count; i++)
            table->self[i][run] =
                1e7 * (double)(1 + i % 7) * exp(shift + noise_of(noise, 0.01 * (double)(1 + i % 3)));
    }
}

static size_t count_marks(const struct tbed_differences *differences, size_t label_count)
{
    size_t count = 0;
    for (size_t i = 0; i < label_count; i++)
        count += tbed_differences_row(differences, i)->is_marked;
    return count;
}

/* In how many of 'rounds' comparisons of equal sets anything is marked. */
static unsigned count_false(size_t label_count, size_t run_count, enum noise noise, unsigned rounds,
                            struct tbed_difference_options options)
{
    unsigned count = 0;
    for (unsigned round = 0; round < rounds; round++) {
        struct table table;
        simulate(&table, label_count, run_count, noise);
        struct tbed_differences *differences = differ_with(&table, options);
        count += count_marks(differences, label_count) > 0;
        tbed_differences_close(differences);
    }
    return count;
}

static void equal_sets_have_marks_no_more_often_than_alpha_says(void **state)
{
    (void)state;
    for (enum noise noise = 0; noise < NOISE_COUNT; noise++)
        for (size_t labels = 5; labels <= 50; labels *= 10)
            for (size_t runs = 6; runs <= 20; runs += 7) {
                unsigned count =
                    count_false(labels, runs, noise, 200, (struct tbed_difference_options){.alpha = 0.05});
                /* 10 are expected; of 24 binomial numbers, one exceeds 24 in a thousand such tests. */
                if (count > 24)
                    fail_msg("noise %u, %zu labels, %zu runs: %u of 200", noise, labels, runs, count);
            }
}

static void marks_in_equal_sets_are_rare_with_the_usual_options(void **state)
{
    unsigned count = 0;
    (void)state;
    for (enum noise noise = 0; noise < NOISE_COUNT; noise++)
        count += count_false(30, 20, noise, 250, (struct tbed_difference_options){.threshold = 0.02});
    assert_in_range(count, 0, 10);
}

static void function_that_became_slower_is_marked_and_no_other(void **state)
{
    static const unsigned least[NOISE_COUNT] = {90, 80, 90, 70};
    (void)state;
    for (enum noise noise = 0; noise < NOISE_COUNT; noise++) {
        unsigned found = 0, others = 0;
        for (unsigned round = 0; round < 100; round++) {
            struct table table;
            simulate(&table, 30, 20, noise);
            for (size_t run = 10; run < 20; run++)
                table.self[3][run] *= 1.05;
            struct tbed_differences *differences = DIFFER(&table, .threshold = 0.02);
            const struct tbed_difference *row = tbed_differences_row(differences, 3);
            found += row->is_marked;
            others += count_marks(differences, 30) > row->is_marked;
            assert_near(row->change, 0.05, 0.05);
            tbed_differences_close(differences);
        }
        if (found < least[noise] || others > 4)
            fail_msg("noise %u: %u found, others marked in %u", noise, found, others);
    }
}

static void intervals_contain_the_true_change(void **state)
{
    unsigned outside = 0;
    (void)state;
    for (unsigned round = 0; round < 400; round++) {
        struct table table;
        simulate(&table, 30, 20, NORMAL);
        for (size_t run = 10; run < 20; run++)
            table.self[3][run] *= 1.05;
        struct tbed_differences *differences = DIFFER(&table, .alpha = 0.05);
        const struct tbed_difference *row = tbed_differences_row(differences, 3);
        outside += row->low > 0.05 || row->high < 0.05;
        tbed_differences_close(differences);
    }
    assert_in_range(outside, 8, 34); /* 20 are expected */
}

static void change_of_everything_is_told_apart(void **state)
{
    struct table table;
    (void)state;
    simulate(&table, 30, 20, NORMAL);
    for (size_t run = 10; run < 20; run++)
        for (size_t i = 0; i < 30; i++)
            table.self[i][run] *= 1.3;
    struct tbed_differences *differences = DIFFER(&table, .threshold = 0.02);
    const struct tbed_difference *common = tbed_differences_common(differences);
    assert_int_equal(count_marks(differences, 30), 0);
    assert_non_null(common);
    assert_true(common->is_marked);
    assert_near(common->change, 0.3, 0.05);
    assert_near(tbed_differences_shift(differences, 1) - tbed_differences_shift(differences, 0), 0.35, 0.15);
    assert_near(tbed_differences_shift(differences, 20), 0, 0);
    tbed_differences_close(differences);
    differences = DIFFER(&table, .threshold = 0.02, .keep_shift = true);
    assert_int_equal(count_marks(differences, 30), 30);
    assert_null(tbed_differences_common(differences));
    tbed_differences_close(differences);
}

static void few_labels_have_no_shift(void **state)
{
    struct table table;
    (void)state;
    simulate(&table, 4, 20, NORMAL);
    struct tbed_differences *differences = DIFFER(&table, .threshold = 0);
    assert_null(tbed_differences_common(differences));
    assert_near(tbed_differences_shift(differences, 1), 0, 0);
    tbed_differences_close(differences);
}

static void fill(struct table *table, size_t label, double before, double after)
{
    for (size_t run = 0; run < table->run_count; run++)
        table->self[label][run] = run < table->run_count / 2 ? before : after;
}

static void new_and_gone_labels_are_marked(void **state)
{
    struct table table;
    (void)state;
    simulate(&table, 8, 10, NORMAL);
    for (size_t run = 0; run < 10; run++) {
        table.self[5][run] *= run < 5 ? 0 : 1;
        table.self[6][run] *= run < 5 ? 1 : 0;
        table.self[7][run] *= run == 2 || run == 7 ? 1 : 0; /* once in each set */
    }
    struct tbed_differences *differences = DIFFER(&table, .threshold = 0.02);
    const struct tbed_difference *fresh = tbed_differences_row(differences, 5);
    const struct tbed_difference *gone = tbed_differences_row(differences, 6);
    assert_true(fresh->is_marked && fresh->before_run_count == 0 && fresh->after_run_count == 5);
    assert_true(isinf(fresh->change) && fresh->change > 0 && isinf(fresh->low));
    assert_true(gone->is_marked && gone->before_run_count == 5 && gone->after_run_count == 0);
    assert_near(gone->change, -1, 1e-9);
    assert_false(tbed_differences_row(differences, 7)->is_marked);
    assert_int_equal(tbed_differences_tested_count(differences), 8);
    assert_null(tbed_differences_row(differences, 8));
    tbed_differences_close(differences);
}

static void single_runs_are_not_tested(void **state)
{
    struct table table;
    (void)state;
    simulate(&table, 8, 3, NORMAL);
    struct tbed_differences *differences = DIFFER(&table, .threshold = 0); /* one against two */
    assert_false(tbed_differences_row(differences, 0)->is_tested);
    assert_near(tbed_differences_row(differences, 0)->p_corrected, 1, 0);
    assert_near(tbed_differences_row(differences, 0)->before_mean, floor(table.self[0][0]), 1e-6);
    assert_int_equal(tbed_differences_tested_count(differences), 0);
    assert_null(tbed_differences_common(differences));
    tbed_differences_close(differences);
}

static void clock_that_is_coarse_makes_no_difference(void **state)
{
    struct table table = {.label_count = 1, .run_count = 8, .calls = 1};
    (void)state;
    fill(&table, 0, 3e6, 4e6);
    struct tbed_differences *differences = DIFFER(&table, .threshold = 0.02);
    assert_true(tbed_differences_row(differences, 0)->is_marked);
    tbed_differences_close(differences);
    differences = DIFFER(&table, .threshold = 0.02, .resolution = 1e6);
    assert_false(tbed_differences_row(differences, 0)->is_marked);
    tbed_differences_close(differences);
    fill(&table, 0, 3e6, 40e6);
    differences = DIFFER(&table, .threshold = 0.02, .resolution = 1e6);
    assert_true(tbed_differences_row(differences, 0)->is_marked);
    tbed_differences_close(differences);
}

static void change_below_the_threshold_is_not_marked(void **state)
{
    struct table table = {.label_count = 1, .run_count = 8, .calls = 1};
    (void)state;
    fill(&table, 0, 1000, 1019);
    struct tbed_differences *differences = DIFFER(&table, .threshold = 0.02);
    assert_false(tbed_differences_row(differences, 0)->is_marked);
    assert_near(tbed_differences_row(differences, 0)->p_corrected, 0, 0);
    tbed_differences_close(differences);
    fill(&table, 0, 1000, 979);
    differences = DIFFER(&table, .threshold = 0.02);
    assert_true(tbed_differences_row(differences, 0)->is_marked);
    assert_near(tbed_differences_row(differences, 0)->change, -0.021, 1e-9);
    tbed_differences_close(differences);
}

static void percentiles_are_no_better_than_their_accuracy(void **state)
{
    struct table table = {.label_count = 1, .run_count = 4, .calls = 1};
    (void)state;
    fill(&table, 0, 1000000, 1016000); /* the next range, in every run */
    struct tbed_differences *differences = DIFFER(&table, .figure = TBED_FIGURE_P50);
    assert_true(tbed_differences_row(differences, 0)->p > 0.01);
    tbed_differences_close(differences);
    fill(&table, 0, 1000000, 1100000);
    differences = DIFFER(&table, .figure = TBED_FIGURE_P50);
    assert_true(tbed_differences_row(differences, 0)->p < 0.01);
    tbed_differences_close(differences);
}

static void other_figures_can_be_compared(void **state)
{
    struct table table = {.label_count = 6, .run_count = 8, .calls = 3};
    (void)state;
    for (size_t i = 0; i < 6; i++)
        fill(&table, i, 1000, 2000);
    struct tbed_differences *differences = DIFFER(&table, .figure = TBED_FIGURE_INVOCATIONS);
    assert_near(tbed_differences_row(differences, 0)->before_mean, 3, 0);
    assert_int_equal(count_marks(differences, 6), 0);
    assert_null(tbed_differences_common(differences));
    tbed_differences_close(differences);
    differences = DIFFER(&table, .figure = TBED_FIGURE_TIME); /* none has any */
    assert_int_equal(tbed_differences_tested_count(differences), 0);
    tbed_differences_close(differences);
}

static void impossible_options_are_refused(void **state)
{
    struct table table = {.label_count = 1, .run_count = 2, .calls = 1};
    struct tbed_difference_options options = {.size = sizeof options, .before_count = 3};
    struct tbed_comparison *comparison = compare(&table);
    struct tbed_differences *differences = NULL;
    (void)state;
    assert_int_equal(tbed_differences_make(comparison, &options, &differences), TBED_ERR_ARGUMENT);
    options.before_count = 1;
    options.alpha = 1;
    assert_int_equal(tbed_differences_make(comparison, &options, &differences), TBED_ERR_ARGUMENT);
    options.alpha = 0;
    options.threshold = -1;
    assert_int_equal(tbed_differences_make(comparison, &options, &differences), TBED_ERR_ARGUMENT);
    options.threshold = 0;
    options.figure = TBED_FIGURE_COUNT;
    assert_int_equal(tbed_differences_make(comparison, &options, &differences), TBED_ERR_ARGUMENT);
    options.figure = TBED_FIGURE_SELF;
    assert_int_equal(tbed_differences_make(comparison, &options, &differences), TBED_OK);
    tbed_differences_close(differences);
    tbed_differences_close(NULL);
    tbed_comparison_close(comparison);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(equal_sets_have_marks_no_more_often_than_alpha_says),
        cmocka_unit_test(marks_in_equal_sets_are_rare_with_the_usual_options),
        cmocka_unit_test(function_that_became_slower_is_marked_and_no_other),
        cmocka_unit_test(intervals_contain_the_true_change),
        cmocka_unit_test(change_of_everything_is_told_apart),
        cmocka_unit_test(few_labels_have_no_shift),
        cmocka_unit_test(new_and_gone_labels_are_marked),
        cmocka_unit_test(single_runs_are_not_tested),
        cmocka_unit_test(clock_that_is_coarse_makes_no_difference),
        cmocka_unit_test(change_below_the_threshold_is_not_marked),
        cmocka_unit_test(percentiles_are_no_better_than_their_accuracy),
        cmocka_unit_test(other_figures_can_be_compared),
        cmocka_unit_test(impossible_options_are_refused),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
