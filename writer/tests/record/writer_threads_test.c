/*
 * Many threads, one file: every event is there, in the order of its stream. Runs under TSan too.
 *
 * Slow: 8 s; it runs many threads in many shapes
 *
 * SPDX-License-Identifier: MIT
 */
#include "writer/tests/support.h"

#include <pthread.h>
#include <stdio.h>
#include <stdlib.h>
#include <unistd.h>

#define THREADS 8

struct worker {
    struct tbed_writer *writer;
    pthread_t thread;
    uint32_t number;
    uint32_t count;
    bool stop; /* atomic */
};

static void *count_up(void *argument)
{
    struct worker *worker = argument;
    char name[16], text[32];
    snprintf(name, sizeof name, "t%u", worker->number);
    struct tbed_recorder *recorder = tbed_recorder_open(worker->writer, name);
    for (uint32_t i = 0; i < worker->count; i++) {
        if (i % 1000 == 0)
            tbed_string_intern(worker->writer, text,
                               (size_t)snprintf(text, sizeof text, "%u %u", i, worker->number % 3));
        tbed_span_begin(recorder, i);
        tbed_span_end(recorder);
    }
    tbed_recorder_close(recorder);
    return NULL;
}

static void start_workers(struct tbed_writer *writer, void *(*run)(void *), struct worker *workers)
{
    for (uint32_t i = 0; i < THREADS; i++) {
        workers[i].writer = writer;
        workers[i].number = i;
        assert_int_equal(pthread_create(&workers[i].thread, NULL, run, &workers[i]), 0);
    }
}

static void join_workers(struct worker *workers)
{
    for (uint32_t i = 0; i < THREADS; i++)
        pthread_join(workers[i].thread, NULL);
}

static void await_count(const struct worker *workers, uint32_t count)
{
    for (uint32_t i = 0; i < THREADS; i++)
        while (__atomic_load_n(&workers[i].count, __ATOMIC_RELAXED) < count)
            usleep(100);
}

static void stop_workers(struct worker *workers)
{
    for (uint32_t i = 0; i < THREADS; i++)
        __atomic_store_n(&workers[i].stop, true, __ATOMIC_RELAXED);
    join_workers(workers);
}

static void assert_counts_up(struct tbed_reader *reader, uint32_t stream, uint32_t count)
{
    size_t found;
    struct tbed_event *events = test_events(reader, stream, &found);
    assert_int_equal(found, 2 * (size_t)count);
    for (size_t i = 0; i < found; i++) {
        assert_int_equal(events[i].type, i % 2 == 0 ? TBED_EVENT_BEGIN : TBED_EVENT_END);
        assert_int_equal(events[i].id, i / 2);
        assert_true(i == 0 || events[i].tick >= events[i - 1].tick);
    }
    free(events);
}

static void all_events_of_all_threads_are_there(void **state)
{
    (void)state;
    const char *path = test_path("threads.tbed");
    struct worker workers[THREADS] = {{0}};
    char name[16];
    for (int helper = 0; helper < 2; helper++) {
        struct tbed_writer_options options = {.no_helper = helper == 0};
        struct tbed_writer *writer = test_writer_open(path, &options);
        for (uint32_t i = 0; i < THREADS; i++)
            workers[i].count = 60000 + i;
        start_workers(writer, count_up, workers);
        join_workers(workers);
        tbed_writer_close(writer);
        struct tbed_reader *reader = test_reader_open(path, true);
        for (uint32_t i = 0; i < THREADS; i++) {
            snprintf(name, sizeof name, "t%u", i);
            assert_counts_up(reader, test_stream_named(reader, name), workers[i].count);
        }
        assert_int_equal(test_drop_count(reader), 0);
        tbed_reader_close(reader);
    }
}

static void *record_until_told(void *argument)
{
    struct worker *worker = argument;
    char name[16];
    snprintf(name, sizeof name, "t%u", worker->number);
    struct tbed_recorder *recorder = tbed_recorder_open(worker->writer, name);
    for (uint32_t i = 0; !__atomic_load_n(&worker->stop, __ATOMIC_RELAXED); i++) {
        tbed_span_begin(recorder, i);
        tbed_counter_record_i64(recorder, 1, i);
        tbed_span_end(recorder);
        __atomic_store_n(&worker->count, i, __ATOMIC_RELAXED);
    }
    return NULL;
}

static void *give_until_told(void *argument)
{
    struct worker *worker = argument;
    struct tbed_recorder *recorder = tbed_recorder_open_given(worker->writer, NULL, worker->number);
    struct tbed_given_event event = {.type = TBED_GIVEN_SPAN, .category = 1};
    while (!__atomic_load_n(&worker->stop, __ATOMIC_RELAXED)) {
        event.tick = worker->count * 7;
        tbed_event_record_given(recorder, &event);
        __atomic_fetch_add(&worker->count, 1, __ATOMIC_RELAXED);
    }
    return NULL;
}

/* tbed_writer_close() against threads at full speed: the file is clean, and nothing is written into it later. */
static void close_while(void *(*run)(void *), bool given_ticks)
{
    const char *path = test_path("closing.tbed");
    for (int round = 0; round < 10; round++) {
        struct worker workers[THREADS] = {{0}};
        struct tbed_writer_options options = {.no_helper = round % 2 == 0, .given_ticks = given_ticks};
        struct tbed_writer *writer = test_writer_open(path, &options);
        start_workers(writer, run, workers);
        await_count(workers, 100);
        tbed_writer_close(writer);
        usleep(2000);
        stop_workers(workers);
        tbed_reader_close(test_reader_open(path, true));
    }
}

