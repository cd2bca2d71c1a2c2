/*
 * Makes statistics: workers take chunks from the last to the first, and the worker that finishes the next one in
 * that order merges it.
 *
 * SPDX-License-Identifier: MIT
 */
#include "reader/analysis/statistics/maker.h"
#include "reader/analysis/shared/counts.h"
#include "reader/analysis/statistics/async_pass.h"
#include "reader/analysis/statistics/statistics_rows.h"
#include "reader/core/base/workers.h"
#include "reader/core/system/system.h"

#include <stdio.h>
#include <stdlib.h>
#include <sys/mman.h>

/* How many chunks may wait to be merged, per worker. */
#define WINDOW_PER_WORKER 4u

/* ---- In order ---- */

static struct stat_result *result_of(struct stat_maker *maker, size_t order)
{
    return &maker->results[order % maker->window];
}

/* Waits until there is room for chunk 'order', counted from the end. */
static struct stat_result *take_result(struct stat_maker *maker, size_t order)
{
    pthread_mutex_lock(&maker->lock);
    while (order - maker->merged_count >= maker->window)
        pthread_cond_wait(&maker->moved, &maker->lock);
    pthread_mutex_unlock(&maker->lock);
    struct stat_result *result = result_of(maker, order);
    result->part_count = 0;
    tbed_number_map_clear(&result->by_thread);
    return result;
}

/* The chunk is done: if it is its turn, merges it and all chunks that have waited for it. */
static void give_result(struct stat_maker *maker, struct stat_result *result)
{
    pthread_mutex_lock(&maker->lock);
    result->is_ready = true;
    bool moved = false;
    for (struct stat_result *next; (next = result_of(maker, maker->merged_count))->is_ready; moved = true) {
        tbed_stat_merge_take(&maker->merge, next);
        next->is_ready = false;
        maker->merged_count++;
    }
    if (moved)
        pthread_cond_broadcast(&maker->moved);
    pthread_mutex_unlock(&maker->lock);
}

static void take_chunks(struct tbed_work *work, unsigned number)
{
    struct stat_maker *maker = work->context;
    struct stat_worker *worker = &maker->workers[number];
    size_t order;
    while (tbed_work_take(work, &order)) {
        size_t chunk = work->item_count - 1 - order;
        worker->result = take_result(maker, order);
        worker->part = NULL;
        worker->chunk_marks = 0;
        if (tbed_is_cancelled(maker->options->is_cancelled))
            __atomic_store_n(&maker->is_cancelled, true, __ATOMIC_RELAXED);
        else
            maker->source->take(worker, chunk);
        maker->chunk_marks[chunk] = worker->chunk_marks;
        give_result(maker, worker->result);
    }
}

static void recount_chunks(struct tbed_work *work, unsigned number)
{
    struct stat_maker *maker = work->context;
    size_t chunk;
    while (tbed_work_take(work, &chunk))
        if (maker->chunk_marks[chunk] & STAT_CHUNK_HAS_HITS)
            maker->source->recount(&maker->workers[number], chunk);
}

/* ---- Workers ---- */

static bool open_cells(const struct stat_maker *maker, struct stat_cells *cells)
{
    cells->resolution = maker->source->resolution;
    cells->has_histograms = !maker->options->skip_percentiles;
    return tbed_stat_grow_cells(cells, 0);
}

static bool open_worker(struct stat_worker *worker, struct stat_maker *maker)
{
    worker->maker = maker;
    worker->context = maker->source->context;
    worker->ids = maker->ids;
    worker->id_slots = calloc(STAT_ID_SLOTS, sizeof *worker->id_slots);
    return worker->id_slots != NULL && open_cells(maker, &worker->cells);
}

static void close_worker(struct stat_worker *worker)
{
    tbed_stat_cells_free(&worker->cells);
    tbed_stat_messages_free(&worker->messages);
    free(worker->id_slots);
    free(worker->recounts);
    if (worker->scratch != NULL)
        worker->free_scratch(worker->scratch);
    tbed_stat_marks_free(&worker->marks);
}

#define ROWS_NBYTES   ((size_t)(STAT_LEAF_MAX + 1) * STAT_LEAF_IDS * sizeof(uint32_t))
#define LEAVES_NBYTES ((size_t)STAT_LEAF_INDEX * 8 * sizeof(uint16_t))

