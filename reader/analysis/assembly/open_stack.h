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
    bool is_known;  /* its begin tick is known */
    uint64_t depth; /* set when it is left open: spans around it */
};

/* Must be zeroed before use; freed by tbed_open_stack_free(). */
struct open_stack {
    struct open_span *items; /* the outermost first */
    size_t count, room;
    uint64_t deep;     /* open spans outside those, about which nothing is known */
    size_t block_most; /* how many of the items the block that was entered can know: innermost; 0: all */
};

void tbed_open_stack_free(struct open_stack *stack);

/* Reserves room for 'count' more. False: no memory. */
bool tbed_open_stack_reserve(struct open_stack *stack, size_t count);

/*
 * True if 'next' directly follows the block with the number 'sequence', at whose end the spans of the stack are
 * open. Otherwise events are missing between the two.
 */
bool tbed_open_stack_continues(const struct open_stack *stack, uint32_t sequence,
                               const struct tbed_block *next);

/* Was items[index] left open before 'next'? That is, does 'next', which could list the span, not list it? */
bool tbed_open_stack_is_left(const struct open_stack *stack, size_t index, const struct tbed_block *next);

/*
 * Sets the stack to that of the block's start. Spans that the block does not store stay if it continues the one
 * before; otherwise they are forgotten. False: no memory.
 */
bool tbed_open_stack_enter(struct open_stack *stack, const struct tbed_block *block, bool continues);

/* How a span ends that no event ends. */
static inline enum tbed_step_kind tbed_open_span_left(const struct open_span *open)
{
    if (!open->is_known)
        return TBED_STEP_UNKNOWN;
    return open->span.is_inherited ? TBED_STEP_END : TBED_STEP_OPEN;
}

/*
 * Removes the span that an END or a LEAVE takes off the stack, usually the innermost. TBED_STEP_OPEN: it never ends, and the caller sets its
 * 'end_tick' to the last tick of its stream.
 */
enum tbed_step_kind tbed_open_stack_end(struct open_stack *stack, const struct tbed_event *event,
                                        struct tbed_assembled *span_ret);

/* The depth of the outermost span that the block stores. */
static inline uint32_t tbed_block_stored_depth(const struct tbed_block *block)
{
    return block->depth - block->stored_count;
}

static inline struct tbed_assembled tbed_span_of_event(const struct tbed_event *event)
{
    return (struct tbed_assembled){.begin_tick = event->tick,
                                   .stream = event->stream,
                                   .id = event->id,
                                   .category = event->category,
                                   .was_begun = true,
                                   .argument_count = event->argument_count,
                                   .arguments = event->arguments,
                                   .is_whole = event->type == TBED_EVENT_SPAN};
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
        stack->items[stack->count++] = (struct open_span){.span = *span_ret, .is_known = true};
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
