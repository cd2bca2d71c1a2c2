/*
 * Windows: streams are divided into pieces, which workers share, and the parts of all pieces are put together.
 *
 * SPDX-License-Identifier: MIT
 */
#include "format/base/sized.h"
#include "reader/analysis/windows/window_job.h"
#include "reader/core/file/reader_state.h"

#include <stdlib.h>
#include <string.h>

#define PIECES_OF_STREAM 128u
#define PIECE_BLOCKS_MIN 16u

struct tbed_window {
    struct tbed_window_info info;
    struct tbed_window_part *parts;
    size_t count;
};

/* ---- Pieces ---- */

/*
 * How many blocks of a stream are read at a time, so that several workers can share it. Where spans need not nest, or only
 * some count, the spans around a piece cannot be guessed.
 */
static size_t piece_blocks(const struct window_job *job, size_t count)
{
    if (!tbed_window_can_sketch(job) || tbed_reader_is_reused(job->reader))
        return count;
    size_t share = count / PIECES_OF_STREAM;
    return share < PIECE_BLOCKS_MIN ? PIECE_BLOCKS_MIN : share;
}

static bool add_exact(struct window_job *job, uint32_t stream, size_t first, size_t count)
{
    size_t size = piece_blocks(job, count);
    for (size_t end = count, at; end > 0; end = at) {
        struct window_piece *piece = TBED_VECTOR_PUSH(&job->pieces);
        if (piece == NULL)
            return false;
        at = (end - 1) / size * size;
        *piece = (struct window_piece){
            .stream = stream, .first = first + at, .count = end - at, .is_last = end == count};
    }
    return true;
}

static size_t count_blocks(const struct window_job *job)
{
    struct tbed_stream_info stream;
    size_t sum = 0, first, count;
    for (size_t i = 0; tbed_stream_get(job->reader, i, &stream); i++) {
        tbed_filter_blocks(job->options->filter, job->reader, stream.stream, &first, &count);
        sum += count;
    }
    return sum;
}

static bool list_pieces(struct window_job *job)
{
    const struct tbed_window_options *options = job->options;
    struct tbed_stream_info stream;
    size_t first, count;
    bool is_sketch = options->exact_block_max != 0 && tbed_window_can_sketch(job) &&
                     count_blocks(job) > options->exact_block_max;
    for (size_t i = 0; tbed_stream_get(job->reader, i, &stream); i++) {
        tbed_filter_blocks(options->filter, job->reader, stream.stream, &first, &count);
        if (count == 0)
            continue;
        bool is_added = is_sketch && tbed_window_is_in_order(job, first, count)
                            ? tbed_window_add_sketch(job, stream.stream, first, count)
                            : add_exact(job, stream.stream, first, count);
        if (!is_added)
            return false;
    }
    tbed_window_choose_read(job);
    for (size_t i = 0; i < job->pieces.count; i++) {
        job->pieces.items[i].rows.begin_tick = job->begin_tick;
        job->pieces.items[i].rows.column_ticks = job->column_ticks;
    }
    job->work.item_count = job->pieces.count;
    return true;
}

static void run_worker(struct tbed_work *work, unsigned index)
{
    const struct window_job *job = work->context;
    struct window_worker *worker = &job->workers[index];
    size_t at;
    while (worker->status == TBED_OK && tbed_work_take(work, &at)) {
        struct window_piece *piece = &job->pieces.items[at];
        if (piece->is_sketch)
            tbed_window_sketch(job, worker, piece);
        else
            tbed_window_read(job, worker, piece);
    }
}

static void find_times(struct window_job *job)
{
    struct tbed_trace_info info;
    tbed_reader_info(job->reader, &info);
    job->resolution = info.resolution_ticks;
    tbed_filter_window(job->options->filter, job->reader, &job->begin_tick, &job->end_tick);
    uint64_t ticks = job->end_tick - job->begin_tick, columns = job->options->column_count;
    job->column_ticks = job->options->column_ticks;
    if (job->column_ticks == 0)
        job->column_ticks = ticks / columns + (ticks % columns != 0);
}

