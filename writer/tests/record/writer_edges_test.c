/*
 * Regressions: limits of the format, forks and closes at the worst moment, signal handlers, disks that were full for a
 * while.
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
#include <sys/mount.h>
#include <sys/resource.h>
#include <sys/stat.h>
#include <sys/time.h>
#include <sys/wait.h>
#include <unistd.h>

static void await(pid_t child)
{
    int status;
    assert_int_equal(waitpid(child, &status, 0), child);
    assert_int_equal(status, 0);
}

/* nwords has 16 bits; a page of a mebibyte has room for more. */
static void a_record_of_more_than_65536_words_is_dropped_wherever_it_would_fit(void **state)
{
    (void)state;
    const char *path = test_path("words.tbed");
    struct tbed_writer_options options = {.page_nbytes = 1 << 20};
    struct tbed_writer *writer = test_writer_open(path, &options);
    struct tbed_recorder *recorder = tbed_recorder_open(writer, NULL);
    char *text = calloc(1, 600000);
    for (int i = 0; i < 300; i++) /* out of the cell, into a page */
        tbed_instant_record(recorder, 1);
    tbed_message_record(recorder, TBED_SEVERITY_NONE, text, 65534 * 8 - 8); /* the largest one */
    tbed_instant_record(recorder, 2);
    tbed_message_record(recorder, TBED_SEVERITY_NONE, text, 65534 * 8 - 7);
    tbed_instant_record(recorder, 3);
    tbed_writer_close(writer);
    struct tbed_reader *reader = test_reader_open(path, true);
    size_t count;
    struct tbed_event *events = test_events(reader, test_stream_named(reader, NULL), &count);
    assert_int_equal(count, 303);
    assert_int_equal(events[300].type, TBED_EVENT_MESSAGE);
    assert_int_equal(events[302].id, 3);
    assert_int_equal(test_drop_count(reader), 1);
    free(events);
    tbed_reader_close(reader);
    free(text);
}

/*
 * After a dropped begin, the next span takes its place on the stack. The end of that span has arguments, and its
 * recorder may be another thread's.
 */
static void a_dropped_begin_does_not_cost_a_later_span_its_end(void **state)
{
    (void)state;
    const char *path = test_path("stale.tbed");
    struct tbed_writer *writer = test_writer_open(path, NULL);
    char *text = calloc(1, 600000);
    struct tbed_argument large = {.type = TBED_ARG_TEXT, .nbytes = 600000, .value.text = text};
    struct tbed_argument small = {.type = TBED_ARG_U64, .value.u64 = 1};
    for (int round = 0; round < 2; round++) {
        struct tbed_recorder *recorder = tbed_recorder_open(writer, round == 0 ? "first" : "second");
        tbed_span_begin(recorder, 1);
        tbed_span_begin_args(recorder, 2, &large, 1);
        if (round == 0) /* the other recorder is closed inside the span */
            tbed_span_end(recorder);
        else
            tbed_recorder_close(recorder);
        if (round == 1)
            recorder = tbed_recorder_open(writer, "third");
        else
            tbed_span_end(recorder);
        tbed_span_begin(recorder, 3);
        tbed_span_begin(recorder, 4);
        tbed_span_end_args(recorder, &small, 1);
        tbed_span_end_args(recorder, &small, 1);
    }
    tbed_writer_close(writer);
    struct tbed_reader *reader = test_reader_open(path, true);
    static const char *const names[] = {"first", "third"};
    for (int i = 0; i < 2; i++) {
        size_t count, ends = 0;
        struct tbed_event *events = test_events(reader, test_stream_named(reader, names[i]), &count);
        for (size_t at = 0; at < count; at++)
            ends += events[at].type == TBED_EVENT_END;
        assert_int_equal(ends, i == 0 ? 3 : 2);
        free(events);
    }
    tbed_reader_close(reader);
    free(text);
}

/* Without memory for the stack, a span is only counted, even if a new block begins meanwhile. */
static void spans_deeper_than_the_memory_are_survived(void **state)
{
    (void)state;
    enum { DEPTH = (1 << 20) + 50000 };
    const char *path = test_path("deeper.tbed");
    struct tbed_writer *writer = test_writer_open(path, NULL);
    struct tbed_recorder *recorder = tbed_recorder_open(writer, NULL);
    for (uint32_t i = 0; i < DEPTH; i++)
        tbed_span_begin(recorder, 1);
    for (uint32_t i = 0; i < 10000; i++)
        tbed_instant_record(recorder, 2);
    for (uint32_t i = 0; i < DEPTH; i++)
        tbed_span_end(recorder);
    tbed_writer_close(writer);
    struct tbed_reader *reader = test_reader_open(path, true);
    size_t count;
    free(test_events(reader, test_stream_named(reader, NULL), &count));
    assert_int_equal(count, 2 * DEPTH + 10000);
    tbed_reader_close(reader);
}