static void closing_while_threads_record_leaves_a_clean_file(void **state)
{
    (void)state;
    close_while(record_until_told, false);
}

static void closing_while_threads_give_leaves_a_clean_file(void **state)
{
    (void)state;
    close_while(give_until_told, true);
}

static void *open_and_close_recorders(void *argument)
{
    struct worker *worker = argument;
    for (uint32_t i = 0; i < 200; i++) {
        struct tbed_recorder *recorder = tbed_recorder_open(worker->writer, "short");
        for (uint32_t k = 0; k < 10; k++)
            tbed_instant_record(recorder, k);
        tbed_recorder_name_set(recorder, "renamed");
        tbed_recorder_close(recorder);
    }
    return NULL;
}

static void short_threads_come_and_go(void **state)
{
    (void)state;
    const char *path = test_path("short.tbed");
    struct worker workers[THREADS] = {{0}};
    struct tbed_writer *writer = test_writer_open(path, NULL);
    start_workers(writer, open_and_close_recorders, workers);
    join_workers(workers);
    tbed_writer_close(writer);
    struct tbed_reader *reader = test_reader_open(path, true);
    struct tbed_stream_info stream;
    size_t streams = 0;
    for (; tbed_stream_get(reader, streams, &stream); streams++)
        assert_text(reader, stream.name_id, "renamed");
    assert_int_equal(streams, THREADS * 200);
    tbed_reader_close(reader);
}

#define TEXTS       5000u /* the table grows six times meanwhile */
#define LONG_NBYTES 70000u

static uint32_t ids_of[THREADS][TEXTS];

/* Texts of one byte to 40, one that is no UTF-8, one too long for a copy. */
static uint32_t intern_one(struct tbed_writer *writer, uint32_t number)
{
    static char long_text[LONG_NBYTES];
    char text[64];
    int nbytes =
        snprintf(text, sizeof text, "%u%.*s", number, (int)(number % 32), "................................");
    if (number == 1)
        return tbed_string_intern(writer, "\xFF", 1);
    if (number == 2)
        return tbed_string_intern(writer, long_text, sizeof long_text);
    return tbed_string_intern(writer, text, (size_t)nbytes);
}

static void *intern_all(void *argument)
{
    struct worker *worker = argument;
    uint32_t *ids = ids_of[worker->number];
    for (uint32_t i = 0; i < TEXTS; i++) {
        uint32_t text = worker->number % 2 == 0 ? i : TEXTS - 1 - i;
        ids[text] = intern_one(worker->writer, text);
        __atomic_fetch_add(&worker->count, intern_one(worker->writer, text) != ids[text], __ATOMIC_RELAXED);
    }
    return NULL;
}

static void a_text_has_one_id_whoever_asks_first(void **state)
{
    (void)state;
    const char *path = test_path("intern.tbed");
    struct worker workers[THREADS] = {{0}};
    struct tbed_writer *writer = test_writer_open(path, NULL);
    start_workers(writer, intern_all, workers);
    join_workers(workers);
    tbed_writer_close(writer);
    assert_int_equal(intern_one(writer, 3), TBED_ID_INVALID);
    tbed_writer_free(writer);
    struct tbed_reader *reader = test_reader_open(path, true);
    for (uint32_t i = 0; i < THREADS; i++) {
        assert_int_equal(workers[i].count, 0);
        assert_memory_equal(ids_of[i], ids_of[0], sizeof ids_of[0]);
    }
    assert_text(reader, ids_of[0][0], "0");
    assert_text(reader, ids_of[0][1], "\\xFF");
    assert_text(reader, ids_of[0][37], "37.....");
    for (uint32_t i = 1; i < TEXTS; i++)
        assert_int_not_equal(ids_of[0][i], ids_of[0][i - 1]);
    tbed_reader_close(reader);
}

static void *intern_until_told(void *argument)
{
    struct worker *worker = argument;
    while (!__atomic_load_n(&worker->stop, __ATOMIC_RELAXED)) {
        uint32_t number = __atomic_fetch_add(&worker->count, 1, __ATOMIC_RELAXED);
        uint32_t id = intern_one(worker->writer, 3 + number % 1000);
        if (id != TBED_ID_INVALID && id <= TBED_ID_INVALID)
            abort();
    }
    return NULL;
}

/* The table's memory is given back while threads are reading it. */
static void closing_while_threads_intern_is_safe(void **state)
{
    (void)state;
    const char *path = test_path("intern_close.tbed");
    for (int round = 0; round < 5; round++) {
        struct worker workers[THREADS] = {{0}};
        struct tbed_writer *writer = test_writer_open(path, NULL);
        start_workers(writer, intern_until_told, workers);
        await_count(workers, 1500);
        tbed_writer_close(writer);
        assert_int_equal(intern_one(writer, 3), TBED_ID_INVALID);
        stop_workers(workers);
        tbed_reader_close(test_reader_open(path, true));
        tbed_writer_free(writer);
    }
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(a_text_has_one_id_whoever_asks_first),
        cmocka_unit_test(closing_while_threads_intern_is_safe),
        cmocka_unit_test(all_events_of_all_threads_are_there),
        cmocka_unit_test(closing_while_threads_record_leaves_a_clean_file),
        cmocka_unit_test(closing_while_threads_give_leaves_a_clean_file),
        cmocka_unit_test(short_threads_come_and_go),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
