/*
 * Windows: workers share the streams. Each stream is read from the end of the window to its start, so that the spans
 * around a span are known when it is met, and its spans are put into rows of parts.
 *
 * SPDX-License-Identifier: MIT
 */
#include "format/base/sized.h"
#include "reader/analysis/assembly/block_spans.h"
#include "reader/analysis/shared/resolution.h"
#include "reader/analysis/windows/window_rows.h"
#include "reader/core/base/workers.h"

#include <stdlib.h>
#include <string.h>

struct tbed_window {
    struct tbed_window_info info;
    struct tbed_window_part *parts;
    size_t count;
};

/* A span around the current position of the walk. */
struct around {
    uint64_t begin_tick, end_tick;
};

struct stream_window {
    uint32_t stream;
    struct window_rows rows;
    struct tbed_window_info counts; /* of this stream; times are not set */
};

struct worker {
    struct block_spans spans;
    TBED_VECTOR(struct around) stack;
    enum tbed_status status;
};

struct job {
    struct tbed_work work;
    struct tbed_reader *reader;
    const struct tbed_window_options *options;
    uint64_t resolution;
    uint64_t begin_tick, end_tick, column_ticks;
    struct stream_window *streams;
    struct worker *workers;
    unsigned worker_count;
    uint32_t *passages; /* struct look_back */
};

static bool is_cancelled(const struct job *job)
{
    return job->options->is_cancelled != NULL &&
           __atomic_load_n(job->options->is_cancelled, __ATOMIC_RELAXED);
}

/* ---- One stream ---- */

/* The depth of a span; the walk is then inside it. UINT32_MAX: no memory. */
static uint32_t enter(struct worker *worker, const struct block_span *span)
{
    while (worker->stack.count > 0) {
        const struct around *top = &worker->stack.items[worker->stack.count - 1];
        if (top->begin_tick <= span->begin_tick && span->end_tick <= top->end_tick)
            break;
        worker->stack.count--;
    }
    struct around *around = TBED_VECTOR_PUSH(&worker->stack);
    if (around == NULL)
        return UINT32_MAX;
    *around = (struct around){span->begin_tick, span->end_tick};
    return (uint32_t)worker->stack.count - 1;
}

static void take_span(const struct job *job, struct worker *worker, struct stream_window *stream,
                      struct block_span span)
{
    if (span.kind == TBED_STEP_UNKNOWN) {
        stream->counts.unknown_count++;
        return;
    }
    if (span.begin_tick > span.end_tick)
        span.begin_tick = span.end_tick;
    uint32_t depth = enter(worker, &span);
    uint64_t ticks = tbed_ticks_between(job->resolution, span.begin_tick, span.end_tick);
    struct tbed_window_part part = {.begin_tick = span.begin_tick,
                                    .end_tick = span.end_tick,
                                    .count = 1,
                                    .ticks = ticks,
                                    .longest_ticks = ticks,
                                    .id = span.id,
                                    .stream = stream->stream,
                                    .depth = depth,
                                    .open_count = span.kind == TBED_STEP_OPEN};
    if (depth == UINT32_MAX) {
        worker->status = TBED_ERR_MEMORY;
    } else if (job->options->depth_count != 0 && depth >= job->options->depth_count) {
        stream->counts.deeper_count++;
    } else {
        tbed_window_rows_add(&stream->rows, &part);
        stream->counts.span_count++;
    }
}

static void take_block(const struct job *job, struct worker *worker, struct stream_window *stream,
                       size_t index)
{
    struct block_spans *spans = &worker->spans;
    enum tbed_status status = tbed_block_spans_read(spans, index);
    stream->counts.block_count++;
    stream->counts.bad_block_count += status != TBED_OK || spans->is_damaged;
    if (status == TBED_ERR_MEMORY)
        worker->status = status;
    for (size_t i = status == TBED_OK ? spans->count : 0; i-- > 0 && worker->status == TBED_OK;)
        take_span(job, worker, stream, spans->items[i]);
}

static bool has_too_many(const struct job *job, size_t part_count, uint64_t column_ticks)
{
    return job->options->part_max != 0 && part_count > job->options->part_max &&
           column_ticks <= (job->end_tick - job->begin_tick) / 2;
}

