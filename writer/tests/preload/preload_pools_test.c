/*
 * Blocks of a program's own pools, shown by tracebed/pool.h: as blocks of their own beside the memory that they are in, by
 * the name of the pool; and a program that is not recorded.
 *
 * SPDX-License-Identifier: MIT
 */
#define _GNU_SOURCE 1
#include "writer/tests/preload/preload_support.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <tracebed/analysis.h>
#include <unistd.h>

static char trace_path[4096];

static int set_up(void **state)
{
    (void)state;
    snprintf(trace_path, sizeof trace_path, "%s", test_path("pools.tbed"));
    unlink(trace_path);
    return 0;
}

static void run(const char *trace, const char *mode, const char *output)
{
    const char *argv[] = {preload_path("preload_pools_helper"), NULL};
    struct preload_command command = {.argv = argv, .trace = trace, .variable = mode};
    struct preload_outcome outcome = preload_run(&command);
    assert_int_equal(outcome.status, 0);
    assert_string_equal(outcome.output, output);
    free(outcome.output);
}

static const struct tbed_allocation_site *site_find(const struct tbed_allocations *allocations,
                                                    const char *name)
{
    const struct tbed_allocation_site *site;
    for (size_t i = 0; (site = tbed_allocations_site(allocations, i)) != NULL; i++)
        if (strcmp(site->name, name) == 0)
            return site;
    fail_msg("no site %s", name);
    return NULL;
}

static void blocks_of_pools_are_beside_those_of_malloc(void **state)
{
    (void)state;
    for (int with_stacks = 0; with_stacks < 2; with_stacks++) {
        unlink(trace_path);
        run(trace_path, with_stacks ? "TRACEBED_PRELOAD_MODE=stacks=8" : NULL, "1\n");
        struct tbed_reader *reader = preload_open(trace_path);
        struct tbed_analysis_options options = {.size = sizeof options, .thread_count = 1};
        struct tbed_allocations *allocations;
        assert_int_equal(tbed_allocations_make(reader, &options, &allocations), TBED_OK);
        const struct tbed_allocation_site *nodes = site_find(allocations, "[pool nodes]");
        assert_int_equal(nodes->sums.count, 3);
        assert_int_equal(nodes->sums.nbytes, 40 + 50 + 60);
        assert_int_equal(nodes->sums.freed_count, 2);
        assert_int_equal(nodes->sums.live_nbytes, 60);
        assert_int_equal(site_find(allocations, "[pool inner]")->sums.live_nbytes, 8);
        assert_int_equal(
            site_find(allocations, "[pool a pool with a name that is longer than what fits, of which a pa]")
                ->sums.nbytes,
            9);
        const struct tbed_allocation_process *process = tbed_allocations_process(allocations, 0);
        assert_int_equal(process->sums.replaced_count, 0);
        assert_int_equal(process->unknown_free_count, 0);
        assert_int_equal(process->null_free_count, 0);
        uint32_t locations[16];
        size_t count = tbed_stack_locations(reader, nodes->id, locations, 16);
        assert_true(with_stacks ? count > 2 : count == 2);
        tbed_allocations_close(allocations);
        tbed_reader_close(reader);
    }
}

static void light_recording_counts_them(void **state)
{
    (void)state;
    run(trace_path, "TRACEBED_PRELOAD_MODE=light", "1\n");
    struct tbed_reader *reader = preload_open(trace_path);
    struct tbed_merge *merge;
    struct tbed_event event;
    size_t count = 0;
    assert_int_equal(tbed_merge_open(reader, NULL, 0, &merge), TBED_OK);
    while (tbed_merge_next(merge, &event) == TBED_OK) {
        char text[64];
        assert_int_equal(event.type, TBED_EVENT_INSTANT);
        tbed_id_text(reader, event.id, TBED_NAME_ALL, text, sizeof text);
        count += strncmp(text, "[pool nodes]", 12) == 0;
    }
    assert_int_equal(count, 3);
    tbed_merge_close(merge);
    tbed_reader_close(reader);
}

static void a_program_that_is_not_recorded_does_nothing(void **state)
{
    (void)state;
    run(NULL, NULL, "0\n");
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test_setup(blocks_of_pools_are_beside_those_of_malloc, set_up),
        cmocka_unit_test_setup(light_recording_counts_them, set_up),
        cmocka_unit_test_setup(a_program_that_is_not_recorded_does_nothing, set_up),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
