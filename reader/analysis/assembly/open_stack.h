/*
 * The open spans of one stream and the effect of an event on them: the only code that knows which events begin
 * and end spans. The assembler keeps one stack per stream, from the first block to the last; the block reader
 * fills one for each block.
 *
 * SPDX-License-Identifier: MIT
 */
#ifndef TRACEBED_OPEN_STACK_H
#define TRACEBED_OPEN_STACK_H

#include <tracebed/analysis.h>

struct open_span {
    struct tbed_assembled span;
    bool is_known; /* its begin tick is known */
};

/* Must be zeroed before use; freed by tbed_open_stack_free(). */
struct open_stack {
    struct open_span *items; /* the outermost first */
    size_t count, room;
    uint64_t deep; /* open spans outside those, about which nothing is known */
};

void tbed_open_stack_free(struct open_stack *stack);

/* Reserves room for 'count' more. False: no memory. */
bool tbed_open_stack_reserve(struct open_stack *stack, size_t count);

/*
 * How many of the spans, counted from the outermost, are still open at the start of 'block', the next existing
 * block of the stream. The others were left open.
 */
size_t tbed_open_stack_kept(const struct open_stack *stack, const struct tbed_block *block);

/*
 * Sets the stack to that of the block's start; 'kept' is the result of tbed_open_stack_kept(). False: no memory.
 */
bool tbed_open_stack_enter(struct open_stack *stack, const struct tbed_block *block, size_t kept);

/*
 * Removes the innermost span, ended by an END or a LEAVE. TBED_STEP_OPEN: it never ends, and the caller sets its
 * 'end_tick' to the last tick of its stream.
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

/*
 * Applies an event to the stack, which must have room for one more span. For TBED_STEP_EVENT '*span_ret' is
 * untouched.
 */
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
