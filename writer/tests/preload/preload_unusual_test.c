/*
 * Programs that run on an unusual C library or allocator, or use C++'s operators without a C++ library: they run as
 * without the recorder, and every block is recorded.
 *
 * SPDX-License-Identifier: MIT
 */
#define _GNU_SOURCE 1
#include "writer/tests/preload/preload_support.h"

#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/resource.h>
#include <sys/wait.h>
#include <unistd.h>

static char trace_path[4096];

static int set_up(void **state)
{
    (void)state;
    snprintf(trace_path, sizeof trace_path, "%s", test_path("run.tbed"));
    unlink(trace_path);
    return 0;
}

static void no_core(void)
{
    setrlimit(RLIMIT_CORE, &(struct rlimit){0, 0});
}

/* Runs the helper behind the recorder and a library of this name, if any. Returns its status. */
static int run_helper(const char *what, const char *library)
{
    char variable[8192];
    const char *argv[] = {preload_path("preload_unusual_helper"), what, NULL};
    snprintf(variable, sizeof variable, "LD_PRELOAD=%s%s%s", preload_path("libtracebed-preload.so"),
             library != NULL ? ":" : "", library != NULL ? preload_path(library) : "");
    struct preload_command command = {
        .argv = argv, .trace = trace_path, .prepare = no_core, .variable = variable};
    struct preload_outcome outcome = preload_run(&command);
    if (outcome.nbytes > 0)
        print_message("%s\n", outcome.output);
    free(outcome.output);
    return outcome.status;
}

/* Expects one block of each size in [30000, 30000 + count), and that each is freed. */
static void assert_blocks(size_t count)
{
    struct tbed_reader *reader = preload_open(trace_path);
    struct tbed_merge *merge;
    struct tbed_event event;
    uint64_t addresses[16] = {0};
    size_t seen = 0, freed = 0;
    assert_int_equal(test_drop_count(reader), 0);
    assert_int_equal(tbed_merge_open(reader, NULL, 0, &merge), TBED_OK);
    while (tbed_merge_next(merge, &event) == TBED_OK) {
        bool is_alloc = event.type == TBED_EVENT_ALLOC;
        for (size_t i = 0; event.type == TBED_EVENT_FREE && i < count; i++)
            if (addresses[i] == event.of.alloc.address) {
                addresses[i] = 0;
                freed++;
            }
        uint64_t nbytes = is_alloc ? event.of.alloc.size : 0;
        if (nbytes < 30000 || nbytes - 30000 >= count)
            continue;
        addresses[nbytes - 30000] = event.of.alloc.address;
        seen++;
    }
    tbed_merge_close(merge);
    tbed_reader_close(reader);
    assert_int_equal(seen, count);
    assert_int_equal(freed, count);
}

static void blocks_from_before_the_allocator_is_known_can_be_grown_and_freed(void **state)
{
    (void)state;
    assert_int_equal(run_helper("early", "preload_unusual_a.so"), 0);
    assert_blocks(2);
}

static void functions_that_an_allocator_lacks_are_made_of_others(void **state)
{
    (void)state;
    assert_int_equal(run_helper("aligned", "preload_unusual_a.so"), 0);
    assert_int_equal(run_helper("aligned", NULL), 0);
}

static void an_allocator_without_alignment_fails_and_does_not_crash(void **state)
{
    (void)state;
    int status = run_helper("aligned", "preload_unusual_b.so");
    assert_true(WIFEXITED(status));
    assert_int_equal(WEXITSTATUS(status), 4); /* all but reallocarray */
}

static void operators_without_a_cpp_library_allocate(void **state)
{
    (void)state;
    assert_int_equal(run_helper("operators", NULL), 0);
    assert_blocks(12);
}

static void new_without_a_cpp_library_aborts_if_there_is_no_memory(void **state)
{
    (void)state;
    int status = run_helper("abort", NULL);
    assert_true(WIFSIGNALED(status));
    assert_int_equal(WTERMSIG(status), SIGABRT);
}

static void operators_that_do_not_call_malloc_are_recorded(void **state)
{
    (void)state;
    assert_int_equal(run_helper("own-operators", "preload_unusual_b.so"), 0);
    assert_blocks(2);
}

static void a_library_may_call_what_we_interpose_before_we_are_ready(void **state)
{
    (void)state;
    const char *const first[] = {"a", "b", "c", "d", "e", "f"};
    for (size_t i = 0; i < sizeof first / sizeof first[0]; i++) {
        setenv("UNUSUAL_FIRST", first[i], 1);
        unlink(trace_path);
        assert_int_equal(run_helper("early", "preload_unusual_a.so"), 0);
        assert_blocks(2);
    }
    unsetenv("UNUSUAL_FIRST");
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test_setup(blocks_from_before_the_allocator_is_known_can_be_grown_and_freed, set_up),
        cmocka_unit_test_setup(a_library_may_call_what_we_interpose_before_we_are_ready, set_up),
        cmocka_unit_test_setup(functions_that_an_allocator_lacks_are_made_of_others, set_up),
        cmocka_unit_test_setup(an_allocator_without_alignment_fails_and_does_not_crash, set_up),
        cmocka_unit_test_setup(operators_without_a_cpp_library_allocate, set_up),
        cmocka_unit_test_setup(new_without_a_cpp_library_aborts_if_there_is_no_memory, set_up),
        cmocka_unit_test_setup(operators_that_do_not_call_malloc_are_recorded, set_up),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
