/*
 * Many processes, one file: joined, forked, killed. Nothing that was stored is lost.
 *
 * Slow: 21 s; it kills processes at random times
 *
 * SPDX-License-Identifier: MIT
 */
#include "writer/tests/support.h"

#include <errno.h>
#include <fcntl.h>
#include <pthread.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/syscall.h>
#include <sys/wait.h>
#include <unistd.h>

#define THREADS 4

static void await(pid_t child)
{
    int status;
    assert_int_equal(waitpid(child, &status, 0), child);
    assert_int_equal(status, 0);
}

/* ---- Two processes of four threads, ten million events ---- */

#define EVENTS_EACH 1250000u

struct appender {
    struct tbed_writer *writer;
    uint32_t number;
};

static void *append_events(void *argument)
{
    struct appender *appender = argument;
    char name[16];
    snprintf(name, sizeof name, "w%u", appender->number);
    struct tbed_recorder *recorder = tbed_recorder_open(appender->writer, name);
    for (uint32_t i = 0; i < EVENTS_EACH; i++)
        tbed_instant_record(recorder, i);
    tbed_recorder_close(recorder);
    return NULL;
}

static void append_in_threads(const char *path, uint32_t process)
{
    struct tbed_writer_options options = {.join = true};
    struct tbed_writer *writer = test_writer_open(path, &options);
    struct appender appenders[THREADS];
    pthread_t threads[THREADS];
    for (uint32_t i = 0; i < THREADS; i++) {
        appenders[i] = (struct appender){writer, process * THREADS + i};
        pthread_create(&threads[i], NULL, append_events, &appenders[i]);
    }
    for (uint32_t i = 0; i < THREADS; i++)
        pthread_join(threads[i], NULL);
    tbed_writer_close(writer);
    _exit(0);
}

static void assert_stream_counts_up(struct tbed_reader *reader, uint32_t stream)
{
    struct tbed_cursor *cursor;
    struct tbed_event event;
    uint64_t last_tick = 0;
    uint32_t i = 0;
    assert_int_equal(tbed_cursor_open(reader, stream, &cursor), TBED_OK);
    for (; tbed_cursor_next(cursor, &event) == TBED_OK; i++) {
        if (event.id != i || event.tick < last_tick)
            fail_msg("event %u of stream %u is out of order", i, stream);
        last_tick = event.tick;
    }
    assert_int_equal(i, EVENTS_EACH);
    tbed_cursor_close(cursor);
}

static void two_processes_of_four_threads_append_ten_million_events(void **state)
{
    (void)state;
    char path[256], name[16];
    snprintf(path, sizeof path, "%s", test_path("two.tbed"));
    pid_t children[2];
    for (uint32_t i = 0; i < 2; i++) {
        children[i] = fork();
        if (children[i] == 0)
            append_in_threads(path, i);
    }
    await(children[0]);
    await(children[1]);
    struct tbed_reader *reader = test_reader_open(path, true);
    for (uint32_t i = 0; i < 2 * THREADS; i++) {
        snprintf(name, sizeof name, "w%u", i);
        assert_stream_counts_up(reader, test_stream_named(reader, name));
    }
    assert_int_equal(test_drop_count(reader), 0);
    tbed_reader_close(reader);
}

/* ---- Fork ---- */

static void assert_spans(struct tbed_reader *reader, uint32_t stream, const uint32_t *ends, size_t end_count)
{
    size_t count, ended = 0;
    struct tbed_event *events = test_events(reader, stream, &count);
    for (size_t i = 0; i < count; i++)
        if (events[i].type == TBED_EVENT_END) {
            assert_true(ended < end_count);
            assert_int_equal(events[i].id, ends[ended++]);
        }
    assert_int_equal(ended, end_count);
    free(events);
}

