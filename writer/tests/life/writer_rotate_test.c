/*
 * A series of files with obstacles: a removed file, a forked child, a kill, a full disk, a path that is gone or
 * belongs to another file; and what ids mean in later files.
 *
 * SPDX-License-Identifier: MIT
 */
#include "writer/tests/support.h"

#include <errno.h>
#include <fcntl.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/resource.h>
#include <sys/stat.h>
#include <sys/wait.h>
#include <unistd.h>

static char path[256];

static const char *closed_path(unsigned number)
{
    static char name[300];
    snprintf(name, sizeof name, "%s.%06u", path, number);
    return name;
}

static struct tbed_writer *open_series(const char *name, struct tbed_writer_options options)
{
    snprintf(path, sizeof path, "%s", test_path(name));
    options.rotate = true;
    return test_writer_open(path, &options);
}

static void rotate(struct tbed_writer *writer)
{
    struct tbed_error error;
    errno = 1234;
    enum tbed_status status = tbed_rotate(writer, &error);
    if (status != TBED_OK)
        fail_msg("%s, errno %d", tbed_status_name(status), error.system_errno);
    assert_int_equal(errno, 1234);
}

static void expect_failure(struct tbed_writer *writer, enum tbed_status expected)
{
    struct tbed_error error;
    assert_int_equal(tbed_rotate(writer, &error), expected);
    assert_int_equal(error.status, expected);
}

static size_t event_count(const char *file, bool shut)
{
    struct tbed_reader *reader = test_reader_open(file, shut);
    struct tbed_stream_info info;
    size_t total = 0;
    for (size_t i = 0; tbed_stream_get(reader, i, &info); i++) {
        size_t count;
        free(test_events(reader, info.stream, &count));
        total += count;
    }
    tbed_reader_close(reader);
    return total;
}

/* ---- What a later file knows ---- */

static void every_id_means_the_same_in_the_next_file(void **state)
{
    (void)state;
    struct tbed_writer *writer = open_series("ids.tbed", (struct tbed_writer_options){.page_nbytes = 4096});
    struct tbed_recorder *recorder = tbed_recorder_open(writer, "main"),
                         *ended = tbed_recorder_open(writer, "ended");
    uint32_t ids[600], reserved = tbed_id_reserve(writer, 2);
    char text[64];
    for (unsigned i = 0; i < 600; i++)
        ids[i] =
            tbed_string_intern(writer, text, (size_t)snprintf(text, sizeof text, "a text, number %u", i));
    tbed_id_bind(writer, reserved, 1, ids[7]);
    tbed_counter_describe(writer, ids[8], "bytes");
    tbed_metadata_set(writer, "{\"a\":1}", 7);
    struct tbed_unit_options unit = {.size = sizeof unit,
                                     .kind = TBED_UNIT_NATIVE,
                                     .pc_count = 100,
                                     .name = "unit",
                                     .file = "/unit",
                                     .share = true};
    uint32_t location = tbed_unit_register(writer, &unit);
    tbed_unit_load_record(writer, location, 0x1000, 100);
    tbed_instant_record(ended, ids[0]);
    tbed_recorder_close(ended);
    tbed_span_begin(recorder, ids[1]);
    uint32_t stream = tbed_recorder_stream(recorder);
    for (unsigned round = 0; round < 5; round++) {
        rotate(writer);
        assert_int_equal(tbed_string_intern(writer, "a text, number 599", 18), ids[599]);
        assert_int_equal(tbed_unit_register(writer, &unit), location);
        tbed_instant_record(
            recorder, tbed_string_intern(writer, text, (size_t)snprintf(text, sizeof text, "new %u", round)));
        assert_int_equal(tbed_recorder_stream(recorder), stream);
    }
    assert_int_equal(tbed_id_reserve(writer, 1), location + 100);
    tbed_span_end(recorder);
    tbed_writer_free(writer);

    struct tbed_reader *reader = test_reader_open(path, true);
    struct tbed_event *events;
    struct tbed_stream_info info;
    struct tbed_load_info load;
    size_t count, at = 0;
    for (unsigned i = 0; i < 600; i++) {
        snprintf(text, sizeof text, "a text, number %u", i);
        assert_text(reader, ids[i], text);
    }
    assert_text(reader, reserved, "a text, number 7");
    assert_text(reader, TBED_ID_METADATA, "{\"a\":1}");
    assert_text(reader, location + 1, "unit+0x1");
    assert_true(tbed_load_get(reader, 0, &load) && load.address == 0x1000);
    assert_false(tbed_load_get(reader, 1, &load));
    assert_int_equal(test_stream_named(reader, "main"), stream);
    for (; tbed_stream_get(reader, at, &info); at++)
        assert_int_equal(info.stream, stream); /* the ended stream does not appear again */
    assert_int_equal(at, 1);
    events = test_events(reader, stream, &count);
    assert_int_equal(count, 2);
    assert_text(reader, events[0].id, "new 4");
    assert_int_equal(events[1].type, TBED_EVENT_END);
    assert_int_equal(events[1].id, ids[1]);
    free(events);
    tbed_reader_close(reader);
    assert_int_equal(event_count(closed_path(1), true), 2);
}

