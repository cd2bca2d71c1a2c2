/*
 * The first half of an update of the index: finds the blocks of a file, by the directory or by their own headers, and
 * reports what is wrong with these.
 *
 * A page whose entry is sealed is not touched: its block is checked when it is read.
 *
 * SPDX-License-Identifier: MIT
 */
#include "format/checksum.h"
#include "reader/core/file/gateway.h"
#include "reader/core/file/index_update.h"

static void *push(struct tbed_index_update *update, struct tbed_vector *vector, size_t item_nbytes)
{
    void *item = tbed_vector_push(vector, item_nbytes);
    update->no_memory |= item == NULL;
    return item;
}

static void add_ghost(struct tbed_index_update *update, uint32_t kind, uint32_t stream, uint32_t sequence)
{
    struct tbed_ghost *ghost = push(update, &update->index->ghosts, sizeof *ghost);
    if (ghost != NULL)
        *ghost = (struct tbed_ghost){kind, stream, sequence};
}

/* Is 'page' the next one after a run of pages that are pending, apart from a directory page? */
static bool continues(const struct tbed_index_update *update, const struct tbed_pending *run, uint64_t page)
{
    uint64_t end = (uint64_t)run->page + run->page_count;
    return run->page_count > 0 && (end == page || (end + 1 == page && end == update->part.page));
}

static void add_pending_pages(struct tbed_index_update *update, uint64_t page, uint64_t count)
{
    struct tbed_vector *places = &update->index->pending;
    struct tbed_pending *last =
        places->count > 0 ? &((struct tbed_pending *)places->items)[places->count - 1] : NULL;
    update->index->pending_page_count += count;
    if (last != NULL && continues(update, last, page)) {
        last->page_count = (uint32_t)(page + count - last->page);
        return;
    }
    struct tbed_pending *pending = push(update, places, sizeof *pending);
    if (pending != NULL)
        *pending = (struct tbed_pending){.page = (uint32_t)page, .page_count = (uint32_t)count};
}

static void add_pending_cell(struct tbed_index_update *update, const struct tbed_block_place *place)
{
    struct tbed_pending *pending = push(update, &update->index->pending, sizeof *pending);
    if (pending != NULL)
        *pending = (struct tbed_pending){.page = place->page,
                                         .cell = (uint16_t)place->cell,
                                         .shift = (uint8_t)__builtin_ctz(place->nbytes),
                                         .string_page = place->cells_string_page};
}

/* If two pages have the same ordinal, the first in the file keeps it, unless it proves damaged. */
static bool ordinal_is_free(const struct tbed_index_update *update, uint32_t ordinal)
{
    const struct tbed_reader *reader = update->reader;
    uint32_t page = tbed_index_ordinal_page(update->index, ordinal);
    uint64_t offset = (uint64_t)page * reader->header.page_nbytes;
    if (page == 0 || offset >= reader->map.nbytes)
        return true;
    struct tbed_block_fields fields = tbed_block_load(tbed_map_at(&reader->map, offset));
    struct tbed_indexed entry = {
        .page = page,
        .shift = fields.shift & 0x1F,
        .stream = fields.stream,
        .sequence = fields.sequence,
        .string_page = ordinal,
    };
    bool is_of_strings = fields.kind == TBED_BLOCK_STRINGS || fields.kind == TBED_BLOCK_CELLS;
    return !is_of_strings || !tbed_indexed_is_good(reader, (enum tbed_block_kind)fields.kind, &entry);
}

static void take_ordinal(struct tbed_index_update *update, uint32_t ordinal, uint32_t page)
{
    struct tbed_vector *pages = &update->index->ordinal_pages;
    while (pages->count <= ordinal)
        if (push(update, pages, sizeof(uint32_t)) == NULL)
            return;
    ((uint32_t *)pages->items)[ordinal] = page;
}

