/*
 * The making of a profile: workers take chunks from the last to the first, whoever is done with the one that is
 * next in that order puts it to those before.
 *
 * SPDX-License-Identifier: MIT
 */
#include "reader/analysis/profile/profile_maker.h"
#include "reader/analysis/profile/profile_rows.h"
#include "reader/analysis/shared/workers.h"

#include <stdio.h>
#include <stdlib.h>

#define LEAF_COUNT (PROFILE_TABLE_IDS >> PROFILE_LEAF_BITS)

/* How many chunks may wait, a worker. */
#define WINDOW_PER_WORKER 4u

/* ---- In order ---- */

static struct profile_result *result_of(struct profile_maker *maker, size_t order)
{
    return &maker->results[order % maker->window];
}

/* Waits until there is room for the chunk that is 'order'th from the end. */
static struct profile_result *take_result(struct profile_maker *maker, size_t order)
{
    pthread_mutex_lock(&maker->lock);
    while (order - maker->merged_count >= maker->window)
        pthread_cond_wait(&maker->moved, &maker->lock);
    pthread_mutex_unlock(&maker->lock);
    struct profile_result *result = result_of(maker, order);
    result->part_count = 0;
    tbed_number_map_clear(&result->by_thread);
    return result;
}

/* The chunk is done: merges it and all that have waited for it, if it is their turn. */
static void give_result(struct profile_maker *maker, struct profile_result *result)
{
    pthread_mutex_lock(&maker->lock);
    result->is_ready = true;
    bool moved = false;
    for (struct profile_result *next; (next = result_of(maker, maker->merged_count))->is_ready;
         moved = true) {
        tbed_profile_merge_take(&maker->merge, next);
        next->is_ready = false;
        maker->merged_count++;
    }
    if (moved)
        pthread_cond_broadcast(&maker->moved);
    pthread_mutex_unlock(&maker->lock);
}

static void take_chunks(struct tbed_work *work, unsigned number)
{
    struct profile_maker *maker = work->context;
    struct profile_worker *worker = &maker->workers[number];
    size_t order;
    while (tbed_work_take(work, &order)) {
        size_t chunk = work->item_count - 1 - order;
        worker->result = take_result(maker, order);
        worker->part = NULL;
        worker->chunk_has_hits = false;
        maker->source->take(worker, chunk);
        maker->chunk_has_hits[chunk] = worker->chunk_has_hits;
        give_result(maker, worker->result);
    }
}

static void recount_chunks(struct tbed_work *work, unsigned number)
{
    struct profile_maker *maker = work->context;
    size_t chunk;
    while (tbed_work_take(work, &chunk))
        if (maker->chunk_has_hits[chunk])
            maker->source->recount(&maker->workers[number], chunk);
}

/* ---- Workers ---- */

static bool open_worker(struct profile_worker *worker, struct profile_maker *maker)
{
    worker->maker = maker;
    worker->context = maker->source->context;
    worker->id_leaves = maker->id_leaves;
    worker->id_slots = calloc(PROFILE_ID_SLOTS, sizeof *worker->id_slots);
    return worker->id_slots != NULL && tbed_profile_grow_cells(&worker->cells, 0);
}

static void close_worker(struct profile_worker *worker)
{
    free(worker->cells.cells);
    free(worker->id_slots);
    free(worker->recounts);
    free(worker->scratch);
    tbed_profile_marks_free(&worker->marks);
}

static bool open_maker(struct profile_maker *maker, const struct profile_source *source,
                       unsigned thread_count)
{
    maker->source = source;
    pthread_mutex_init(&maker->lock, NULL);
    pthread_cond_init(&maker->moved, NULL);
    maker->worker_count = tbed_worker_count(thread_count, source->chunk_count);
    maker->window = (size_t)maker->worker_count * WINDOW_PER_WORKER;
    maker->id_leaves = calloc(LEAF_COUNT, sizeof *maker->id_leaves); /* only what is touched is memory */
    maker->workers = calloc(maker->worker_count, sizeof *maker->workers);
    maker->results = calloc(maker->window, sizeof *maker->results);
    maker->chunk_has_hits = calloc(source->chunk_count + 1, 1);
    if (!tbed_profile_labels_open(&maker->labels, source) || maker->id_leaves == NULL ||
        maker->workers == NULL || maker->results == NULL || maker->chunk_has_hits == NULL ||
        !tbed_profile_grow_cells(&maker->merge.cells, 0))
        return false;
    for (unsigned i = 0; i < maker->worker_count; i++)
        if (!open_worker(&maker->workers[i], maker))
            return false;
    return true;
}

static void close_results(struct profile_maker *maker)
{
    for (size_t i = 0; maker->results != NULL && i < maker->window; i++) {
        struct profile_result *result = &maker->results[i];
        for (size_t k = 0; k < result->part_room; k++) {
            free(result->parts[k].spans);
            free(result->parts[k].roots);
        }
        free(result->parts);
        tbed_number_map_free(&result->by_thread);
    }
    free(maker->results);
}

static void close_leaves(struct profile_maker *maker)
{
    uint64_t left = maker->id_leaf_count;
    for (size_t i = 0; maker->id_leaves != NULL && i < LEAF_COUNT && left > 0; i++)
        if (maker->id_leaves[i] != NULL) {
            free(maker->id_leaves[i]);
            left--;
        }
    free(maker->id_leaves);
}

static void close_maker(struct profile_maker *maker)
{
    for (unsigned i = 0; maker->workers != NULL && i < maker->worker_count; i++)
        close_worker(&maker->workers[i]);
    free(maker->workers);
    close_results(maker);
    close_leaves(maker);
    free(maker->chunk_has_hits);
    tbed_profile_merge_free(&maker->merge);
    tbed_profile_followers_free(&maker->followers);
    tbed_profile_labels_close(&maker->labels);
    pthread_cond_destroy(&maker->moved);
    pthread_mutex_destroy(&maker->lock);
}

