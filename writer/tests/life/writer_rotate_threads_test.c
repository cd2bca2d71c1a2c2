/*
 * A series of files while threads record. Every event must be in exactly one file, in order; open spans, names and
 * stream numbers must continue in the next file. Runs under TSan too.
 *
 * SPDX-License-Identifier: MIT
 */
#include "writer/tests/support.h"

#include <pthread.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/time.h>
#include <unistd.h>

#define THREADS     4
#define PAGE_NBYTES 16384
#define DEPTH_MAX   700 /* more than a page of that size stores */
#define FILES_MAX   10000
#define COUNTER_ID  7

struct worker {
    struct tbed_writer *writer;
    uint32_t number;
    uint64_t count; /* atomic: values recorded */
    bool stop;      /* atomic */
};

/*
 * The value counts up by one, inside spans that nest deeply and end again; some values are repeated by an instant with
 * a new name.
 */
static void record_step(struct worker *worker, struct tbed_recorder *recorder, uint64_t i, uint32_t *depth)
{
    char text[32];
    uint32_t wanted = i / 5000 % 4 == 3 ? DEPTH_MAX : 3;
    if (*depth < wanted) {
        tbed_span_begin(recorder, 1000 + *depth);
        ++*depth;
    } else if (*depth > wanted || i % 7 == 0) {
        tbed_span_end(recorder);
        --*depth;
    }
    tbed_counter_record_i64(recorder, COUNTER_ID, (int64_t)i);
    if (i % 500 == 0) {
        size_t nbytes = (size_t)snprintf(text, sizeof text, "%u-%llu", worker->number, (unsigned long long)i);
        tbed_instant_record(recorder, tbed_string_intern(worker->writer, text, nbytes));
    }
}

static void *count_up(void *argument)
{
    struct worker *worker = argument;
    char name[16];
    uint32_t depth = 0;
    uint64_t i = 0;
    snprintf(name, sizeof name, "t%u", worker->number);
    struct tbed_recorder *recorder = tbed_recorder_open(worker->writer, name);
    for (; !__atomic_load_n(&worker->stop, __ATOMIC_RELAXED); i++) {
        record_step(worker, recorder, i, &depth);
        __atomic_store_n(&worker->count, i + 1, __ATOMIC_RELEASE);
    }
    for (; depth > 0; depth--)
        tbed_span_end(recorder);
    tbed_recorder_close(recorder);
    return NULL;
}

/* Short threads: each has a recorder with three events in a cell, and interns the name of the last. */
static void *come_and_go(void *argument)
{
    struct worker *worker = argument;
    for (uint64_t i = 0; !__atomic_load_n(&worker->stop, __ATOMIC_RELAXED); i++) {
        struct tbed_recorder *recorder = tbed_recorder_open(worker->writer, "short");
        tbed_span_begin(recorder, tbed_string_intern(worker->writer, "short work", 10));
        tbed_counter_record_i64(recorder, COUNTER_ID, (int64_t)i);
        tbed_span_end(recorder);
        tbed_recorder_close(recorder);
        __atomic_store_n(&worker->count, i + 1, __ATOMIC_RELEASE);
        usleep(500);
    }
    return NULL;
}

/* ---- The oracle: the events that each thread must have in each file ---- */

struct told {
    uint32_t stream;
    uint64_t count;
    uint32_t depth;
};

static void check_event(struct tbed_reader *reader, uint32_t number, const struct tbed_event *event,
                        struct told *told)
{
    char text[64], expected[64];
    switch (event->type) {
    case TBED_EVENT_BEGIN:
        assert_int_equal(event->id, 1000 + told->depth++);
        break;
    case TBED_EVENT_END:
        assert_int_equal(event->id, 1000 + --told->depth);
        break;
    case TBED_EVENT_COUNTER:
        assert_int_equal(event->counter_value.value.i64, told->count++);
        break;
    case TBED_EVENT_INSTANT:
        assert_int_equal(tbed_string_resolve(reader, event->id, text, sizeof text, NULL), TBED_OK);
        snprintf(expected, sizeof expected, "%u-%llu", number, (unsigned long long)told->count - 1);
        assert_string_equal(text, expected);
        break;
    default:
        fail_msg("event of type %d", (int)event->type);
    }
}

