/*
 * The open spans of one stream, and what an event does to them: the one place that knows which events begin and end
 * spans. The assembler keeps a stack from a stream's first block to its last; the block reader fills one for each block.
 *
 * SPDX-License-Identifier: MIT
 */
#ifndef TRACEBED_OPEN_STACK_H
#define TRACEBED_OPEN_STACK_H

#include <tracebed/analysis.h>

struct open_span {
    struct tbed_assembled span;
    bool is_known; /* its begin tick is */
};

/* Starts with zeros, freed by tbed_open_stack_free(). */
struct open_stack {
    struct open_span *items; /* the outermost first */
    size_t count, room;
    uint64_t deep; /* open spans below those, which nothing is known of */
};

void tbed_open_stack_free(struct open_stack *stack);

/* Room for 'count' more. False: no memory. */
bool tbed_open_stack_reserve(struct open_stack *stack, size_t count);

/*
 * How many of the spans, from the outermost on, are still open at the start of 'block', the next one of the stream that
 * there is. All others were left open.
 */
size_t tbed_open_stack_kept(const struct open_stack *stack, const struct tbed_block *block);

/* Makes the stack that of the block's start; 'kept' is what tbed_open_stack_kept() said. False: no memory. */
bool tbed_open_stack_enter(struct open_stack *stack, const struct tbed_block *block, size_t kept);

/*
 * Takes the innermost span off, by an END or a LEAVE. TBED_STEP_OPEN: it never ends; then its 'end_tick' is the caller's to
 * fill in: the last tick of its stream.
 */
enum tbed_step_kind tbed_open_stack_end(struct open_stack *stack, const struct tbed_event *event,
                                        struct tbed_assembled *span_ret);

static inline struct tbed_assembled tbed_span_of_event(const struct tbed_event *event)
{
    return (struct tbed_assembled){.begin_tick = event->tick,
                                   .stream = event->stream,
                                   .id = event->id,
                                   .category = event->category,
                                   .was_begun = true,
                                   .argument_count = event->argument_count,
                                   .arguments = event->arguments};
}

/* What an event is to the spans. There must be room for one more. '*span_ret' is untouched for TBED_STEP_EVENT. */
static inline enum tbed_step_kind tbed_open_stack_take(struct open_stack *stack,
                                                       const struct tbed_event *event,
                                                       struct tbed_assembled *span_ret)
{
    switch (event->type) {
    case TBED_EVENT_BEGIN:
        *span_ret = tbed_span_of_event(event);
        stack->items[stack->count++] = (struct open_span){*span_ret, true};
        return TBED_STEP_BEGIN;
    case TBED_EVENT_END:
        return tbed_open_stack_end(stack, event, span_ret);
    case TBED_EVENT_SPAN:
        *span_ret = tbed_span_of_event(event);
        span_ret->begin_tick = event->of.span.begin_tick;
        span_ret->end_tick = event->tick;
        return TBED_STEP_END;
    default:
        return TBED_STEP_EVENT;
    }
}

#endif