/* What a later record takes the place of would make each file longer than the one before. */
static void what_is_over_is_not_carried_on(void **state)
{
    (void)state;
    struct tbed_writer *writer = open_series("over.tbed", (struct tbed_writer_options){.page_nbytes = 4096});
    struct tbed_recorder *recorder = tbed_recorder_open(writer, "first");
    struct tbed_unit_options options = {
        .size = sizeof options, .kind = TBED_UNIT_NATIVE, .pc_count = 16, .name = "unit"};
    uint32_t unit = tbed_unit_register(writer, &options), unloaded = tbed_unit_register(writer, &options);
    uint32_t id = tbed_id_reserve(writer, 1);
    char text[16];
    tbed_instant_record(recorder, 1);
    for (unsigned i = 0; i < 2000; i++) {
        size_t nbytes = (size_t)snprintf(text, sizeof text, "%u", i % 4);
        tbed_unit_load_record(writer, unloaded, i, 16);
        tbed_unit_load_record(writer, unit, i, 16);
        tbed_unit_unload_record(writer, unit);
        tbed_unit_unload_record(writer, unloaded);
        tbed_metadata_set(writer, text, nbytes);
        tbed_id_bind(writer, id, 1, tbed_string_intern(writer, text, nbytes));
        tbed_recorder_name_set(recorder, text);
    }
    tbed_unit_load_record(writer, unit, 0x7000, 16); /* both are loaded */
    tbed_unit_load_record(writer, unit, 0x8000, 16);
    rotate(writer);
    rotate(writer);
    tbed_instant_record(recorder, unloaded + 2);
    tbed_writer_free(writer);

    struct tbed_reader *reader = test_reader_open(path, true);
    struct tbed_trace_info info;
    struct tbed_load_info load;
    struct tbed_binding_info binding;
    struct tbed_stream_info stream;
    tbed_reader_info(reader, &info);
    assert_true(info.page_count < 8);
    assert_true(tbed_load_get(reader, 0, &load) && load.address == 0x7000);
    assert_true(tbed_load_get(reader, 1, &load) && load.address == 0x8000);
    assert_false(tbed_load_get(reader, 2, &load));
    assert_false(tbed_binding_get(reader, 2, &binding));
    assert_text(reader, TBED_ID_METADATA, "3");
    assert_text(reader, id, "3");
    assert_text(reader, unloaded + 2, "unit+0x2");
    assert_true(tbed_stream_get(reader, 0, &stream));
    assert_text(reader, stream.name_id, "3");
    tbed_reader_close(reader);
}