static uint32_t find_stream(struct tbed_reader *reader, const char *name)
{
    struct tbed_stream_info info;
    for (size_t i = 0; tbed_stream_get(reader, i, &info); i++) {
        char text[32];
        if (tbed_string_resolve(reader, info.name_id, text, sizeof text, NULL) == TBED_OK &&
            strcmp(text, name) == 0)
            return info.stream;
    }
    return 0;
}

static void check_thread(struct tbed_reader *reader, uint32_t number, struct told *told)
{
    char name[16];
    size_t count;
    snprintf(name, sizeof name, "t%u", number);
    uint32_t stream = find_stream(reader, name);
    if (stream == 0) /* not begun yet, or ended in an earlier file */
        return;
    assert_true(told->stream == 0 || told->stream == stream);
    told->stream = stream;
    struct tbed_event *events = test_events(reader, told->stream, &count);
    for (size_t i = 0; i < count; i++)
        check_event(reader, number, &events[i], told);
    free(events);
}

/* Counts streams of short threads, which must have all their events in one file. */
static uint64_t count_short(struct tbed_reader *reader)
{
    struct tbed_stream_info info;
    uint64_t count = 0;
    for (size_t i = 0; tbed_stream_get(reader, i, &info); i++) {
        char text[32];
        size_t event_count;
        assert_int_equal(tbed_string_resolve(reader, info.name_id, text, sizeof text, NULL), TBED_OK);
        if (strcmp(text, "short") != 0)
            continue;
        struct tbed_event *events = test_events(reader, info.stream, &event_count);
        for (size_t k = 0; k < event_count; k++)
            count += events[k].type == TBED_EVENT_COUNTER;
        free(events);
    }
    return count;
}

static size_t check_series(const char *path, const struct worker *workers, bool has_short)
{
    struct told told[THREADS] = {{0}};
    uint64_t short_count = 0, series_id = 0, previous_id = 0;
    size_t file_count = 1;
    for (bool is_last = false; !is_last; file_count++) {
        char name[300];
        struct tbed_trace_info info;
        snprintf(name, sizeof name, "%s.%06zu", path, file_count);
        is_last = access(name, F_OK) != 0;
        struct tbed_reader *reader = test_reader_open(is_last ? path : name, true);
        tbed_reader_info(reader, &info);
        assert_int_equal(info.series_number, file_count);
        assert_int_equal(info.previous_file_id, previous_id);
        assert_int_equal(info.series_id, file_count == 1 ? info.file_id : series_id);
        series_id = info.series_id;
        previous_id = info.file_id;
        assert_int_equal(test_drop_count(reader), 0);
        for (uint32_t i = 0; i < THREADS; i++)
            check_thread(reader, i, &told[i]);
        if (has_short)
            short_count += count_short(reader);
        tbed_reader_close(reader);
    }
    for (uint32_t i = 0; i < THREADS; i++) {
        assert_int_equal(told[i].count, workers[i].count);
        assert_int_equal(told[i].depth, 0);
    }
    if (has_short)
        assert_int_equal(short_count, workers[THREADS].count);
    return file_count - 1;
}

static void wait_for_count(const struct worker *workers, uint64_t count)
{
    for (uint32_t i = 0; i < THREADS; i++)
        while (__atomic_load_n(&workers[i].count, __ATOMIC_RELAXED) < count)
            usleep(1000);
}

static void wait_for_progress(const struct worker *workers, uint64_t more)
{
    for (uint32_t i = 0; i < THREADS; i++) {
        uint64_t from = __atomic_load_n(&workers[i].count, __ATOMIC_RELAXED);
        while (__atomic_load_n(&workers[i].count, __ATOMIC_RELAXED) - from < more)
            usleep(100);
    }
}