/* Of this much memory only touched pages are taken. */
static bool open_ids(struct stat_ids *ids)
{
    void *memory = mmap(NULL, ROWS_NBYTES + LEAVES_NBYTES, PROT_READ | PROT_WRITE,
                        MAP_PRIVATE | MAP_ANONYMOUS | MAP_NORESERVE, -1, 0);
    if (memory == MAP_FAILED)
        return false;
    ids->rows = memory;
    ids->leaves = (uint16_t *)((char *)memory + ROWS_NBYTES);
    return true;
}

static void close_ids(struct stat_ids *ids)
{
    if (ids->rows != NULL)
        munmap(ids->rows, ROWS_NBYTES + LEAVES_NBYTES);
    *ids = (struct stat_ids){.leaves = NULL};
}

static bool open_maker(struct stat_maker *maker, const struct stat_source *source,
                       const struct tbed_analysis_options *options)
{
    maker->source = source;
    maker->options = options;
    pthread_mutex_init(&maker->lock, NULL);
    pthread_cond_init(&maker->moved, NULL);
    maker->worker_count = tbed_worker_count(options->thread_count, source->chunk_count);
    maker->window = (size_t)maker->worker_count * WINDOW_PER_WORKER;
    maker->workers = calloc(maker->worker_count, sizeof *maker->workers);
    maker->results = calloc(maker->window, sizeof *maker->results);
    maker->chunk_marks = calloc(source->chunk_count + 1, 1);
    if (!tbed_stat_labels_open(&maker->labels, source) || !open_ids(&maker->ids) || maker->workers == NULL ||
        maker->results == NULL || maker->chunk_marks == NULL || !open_cells(maker, &maker->merge.cells))
        return false;
    for (unsigned i = 0; i < maker->worker_count; i++)
        if (!open_worker(&maker->workers[i], maker))
            return false;
    return true;
}

static void close_results(struct stat_maker *maker)
{
    for (size_t i = 0; maker->results != NULL && i < maker->window; i++) {
        struct stat_result *result = &maker->results[i];
        for (size_t k = 0; k < result->part_room; k++) {
            free(result->parts[k].spans);
            free(result->parts[k].roots);
        }
        free(result->parts);
        tbed_number_map_free(&result->by_thread);
    }
    free(maker->results);
}

static void close_maker(struct stat_maker *maker)
{
    for (unsigned i = 0; maker->workers != NULL && i < maker->worker_count; i++)
        close_worker(&maker->workers[i]);
    free(maker->workers);
    close_results(maker);
    close_ids(&maker->ids);
    free(maker->chunk_marks);
    tbed_stat_merge_free(&maker->merge);
    tbed_stat_followers_free(&maker->followers);
    tbed_stat_labels_close(&maker->labels);
    pthread_cond_destroy(&maker->moved);
    pthread_mutex_destroy(&maker->lock);
}

/* ---- Sums ---- */

/* There may be millions of cells: those that have been added are freed at once. */
static void use_up(struct stat_cells *cells, struct stat_cells *from)
{
    tbed_stat_cells_add(cells, from);
    tbed_stat_cells_free(from);
    *from = (struct stat_cells){.is_out_of_memory = false};
}

/* Adds everything to worker 0. */
static bool add_workers(struct stat_maker *maker)
{
    struct stat_worker *first = &maker->workers[0];
    bool fine = !maker->merge.out_of_memory && !first->out_of_memory;
    first->totals.overlap_count += maker->merge.overlap_count;
    use_up(&first->cells, &maker->merge.cells);
    for (unsigned i = 1; i < maker->worker_count && fine; i++) {
        struct stat_worker *worker = &maker->workers[i];
        TBED_COUNTS_ADD(&first->totals, &worker->totals);
        use_up(&first->cells, &worker->cells);
        fine = !worker->out_of_memory && tbed_stat_marks_add(&first->marks, &worker->marks) &&
               tbed_stat_messages_add(&first->messages, &worker->messages);
    }
    return fine && !first->cells.is_out_of_memory;
}

/* ---- Cache hits of labels that have both forms ---- */

static uint64_t hit_count_of(const struct stat_maker *maker, uint32_t row)
{
    const struct stat_extra *extra = tbed_stat_extra_known(&maker->workers[0].cells, row);
    return extra != NULL ? extra->hit_count : 0;
}

static bool needs_recount(const struct stat_maker *maker)
{
    const struct stat_followers *followers = &maker->followers;
    for (uint32_t row = 0; row < followers->row_count; row++)
        if (followers->by_row[row].count > 0 && hit_count_of(maker, row) > 0)
            return true;
    return false;
}