static enum tbed_status run(struct window_job *job)
{
    job->passages = calloc(tbed_event_block_count(job->reader) + 1, sizeof *job->passages);
    if (job->passages == NULL || !list_pieces(job))
        return TBED_ERR_MEMORY;
    job->worker_count = tbed_worker_count(job->options->thread_count, job->pieces.count);
    job->workers = calloc(job->worker_count, sizeof *job->workers);
    if (job->workers == NULL)
        return TBED_ERR_MEMORY;
    for (unsigned i = 0; i < job->worker_count; i++) {
        struct block_spans *spans = &job->workers[i].spans;
        spans->reader = spans->back.reader = job->reader;
        spans->back.passages = job->passages;
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

static void add_counts(struct tbed_window_info *sum, const struct tbed_window_info *more)
{
    sum->span_count += more->span_count;
    sum->deeper_count += more->deeper_count;
    sum->unknown_count += more->unknown_count;
    sum->block_count += more->block_count;
    sum->bad_block_count += more->bad_block_count;
    sum->header_count += more->header_count;
}

/* Puts the parts of an earlier piece of the stream behind those of 'piece'. */
static bool append(const struct window_job *job, struct window_piece *piece, struct window_piece *earlier)
{
    struct window_rows *rows = &piece->rows, *more = &earlier->rows;
    if (more->column_ticks > rows->column_ticks)
        tbed_window_rows_widen(rows, more->column_ticks);
    else if (more->column_ticks < rows->column_ticks)
        tbed_window_rows_widen(more, rows->column_ticks);
    tbed_window_rows_finish(more);
    for (size_t i = 0; i < more->parts.count; i++)
        tbed_window_rows_add(rows, &more->parts.items[i]);
    add_counts(&piece->counts, &earlier->counts);
    bool is_done = !rows->is_out_of_memory && !more->is_out_of_memory;
    tbed_window_rows_free(more);
    tbed_window_keep_few(job, rows);
    return is_done && !rows->is_out_of_memory;
}

/* Reads those pieces again around which the spans were not those that had been guessed. */
static enum tbed_status settle_pieces(struct window_job *job)
{
    struct window_worker *worker = &job->workers[0];
    struct window_arounds around = {0};
    for (size_t i = 0; i < job->pieces.count && worker->status == TBED_OK; i++) {
        struct window_piece *piece = &job->pieces.items[i];
        if (piece->is_last)
            around.spans.count = 0;
        if (!piece->is_sketch)
            tbed_window_settle(job, worker, piece, &around);
    }
    tbed_vector_free(&around.spans.vector);
    return worker->status;
}

/* Leaves one piece of each stream. */
static enum tbed_status join_pieces(struct window_job *job)
{
    size_t count = 0;
    for (size_t i = 0; i < job->pieces.count; i++) {
        struct window_piece *piece = &job->pieces.items[i];
        if (tbed_window_is_cancelled(job))
            return TBED_ERR_CANCELLED;
        tbed_window_passage_free(&piece->passage);
        piece->passage = (struct window_passage){.has_spans = false};
        if (!piece->is_last) {
            if (!append(job, &job->pieces.items[count - 1], piece))
                return TBED_ERR_MEMORY;
            piece->rows = (struct window_rows){0};
            continue;
        }
        struct window_piece last = *piece;
        piece->rows = (struct window_rows){0};
        job->pieces.items[count++] = last;
    }
    job->pieces.count = count;
    for (size_t i = 0; i < count; i++) {
        tbed_window_rows_finish(&job->pieces.items[i].rows);
        if (job->pieces.items[i].rows.is_out_of_memory)
            return TBED_ERR_MEMORY;
    }
    return TBED_OK;
}

static size_t count_parts(const struct window_job *job)
{
    size_t count = 0;
    for (size_t i = 0; i < job->pieces.count; i++)
        count += job->pieces.items[i].rows.parts.count;
    return count;
}

/* Gives all streams columns of one width, at which there are not too many parts. */
static enum tbed_status widen_all(struct window_job *job)
{
    for (size_t i = 0; i < job->pieces.count; i++)
        if (job->pieces.items[i].rows.column_ticks > job->column_ticks)
            job->column_ticks = job->pieces.items[i].rows.column_ticks;
    for (;;) {
        for (size_t i = 0; i < job->pieces.count; i++) {
            struct window_rows *rows = &job->pieces.items[i].rows;
            if (rows->column_ticks == job->column_ticks)
                continue;
            tbed_window_rows_widen(rows, job->column_ticks);
            tbed_window_rows_finish(rows);
            if (rows->is_out_of_memory)
                return TBED_ERR_MEMORY;
        }
        if (!tbed_window_has_too_many(job, count_parts(job), job->column_ticks))
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
    if (a->id != b->id)
        return a->id < b->id ? -1 : 1;
    return a->count < b->count ? -1 : a->count > b->count;
}

static bool are_in_order(const struct tbed_window_part *parts, size_t count)
{
    for (size_t i = 1; i < count; i++)
        if (compare_parts(&parts[i - 1], &parts[i]) > 0)
            return false;
    return true;
}

/*
 * Copies parts in their order. They were made from the last to the first of each depth, nearly always, so that it is enough to
 * divide them by depth. False: no memory.
 */
static bool copy_in_order(struct tbed_window_part *to, const struct tbed_window_part *parts, size_t count)
{
    size_t depth_count = 0, before = 0;
    for (size_t i = 0; i < count; i++)
        depth_count = parts[i].depth >= depth_count ? parts[i].depth + (size_t)1 : depth_count;
    size_t *ends = calloc(depth_count + 1, sizeof *ends);
    if (ends == NULL)
        return false;
    for (size_t i = 0; i < count; i++)
        ends[parts[i].depth + 1]++;
    for (size_t i = 0; i < depth_count; i++)
        ends[i + 1] += ends[i];
    for (size_t i = count; i-- > 0;)
        to[ends[parts[i].depth]++] = parts[i];
    for (size_t i = 0; i < depth_count; i++) {
        if (!are_in_order(to + before, ends[i] - before))
            qsort(to + before, ends[i] - before, sizeof *to, compare_parts);
        before = ends[i];
    }
    free(ends);
    return true;
}

/* Of samples that are joined, it is not known how many spans there are. */
static void mark_samples(struct tbed_window *window)
{
    window->info.span_count = 0;
    for (size_t i = 0; i < window->count; i++) {
        struct tbed_window_part *part = &window->parts[i];
        bool is_span = part->count == 1 && part->end_tick - part->begin_tick >= window->info.column_ticks;
        if (part->sample_count > 0 && !is_span)
            part->count = 0;
        window->info.span_count += part->count;
    }
}

static enum tbed_status collect(struct tbed_window *window, const struct window_job *job)
{
    window->info.begin_tick = job->begin_tick;
    window->info.end_tick = job->end_tick;
    window->info.column_ticks = job->column_ticks;
    window->info.is_exact = !job->is_sketch;
    window->parts = calloc(count_parts(job) + 1, sizeof *window->parts);
    if (window->parts == NULL)
        return TBED_ERR_MEMORY;
    for (size_t i = 0; i < job->pieces.count; i++) {
        const struct window_piece *piece = &job->pieces.items[i];
        if (tbed_window_is_cancelled(job))
            return TBED_ERR_CANCELLED;
        size_t count = piece->rows.parts.count;
        if (!copy_in_order(&window->parts[window->count], piece->rows.parts.items, count))
            return TBED_ERR_MEMORY;
        window->count += count;
        add_counts(&window->info, &piece->counts);
    }
    if (job->is_sketch)
        mark_samples(window);
    return TBED_OK;
}

static void close_worker(struct window_worker *worker)
{
    tbed_block_spans_free(&worker->spans);
    tbed_stored_ends_free(&worker->ends);
    tbed_vector_free(&worker->stack.vector);
    tbed_window_passage_free(&worker->passage);
    tbed_vector_free(&worker->headers[0].spans.vector);
    tbed_vector_free(&worker->headers[1].spans.vector);
}

static void close_job(struct window_job *job)
{
    for (unsigned i = 0; job->workers != NULL && i < job->worker_count; i++)
        close_worker(&job->workers[i]);
    for (size_t i = 0; i < job->pieces.count; i++) {
        tbed_window_rows_free(&job->pieces.items[i].rows);
        tbed_window_passage_free(&job->pieces.items[i].passage);
    }
    tbed_vector_free(&job->pieces.vector);
    tbed_vector_free(&job->stops.vector);
    free(job->workers);
    free(job->passages);
}

enum tbed_status tbed_window_make(struct tbed_reader *reader, const struct tbed_window_options *given,
                                  struct tbed_window **window_ret)
{
    struct tbed_window_options options;
    if (!tbed_options_take(&options, sizeof options, given))
        return TBED_ERR_ARGUMENT;
    if (options.column_ticks == 0 &&
        (options.column_count == 0 || options.column_count > TBED_WINDOW_COLUMNS_MAX))
        return TBED_ERR_ARGUMENT;
    struct window_job job = {.reader = reader, .options = &options};
    struct tbed_window *window = calloc(1, sizeof *window);
    find_times(&job);
    enum tbed_status status = window != NULL ? run(&job) : TBED_ERR_MEMORY;
    if (status == TBED_OK)
        status = settle_pieces(&job);
    if (status == TBED_OK)
        status = join_pieces(&job);
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
