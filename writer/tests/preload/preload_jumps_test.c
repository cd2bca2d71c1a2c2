/*
 * Functions that are left by jumps, run on a stack that the program made, or call themselves thousands of times: each
 * call is recorded with its end. And functions chosen by name in programs with and without a full symbol table.
 *
 * SPDX-License-Identifier: MIT
 */
#define _GNU_SOURCE 1
#include "writer/tests/preload/preload_support.h"

#include <stdio.h>
#include <stdlib.h>

struct seen {
    unsigned entered; /* as the program counts */
    unsigned begins, ends;
};

static struct seen record(const char *helper, const char *what, const char *option, const char *value)
{
    struct seen seen = {0};
    struct tbed_merge *merge;
    struct tbed_event event;
    char program[512], trace[4096];
    const char *build = getenv("TBED_BUILD");
    snprintf(program, sizeof program, "%s/tracebed", build != NULL ? build : "build/release");
    snprintf(trace, sizeof trace, "%s", test_path("run.tbed"));
    const char *argv[] = {program,       "record", "-f",  "-o", trace,
                          "--functions", option,   value, "--", preload_path(helper),
                          what,          NULL};
    struct preload_command command = {.argv = argv};
    struct preload_outcome outcome = preload_run(&command);
    if (outcome.status != 0 || sscanf(outcome.output, "%u", &seen.entered) != 1)
        fail_msg("%s: status %#x\n%s", what, outcome.status, outcome.output);
    free(outcome.output);
    struct tbed_reader *reader = preload_open(trace);
    assert_int_equal(test_drop_count(reader), 0);
    assert_int_equal(tbed_merge_open(reader, NULL, 0, &merge), TBED_OK);
    while (tbed_merge_next(merge, &event) == TBED_OK) {
        seen.begins += event.type == TBED_EVENT_BEGIN;
        seen.ends += event.type == TBED_EVENT_END;
    }
    tbed_merge_close(merge);
    tbed_reader_close(reader);
    return seen;
}

static void each_kind_of_jump_ends_what_it_leaves(void **state)
{
    (void)state;
    struct seen seen = record("preload_jumps_helper", "jumps", "--depth", "100");
    assert_int_equal(seen.entered, 9);
    assert_int_equal(seen.begins, 9);
    assert_int_equal(seen.ends, 9);
}

static void jumps_between_stacks_of_the_program_lose_no_call(void **state)
{
    (void)state;
    struct seen seen = record("preload_jumps_helper", "stacks", "--depth", "100");
    assert_int_equal(seen.begins, seen.entered);
}

static void calls_that_are_thousands_deep_are_recorded(void **state)
{
    (void)state;
    struct seen seen = record("preload_jumps_helper", "deep", "--depth", "100000");
    assert_int_equal(seen.entered, 20001);
    assert_int_equal(seen.begins, 20001);
    assert_int_equal(seen.ends, 20001);
}

static void functions_are_chosen_by_name_also_in_a_stripped_program(void **state)
{
    (void)state;
    static const char *const helpers[] = {"preload_jumps_helper", "preload_jumps_stripped"};
    for (size_t i = 0; i < 2; i++) {
        assert_int_equal(record(helpers[i], "jumps", "--filter", "leave_*").begins, 9);
        assert_int_equal(record(helpers[i], "jumps", "--filter", "leave_inner").begins, 4);
        assert_int_equal(record(helpers[i], "jumps", "--exclude", "leave_inner").begins, 5);
    }
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(each_kind_of_jump_ends_what_it_leaves),
        cmocka_unit_test(jumps_between_stacks_of_the_program_lose_no_call),
        cmocka_unit_test(calls_that_are_thousands_deep_are_recorded),
        cmocka_unit_test(functions_are_chosen_by_name_also_in_a_stripped_program),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
