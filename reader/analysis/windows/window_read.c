/*
 * Windows from every event: each piece is read from its end to its start, so that the spans around a span are known when
 * it is met.
 *
 * SPDX-License-Identifier: MIT
 */
#include "reader/analysis/assembly/neighbours.h"
#include "reader/analysis/shared/resolution.h"
#include "reader/analysis/windows/window_job.h"
#include "reader/core/file/reader_state.h"

/* ---- The spans around a span ---- */

static inline bool contains(const struct window_around *around, uint64_t begin_tick, uint64_t end_tick)
{
    return around->begin_tick <= begin_tick && end_tick <= around->end_tick;
}

/* Copies the spans of the walk from 'first' on. False: no memory. */
static bool copy_stack(const struct window_worker *worker, size_t first, struct window_arounds *to)
{
    size_t count = worker->stack.count - first;
    to->spans.count = 0;
    if (count > 0 && TBED_VECTOR_EXTEND(&to->spans, count) == NULL)
        return false;
    if (count > 0)
        memcpy(to->spans.items, worker->stack.items + first, count * sizeof *to->spans.items);
    return true;
}

/* The walk has left more spans than before, or meets its first span. False: no memory. */
static bool note_left(struct window_worker *worker, const struct block_span *span)
{
    struct window_passage *passage = &worker->passage;
    passage->kept_count = worker->stack.count;
    if (passage->has_spans)
        return true;
    passage->has_spans = true;
    passage->first = (struct window_around){span->begin_tick, span->end_tick};
    return copy_stack(worker, 0, &passage->outer);
}

/* The depth of a span; the walk is then inside it. UINT32_MAX: no memory. */
static uint32_t enter(struct window_worker *worker, const struct block_span *span)
{
    struct window_passage *passage = &worker->passage;
    while (worker->stack.count > 0 &&
           !contains(&worker->stack.items[worker->stack.count - 1], span->begin_tick, span->end_tick))
        worker->stack.count--;
    if (worker->stack.count < passage->kept_count && !note_left(worker, span))
        return UINT32_MAX;
    if (span->end_tick > passage->latest_tick)
        passage->latest_tick = span->end_tick;
    struct window_around *around = TBED_VECTOR_PUSH(&worker->stack);
    if (around == NULL)
        return UINT32_MAX;
    *around = (struct window_around){span->begin_tick, span->end_tick};
    return (uint32_t)worker->stack.count - 1;
}

void tbed_window_take_span(const struct window_job *job, struct window_worker *worker,
                           struct window_piece *piece, struct block_span span)
{
    if (span.kind == TBED_STEP_UNKNOWN) {
        piece->counts.unknown_count++;
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
                                    .stream = piece->stream,
                                    .depth = depth,
                                    .open_count = span.kind == TBED_STEP_OPEN};
    if (depth == UINT32_MAX) {
        worker->status = TBED_ERR_MEMORY;
    } else if (job->options->depth_count != 0 && depth >= job->options->depth_count) {
        piece->counts.deeper_count++;
    } else {
        tbed_window_rows_add(&piece->rows, &part);
        piece->counts.span_count++;
    }
}

void tbed_window_take_block(const struct window_job *job, struct window_worker *worker,
                            struct window_piece *piece, size_t index)
{
    struct block_spans *spans = &worker->spans;
    enum tbed_status status = tbed_block_spans_read(spans, index);
    piece->counts.block_count++;
    piece->counts.bad_block_count += status != TBED_OK || spans->is_damaged;
    if (status == TBED_ERR_MEMORY)
        worker->status = status;
    for (size_t i = status == TBED_OK ? spans->count : 0; i-- > 0 && worker->status == TBED_OK;) {
        struct block_span span = spans->items[i];
        if (span.kind == TBED_STEP_UNKNOWN || spans->filter != NULL || tbed_window_cut(job, &span))
            tbed_window_take_span(job, worker, piece, span);
    }
}

/* ---- Pieces ---- */

/* Walks over a piece; the worker's stack has the spans around its end. */
static void walk(const struct window_job *job, struct window_worker *worker, struct window_piece *piece)
{
    const struct tbed_filter *filter = job->options->filter;
    worker->spans.filter = filter;
    worker->spans.has_categories = filter != NULL && filter->categories.count > 0;
    worker->passage.has_spans = false;
    worker->passage.kept_count = SIZE_MAX;
    worker->passage.latest_tick = 0;
    for (size_t count = piece->count; count-- > 0 && worker->status == TBED_OK;) {
        tbed_window_take_block(job, worker, piece, piece->first + count);
        tbed_window_keep_few(job, &piece->rows);
        if (piece->rows.is_out_of_memory)
            worker->status = TBED_ERR_MEMORY;
        else if (tbed_window_is_cancelled(job))
            worker->status = TBED_ERR_CANCELLED;
    }
}

