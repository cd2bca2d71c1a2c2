/*
 * Positions of runs that do the same: their times add up to the self times of the statistics, they vary as the runs do,
 * and a run that differs is reported at the right place.
 *
 * SPDX-License-Identifier: MIT
 */
#include "reader/tests/analysis/random_trace.h"

#include <math.h>
#include <tracebed/analysis.h>
#include <tracebed/compare.h>

static struct tbed_positions *open_positions(void)
{
    struct tbed_positions *positions = NULL;
    assert_int_equal(tbed_positions_open(&positions), TBED_OK);
    return positions;
}

static void add(struct tbed_positions *positions, struct fixture *f)
{
    struct tbed_reader *reader = fixture_open(f);
    assert_int_equal(tbed_positions_add(positions, reader, NULL), TBED_OK);
    tbed_reader_close(reader); /* a result is independent of the reader */
    fixture_free(f);
}

static uint64_t sum_inside(const struct tbed_positions *positions, const char *label)
{
    struct tbed_position position;
    uint64_t sum = 0;
    for (size_t i = 0; i < tbed_positions_thread_count(positions); i++)
        for (size_t k = 0; tbed_positions_get(positions, i, k, &position); k++)
            if (position.inside != NULL && strcmp(position.inside, label) == 0)
                sum += position.min;
    return sum;
}

static void times_add_up_to_self_times(void **state)
{
    (void)state;
    for (unsigned seed = 1; seed <= 6; seed++) {
        struct fixture *f = random_trace(ODD_NOTHING, 40, false, seed);
        struct tbed_reader *reader = fixture_open(f);
        struct tbed_statistics *statistics = NULL;
        struct tbed_positions *positions = open_positions();
        const struct tbed_span_row *row;
        size_t count = 0;
        assert_int_equal(tbed_statistics_make(reader, NULL, &statistics), TBED_OK);
        assert_int_equal(tbed_positions_add(positions, reader, NULL), TBED_OK);
        for (; (row = tbed_statistics_span(statistics, count)) != NULL; count++)
            assert_int_equal(sum_inside(positions, row->name), row->self_ticks);
        assert_true(count > 3);
        tbed_positions_close(positions);
        tbed_statistics_close(statistics);
        tbed_reader_close(reader);
        fixture_free(f);
    }
}

/* a { b } c in stream 1, an instant in c; 'b' takes 'ticks', and 'last' comes instead of c. */
static struct fixture *make_run(uint64_t ticks, uint32_t last, bool has_second)
{
    struct fixture *f = fixture_new(4096);
    uint64_t now = 100;
    fixture_begin(f, 1, now, 1);
    fixture_begin(f, 1, now += 10, 2);
    fixture_end(f, 1, now += ticks, false);
    fixture_end(f, 1, now += 5, false);
    fixture_begin(f, 1, now += 3, last);
    fixture_instant(f, 1, now += 2, 4);
    fixture_end(f, 1, now += 7, false);
    if (has_second) {
        fixture_begin(f, 2, 50, 5);
        fixture_end(f, 2, 60, false);
        fixture_seal_stream(f, 2);
    }
    fixture_seal_stream(f, 1);
    return f;
}

static void expect_position(const struct tbed_positions *positions, size_t number, enum tbed_point_kind from,
                            enum tbed_point_kind to, uint64_t min, uint64_t max)
{
    struct tbed_position position;
    assert_true(tbed_positions_get(positions, 0, number, &position));
    assert_int_equal(position.from, from);
    assert_int_equal(position.to, to);
    assert_int_equal(position.min, min);
    assert_int_equal(position.max, max);
}