/* ---- A file that outgrows a map, a disk that was full ---- */

/* A process with a higher limit may make the file longer than this process's map. */
static void a_file_longer_than_the_map_drops_and_counts(void **state)
{
    (void)state;
    char path[256];
    snprintf(path, sizeof path, "%s", test_path("longer.tbed"));
    /* Without a helper: AddressSanitizer's allocator hangs in a child that is forked while a thread begins. */
    struct tbed_writer_options small = {.join = true, .max_file_nbytes = 1 << 20, .no_helper = true};
    struct tbed_writer_options large = {.join = true};
    struct tbed_writer *writer = test_writer_open(path, &small);
    struct tbed_recorder *recorder = tbed_recorder_open(writer, "small");
    pid_t child = fork();
    if (child == 0) {
        struct tbed_writer *other = test_writer_open(path, &large);
        struct tbed_recorder *filler = tbed_recorder_open(other, "large");
        for (uint32_t i = 0; i < 500000; i++)
            tbed_instant_record(filler, i);
        tbed_writer_close(other);
        _exit(0);
    }
    await(child);
    child = fork();
    if (child == 0) {
        for (uint32_t i = 0; i < 10000; i++) /* more than a page of cells has room for */
            tbed_instant_record(recorder, 1);
        tbed_writer_close(writer);
        _exit(0);
    }
    await(child);
    tbed_writer_close(writer);
    struct tbed_reader *reader = test_reader_open(path, true);
    struct tbed_trace_info info;
    tbed_reader_info(reader, &info);
    assert_true(info.drops[TBED_DROP_SIZE_LIMIT] > 0);
    tbed_reader_close(reader);
}

/* Strings and streams that could not be stored use up no ordinals or numbers. */
static void a_full_disk_uses_up_no_numbers(void **state)
{
    (void)state;
    char folder[256], path[300], ballast[300], text[32];
    snprintf(folder, sizeof folder, "%s", test_path("numbers"));
    snprintf(path, sizeof path, "%s/full.tbed", folder);
    snprintf(ballast, sizeof ballast, "%s/ballast", folder);
    mkdir(folder, 0700);
    if (mount("none", folder, "tmpfs", 0, "size=4m") != 0)
        skip(); /* not root */
    struct tbed_writer_options options = {.no_helper = true};
    struct tbed_writer *writer = test_writer_open(path, &options);
    int fd = open(ballast, O_CREAT | O_WRONLY, 0600);
    for (off_t at = 0; posix_fallocate(fd, at, 4096) == 0; at += 4096)
        continue;
    close(fd);
    for (int i = 0; i < 200000; i++)
        tbed_string_intern(writer, text, (size_t)snprintf(text, sizeof text, "full %d", i));
    for (int i = 0; i < 20000; i++)
        tbed_id_bind(writer, 1, 1, 2);
    struct tbed_recorder *recorder = tbed_recorder_open(writer, NULL);
    uint64_t before = tbed_writer_drop_count(writer, TBED_DROP_DISK_FULL);
    for (uint32_t i = 0; i < 10000; i++)
        tbed_instant_record(recorder, i);
    assert_int_equal(tbed_writer_drop_count(writer, TBED_DROP_DISK_FULL), before + 10000);
    assert_int_equal(tbed_writer_drop_count(writer, TBED_DROP_INTERRUPTED), 0);
    assert_int_equal(tbed_writer_drop_count(writer, TBED_DROP_IDS_EXHAUSTED), 0);
    unlink(ballast);
    usleep(100000);
    assert_int_not_equal(tbed_string_intern(writer, "later", 5), TBED_ID_INVALID);
    tbed_instant_record(recorder, 1);
    assert_true(tbed_recorder_stream(recorder) < 10);
    tbed_writer_close(writer);
    tbed_reader_close(test_reader_open(path, true));
    umount(folder);
}

/* ---- Closing and forking ---- */

/* The last one must mark the file as shut, even if each finds the other's lock. */
static void two_processes_that_close_at_once_leave_a_clean_file(void **state)
{
    (void)state;
    char path[256];
    uint32_t *ready = mmap(NULL, 4096, PROT_READ | PROT_WRITE, MAP_SHARED | MAP_ANONYMOUS, -1, 0);
    for (int round = 0; round < 100; round++) {
        pid_t children[2];
        snprintf(path, sizeof path, "%s", test_path("both.tbed"));
        *ready = 0;
        for (int i = 0; i < 2; i++) {
            children[i] = fork();
            if (children[i] != 0)
                continue;
            struct tbed_writer_options options = {.join = true};
            struct tbed_writer *writer = test_writer_open(path, &options);
            tbed_instant_record(tbed_recorder_open(writer, NULL), 1);
            __atomic_fetch_add(ready, 1, __ATOMIC_SEQ_CST);
            while (__atomic_load_n(ready, __ATOMIC_SEQ_CST) != 2)
                continue;
            tbed_writer_close(writer);
            _exit(0);
        }
        await(children[0]);
        await(children[1]);
        tbed_reader_close(test_reader_open(path, true));
    }
    munmap(ready, 4096);
}

