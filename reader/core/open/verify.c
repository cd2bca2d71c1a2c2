/*
 * Checks an entire file: every checksum, word, entry and record.
 *
 * Most damage is reported when it is read, so this reads everything. Whether an id resolves is not a property of a
 * file, so ids are not resolved here.
 *
 * SPDX-License-Identifier: MIT
 */
#include "format/string.h"
#include "reader/core/events/cursor.h"
#include "reader/core/file/gateway.h"
#include "reader/core/strings/string_table.h"

static void check_cells_page(const struct tbed_reader *reader, const struct tbed_indexed *entry)
{
    uint64_t offset = tbed_indexed_offset(reader, entry);
    uint32_t nbytes = 1u << entry->shift;
    if (offset > reader->map.nbytes || nbytes > reader->map.nbytes - offset)
        return;
    const uint8_t *bytes = reader->map.bytes + offset;
    if (!tbed_bytes_are_zero(bytes + TBED_COPY_USED_NBYTES, nbytes - TBED_COPY_USED_NBYTES))
        tbed_damage_tell(reader, TBED_ERR_BLOCK_TAIL, offset + TBED_COPY_USED_NBYTES, 0,
                         TBED_COPY_USED_NBYTES);
}

/* Where the block's content ends according to the page's entry; 0: it does not say. */
static uint32_t ended_nbytes(const struct tbed_reader *reader, const struct tbed_block *block)
{
    if (block->cell != 0)
        return 0;
    struct tbed_page_entry entry = tbed_page_entry_load(reader, block->page);
    return entry.is_begun && entry.fields.state == TBED_ENTRY_ENDED ? entry.fields.used_nbytes : 0;
}

/* Checks everything, including checksums; counts what killed writers left unfinished. */
static void check_blocks(struct tbed_reader *reader, enum tbed_block_kind kind)
{
    for (size_t i = 0; i < reader->index.lists[kind].count; i++) {
        struct tbed_indexed *entry = tbed_index_at(&reader->index, kind, i);
        struct tbed_block block;
        struct tbed_block_scan scan;
        if (tbed_gateway(reader, kind, entry, true, &block) != TBED_OK || block.sealed)
            continue;
        uint32_t ended = ended_nbytes(reader, &block); /* loaded first: an ended block is complete */
        if (tbed_block_scan(block.bytes, block.nbytes, kind, &scan) != TBED_OK)
            continue; /* reported when it is read */
        enum tbed_status status = tbed_block_end_check(block.bytes, block.nbytes, kind, &scan, ended);
        if (tbed_gateway(reader, kind, entry, false, &block) != TBED_OK)
            continue; /* a live ring has reused it meanwhile */
        if (status != TBED_OK)
            tbed_damage_tell(reader, status, block.offset + scan.end_nbytes, block.cell, 0);
        else
            reader->interrupted_record_count += scan.has_rest;
    }
}

static void check_strings(const struct tbed_reader *reader)
{
    uint32_t id = 0;
    while (tbed_string_next(reader, &id)) {
        struct tbed_string_entry entry;
        if (tbed_string_find(reader, id, &entry) != TBED_OK)
            continue;
        enum tbed_status status = tbed_content_check(entry.content, entry.nbytes);
        uint64_t offset = (uint64_t)(entry.content - reader->map.bytes) - TBED_STRING_HEAD_NBYTES;
        if (status != TBED_OK)
            tbed_damage_tell(reader, status, offset, 0, id);
    }
}

static bool is_unknown(const struct tbed_event *event)
{
    bool is_application = event->of.unknown.tag >= TBED_EXT_APPLICATION * 256 + TBED_TAG_EXTENDED;
    return event->type == TBED_EVENT_UNKNOWN && !is_application;
}

/* What the header of the cursor's block says about its events. */
struct limits {
    uint64_t last_tick; /* UINT64_MAX: nothing, or it has been reported */
    uint32_t cell;
};

static void load_limits(void *context, const struct tbed_block *block)
{
    struct limits *limits = context;
    limits->last_tick = block->sealed ? block->last_tick : UINT64_MAX;
    limits->cell = block->cell;
}

static void check_tick(const struct tbed_reader *reader, const struct tbed_event *event,
                       struct limits *limits)
{
    if (event->tick <= limits->last_tick)
        return;
    tbed_damage_tell(reader, TBED_ERR_EVENT_TICK, event->offset, limits->cell, event->tick);
    limits->last_tick = UINT64_MAX;
}

/* Errors: ERR_MEMORY. */
static enum tbed_status check_stream(struct tbed_reader *reader, uint32_t stream)
{
    struct limits limits = {.last_tick = UINT64_MAX};
    struct tbed_cursor cursor;
    struct tbed_event event;
    uint64_t last_tick = 0;
    enum tbed_status status;
    tbed_cursor_init(&cursor, reader, stream);
    cursor.entered = load_limits;
    cursor.entered_context = &limits;
    while ((status = tbed_cursor_next(&cursor, &event)) == TBED_OK) {
        check_tick(reader, &event, &limits);
        reader->tick_decrease_count += event.tick < last_tick;
        reader->unknown_event_count += is_unknown(&event);
        last_tick = event.tick;
    }
    tbed_cursor_release(&cursor);
    return status == TBED_END ? TBED_OK : status;
}

enum tbed_status tbed_reader_verify(struct tbed_reader *reader)
{
    const struct tbed_stream_range *ranges = reader->index.stream_ranges.items;
    reader->interrupted_record_count = reader->unknown_event_count = reader->tick_decrease_count = 0;
    for (size_t i = 0; i < reader->index.lists[TBED_BLOCK_CELLS].count; i++)
        check_cells_page(reader, tbed_index_at(&reader->index, TBED_BLOCK_CELLS, i));
    for (enum tbed_block_kind kind = TBED_BLOCK_EVENTS; kind <= TBED_BLOCK_RECORDS; kind++)
        check_blocks(reader, kind);
    if (reader->shut)
        tbed_index_check_unwritten(reader);
    check_strings(reader);
    enum tbed_status status = TBED_OK;
    for (size_t i = 0; status == TBED_OK && i < reader->index.stream_ranges.count; i++)
        status = check_stream(reader, ranges[i].stream);
    return status == TBED_OK ? tbed_damage_first(reader) : status;
}
