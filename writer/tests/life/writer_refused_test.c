/*
 * Calls that are refused and events that are dropped: in a sandbox, after the file was lost, and in a forked child that
 * cannot join.
 *
 * Each case runs in a child process, because its effects cannot be undone.
 *
 * SPDX-License-Identifier: MIT
 */
#include "writer/tests/support.h"

#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <sys/wait.h>
#include <unistd.h>

enum { RECORDERS = 128 }; /* in two slabs: a sandbox has room for 64 or more */

#define NEED(holds)                                                                                          \
    do {                                                                                                     \
        if (!(holds))                                                                                        \
            return __LINE__ % 256;                                                                           \
    } while (0)

static char path[300];

static int in_child(int (*body)(void))
{
    int status;
    pid_t child = fork();
    if (child == 0)
        _exit(body());
    assert_int_equal(waitpid(child, &status, 0), child);
    assert_true(WIFEXITED(status));
    return WEXITSTATUS(status); /* 0, or the line that failed, modulo 256 */
}

static void set_path(const char *name)
{
    snprintf(path, sizeof path, "%s", test_path(name));
}

static struct tbed_recorder *begin(struct tbed_writer_options options, struct tbed_writer **writer_ret)
{
    options.page_nbytes = 4096;
    *writer_ret = test_writer_open(path, &options);
    struct tbed_recorder *recorder = tbed_recorder_open(*writer_ret, "main");
    tbed_instant_record(recorder, 1);
    return recorder;
}

static void record(struct tbed_recorder *recorder, int count)
{
    for (int i = 0; i < count; i++)
        tbed_instant_record(recorder, 1);
}

/* ---- A sandbox ---- */

static int sandboxed(void)
{
    struct tbed_writer *writer, *second;
    struct tbed_error error;
    struct tbed_recorder *recorder = begin((struct tbed_writer_options){.rotate = true}, &writer);
    record(recorder, 20000); /* starts the helper */
    NEED(tbed_sandbox_enter(writer, 1 << 20) >= 1 << 20);
    NEED(tbed_sandbox_enter(writer, 1 << 20) == 0); /* already entered */
    record(recorder, 20000);
    NEED(tbed_rotate(writer, &error) == TBED_ERR_WRITE && error.system_errno == EPERM);
    NEED(tbed_writer_open(path, NULL, &second, &error) == TBED_ERR_OPEN && error.system_errno == EPERM);
    for (int cause = 0; cause < TBED_DROP_CAUSE_COUNT; cause++)
        NEED(tbed_writer_drop_count(writer, (enum tbed_drop_cause)cause) == 0);
    tbed_writer_free(writer); /* the file stays open */
    tbed_sandbox_leave();
    NEED(tbed_sandbox_enter(NULL, 1) == 0);
    tbed_sandbox_leave();
    return 0;
}

static void a_sandbox_opens_no_file_and_loses_no_event(void **state)
{
    (void)state;
    set_path("sandbox.tbed");
    assert_int_equal(in_child(sandboxed), 0);
    struct tbed_reader *reader = test_reader_open(path, false);
    size_t count;
    free(test_events(reader, test_stream_named(reader, "main"), &count));
    assert_int_equal(count, 40001);
    tbed_reader_close(reader);
}

static int opens_recorders_in_a_sandbox(void)
{
    struct tbed_writer *writer;
    struct tbed_recorder *recorder = begin((struct tbed_writer_options){.no_helper = true}, &writer);
    NEED(tbed_sandbox_enter(writer, 1 << 20) >= 1 << 20);
    for (int i = 1; i < RECORDERS; i++) {
        recorder = tbed_recorder_open(writer, "main");
        record(recorder, 1);
    }
    NEED(tbed_writer_drop_count(writer, TBED_DROP_SANDBOX) == 0);
    recorder = tbed_recorder_open(writer, "one more");
    record(recorder, 2); /* it was counted when it was opened */
    NEED(tbed_writer_drop_count(writer, TBED_DROP_SANDBOX) == 1);
    NEED(tbed_writer_drop_count(writer, TBED_DROP_NO_MEMORY) == 0);
    tbed_sandbox_leave();
    tbed_writer_free(writer);
    return 0;
}