static void add_entry(struct tbed_index_update *update, const struct tbed_block_fields *fields,
                      bool is_by_entry)
{
    struct tbed_index *index = update->index;
    struct tbed_indexed *entry = push(update, &update->fresh[fields->kind], sizeof *entry);
    if (entry == NULL)
        return;
    entry->page = fields->page;
    entry->cell = (uint16_t)fields->cell;
    entry->shift = fields->shift & 0x1F;
    entry->unsealed = fields->used_nbytes == 0;
    entry->by_entry = is_by_entry;
    entry->stream = fields->stream;
    entry->sequence = fields->sequence;
    if (fields->kind == TBED_BLOCK_STRINGS || fields->kind == TBED_BLOCK_CELLS)
        entry->string_page = fields->string_page;
    else
        entry->first_tick = fields->first_tick;
    if (fields->kind == TBED_BLOCK_EVENTS && fields->used_nbytes != 0)
        tbed_index_note_ticks(index, fields->first_tick, fields->last_tick);
}

/* ---- By the directory ---- */

static bool is_hole(struct tbed_index_update *update, uint64_t page)
{
    const struct tbed_reader *reader = update->reader;
    uint64_t end = (page + 1) * reader->header.page_nbytes;
    return tbed_map_data_from(&reader->map, &update->known, page * reader->header.page_nbytes) >= end;
}

/* False: the page has to be looked at, also because it is not on disk. */
static bool take_by_entry(struct tbed_index_update *update, uint64_t page,
                          const struct tbed_page_entry *entry)
{
    const struct tbed_reader *reader = update->reader;
    uint32_t shift = (uint32_t)__builtin_ctz(reader->header.page_nbytes);
    bool is_enough = entry->is_sealed && reader->believes_entries && entry->fields.kind != TBED_BLOCK_CELLS;
    if (!is_enough || is_hole(update, page))
        return false;
    if (page <= tbed_reader_reused_count(reader)) /* another block may be in the page when it is read */
        return false;
    struct tbed_block_fields block =
        tbed_entry_block(&entry->fields, reader->header.file_id, (uint32_t)page, shift);
    if (block.kind == TBED_BLOCK_STRINGS) {
        if (!ordinal_is_free(update, block.string_page))
            return false;
        take_ordinal(update, block.string_page, block.page);
    }
    add_entry(update, &block, true);
    return true;
}

/* Is this a sealed block whose content is damaged? */
static bool is_damaged(const struct tbed_reader *reader, uint64_t page, const struct tbed_block_fields *block)
{
    uint32_t page_nbytes = reader->header.page_nbytes;
    return block->used_nbytes != 0 && block->kind != TBED_BLOCK_CELLS &&
           tbed_block_content_check(tbed_map_at(&reader->map, page * page_nbytes), block, page_nbytes,
                                    false) != TBED_OK;
}

/* The generation that the block itself has. Pages of a live ring are loaded with that of their mark instead. */
static uint32_t generation_stored(const struct tbed_reader *reader, uint64_t page,
                                  const struct tbed_block_fields *loaded)
{
    return page > tbed_reader_reused_count(reader)
               ? loaded->generation
               : tbed_block_load(tbed_map_at(&reader->map, page * reader->header.page_nbytes)).generation;
}

/*
 * Compares a block that has a valid header with the entry of its page as it was before the block was looked at. A damaged
 * block says nothing about the entry.
 */
static void compare_with_entry(const struct tbed_index_update *update, uint64_t page,
                               const struct tbed_page_entry *entry, const struct tbed_block_fields *block)
{
    struct tbed_entry_fields fields = entry->fields;
    struct tbed_block_fields stored = *block;
    bool is_sealed = fields.state == TBED_ENTRY_SEALED;
    stored.generation = generation_stored(update->reader, page, block);
    if (!fields.is_valid || tbed_page_was_taken(update->reader, page, entry)) /* not valid: or not there */
        return;
    if (fields.state == TBED_ENTRY_FREE) { /* has a writer begun the page meanwhile? */
        fields = tbed_page_entry_load(update->reader, page).fields;
        fields.state = fields.state == TBED_ENTRY_FREE ? TBED_ENTRY_FREE : TBED_ENTRY_CLAIMED;
    }
    bool differs = fields.state == TBED_ENTRY_FREE || !tbed_entry_agrees(&fields, &stored) ||
                   (update->reader->shut && block->used_nbytes != 0 && !is_sealed);
    if (differs && !is_damaged(update->reader, page, block))
        tbed_directory_tell_entry(update->reader, page, entry->fields.state);
}