/* However it forks: glibc's fork, or a bare system call that no handler hears of. */
static void fork_in_every_way(pid_t (*fork_somehow)(void))
{
    const char *path = test_path("fork.tbed");
    struct tbed_writer *writer = test_writer_open(path, NULL);
    struct tbed_recorder *recorder = tbed_recorder_open(writer, "main");
    for (uint32_t i = 0; i < 3; i++)
        tbed_span_begin(recorder, i);
    pid_t child = fork_somehow();
    if (child == 0) {
        tbed_recorder_name_set(recorder, "child");
        tbed_string_intern(writer, "said by the child", 17);
        tbed_span_end(recorder);
        pid_t grandchild = fork_somehow();
        if (grandchild == 0)
            tbed_recorder_name_set(recorder, "grandchild");
        tbed_span_end(recorder);
        tbed_span_end(recorder);
        if (grandchild != 0)
            waitpid(grandchild, NULL, 0);
        tbed_writer_close(writer);
        _exit(0);
    }
    for (uint32_t i = 0; i < 3; i++)
        tbed_span_end(recorder);
    await(child);
    tbed_writer_close(writer);

    struct tbed_reader *reader = test_reader_open(path, true);
    static const uint32_t ends[] = {2, 1, 0};
    assert_spans(reader, test_stream_named(reader, "main"), ends, 3);
    assert_spans(reader, test_stream_named(reader, "child"), ends, 3);
    assert_spans(reader, test_stream_named(reader, "grandchild"), ends + 1, 2);
    struct tbed_process_info process;
    assert_true(tbed_process_get(reader, 2, &process));
    assert_int_not_equal(process.forked_from, 0);
    assert_false(tbed_process_get(reader, 3, &process));
    tbed_reader_close(reader);
}

static pid_t bare_fork(void)
{
    return (pid_t)syscall(SYS_clone, SIGCHLD, 0, 0, 0, 0);
}

static void a_forked_child_goes_on_in_pages_of_its_own(void **state)
{
    (void)state;
    fork_in_every_way(fork);
    fork_in_every_way(bare_fork);
}

/* The parent has shut the file: a child that has recorded nothing joins it before it counts a drop in the header. */
static void a_child_that_only_drops_leaves_a_sound_file(void **state)
{
    (void)state;
    const char *path = test_path("drops.tbed");
    int pipes[2];
    char go;
    assert_int_equal(pipe(pipes), 0);
    struct tbed_writer *writer = test_writer_open(path, NULL);
    pid_t child = fork();
    if (child == 0) {
        close(pipes[1]);
        (void)!read(pipes[0], &go, 1); /* ends when the parent has closed the trace */
        tbed_id_bind(writer, UINT32_MAX, 1, 1);
        _exit(0); /* without closing, which would make the checksum anew */
    }
    tbed_writer_close(writer);
    close(pipes[1]);
    await(child);
    close(pipes[0]);
    struct tbed_reader *reader = test_reader_open(path, false);
    assert_int_equal(test_drop_count(reader), 1);
    tbed_reader_close(reader);
}

static void *record_forever(void *argument)
{
    struct tbed_recorder *recorder = tbed_recorder_open(argument, "busy");
    for (uint32_t i = 0;; i++) {
        tbed_span_begin(recorder, i);
        tbed_string_intern(argument, (const char *)&i, sizeof i);
        tbed_span_end(recorder);
    }
    return NULL;
}

/* The child has none of the parent's other threads, which may have been anywhere, locks in hand. */
static void forking_between_busy_threads_never_hangs(void **state)
{
    (void)state;
    char path[256];
    snprintf(path, sizeof path, "%s", test_path("forks.tbed"));
    pid_t parent = fork();
    if (parent == 0) {
        struct tbed_writer *writer = test_writer_open(path, NULL);
        pthread_t threads[2];
        for (int i = 0; i < 2; i++)
            pthread_create(&threads[i], NULL, record_forever, writer);
        struct tbed_recorder *recorder = tbed_recorder_open(writer, "forker");
        for (uint32_t i = 0; i < 100; i++) {
            tbed_span_begin(recorder, i);
            pid_t child = fork();
            if (child == 0) {
                alarm(20);
                tbed_string_intern(writer, "child", 5);
                tbed_span_end(recorder);
                tbed_writer_close(writer);
                _exit(0);
            }
            int status;
            waitpid(child, &status, 0);
            if (status != 0)
                _exit(1);
            tbed_span_end(recorder);
        }
        tbed_writer_close(writer);
        _exit(0);
    }
    await(parent);
    struct tbed_reader *reader = test_reader_open(path, true);
    struct tbed_process_info process;
    assert_true(tbed_process_get(reader, 100, &process));
    tbed_reader_close(reader);
}