static void each_interval_varies_as_the_runs_do(void **state)
{
    struct tbed_positions *positions = open_positions();
    struct tbed_position position;
    (void)state;
    add(positions, make_run(20, 3, false));
    add(positions, make_run(30, 3, false));
    add(positions, make_run(70, 3, false));
    assert_int_equal(tbed_positions_thread_count(positions), 1);
    assert_int_equal(tbed_positions_count(positions, 0), 6);
    expect_position(positions, 0, TBED_POINT_BEGIN, TBED_POINT_BEGIN, 10, 10);
    expect_position(positions, 1, TBED_POINT_BEGIN, TBED_POINT_END, 20, 70);
    expect_position(positions, 2, TBED_POINT_END, TBED_POINT_END, 5, 5);
    expect_position(positions, 3, TBED_POINT_END, TBED_POINT_BEGIN, 3, 3);
    expect_position(positions, 4, TBED_POINT_BEGIN, TBED_POINT_INSTANT, 2, 2);
    expect_position(positions, 5, TBED_POINT_INSTANT, TBED_POINT_END, 7, 7);
    assert_true(tbed_positions_get(positions, 0, 1, &position));
    assert_true(fabs(position.mean - 40) < 1e-9 && fabs(position.variance - 700) < 1e-9);
    assert_string_equal(position.inside, position.from_label);
    assert_true(tbed_positions_get(positions, 0, 3, &position));
    assert_null(position.inside);
    assert_true(position.variance <= 0);
    assert_false(tbed_positions_get(positions, 0, 6, &position));
    assert_false(tbed_positions_get(positions, 1, 0, &position));
    for (size_t run = 0; run < 3; run++)
        assert_false(tbed_positions_divergence(positions, run)->differs);
    assert_null(tbed_positions_divergence(positions, 3));
    tbed_positions_close(positions);
    tbed_positions_close(NULL);
}

static void run_that_differs_is_reported(void **state)
{
    struct tbed_positions *positions = open_positions();
    (void)state;
    add(positions, make_run(20, 3, false));
    add(positions, make_run(20, 6, false));
    add(positions, make_run(90, 3, false));
    const struct tbed_divergence *divergence = tbed_positions_divergence(positions, 1);
    assert_true(divergence->differs);
    assert_int_equal(divergence->thread, 0);
    assert_int_equal(divergence->number, 3);
    assert_int_equal(divergence->expected, TBED_POINT_BEGIN);
    assert_int_equal(divergence->found, TBED_POINT_BEGIN);
    assert_string_equal(divergence->expected_label, "<id 3>");
    assert_string_equal(divergence->found_label, "<id 6>");
    assert_false(tbed_positions_divergence(positions, 2)->differs);
    assert_int_equal(tbed_positions_count(positions, 0), 3);
    expect_position(positions, 1, TBED_POINT_BEGIN, TBED_POINT_END, 20, 90);
    tbed_positions_close(positions);
}

static void missing_and_additional_threads_are_reported(void **state)
{
    struct tbed_positions *positions = open_positions();
    (void)state;
    add(positions, make_run(20, 3, true));
    add(positions, make_run(20, 3, false));
    const struct tbed_divergence *divergence = tbed_positions_divergence(positions, 1);
    assert_true(divergence->differs && divergence->thread == 1 && divergence->number == 0);
    assert_int_equal(divergence->found, TBED_POINT_NONE);
    assert_null(divergence->found_label);
    assert_int_equal(tbed_positions_count(positions, 0), 6);
    assert_int_equal(tbed_positions_count(positions, 1), 0);
    tbed_positions_close(positions);
    positions = open_positions();
    add(positions, make_run(20, 3, false));
    add(positions, make_run(20, 3, true));
    divergence = tbed_positions_divergence(positions, 1);
    assert_true(divergence->differs && divergence->thread == 1);
    assert_int_equal(divergence->expected, TBED_POINT_NONE);
    assert_string_equal(divergence->found_label, "<id 5>");
    assert_int_equal(tbed_positions_count(positions, 0), 6);
    tbed_positions_close(positions);
}

static void runs_without_events_have_no_positions(void **state)
{
    struct tbed_positions *positions = open_positions();
    (void)state;
    add(positions, fixture_new(4096));
    assert_int_equal(tbed_positions_thread_count(positions), 0);
    assert_int_equal(tbed_positions_count(positions, 0), 0);
    assert_false(tbed_positions_divergence(positions, 0)->differs);
    add(positions, make_run(20, 3, false));
    assert_true(tbed_positions_divergence(positions, 1)->differs);
    tbed_positions_close(positions);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(times_add_up_to_self_times),
        cmocka_unit_test(each_interval_varies_as_the_runs_do),
        cmocka_unit_test(run_that_differs_is_reported),
        cmocka_unit_test(missing_and_additional_threads_are_reported),
        cmocka_unit_test(runs_without_events_have_no_positions),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
