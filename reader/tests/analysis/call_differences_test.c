/*
 * The calls of two runs: change, effect and probability against all pairs of calls, and how often equal runs are marked.
 *
 * SPDX-License-Identifier: MIT
 */
#define _GNU_SOURCE 1
#include "reader/tests/analysis/random_samples.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <tracebed/compare.h>

/* ---- Runs made of calls ---- */

#define LABELS_MAX 40
#define CALLS_MAX  400

struct calls {
    size_t count;
    uint64_t ticks[CALLS_MAX];
};

static int compare_ticks(const void *left, const void *right)
{
    uint64_t a = *(const uint64_t *)left, b = *(const uint64_t *)right;
    return (a > b) - (a < b);
}

/* Sorts the calls. */
static struct tbed_durations count_calls(struct calls *calls, struct tbed_duration_count *counts)
{
    struct tbed_durations durations = {counts, 0};
    qsort(calls->ticks, calls->count, sizeof calls->ticks[0], compare_ticks);
    for (size_t i = 0; i < calls->count; i++) {
        if (i == 0 || calls->ticks[i] != calls->ticks[i - 1])
            counts[durations.count++] = (struct tbed_duration_count){calls->ticks[i], 0};
        counts[durations.count - 1].count++;
    }
    return durations;
}

static void add_run(struct tbed_comparison *comparison, struct calls *calls, size_t label_count)
{
    static struct tbed_duration_count counts[LABELS_MAX][CALLS_MAX];
    struct tbed_durations durations[LABELS_MAX] = {0};
    struct tbed_span_row rows[LABELS_MAX] = {0};
    char names[LABELS_MAX][8];
    size_t count = 0;
    for (size_t i = 0; i < label_count; i++) {
        if (calls[i].count == 0)
            continue;
        snprintf(names[i], sizeof names[i], "f%02zu", i);
        rows[count] = (struct tbed_span_row){.name = names[i], .name_nbytes = 3};
        for (size_t k = 0; k < calls[i].count; k++)
            rows[count].self_ticks += calls[i].ticks[k];
        rows[count].time_ticks = rows[count].self_ticks;
        durations[count++] = count_calls(&calls[i], counts[i]);
    }
    struct tbed_comparison_run run = {.rows = rows, .row_count = count, .durations = durations};
    assert_int_equal(tbed_comparison_add_run(comparison, &run), TBED_OK);
}

static struct tbed_call_differences *differ_with(struct calls *before, struct calls *after,
                                                 size_t label_count,
                                                 struct tbed_call_difference_options options)
{
    struct tbed_comparison *comparison = NULL;
    struct tbed_call_differences *differences = NULL;
    assert_int_equal(tbed_comparison_open(&comparison), TBED_OK);
    add_run(comparison, before, label_count);
    add_run(comparison, after, label_count);
    options.size = sizeof options;
    options.after_run = 1;
    assert_int_equal(tbed_call_differences_make(comparison, &options, &differences), TBED_OK);
    tbed_comparison_close(comparison);
    return differences;
}
#define DIFFER(before, after, count, ...)                                                                    \
    differ_with(before, after, count, (struct tbed_call_difference_options){__VA_ARGS__})

/* 'factor' times a duration that varies by 'noise', as a part of it. */
static void make_calls(struct calls *calls, size_t count, double factor, double noise)
{
    calls->count = count;
    for (size_t i = 0; i < count; i++)
        calls->ticks[i] = (uint64_t)(1e6 * factor * exp(noise * normal()));
}

/* ---- One label ---- */

static int compare_doubles(const void *left, const void *right)
{
    double a = *(const double *)left, b = *(const double *)right;
    return (a > b) - (a < b);
}

/* Everything from all pairs of calls. */
static void check_pairs(const struct calls *before, const struct calls *after,
                        const struct tbed_call_difference *row)
{
    size_t count = before->count * after->count, at = 0;
    double *ratios = calloc(count, sizeof *ratios), longer = 0;
    assert_non_null(ratios);
    for (size_t i = 0; i < before->count; i++)
        for (size_t k = 0; k < after->count; k++) {
            double ratio = (double)after->ticks[k] / (double)before->ticks[i];
            longer += ratio > 1 + 1 / 64.0 ? 1 : ratio < 1 / (1 + 1 / 64.0) ? -1 : 0;
            ratios[at++] = ratio;
        }
    qsort(ratios, count, sizeof *ratios, compare_doubles);
    double low = ratios[(count - 1) / 2], high = ratios[count / 2];
    assert_near(1 + row->change, sqrt(low * high), 1e-9 * low);
    assert_near(row->effect, longer / (double)count, 1e-12);
    double calls = (double)(before->count + after->count), rest = fmax(fabs(longer) / 2 - 0.5, 0);
    assert_near(row->p, erfc(rest / sqrt((double)count * (calls + 1) / 12) / sqrt(2)), 1e-12);
    assert_near(row->p_corrected, row->p, 0);
    assert_int_equal(row->before.count, before->count);
    assert_int_equal(row->after.count, after->count);
    free(ratios);
}