/* ---- Kill ---- */

struct told {
    uint64_t counts[THREADS]; /* in shared memory: how many records each thread has said are done */
};

struct telling {
    struct tbed_writer *writer;
    uint32_t number;
    int pipe;
};

struct message {
    uint32_t thread, count;
};

static void *record_and_tell(void *argument)
{
    struct telling *telling = argument;
    char name[16];
    snprintf(name, sizeof name, "k%u", telling->number);
    struct tbed_recorder *recorder = tbed_recorder_open(telling->writer, name);
    for (uint32_t i = 0;; i++) {
        tbed_instant_record(recorder, i & 0xFFFF);
        if (i % 64 == 63) {
            struct message message = {telling->number, i + 1};
            if (write(telling->pipe, &message, sizeof message) < 0)
                return NULL;
        }
    }
}

static void record_until_killed(const char *path, int pipe)
{
    struct tbed_writer *writer = test_writer_open(path, NULL);
    struct telling tellings[THREADS];
    pthread_t threads[THREADS];
    for (uint32_t i = 0; i < THREADS; i++) {
        tellings[i] = (struct telling){writer, i, pipe};
        pthread_create(&threads[i], NULL, record_and_tell, &tellings[i]);
    }
    for (;;)
        pause();
}

static void read_told(int pipe, uint64_t told[THREADS])
{
    struct message message;
    while (read(pipe, &message, sizeof message) == (ssize_t)sizeof message)
        if (message.count > told[message.thread])
            told[message.thread] = message.count;
}

static void assert_told_is_there(const char *path, const uint64_t told[THREADS], bool shut)
{
    struct tbed_reader *reader = test_reader_open(path, shut);
    char name[16];
    for (uint32_t i = 0; i < THREADS; i++) {
        if (told[i] == 0)
            continue;
        snprintf(name, sizeof name, "k%u", i);
        size_t count;
        struct tbed_event *events = test_events(reader, test_stream_named(reader, name), &count);
        assert_true(count >= told[i]);
        for (size_t k = 0; k < count; k++)
            assert_int_equal(events[k].id, k & 0xFFFF);
        free(events);
    }
    tbed_reader_close(reader);
}

static void kill_once(const char *path, useconds_t after_us)
{
    int pipes[2];
    uint64_t told[THREADS] = {0};
    unlink(path);
    assert_int_equal(pipe(pipes), 0);
    pid_t child = fork();
    if (child == 0) {
        close(pipes[0]);
        record_until_killed(path, pipes[1]);
    }
    close(pipes[1]);
    struct message first;
    assert_int_equal(read(pipes[0], &first, sizeof first), sizeof first);
    told[first.thread] = first.count;
    fcntl(pipes[0], F_SETPIPE_SZ, 1 << 20);
    usleep(after_us);
    kill(child, SIGKILL);
    waitpid(child, NULL, 0);
    read_told(pipes[0], told);
    close(pipes[0]);
    assert_told_is_there(path, told, false);
    struct tbed_error error;
    assert_int_equal(tbed_trace_seal(path, &error), TBED_OK);
    assert_told_is_there(path, told, true);
}

static void a_hundred_kills_lose_nothing_that_was_told(void **state)
{
    (void)state;
    char path[256];
    snprintf(path, sizeof path, "%s", test_path("killed.tbed"));
    srand(20261121);
    for (int i = 0; i < 100; i++)
        kill_once(path, (useconds_t)(rand() % 15000));
}

static void sealing_waits_for_no_living_writer(void **state)
{
    (void)state;
    const char *path = test_path("alive.tbed");
    struct tbed_writer *writer = test_writer_open(path, NULL);
    struct tbed_error error;
    assert_int_equal(tbed_trace_seal(path, &error), TBED_ERR_BUSY);
    tbed_writer_close(writer);
    assert_int_equal(tbed_trace_seal(path, &error), TBED_OK);
    tbed_reader_close(test_reader_open(path, true));
}

