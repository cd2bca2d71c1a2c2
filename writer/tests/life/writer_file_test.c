/*
 * The file under a writer: creating, joining and filling it, and the effects of a full disk.
 *
 * SPDX-License-Identifier: MIT
 */
#include "writer/tests/support.h"

#include <errno.h>
#include <fcntl.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mount.h>
#include <sys/resource.h>
#include <sys/stat.h>
#include <sys/wait.h>
#include <unistd.h>

static enum tbed_status open_status(const char *path, struct tbed_writer_options options)
{
    struct tbed_writer *writer = NULL;
    struct tbed_error error;
    options.size = sizeof options;
    enum tbed_status status = tbed_writer_open(path, &options, &writer, &error);
    tbed_writer_close(writer);
    if (status != TBED_OK)
        assert_null(writer);
    if (status == TBED_ERR_IS_DIRECTORY || status == TBED_ERR_NOT_REGULAR)
        assert_int_equal(error.system_errno, 0); /* no call has failed */
    return status;
}

static void an_existing_file_is_refused_unless_told_otherwise(void **state)
{
    (void)state;
    const char *path = test_path("exists.tbed");
    struct tbed_writer_options none = {0}, over = {.overwrite = true}, join = {.join = true};
    assert_int_equal(open_status(path, none), TBED_OK);
    assert_int_equal(open_status(path, none), TBED_ERR_EXISTS);
    assert_int_equal(open_status(path, over), TBED_OK);
    assert_int_equal(open_status(path, join), TBED_OK);
    struct stat status;
    stat(path, &status);
    assert_int_equal(status.st_mode & 0777, 0600);
}

static void what_is_no_file_is_refused(void **state)
{
    (void)state;
    struct tbed_writer_options join = {.join = true}, over = {.overwrite = true};
    char target[256];
    snprintf(target, sizeof target, "%s", test_path("target.tbed"));
    assert_int_equal(open_status(target, join), TBED_OK);
    const char *path = test_path("odd");
    assert_int_equal(symlink(target, path), 0);
    assert_int_equal(open_status(path, join), TBED_ERR_NOT_REGULAR);
    assert_int_equal(open_status(path, over), TBED_ERR_NOT_REGULAR);
    unlink(path);
    mkfifo(path, 0600);
    assert_int_equal(open_status(path, join), TBED_ERR_NOT_REGULAR);
    unlink(path);
    mkdir(path, 0700);
    assert_int_equal(open_status(path, over), TBED_ERR_IS_DIRECTORY);
    struct tbed_writer *writer;
    struct tbed_error error;
    int fd = open(path, O_RDONLY | O_DIRECTORY | O_CLOEXEC);
    assert_int_equal(tbed_writer_open_fd(fd, NULL, &writer, &error), TBED_ERR_IS_DIRECTORY);
    assert_int_equal(error.system_errno, 0); /* no call has failed */
    close(fd);
    fd = open("/dev/null", O_RDWR | O_CLOEXEC);
    assert_int_equal(tbed_writer_open_fd(fd, NULL, &writer, &error), TBED_ERR_NOT_REGULAR);
    assert_int_equal(error.system_errno, 0);
    close(fd);
    rmdir(path);
    assert_int_equal(open_status("/nonexistent/x.tbed", over), TBED_ERR_OPEN);
    assert_int_equal(open_status(NULL, over), TBED_ERR_ARGUMENT);
}

static void write_bytes(const char *path, const void *bytes, size_t nbytes)
{
    FILE *file = fopen(path, "w");
    fwrite(bytes, 1, nbytes, file);
    fclose(file);
}

/*
 * Joins a trace that has a stray byte at 'offset', records, and checks that the byte is still there. Returns the number
 * of claimed pages.
 */
