/*
 * Analyses that are cancelled, before they start or at any time: they have no result then, or else the whole one.
 *
 * SPDX-License-Identifier: MIT
 */
#include "reader/tests/analysis/random_trace.h"

#include <pthread.h>
#include <tracebed/activity.h>
#include <tracebed/analysis.h>
#include <tracebed/calls.h>

#define ROUNDS 40u

/* Makes an analysis with two threads. Returns a figure of it in '*sum_ret'. */
typedef enum tbed_status analyse(struct tbed_reader *reader, const bool *is_cancelled, uint64_t *sum_ret);

static enum tbed_status analyse_statistics(struct tbed_reader *reader, const bool *is_cancelled,
                                           uint64_t *sum_ret)
{
    struct tbed_analysis_options options = {
        .size = sizeof options, .thread_count = 2, .is_cancelled = is_cancelled};
    struct tbed_statistics *statistics = NULL;
    struct tbed_statistics_totals totals;
    enum tbed_status status = tbed_statistics_make(reader, &options, &statistics);
    if (status == TBED_OK) {
        tbed_statistics_totals(statistics, &totals);
        *sum_ret = totals.span_count + totals.event_count;
    } else {
        assert_null(statistics);
    }
    tbed_statistics_close(statistics);
    return status;
}

static enum tbed_status analyse_stacks(struct tbed_reader *reader, const bool *is_cancelled,
                                       uint64_t *sum_ret)
{
    struct tbed_stacks_options options = {
        .size = sizeof options, .thread_count = 2, .is_cancelled = is_cancelled};
    struct tbed_stacks *stacks = NULL;
    struct tbed_stacks_totals totals;
    enum tbed_status status = tbed_stacks_make(reader, &options, &stacks);
    if (status == TBED_OK) {
        tbed_stacks_totals(stacks, &totals);
        *sum_ret = totals.span_count;
    } else {
        assert_null(stacks);
    }
    tbed_stacks_close(stacks);
    return status;
}

static enum tbed_status analyse_activity(struct tbed_reader *reader, const bool *is_cancelled,
                                         uint64_t *sum_ret)
{
    struct tbed_activity_options options = {
        .size = sizeof options, .thread_count = 2, .is_cancelled = is_cancelled};
    struct tbed_activity *activity = NULL;
    const struct tbed_activity_row *row;
    uint64_t sum = 0;
    enum tbed_status status = tbed_activity_make(reader, &options, &activity);
    if (status != TBED_OK) {
        assert_null(activity);
        return status;
    }
    for (size_t i = 0; (row = tbed_activity_get(activity, i)) != NULL; i++)
        sum += row->span_count + row->busy_ticks;
    *sum_ret = sum;
    tbed_activity_close(activity);
    return status;
}

static enum tbed_status find_calls(struct tbed_reader *reader, const bool *is_cancelled, uint64_t *sum_ret)
{
    struct tbed_calls_options options = {
        .size = sizeof options, .thread_count = 2, .is_cancelled = is_cancelled};
    struct tbed_call calls[10];
    uint64_t total = UINT64_MAX;
    size_t found = SIZE_MAX;
    enum tbed_status status = tbed_calls_find(reader, &options, calls, 10, &found, &total);
    if (status == TBED_OK)
        *sum_ret = total + found;
    else
        assert_true(total == UINT64_MAX && found == SIZE_MAX);
    return status;
}

static enum tbed_status count_calls(struct tbed_reader *reader, const bool *is_cancelled, uint64_t *sum_ret)
{
    static const uint64_t bounds[] = {0, 10, 1000};
    struct tbed_calls_options options = {
        .size = sizeof options, .thread_count = 2, .is_cancelled = is_cancelled};
    uint64_t counts[3] = {UINT64_MAX, 0, 0};
    enum tbed_status status = tbed_calls_count(reader, &options, bounds, 3, counts, NULL);
    if (status == TBED_OK)
        *sum_ret = counts[0] + 3 * counts[1] + 7 * counts[2];
    else
        assert_true(counts[0] == UINT64_MAX);
    return status;
}

static analyse *const analyses[] = {analyse_statistics, analyse_stacks, analyse_activity, find_calls,
                                    count_calls};
#define ANALYSES (sizeof analyses / sizeof analyses[0])

static struct tbed_reader *make_reader(struct fixture **fixture_ret)
{
    *fixture_ret = random_trace_in_blocks(ODD_WHOLE, 12, false, 30, 7);
    return fixture_open(*fixture_ret);
}

static void what_is_cancelled_at_once_has_no_result(void **state)
{
    struct fixture *fixture;
    struct tbed_reader *reader = make_reader(&fixture);
    bool is_cancelled = true;
    uint64_t sum = 0;
    (void)state;
    for (size_t i = 0; i < ANALYSES; i++) {
        assert_int_equal(analyses[i](reader, &is_cancelled, &sum), TBED_ERR_CANCELLED);
        assert_int_equal(sum, 0);
    }
    tbed_reader_close(reader);
    fixture_free(fixture);
}

struct canceller {
    unsigned spins;
    bool is_cancelled; /* atomic */
};

static void *cancel_later(void *context)
{
    struct canceller *canceller = context;
    for (volatile unsigned i = 0; i < canceller->spins; i++)
        ;
    __atomic_store_n(&canceller->is_cancelled, true, __ATOMIC_RELAXED);
    return NULL;
}

static void what_is_cancelled_later_has_all_or_nothing(void **state)
{
    struct fixture *fixture;
    struct tbed_reader *reader = make_reader(&fixture);
    bool is_never = false;
    (void)state;
    for (size_t i = 0; i < ANALYSES; i++) {
        uint64_t whole = 0, sum;
        assert_int_equal(analyses[i](reader, &is_never, &whole), TBED_OK);
        assert_true(whole > 0);
        for (unsigned round = 0; round < ROUNDS; round++) {
            struct canceller canceller = {.spins = round * round * 1000};
            pthread_t thread;
            assert_int_equal(pthread_create(&thread, NULL, cancel_later, &canceller), 0);
            enum tbed_status status = analyses[i](reader, &canceller.is_cancelled, &sum);
            pthread_join(thread, NULL);
            assert_true(status == TBED_OK || status == TBED_ERR_CANCELLED);
            if (status == TBED_OK)
                assert_int_equal(sum, whole);
        }
    }
    tbed_reader_close(reader);
    fixture_free(fixture);
}

int main(void)
{
    const struct CMUnitTest tests[] = {cmocka_unit_test(what_is_cancelled_at_once_has_no_result),
                                       cmocka_unit_test(what_is_cancelled_later_has_all_or_nothing)};
    return cmocka_run_group_tests(tests, NULL, NULL);
}
