/*
 * Programs in a sandbox that allows everything, or whose clock is off: what they allocate is recorded, or counted as
 * dropped. And programs that handle SIGBUS themselves, which the recorder handles too.
 *
 * SPDX-License-Identifier: MIT
 */
#define _GNU_SOURCE 1
#include "writer/tests/preload/preload_confined_log.h"
#include "writer/tests/preload/preload_support.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

static const char *const modes[] = {"TRACEBED_PRELOAD_MODE=", "TRACEBED_PRELOAD_MODE=stacks=8",
                                    "TRACEBED_PRELOAD_MODE=mmap", "TRACEBED_PRELOAD_MODE=light"};

#define MODE_COUNT (sizeof modes / sizeof modes[0])

/* The allocations of each of the sizes, and what was dropped. */
struct seen {
    size_t counts[4];
    uint64_t dropped;
};

static struct seen look(const char *trace)
{
    struct seen seen = {.counts = {0}};
    struct tbed_merge *merge;
    struct tbed_event event;
    struct tbed_reader *reader = preload_open(trace);
    seen.dropped = test_drop_count(reader);
    assert_int_equal(tbed_merge_open(reader, NULL, 0, &merge), TBED_OK);
    while (tbed_merge_next(merge, &event) == TBED_OK)
        if (event.type == TBED_EVENT_ALLOC && event.of.alloc.size - CONFINED_BEFORE < 4)
            seen.counts[event.of.alloc.size - CONFINED_BEFORE]++;
    tbed_merge_close(merge);
    tbed_reader_close(reader);
    return seen;
}

/* Runs the helper with and without the recorder, which must print the same. */
static struct seen run(const char *what, const char *mode)
{
    static char trace[4096];
    const char *argv[] = {preload_path("preload_confined_helper"), what, NULL};
    struct preload_command command = {.argv = argv};
    struct preload_outcome plain = preload_run(&command);
    snprintf(trace, sizeof trace, "%s", test_path("run.tbed"));
    unlink(trace);
    command.trace = trace;
    command.variable = mode;
    struct preload_outcome recorded = preload_run(&command);
    assert_int_equal(recorded.status, plain.status);
    assert_string_equal(recorded.output, plain.output);
    free(plain.output);
    free(recorded.output);
    return look(trace);
}

static void assert_nothing_is_missing(const char *what)
{
    for (size_t i = 0; i < MODE_COUNT; i++) {
        struct seen seen = run(what, modes[i]);
        bool is_light = strstr(modes[i], "light") != NULL;
        assert_int_equal(seen.counts[0], is_light ? 0 : 1);
        for (size_t k = 1; k < 4 && !is_light; k++)
            assert_true(seen.counts[k] == 1 || seen.dropped > 0);
    }
}

static void allocations_in_a_sandbox_are_recorded_or_counted(void **state)
{
    (void)state;
    assert_nothing_is_missing("filter");
    assert_nothing_is_missing("call");
}

static void allocations_without_a_clock_are_counted(void **state)
{
    (void)state;
#if !defined(__x86_64__)
    skip();
#endif
    assert_nothing_is_missing("clock");
    struct seen seen = run("clock", modes[0]);
    assert_int_equal(seen.counts[1], 0);
    assert_true(seen.dropped > 0);
    assert_int_equal(seen.counts[3], 1);
}

static void a_sandbox_that_is_refused_or_a_childs_changes_nothing(void **state)
{
    (void)state;
    for (size_t i = 0; i < 2; i++) {
        struct seen seen = run(i == 0 ? "refused" : "vfork", modes[0]);
        assert_int_equal(seen.dropped, 0);
        for (size_t k = 0; k < 4; k++)
            assert_int_equal(seen.counts[k], 1);
    }
}

static void actions_and_masks_of_sigbus_are_as_without_the_recorder(void **state)
{
    (void)state;
    run("signals", modes[0]);
}

static void calls_in_a_sandbox_do_not_change_the_program(void **state)
{
    static const char *const ways[] = {"filter", "call", "clock", "refused", "vfork"};
    (void)state;
    char program[512], trace[4096];
    const char *build = getenv("TBED_BUILD");
    snprintf(program, sizeof program, "%s/tracebed", build != NULL ? build : "build/release");
    snprintf(trace, sizeof trace, "%s", test_path("functions.tbed"));
    for (size_t i = 0; i < sizeof ways / sizeof ways[0]; i++) {
        const char *argv[] = {program, "record",      "-f", "-o",
                              trace,   "--functions", "--", preload_path("preload_confined_helper"),
                              ways[i], NULL};
        struct preload_command command = {.argv = argv};
        struct preload_outcome outcome = preload_run(&command);
        assert_int_equal(outcome.status, 0);
        assert_int_equal(strncmp(outcome.output, "0\n", 2), 0);
        free(outcome.output);
        look(trace);
    }
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(allocations_in_a_sandbox_are_recorded_or_counted),
        cmocka_unit_test(allocations_without_a_clock_are_counted),
        cmocka_unit_test(a_sandbox_that_is_refused_or_a_childs_changes_nothing),
        cmocka_unit_test(actions_and_masks_of_sigbus_are_as_without_the_recorder),
        cmocka_unit_test(calls_in_a_sandbox_do_not_change_the_program),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
