/*
 * Is every call in the trace, and no other? A helper program keeps a log of its own calls to the allocator,
 * with addresses, sizes and the function that made the call; it is run with the recorder preloaded, in each
 * situation that has broken such recorders before, and log and trace are compared call by call. That it
 * prints the same and ends the same as without us is checked in the same breath.
 *
 * SPDX-License-Identifier: MIT
 */
#define _GNU_SOURCE 1
#include "writer/tests/preload/preload_support.h"

#include <errno.h>
#include <sched.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/mount.h>
#include <sys/resource.h>
#include <sys/stat.h>
#include <sys/wait.h>
#include <unistd.h>

static char trace_path[4096], log_path[4096];

static int set_up(void **state)
{
    (void)state;
    snprintf(trace_path, sizeof trace_path, "%s", test_path("run.tbed"));
    snprintf(log_path, sizeof log_path, "%s", test_path("log"));
    unlink(trace_path);
    unlink(log_path);
    return 0;
}

static const char *const *helper_argv(const char *mode, const char *argument)
{
    static const char *argv[5];
    argv[0] = preload_path("preload_calls_helper");
    argv[1] = mode;
    argv[2] = log_path;
    argv[3] = argument;
    argv[4] = NULL;
    return argv;
}

/* The log of the run without us is thrown away: the file is opened anew, and empty. */
static void forget_log(void)
{
    unlink(log_path);
}

static void run_and_compare(const char *mode, const char *argument, enum preload_comparison comparison)
{
    preload_run_both(helper_argv(mode, argument), trace_path, forget_log);
    struct tbed_reader *reader = preload_open(trace_path);
    preload_compare(reader, log_path, comparison);
    tbed_reader_close(reader);
}

/* ---- All of it is there ---- */

static void each_function_is_recorded_with_its_failures(void **state)
{
    (void)state;
    run_and_compare("each", NULL, PRELOAD_EXACT);
}

static void eight_threads_are_recorded_call_by_call(void **state)
{
    (void)state;
    run_and_compare("threads", NULL, PRELOAD_EXACT);
}

static void forked_children_have_streams_of_their_own(void **state)
{
    (void)state;
    run_and_compare("fork", NULL, PRELOAD_EXACT);
}

static void a_chain_of_execs_is_recorded_on(void **state)
{
    (void)state;
    run_and_compare("exec", "4", PRELOAD_EXACT);
}

static void a_killed_program_loses_nothing(void **state)
{
    (void)state;
    run_and_compare("killed", NULL, PRELOAD_EXACT);
}

/* Which of two libraries a call came from, when one was loaded where the other had been. */
static void libraries_that_take_each_others_place_are_told_apart(void **state)
{
    (void)state;
    char folder[4096];
    snprintf(folder, sizeof folder, "%s", preload_path("."));
    run_and_compare("libraries", folder, PRELOAD_EXACT);
    struct log_file *log = preload_log_open(log_path);
    assert_true(log->result > 0); /* it did happen */
    munmap(log, sizeof *log);
}

static void libraries_come_and_go_in_three_threads(void **state)
{
    (void)state;
    char folder[4096];
    snprintf(folder, sizeof folder, "%s", preload_path("."));
    run_and_compare("libraries-threads", folder, PRELOAD_EXACT);
}

static void frees_of_exit_handlers_and_destructors_are_recorded(void **state)
{
    (void)state;
    run_and_compare("late", NULL, PRELOAD_SEQUENTIAL);
}

/* ---- The program is not disturbed ---- */

static void files_of_a_program_that_closes_all_descriptors_stay_its_own(void **state)
{
    (void)state;
    run_and_compare("descriptors", NULL, PRELOAD_EXACT);
}

static void a_program_may_change_folder_and_root_and_user(void **state)
{
    (void)state;
    run_and_compare("chdir", NULL, PRELOAD_EXACT);
}

static void limit_memory(void)
{
    struct rlimit limit = {512u << 20, 512u << 20};
    forget_log();
    setrlimit(RLIMIT_AS, &limit);
}

static void little_address_space_is_enough(void **state)
{
    (void)state;
    preload_run_both(helper_argv("no-memory", NULL), trace_path, limit_memory);
    struct tbed_reader *reader = preload_open(trace_path);
    preload_compare(reader, log_path, PRELOAD_EXACT);
    tbed_reader_close(reader);
}

/* The log is a file as well, so the limit is above its size. */
static void limit_file_size(void)
{
    struct rlimit limit = {1u << 20, 1u << 20};
    setrlimit(RLIMIT_FSIZE, &limit);
}

static void make_log(void)
{
    FILE *log = fopen(log_path, "w");
    assert_non_null(log);
    assert_int_equal(ftruncate(fileno(log), sizeof(struct log_file)), 0);
    fclose(log);
}

static void a_limit_of_the_file_size_drops_and_does_not_kill(void **state)
{
    (void)state;
    struct tbed_trace_info info;
    make_log();
    struct preload_command command = {
        .argv = helper_argv("much", NULL), .trace = trace_path, .prepare = limit_file_size};
    struct preload_outcome outcome = preload_run(&command);
    assert_int_equal(outcome.status, 0);
    assert_string_equal(outcome.output, "done\n");
    free(outcome.output);
    struct tbed_reader *reader = preload_open(trace_path);
    tbed_reader_info(reader, &info);
    assert_true(info.drops[TBED_DROP_SIZE_LIMIT] > 100000);
    assert_true(info.file_nbytes <= 1u << 20);
    preload_compare(reader, log_path, PRELOAD_DROPPED);
    tbed_reader_close(reader);
}

