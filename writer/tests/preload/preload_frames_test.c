/*
 * Stacks through functions whose frames are described in unusual ways. What is not supported, or inconsistent, ends the
 * stack; it never makes it wrong.
 *
 * SPDX-License-Identifier: MIT
 */
#define _GNU_SOURCE 1
#include "writer/tests/preload/preload_frames_log.h"
#include "writer/tests/preload/preload_support.h"

#include <stdio.h>
#include <stdlib.h>
#include <unistd.h>

#define FRAMES 32

struct depths {
    size_t going_on, ending, without_pointer; /* how many there are */
    size_t is_deep[3], is_two[3];             /* of each: stacks of three or more frames, and of two */
    size_t with_pointer;                      /* the depth */
};

static size_t group_of(uint64_t nbytes)
{
    if (nbytes >= FRAMES_GOING_ON && nbytes < FRAMES_WITH_POINTER)
        return (size_t)(nbytes - FRAMES_GOING_ON) / 1000;
    return SIZE_MAX;
}

static struct depths record(const char *mode)
{
    static char trace_path[4096];
    struct depths depths = {0};
    struct tbed_merge *merge;
    struct tbed_event event;
    const char *argv[] = {preload_path("preload_frames_helper"), NULL};
    snprintf(trace_path, sizeof trace_path, "%s", test_path("run.tbed"));
    unlink(trace_path);
    struct preload_command command = {.argv = argv, .trace = trace_path, .variable = mode};
    struct preload_outcome outcome = preload_run(&command);
    assert_int_equal(outcome.status, 0);
    assert_int_equal(
        sscanf(outcome.output, "%zu %zu %zu", &depths.going_on, &depths.ending, &depths.without_pointer), 3);
    free(outcome.output);
    struct tbed_reader *reader = preload_open(trace_path);
    assert_int_equal(tbed_merge_open(reader, NULL, 0, &merge), TBED_OK);
    while (tbed_merge_next(merge, &event) == TBED_OK) {
        uint32_t locations[FRAMES];
        if (event.type != TBED_EVENT_ALLOC)
            continue;
        size_t group = group_of(event.of.alloc.size);
        size_t depth = tbed_stack_locations(reader, event.id, locations, FRAMES);
        if (event.of.alloc.size == FRAMES_WITH_POINTER)
            depths.with_pointer = depth;
        if (group == SIZE_MAX)
            continue;
        depths.is_deep[group] += depth > 2;
        depths.is_two[group] += depth == 2;
    }
    tbed_merge_close(merge);
    tbed_reader_close(reader);
    return depths;
}

static void frames_that_are_understood_lead_on_and_others_end_the_stack(void **state)
{
    (void)state;
#if !defined(__x86_64__)
    skip();
#endif
    struct depths depths = record("TRACEBED_PRELOAD_MODE=stacks=32");
    assert_int_equal(depths.is_deep[0], depths.going_on);
    assert_int_equal(depths.is_two[1], depths.ending);
    assert_int_equal(depths.is_deep[2], depths.without_pointer);
    assert_true(depths.with_pointer >= 2);
}

static void wrong_frame_pointers_end_the_stack(void **state)
{
    (void)state;
#if !defined(__x86_64__)
    skip();
#endif
    struct depths depths = record("TRACEBED_PRELOAD_MODE=fp,stacks=32");
    assert_int_equal(depths.is_two[2], depths.without_pointer);
    assert_true(depths.with_pointer >= 2);
}

/* A description that is not understood ends the stack; none may be read beyond its module. */
static void damaged_descriptions_cost_no_allocation(void **state)
{
    (void)state;
#if !defined(__x86_64__)
    skip();
#endif
    char trace_path[4096];
    struct tbed_merge *merge;
    struct tbed_event event;
    size_t count, seen = 0;
    snprintf(trace_path, sizeof trace_path, "%s", test_path("damaged.tbed"));
    struct preload_command command = {
        .argv = (const char *[]){preload_path("preload_frames_helper"), "damaged", NULL},
        .trace = trace_path,
        .variable = "TRACEBED_PRELOAD_MODE=stacks=8"};
    struct preload_outcome outcome = preload_run(&command);
    if (outcome.status != 0 || sscanf(outcome.output, "%zu", &count) != 1)
        fail_msg("status %#x: %s", outcome.status, outcome.output);
    free(outcome.output);
    struct tbed_reader *reader = preload_open(trace_path);
    assert_int_equal(tbed_merge_open(reader, NULL, 0, &merge), TBED_OK);
    while (tbed_merge_next(merge, &event) == TBED_OK)
        seen += event.type == TBED_EVENT_ALLOC && event.of.alloc.size == FRAMES_DAMAGED;
    tbed_merge_close(merge);
    tbed_reader_close(reader);
    assert_int_equal(count, 512);
    assert_int_equal(seen, count);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(frames_that_are_understood_lead_on_and_others_end_the_stack),
        cmocka_unit_test(wrong_frame_pointers_end_the_stack),
        cmocka_unit_test(damaged_descriptions_cost_no_allocation),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