static bool recount_hits(struct stat_maker *maker)
{
    struct stat_worker *first = &maker->workers[0];
    struct stat_followers *followers = &maker->followers;
    uint32_t row_count = maker->labels.count;
    followers->marks = first->marks;
    first->marks = (struct stat_marks){0};
    if (!tbed_stat_followers_make(followers, row_count))
        return false;
    if (!needs_recount(maker))
        return true;
    for (unsigned i = 0; i < maker->worker_count; i++)
        if ((maker->workers[i].recounts = calloc(row_count, sizeof(uint64_t))) == NULL)
            return false;
    struct tbed_work work = {
        .item_count = maker->source->chunk_count, .run = recount_chunks, .context = maker};
    tbed_work_run(&work, maker->worker_count);
    for (unsigned i = 0; i < maker->worker_count; i++)
        if (maker->workers[i].out_of_memory)
            return false;
    for (uint32_t row = 0; row < row_count; row++) {
        if (followers->by_row[row].count == 0)
            continue;
        struct stat_extra *extra = tbed_stat_extra(&first->cells, row);
        if (extra == NULL)
            return false;
        extra->hit_count = 0;
        for (unsigned i = 0; i < maker->worker_count; i++)
            extra->hit_count += maker->workers[i].recounts[row];
    }
    return true;
}

/* For a source that is one stream: the lowest of all labels' last QueryCacheHitCount, by event number. */
uint64_t tbed_stat_first_count(const struct stat_worker *worker)
{
    return worker->maker->followers.first_order;
}

/* ---- The entire job ---- */

/* Resets everything except the labels. */
static void clear(struct stat_maker *maker)
{
    for (unsigned i = 0; i < maker->worker_count; i++) {
        struct stat_worker *worker = &maker->workers[i];
        tbed_stat_cells_clear(&worker->cells);
        tbed_stat_messages_clear(&worker->messages);
        tbed_stat_marks_free(&worker->marks);
        worker->marks = (struct stat_marks){0};
        worker->totals = (struct tbed_statistics_totals){0};
    }
    tbed_stat_merge_clear(&maker->merge);
    maker->merged_count = 0;
}

static void take_all(struct stat_maker *maker)
{
    const struct stat_source *source = maker->source;
    for (bool again = true; again;
         again = source->must_repeat != NULL && source->must_repeat(source->context)) {
        clear(maker);
        struct tbed_work work = {.item_count = source->chunk_count, .run = take_chunks, .context = maker};
        tbed_work_run(&work, maker->worker_count);
    }
}

/* Ends the spans of all streams. */
static void count_streams(struct stat_maker *maker)
{
    struct tbed_statistics_totals *totals = &maker->workers[0].totals;
    totals->span_ticks = tbed_stat_merge_finish(&maker->merge);
    totals->stream_count = maker->merge.stream_count;
}

static bool run(struct stat_maker *maker, struct tbed_statistics *statistics)
{
    struct stat_worker *first = &maker->workers[0];
    struct stat_cells asyncs = {0};
    take_all(maker);
    if (maker->is_cancelled)
        return false;
    count_streams(maker);
    bool fine = open_cells(maker, &asyncs) && add_workers(maker) && recount_hits(maker) &&
                tbed_async_pass(first, &asyncs) && tbed_stat_labels_name(&maker->labels);
    statistics->totals = first->totals;
    if (maker->source->reader == NULL)
        statistics->totals.whole_span_count = first->totals.span_count;
    if (maker->source->unit != NULL)
        snprintf(statistics->unit, sizeof statistics->unit, "%s", maker->source->unit);
    close_ids(&maker->ids);
    fine = fine && tbed_stat_make_rows(statistics, maker, &asyncs);
    tbed_stat_cells_free(&asyncs);
    return fine;
}

enum tbed_status tbed_stat_run(const struct stat_source *source, const struct tbed_analysis_options *options,
                               struct tbed_statistics **statistics_ret)
{
    struct stat_maker maker = {0};
    struct tbed_statistics *statistics = calloc(1, sizeof *statistics);
    bool fine = statistics != NULL && open_maker(&maker, source, options) && run(&maker, statistics);
    bool is_cancelled = maker.is_cancelled;
    close_maker(&maker);
    if (fine)
        *statistics_ret = statistics;
    else
        tbed_statistics_close(statistics);
    return fine ? TBED_OK : is_cancelled ? TBED_ERR_CANCELLED : TBED_ERR_MEMORY;
}