static void records_and_strings_of_a_later_file_take_as_many_pages_as_they_need(void **state)
{
    (void)state;
    enum { COUNT = 2000 };
    struct tbed_writer *writer = open_series("much.tbed", (struct tbed_writer_options){.page_nbytes = 4096});
    char text[16];
    tbed_instant_record(tbed_recorder_open(writer, "main"), 1);
    uint32_t first = tbed_id_reserve(writer, COUNT);
    rotate(writer);
    for (uint32_t i = 0; i < COUNT; i++) {
        size_t nbytes = (size_t)snprintf(text, sizeof text, "%u", i);
        tbed_id_bind(writer, first + i, 1, tbed_string_intern(writer, text, nbytes));
        if (i == COUNT / 2)
            rotate(writer);
    }
    tbed_writer_free(writer);
    struct tbed_reader *reader = test_reader_open(path, true);
    for (uint32_t i = 0; i < COUNT; i++) {
        snprintf(text, sizeof text, "%u", i);
        assert_text(reader, first + i, text);
    }
    tbed_reader_close(reader);
}

/* A string page is not left half empty at each rotation, or the string space would run out. */
static void rotations_take_no_string_pages(void **state)
{
    (void)state;
    struct tbed_writer *writer =
        open_series("many.tbed", (struct tbed_writer_options){.page_nbytes = 4096, .rotate_keep = 1});
    struct tbed_recorder *recorder = tbed_recorder_open(writer, "main");
    uint32_t first = tbed_string_intern(writer, "first", 5);
    for (unsigned i = 0; i < 200; i++) {
        tbed_instant_record(recorder, first);
        rotate(writer);
    }
    uint32_t last = tbed_string_intern(writer, "last", 4);
    tbed_writer_free(writer);
    assert_true(last - first < 4 * 4096 / 8);
    assert_int_equal(event_count(path, true), 0);
    assert_int_equal(event_count(closed_path(200), true), 1);
}

/* ---- Files that are kept ---- */

static void only_its_own_files_are_removed(void **state)
{
    (void)state;
    struct tbed_writer *writer = open_series("keep.tbed", (struct tbed_writer_options){.rotate_keep = 2});
    int fd = open(closed_path(2), O_WRONLY | O_CREAT, 0600); /* not ours: its number is left out */
    assert_int_equal(write(fd, "mine", 4), 4);
    close(fd);
    for (int i = 0; i < 4; i++)
        rotate(writer); /* 1, 3, 4, 5 */
    assert_int_not_equal(access(closed_path(1), F_OK), 0);
    assert_int_equal(access(closed_path(2), F_OK), 0);
    assert_int_not_equal(access(closed_path(3), F_OK), 0);
    assert_int_equal(access(closed_path(4), F_OK), 0);
    fd = open(closed_path(4),
              O_WRONLY | O_TRUNC); /* another file took the name, and perhaps got the same inode */
    assert_int_equal(write(fd, "mine", 4), 4);
    close(fd);
    for (int i = 0; i < 3; i++)
        rotate(writer);
    assert_int_equal(access(closed_path(4), F_OK), 0);
    assert_int_not_equal(access(closed_path(5), F_OK), 0);
    assert_int_equal(access(closed_path(8), F_OK), 0);
    tbed_writer_free(writer);
}

/* ---- What is in the way ---- */

static void a_path_that_is_gone_or_of_others(void **state)
{
    (void)state;
    struct tbed_writer *writer = open_series("gone.tbed", (struct tbed_writer_options){0});
    struct tbed_recorder *recorder = tbed_recorder_open(writer, "main");
    tbed_instant_record(recorder, 1);
    unlink(path);
    rotate(writer);
    assert_int_not_equal(access(closed_path(1), F_OK), 0);
    tbed_instant_record(recorder, 2);
    assert_int_equal(event_count(path, false), 1);
    unlink(path);
    close(open(path, O_WRONLY | O_CREAT, 0600));
    expect_failure(writer, TBED_ERR_EXISTS);
    assert_int_not_equal(access(closed_path(1), F_OK), 0);
    tbed_instant_record(recorder, 3);
    tbed_writer_free(writer);
}

