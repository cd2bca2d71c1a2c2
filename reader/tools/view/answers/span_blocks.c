/*
 * The spans around a tick of a stream, from a few of its blocks, where tbed_calls_find() would read them all: the block that
 * has the tick, and those in which the spans end that it leaves open. Blocks store which spans are open at their start, so
 * the latter are found by halving.
 *
 * A span that is a single event, written at its end, is in no other block: it is missing if that is not one of these.
 *
 * SPDX-License-Identifier: MIT
 */
#include "reader/tools/view/answers/answers.h"

#include "reader/analysis/assembly/block_spans.h"
#include "reader/analysis/shared/resolution.h"
#include "reader/core/file/reader_state.h"

#include <stdlib.h>

#define BLOCKS_MAX 256 /* that are read */

struct around {
    struct answer *answer;
    uint64_t tick;
    struct block_spans spans;
    struct tbed_call *calls;
    size_t count, room;
    TBED_VECTOR(size_t) blocks; /* that were read */
};

static bool take_span(struct around *around, const struct block_span *span)
{
    uint64_t begin = span->begin_tick < span->end_tick ? span->begin_tick : span->end_tick;
    if (span->kind == TBED_STEP_UNKNOWN || begin > around->tick || span->end_tick < around->tick)
        return true;
    if (around->count == around->room)
        return false;
    around->calls[around->count++] = (struct tbed_call){
        .begin_tick = begin,
        .end_tick = span->end_tick,
        .ticks = tbed_ticks_between(around->answer->info.resolution_ticks, begin, span->end_tick),
        .stream = around->spans.block.stream,
        .id = span->id,
        .category = span->category,
        .is_open = span->kind == TBED_STEP_OPEN};
    return true;
}

/* Takes the spans that end in a block, once. False: too many. */
static bool read_block(struct around *around, size_t index, enum tbed_status *status)
{
    for (size_t i = 0; i < around->blocks.count; i++)
        if (around->blocks.items[i] == index)
            return true;
    if (around->blocks.count == BLOCKS_MAX)
        return false;
    size_t *added = TBED_VECTOR_PUSH(&around->blocks);
    if (added == NULL)
        *status = TBED_ERR_MEMORY;
    if (added == NULL)
        return false;
    *added = index;
    enum tbed_status read = tbed_block_spans_read(&around->spans, index);
    if (read == TBED_ERR_MEMORY)
        *status = read;
    bool fine = read != TBED_ERR_MEMORY;
    for (size_t i = 0; read == TBED_OK && fine && i < around->spans.count; i++)
        fine = take_span(around, &around->spans.items[i]);
    return fine; /* damage is not an error: what is in the block is missing */
}

/* ---- Where open spans end ---- */

struct stored {
    uint32_t depth, id;
    uint64_t begin_tick;
};

static bool stores(const struct around *around, size_t index, const struct stored *span)
{
    struct tbed_block block;
    uint64_t begin_tick;
    uint32_t id;
    if (tbed_event_block_get(around->answer->trace->reader, index, &block) != TBED_OK ||
        span->depth >= block.depth)
        return false;
    if (span->depth < tbed_block_stored_depth(&block))
        return true; /* most likely: more deep spans are open than a block stores */
    tbed_block_open_span(&block, span->depth - tbed_block_stored_depth(&block), &begin_tick, &id);
    return begin_tick == span->begin_tick && id == span->id;
}

static bool is_stored(const struct around *around, size_t index, const struct stored *span)
{
    struct tbed_lease lease;
    tbed_lease_begin(&lease, around->answer->trace->reader->map.packed);
    bool is = stores(around, index, span);
    tbed_lease_end(&lease);
    return is;
}

/* The last of the blocks from 'first', which stores the span as open, up to before 'end' that does. */
static size_t last_with(const struct around *around, size_t first, size_t end, const struct stored *span)
{
    while (end - first > 1) {
        size_t middle = first + (end - first) / 2;
        if (is_stored(around, middle, span))
            first = middle;
        else
            end = middle;
    }
    return first;
}

/* Reads the blocks in which the spans end that are open at the start of block 'index' and began up to the tick. */
static bool read_held(struct around *around, size_t index, size_t end, enum tbed_status *status)
{
    struct tbed_block block;
    bool fine = true;
    if (index >= end || tbed_event_block_get(around->answer->trace->reader, index, &block) != TBED_OK)
        return true;
    if (tbed_block_stored_depth(&block) > 0)
        return false; /* spans are open of which it says nothing */
    for (uint32_t i = 0; fine && i < block.stored_count; i++) {
        struct stored span = {.depth = i};
        tbed_block_open_span(&block, i, &span.begin_tick, &span.id);
        if (span.begin_tick <= around->tick && span.begin_tick != 0)
            fine = read_block(around, last_with(around, index, end, &span), status);
    }
    return fine;
}

static bool read_ends(struct around *around, size_t index, size_t end, enum tbed_status *status)
{
    struct tbed_lease lease;
    tbed_lease_begin(&lease, around->answer->trace->reader->map.packed);
    bool fine = read_held(around, index, end, status);
    tbed_lease_end(&lease);
    return fine;
}

/* ---- All of it ---- */

static bool open_spans(struct around *around)
{
    const struct tbed_reader *reader = around->answer->trace->reader;
    around->spans.reader = around->spans.back.reader = reader;
    around->spans.has_categories = true;
    around->spans.back.passages =
        calloc(tbed_event_block_count(reader) + 1, sizeof *around->spans.back.passages);
    return around->spans.back.passages != NULL;
}

static bool read_all(struct around *around, uint32_t stream, enum tbed_status *status)
{
    struct tbed_reader *reader = around->answer->trace->reader;
    struct tbed_filter_options which = {
        .size = sizeof which, .begin_tick = around->tick, .end_tick = around->tick + 1};
    struct tbed_filter *filter = NULL;
    size_t first, count, stream_first, stream_count;
    *status = tbed_filter_make(reader, &which, &filter, NULL);
    if (*status != TBED_OK)
        return false;
    tbed_filter_blocks(filter, reader, stream, &first, &count);
    tbed_filter_close(filter);
    tbed_stream_blocks(reader, stream, &stream_first, &stream_count);
    bool fine = true;
    for (size_t i = 0; fine && i < count; i++)
        fine = read_block(around, first + i, status);
    return fine && read_ends(around, first + count, stream_first + stream_count, status);
}

bool answer_spans_around(struct answer *answer, uint32_t stream, uint64_t tick, struct tbed_call *calls,
                         size_t room, size_t *count_ret, enum tbed_status *status_ret)
{
    struct around around = {.answer = answer, .tick = tick, .calls = calls, .room = room};
    *status_ret = TBED_OK;
    if (answer->trace->reader->header.anchor_monotonic_ns == 0 || tick == UINT64_MAX) /* ticks may go back */
        return false;
    bool fine = open_spans(&around);
    if (!fine)
        *status_ret = TBED_ERR_MEMORY;
    fine = fine && read_all(&around, stream, status_ret);
    *count_ret = around.count;
    free(around.spans.back.passages);
    tbed_block_spans_free(&around.spans);
    tbed_vector_free(&around.blocks.vector);
    return fine;
}
