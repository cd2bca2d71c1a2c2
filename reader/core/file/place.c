/*
 * What a block's place in the file says about it; see place.h.
 *
 * SPDX-License-Identifier: MIT
 */
#include "reader/core/file/place.h"

#include "format/file/mark.h"

struct tbed_block_place tbed_place_make(const struct tbed_reader *reader, uint32_t page, uint32_t cell,
                                        uint32_t shift, uint32_t cells_string_page)
{
    const struct tbed_disk_header *header = tbed_reader_header(reader);
    return (struct tbed_block_place){
        .file_id = reader->header.file_id,
        .page_nbytes = reader->header.page_nbytes,
        .page = page,
        .cell = cell,
        .nbytes = cell == 0 ? reader->header.page_nbytes : 1u << shift,
        .cells_string_page = cells_string_page,
        .next_stream = reader->has_counters ? tbed_word_load(&header->next_stream) : UINT64_MAX,
        .next_string_page = reader->has_counters ? tbed_word_load(&header->next_string_page) : UINT64_MAX,
    };
}

/* Could a block header say the same? */
static bool is_possible(const struct tbed_reader *reader, const struct tbed_entry_fields *entry,
                        uint32_t page)
{
    uint32_t page_nbytes = reader->header.page_nbytes, field;
    uint64_t detail;
    struct tbed_block_place place = tbed_place_make(reader, page, 0, 0, 0);
    struct tbed_block_fields block =
        tbed_entry_block(entry, reader->header.file_id, page, (uint32_t)__builtin_ctz(page_nbytes));
    return tbed_block_header_check(&block, &place, &field, &detail) == TBED_OK;
}

struct tbed_page_entry tbed_page_entry_at(const struct tbed_reader *reader, uint64_t page, uint64_t offset)
{
    struct tbed_page_entry entry = {.is_there = false};
    if (offset > reader->map.nbytes || reader->map.nbytes - offset < TBED_ENTRY_NBYTES)
        return entry;
    const uint8_t *bytes = reader->map.bytes + offset;
    tbed_map_take(&reader->map, offset, true);
    struct tbed_mark before = tbed_mark_load(bytes);
    entry.fields = tbed_entry_load(bytes);
    if (page <= tbed_reader_reused_count(reader) &&
        (!tbed_mark_has_block(before) || tbed_page_was_taken(reader, page, &entry) ||
         entry.fields.generation >> TBED_MARK_STATE_BITS != before.count))
        return entry;
    entry.is_there = true;
    entry.is_begun = entry.fields.is_valid && entry.fields.state >= TBED_ENTRY_BEGUN;
    entry.is_possible = entry.is_begun && is_possible(reader, &entry.fields, (uint32_t)page);
    entry.is_sealed =
        entry.is_possible && entry.fields.state == TBED_ENTRY_SEALED && entry.fields.used_nbytes != 0;
    return entry;
}

struct tbed_page_entry tbed_page_entry_load(const struct tbed_reader *reader, uint64_t page)
{
    uint32_t page_nbytes = reader->header.page_nbytes;
    if (page == 0 || tbed_directory_has_page(page_nbytes, page))
        return (struct tbed_page_entry){.is_there = false};
    return tbed_page_entry_at(reader, page, tbed_directory_entry_offset(page_nbytes, page));
}

bool tbed_page_was_taken(const struct tbed_reader *reader, uint64_t page, const struct tbed_page_entry *entry)
{
    return page <= tbed_reader_reused_count(reader) &&
           !tbed_page_still_has(reader->map.bytes, reader->header.page_nbytes, page,
                                entry->fields.generation >> TBED_MARK_STATE_BITS);
}

struct tbed_block_fields tbed_page_block_load(const struct tbed_reader *reader, uint64_t page)
{
    struct tbed_lease lease;
    tbed_lease_begin(&lease, reader->map.packed);
    tbed_map_take(&reader->map, page * reader->header.page_nbytes, false);
    struct tbed_block_fields fields =
        tbed_page_load(reader->map.bytes, reader->header.page_nbytes, tbed_reader_reused_count(reader), page);
    tbed_lease_end(&lease);
    return fields;
}

/* The header of the block at 'offset', if it passes its checks. */
static bool valid_header(const struct tbed_reader *reader, uint64_t offset,
                         const struct tbed_block_place *place, struct tbed_block_fields *fields_ret)
{
    uint32_t field;
    uint64_t detail;
    if (offset > reader->map.nbytes || reader->map.nbytes - offset < TBED_BLOCK_HEADER_NBYTES)
        return false;
    *fields_ret = place->cell != 0 ? tbed_block_load(tbed_map_at(&reader->map, offset))
                                   : tbed_page_block_load(reader, place->page);
    return fields_ret->kind != TBED_BLOCK_NONE &&
           tbed_block_header_check(fields_ret, place, &field, &detail) == TBED_OK;
}

/* What the directory says, if the block itself says nothing. */
static struct tbed_block_facts facts_of_entry(const struct tbed_reader *reader, uint64_t page)
{
    struct tbed_page_entry entry = tbed_page_entry_load(reader, page);
    const struct tbed_entry_fields *fields = &entry.fields;
    if (!entry.is_possible)
        return (struct tbed_block_facts){.kind = TBED_BLOCK_NONE};
    return (struct tbed_block_facts){
        .kind = (enum tbed_block_kind)fields->kind,
        .stream = fields->stream,
        .sequence = fields->sequence,
        .first_tick = fields->first_tick,
        .last_tick = fields->state >= TBED_ENTRY_ENDED ? fields->last_tick : fields->first_tick,
    };
}

static struct tbed_block_facts facts_of(const struct tbed_reader *reader, uint64_t page, uint32_t cell)
{
    struct tbed_block_fields fields;
    uint64_t offset = page * reader->header.page_nbytes;
    struct tbed_block_place place = tbed_place_make(reader, (uint32_t)page, 0, 0, 0);
    bool is_page = page != 0 && page <= UINT32_MAX;
    bool is_known = is_page && valid_header(reader, offset, &place, &fields);
    if (is_known && cell != 0) {
        uint32_t shift = fields.shift;
        place = tbed_place_make(reader, (uint32_t)page, cell, shift, fields.string_page);
        is_known = fields.kind == TBED_BLOCK_CELLS && cell < reader->header.page_nbytes >> shift &&
                   valid_header(reader, offset + ((uint64_t)cell << shift), &place, &fields);
    }
    if (!is_known)
        return is_page ? facts_of_entry(reader, page) : (struct tbed_block_facts){.kind = TBED_BLOCK_NONE};
    return (struct tbed_block_facts){
        .kind = (enum tbed_block_kind)fields.kind,
        .stream = fields.stream,
        .sequence = fields.sequence,
        .first_tick = fields.first_tick,
        .last_tick = fields.used_nbytes != 0 ? fields.last_tick : fields.first_tick,
    };
}

struct tbed_block_facts tbed_place_facts(const struct tbed_reader *reader, uint64_t page, uint32_t cell)
{
    struct tbed_lease lease;
    tbed_lease_begin(&lease, reader->map.packed);
    struct tbed_block_facts facts = facts_of(reader, page, cell);
    tbed_lease_end(&lease);
    return facts;
}
