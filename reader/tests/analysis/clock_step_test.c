/*
 * The step of a clock, as estimated from the distances of events.
 *
 * SPDX-License-Identifier: MIT
 */
#include "reader/tests/analysis/analysis_fixture.h"

#include "reader/analysis/shared/clock_step.h"

static uint32_t gaps[CLOCK_GAP_MAX];

static void clear(void)
{
    memset(gaps, 0, sizeof gaps);
}

/* Measured on a virtual machine whose counter moves by 25.96 ticks; two events of a step are a tick apart. */
static void a_counter_with_a_step_shows_it(void **state)
{
    static const uint32_t measured[][2] = {{1, 46626}, {25, 46566}, {26, 506040}, {51, 7},   {52, 142},
                                           {77, 12},   {78, 117},   {103, 3},     {104, 32}, {130, 27},
                                           {182, 42},  {208, 24},   {675, 1}};
    (void)state;
    clear();
    for (size_t i = 0; i < sizeof measured / sizeof measured[0]; i++)
        gaps[measured[i][0]] = measured[i][1];
    assert_int_equal(tbed_step_of_gaps(gaps), 26);
}

/* The least distance is what the events cost, but those above it are not its multiples. */
static void the_cost_of_an_event_is_no_step(void **state)
{
    (void)state;
    clear();
    for (uint32_t gap = 18; gap < 60; gap++)
        gaps[gap] = 1000 / (gap - 17);
    assert_int_equal(tbed_step_of_gaps(gaps), 1);
    clear();
    gaps[18] = 100000;
    for (uint32_t gap = 19; gap < 200; gap++)
        gaps[gap] = 20;
    assert_int_equal(tbed_step_of_gaps(gaps), 1);
}

static void few_distances_show_no_step(void **state)
{
    (void)state;
    clear();
    assert_int_equal(tbed_step_of_gaps(gaps), 1);
    gaps[100] = 63;
    assert_int_equal(tbed_step_of_gaps(gaps), 1);
    gaps[100] = 64;
    assert_int_equal(tbed_step_of_gaps(gaps), 100);
    gaps[5] = 1;
    assert_int_equal(tbed_step_of_gaps(gaps), 100); /* 5 is within the tolerance of 0 */
    gaps[60] = 1;
    assert_int_equal(tbed_step_of_gaps(gaps), 1); /* one of 64 is not rare */
}

static void steps_of_any_size_are_found(void **state)
{
    (void)state;
    for (uint32_t step = 8; step < 7000; step = step * 5 / 4 + 1) {
        clear();
        for (uint32_t i = 1; i < 8; i++)
            gaps[i * step] = 1000 >> i;
        gaps[1] = 400;
        assert_int_equal(tbed_step_of_gaps(gaps), step);
        gaps[step / 2] = 100;
        assert_int_not_equal(tbed_step_of_gaps(gaps), step);
    }
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(a_counter_with_a_step_shows_it),
        cmocka_unit_test(the_cost_of_an_event_is_no_step),
        cmocka_unit_test(few_distances_show_no_step),
        cmocka_unit_test(steps_of_any_size_are_found),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
