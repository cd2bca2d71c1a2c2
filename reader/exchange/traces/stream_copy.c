/*
 * Copies the steps of one stream; see stream_copy.h.
 *
 * What begins and ends in the part that is copied is copied event by event. Spans that began before it are found by a first
 * pass, and are open at the start of the first block. One that began in events that are missing becomes a SPAN where it
 * ends.
 *
 * SPDX-License-Identifier: MIT
 */
#include "reader/exchange/traces/stream_copy.h"

#include "reader/analysis/filter/filter.h"
#include "reader/exchange/traces/event_copy.h"

#include <errno.h>

/* ---- The first pass ---- */

struct first_pass {
    struct stream_copy *copy;
    uint32_t inherited_depth; /* spans outside it were inherited */
    uint64_t first_tick;      /* of the stream's events that are copied */
    bool has_event;
};

/* The number of inherited spans at the stream's start; '*is_needed_ret': any spans are open there. */
static uint32_t count_inherited(const struct copy_source *source, uint32_t stream, bool *is_needed_ret)
{
    struct tbed_block block;
    size_t first, count;
    uint32_t inherited = 0;
    struct tbed_lease lease;
    tbed_lease_begin(&lease, source->reader->map.packed);
    tbed_filter_blocks(source->filter, source->reader, stream, &first, &count);
    *is_needed_ret = source->filter != NULL;
    for (size_t i = 0; i < count; i++) {
        if (tbed_event_block_get(source->reader, first + i, &block) != TBED_OK)
            continue;
        *is_needed_ret |= block.depth > 0;
        for (uint32_t j = 0; j < block.stored_count; j++)
            if (tbed_block_span_is_inherited(&block, j))
                inherited = block.depth - block.stored_count + j + 1;
        break;
    }
    tbed_lease_end(&lease);
    return inherited;
}

/* Was it open before the first event? */
static bool is_initial(const struct first_pass *pass, const struct tbed_step *step)
{
    if (step->span == NULL || step->span->was_begun || step->span->is_whole ||
        (step->kind != TBED_STEP_END && step->kind != TBED_STEP_OPEN))
        return false;
    return step->depth < pass->inherited_depth || !pass->has_event ||
           step->span->begin_tick <= pass->first_tick;
}

static enum tbed_status add_initial(struct first_pass *pass, const struct tbed_step *step)
{
    struct initial_span *initial = TBED_VECTOR_PUSH(&pass->copy->initial);
    if (initial == NULL)
        return TBED_ERR_MEMORY;
    if (step->span->argument_count > 0)
        tbed_map_keep(&pass->copy->source->reader->map, &pass->copy->lease, step->span->arguments.at);
    *initial = (struct initial_span){*step->span, step->depth, step->depth < pass->inherited_depth};
    return TBED_OK;
}

/* Finds the spans that are open at the stream's start; they end, or are left open, from the innermost to the outermost. */
static enum tbed_status find_initial(struct stream_copy *copy, uint32_t stream)
{
    struct first_pass pass = {.copy = copy};
    struct copy_source *source = copy->source;
    struct tbed_assembler *assembler = NULL;
    struct tbed_step step;
    bool is_needed;
    copy->initial.count = 0;
    tbed_lease_empty(&copy->lease);
    pass.inherited_depth = count_inherited(source, stream, &is_needed);
    if (!is_needed)
        return TBED_OK;
    enum tbed_status status =
        tbed_assembler_open_filtered(source->reader, &stream, 1, source->filter, &assembler);
    while (status == TBED_OK && (status = tbed_assembler_next(assembler, &step)) == TBED_OK) {
        if (step.event != NULL && !pass.has_event) {
            pass.first_tick = step.event->tick;
            pass.has_event = true;
        }
        if (is_initial(&pass, &step))
            status = add_initial(&pass, &step);
    }
    tbed_assembler_close(assembler);
    return status == TBED_END ? TBED_OK : status;
}

/*
 * Opens them in the first block, or with a BEGIN if there is more to say than the block can: then those within need one
 * too.
 */