/* ---- By the blocks' headers ---- */

static enum tbed_status check_found(struct tbed_index_update *update, const uint8_t *bytes,
                                    const struct tbed_block_fields *fields,
                                    const struct tbed_block_place *place, uint32_t *field_ret,
                                    uint64_t *detail_ret)
{
    enum tbed_status status = tbed_block_header_check(fields, place, field_ret, detail_ret);
    bool has_ordinal =
        place->cell == 0 && (fields->kind == TBED_BLOCK_STRINGS || fields->kind == TBED_BLOCK_CELLS);
    if (status != TBED_OK)
        return status;
    if (has_ordinal && !ordinal_is_free(update, fields->string_page)) {
        *field_ret = offsetof(struct tbed_disk_block, string_page);
        *detail_ret = fields->string_page;
        return TBED_ERR_BLOCK_ORDINAL;
    }
    if (fields->kind == TBED_BLOCK_CELLS &&
        tbed_block_checksum(bytes, fields->used_nbytes) != fields->checksum) {
        *field_ret = offsetof(struct tbed_disk_block, checksum);
        *detail_ret = fields->checksum;
        return TBED_ERR_BLOCK_CHECKSUM;
    }
    if (has_ordinal)
        take_ordinal(update, fields->string_page, place->page);
    return TBED_OK;
}

/* Takes a block that was begun. False: it is damaged. */
static bool take_by_header(struct tbed_index_update *update, const struct tbed_block_place *place,
                           const uint8_t *bytes, const struct tbed_block_fields *fields)
{
    uint64_t offset = (uint64_t)(bytes - update->reader->map.bytes), detail = 0;
    uint32_t field = 0;
    enum tbed_status status = check_found(update, bytes, fields, place, &field, &detail);
    if (status != TBED_OK) {
        tbed_damage_tell(update->reader, status, offset + field, place->cell, detail);
        return false;
    }
    if (update->reader->shut && fields->used_nbytes == 0) /* reported, and read like one of an open file */
        tbed_damage_tell(update->reader, TBED_ERR_BLOCK_UNSEALED,
                         offset + offsetof(struct tbed_disk_block, used_nbytes), place->cell, 0);
    add_entry(update, fields, false);
    return true;
}

/* The page is in a damaged unit of a packed file: nothing is known but what its entry says. */
static void tell_lost_unit(struct tbed_index_update *update, uint64_t page,
                           const struct tbed_page_entry *entry)
{
    const struct tbed_reader *reader = update->reader;
    uint64_t offset = page * reader->header.page_nbytes;
    tbed_damage_tell(reader, TBED_ERR_PACKED_UNIT, offset, 0, tbed_map_packed_offset(&reader->map, offset));
    if (entry->is_begun)
        add_ghost(update, entry->fields.kind, entry->fields.stream, entry->fields.sequence);
}

static void look_at_block(struct tbed_index_update *update, uint64_t page,
                          const struct tbed_page_entry *entry)
{
    struct tbed_reader *reader = update->reader;
    uint64_t offset = page * reader->header.page_nbytes;
    const uint8_t *bytes = tbed_map_at(&reader->map, offset);
    struct tbed_block_fields fields = tbed_page_block_load(reader, page);
    /* The file's counters are loaded after the block's first word, so in a live file they are at least as new. */
    struct tbed_block_place place = tbed_place_make(reader, (uint32_t)page, 0, 0, 0);
    if (entry->is_there && !entry->fields.is_valid)
        tbed_directory_tell_entry(reader, page, entry->fields.state);
    if (fields.kind == TBED_BLOCK_NONE && (!entry->is_begun || tbed_page_was_taken(reader, page, entry))) {
        add_pending_pages(update, page, 1);
        return;
    }
    if (fields.kind == TBED_BLOCK_NONE)
        tbed_damage_tell(reader, TBED_ERR_BLOCK_LOST, offset, 0, entry->fields.state);
    else if (take_by_header(update, &place, bytes, &fields)) {
        compare_with_entry(update, page, entry, &fields);
        return;
    }
    if (entry->is_begun)
        add_ghost(update, entry->fields.kind, entry->fields.stream, entry->fields.sequence);
    else
        add_ghost(update, fields.kind, fields.stream, fields.sequence);
}