/* A stream with too many parts would not have fewer if it were read to its start, so wider columns are certain. */
static void keep_few(const struct job *job, struct window_rows *rows)
{
    while (has_too_many(job, rows->parts.count, rows->column_ticks) && !rows->is_out_of_memory)
        tbed_window_rows_widen(rows, rows->column_ticks * 2);
}

static void read_stream(const struct job *job, struct worker *worker, struct stream_window *stream)
{
    size_t first, count;
    stream->rows.begin_tick = job->begin_tick;
    stream->rows.column_ticks = job->column_ticks;
    worker->stack.count = 0;
    tbed_filter_blocks(job->options->filter, job->reader, stream->stream, &first, &count);
    while (count-- > 0 && worker->status == TBED_OK) {
        take_block(job, worker, stream, first + count);
        keep_few(job, &stream->rows);
        if (stream->rows.is_out_of_memory)
            worker->status = TBED_ERR_MEMORY;
        else if (is_cancelled(job))
            worker->status = TBED_ERR_CANCELLED;
    }
    tbed_window_rows_finish(&stream->rows);
}

static void run_worker(struct tbed_work *work, unsigned index)
{
    const struct job *job = work->context;
    struct worker *worker = &job->workers[index];
    size_t at;
    while (worker->status == TBED_OK && tbed_work_take(work, &at))
        read_stream(job, worker, &job->streams[at]);
}

/* ---- All streams ---- */

static bool list_streams(struct job *job)
{
    struct tbed_stream_info stream;
    size_t count = 0;
    while (tbed_stream_get(job->reader, count, &stream))
        count++;
    job->streams = calloc(count + 1, sizeof *job->streams);
    for (size_t i = 0; job->streams != NULL && i < count && tbed_stream_get(job->reader, i, &stream); i++)
        if (tbed_filter_has_stream(job->options->filter, stream.stream))
            job->streams[job->work.item_count++] = (struct stream_window){.stream = stream.stream};
    return job->streams != NULL;
}

static void find_times(struct job *job)
{
    struct tbed_trace_info info;
    const struct tbed_filter *filter = job->options->filter;
    tbed_reader_info(job->reader, &info);
    job->resolution = info.resolution_ticks;
    job->begin_tick = filter != NULL && filter->begin != 0 ? filter->begin : info.first_tick;
    job->end_tick = filter != NULL && filter->has_end ? filter->end : info.last_tick;
    if (job->end_tick <= job->begin_tick)
        job->end_tick = job->begin_tick + 1;
    uint64_t ticks = job->end_tick - job->begin_tick, columns = job->options->column_count;
    job->column_ticks = ticks / columns + (ticks % columns != 0);
}

static enum tbed_status run(struct job *job)
{
    job->passages = calloc(tbed_event_block_count(job->reader) + 1, sizeof *job->passages);
    if (!list_streams(job) || job->passages == NULL)
        return TBED_ERR_MEMORY;
    job->worker_count = tbed_worker_count(job->options->thread_count, job->work.item_count);
    job->workers = calloc(job->worker_count, sizeof *job->workers);
    if (job->workers == NULL)
        return TBED_ERR_MEMORY;
    for (unsigned i = 0; i < job->worker_count; i++) {
        struct block_spans *spans = &job->workers[i].spans;
        spans->reader = spans->back.reader = job->reader;
        spans->back.passages = job->passages;
        spans->filter = job->options->filter;
        spans->has_categories = job->options->filter != NULL;
    }
    job->work.run = run_worker;
    job->work.context = job;
    tbed_work_run(&job->work, job->worker_count);
    enum tbed_status status = tbed_filter_has_failed(job->options->filter) ? TBED_ERR_MEMORY : TBED_OK;
    for (unsigned i = 0; i < job->worker_count; i++)
        if (job->workers[i].status != TBED_OK && status != TBED_ERR_MEMORY)
            status = job->workers[i].status;
    return status;
}

/* ---- The result ---- */

static size_t count_parts(const struct job *job)
{
    size_t count = 0;
    for (size_t i = 0; i < job->work.item_count; i++)
        count += job->streams[i].rows.parts.count;
    return count;
}

