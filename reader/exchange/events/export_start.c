/*
 * When traces began; see export_start.h.
 *
 * SPDX-License-Identifier: MIT
 */
#include "reader/exchange/events/export_start.h"

#include "reader/core/file/reader_state.h"

/* Lowers '*first_tick' to the stream's first begin. */
static enum tbed_status find_begin(struct tbed_reader *reader, uint32_t stream, uint64_t *first_tick)
{
    struct tbed_cursor *cursor;
    struct tbed_event event;
    enum tbed_status status = tbed_cursor_open(reader, stream, &cursor);
    if (status != TBED_OK)
        return status;
    while ((status = tbed_cursor_next(cursor, &event)) == TBED_OK) {
        uint64_t tick = event.tick;
        if (event.type == TBED_EVENT_SPAN)
            tick = event.of.span.begin_tick;
        else if (event.type == TBED_EVENT_END && event.of.end.begin_tick != 0)
            tick = event.of.end.begin_tick;
        *first_tick = tick < *first_tick ? tick : *first_tick;
    }
    tbed_cursor_close(cursor);
    return status == TBED_END ? TBED_OK : status;
}

/* The first begin of a span that the block stores as open. UINT64_MAX: there is none, or the block is damaged. */
static uint64_t open_begin_of(struct tbed_reader *reader, size_t index)
{
    struct tbed_block block;
    uint64_t first = UINT64_MAX, begin_tick;
    uint32_t id;
    if (tbed_event_block_get(reader, index, &block) != TBED_OK)
        return UINT64_MAX; /* reported by the cursors of the export */
    for (uint32_t span = 0; span < block.stored_count; span++) {
        tbed_block_open_span(&block, span, &begin_tick, &id);
        first = begin_tick < first ? begin_tick : first;
    }
    bool was_reused = tbed_event_block_get(reader, index, &block) != TBED_OK; /* meanwhile, in a live ring */
    return was_reused ? UINT64_MAX : first;
}

/* Lowers '*first_tick' to the first begin of a span that is open in some block, although the begin itself may be lost. */
static void find_open_begin(struct tbed_reader *reader, size_t block_count, uint64_t *first_tick)
{
    for (size_t i = 0; i < block_count; i++) {
        struct tbed_lease lease;
        tbed_lease_begin(&lease, reader->map.packed);
        uint64_t first = open_begin_of(reader, i);
        *first_tick = first < *first_tick ? first : *first_tick;
        tbed_lease_end(&lease);
    }
}

enum tbed_status tbed_export_start_find(struct tbed_reader *reader, struct export_start *start_ret)
{
    struct tbed_trace_info info;
    struct tbed_stream_info stream;
    enum tbed_status status = TBED_OK;
    tbed_reader_info(reader, &info);
    uint64_t tick = info.first_tick;
    bool is_ring = info.ring_page_count != 0;
    find_open_begin(reader, info.event_block_count, &tick);
    for (size_t i = 0; is_ring && status == TBED_OK && tbed_stream_get(reader, i, &stream); i++)
        status = find_begin(reader, stream.stream, &tick);
    start_ret->ns = tbed_ticks_to_ns(reader, tick);
    start_ret->has_realtime = tbed_ticks_to_realtime_ns(reader, tick, &start_ret->realtime_ns) == TBED_OK;
    return status;
}

int64_t tbed_export_start_shift(const struct export_start *start, const struct export_start *starts,
                                size_t count)
{
    int64_t first = start->realtime_ns, late, shift;
    for (size_t i = 0; i < count && start->has_realtime; i++)
        if (starts[i].has_realtime && starts[i].realtime_ns < first)
            first = starts[i].realtime_ns;
    bool too_far = !start->has_realtime || __builtin_sub_overflow(start->realtime_ns, first, &late);
    late = too_far ? 0 : late;
    return __builtin_sub_overflow(late, start->ns, &shift) ? 0 : shift;
}