/* 'by_call': calls tbed_rotate() repeatedly; otherwise rotates by size. */
static void events_are_in_one_file_each(bool helper, bool by_call)
{
    const char *path =
        test_path(helper ? (by_call ? "hc.tbed" : "hs.tbed") : (by_call ? "nc.tbed" : "ns.tbed"));
    struct tbed_writer_options options = {.page_nbytes = PAGE_NBYTES,
                                          .no_helper = !helper,
                                          .rotate = true,
                                          .rotate_nbytes = by_call ? 0 : 1 << 19};
    struct tbed_writer *writer = test_writer_open(path, &options);
    struct worker workers[THREADS + 1];
    pthread_t threads[THREADS + 1];
    char second[300];
    for (uint32_t i = 0; i <= THREADS; i++) {
        workers[i] = (struct worker){.writer = writer, .number = i};
        pthread_create(&threads[i], NULL, i < THREADS ? count_up : come_and_go, &workers[i]);
    }
    wait_for_count(workers, 10);
    for (int done = 0; by_call && done < 15;) {
        struct tbed_error error;
        enum tbed_status status = tbed_rotate(writer, &error);
        done += status == TBED_OK;
        if (status != TBED_OK && status != TBED_ERR_BUSY) /* a loaded machine */
            fail_msg("%s, errno %d", tbed_status_text(status), error.system_errno);
        wait_for_progress(workers, 1);
    }
    wait_for_count(workers, by_call ? 10 : 100000);
    snprintf(second, sizeof second, "%s.000002", path);
    while (access(second, F_OK) != 0) /* on a loaded machine a rotation may be put off */
        usleep(1000);
    for (uint32_t i = 0; i <= THREADS; i++)
        __atomic_store_n(&workers[i].stop, true, __ATOMIC_RELAXED);
    for (uint32_t i = 0; i <= THREADS; i++)
        pthread_join(threads[i], NULL);
    tbed_writer_free(writer);
    assert_true(check_series(path, workers, true) > 2);
}

static void by_size_with_helper(void **state)
{
    (void)state;
    events_are_in_one_file_each(true, false);
}

static void by_size_without_helper(void **state)
{
    (void)state;
    events_are_in_one_file_each(false, false);
}

static void by_call_with_helper(void **state)
{
    (void)state;
    events_are_in_one_file_each(true, true);
}

static void by_call_without_helper(void **state)
{
    (void)state;
    events_are_in_one_file_each(false, true);
}

/* ---- Signals, and quiet programs ---- */

static struct tbed_recorder *handler_recorder;
static volatile sig_atomic_t is_rotation_asked, handler_count;

static void record_in_handler(int signal)
{
    (void)signal;
    tbed_instant_record(handler_recorder, 1);
    handler_count++;
    is_rotation_asked = 1;
}

/* Adds up events and drops of all files. */
static uint64_t sum_series(const char *path, uint64_t drops[TBED_DROP_CAUSE_COUNT])
{
    uint64_t events = 0;
    size_t number = 1;
    for (bool is_last = false; !is_last; number++) {
        char name[300];
        struct tbed_trace_info info;
        struct tbed_stream_info stream;
        snprintf(name, sizeof name, "%s.%06zu", path, number);
        is_last = access(name, F_OK) != 0;
        struct tbed_reader *reader = test_reader_open(is_last ? path : name, true);
        tbed_reader_info(reader, &info);
        for (size_t i = 0; i < TBED_DROP_CAUSE_COUNT; i++)
            drops[i] += info.drops[i];
        for (size_t i = 0; tbed_stream_get(reader, i, &stream); i++) {
            struct tbed_cursor *cursor;
            struct tbed_event event;
            assert_int_equal(tbed_cursor_open(reader, stream.stream, &cursor), TBED_OK);
            while (tbed_cursor_next(cursor, &event) == TBED_OK)
                events += event.type == TBED_EVENT_INSTANT;
            tbed_cursor_close(cursor);
        }
        tbed_reader_close(reader);
    }
    return events;
}

/*
 * Rotates like a daemon at SIGHUP: the handler asks for it, and a thread does it. The handler also records, whatever
 * step of a rotation it interrupts.
 */