static void open_initial(struct stream_copy *copy)
{
    bool needs_begin = false;
    for (size_t i = copy->initial.count; i-- > 0;) {
        const struct initial_span *initial = &copy->initial.items[i];
        struct out_span span = {.begin_tick = tbed_copy_tick(copy->source, initial->span.begin_tick),
                                .id = tbed_id_map(copy->strings, &copy->source->ids, initial->span.id),
                                .is_inherited = initial->is_inherited,
                                .was_open = true,
                                .depth = initial->depth};
        needs_begin |= initial->span.category != TBED_ID_INVALID || initial->span.argument_count > 0;
        if (needs_begin)
            tbed_event_copy_begin(copy, &initial->span);
        tbed_block_out_push(&copy->out, &span);
    }
}

/* ---- Spans that no event ends ---- */

static void note_last_tick(struct stream_copy *copy, uint64_t tick)
{
    copy->last_tick = tick > copy->last_tick ? tick : copy->last_tick;
}

static void add_pending(struct stream_copy *copy, const struct tbed_step *step)
{
    struct pending_span *pending = TBED_VECTOR_PUSH(&copy->pending);
    if (pending == NULL)
        tbed_trace_file_fail(copy->out.file, TBED_ERR_MEMORY, ENOMEM);
    else
        *pending = (struct pending_span){step->span->end_tick, step->kind == TBED_STEP_OPEN};
}

/* More events follow, so their spans end here. */
static void end_pending(struct stream_copy *copy)
{
    for (size_t i = 0; i < copy->pending.count && copy->out.stack.count > 0; i++) {
        tbed_event_put_leave(copy, tbed_copy_tick(copy->source, copy->pending.items[i].end_tick));
        copy->closed_count += copy->pending.items[i].is_open;
    }
    copy->pending.count = 0;
}

/*
 * An open span lasts until the last event of its stream. If that is not copied, the span leaves the stack, and never ends: it
 * then lasts until the last tick of the last block.
 */
static void leave_open(struct stream_copy *copy, uint64_t end_tick, bool *is_left)
{
    struct block_out *out = &copy->out;
    if (!*is_left && out->event_count > 0 && end_tick > out->latest_tick)
        tbed_event_put_leave(copy, 0);
    else
        *is_left = true;
}

/* Nothing follows. */
static void close_pending(struct stream_copy *copy)
{
    struct block_out *out = &copy->out;
    bool is_left = false;                       /* the innermost span stays open, and so do those around it */
    if (out->stack.count > copy->pending.count) /* forgotten */
        copy->closed_count += out->stack.count - copy->pending.count;
    for (size_t i = 0; i < copy->pending.count && out->stack.count > 0; i++) {
        uint64_t end_tick = tbed_copy_tick(copy->source, copy->pending.items[i].end_tick);
        const struct out_span *span = &out->stack.items[out->stack.count - 1];
        is_left = is_left || (span->is_inherited && end_tick <= out->latest_tick);
        note_last_tick(copy, end_tick);
        if (copy->pending.items[i].is_open)
            leave_open(copy, end_tick, &is_left);
        else if (!is_left && end_tick >= out->latest_tick)
            tbed_block_out_end_span(out, end_tick);
        else if (!is_left)
            tbed_event_put_leave(copy, end_tick);
    }
    copy->pending.count = 0;
}

/* ---- Steps ---- */

static void copy_begin(struct stream_copy *copy, const struct tbed_step *step)
{
    struct out_span span = {.begin_tick = tbed_copy_tick(copy->source, step->span->begin_tick),
                            .id = tbed_id_map(copy->strings, &copy->source->ids, step->span->id),
                            .depth = step->depth};
    tbed_event_copy(copy, step->event);
    tbed_block_out_push(&copy->out, &span);
}

/* Is it the innermost span of the stack, apart from those that are pending? */
static bool is_on_stack(const struct stream_copy *copy, const struct tbed_step *step)
{
    const struct block_out *out = &copy->out;
    size_t left = copy->pending.count;
    if (step->span->is_whole || out->stack.count <= left)
        return false;
    const struct out_span *span = &out->stack.items[out->stack.count - 1 - left];
    return span->depth == step->depth && (step->span->was_begun || span->was_open);
}

/*
 * Where blocks are damaged or contradict each other, the assembler may forget spans. They end here, so that those around
 * them do not end too early.
 */