static void a_full_disk_changes_nothing(void **state)
{
    (void)state;
    struct tbed_writer *writer = open_series("full.tbed", (struct tbed_writer_options){0});
    struct tbed_recorder *recorder = tbed_recorder_open(writer, "main");
    struct rlimit limit, small;
    tbed_instant_record(recorder, 1);
    getrlimit(RLIMIT_FSIZE, &limit);
    small = limit;
    small.rlim_cur = 100000;
    signal(SIGXFSZ, SIG_IGN);
    setrlimit(RLIMIT_FSIZE, &small);
    struct tbed_error error;
    enum tbed_status status = tbed_rotate(writer, &error);
    setrlimit(RLIMIT_FSIZE, &limit);
    assert_true(status == TBED_ERR_WRITE || status == TBED_ERR_DISK_FULL);
    assert_int_not_equal(access(closed_path(1), F_OK), 0);
    tbed_instant_record(recorder, 2);
    rotate(writer);
    tbed_instant_record(recorder, 3);
    tbed_writer_free(writer);
    assert_int_equal(event_count(closed_path(1), true), 2);
    assert_int_equal(event_count(path, true), 1);
}

static struct tbed_trace_info info_of(const char *file, bool shut)
{
    struct tbed_reader *reader = test_reader_open(file, shut);
    struct tbed_trace_info info;
    tbed_reader_info(reader, &info);
    tbed_reader_close(reader);
    return info;
}

/*
 * No file can be created there, but the running file is open. Root can create one all the same, so the test then runs
 * as another user.
 */
static void folder_lock(bool is_locked)
{
    char folder[256];
    snprintf(folder, sizeof folder, "%.*s", (int)(strrchr(path, '/') - path), path);
    if (!is_locked && getuid() == 0)
        assert_int_equal(seteuid(0), 0);
    assert_int_equal(chmod(folder, is_locked ? 0555 : 0700), 0);
    if (is_locked && getuid() == 0)
        assert_int_equal(seteuid(65534), 0);
}

static void a_folder_that_is_read_only_is_told_in_the_file_that_goes_on(void **state)
{
    (void)state;
    struct tbed_writer *writer = open_series(
        "locked.tbed",
        (struct tbed_writer_options){.page_nbytes = 4096, .rotate_nbytes = 32768, .no_helper = true});
    struct tbed_recorder *recorder = tbed_recorder_open(writer, "main");
    tbed_instant_record(recorder, 1);
    folder_lock(true);
    for (unsigned i = 0; i < 9999; i++) /* far beyond the limit */
        tbed_instant_record(recorder, 2);
    folder_lock(false);
    struct tbed_trace_info info = info_of(path, false);
    assert_int_equal(info.series_number, 1);
    assert_true(info.series_failed_count >= 1);
    folder_lock(true);
    expect_failure(writer, TBED_ERR_OPEN);
    folder_lock(false);
    rotate(writer);
    assert_int_equal(event_count(closed_path(1), true), 10000);
    assert_true(info_of(closed_path(1), true).series_failed_count >= 2);
    folder_lock(true);
    expect_failure(writer, TBED_ERR_OPEN);
    folder_lock(false);
    info = info_of(path, false); /* what else its SERIES record says stays what it was */
    assert_int_equal(info.series_failed_count, 1);
    assert_int_equal(info.series_number, 2);
    assert_int_equal(info.series_id, info_of(closed_path(1), true).file_id);
    assert_int_equal(info.previous_file_id, info.series_id);
    unlink(path);
    close(open(path, O_WRONLY | O_CREAT, 0600));
    for (unsigned i = 0; i < 2; i++)
        expect_failure(writer, TBED_ERR_EXISTS);
    unlink(path);
    rotate(writer); /* the second file had lost its name */
    tbed_instant_record(recorder, 3);
    tbed_writer_free(writer);
    info = info_of(path, true);
    assert_int_equal(info.series_number, 3);
    assert_int_equal(info.series_failed_count, 0);
}

/* The first, the second, the fourth and so on. */
static void fewer_and_fewer_failures_are_noted(void **state)
{
    static const uint32_t noted[] = {1, 2, 2, 4, 4, 4, 4, 8, 8};
    (void)state;
    struct tbed_writer *writer = open_series("noted.tbed", (struct tbed_writer_options){.no_helper = true});
    for (size_t i = 0; i < sizeof noted / sizeof noted[0]; i++) {
        folder_lock(true);
        expect_failure(writer, TBED_ERR_OPEN);
        folder_lock(false);
        assert_int_equal(info_of(path, false).series_failed_count, noted[i]);
    }
    tbed_writer_free(writer);
}

