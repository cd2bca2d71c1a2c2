/*
 * Which blocks a filter needs; see filter.h.
 *
 * Where the writer took the ticks from a clock, they do not go back in a stream, so a block covers the time from its first
 * tick to that of the next block. Ticks that were given to the writer may go back, so all blocks are read.
 *
 * SPDX-License-Identifier: MIT
 */
#include "reader/analysis/filter/filter.h"

#include "reader/core/file/gateway.h"
#include "reader/core/file/reader_state.h"
#include "reader/core/records/metadata.h"

static struct tbed_indexed *entry_at(const struct tbed_reader *reader, size_t at)
{
    return tbed_index_at(&reader->index, TBED_BLOCK_EVENTS, at);
}

/* The first block of the range whose first tick is not below 'tick'; 'end' if there is none. */
static size_t block_from(const struct tbed_reader *reader, size_t first, size_t end, uint64_t tick)
{
    while (first < end && entry_at(reader, first)->first_tick < tick)
        first++;
    return first;
}

bool tbed_filter_has_clock(const struct tbed_filter *filter)
{
    return filter->reader->header.anchor_monotonic_ns != 0;
}

/*
 * Where reading has to begin for block 'at': at the last good block before it, whose spans may still be open, or earlier, as
 * long as the blocks before that also have events at 'tick' or later.
 */
static size_t block_before(const struct tbed_reader *reader, size_t first, size_t at, uint64_t tick)
{
    struct tbed_block block;
    while (at > first && tbed_event_block_look(reader, --at, &block) != TBED_OK)
        ;
    while (at > first && !tbed_indexed_ends_before(reader, entry_at(reader, at - 1), tick))
        at--;
    return at;
}

/* Is what came before the block known, so that it lists no open span that would otherwise be missed? */
static bool follows_good(const struct tbed_reader *reader, size_t first, size_t at)
{
    struct tbed_block before;
    return at > first && entry_at(reader, at - 1)->sequence + 1 == entry_at(reader, at)->sequence &&
           tbed_event_block_look(reader, at - 1, &before) == TBED_OK;
}

/* The end of a range whose first block beyond the window is 'at'. Spans that begin in a gap are known from the next block. */
static size_t end_at(const struct tbed_reader *reader, size_t first, size_t at, size_t end)
{
    while (at < end && !follows_good(reader, first, at))
        at++;
    return at;
}

/* Do the first ticks never go back? */
static bool is_in_order(const struct tbed_reader *reader, size_t first, size_t count)
{
    for (size_t i = first + 1; i < first + count; i++)
        if (entry_at(reader, i)->first_tick < entry_at(reader, i - 1)->first_tick)
            return false;
    return true;
}

void tbed_filter_blocks(const struct tbed_filter *filter, const struct tbed_reader *reader, uint32_t stream,
                        size_t *first_ret, size_t *count_ret)
{
    size_t first, count;
    tbed_stream_blocks(reader, stream, &first, &count);
    if (!tbed_filter_has_stream(filter, stream))
        count = 0;
    if (filter != NULL && tbed_filter_has_clock(filter) && is_in_order(reader, first, count)) {
        size_t end = first + count;
        if (filter->has_end)
            end = end_at(reader, first, block_from(reader, first, end, filter->end), end);
        if (filter->begin > 0 && end > first)
            first = block_before(reader, first, block_from(reader, first, end, filter->begin), filter->begin);
        count = end - first;
    }
    *first_ret = first;
    *count_ret = count;
}

bool tbed_filter_is_off_cpu(const struct tbed_reader *reader, uint32_t stream)
{
    const struct tbed_keyed_stream *found =
        tbed_keyed_find(&reader->metadata->streams, sizeof *found, stream);
    return found != NULL && found->info.kind == TBED_STREAM_OFF_CPU;
}

bool tbed_filter_sums_stream(const struct tbed_filter *filter, const struct tbed_reader *reader,
                             uint32_t stream)
{
    bool takes_off_cpu = filter != NULL && filter->asks_for_off_cpu;
    return tbed_filter_has_stream(filter, stream) &&
           (takes_off_cpu || !tbed_filter_is_off_cpu(reader, stream));
}

/* The last block up to 'at' that lists all spans that are open at its start; the first one if none does. */
static size_t complete_before(const struct tbed_reader *reader, size_t first, size_t at)
{
    struct tbed_block block;
    while (at > first &&
           (tbed_event_block_look(reader, at, &block) != TBED_OK || block.depth > block.stored_count))
        at--;
    return at;
}

void tbed_filter_sequences(const struct tbed_filter *filter, const struct tbed_reader *reader,
                           uint32_t stream, uint64_t *first_ret, uint64_t *end_ret)
{
    size_t first, count, stream_first, stream_count;
    tbed_filter_blocks(filter, reader, stream, &first, &count);
    tbed_stream_blocks(reader, stream, &stream_first, &stream_count);
    *first_ret = *end_ret = 0;
    if (count == 0)
        return;
    *end_ret = (uint64_t)entry_at(reader, first + count - 1)->sequence + 1;
    *first_ret = entry_at(reader, complete_before(reader, stream_first, first))->sequence;
}

size_t *tbed_filter_list_blocks(const struct tbed_filter *filter, const struct tbed_reader *reader,
                                size_t *count_ret)
{
    const struct tbed_vector *ranges = &reader->index.stream_ranges;
    size_t *blocks = calloc(tbed_event_block_count(reader) + 1, sizeof *blocks), total = 0, first, count;
    for (size_t i = 0; blocks != NULL && i < ranges->count; i++) {
        uint32_t stream = ((const struct tbed_stream_range *)ranges->items)[i].stream;
        if (!tbed_filter_sums_stream(filter, reader, stream))
            continue;
        tbed_filter_blocks(filter, reader, stream, &first, &count);
        for (size_t k = 0; k < count; k++)
            blocks[total++] = first + k;
    }
    *count_ret = total;
    return blocks;
}

bool tbed_filter_is_last(const struct tbed_filter *filter, const struct tbed_reader *reader, size_t index,
                         const struct tbed_block *next)
{
    size_t first, count;
    if (filter == NULL || !filter->has_end || next->first_tick < filter->end)
        return false;
    tbed_filter_blocks(filter, reader, next->stream, &first, &count);
    return index + 1 == first + count;
}

void tbed_filter_limit_merge(const struct tbed_filter *filter, struct tbed_merge *merge)
{
    if (filter != NULL)
        tbed_merge_limit(merge, filter->begin, filter->has_end ? filter->end - 1 : UINT64_MAX);
}

void tbed_filter_times(const struct tbed_filter *filter, struct tbed_trace_info *info)
{
    if (filter == NULL)
        return;
    if (filter->begin > info->first_tick)
        info->first_tick = filter->begin;
    if (filter->has_end && filter->end - 1 < info->last_tick)
        info->last_tick = filter->end - 1;
    if (info->last_tick < info->first_tick)
        info->last_tick = info->first_tick;
}

void tbed_filter_window(const struct tbed_filter *filter, const struct tbed_reader *reader,
                        uint64_t *begin_tick_ret, uint64_t *end_tick_ret)
{
    struct tbed_trace_info info;
    tbed_reader_info(reader, &info);
    *begin_tick_ret = filter != NULL && filter->begin != 0 ? filter->begin : info.first_tick;
    *end_tick_ret = filter != NULL && filter->has_end ? filter->end : info.last_tick;
    if (*end_tick_ret <= *begin_tick_ret)
        *end_tick_ret = *begin_tick_ret + 1;
}