/* Reads a cell, and returns whether it was begun. */
static bool look_at_cell(struct tbed_index_update *update, uint32_t page, uint32_t cell, uint32_t shift,
                         uint32_t string_page)
{
    struct tbed_reader *reader = update->reader;
    const uint8_t *bytes =
        tbed_map_at(&reader->map, (uint64_t)page * reader->header.page_nbytes + ((uint64_t)cell << shift));
    struct tbed_block_fields fields = tbed_block_load(bytes);
    struct tbed_block_place place = tbed_place_make(reader, page, cell, shift, string_page);
    if (fields.kind == TBED_BLOCK_NONE)
        add_pending_cell(update, &place);
    else if (!take_by_header(update, &place, bytes, &fields))
        add_ghost(update, fields.kind, fields.stream, fields.sequence);
    return fields.kind != TBED_BLOCK_NONE;
}

/* ---- Page after page ---- */

static uint64_t least(uint64_t a, uint64_t b)
{
    return a < b ? a : b;
}

/* A page that need not have been begun: how many pages from it on are not on disk, and have no entries that say more? */
static uint64_t count_holes(struct tbed_index_update *update, uint64_t page, uint64_t end)
{
    const struct tbed_reader *reader = update->reader;
    uint32_t page_nbytes = reader->header.page_nbytes;
    uint64_t without_entries = update->part.is_intact ? page + 1 : update->part.end;
    uint64_t data_page = tbed_map_data_from(&reader->map, &update->known, page * page_nbytes) / page_nbytes;
    end = least(least(end, update->part.end), least(without_entries, data_page));
    return end > page ? end - page : 0;
}

/* Looks at a page that may have to be unpacked for it. */
static void look_at_content(struct tbed_index_update *update, uint64_t page,
                            const struct tbed_page_entry *entry)
{
    const struct tbed_reader *reader = update->reader;
    struct tbed_lease lease;
    tbed_lease_begin(&lease, reader->map.packed);
    if (tbed_map_take(&reader->map, page * reader->header.page_nbytes, false) != TBED_OK)
        tell_lost_unit(update, page, entry);
    else
        look_at_block(update, page, entry);
    tbed_lease_end(&lease);
}

/* Looks at the page, and perhaps at some after it, and returns the next one. */
static uint64_t look_at_page(struct tbed_index_update *update, uint64_t page, uint64_t end)
{
    const struct tbed_reader *reader = update->reader;
    struct tbed_page_entry entry = {.is_there = false};
    const struct tbed_directory_part *part = &update->part;
    if (page < part->page || page >= part->end)
        update->part = tbed_directory_part_of(reader, &update->known, page);
    if (page == part->page) /* page 0 is not looked at */
        return page + 1;
    if (part->is_intact)
        entry = tbed_page_entry_at(reader, page, part->offset + (page - part->page) * TBED_ENTRY_NBYTES);
    if (take_by_entry(update, page, &entry))
        return page + 1;
    bool may_be_unused = !entry.is_there || (entry.fields.is_valid && !entry.is_begun);
    uint64_t hole_count = may_be_unused ? count_holes(update, page, end) : 0;
    if (hole_count > 0)
        add_pending_pages(update, page, hole_count);
    else
        look_at_content(update, page, &entry);
    return page + (hole_count > 0 ? hole_count : 1);
}

static void look_at_pages(struct tbed_index_update *update, uint64_t page, uint64_t end)
{
    while (page < end && !update->no_memory)
        page = look_at_page(update, page, end);
}

void tbed_index_look_at_pending(struct tbed_index_update *update)
{
    struct tbed_vector old = update->index->pending;
    const struct tbed_pending *places = old.items;
    update->index->pending = (struct tbed_vector){0};
    update->index->pending_page_count = 0;
    for (size_t i = 0; i < old.count && !update->no_memory; i++)
        if (places[i].page_count > 0)
            look_at_pages(update, places[i].page, (uint64_t)places[i].page + places[i].page_count);
        else
            look_at_cell(update, places[i].page, places[i].cell, places[i].shift, places[i].string_page);
    tbed_vector_free(&old);
}