/* ---- Sums ---- */

/* Adds cells of spans; those of counters do not wrap around. */
static bool add_cells(struct profile_cells *into, const struct profile_cells *from)
{
    if (from->room > into->room && !tbed_profile_grow_cells(into, from->room - 1))
        return false;
    for (uint32_t i = 0; i < from->room; i++) {
        struct profile_cell *cell = &into->cells[i];
        bool is_span = i % PROFILE_KIND_COUNT < PROFILE_HIT;
        cell->total = is_span ? cell->total + from->cells[i].total
                              : tbed_profile_sum(cell->total, from->cells[i].total);
        cell->self += from->cells[i].self;
        cell->count += from->cells[i].count;
    }
    return true;
}

/* Every field is a count. */
static void add_counts(struct profile_counts *into, const struct profile_counts *from)
{
    into->events += from->events;
    into->spans += from->spans;
    into->instants += from->instants;
    into->counters += from->counters;
    into->inverted += from->inverted;
    into->overlaps += from->overlaps;
    into->unknown += from->unknown;
    into->open += from->open;
    into->lost += from->lost;
}

/* Everything into worker 0. */
static bool add_workers(struct profile_maker *maker)
{
    struct profile_worker *first = &maker->workers[0];
    bool fine = !maker->merge.out_of_memory && !first->out_of_memory;
    first->counts.overlaps += maker->merge.overlap_count;
    fine = fine && add_cells(&first->cells, &maker->merge.cells);
    for (unsigned i = 1; i < maker->worker_count && fine; i++) {
        const struct profile_worker *worker = &maker->workers[i];
        add_counts(&first->counts, &worker->counts);
        fine = !worker->out_of_memory && add_cells(&first->cells, &worker->cells) &&
               tbed_profile_marks_add(&first->marks, &worker->marks);
    }
    return fine && tbed_profile_grow_cells(&first->cells, maker->labels.count * PROFILE_KIND_COUNT);
}

/* ---- Cache hits, where a label has them both ways ---- */

static bool needs_recount(const struct profile_maker *maker)
{
    const struct profile_followers *followers = &maker->followers;
    for (uint32_t row = 0; row < followers->row_count; row++)
        if (followers->by_row[row].count > 0 &&
            maker->workers[0].cells.cells[row * PROFILE_KIND_COUNT + PROFILE_HIT].count > 0)
            return true;
    return false;
}

static bool recount_hits(struct profile_maker *maker)
{
    struct profile_worker *first = &maker->workers[0];
    struct profile_followers *followers = &maker->followers;
    uint32_t row_count = maker->labels.count;
    followers->marks = first->marks;
    first->marks = (struct profile_marks){0};
    if (!tbed_profile_followers_make(followers, row_count))
        return false;
    if (!needs_recount(maker))
        return true;
    for (unsigned i = 0; i < maker->worker_count; i++)
        if ((maker->workers[i].recounts = calloc(row_count, sizeof(uint64_t))) == NULL)
            return false;
    struct tbed_work work = {
        .item_count = maker->source->chunk_count, .run = recount_chunks, .context = maker};
    tbed_work_run(&work, maker->worker_count);
    for (uint32_t row = 0; row < row_count; row++) {
        if (followers->by_row[row].count == 0)
            continue;
        uint64_t *count = &first->cells.cells[row * PROFILE_KIND_COUNT + PROFILE_HIT].count;
        *count = 0;
        for (unsigned i = 0; i < maker->worker_count; i++)
            *count += maker->workers[i].recounts[row];
    }
    return true;
}

/* The number of the event that is the first label's last QueryCacheHitCount, for a source that is one stream. */
uint64_t tbed_profile_first_count(const struct profile_worker *worker)
{
    return worker->maker->followers.first_order;
}

static bool run(struct profile_maker *maker, struct tbed_profile *profile)
{
    struct tbed_work work = {.item_count = maker->source->chunk_count, .run = take_chunks, .context = maker};
    tbed_work_run(&work, maker->worker_count);
    uint64_t total_ticks = tbed_profile_merge_finish(&maker->merge);
    if (!add_workers(maker) || !recount_hits(maker) || !tbed_profile_labels_name(&maker->labels))
        return false;
    const struct profile_counts *counts = &maker->workers[0].counts;
    profile->totals.event_count = counts->events;
    profile->totals.span_count = counts->spans;
    profile->totals.instant_count = counts->instants;
    profile->totals.counter_count = counts->counters;
    profile->totals.total_ticks = total_ticks;
    profile->totals.stream_count = maker->merge.stream_count;
    profile->totals.inverted_count = counts->inverted;
    profile->totals.overlap_count = counts->overlaps;
    profile->totals.unknown_count = counts->unknown;
    profile->totals.open_count = counts->open;
    profile->totals.lost_count = counts->lost;
    profile->totals.counts = maker->source->counts;
    if (maker->source->counts)
        snprintf(profile->unit, sizeof profile->unit, "%s", maker->source->unit);
    return tbed_profile_make_rows(profile, &maker->labels, maker->workers[0].cells.cells);
}

enum tbed_status tbed_profile_run(const struct profile_source *source, unsigned thread_count,
                                  struct tbed_profile **profile_ret)
{
    struct profile_maker maker = {0};
    struct tbed_profile *profile = calloc(1, sizeof *profile);
    bool fine = open_maker(&maker, source, thread_count) && profile != NULL && run(&maker, profile);
    close_maker(&maker);
    if (fine)
        *profile_ret = profile;
    else
        tbed_profile_close(profile);
    return fine ? TBED_OK : TBED_ERR_MEMORY;
}