/* A disk of 2 MiB, in a view of the file systems that ends with this test program. */
static bool small_disk_mount(const char *folder)
{
    mkdir(folder, 0700);
    return geteuid() == 0 && unshare(CLONE_NEWNS) == 0 &&
           mount(NULL, "/", NULL, MS_REC | MS_PRIVATE, NULL) == 0 &&
           mount("tmpfs", folder, "tmpfs", 0, "size=2m") == 0;
}

static void a_full_disk_drops_and_does_not_kill(void **state)
{
    (void)state;
    char folder[4096], trace[4200];
    struct tbed_trace_info info;
    snprintf(folder, sizeof folder, "%s", test_path("small"));
    snprintf(trace, sizeof trace, "%s/run.tbed", folder);
    if (!small_disk_mount(folder))
        skip();
    forget_log();
    struct preload_command command = {.argv = helper_argv("much", NULL), .trace = trace};
    struct preload_outcome outcome = preload_run(&command);
    assert_int_equal(outcome.status, 0);
    assert_string_equal(outcome.output, "done\n");
    free(outcome.output);
    struct tbed_reader *reader = preload_open(trace);
    tbed_reader_info(reader, &info);
    assert_true(info.drops[TBED_DROP_DISK_FULL] > 100000);
    preload_compare(reader, log_path, PRELOAD_DROPPED);
    tbed_reader_close(reader);
    umount(folder);
}

/* A handler comes between the call and its entry in the log, so its calls are compared as a thread of their
 * own. */
static void what_a_signal_handler_allocates_is_recorded_or_counted(void **state)
{
    (void)state;
    preload_run_both(helper_argv("signals", NULL), trace_path, forget_log);
    struct tbed_reader *reader = preload_open(trace_path);
    preload_compare(reader, log_path, PRELOAD_DROPPED);
    tbed_reader_close(reader);
}

/* ---- No trace, no harm ---- */

static void run_unrecorded(const char *trace, const char *variable, const char *expected)
{
    forget_log();
    struct preload_command command = {.argv = helper_argv("each", NULL), .prepare = forget_log};
    struct preload_outcome plain = preload_run(&command);
    command.trace = trace;
    command.variable = variable;
    struct preload_outcome outcome = preload_run(&command);
    assert_int_equal(outcome.status, 0);
    assert_true(outcome.nbytes == plain.nbytes + strlen(expected));
    assert_memory_equal(outcome.output, expected, strlen(expected));
    assert_string_equal(outcome.output + strlen(expected), plain.output);
    free(plain.output);
    free(outcome.output);
}

static void a_trace_that_cannot_be_opened_is_told_only_when_asked(void **state)
{
    (void)state;
    run_unrecorded("/nowhere/run.tbed", NULL, "");
    run_unrecorded("/nowhere/run.tbed", "TRACEBED_VERBOSE=1",
                   "tracebed: /nowhere/run.tbed: cannot be opened; the program runs on unrecorded\n");
}

static void a_relative_path_is_no_trace(void **state)
{
    (void)state;
    run_unrecorded("run.tbed", "TRACEBED_VERBOSE=1", "");
    assert_int_not_equal(access("run.tbed", F_OK), 0);
}

static void a_file_that_is_no_trace_is_left_alone(void **state)
{
    (void)state;
    char text[32] = "";
    FILE *file = fopen(trace_path, "w+");
    assert_non_null(file);
    fputs("not a trace at all", file);
    fflush(file);
    run_unrecorded(trace_path, NULL, "");
    rewind(file);
    assert_non_null(fgets(text, sizeof text, file));
    assert_string_equal(text, "not a trace at all");
    fclose(file);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test_setup(each_function_is_recorded_with_its_failures, set_up),
        cmocka_unit_test_setup(eight_threads_are_recorded_call_by_call, set_up),
        cmocka_unit_test_setup(forked_children_have_streams_of_their_own, set_up),
        cmocka_unit_test_setup(a_chain_of_execs_is_recorded_on, set_up),
        cmocka_unit_test_setup(a_killed_program_loses_nothing, set_up),
        cmocka_unit_test_setup(libraries_that_take_each_others_place_are_told_apart, set_up),
        cmocka_unit_test_setup(libraries_come_and_go_in_three_threads, set_up),
        cmocka_unit_test_setup(frees_of_exit_handlers_and_destructors_are_recorded, set_up),
        cmocka_unit_test_setup(files_of_a_program_that_closes_all_descriptors_stay_its_own, set_up),
        cmocka_unit_test_setup(a_program_may_change_folder_and_root_and_user, set_up),
        cmocka_unit_test_setup(little_address_space_is_enough, set_up),
        cmocka_unit_test_setup(a_limit_of_the_file_size_drops_and_does_not_kill, set_up),
        cmocka_unit_test_setup(a_full_disk_drops_and_does_not_kill, set_up),
        cmocka_unit_test_setup(what_a_signal_handler_allocates_is_recorded_or_counted, set_up),
        cmocka_unit_test_setup(a_trace_that_cannot_be_opened_is_told_only_when_asked, set_up),
        cmocka_unit_test_setup(a_relative_path_is_no_trace, set_up),
        cmocka_unit_test_setup(a_file_that_is_no_trace_is_left_alone, set_up),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