static void copy_file(const char *from, const char *to)
{
    char buffer[65536];
    FILE *source = fopen(from, "rb"), *copy = fopen(to, "wb");
    assert_non_null(source);
    assert_non_null(copy);
    for (size_t nbytes; (nbytes = fread(buffer, 1, sizeof buffer, source)) > 0;)
        fwrite(buffer, 1, nbytes, copy);
    fclose(source);
    fclose(copy);
}

/* Recovery repairs what killed writers left. What is damaged it refuses, and must not cover up. */
static void sealing_refuses_damage_and_leaves_it_as_it_is(void **state)
{
    (void)state;
    static const char *const names[] = {"PAGE_COUNT", "CLOSING_CHECKSUM", "FILE_SIZE", "STATE", "VERSION"};
    static const enum tbed_status statuses[] = {TBED_ERR_PAGE_COUNT, TBED_ERR_CLOSING_CHECKSUM,
                                                TBED_ERR_FILE_SIZE, TBED_ERR_STATE, TBED_ERR_VERSION};
    const char *path = test_path("damaged.tbed");
    char golden[256];
    for (size_t i = 0; i < sizeof names / sizeof *names; i++) {
        struct tbed_error error;
        snprintf(golden, sizeof golden, "spec/golden/invalid/%s.tbed", names[i]);
        copy_file(golden, path);
        assert_int_equal(tbed_trace_seal(path, &error), statuses[i]);
        char command[600];
        snprintf(command, sizeof command, "cmp -s %s %s", golden, path);
        assert_int_equal(system(command), 0);
    }
}

/* A trace goes on where it was left, also after it was shut. */
static void a_shut_trace_is_joined_again_and_again(void **state)
{
    (void)state;
    const char *path = test_path("again.tbed");
    for (uint32_t i = 0; i < 20; i++) {
        struct tbed_writer_options options = {.join = true};
        struct tbed_writer *writer = test_writer_open(path, &options);
        tbed_instant_record(tbed_recorder_open(writer, NULL), i);
        tbed_writer_close(writer);
        tbed_reader_close(test_reader_open(path, true));
    }
    struct tbed_reader *reader = test_reader_open(path, true);
    struct tbed_process_info process;
    assert_true(tbed_process_get(reader, 19, &process));
    tbed_reader_close(reader);
}

/* Its counter is protected only while the file is shut, and nothing else notices. */
static void a_writer_without_a_stream_number_drops_everything(void **state)
{
    (void)state;
    const char *path = test_path("numbers.tbed");
    const uint64_t next_stream = UINT64_C(1) << 32;
    struct tbed_writer_options options = {.join = true};
    tbed_writer_close(test_writer_open(path, &options));
    FILE *file = fopen(path, "r+b");
    assert_non_null(file);
    assert_int_equal(fseek(file, 576, SEEK_SET), 0);
    assert_int_equal(fwrite(&next_stream, 8, 1, file), 1);
    fclose(file);
    struct tbed_writer *writer = test_writer_open(path, &options);
    uint64_t drops = tbed_writer_drop_count(writer, TBED_DROP_IDS_EXHAUSTED);
    assert_int_equal(tbed_string_intern(writer, "text", 4), TBED_ID_INVALID);
    tbed_instant_record(tbed_recorder_open(writer, NULL), 1);
    assert_true(tbed_writer_drop_count(writer, TBED_DROP_IDS_EXHAUSTED) > drops);
    tbed_writer_close(writer);
    tbed_reader_close(test_reader_open(path, true));
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(two_processes_of_four_threads_append_ten_million_events),
        cmocka_unit_test(a_forked_child_goes_on_in_pages_of_its_own),
        cmocka_unit_test(a_child_that_only_drops_leaves_a_sound_file),
        cmocka_unit_test(forking_between_busy_threads_never_hangs),
        cmocka_unit_test(a_hundred_kills_lose_nothing_that_was_told),
        cmocka_unit_test(sealing_waits_for_no_living_writer),
        cmocka_unit_test(sealing_refuses_damage_and_leaves_it_as_it_is),
        cmocka_unit_test(a_shut_trace_is_joined_again_and_again),
        cmocka_unit_test(a_writer_without_a_stream_number_drops_everything),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
