/*
 * Which blocks may have rows that the constraints of a scan allow.
 *
 * A block is left out by what the index, its entry in the directory and its header say. Blocks that are damaged, or not sealed,
 * are read.
 *
 * SPDX-License-Identifier: MIT
 */
#include "reader/analysis/filter/filter.h"
#include "reader/core/file/gateway.h"
#include "reader/tables/rows/row_scan.h"

struct chooser {
    struct row_scan *rows;
    const struct tbed_reader *reader;
    struct row_range ts;
    struct tbed_tick_line line;
    bool has_clock; /* ticks do not go back in a stream */
};

static int64_t ns_of(struct chooser *chooser, uint64_t tick)
{
    return tbed_tick_line_ns(chooser->reader, &chooser->line, tick);
}

static struct tbed_indexed *entry_at(const struct chooser *chooser, size_t at)
{
    return tbed_index_at(&chooser->reader->index, TBED_BLOCK_EVENTS, at);
}

/* Is no event of the block at or after the least time? */
static bool ends_before(struct chooser *chooser, size_t at, struct tbed_page_entry *entry)
{
    struct tbed_indexed *indexed = entry_at(chooser, at);
    if (chooser->ts.least == INT64_MIN)
        return false;
    if (entry->is_sealed)
        return ns_of(chooser, entry->fields.last_tick) < chooser->ts.least;
    struct tbed_block block;
    struct tbed_lease lease;
    tbed_lease_begin(&lease, chooser->reader->map.packed);
    bool is_good = !indexed->unsealed &&
                   tbed_gateway_by_header(chooser->reader, TBED_BLOCK_EVENTS, indexed, &block) == TBED_OK;
    tbed_lease_end(&lease);
    return is_good && block.sealed && ns_of(chooser, block.last_tick) < chooser->ts.least;
}

static bool begins_after(struct chooser *chooser, uint64_t tick)
{
    return chooser->ts.greatest != INT64_MAX && ns_of(chooser, tick) > chooser->ts.greatest;
}

/*
 * Did all spans that are open at the block's start begin before or after the times that are asked for? Those that it does not
 * list are around those that it lists, and began no later.
 */
static bool lists_none_held(struct chooser *chooser, size_t at)
{
    struct tbed_block block;
    if (tbed_gateway_by_header(chooser->reader, TBED_BLOCK_EVENTS, entry_at(chooser, at), &block) != TBED_OK)
        return false;
    for (uint32_t i = 0; i < block.stored_count; i++) {
        uint64_t begin_tick;
        uint32_t id;
        tbed_block_open_span(&block, i, &begin_tick, &id);
        int64_t ns = ns_of(chooser, begin_tick);
        if (begin_tick == 0 || row_range_has(&chooser->ts, ns))
            return false;
        if (i == 0 && block.depth > block.stored_count && ns > chooser->ts.greatest)
            return false;
    }
    return block.depth == 0 || block.stored_count > 0;
}

static bool lists_none(struct chooser *chooser, size_t at)
{
    struct tbed_lease lease;
    tbed_lease_begin(&lease, chooser->reader->map.packed);
    bool is = lists_none_held(chooser, at);
    tbed_lease_end(&lease);
    return is;
}

static bool is_wanted(struct chooser *chooser, size_t at)
{
    const struct tbed_indexed *indexed = entry_at(chooser, at);
    uint64_t offset = tbed_indexed_offset(chooser->reader, indexed), nbytes = UINT64_C(1) << indexed->shift;
    const struct row_range *ids = &chooser->rows->ids;
    /* See nesting_first_id(); of spans that are deeper than the block lists, some are beyond. */
    if (ids->least > (int64_t)((offset + 2 * nbytes) / 4) || ids->greatest < (int64_t)(offset / 4))
        return false;
    if (row_range_is_all(&chooser->ts))
        return true;
    struct tbed_page_entry entry = {0};
    if (indexed->cell == 0 && chooser->reader->header.ring_page_count == 0)
        entry = tbed_page_entry_load(chooser->reader, indexed->page);
    entry.is_sealed = entry.is_sealed && entry.fields.kind == TBED_BLOCK_EVENTS &&
                      entry.fields.stream == indexed->stream && entry.fields.sequence == indexed->sequence;
    if (ends_before(chooser, at, &entry))
        return false;
    if (!chooser->rows->kind->is_ordered_by_end)
        return !(chooser->has_clock && begins_after(chooser, indexed->first_tick));
    /* With given ticks, spans may begin later than those inside them. */
    return !(entry.is_sealed && begins_after(chooser, entry.fields.least_begin_tick) &&
             (entry.fields.depth == 0 || (chooser->has_clock && lists_none(chooser, at))));
}

static void list_stream(struct chooser *chooser, uint32_t stream)
{
    struct row_scan *rows = chooser->rows;
    size_t first, count;
    tbed_filter_blocks(rows->scan->options.filter, chooser->reader, stream, &first, &count);
    for (size_t at = first; at < first + count; at++)
        if (is_wanted(chooser, at))
            rows->blocks[rows->block_count++] = at;
}

bool tbed_row_blocks_list(struct row_scan *rows)
{
    const struct tbed_reader *reader = rows->scan->reader;
    struct chooser chooser = {.rows = rows,
                              .reader = reader,
                              .ts = row_range_of(rows->scan, rows->columns->ts),
                              .has_clock = reader->header.anchor_monotonic_ns != 0};
    rows->blocks = calloc(tbed_event_block_count(reader) + 1, sizeof *rows->blocks);
    if (rows->blocks == NULL)
        return false;
    for (size_t i = 0; i < rows->threads.count; i++)
        if (rows->threads.items[i].is_wanted)
            list_stream(&chooser, rows->threads.items[i].stream);
    return true;
}