static void *close_writer(void *writer)
{
    tbed_writer_close(writer);
    return NULL;
}

/* A child that was forked during a close cannot leave the file, so it must not join it. */
static void a_fork_during_a_close_leaves_a_clean_file(void **state)
{
    (void)state;
    for (int round = 0; round < 40; round++) {
        const char *path = test_path("forkclose.tbed");
        struct tbed_writer_options options = {.no_helper = true};
        struct tbed_writer *writer = test_writer_open(path, &options);
        struct tbed_recorder *recorder = NULL;
        for (int i = 0; i < 2000; i++) {
            recorder = tbed_track_open(writer, NULL);
            tbed_instant_record(recorder, 1);
        }
        pthread_t thread;
        pthread_create(&thread, NULL, close_writer, writer);
        usleep((useconds_t)round * 20);
        pid_t child = fork();
        if (child == 0) {
            tbed_instant_record(recorder, 2);
            tbed_writer_close(writer);
            _exit(0);
        }
        await(child);
        pthread_join(thread, NULL);
        tbed_reader_close(test_reader_open(path, true));
    }
}

/* A child that has not joined must not write to a file that was shut meanwhile. */
static void drops_of_a_child_do_not_damage_a_shut_file(void **state)
{
    (void)state;
    const char *path = test_path("childdrop.tbed");
    struct tbed_writer_options options = {.page_nbytes = 4096};
    struct tbed_writer *writer = test_writer_open(path, &options);
    struct tbed_recorder *recorder = tbed_recorder_open(writer, NULL);
    char bytes[5000] = {0};
    struct tbed_argument large = {
        .type = TBED_ARG_BYTES, .name_id = TBED_ID_INVALID, .nbytes = sizeof bytes, .value.text = bytes};
    int pipes[2];
    char go;
    assert_int_equal(pipe(pipes), 0);
    tbed_instant_record(recorder, 1);
    tbed_span_begin_args(recorder, 2, &large, 1); /* dropped, and so is its end */
    pid_t child = fork();
    if (child == 0) {
        if (read(pipes[0], &go, 1) != 1 || tbed_recorder_stream(recorder) != 0)
            _exit(1);
        tbed_span_end(recorder);
        _exit(0);
    }
    tbed_writer_close(writer);
    tbed_reader_close(test_reader_open(path, true));
    assert_int_equal(write(pipes[1], "x", 1), 1);
    await(child);
    tbed_reader_close(test_reader_open(path, false));
}

/* How many steps a thread has made. */
static uint32_t progress;

static void progress_note(uint32_t count)
{
    __atomic_store_n(&progress, count, __ATOMIC_RELAXED);
}

static void progress_await(uint32_t count)
{
    while (__atomic_load_n(&progress, __ATOMIC_RELAXED) < count)
        usleep(100);
}

static void *ask_for_drops(void *writer)
{
    for (uint32_t i = 0; i < 200000; i++) {
        tbed_writer_drop_count(writer, TBED_DROP_CLOSED);
        progress_note(i);
    }
    return NULL;
}

static void drops_may_be_asked_for_while_the_writer_is_closed(void **state)
{
    (void)state;
    for (int round = 0; round < 20; round++) {
        struct tbed_writer *writer = test_writer_open(test_path("asked.tbed"), NULL);
        pthread_t thread;
        progress_note(0);
        pthread_create(&thread, NULL, ask_for_drops, writer);
        progress_await(1);
        tbed_writer_close(writer);
        pthread_join(thread, NULL);
    }
}

static void *record_until_cancelled(void *writer)
{
    struct tbed_recorder *recorder = tbed_recorder_open(writer, NULL);
    for (uint32_t i = 0;; i++) {
        tbed_instant_record(recorder, i);
        progress_note(i);
        if (i % 1000000 == 0)
            pthread_testcancel();
    }
    return NULL;
}

/* A thread must not be cancelled while it grows the file: the lock would be held forever. */
static void a_cancelled_thread_takes_no_lock_with_it(void **state)
{
    (void)state;
    const char *path = test_path("cancel.tbed");
    struct tbed_writer_options options = {.no_helper = true};
    struct tbed_writer *writer = test_writer_open(path, &options);
    pthread_t thread;
    progress_note(0);
    pthread_create(&thread, NULL, record_until_cancelled, writer);
    progress_await(1000);
    pthread_cancel(thread);
    pthread_join(thread, NULL);
    struct tbed_recorder *recorder = tbed_recorder_open(writer, NULL);
    alarm(60);
    for (uint32_t i = 0; i < 500000; i++)
        tbed_instant_record(recorder, i);
    alarm(0);
    tbed_writer_close(writer);
    tbed_reader_close(test_reader_open(path, true));
}

