/*
 * The open spans of one stream; see open_stack.h.
 *
 * SPDX-License-Identifier: MIT
 */
#include "reader/analysis/assembly/open_stack.h"

#include <stdlib.h>
#include <string.h>

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

/* The span with 'depth' spans around it, which the block stores. */
static struct open_span stored_span(const struct tbed_block *block, uint64_t depth)
{
    struct open_span open = {.span = {.stream = block->stream, .category = TBED_ID_INVALID}};
    uint32_t index = (uint32_t)(depth - tbed_block_stored_depth(block));
    tbed_block_open_span(block, index, &open.span.begin_tick, &open.span.id);
    open.span.is_inherited = tbed_block_span_is_inherited(block, index);
    open.is_known = open.span.begin_tick != 0; /* a begin at tick 0 looks like an unknown one */
    return open;
}

static bool is_same(const struct open_span *a, const struct open_span *b)
{
    return a->span.begin_tick == b->span.begin_tick && a->span.id == b->span.id;
}

bool tbed_open_stack_continues(const struct open_stack *stack, uint32_t sequence,
                               const struct tbed_block *next)
{
    return next->sequence == sequence + 1 && next->depth == stack->deep + stack->count;
}

bool tbed_open_stack_is_left(const struct open_stack *stack, size_t index, const struct tbed_block *next)
{
    uint64_t depth = stack->deep + index;
    if (depth >= next->depth)
        return true;
    if (depth < tbed_block_stored_depth(next))
        return false;
    struct open_span stored = stored_span(next, depth);
    return !is_same(&stack->items[index], &stored);
}

bool tbed_open_stack_enter(struct open_stack *stack, const struct tbed_block *block, bool continues)
{
    uint64_t stored = tbed_block_stored_depth(block), deep = stored, end = stack->deep + stack->count;
    if (!tbed_open_stack_reserve(stack, block->stored_count))
        return false;
    if (continues && stack->deep < stored)
        deep = stack->deep;
    /* The depths of the old stack that the new one has too. */
    uint64_t old = stack->deep > deep ? stack->deep : deep, old_end = end < block->depth ? end : block->depth;
    if (old < old_end)
        memmove(stack->items + (old - deep), stack->items + (old - stack->deep),
                (size_t)(old_end - old) * sizeof *stack->items);
    for (uint64_t depth = stored; depth < block->depth; depth++) {
        struct open_span *item = &stack->items[depth - deep], open = stored_span(block, depth);
        if (depth >= old && depth < old_end && is_same(item, &open)) {
            item->is_known = open.is_known; /* the rest is better known than from the block */
            item->span.is_inherited = open.span.is_inherited;
        } else {
            *item = open;
        }
    }
    stack->deep = deep;
    stack->count = (size_t)(block->depth - deep);
    stack->block_most = block->stored_count + (size_t)(block->words_end - block->words);
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

/*
 * Forgets all but the innermost 'kept' spans. The others began before the block, which does not store them: only an END or a
 * LEAVE that carries their begin can end them in it. Without this, a million spans that leave in the order in which they
 * began would each move all the others.
 */
static void forget_outer(struct open_stack *stack, size_t kept)
{
    size_t count = stack->count - kept;
    memmove(stack->items, stack->items + count, kept * sizeof *stack->items);
    stack->deep += count;
    stack->count = kept;
}

/* Removes the span that has 'inside' known ones inside it. */
static struct open_span remove_outer(struct open_stack *stack, size_t inside)
{
    struct open_span *place = &stack->items[stack->count - 1 - inside], removed = *place;
    memmove(place, place + 1, inside * sizeof *place);
    stack->count--;
    return removed;
}

enum tbed_step_kind tbed_open_stack_end(struct open_stack *stack, const struct tbed_event *event,
                                        struct tbed_assembled *span_ret)
{
    struct open_span ended = span_of_end(event);
    uint32_t inside = event->of.end.leaves ? event->of.end.inside : 0;
    if (stack->count > inside && stack->block_most != 0 && inside >= stack->block_most)
        forget_outer(stack, stack->block_most);
    if (stack->count > inside) {
        struct open_span removed = remove_outer(stack, inside);
        /* An END that contradicts the stack counts: a reader of its block alone knows nothing else. */
        ended = !ended.is_known || removed.span.begin_tick == ended.span.begin_tick ? removed : ended;
    } else if (stack->deep > inside - stack->count) {
        stack->deep--;
    }
    *span_ret = ended.span;
    span_ret->end_tick = event->of.end.leaves ? event->of.end.end_tick : event->tick;
    if (!ended.is_known)
        return TBED_STEP_UNKNOWN;
    return event->of.end.leaves && event->of.end.end_tick == 0 ? TBED_STEP_OPEN : TBED_STEP_END;
}
