/*
 * A series of files while threads record: every event is in one file, exactly, in order; spans that are open over the
 * border, names and stream numbers go on. Runs under TSan too.
 *
 * SPDX-License-Identifier: MIT
 */
#include "support.h"

#include <pthread.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
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
 * The value counts up by one. Around it spans grow deep and are ended again; some values are told a second time by an
 * instant with a new name.
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
    tbed_counter_i64(recorder, COUNTER_ID, (int64_t)i);
    if (i % 500 == 0) {
        size_t nbytes = (size_t)snprintf(text, sizeof text, "%u-%llu", worker->number, (unsigned long long)i);
        tbed_instant(recorder, tbed_string_intern(worker->writer, text, nbytes));
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

/* Short threads: a recorder each, three events in a cell, the last one's name interned just before. */
static void *come_and_go(void *argument)
{
    struct worker *worker = argument;
    for (uint64_t i = 0; !__atomic_load_n(&worker->stop, __ATOMIC_RELAXED); i++) {
        struct tbed_recorder *recorder = tbed_recorder_open(worker->writer, "short");
        tbed_span_begin(recorder, tbed_string_intern(worker->writer, "short work", 10));
        tbed_counter_i64(recorder, COUNTER_ID, (int64_t)i);
        tbed_span_end(recorder);
        tbed_recorder_close(recorder);
        __atomic_store_n(&worker->count, i + 1, __ATOMIC_RELEASE);
        usleep(500);
    }
    return NULL;
}

/* ---- The oracle: what each thread must have said, file after file ---- */

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

/* Streams of short threads have all their events in one file. */
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

/* 'by_call': tbed_rotate() again and again, else by size. */
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
        usleep(3000);
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

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(by_size_with_helper),
        cmocka_unit_test(by_size_without_helper),
        cmocka_unit_test(by_call_with_helper),
        cmocka_unit_test(by_call_without_helper),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
