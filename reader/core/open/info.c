/*
 * Facts about an entire trace: its clock, its extent, counts.
 *
 * SPDX-License-Identifier: MIT
 */
#include "format/base/sized.h"
#include "reader/core/file/gateway.h"
#include "reader/core/records/metadata.h"

#include <stdlib.h>
#include <string.h>

#define NS_PER_S UINT64_C(1000000000)

static void count_block(const struct tbed_reader *reader, enum tbed_block_kind kind,
                        struct tbed_indexed *entry, struct tbed_trace_info *info)
{
    struct tbed_block block;
    if (tbed_gateway(reader, kind, entry, false, &block) != TBED_OK)
        return;
    uint64_t last_tick = block.last_tick;
    if (!block.sealed) {
        struct tbed_block_scan scan;
        info->unsealed_block_count++;
        tbed_block_scan(block.bytes, block.nbytes, kind, &scan); /* damage is left for a cursor to report */
        last_tick = scan.last_tick;
        if (tbed_gateway(reader, kind, entry, false, &block) != TBED_OK)
            return; /* a live ring has reused it meanwhile */
    }
    if (kind != TBED_BLOCK_EVENTS)
        return;
    if (block.first_tick < info->first_tick)
        info->first_tick = block.first_tick;
    if (last_tick > info->last_tick)
        info->last_tick = last_tick;
}

/*
 * Of the blocks that were not sealed at the last refresh, counts those that still are not, and finds their last tick.
 */
static void count_unsealed(const struct tbed_reader *reader, enum tbed_block_kind kind,
                           struct tbed_trace_info *info)
{
    const struct tbed_vector *list = &reader->index.lists[kind];
    for (size_t i = 0; i < list->count; i++) {
        struct tbed_indexed *entry = tbed_index_at(&reader->index, kind, i);
        struct tbed_lease lease;
        if (!entry->unsealed)
            continue;
        tbed_lease_begin(&lease, reader->map.packed);
        count_block(reader, kind, entry, info);
        tbed_lease_end(&lease);
    }
}

static uint64_t unwritten_page_count(const struct tbed_reader *reader)
{
    const struct tbed_index *index = &reader->index;
    uint64_t beyond = reader->page_count > index->scanned_page_count && !reader->shut
                          ? reader->page_count - index->scanned_page_count - index->cut_page_count
                          : 0;
    return index->pending_page_count + beyond;
}

static uint64_t resolution_ticks(const struct tbed_reader *reader)
{
    uint64_t ns = reader->header.resolution_ns, per_second = reader->header.ticks_per_second;
    if (ns == 0 || per_second < NS_PER_S / ns)
        return 1;
    return per_second / NS_PER_S * ns + per_second % NS_PER_S * ns / NS_PER_S;
}

void tbed_reader_info_sized(const struct tbed_reader *reader, struct tbed_trace_info *info_ret,
                            size_t info_nbytes)
{
    const struct tbed_disk_header *header = tbed_reader_header(reader);
    struct tbed_trace_info info = {
        .file_nbytes = reader->map.nbytes,
        .packed_nbytes = reader->map.packed != NULL ? tbed_packed_file(reader->map.packed)->nbytes : 0,
        .page_nbytes = reader->header.page_nbytes,
        .page_count = reader->page_count,
        .file_id = reader->header.file_id,
        .ring_page_count = reader->header.ring_page_count,
        .shut = reader->shut,
        .writer_count = reader->has_counters ? tbed_word_load(&header->writer_count) : 0,
        .clock = reader->header.clock,
        .clock_reason = reader->header.clock_reason,
        .ticks_per_second = reader->header.ticks_per_second,
        .event_block_count = reader->index.lists[TBED_BLOCK_EVENTS].count,
        .string_block_count = reader->index.lists[TBED_BLOCK_STRINGS].count,
        .record_block_count = reader->index.lists[TBED_BLOCK_RECORDS].count,
        .unwritten_page_count = unwritten_page_count(reader),
        .interrupted_record_count = reader->verified.interrupted_records,
        .stream_count = (uint32_t)reader->metadata->streams.count,
        .first_tick = reader->index.first_tick,
        .last_tick = reader->index.last_tick,
        .unknown_event_count = reader->verified.unknown_events,
        .tick_decrease_count = reader->verified.tick_decreases,
        .event_count = reader->verified.events,
        .application_event_count = reader->verified.application_events,
        .unit_count = reader->metadata->units.count,
        .described_count = reader->metadata->frames.count,
        .series_number = reader->metadata->series_number,
        .series_failed_count = reader->metadata->series_failed_count,
        .series_id = reader->metadata->series_id,
        .previous_file_id = reader->metadata->previous_file_id,
        .resolution_ticks = resolution_ticks(reader),
    };
    const struct tbed_keyed_stacks *stacks = reader->metadata->stacks.items;
    for (size_t i = 0; i < reader->metadata->stacks.count; i++)
        info.stack_count += stacks[i].has_types ? 0 : stacks[i].count;
    memcpy(info.clock_unit, reader->header.clock_unit, sizeof info.clock_unit);
    for (size_t i = 0; i < TBED_DROP_CAUSE_COUNT && reader->has_counters; i++)
        info.drops[i] = tbed_word_load(&header->drops[i]);
    for (enum tbed_block_kind kind = TBED_BLOCK_EVENTS; kind <= TBED_BLOCK_RECORDS; kind++)
        count_unsealed(reader, kind, &info);
    if (info.first_tick > info.last_tick) /* no event blocks */
        info.first_tick = info.last_tick = 0;
    else if (reader->header.anchor_monotonic_ns == 0 && reader->header.anchor_ticks < info.first_tick)
        /* Ticks that a program gives start at the anchor; the first event may be an end. */
        info.first_tick = reader->header.anchor_ticks;
    tbed_sized_give(info_ret, info_nbytes, &info, sizeof info);
}
