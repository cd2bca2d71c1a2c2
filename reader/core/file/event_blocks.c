/*
 * Iteration over the event blocks of a file, with the spans that are open at the start of each.
 *
 * SPDX-License-Identifier: MIT
 */
#include "format/base/sized.h"
#include "reader/core/file/gateway.h"
#include "reader/core/file/place.h"

size_t tbed_event_block_count(const struct tbed_reader *reader)
{
    return reader->index.lists[TBED_BLOCK_EVENTS].count;
}

enum tbed_status tbed_event_block_get_sized(const struct tbed_reader *reader, size_t index,
                                            struct tbed_block *block_ret, size_t block_nbytes)
{
    struct tbed_block block;
    if (index >= tbed_event_block_count(reader))
        return TBED_ERR_ARGUMENT;
    struct tbed_indexed *entry = tbed_index_at(&reader->index, TBED_BLOCK_EVENTS, index);
    enum tbed_status status = tbed_gateway(reader, TBED_BLOCK_EVENTS, entry, false, &block);
    if (status == TBED_OK)
        tbed_sized_give(block_ret, block_nbytes, &block, sizeof block);
    return status;
}

enum tbed_status tbed_event_block_look(const struct tbed_reader *reader, size_t index,
                                       struct tbed_block *block_ret)
{
    struct tbed_lease lease;
    tbed_lease_begin(&lease, reader->map.packed);
    enum tbed_status status = tbed_event_block_get(reader, index, block_ret);
    tbed_lease_end(&lease);
    return status;
}

void tbed_stream_blocks(const struct tbed_reader *reader, uint32_t stream, size_t *first_ret,
                        size_t *count_ret)
{
    struct tbed_stream_range range = tbed_index_stream(&reader->index, stream);
    *first_ret = range.first;
    *count_ret = range.count;
}

static struct tbed_ring_gap gap_between(const struct tbed_reader *reader, const struct tbed_indexed *before,
                                        const struct tbed_indexed *after)
{
    struct tbed_block_facts facts = tbed_place_facts(reader, before->page, before->cell);
    bool is_known = facts.kind == TBED_BLOCK_EVENTS && facts.stream == before->stream &&
                    facts.sequence == before->sequence;
    return (struct tbed_ring_gap){
        .stream = before->stream,
        .first_sequence = before->sequence + 1,
        .block_count = tbed_index_missing_count(&reader->index, before, after),
        .first_tick = is_known ? facts.last_tick : before->first_tick,
        .last_tick = after->first_tick,
    };
}

bool tbed_ring_gap_next_sized(const struct tbed_reader *reader, size_t *position,
                              struct tbed_ring_gap *gap_ret, size_t gap_nbytes)
{
    size_t count = reader->header.ring_page_count != 0 ? tbed_event_block_count(reader) : 0;
    for (size_t at = *position; at + 1 < count; at++) {
        const struct tbed_indexed *before = tbed_index_at(&reader->index, TBED_BLOCK_EVENTS, at);
        if (before->stream != before[1].stream || before->sequence + 1 == before[1].sequence)
            continue;
        struct tbed_ring_gap gap = gap_between(reader, before, &before[1]);
        if (gap.block_count == 0)
            continue;
        *position = at + 1;
        tbed_sized_give(gap_ret, gap_nbytes, &gap, sizeof gap);
        return true;
    }
    *position = count;
    return false;
}

void tbed_block_open_span(const struct tbed_block *block, uint32_t index, uint64_t *begin_tick_ret,
                          uint32_t *id_ret)
{
    const uint8_t *span = block->bytes + TBED_BLOCK_HEADER_NBYTES + (size_t)index * TBED_STACK_ENTRY_NBYTES;
    *begin_tick_ret = tbed_word_load(span);
    *id_ret = tbed_word32_load(span + offsetof(struct tbed_disk_open_span, id)) & TBED_ID_MAX;
}

bool tbed_block_span_is_inherited(const struct tbed_block *block, uint32_t index)
{
    const uint8_t *span = block->bytes + TBED_BLOCK_HEADER_NBYTES + (size_t)index * TBED_STACK_ENTRY_NBYTES;
    uint32_t flags = tbed_word32_load(span + offsetof(struct tbed_disk_open_span, flags));
    return (flags & TBED_OPEN_SPAN_INHERITED) != 0;
}
