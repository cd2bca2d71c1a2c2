/*
 * One reader, many threads: all of them check blocks lazily, resolve names and report damage at the same time.
 *
 * SPDX-License-Identifier: MIT
 */
#include "reader/tests/core/trace_builder.h"

#include <pthread.h>
#include <setjmp.h>
#include <stdarg.h>

#include <cmocka.h>

enum { THREADS = 8, PAGES = 40, BAD_PAGES = 4, EVENTS_PER_PAGE = 100 };

struct worker {
    pthread_t thread;
    struct tbed_reader *reader;
    uint32_t name_id;
    size_t event_count;
    size_t good_name_count;
};

static void *work(void *argument)
{
    struct worker *worker = argument;
    char buffer[64];
    worker->event_count = trace_events(worker->reader, 0, NULL, 0);
    for (int i = 0; i < 200; i++)
        worker->good_name_count +=
            tbed_string_resolve(worker->reader, worker->name_id, buffer, sizeof buffer, NULL) == TBED_OK;
    for (size_t i = 0; i < tbed_event_block_count(worker->reader); i++) {
        struct tbed_block block;
        tbed_event_block_get(worker->reader, i, &block);
    }
    return NULL;
}

static void reader_is_shared_by_threads(void **state)
{
    struct trace trace = trace_make(2 + PAGES);
    struct trace_block strings = trace_block_begin(&trace, 1, TBED_BLOCK_STRINGS, 1, 0);
    struct worker workers[THREADS];
    (void)state;
    uint32_t id = trace_string(&strings, "name");
    id = trace_references(&strings, (uint32_t[]){id, id}, 2);
    trace_seal(&strings);
    for (uint32_t i = 0; i < PAGES; i++) {
        struct trace_block block = trace_block_begin(&trace, 2 + i, TBED_BLOCK_EVENTS, 1 + i % 5, i / 5);
        for (uint32_t n = 0; n < EVENTS_PER_PAGE; n++)
            trace_event(&block, TBED_TAG_INSTANT, id, n);
        trace_seal(&block);
        if (i < BAD_PAGES)
            block.bytes[64] ^= 1;
    }
    struct tbed_reader *reader = trace_open(&trace);
    for (size_t i = 0; i < THREADS; i++) {
        workers[i] = (struct worker){.reader = reader, .name_id = id};
        assert_int_equal(pthread_create(&workers[i].thread, NULL, work, &workers[i]), 0);
    }
    for (size_t i = 0; i < THREADS; i++) {
        pthread_join(workers[i].thread, NULL);
        assert_int_equal(workers[i].event_count, (PAGES - BAD_PAGES) * EVENTS_PER_PAGE);
        assert_int_equal(workers[i].good_name_count, 200);
    }
    assert_int_equal(tbed_damage_count(reader), BAD_PAGES); /* each once, whichever thread came first */
    tbed_reader_close(reader);
    trace_free(&trace);
}

int main(void)
{
    const struct CMUnitTest tests[] = {cmocka_unit_test(reader_is_shared_by_threads)};
    return cmocka_run_group_tests(tests, NULL, NULL);
}