/* Gives all streams columns of one width, at which there are not too many parts. */
static enum tbed_status widen_all(struct job *job)
{
    for (size_t i = 0; i < job->work.item_count; i++)
        if (job->streams[i].rows.column_ticks > job->column_ticks)
            job->column_ticks = job->streams[i].rows.column_ticks;
    for (;;) {
        for (size_t i = 0; i < job->work.item_count; i++) {
            struct window_rows *rows = &job->streams[i].rows;
            if (rows->column_ticks == job->column_ticks)
                continue;
            tbed_window_rows_widen(rows, job->column_ticks);
            tbed_window_rows_finish(rows);
            if (rows->is_out_of_memory)
                return TBED_ERR_MEMORY;
        }
        if (!has_too_many(job, count_parts(job), job->column_ticks))
            return TBED_OK;
        job->column_ticks *= 2;
    }
}

static int compare_parts(const void *left, const void *right)
{
    const struct tbed_window_part *a = left, *b = right;
    if (a->depth != b->depth)
        return a->depth < b->depth ? -1 : 1;
    if (a->begin_tick != b->begin_tick)
        return a->begin_tick < b->begin_tick ? -1 : 1;
    if (a->end_tick != b->end_tick)
        return a->end_tick < b->end_tick ? -1 : 1;
    return a->id < b->id ? -1 : a->id > b->id;
}

static enum tbed_status collect(struct tbed_window *window, const struct job *job)
{
    window->info.begin_tick = job->begin_tick;
    window->info.end_tick = job->end_tick;
    window->info.column_ticks = job->column_ticks;
    window->parts = calloc(count_parts(job) + 1, sizeof *window->parts);
    if (window->parts == NULL)
        return TBED_ERR_MEMORY;
    for (size_t i = 0; i < job->work.item_count; i++) {
        const struct stream_window *stream = &job->streams[i];
        size_t count = stream->rows.parts.count;
        struct tbed_window_part *parts = &window->parts[window->count];
        if (count > 0)
            memcpy(parts, stream->rows.parts.items, count * sizeof *parts);
        if (count > 1)
            qsort(parts, count, sizeof *parts, compare_parts);
        window->count += count;
        window->info.span_count += stream->counts.span_count;
        window->info.deeper_count += stream->counts.deeper_count;
        window->info.unknown_count += stream->counts.unknown_count;
        window->info.block_count += stream->counts.block_count;
        window->info.bad_block_count += stream->counts.bad_block_count;
    }
    return TBED_OK;
}

static void close_job(struct job *job)
{
    for (unsigned i = 0; job->workers != NULL && i < job->worker_count; i++) {
        tbed_block_spans_free(&job->workers[i].spans);
        tbed_vector_free(&job->workers[i].stack.vector);
    }
    for (size_t i = 0; job->streams != NULL && i < job->work.item_count; i++)
        tbed_window_rows_free(&job->streams[i].rows);
    free(job->workers);
    free(job->streams);
    free(job->passages);
}

enum tbed_status tbed_window_make(struct tbed_reader *reader, const struct tbed_window_options *given,
                                  struct tbed_window **window_ret)
{
    struct tbed_window_options options;
    if (!tbed_options_take(&options, sizeof options, given) || options.column_count == 0 ||
        options.column_count > TBED_WINDOW_COLUMNS_MAX)
        return TBED_ERR_ARGUMENT;
    struct job job = {.reader = reader, .options = &options};
    struct tbed_window *window = calloc(1, sizeof *window);
    find_times(&job);
    enum tbed_status status = window != NULL ? run(&job) : TBED_ERR_MEMORY;
    if (status == TBED_OK)
        status = widen_all(&job);
    if (status == TBED_OK)
        status = collect(window, &job);
    if (status == TBED_OK)
        *window_ret = window;
    else
        tbed_window_close(window);
    close_job(&job);
    return status;
}

void tbed_window_close(struct tbed_window *window)
{
    if (window == NULL)
        return;
    free(window->parts);
    free(window);
}

const struct tbed_window_part *tbed_window_part(const struct tbed_window *window, size_t index)
{
    return index < window->count ? &window->parts[index] : NULL;
}

void tbed_window_info_sized(const struct tbed_window *window, struct tbed_window_info *info_ret,
                            size_t info_nbytes)
{
    tbed_sized_give(info_ret, info_nbytes, &window->info, sizeof window->info);
}
