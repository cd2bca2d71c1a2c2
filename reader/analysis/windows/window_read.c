/*
 * Windows from every event: each piece is read from its end to its start, so that the spans around a span are known when
 * it is met.
 *
 * SPDX-License-Identifier: MIT
 */
#include "reader/analysis/shared/resolution.h"
#include "reader/analysis/windows/window_job.h"

/* The depth of a span; the walk is then inside it. UINT32_MAX: no memory. */
static uint32_t enter(struct window_worker *worker, const struct block_span *span)
{
    while (worker->stack.count > 0) {
        const struct window_around *top = &worker->stack.items[worker->stack.count - 1];
        if (top->begin_tick <= span->begin_tick && span->end_tick <= top->end_tick)
            break;
        worker->stack.count--;
    }
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

void tbed_window_read(const struct window_job *job, struct window_worker *worker, struct window_piece *piece)
{
    worker->spans.filter = job->options->filter;
    worker->spans.has_categories = job->options->filter != NULL && job->options->filter->categories.count > 0;
    worker->stack.count = 0;
    for (size_t count = piece->count; count-- > 0 && worker->status == TBED_OK;) {
        tbed_window_take_block(job, worker, piece, piece->first + count);
        tbed_window_keep_few(job, &piece->rows);
        if (piece->rows.is_out_of_memory)
            worker->status = TBED_ERR_MEMORY;
        else if (tbed_window_is_cancelled(job))
            worker->status = TBED_ERR_CANCELLED;
    }
}
