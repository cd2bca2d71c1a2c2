/*
 * Scans of events and spans; see row_scan.h.
 *
 * SPDX-License-Identifier: MIT
 */
#include "reader/tables/rows/row_scan.h"

#include "reader/core/base/workers.h"

struct worker {
    struct row_scan *rows;
    void *own, *unit;
    bool has_block;
};

/* ---- Workers, for rows in any order ---- */

static void close_worker(void *argument)
{
    struct worker *worker = argument;
    const struct row_kind *kind = worker->rows->kind;
    if (worker->own != NULL)
        kind->close_worker(worker->own);
    if (worker->unit != NULL)
        kind->close_unit(worker->unit);
    free(worker->own);
    free(worker->unit);
    free(worker);
}

static void *open_worker(void *context)
{
    struct row_scan *rows = context;
    struct worker *worker = calloc(1, sizeof *worker);
    if (worker == NULL)
        return NULL;
    worker->rows = rows;
    worker->own = calloc(1, rows->kind->worker_nbytes);
    worker->unit = calloc(1, rows->kind->unit_nbytes);
    if (worker->own != NULL && worker->unit != NULL && rows->kind->open_worker(rows, worker->own))
        return worker;
    close_worker(worker);
    return NULL;
}

static enum tbed_status next_block(struct worker *worker)
{
    struct row_scan *rows = worker->rows;
    size_t at = __atomic_fetch_add(&rows->next_block, 1, __ATOMIC_RELAXED);
    if (at >= rows->block_count || tbed_scan_is_stopped(rows->scan))
        return TBED_END;
    enum tbed_status status = rows->kind->enter(worker->own, worker->unit, rows->blocks[at], false);
    worker->has_block = status == TBED_OK;
    return status == TBED_ERR_MEMORY || status == TBED_ERR_CANCELLED ? status : TBED_OK;
}

static enum tbed_status fill(void *argument, struct table_rows *rows)
{
    struct worker *worker = argument;
    const struct row_kind *kind = worker->rows->kind;
    uint64_t tick;
    unsigned taken = 0;
    while (!table_rows_is_full(rows) && !rows->is_out_of_memory) {
        if (worker->has_block) {
            kind->fill(worker->own, worker->unit, rows, SIZE_MAX);
            worker->has_block = kind->peek(worker->own, worker->unit, &tick);
            continue;
        }
        if (rows->count > 0 && taken++ == CREW_UNITS_MAX)
            break;
        enum tbed_status status = next_block(worker);
        if (status != TBED_OK)
            return status;
    }
    return TBED_OK;
}

/* ---- Opening ---- */

bool tbed_row_wanted_code(struct tbed_scan *scan, unsigned column, uint32_t *code_ret)
{
    const struct tbed_constraint *constraint = tbed_scan_equal(scan, column);
    uint32_t code;
    *code_ret = 0;
    if (constraint == NULL || !constraint->is_text)
        return true;
    if (!tbed_table_names_add(&scan->names, constraint->text, constraint->nbytes, &code))
        return false;
    *code_ret = code + 1;
    return true;
}

enum tbed_status tbed_row_scan_open(struct tbed_scan *scan, const struct row_kind *kind,
                                    const struct row_columns *columns, unsigned kinds, size_t own_nbytes)
{
    struct row_scan *rows = calloc(1, sizeof *rows + own_nbytes);
    if (rows == NULL)
        return TBED_ERR_MEMORY;
    scan->state = rows;
    rows->scan = scan;
    rows->kind = kind;
    rows->columns = columns;
    rows->ids = (struct row_range){INT64_MIN, INT64_MAX};
    rows->passages = calloc(tbed_event_block_count(scan->reader) + 1, sizeof *rows->passages);
    bool fine = rows->passages != NULL &&
                tbed_row_names_open(&rows->names, &scan->names, scan->reader, kinds) &&
                tbed_row_threads_open(&rows->threads, scan, &columns->thread);
    return fine ? TBED_OK : TBED_ERR_MEMORY;
}