static void tell_cut(struct tbed_index_update *update, uint64_t page)
{
    const struct tbed_reader *reader = update->reader;
    tbed_damage_tell(reader, TBED_ERR_BLOCK_CUT, page * reader->header.page_nbytes, 0, reader->map.nbytes);
}

/*
 * The pages that lie beyond the end of the file. Of these, one that the file ends inside of is damaged; so are those that
 * were begun, and, if no more can arrive, the first.
 */
static void look_beyond_end(struct tbed_index_update *update, uint64_t file_page_count)
{
    const struct tbed_reader *reader = update->reader;
    struct tbed_directory_part part = tbed_directory_part_of(reader, &update->known, file_page_count);
    uint64_t end = least(reader->page_count, part.end);
    if (reader->map.nbytes % reader->header.page_nbytes != 0 || reader->shut)
        tell_cut(update, file_page_count);
    if (!part.is_intact)
        return;
    for (uint64_t page = file_page_count; page < end; page++) {
        struct tbed_page_entry entry = tbed_page_entry_load(reader, page);
        if (!entry.is_begun)
            continue;
        update->index->cut_page_count++;
        tell_cut(update, page);
        add_ghost(update, entry.fields.kind, entry.fields.stream, entry.fields.sequence);
    }
}

void tbed_index_look_at_new_pages(struct tbed_index_update *update)
{
    const struct tbed_reader *reader = update->reader;
    uint64_t file_page_count = reader->map.nbytes / reader->header.page_nbytes;
    uint64_t end = least(reader->page_count, file_page_count);
    look_at_pages(update, update->index->scanned_page_count, end);
    if (end > update->index->scanned_page_count)
        update->index->scanned_page_count = end;
    update->index->cut_page_count = 0;
    if (reader->page_count > file_page_count)
        look_beyond_end(update, file_page_count);
}

/* The lowest cell that was not begun, of a page all of whose cells were looked at; 0: all were. */
static uint32_t first_free_cell(const struct tbed_reader *reader, const struct tbed_indexed *entry)
{
    const uint8_t *page = tbed_map_at(&reader->map, tbed_indexed_offset(reader, entry));
    for (uint32_t cell = 1; cell < reader->header.page_nbytes >> entry->shift; cell++)
        if (tbed_block_load(page + ((size_t)cell << entry->shift)).kind == TBED_BLOCK_NONE)
            return cell;
    return 0;
}

static void look_at_cells_of(struct tbed_index_update *update, const struct tbed_indexed *entry)
{
    const struct tbed_reader *reader = update->reader;
    struct tbed_page_entry of_page = tbed_page_entry_load(reader, entry->page);
    bool is_counted =
        of_page.is_begun && tbed_directory_part_of(reader, &update->known, entry->page).is_intact;
    uint32_t begun_count = is_counted ? of_page.fields.flags : 0, found_count = 0;
    for (uint32_t cell = 1; cell < reader->header.page_nbytes >> entry->shift; cell++)
        found_count += look_at_cell(update, entry->page, cell, entry->shift, (uint32_t)entry->string_page);
    uint32_t cell = found_count < begun_count ? first_free_cell(reader, entry) : 0;
    if (cell != 0)
        tbed_damage_tell(reader, TBED_ERR_BLOCK_LOST,
                         tbed_indexed_offset(reader, entry) + ((uint64_t)cell << entry->shift), cell,
                         begun_count - found_count);
}

void tbed_index_look_at_cells(struct tbed_index_update *update)
{
    const struct tbed_vector *list = &update->index->lists[TBED_BLOCK_CELLS];
    for (size_t i = 0; i < list->count && !update->no_memory; i++) {
        struct tbed_indexed *entry = tbed_index_at(update->index, TBED_BLOCK_CELLS, i);
        if (entry->state == TBED_VERDICT_GOOD)
            continue;
        entry->state = TBED_VERDICT_GOOD;
        look_at_cells_of(update, entry);
    }
}
