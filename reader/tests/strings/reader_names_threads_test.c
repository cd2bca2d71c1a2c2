/*
 * Many threads request names while the table grows: each id has one text, at one address, for all threads.
 *
 * SPDX-License-Identifier: MIT
 */
#include "reader/tests/strings/string_table.h"

#include <pthread.h>
#include <stdlib.h>

enum { THREADS = 4, NAMES = 5000, PASSES = 4 };

struct worker {
    pthread_t thread;
    const struct tbed_reader *reader;
    const uint32_t *ids;
    const char *texts[NAMES];
    size_t wrong_count;
};

static void ask(struct worker *worker, int i)
{
    struct tbed_name name, label;
    char text[32];
    snprintf(text, sizeof text, "name %d name %d", i, i);
    if (tbed_name_get(worker->reader, worker->ids[i], &name) != TBED_OK || strcmp(name.text, text) != 0 ||
        (worker->texts[i] != NULL && worker->texts[i] != name.text))
        worker->wrong_count++;
    worker->texts[i] = name.text;
    if (tbed_event_label(worker->reader, worker->ids[i], &label) != TBED_OK ||
        memcmp(label.text, text, label.nbytes) != 0)
        worker->wrong_count++;
}

static void *work(void *argument)
{
    struct worker *worker = argument;
    for (int pass = 0; pass < PASSES; pass++)
        for (int i = 0; i < NAMES; i++)
            ask(worker, pass % 2 == 0 ? i : NAMES - 1 - i);
    return NULL;
}

static void names_are_shared_by_threads(void **state)
{
    struct table table;
    struct worker *workers = calloc(THREADS, sizeof *workers);
    uint32_t *ids = calloc(NAMES, sizeof *ids);
    char text[16];
    (void)state;
    table.trace = trace_make_paged(3, 1 << 20);
    table.strings = trace_block_begin(&table.trace, 1, TBED_BLOCK_STRINGS, 1, 0);
    table.records = trace_block_begin(&table.trace, 2, TBED_BLOCK_RECORDS, 1, 0);
    uint32_t space = trace_string(&table.strings, " ");
    for (int i = 0; i < NAMES; i++) {
        snprintf(text, sizeof text, "name %d", i);
        uint32_t name = trace_string(&table.strings, text);
        ids[i] = trace_references(&table.strings, (uint32_t[]){name, space, name}, 3);
    }
    table_open(&table);
    for (int i = 0; i < THREADS; i++) {
        workers[i].reader = table.reader;
        workers[i].ids = ids;
        assert_int_equal(pthread_create(&workers[i].thread, NULL, work, &workers[i]), 0);
    }
    for (int i = 0; i < THREADS; i++) {
        pthread_join(workers[i].thread, NULL);
        assert_int_equal(workers[i].wrong_count, 0);
        assert_memory_equal(workers[i].texts, workers[0].texts, sizeof workers[0].texts);
    }
    table_close(&table);
    free(workers);
    free(ids);
}

int main(void)
{
    const struct CMUnitTest tests[] = {cmocka_unit_test(names_are_shared_by_threads)};
    return cmocka_run_group_tests(tests, NULL, NULL);
}