static uint64_t join_with_stray_byte(const char *path, uint64_t offset, uint64_t *drop_count_ret)
{
    struct tbed_writer_options options = {.size = sizeof options,
                                          .join = true,
                                          .no_helper = true,
                                          .page_nbytes = 4096,
                                          .max_file_nbytes = 1 << 20};
    struct tbed_writer *creator, *writer;
    uint64_t page_count = 0;
    uint8_t stray = 0x51, found = 0;
    unlink(path);
    assert_int_equal(tbed_writer_open(path, &options, &creator, NULL), TBED_OK); /* keeps the trace open */
    int fd = open(path, O_RDWR);
    assert_int_equal(pwrite(fd, &stray, 1, (off_t)offset), 1);
    assert_int_equal(tbed_writer_open(path, &options, &writer, NULL), TBED_OK);
    struct tbed_recorder *recorder = tbed_recorder_open(writer, "joined");
    for (int i = 0; recorder != NULL && i < 10000; i++) {
        tbed_span_begin(recorder, 1);
        tbed_span_end(recorder);
    }
    *drop_count_ret = tbed_writer_drop_count(writer, TBED_DROP_IO_ERROR);
    assert_int_equal(pread(fd, &page_count, sizeof page_count, 512), sizeof page_count);
    assert_int_equal(pread(fd, &found, 1, (off_t)offset), 1);
    assert_int_equal(found, stray);
    close(fd);
    tbed_writer_free(writer);
    tbed_writer_free(creator);
    return page_count;
}

static void a_page_with_bytes_in_it_is_not_claimed(void **state)
{
    const char *path = test_path("stray.tbed");
    uint64_t drop_count;
    (void)state;
    assert_int_equal(join_with_stray_byte(path, 5 * 4096 + 4095, &drop_count), 5);
    assert_true(drop_count > 0);
    assert_int_equal(join_with_stray_byte(path, 16 * 4096 + 8, &drop_count), 16); /* in a directory page */
    assert_true(drop_count > 0);
    assert_int_equal(join_with_stray_byte(path, 16 * 4096 + 512, &drop_count), 16);
    assert_true(drop_count > 0);
    assert_true(join_with_stray_byte(path, 255 * 4096 + 1, &drop_count) > 20); /* not reached */
    assert_int_equal(drop_count, 0);
}

static void a_file_that_is_no_trace_is_not_joined_and_not_changed(void **state)
{
    (void)state;
    struct tbed_writer_options join = {.join = true};
    const char *path = test_path("text");
    write_bytes(path, "hello, I am a text\n", 19);
    assert_int_equal(open_status(path, join), TBED_ERR_NOT_A_TRACE);
    write_bytes(path, "tracebed, or the beginning of one", 33);
    assert_int_equal(open_status(path, join), TBED_ERR_HEADER_CUT);
    struct stat status;
    stat(path, &status);
    assert_int_equal(status.st_size, 33);
}

static uint64_t some_clock(void)
{
    return 1;
}

static void options_that_make_no_sense_are_refused(void **state)
{
    (void)state;
    const char *path = test_path("options.tbed");
    struct tbed_writer_options odd_page = {.page_nbytes = 5000}, small_page = {.page_nbytes = 2048};
    struct tbed_writer_options no_clock = {.clock = TBED_CLOCK_USER},
                               both = {.join = true, .overwrite = true};
    struct tbed_writer_options tiny = {.max_file_nbytes = 1000},
                               ids = {.first_reserved_id = TBED_ID_METADATA};
    struct tbed_writer_options greek = {
        .clock = TBED_CLOCK_USER, .user_clock = some_clock, .user_clock_unit = "\xC2\xB5s"};
    assert_int_equal(open_status(path, greek), TBED_ERR_ARGUMENT);
    assert_int_equal(open_status(path, odd_page), TBED_ERR_ARGUMENT);
    assert_int_equal(open_status(path, small_page), TBED_ERR_ARGUMENT);
    assert_int_equal(open_status(path, no_clock), TBED_ERR_ARGUMENT);
    assert_int_equal(open_status(path, both), TBED_ERR_ARGUMENT);
    assert_int_equal(open_status(path, tiny), TBED_ERR_ARGUMENT);
    assert_int_equal(open_status(path, ids), TBED_ERR_ARGUMENT);
    assert_int_not_equal(access(path, F_OK), 0);
}