static void recorders_can_be_opened_in_a_sandbox(void **state)
{
    (void)state;
    struct tbed_trace_info info;
    set_path("opened.tbed");
    assert_int_equal(in_child(opens_recorders_in_a_sandbox), 0);
    struct tbed_reader *reader = test_reader_open(path, true);
    tbed_reader_info(reader, &info);
    assert_int_equal(info.event_block_count, RECORDERS);
    tbed_reader_close(reader);
}

/* ---- A lost file ---- */

static int lost(void)
{
    struct tbed_writer *writer;
    struct tbed_error error;
    struct tbed_recorder *recorder =
        begin((struct tbed_writer_options){.rotate = true, .guard = true, .no_helper = true}, &writer);
    NEED(truncate(path, 0) == 0);
    record(recorder, 5000);
    NEED(tbed_writer_drop_count(writer, TBED_DROP_IO_ERROR) > 0);
    NEED(tbed_rotate(writer, &error) == TBED_ERR_WRITE && error.system_errno == EIO);
    NEED(tbed_sync(writer, &error) == TBED_ERR_WRITE && error.system_errno == EIO);
    pid_t child = fork();
    int status;
    if (child == 0) {
        record(recorder, 10);
        _exit(tbed_writer_drop_count(writer, TBED_DROP_CLOSED) == 0);
    }
    NEED(waitpid(child, &status, 0) == child && status == 0);
    tbed_writer_free(writer);
    struct stat file;
    NEED(stat(path, &file) == 0 && file.st_size == 0); /* closing did not write to the file */
    return 0;
}

static void a_lost_file_is_not_touched_again(void **state)
{
    (void)state;
    set_path("lost.tbed");
    assert_int_equal(in_child(lost), 0);
}

/* ---- A child ---- */

/* The child can reach the file neither by a descriptor nor by its path. */
static int child_without_a_way(struct tbed_writer *writer, struct tbed_recorder *recorder)
{
    for (int fd = 3; fd < 1200; fd++)
        close(fd);
    record(recorder, 10);
    NEED(tbed_recorder_stream(recorder) == 0);
    NEED(tbed_writer_drop_count(writer, TBED_DROP_CLOSED) == 10);
    tbed_writer_free(writer);
    return 0;
}

static int forks_without_a_file(bool rotates)
{
    struct tbed_writer *writer;
    struct tbed_writer_options options = {.rotate = rotates, .no_helper = true};
    if (!rotates)
        options.ring_nbytes = 1 << 20; /* where each process has a lock of its own, and so an open file */
    struct tbed_recorder *recorder = begin(options, &writer);
    char *slash = strrchr(path, '/');
    NEED(unlink(path) == 0);
    *slash = 0;
    NEED(rmdir(path) == 0);
    pid_t child = fork();
    int status;
    if (child == 0)
        _exit(child_without_a_way(writer, recorder));
    NEED(waitpid(child, &status, 0) == child && WIFEXITED(status));
    NEED(WEXITSTATUS(status) == 0);
    record(recorder, 10); /* the parent still records */
    NEED(tbed_writer_drop_count(writer, TBED_DROP_CLOSED) == 0);
    tbed_writer_free(writer);
    return 0;
}

static int joins(void)
{
    return forks_without_a_file(false);
}

static int begins_a_series(void)
{
    return forks_without_a_file(true);
}

static void a_child_that_cannot_join_counts_its_events(void **state)
{
    (void)state;
    for (int i = 0; i < 2; i++) {
        set_path("folder");
        assert_int_equal(mkdir(path, 0700), 0);
        strcat(path, "/trace.tbed");
        assert_int_equal(in_child(i == 0 ? joins : begins_a_series), 0);
    }
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(a_sandbox_opens_no_file_and_loses_no_event),
        cmocka_unit_test(recorders_can_be_opened_in_a_sandbox),
        cmocka_unit_test(a_lost_file_is_not_touched_again),
        cmocka_unit_test(a_child_that_cannot_join_counts_its_events),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