static void figures_are_those_of_all_pairs(void **state)
{
    static struct calls before, after;
    (void)state;
    for (unsigned round = 0; round < 60; round++) {
        make_calls(&before, 1 + (size_t)(uniform() * 60), 1, 0.05);
        make_calls(&after, 1 + (size_t)(uniform() * 60), 1 + 0.1 * uniform(), round % 2 == 0 ? 0.05 : 1);
        struct tbed_call_differences *differences = DIFFER(&before, &after, 1, .threshold = 0);
        check_pairs(&before, &after, tbed_call_differences_row(differences, 0));
        assert_int_equal(tbed_call_differences_tested_count(differences), 1);
        tbed_call_differences_close(differences);
    }
}

static void percentiles_are_of_the_single_runs(void **state)
{
    static struct calls before, after;
    (void)state;
    before.count = 100;
    after.count = 10;
    for (uint64_t i = 0; i < 100; i++)
        before.ticks[i] = 1000 + i;
    for (uint64_t i = 0; i < 10; i++)
        after.ticks[i] = 10 * (i + 1);
    struct tbed_call_differences *differences = DIFFER(&before, &after, 1, .threshold = 0);
    const struct tbed_call_difference *row = tbed_call_differences_row(differences, 0);
    assert_int_equal(row->before.p50, 1049);
    assert_int_equal(row->before.p90, 1089);
    assert_int_equal(row->before.p99, 1098);
    assert_int_equal(row->after.p50, 50);
    assert_int_equal(row->after.p99, 100);
    assert_near(row->effect, -1, 0);
    tbed_call_differences_close(differences);
}

static void calls_without_a_duration_are_equal(void **state)
{
    static struct calls before = {.count = 50}, after = {.count = 70};
    (void)state;
    struct tbed_call_differences *differences = DIFFER(&before, &after, 1, .threshold = 0);
    const struct tbed_call_difference *row = tbed_call_differences_row(differences, 0);
    assert_near(row->p, 1, 0);
    assert_near(row->effect, 0, 0);
    assert_near(row->change, 0, 1e-9);
    assert_false(row->is_marked);
    tbed_call_differences_close(differences);
}

/* ---- Many labels ---- */

static size_t count_marks(const struct tbed_call_differences *differences, size_t label_count)
{
    size_t count = 0;
    for (size_t i = 0; i < label_count; i++)
        count += tbed_call_differences_row(differences, i)->is_marked;
    return count;
}

static void equal_runs_have_marks_no_more_often_than_alpha_says(void **state)
{
    static struct calls before[20], after[20];
    unsigned any = 0;
    (void)state;
    for (unsigned round = 0; round < 200; round++) {
        for (size_t i = 0; i < 20; i++) {
            make_calls(&before[i], 5 + i * 5, 1 + (double)i, 0.1 + 0.02 * (double)i);
            make_calls(&after[i], 5 + i * 5, 1 + (double)i, 0.1 + 0.02 * (double)i);
        }
        struct tbed_call_differences *differences = DIFFER(before, after, 20, .alpha = 0.05);
        any += count_marks(differences, 20) > 0;
        tbed_call_differences_close(differences);
    }
    assert_in_range(any, 0, 20); /* 10 are expected */
}

static void slower_function_is_marked_on_a_slower_machine(void **state)
{
    static struct calls before[20], after[20];
    (void)state;
    for (size_t i = 0; i < 20; i++) {
        make_calls(&before[i], 300, 1 + (double)i, 0.1);
        make_calls(&after[i], 300, (1 + (double)i) * (i == 7 ? 1.08 : 1) * 1.3, 0.1);
    }
    struct tbed_call_differences *differences = DIFFER(before, after, 20, .threshold = 0.05);
    assert_near(tbed_call_differences_shift(differences), 0.3, 0.02);
    assert_true(tbed_call_differences_row(differences, 7)->is_marked);
    assert_near(tbed_call_differences_row(differences, 7)->change, 0.08, 0.03);
    assert_int_equal(count_marks(differences, 20), 1);
    tbed_call_differences_close(differences);
    differences = DIFFER(before, after, 20, .threshold = 0.05, .keep_shift = true);
    assert_near(tbed_call_differences_shift(differences), 0, 0);
    assert_int_equal(count_marks(differences, 20), 20);
    tbed_call_differences_close(differences);
    differences = DIFFER(before, after, 4, .threshold = 0.05); /* too few to know */
    assert_near(tbed_call_differences_shift(differences), 0, 0);
    tbed_call_differences_close(differences);
}