/* Ticks of a clock that this process cannot read, or of another boot, cannot be compared with its own. */
static void a_trace_with_another_clock_is_not_joined(void **state)
{
    (void)state;
    const char *path = test_path("clock.tbed");
    struct tbed_writer_options monotonic = {.clock = TBED_CLOCK_MONOTONIC}, join = {.join = true};
    assert_int_equal(open_status(path, monotonic), TBED_OK);
    assert_int_equal(open_status(path, join), TBED_OK);
    struct tbed_writer_options user = {.clock = TBED_CLOCK_USER, .user_clock = some_clock, .overwrite = true};
    assert_int_equal(open_status(path, user), TBED_OK);
    assert_int_equal(open_status(path, join), TBED_ERR_CLOCK_DIFFERS);
}

/* ---- No room ---- */

static void record_much(struct tbed_writer *writer, uint64_t count)
{
    struct tbed_recorder *recorder = tbed_recorder_open(writer, "filler");
    for (uint64_t i = 0; i < count; i++) {
        tbed_span_begin(recorder, 1);
        tbed_instant_record(recorder, 2);
        tbed_span_end(recorder);
    }
}

/* Every recorded event must be stored or counted as dropped. */
static void assert_all_accounted(const char *path, uint64_t recorded, enum tbed_drop_cause cause)
{
    struct tbed_reader *reader = test_reader_open(path, true);
    struct tbed_trace_info info;
    size_t count, stored = 0;
    struct tbed_event *events = test_events(reader, test_stream_named(reader, "filler"), &count);
    for (size_t i = 0; i < count; i++)
        stored += events[i].type != TBED_EVENT_GAP;
    tbed_reader_info(reader, &info);
    assert_true(info.drops[cause] > 0);
    assert_int_equal(stored + test_drop_count(reader), recorded);
    free(events);
    tbed_reader_close(reader);
}

static void a_size_limit_drops_and_counts(void **state)
{
    (void)state;
    const char *path = test_path("limit.tbed");
    struct tbed_writer_options options = {.max_file_nbytes = 1 << 20};
    struct tbed_writer *writer = test_writer_open(path, &options);
    record_much(writer, 100000);
    tbed_writer_close(writer);
    struct stat status;
    stat(path, &status);
    assert_true(status.st_size <= 1 << 20);
    assert_all_accounted(path, 300000, TBED_DROP_SIZE_LIMIT);
}

/* SIGXFSZ would end the program. */
static void a_resource_limit_drops_and_counts(void **state)
{
    (void)state;
    const char *path = test_path("rlimit.tbed");
    pid_t child = fork();
    if (child == 0) {
        struct rlimit limit = {1 << 20, 1 << 20};
        setrlimit(RLIMIT_FSIZE, &limit);
        struct tbed_writer_options options = {.size = sizeof options};
        struct tbed_writer *writer;
        if (tbed_writer_open(path, &options, &writer, NULL) != TBED_OK)
            _exit(1);
        record_much(writer, 100000);
        tbed_writer_close(writer);
        _exit(0);
    }
    int status;
    waitpid(child, &status, 0);
    assert_int_equal(status, 0);
    assert_all_accounted(path, 300000, TBED_DROP_SIZE_LIMIT);
}

