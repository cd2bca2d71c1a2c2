/*
 * Reading a stream across its segments.
 *
 * SPDX-License-Identifier: MIT
 */
#include "reader/exchange/measureme/file/mm_internal.h"

static const struct mm_segment *segments_of(const struct mm_stream_map *map)
{
    return map->segments.items;
}

static uint64_t segment_end(const struct mm_stream_map *map, size_t segment)
{
    return segment + 1 < map->segments.count ? segments_of(map)[segment + 1].start : map->nbytes;
}

/* The segment that has this address, which must be inside the stream. */
static size_t segment_find(const struct mm_stream_map *map, uint64_t address)
{
    size_t low = 0, high = map->segments.count;
    while (high - low > 1) {
        size_t middle = low + (high - low) / 2;
        if (segments_of(map)[middle].start <= address)
            low = middle;
        else
            high = middle;
    }
    return low;
}

static void enter(struct mm_position *position, size_t segment)
{
    const struct mm_stream_map *map = &position->file->streams[position->stream];
    const struct mm_segment *entered = segments_of(map) + segment;
    position->segment = segment;
    position->end_address = segment_end(map, segment);
    position->at = tbed_mm_place(position->file, position->stream, entered->place);
    position->end = position->at + (position->end_address - entered->start);
}

void tbed_mm_position_at(const struct mm_file *file, enum mm_stream stream, uint64_t address,
                         struct mm_position *position_ret)
{
    const struct mm_stream_map *map = &file->streams[stream];
    *position_ret = (struct mm_position){.file = file, .stream = stream, .end_address = map->nbytes};
    position_ret->segment = map->segments.count;
    if (address >= map->nbytes)
        return;
    enter(position_ret, segment_find(map, address));
    position_ret->at += address - segments_of(map)[position_ret->segment].start;
}

bool tbed_mm_position_next(struct mm_position *position)
{
    const struct mm_stream_map *map = &position->file->streams[position->stream];
    if (position->segment >= map->segments.count || position->segment + 1 == map->segments.count)
        return false;
    enter(position, position->segment + 1);
    return true;
}

bool tbed_mm_position_take(struct mm_position *position, void *bytes_ret, size_t nbytes)
{
    uint8_t *to = bytes_ret;
    while (nbytes > (size_t)(position->end - position->at)) {
        size_t part = (size_t)(position->end - position->at);
        if (part > 0)
            memcpy(to, position->at, part);
        to += part;
        nbytes -= part;
        position->at += part;
        if (!tbed_mm_position_next(position))
            return false;
    }
    memcpy(to, position->at, nbytes);
    position->at += nbytes;
    return true;
}

/* Finds byte 'left' of a segment of copies in the file: pages of other streams may lie in between. */
static uint64_t copied_offset(const struct mm_file *file, enum mm_stream stream,
                              const struct mm_segment *segment, uint64_t left)
{
    const struct mm_source *source = &file->sources[MM_EVENTS];
    uint64_t at = segment->offset; /* always after a page's header */
    while (at <= source->nbytes) {
        uint32_t length = tbed_le32_at(source->bytes + at - 4);
        bool is_of_stream = source->bytes[at - MM_PAGE_HEADER_NBYTES] == stream;
        if (is_of_stream && left < length)
            return at + left;
        left -= is_of_stream ? length : 0;
        at += (uint64_t)length + MM_PAGE_HEADER_NBYTES;
    }
    return UINT64_MAX;
}

uint64_t mm_file_offset(const struct mm_file *file, enum mm_stream stream, uint64_t address)
{
    const struct mm_stream_map *map = &file->streams[stream];
    if (stream == MM_EVENTS || map->nbytes == 0 || address > map->nbytes)
        return UINT64_MAX;
    if (address == map->nbytes)
        return mm_file_offset(file, stream, address - 1) + 1;
    const struct mm_segment *segment = segments_of(map) + segment_find(map, address);
    uint64_t behind = address - segment->start;
    return segment->place & MM_IN_COPIES ? copied_offset(file, stream, segment, behind)
                                         : segment->offset + behind;
}
