/*
 * The blocks beside a block; see neighbours.h.
 *
 * SPDX-License-Identifier: MIT
 */
#include "reader/analysis/assembly/neighbours.h"

#include "format/block.h"
#include "reader/core/file/reader_state.h"

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

bool tbed_block_previous(const struct tbed_reader *reader, struct tbed_block *block, size_t *index)
{
    uint32_t stream = block->stream;
    struct tbed_block previous;
    size_t first, count;
    tbed_stream_blocks(reader, stream, &first, &count);
    for (size_t i = *index; i > first; i--) {
        if (tbed_event_block_get(reader, i - 1, &previous) != TBED_OK || previous.stream != stream)
            continue;
        *block = previous;
        *index = i - 1;
        return true;
    }
    return false;
}

bool tbed_block_after(const struct tbed_reader *reader, const struct tbed_block *block, size_t index,
                      struct tbed_block *next_ret)
{
    size_t first, count;
    tbed_stream_blocks(reader, block->stream, &first, &count);
    while (++index < first + count)
        if (tbed_event_block_get(reader, index, next_ret) == TBED_OK && next_ret->stream == block->stream)
            return true;
    return false;
}

uint64_t tbed_block_latest_tick(const struct tbed_block *block)
{
    struct tbed_block_scan scan;
    tbed_block_scan(block->bytes, block->nbytes, TBED_BLOCK_EVENTS, &scan);
    return scan.last_tick;
}

uint64_t tbed_block_last_tick(const struct tbed_block *block)
{
    return block->sealed ? block->last_tick : tbed_block_latest_tick(block);
}

static bool last_tick_of(const struct tbed_reader *reader, size_t index, uint32_t stream, uint64_t *tick_ret)
{
    struct tbed_block block;
    struct tbed_lease lease;
    tbed_lease_begin(&lease, reader->map.packed);
    bool is_good = tbed_event_block_get(reader, index, &block) == TBED_OK && block.stream == stream;
    if (is_good)
        *tick_ret = tbed_block_last_tick(&block);
    tbed_lease_end(&lease);
    return is_good;
}

uint64_t tbed_stream_last_tick(const struct tbed_reader *reader, uint32_t stream, uint64_t none)
{
    size_t first, count;
    uint64_t tick;
    tbed_stream_blocks(reader, stream, &first, &count);
    while (count-- > 0)
        if (last_tick_of(reader, first + count, stream, &tick))
            return tick;
    return none;
}
