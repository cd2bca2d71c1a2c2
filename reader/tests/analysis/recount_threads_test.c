/*
 * Cache hits that are counted again: a source that is not a trace has a worker run out of memory there, and nowhere else.
 *
 * SPDX-License-Identifier: MIT
 */
#include "reader/analysis/statistics/maker.h"

#include <pthread.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <string.h>
#include <tracebed/analysis.h>

#include <cmocka.h>

enum { HIT = 1, HIT_COUNT, QUERY };

static const char *const texts[] = {"", "QueryCacheHit", "QueryCacheHitCount", "a query"};

struct subject {
    pthread_barrier_t both; /* each worker counts one of the two chunks again */
    bool runs_out;
};

/* ---- Labels ---- */

struct walk {
    uint64_t id;
    bool is_over;
};

static enum tbed_status walk_start(const void *context, uint64_t id, struct tbed_label_walk *walk)
{
    (void)context;
    *(struct walk *)(void *)walk->space = (struct walk){.id = id};
    return TBED_OK;
}

static enum tbed_status walk_next(struct tbed_label_walk *walk, struct tbed_label_component *component_ret)
{
    struct walk *at = (struct walk *)(void *)walk->space;
    if (at->is_over)
        return TBED_END;
    at->is_over = true;
    *component_ret = (struct tbed_label_component){.text = texts[at->id], .nbytes = strlen(texts[at->id])};
    return TBED_OK;
}

/* ---- Events: a hit in each chunk, after a count of five in the first ---- */

static struct stat_place place_of(size_t chunk, uint64_t order)
{
    return (struct stat_place){.stream = 1, .order = 10 * chunk + order, .tick = 10 * chunk + order};
}

static void take(struct stat_worker *worker, size_t chunk)
{
    struct stat_value five = {5, 5};
    if (chunk == 0)
        tbed_stat_take_counter(worker, HIT_COUNT, QUERY, QUERY, &five, place_of(chunk, 1));
    tbed_stat_take_instant(worker, HIT, QUERY);
}

static void recount(struct stat_worker *worker, size_t chunk)
{
    struct subject *subject = (void *)(uintptr_t)worker->context;
    pthread_barrier_wait(&subject->both);
    if (subject->runs_out && worker != &worker->maker->workers[0])
        worker->out_of_memory = true;
    else
        tbed_stat_take_hit(worker, HIT, QUERY, place_of(chunk, 2));
}

static enum tbed_status run(struct subject *subject, struct tbed_statistics **statistics_ret)
{
    struct tbed_analysis_options options = {.size = sizeof options, .thread_count = 2};
    struct stat_source source = {.context = subject,
                                 .chunk_count = 2,
                                 .take = take,
                                 .recount = recount,
                                 .strings = {.walk_start = walk_start, .walk_next = walk_next},
                                 .resolution = 1};
    pthread_barrier_init(&subject->both, NULL, 2);
    enum tbed_status status = tbed_stat_run(&source, &options, statistics_ret);
    pthread_barrier_destroy(&subject->both);
    return status;
}

static void hits_after_the_last_count_are_added_to_it(void **state)
{
    struct subject subject = {.runs_out = false};
    struct tbed_statistics *statistics;
    (void)state;
    assert_int_equal(run(&subject, &statistics), TBED_OK);
    const struct tbed_span_row *row = tbed_statistics_span(statistics, 0);
    assert_non_null(row);
    assert_string_equal(row->name, texts[QUERY]);
    assert_int_equal(row->cache_hits, 7);
    tbed_statistics_close(statistics);
}

static void a_worker_without_memory_fails_the_whole(void **state)
{
    struct subject subject = {.runs_out = true};
    struct tbed_statistics *statistics = NULL;
    (void)state;
    assert_int_equal(run(&subject, &statistics), TBED_ERR_MEMORY);
    assert_null(statistics);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(hits_after_the_last_count_are_added_to_it),
        cmocka_unit_test(a_worker_without_memory_fails_the_whole),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