/* Finds the next good block of the stream after the piece. False: there is none. */
static bool next_block(const struct window_job *job, const struct window_piece *piece,
                       struct tbed_block *block_ret)
{
    const struct tbed_block stream = {.stream = piece->stream};
    return tbed_block_after(job->reader, &stream, piece->first + piece->count - 1, block_ret);
}

static bool guess_held(const struct window_job *job, struct window_worker *worker,
                       const struct window_piece *piece)
{
    uint64_t begin_tick = job->options->filter != NULL ? job->options->filter->begin : 0;
    struct tbed_block next;
    if (!next_block(job, piece, &next))
        return true;
    for (uint32_t i = 0; i < next.stored_count; i++) {
        struct window_around around = {.end_tick = UINT64_MAX};
        uint32_t id;
        tbed_block_open_span(&next, i, &around.begin_tick, &id);
        if (around.begin_tick == 0)
            continue;
        around.begin_tick = around.begin_tick > begin_tick ? around.begin_tick : begin_tick;
        struct window_around *pushed = TBED_VECTOR_PUSH(&worker->stack);
        if (pushed == NULL)
            return false;
        *pushed = around;
    }
    return true;
}

/*
 * Around the end of a piece are mostly the spans that the next block stores; when they end is known later. False: no
 * memory.
 */
static bool guess_around(const struct window_job *job, struct window_worker *worker,
                         const struct window_piece *piece)
{
    struct tbed_lease lease;
    tbed_lease_begin(&lease, job->reader->map.packed);
    worker->stack.count = 0;
    bool fine = piece->is_last || guess_held(job, worker, piece);
    tbed_lease_end(&lease);
    return fine;
}

void tbed_window_read(const struct window_job *job, struct window_worker *worker, struct window_piece *piece)
{
    if (!guess_around(job, worker, piece)) {
        worker->status = TBED_ERR_MEMORY;
        return;
    }
    walk(job, worker, piece);
    struct window_passage *passage = &worker->passage;
    size_t kept = passage->has_spans ? passage->kept_count : worker->stack.count;
    if (!copy_stack(worker, kept, &passage->inner))
        worker->status = TBED_ERR_MEMORY;
    piece->passage = *passage;
    worker->passage = (struct window_passage){.has_spans = false};
}

/* Would the walk over the piece have done the same between the spans of 'around' as between those that were guessed? */
static bool was_right(const struct window_passage *passage, const struct window_arounds *around)
{
    size_t count = around->spans.count;
    while (count > 0 &&
           !contains(&around->spans.items[count - 1], passage->first.begin_tick, passage->first.end_tick))
        count--;
    if (count != passage->outer.spans.count)
        return false;
    for (size_t i = 0; i < count; i++)
        if (around->spans.items[i].begin_tick != passage->outer.spans.items[i].begin_tick ||
            around->spans.items[i].end_tick < passage->latest_tick)
            return false;
    return true;
}

static void read_again(const struct window_job *job, struct window_worker *worker, struct window_piece *piece,
                       struct window_arounds *around)
{
    struct window_rows fresh = {.begin_tick = job->begin_tick, .column_ticks = job->column_ticks};
    tbed_window_rows_free(&piece->rows);
    piece->rows = fresh;
    piece->counts = (struct tbed_window_info){0};
    worker->stack.count = 0;
    size_t count = around->spans.count;
    if (count > 0 && TBED_VECTOR_EXTEND(&worker->stack, count) == NULL) {
        worker->status = TBED_ERR_MEMORY;
        return;
    }
    if (count > 0)
        memcpy(worker->stack.items, around->spans.items, count * sizeof *around->spans.items);
    walk(job, worker, piece);
    if (!copy_stack(worker, 0, around))
        worker->status = TBED_ERR_MEMORY;
}

void tbed_window_settle(const struct window_job *job, struct window_worker *worker,
                        struct window_piece *piece, struct window_arounds *around)
{
    const struct window_passage *passage = &piece->passage;
    if (!passage->has_spans)
        return;
    if (!was_right(passage, around)) {
        read_again(job, worker, piece, around);
        return;
    }
    size_t count = passage->inner.spans.count;
    around->spans.count = passage->kept_count;
    struct window_around *inner = count > 0 ? TBED_VECTOR_EXTEND(&around->spans, count) : NULL;
    if (inner != NULL)
        memcpy(inner, passage->inner.spans.items, count * sizeof *inner);
    else if (count > 0)
        worker->status = TBED_ERR_MEMORY;
}

void tbed_window_passage_free(struct window_passage *passage)
{
    tbed_vector_free(&passage->outer.spans.vector);
    tbed_vector_free(&passage->inner.spans.vector);
}