static void a_sandboxed_process_does_not_rotate(void **state)
{
    (void)state;
    struct tbed_writer *writer = open_series(
        "sandbox.tbed",
        (struct tbed_writer_options){.page_nbytes = 4096, .rotate_nbytes = 32768, .no_helper = true});
    struct tbed_recorder *recorder = tbed_recorder_open(writer, "main");
    tbed_sandbox_enter(writer, 1 << 20);
    for (unsigned i = 0; i < 9999; i++) /* far beyond the limit */
        tbed_instant_record(recorder, 1);
    tbed_sandbox_leave();
    assert_int_not_equal(access(closed_path(1), F_OK), 0);
    tbed_writer_free(writer);
    assert_int_equal(event_count(path, true), 9999);
}

static void what_cannot_be_a_series_is_refused(void **state)
{
    (void)state;
    static const struct tbed_writer_options refused[] = {
        {.rotate = true, .join = true},        {.rotate = true, .ring_nbytes = 1 << 20},
        {.rotate = true, .given_ticks = true}, {.rotate_keep = 1},
        {.rotate_nbytes = 1, .join = true},    {.rotate_interval_ns = 1, .rotate_keep = 1000001},
    };
    struct tbed_writer *writer;
    for (size_t i = 0; i < sizeof refused / sizeof refused[0]; i++) {
        struct tbed_writer_options options = refused[i];
        options.size = sizeof options;
        assert_int_equal(tbed_writer_open(test_path("refused.tbed"), &options, &writer, NULL),
                         TBED_ERR_ARGUMENT);
    }
    expect_failure(NULL, TBED_ERR_ARGUMENT);
    writer = test_writer_open(test_path("plain.tbed"), NULL);
    expect_failure(writer, TBED_ERR_ARGUMENT);
    tbed_writer_close(writer);
    expect_failure(writer, TBED_ERR_ARGUMENT);
}

/* ---- Processes ---- */

static void a_forked_child_begins_a_series_of_its_own(void **state)
{
    (void)state;
    struct tbed_writer *writer = open_series("fork.tbed", (struct tbed_writer_options){0});
    struct tbed_recorder *recorder = tbed_recorder_open(writer, "main");
    uint32_t id = tbed_string_intern(writer, "before", 6);
    tbed_span_begin(recorder, id);
    pid_t child = fork();
    if (child == 0) {
        tbed_span_end(recorder);
        int failed = tbed_rotate(writer, NULL) != TBED_OK;
        tbed_instant_record(recorder, id);
        tbed_writer_close(writer);
        _exit(failed);
    }
    rotate(writer);
    rotate(writer);
    tbed_span_end(recorder);
    int status;
    assert_int_equal(waitpid(child, &status, 0), child);
    assert_int_equal(status, 0);
    tbed_writer_free(writer);
    assert_int_equal(event_count(closed_path(1), true), 1);
    assert_int_equal(event_count(closed_path(2), true), 0);
    assert_int_equal(event_count(path, true), 1);
    assert_int_not_equal(access(closed_path(3), F_OK), 0);
    snprintf(path + strlen(path), 20, ".%d", (int)child);
    assert_int_equal(event_count(closed_path(1), true), 1);
    struct tbed_reader *reader = test_reader_open(path, true);
    struct tbed_trace_info info;
    struct tbed_process_info process;
    tbed_reader_info(reader, &info);
    assert_int_equal(info.series_number, 2);
    assert_text(reader, id, "before");
    assert_true(tbed_process_get(reader, 1, &process));
    assert_int_equal(process.pid, child);
    assert_int_equal(process.forked_from, 1);
    tbed_reader_close(reader);
}