static void end_forgotten(struct stream_copy *copy, size_t depth)
{
    const struct block_out *out = &copy->out;
    while (out->stack.count > 0 && out->stack.items[out->stack.count - 1].depth >= depth) {
        tbed_event_put_leave(copy, out->latest_tick);
        copy->closed_count++;
    }
}

static void copy_end(struct stream_copy *copy, const struct tbed_step *step)
{
    struct block_out *out = &copy->out;
    if (step->kind == TBED_STEP_OPEN)
        note_last_tick(copy, tbed_copy_tick(copy->source, step->span->end_tick));
    if (!is_on_stack(copy, step)) {
        end_pending(copy);
        tbed_event_copy_span(copy, step->span, step->event);
        copy->closed_count += step->kind == TBED_STEP_OPEN;
    } else if (step->event == NULL) {
        add_pending(copy, step);
    } else {
        tbed_event_copy_end(copy, step->event, out->stack.items[out->stack.count - 1].begin_tick);
    }
}

/* Whether a LEAVE takes a span off the stack that others are inside of. */
static bool is_outer(const struct tbed_step *step)
{
    return step->event != NULL && step->event->type == TBED_EVENT_END && step->event->of.end.inside > 0;
}

/* The spans inside it stay open. Those that are not copied are not on the stack. */
static void copy_outer(struct stream_copy *copy, const struct tbed_step *step)
{
    struct block_out *out = &copy->out;
    size_t at = out->stack.count;
    bool is_known = step->kind != TBED_STEP_UNKNOWN;
    end_pending(copy);
    for (; at > 0 && out->stack.items[at - 1].depth > step->depth; at--)
        out->stack.items[at - 1].depth--;
    const struct out_span *span = at > 0 ? &out->stack.items[at - 1] : NULL;
    if (step->kind == TBED_STEP_OPEN)
        note_last_tick(copy, tbed_copy_tick(copy->source, step->span->end_tick));
    if (span != NULL && span->depth == step->depth &&
        (!is_known || step->span->was_begun || span->was_open)) {
        tbed_event_copy_leave(copy, step->event, at - 1);
    } else if (is_known) {
        tbed_event_copy_span(copy, step->span, step->event);
        copy->closed_count += step->kind == TBED_STEP_OPEN;
    } else {
        copy->unknown_count++;
    }
}

/* An END without a begin. */
static void copy_unknown(struct stream_copy *copy, const struct tbed_step *step)
{
    if (step->event == NULL || copy->out.stack.count > 0)
        copy->unknown_count++;
    else
        tbed_event_copy(copy, step->event);
}

static void copy_step(struct stream_copy *copy, const struct tbed_step *step)
{
    if (is_outer(step)) {
        copy_outer(copy, step);
        return;
    }
    if (step->event != NULL) {
        bool is_end = step->kind == TBED_STEP_END || step->kind == TBED_STEP_OPEN;
        end_pending(copy);
        end_forgotten(copy, step->depth + (is_end && !step->span->is_whole));
    }
    switch (step->kind) {
    case TBED_STEP_BEGIN:
        copy_begin(copy, step);
        break;
    case TBED_STEP_END:
    case TBED_STEP_OPEN:
        copy_end(copy, step);
        break;
    case TBED_STEP_UNKNOWN:
        copy_unknown(copy, step);
        break;
    case TBED_STEP_EVENT:
        tbed_event_copy(copy, step->event);
        break;
    }
    if (copy->strings->waiting.count > 0)
        tbed_strings_out_settle(copy->strings);
}

enum tbed_status tbed_stream_copy(struct stream_copy *copy, uint32_t stream)
{
    struct tbed_assembler *assembler = NULL;
    struct tbed_step step;
    copy->last_tick = 0;
    enum tbed_status status = find_initial(copy, stream);
    open_initial(copy);
    if (status == TBED_OK)
        status =
            tbed_assembler_open_filtered(copy->source->reader, &stream, 1, copy->source->filter, &assembler);
    while (status == TBED_OK && copy->out.file->status == TBED_OK &&
           (status = tbed_assembler_next(assembler, &step)) == TBED_OK)
        copy_step(copy, &step);
    tbed_assembler_close(assembler);
    close_pending(copy);
    tbed_block_out_close(&copy->out, copy->last_tick);
    return status == TBED_END ? TBED_OK : status;
}
