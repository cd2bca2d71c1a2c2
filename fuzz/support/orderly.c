/*
 * Orderly traces; see orderly.h.
 *
 * SPDX-License-Identifier: MIT
 */
#include "fuzz/support/orderly.h"

#include "fuzz/support/fuzz.h"

#include <stdlib.h>

enum { OPEN_MAX = 4096 };

struct open_one {
    uint64_t tick;
    uint32_t id;
};

struct order {
    struct tbed_reader *reader;
    struct open_one open[OPEN_MAX];
    size_t open_count;
    uint64_t tick;           /* of the latest event or block */
    size_t next, end;        /* blocks that were not entered yet */
    struct tbed_block block; /* the one that was entered last */
    bool has_block;
};

/* What the stream's first block stores was begun elsewhere. */
static bool take_first_stack(struct order *order)
{
    const struct tbed_block *block = &order->block;
    if (block->stored_count != block->depth || block->depth > OPEN_MAX)
        return false;
    for (uint32_t i = 0; i < block->stored_count; i++)
        tbed_block_open_span(block, i, &order->open[i].tick, &order->open[i].id);
    order->open_count = block->depth;
    return true;
}

static bool has_same_stack(const struct order *order)
{
    const struct tbed_block *block = &order->block;
    bool is_same = block->depth == order->open_count;
    for (uint32_t i = 0; is_same && i < block->stored_count; i++) {
        const struct open_one *open = &order->open[block->depth - block->stored_count + i];
        uint64_t tick;
        uint32_t id;
        tbed_block_open_span(block, i, &tick, &id);
        is_same = tick == open->tick && id == open->id && tick != 0 && tick <= block->first_tick;
    }
    return is_same;
}

static bool enter_block(struct order *order)
{
    bool is_first = !order->has_block;
    if (tbed_event_block_get(order->reader, order->next, &order->block) != TBED_OK)
        return false;
    order->next++;
    order->has_block = true;
    if (is_first && !take_first_stack(order))
        return false;
    bool is_later = order->block.first_tick >= order->tick;
    order->tick = order->block.first_tick;
    return is_later && has_same_stack(order);
}

static bool is_in_block(const struct order *order, const struct tbed_event *event)
{
    return order->has_block && event->offset >= order->block.offset &&
           event->offset - order->block.offset < order->block.nbytes;
}

/* An END of a span that the block does not store says itself which one it is. */
static bool is_end_of_top(const struct order *order, const struct tbed_event *event)
{
    if (order->open_count == 0)
        return false;
    const struct open_one *top = &order->open[order->open_count - 1];
    return event->of.end.begin_tick == 0 || (event->of.end.begin_tick == top->tick && event->id == top->id);
}

static bool take_event(struct order *order, const struct tbed_event *event)
{
    while (!is_in_block(order, event))
        if (order->next == order->end || !enter_block(order))
            return false;
    if (event->tick < order->tick || event->type == TBED_EVENT_SPAN)
        return false;
    order->tick = event->tick;
    if (event->type == TBED_EVENT_BEGIN && order->open_count < OPEN_MAX) {
        order->open[order->open_count++] = (struct open_one){event->tick, event->id};
        return event->tick != 0;
    }
    if (event->type == TBED_EVENT_END)
        return !event->of.end.leaves && is_end_of_top(order, event) && order->open_count-- > 0;
    return event->type != TBED_EVENT_BEGIN;
}

static bool is_orderly_stream(struct tbed_reader *reader, uint32_t stream, struct order *order)
{
    struct tbed_cursor *cursor;
    struct tbed_event event;
    size_t count;
    bool is_good = true;
    *order = (struct order){.reader = reader};
    tbed_stream_blocks(reader, stream, &order->next, &count);
    order->end = order->next + count;
    REQUIRE(tbed_cursor_open(reader, stream, &cursor) == TBED_OK);
    while (is_good && tbed_cursor_next(cursor, &event) == TBED_OK)
        is_good = take_event(order, &event);
    tbed_cursor_close(cursor);
    while (is_good && order->next < order->end)
        is_good = enter_block(order);
    return is_good;
}

bool is_orderly(struct tbed_reader *reader)
{
    struct order *order = malloc(sizeof *order);
    struct tbed_stream_info stream;
    bool is_good = order != NULL;
    for (size_t i = 0; is_good && tbed_stream_get(reader, i, &stream); i++)
        is_good = is_orderly_stream(reader, stream.stream, order);
    free(order);
    return is_good;
}