/* 'inner' takes all the time of the four labels around it. */
static void slow_label_is_not_taken_for_a_slow_run(void **state)
{
    struct tbed_span_row rows[10] = {0};
    struct tbed_duration_count counts[2][10];
    struct tbed_durations durations[2][10];
    char names[10][8];
    struct tbed_comparison *comparison = NULL;
    struct tbed_call_differences *differences = NULL;
    (void)state;
    assert_int_equal(tbed_comparison_open(&comparison), TBED_OK);
    for (unsigned run = 0; run < 2; run++) {
        for (size_t i = 0; i < 10; i++) {
            uint64_t ticks = i < 5 ? (run == 0 ? 100000 : 200000) : 1000 * (i + 1);
            snprintf(names[i], sizeof names[i], "f%02zu", i);
            counts[run][i] = (struct tbed_duration_count){ticks, 50};
            durations[run][i] = (struct tbed_durations){&counts[run][i], 1};
            rows[i] = (struct tbed_span_row){.name = names[i],
                                             .name_nbytes = 3,
                                             .self_ticks = i > 0 && i < 5 ? 50 : 50 * ticks,
                                             .time_ticks = 50 * ticks};
        }
        struct tbed_comparison_run added = {.rows = rows, .row_count = 10, .durations = durations[run]};
        assert_int_equal(tbed_comparison_add_run(comparison, &added), TBED_OK);
    }
    struct tbed_call_difference_options options = {.size = sizeof options, .after_run = 1, .threshold = 0.05};
    assert_int_equal(tbed_call_differences_make(comparison, &options, &differences), TBED_OK);
    assert_near(tbed_call_differences_shift(differences), 0, 1e-9);
    assert_int_equal(count_marks(differences, 10), 5);
    tbed_call_differences_close(differences);
    tbed_comparison_close(comparison);
}

static void labels_of_one_run_are_not_tested(void **state)
{
    static struct calls before[2], after[2];
    (void)state;
    make_calls(&before[0], 50, 1, 0.1);
    make_calls(&after[1], 50, 1, 0.1);
    struct tbed_call_differences *differences = DIFFER(before, after, 2, .threshold = 0);
    assert_false(tbed_call_differences_row(differences, 0)->is_tested);
    assert_int_equal(tbed_call_differences_row(differences, 0)->before.count, 50);
    assert_int_equal(tbed_call_differences_row(differences, 0)->after.count, 0);
    assert_int_equal(tbed_call_differences_row(differences, 1)->before.p50, 0);
    assert_near(tbed_call_differences_row(differences, 1)->p_corrected, 1, 0);
    assert_null(tbed_call_differences_row(differences, 2));
    assert_int_equal(tbed_call_differences_tested_count(differences), 0);
    tbed_call_differences_close(differences);
}

static void impossible_options_are_refused(void **state)
{
    struct tbed_call_difference_options options = {.size = sizeof options, .alpha = 1};
    struct tbed_comparison *comparison = NULL;
    struct tbed_call_differences *differences = NULL;
    (void)state;
    assert_int_equal(tbed_comparison_open(&comparison), TBED_OK);
    assert_int_equal(tbed_call_differences_make(comparison, &options, &differences), TBED_ERR_ARGUMENT);
    options.alpha = 0;
    options.threshold = -1;
    assert_int_equal(tbed_call_differences_make(comparison, &options, &differences), TBED_ERR_ARGUMENT);
    assert_int_equal(tbed_call_differences_make(comparison, NULL, &differences), TBED_OK);
    assert_null(tbed_call_differences_row(differences, 0));
    tbed_call_differences_close(differences);
    tbed_call_differences_close(NULL);
    tbed_comparison_close(comparison);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(figures_are_those_of_all_pairs),
        cmocka_unit_test(percentiles_are_of_the_single_runs),
        cmocka_unit_test(calls_without_a_duration_are_equal),
        cmocka_unit_test(equal_runs_have_marks_no_more_often_than_alpha_says),
        cmocka_unit_test(slower_function_is_marked_on_a_slower_machine),
        cmocka_unit_test(slow_label_is_not_taken_for_a_slow_run),
        cmocka_unit_test(labels_of_one_run_are_not_tested),
        cmocka_unit_test(impossible_options_are_refused),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