static void handlers_ask_for_rotations_and_record_during_them(void **state)
{
    (void)state;
    const char *path = test_path("signals.tbed");
    struct tbed_writer_options options = {.page_nbytes = 4096, .no_helper = true, .rotate = true};
    struct tbed_writer *writer = test_writer_open(path, &options);
    struct sigaction action = {.sa_handler = record_in_handler, .sa_flags = SA_RESTART}, before;
    struct itimerval timer = {.it_interval.tv_usec = 150, .it_value.tv_usec = 150}, none = {0};
    uint64_t count = 0, drops[TBED_DROP_CAUSE_COUNT] = {0};
    handler_recorder = tbed_recorder_open(writer, "main");
    handler_count = 0;
    sigaction(SIGALRM, &action, &before);
    setitimer(ITIMER_REAL, &timer, NULL);
    for (unsigned done = 0; done < 40; count++) {
        tbed_instant_record(handler_recorder, 2);
        if (is_rotation_asked) {
            is_rotation_asked = 0;
            done += tbed_rotate(writer, NULL) == TBED_OK;
        }
    }
    setitimer(ITIMER_REAL, &none, NULL);
    sigaction(SIGALRM, &before, NULL);
    tbed_writer_free(writer);
    uint64_t events = sum_series(path, drops);
    assert_int_equal(events + drops[TBED_DROP_INTERRUPTED], count + (uint64_t)handler_count);
    for (size_t cause = 0; cause < TBED_DROP_CAUSE_COUNT; cause++)
        assert_true(cause == TBED_DROP_INTERRUPTED || drops[cause] == 0);
}

static void *rotate_often(void *argument)
{
    struct worker *worker = argument;
    for (unsigned done = 0; done < 40;)
        done += tbed_rotate(worker->writer, NULL) == TBED_OK;
    __atomic_store_n(&worker->stop, true, __ATOMIC_RELEASE);
    return NULL;
}

/* The handler must not wait for a rotation that waits for the lock of the thread that it interrupted. */
static void handlers_record_while_their_thread_has_the_lock(void **state)
{
    (void)state;
    const char *path = test_path("lock.tbed");
    struct tbed_writer_options options = {.page_nbytes = 4096, .no_helper = true, .rotate = true};
    struct tbed_writer *writer = test_writer_open(path, &options);
    struct worker worker = {.writer = writer};
    struct sigaction action = {.sa_handler = record_in_handler, .sa_flags = SA_RESTART}, before;
    struct itimerval timer = {.it_interval.tv_usec = 150, .it_value.tv_usec = 150}, none = {0};
    uint64_t count = 0, drops[TBED_DROP_CAUSE_COUNT] = {0};
    uint32_t id = tbed_id_reserve(writer, 1);
    sigset_t alarm, mask;
    pthread_t thread;
    handler_recorder = tbed_recorder_open(writer, "main");
    handler_count = 0;
    sigemptyset(&alarm);
    sigaddset(&alarm, SIGALRM);
    pthread_sigmask(SIG_BLOCK, &alarm, &mask);
    pthread_create(&thread, NULL, rotate_often, &worker);
    sigaction(SIGALRM, &action, &before);
    setitimer(ITIMER_REAL, &timer, NULL);
    pthread_sigmask(SIG_SETMASK, &mask, NULL);
    for (; !__atomic_load_n(&worker.stop, __ATOMIC_ACQUIRE); count++) {
        for (unsigned i = 0; i < 100; i++)
            tbed_id_bind(writer, id, 1, id);
        tbed_instant_record(handler_recorder, 2);
    }
    setitimer(ITIMER_REAL, &none, NULL);
    sigaction(SIGALRM, &before, NULL);
    pthread_join(thread, NULL);
    tbed_writer_free(writer);
    uint64_t events = sum_series(path, drops);
    assert_int_equal(events + drops[TBED_DROP_INTERRUPTED], count + (uint64_t)handler_count);
}

static void a_quiet_program_rotates_by_time(void **state)
{
    (void)state;
    const char *path = test_path("time.tbed");
    struct tbed_writer_options options = {.rotate_interval_ns = 20000000};
    struct tbed_writer *writer = test_writer_open(path, &options);
    struct tbed_recorder *recorder = tbed_recorder_open(writer, "main");
    uint64_t drops[TBED_DROP_CAUSE_COUNT] = {0};
    char third[300];
    tbed_instant_record(recorder, 1);
    snprintf(third, sizeof third, "%s.000003", path);
    while (access(third, F_OK) != 0)
        usleep(1000);
    tbed_instant_record(recorder, 1);
    tbed_writer_free(writer);
    assert_int_equal(sum_series(path, drops), 2);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(by_size_with_helper),
        cmocka_unit_test(by_size_without_helper),
        cmocka_unit_test(by_call_with_helper),
        cmocka_unit_test(by_call_without_helper),
        cmocka_unit_test(handlers_ask_for_rotations_and_record_during_them),
        cmocka_unit_test(handlers_record_while_their_thread_has_the_lock),
        cmocka_unit_test(a_quiet_program_rotates_by_time),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