static void a_full_disk_drops_and_counts_and_goes_on_when_there_is_room(void **state)
{
    (void)state;
    char folder[256], path[300], ballast[300];
    snprintf(folder, sizeof folder, "%s", test_path("disk"));
    snprintf(path, sizeof path, "%s/full.tbed", folder);
    snprintf(ballast, sizeof ballast, "%s/ballast", folder);
    mkdir(folder, 0700);
    if (mount("none", folder, "tmpfs", 0, "size=4m") != 0)
        skip(); /* not root */
    int fd = open(ballast, O_CREAT | O_WRONLY, 0600);
    assert_int_equal(posix_fallocate(fd, 0, 2 << 20), 0);
    close(fd);
    struct tbed_writer *writer = test_writer_open(path, NULL);
    record_much(writer, 200000);
    assert_true(tbed_writer_drop_count(writer, TBED_DROP_DISK_FULL) > 0);
    enum { MORE_THAN_CELLS = 8000 }; /* a page of cells has room for 7,560 events */
    struct tbed_recorder *later = tbed_recorder_open(writer, "later");
    for (uint32_t i = 0; i < MORE_THAN_CELLS; i++)
        tbed_instant_record(later, 6);
    tbed_span_begin(later, 1); /* dropped, and so is its end */
    unlink(ballast);
    usleep(100000);
    tbed_span_end(later);
    for (uint32_t i = 0; i < 1000; i++)
        tbed_instant_record(later, 7);
    tbed_writer_close(writer);

    struct tbed_reader *reader = test_reader_open(path, true);
    size_t count;
    struct tbed_event *events = test_events(reader, test_stream_named(reader, "later"), &count);
    size_t stored = count - 1001;
    assert_int_equal(events[stored].type, TBED_EVENT_GAP);
    assert_int_equal(events[stored].of.gap.cause, TBED_DROP_DISK_FULL);
    assert_int_equal(events[stored].of.gap.count, MORE_THAN_CELLS + 2 - stored);
    for (size_t i = 0; i < count; i++)
        assert_true(i == stored || events[i].id == (i < stored ? 6u : 7u));
    free(events);
    tbed_reader_close(reader);
    umount(folder);
}

/* A daemon may close all descriptors and then open files of its own that get our number. */
static void a_program_that_closes_all_descriptors_keeps_its_files_and_its_trace(void **state)
{
    (void)state;
    char path[256], other[256];
    snprintf(path, sizeof path, "%s", test_path("daemon.tbed"));
    snprintf(other, sizeof other, "%s", test_path("other"));
    pid_t child = fork();
    if (child == 0) {
        struct tbed_writer *writer = test_writer_open(path, NULL);
        for (int fd = 3; fd < 1024; fd++)
            close(fd);
        for (int fd = 3; fd < 600; fd++)
            if (open(other, O_CREAT | O_RDWR, 0600) < 0)
                _exit(1);
        record_much(writer, 300000);
        tbed_writer_close(writer);
        _exit(0);
    }
    int status;
    waitpid(child, &status, 0);
    assert_int_equal(status, 0);
    struct stat file;
    stat(other, &file);
    assert_int_equal(file.st_size, 0);
    struct tbed_reader *reader = test_reader_open(path, true);
    size_t count;
    free(test_events(reader, test_stream_named(reader, "filler"), &count));
    assert_int_equal(count, 900000);
    tbed_reader_close(reader);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(an_existing_file_is_refused_unless_told_otherwise),
        cmocka_unit_test(what_is_no_file_is_refused),
        cmocka_unit_test(a_page_with_bytes_in_it_is_not_claimed),
        cmocka_unit_test(a_file_that_is_no_trace_is_not_joined_and_not_changed),
        cmocka_unit_test(options_that_make_no_sense_are_refused),
        cmocka_unit_test(a_trace_with_another_clock_is_not_joined),
        cmocka_unit_test(a_size_limit_drops_and_counts),
        cmocka_unit_test(a_resource_limit_drops_and_counts),
        cmocka_unit_test(a_full_disk_drops_and_counts_and_goes_on_when_there_is_room),
        cmocka_unit_test(a_program_that_closes_all_descriptors_keeps_its_files_and_its_trace),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