/* Counts up as fast as possible while rotating all the time, and reports the count through 'shared'. */
static void record_until_killed(uint64_t *shared)
{
    struct tbed_writer_options options = {.size = sizeof options,
                                          .page_nbytes = 4096,
                                          .rotate_nbytes = 65536,
                                          .overwrite = true,
                                          .no_helper = true};
    struct tbed_writer *writer;
    if (tbed_writer_open(path, &options, &writer, NULL) != TBED_OK)
        _exit(1);
    struct tbed_recorder *recorder = tbed_recorder_open(writer, "main");
    for (uint64_t i = 0;; i++) {
        tbed_counter_record_i64(recorder, 5, (int64_t)i);
        __atomic_store_n(shared, i + 1, __ATOMIC_RELEASE);
    }
}

/* Adds to what was found so far; the second of two names of the same file adds nothing. */
static void check_killed(const char *file, uint64_t *next, unsigned *open_count)
{
    struct tbed_reader *reader;
    struct tbed_error error;
    struct tbed_trace_info info;
    struct tbed_stream_info stream;
    assert_int_equal(tbed_reader_open(file, NULL, &reader, &error), TBED_OK);
    assert_int_equal(tbed_reader_verify(reader), TBED_OK);
    tbed_reader_info(reader, &info);
    *open_count += !info.shut;
    for (size_t i = 0; tbed_stream_get(reader, i, &stream); i++) {
        size_t count;
        struct tbed_event *events = test_events(reader, stream.stream, &count);
        for (size_t k = 0; k < count; k++)
            assert_int_equal(events[k].counter_value.value.i64, (*next)++);
        free(events);
    }
    tbed_reader_close(reader);
}

static bool has_no_events(const char *file)
{
    struct tbed_reader *reader;
    struct tbed_trace_info info;
    assert_int_equal(tbed_reader_open(file, NULL, &reader, NULL), TBED_OK);
    tbed_reader_info(reader, &info);
    tbed_reader_close(reader);
    return info.event_block_count == 0;
}

static void a_kill_at_any_moment_loses_nothing(void **state)
{
    (void)state;
    uint64_t *shared = mmap(NULL, 4096, PROT_READ | PROT_WRITE, MAP_SHARED | MAP_ANONYMOUS, -1, 0);
    assert_true(shared != MAP_FAILED);
    for (unsigned round = 0; round < 12; round++) {
        char name[32];
        snprintf(name, sizeof name, "kill%u.tbed", round);
        snprintf(path, sizeof path, "%s", test_path(name));
        *shared = 0;
        pid_t child = fork();
        if (child == 0)
            record_until_killed(shared);
        while (__atomic_load_n(shared, __ATOMIC_ACQUIRE) < 20000)
            usleep(100);
        usleep(round * 700);
        kill(child, SIGKILL);
        waitpid(child, NULL, 0);
        uint64_t next = 0;
        unsigned open_count = 0, number = 1;
        /* If it was killed before the names were exchanged, the last number is the next file. */
        bool has_next_first = false;
        for (; access(closed_path(number), F_OK) == 0; number++)
            has_next_first = has_no_events(closed_path(number));
        for (unsigned i = 1; i + has_next_first < number; i++)
            check_killed(closed_path(i), &next, &open_count);
        check_killed(path, &next, &open_count);
        assert_true(open_count <= 2);
        assert_true(next == *shared || next == *shared + 1);
    }
    munmap(shared, 4096);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(every_id_means_the_same_in_the_next_file),
        cmocka_unit_test(what_is_over_is_not_carried_on),
        cmocka_unit_test(records_and_strings_of_a_later_file_take_as_many_pages_as_they_need),
        cmocka_unit_test(rotations_take_no_string_pages),
        cmocka_unit_test(only_its_own_files_are_removed),
        cmocka_unit_test(a_path_that_is_gone_or_of_others),
        cmocka_unit_test(a_full_disk_changes_nothing),
        cmocka_unit_test(a_folder_that_is_read_only_is_told_in_the_file_that_goes_on),
        cmocka_unit_test(fewer_and_fewer_failures_are_noted),
        cmocka_unit_test(a_sandboxed_process_does_not_rotate),
        cmocka_unit_test(what_cannot_be_a_series_is_refused),
        cmocka_unit_test(a_forked_child_begins_a_series_of_its_own),
        cmocka_unit_test(a_kill_at_any_moment_loses_nothing),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