static enum tbed_status make_nesting(struct row_scan *rows, uint64_t resolution, struct nesting **nesting_ret)
{
    struct tbed_scan *scan = rows->scan;
    uint32_t *streams = malloc((rows->threads.count + 1) * sizeof *streams);
    if (streams == NULL)
        return TBED_ERR_MEMORY;
    for (size_t i = 0; i < rows->threads.count; i++)
        streams[i] = rows->threads.items[i].stream;
    struct nesting_options options = {
        .reader = scan->reader,
        .filter = scan->options.filter,
        .is_cancelled = scan->options.is_cancelled,
        .thread_count = scan->options.thread_count,
        .resolution = resolution,
        .passages = rows->passages,
        .streams = streams,
        .stream_count = rows->threads.count,
    };
    enum tbed_status status = tbed_nesting_make(&options, nesting_ret);
    free(streams);
    return status;
}

enum tbed_status tbed_row_scan_nest(struct row_scan *rows, uint64_t resolution)
{
    struct tbed_tables *tables = rows->scan->tables;
    enum tbed_status status = TBED_OK;
    if (rows->scan->options.filter != NULL) {
        rows->owns_nesting = true;
        return make_nesting(rows, resolution, &rows->nesting);
    }
    pthread_mutex_lock(&tables->lock);
    if (tables->nesting == NULL)
        status = make_nesting(rows, resolution, &tables->nesting);
    tables->free_nesting = tbed_nesting_free;
    rows->nesting = tables->nesting;
    pthread_mutex_unlock(&tables->lock);
    return status;
}

enum tbed_status tbed_row_scan_start(struct row_scan *rows)
{
    if (!tbed_row_blocks_list(rows))
        return TBED_ERR_MEMORY;
    if (!rows->scan->options.any_order) {
        rows->merge = tbed_row_merge_open(rows);
        return rows->merge != NULL ? TBED_OK : TBED_ERR_MEMORY;
    }
    struct crew_job job = {.context = rows, .open = open_worker, .fill = fill, .close = close_worker};
    unsigned count = tbed_worker_count(rows->scan->options.thread_count, rows->block_count);
    rows->crew = tbed_crew_open(rows->scan, &job, count);
    return rows->crew != NULL ? TBED_OK : TBED_ERR_MEMORY;
}

static enum tbed_status next_in_order(struct row_scan *rows, struct tbed_batch *batch_ret)
{
    struct table_rows *batch = &rows->scan->rows;
    tbed_table_rows_clear(batch);
    enum tbed_status status = tbed_row_merge_fill(rows->merge, batch);
    if (batch->is_out_of_memory)
        return TBED_ERR_MEMORY;
    if (status != TBED_OK && status != TBED_END)
        return status;
    *batch_ret = (struct tbed_batch){.row_count = batch->count, .columns = batch->values};
    return batch->count > 0 ? TBED_OK : TBED_END;
}

enum tbed_status tbed_row_scan_next(struct tbed_scan *scan, struct tbed_batch *batch_ret)
{
    struct row_scan *rows = scan->state;
    enum tbed_status status =
        rows->crew != NULL ? tbed_crew_next(rows->crew, batch_ret) : next_in_order(rows, batch_ret);
    if (status == TBED_END && tbed_filter_has_failed(scan->options.filter))
        return TBED_ERR_MEMORY;
    return status;
}

void tbed_row_scan_close(struct tbed_scan *scan)
{
    struct row_scan *rows = scan->state;
    if (rows == NULL)
        return;
    tbed_crew_close(rows->crew);
    tbed_row_merge_close(rows->merge);
    if (rows->owns_nesting)
        tbed_nesting_free(rows->nesting);
    tbed_row_threads_close(&rows->threads);
    tbed_row_names_close(&rows->names);
    free(rows->passages);
    free(rows->blocks);
    free(rows);
}

/* An event has a word or more, with its share of its block's header. */
uint64_t tbed_row_estimate(struct tbed_tables *tables)
{
    struct tbed_trace_info info;
    if (tables->reader == NULL)
        return tables->foreign_calls->row_estimate(tables);
    tbed_reader_info(tables->reader, &info);
    return info.event_block_count * (info.page_nbytes / 16);
}
