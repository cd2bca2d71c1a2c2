/*
 * Spans deeper than a block stores; see open_spans.h.
 *
 * SPDX-License-Identifier: MIT
 */
#include "reader/analysis/spans/open_spans.h"

#include "format/block.h"
#include "format/event.h"
#include "format/layout.h"

#include <stdlib.h>

bool tbed_block_before(const struct tbed_reader *reader, const struct tbed_block *next, size_t index,
                       struct tbed_block *block_ret)
{
    size_t first, count;
    tbed_stream_blocks(reader, next->stream, &first, &count);
    if (index < first || index - first >= count)
        return false;
    return tbed_event_block_get(reader, index, block_ret) == TBED_OK && block_ret->stream == next->stream &&
           block_ret->sequence + 1 == next->sequence;
}

uint64_t tbed_block_last_tick(const struct tbed_block *block)
{
    if (block->sealed)
        return block->last_tick;
    struct tbed_block_scan scan;
    tbed_block_scan(block->bytes, block->nbytes, TBED_BLOCK_EVENTS, &scan);
    return scan.last_tick;
}

/* The ids of the spans that are open at a block's end, as far as it knows them. */
struct replay {
    uint32_t *ids;
    size_t count;
    uint64_t deep; /* open below those */
};

static void replay_event(struct replay *replay, uint64_t word, const uint64_t *at)
{
    uint32_t tag = tbed_event_tag(word);
    uint32_t type = tag == TBED_TAG_EXTENDED ? (uint32_t)tbed_word_load(at + 1) & 0xFF : 0;
    if (tag == TBED_TAG_BEGIN || type == TBED_EXT_BEGIN)
        replay->ids[replay->count++] = tbed_event_id(word);
    else if (tag == TBED_TAG_END || tbed_extended_ends_span(type)) {
        if (replay->count > 0)
            replay->count--;
        else if (replay->deep > 0)
            replay->deep--;
    }
}

/* 'ids' has as many bytes as the block: more than 4 for each word and each stored span. */
static void replay_block(struct replay *replay, const struct tbed_block *block)
{
    replay->count = 0;
    replay->deep = block->depth - block->stored_count;
    for (uint32_t i = 0; i < block->stored_count; i++) {
        uint64_t begin_tick;
        tbed_block_open_span(block, i, &begin_tick, &replay->ids[replay->count++]);
    }
    for (const uint64_t *at = block->words; at < block->words_end;) {
        uint64_t word = tbed_word_load(at);
        size_t nwords;
        if (word == 0 || tbed_event_check(word, at, block->words_end, &nwords) != TBED_OK)
            return;
        replay_event(replay, word, at);
        at += nwords;
    }
}

uint64_t tbed_open_spans_below(const struct tbed_reader *reader, size_t index, uint64_t deep,
                               bool (*found)(void *context, uint32_t id), void *context)
{
    struct tbed_block block;
    if (deep == 0 || tbed_event_block_get(reader, index, &block) != TBED_OK)
        return deep;
    struct replay replay = {.ids = malloc(block.nbytes)};
    size_t room = block.nbytes;
    struct tbed_block before;
    while (replay.ids != NULL && deep > 0 && index > 0 &&
           tbed_block_before(reader, &block, --index, &before)) {
        /* A small block may follow a large one. */
        uint32_t *ids = before.nbytes > room ? realloc(replay.ids, before.nbytes) : replay.ids;
        if (ids == NULL)
            break;
        replay.ids = ids;
        room = before.nbytes > room ? before.nbytes : room;
        replay_block(&replay, &before);
        if (replay.deep + replay.count != block.depth)
            break; /* they do not fit together: damage */
        while (deep > replay.deep) {
            deep--;
            if (!found(context, replay.ids[deep - replay.deep])) {
                free(replay.ids);
                return deep;
            }
        }
        block = before;
    }
    free(replay.ids);
    return deep;
}