/* ---- Handlers ---- */

static struct tbed_recorder *volatile handler_recorder;
static struct tbed_recorder *pool[2000];
static volatile sig_atomic_t handled;

static void record_from_handler(int signal)
{
    (void)signal;
    if (handler_recorder != NULL)
        tbed_instant_record(handler_recorder, 100);
    if (handled < 2000 && pool[handled] != NULL)
        tbed_instant_record(pool[handled], 1); /* the recorder's first event takes a lock */
    handled++;
}

static void start_timer(suseconds_t us, struct sigaction *before)
{
    struct sigaction action = {.sa_handler = record_from_handler, .sa_flags = SA_RESTART};
    struct itimerval interval = {{0, us}, {0, us}};
    handled = 0;
    sigaction(SIGALRM, &action, before);
    setitimer(ITIMER_REAL, &interval, NULL);
}

static void stop_timer(const struct sigaction *before)
{
    struct itimerval never = {{0, 0}, {0, 0}};
    setitimer(ITIMER_REAL, &never, NULL);
    sigaction(SIGALRM, before, NULL);
    handler_recorder = NULL;
    memset(pool, 0, sizeof pool);
}

/* A handler that runs while its recorder is being closed must not store after the seal. */
static void a_handler_during_a_recorders_close_damages_nothing(void **state)
{
    (void)state;
    const char *path = test_path("closehandler.tbed");
    struct tbed_writer_options options = {.no_helper = true};
    struct tbed_writer *writer = test_writer_open(path, &options);
    struct sigaction before;
    start_timer(25, &before);
    for (int i = 0; i < 20000; i++) {
        struct tbed_recorder *recorder = tbed_recorder_open(writer, NULL);
        handler_recorder = recorder;
        for (uint32_t k = 0; k < 20; k++)
            tbed_instant_record(recorder, k);
        tbed_recorder_close(recorder);
        handler_recorder = NULL;
    }
    stop_timer(&before);
    tbed_writer_close(writer);
    tbed_reader_close(test_reader_open(path, true));
}

/* Nor may it wait for a lock that its own thread is taking or releasing. */
static void a_handler_never_waits_for_its_own_thread(void **state)
{
    (void)state;
    const char *path = test_path("lockhandler.tbed");
    struct tbed_writer_options options = {.no_helper = true};
    struct tbed_writer *writer = test_writer_open(path, &options);
    struct sigaction before;
    for (size_t i = 0; i < sizeof pool / sizeof *pool; i++)
        pool[i] = tbed_track_open(writer, NULL);
    start_timer(25, &before);
    while (handled < 2000)
        tbed_string_intern(writer, "x", 1);
    stop_timer(&before);
    tbed_writer_close(writer);
    tbed_reader_close(test_reader_open(path, true));
}

static void recording_leaves_errno_alone(void **state)
{
    (void)state;
    struct tbed_writer_options options = {.page_nbytes = 4096, .no_helper = true};
    struct tbed_writer *writer = test_writer_open(test_path("errno.tbed"), &options);
    struct tbed_recorder *recorder = tbed_recorder_open(writer, NULL);
    errno = 4242;
    for (uint32_t i = 0; i < 100000; i++)
        tbed_span_begin(recorder, i);
    assert_int_equal(errno, 4242);
    tbed_writer_close(writer);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(a_record_of_more_than_65536_words_is_dropped_wherever_it_would_fit),
        cmocka_unit_test(spans_deeper_than_the_memory_are_survived),
        cmocka_unit_test(a_file_longer_than_the_map_drops_and_counts),
        cmocka_unit_test(a_full_disk_uses_up_no_numbers),
        cmocka_unit_test(two_processes_that_close_at_once_leave_a_clean_file),
        cmocka_unit_test(a_fork_during_a_close_leaves_a_clean_file),
        cmocka_unit_test(drops_of_a_child_do_not_damage_a_shut_file),
        cmocka_unit_test(drops_may_be_asked_for_while_the_writer_is_closed),
        cmocka_unit_test(a_cancelled_thread_takes_no_lock_with_it),
        cmocka_unit_test(a_handler_during_a_recorders_close_damages_nothing),
        cmocka_unit_test(a_handler_never_waits_for_its_own_thread),
        cmocka_unit_test(recording_leaves_errno_alone),
        cmocka_unit_test(a_dropped_begin_does_not_cost_a_later_span_its_end),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
