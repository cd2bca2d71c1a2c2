/*
 * The open spans of one stream; see open_stack.h.
 *
 * SPDX-License-Identifier: MIT
 */
#include "reader/analysis/assembly/open_stack.h"

#include <stdlib.h>

void tbed_open_stack_free(struct open_stack *stack)
{
    free(stack->items);
    *stack = (struct open_stack){0};
}

bool tbed_open_stack_reserve(struct open_stack *stack, size_t count)
{
    if (count <= stack->room - stack->count)
        return true;
    size_t room = (stack->count + count) * 2;
    struct open_span *items = realloc(stack->items, room * sizeof *items);
    if (items == NULL)
        return false;
    stack->items = items;
    stack->room = room;
    return true;
}

/* ---- From block to block ---- */

/* The depth of the outermost span that the block stores. */
static uint64_t stored_depth(const struct tbed_block *block)
{
    return block->depth - block->stored_count;
}

/*
 * Is it the span that the block lists at that depth? Spans deeper than a block lists are assumed to be still
 * open.
 */
static bool is_open_in(const struct tbed_assembled *span, uint64_t depth, const struct tbed_block *block)
{
    uint64_t begin_tick;
    uint32_t id;
    if (depth < stored_depth(block))
        return true;
    tbed_block_open_span(block, (uint32_t)(depth - stored_depth(block)), &begin_tick, &id);
    return begin_tick == span->begin_tick && id == span->id;
}

size_t tbed_open_stack_kept(const struct open_stack *stack, const struct tbed_block *block)
{
    size_t kept = 0;
    while (kept < stack->count && stack->deep + kept < block->depth &&
           is_open_in(&stack->items[kept].span, stack->deep + kept, block))
        kept++;
    /*
     * Nothing is known of spans between those kept and those that the block lists, so the stack is a different
     * one.
     */
    return stack->deep + kept < stored_depth(block) ? 0 : kept;
}

bool tbed_open_stack_enter(struct open_stack *stack, const struct tbed_block *block, size_t kept)
{
    if (kept == 0)
        stack->deep = stored_depth(block);
    stack->count = kept;
    if (!tbed_open_stack_reserve(stack, block->stored_count))
        return false;
    for (uint64_t depth = stored_depth(block); depth < block->depth; depth++) {
        struct tbed_assembled span = {.stream = block->stream, .category = TBED_ID_INVALID};
        tbed_block_open_span(block, (uint32_t)(depth - stored_depth(block)), &span.begin_tick, &span.id);
        if (depth - stack->deep <
            stack->count) /* a begin at tick 0 is indistinguishable from an unknown one */
            stack->items[depth - stack->deep].is_known = span.begin_tick != 0;
        else
            stack->items[stack->count++] = (struct open_span){span, span.begin_tick != 0};
    }
    return true;
}

/* ---- Ends ---- */

/* The fields of a span that its END contains. */
static struct open_span span_of_end(const struct tbed_event *event)
{
    return (struct open_span){
        .span = {.begin_tick = event->of.end.begin_tick,
                 .stream = event->stream,
                 .id = event->id,
                 .category = TBED_ID_INVALID},
        .is_known = event->of.end.begin_tick != 0,
    };
}

enum tbed_step_kind tbed_open_stack_end(struct open_stack *stack, const struct tbed_event *event,
                                        struct tbed_assembled *span_ret)
{
    struct open_span ended = span_of_end(event);
    if (stack->count > 0) {
        const struct open_span *top = &stack->items[--stack->count];
        ended = top->is_known || !ended.is_known ? *top : ended;
    } else if (stack->deep > 0) {
        stack->deep--;
    }
    *span_ret = ended.span;
    span_ret->end_tick = event->of.end.leaves ? event->of.end.end_tick : event->tick;
    if (!ended.is_known)
        return TBED_STEP_UNKNOWN;
    return event->of.end.leaves && event->of.end.end_tick == 0 ? TBED_STEP_OPEN : TBED_STEP_END;
}
