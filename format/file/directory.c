/*
 * The directory: where entries stand, how entries and directory pages are made and checked.
 *
 * SPDX-License-Identifier: MIT
 */
#include "format/file/directory.h"

#include "format/checksum.h"
#include "format/file/mark.h"

/* ---- Where things stand ---- */

bool tbed_directory_has_page(uint32_t page_nbytes, uint64_t page)
{
    uint64_t first = tbed_directory_first_count(page_nbytes);
    return page >= first && (page - first) % (tbed_directory_page_count(page_nbytes) + 1) == 0;
}

uint64_t tbed_directory_pages_below(uint32_t page_nbytes, uint64_t page_count)
{
    uint64_t first = tbed_directory_first_count(page_nbytes);
    uint64_t group = tbed_directory_page_count(page_nbytes) + 1;
    return page_count <= first ? 0 : (page_count - first - 1) / group + 1;
}

uint64_t tbed_directory_entry_offset(uint32_t page_nbytes, uint64_t page)
{
    uint64_t first = tbed_directory_first_count(page_nbytes);
    uint64_t group = tbed_directory_page_count(page_nbytes) + 1;
    if (page < first)
        return TBED_ENTRIES_OFFSET + page * TBED_ENTRY_NBYTES;
    uint64_t in_group = (page - first) % group;
    return (page - in_group) * page_nbytes + TBED_COPY_USED_NBYTES + (in_group - 1) * TBED_ENTRY_NBYTES;
}

uint64_t tbed_closing_checksum(const void *header, const uint8_t *map, uint32_t page_nbytes,
                               uint64_t page_count)
{
    size_t shared = offsetof(struct tbed_disk_header, page_count), rest = sizeof(struct tbed_disk_header);
    uint64_t checksum = tbed_hash64((const uint8_t *)header + shared, TBED_SHARED_NBYTES);
    checksum = tbed_checksum_continue(checksum, map + rest, page_nbytes - rest);
    uint64_t count = tbed_directory_pages_below(page_nbytes, page_count);
    for (uint64_t i = 0; i < count; i++) {
        const uint8_t *page = map + tbed_directory_page(page_nbytes, i) * page_nbytes;
        checksum = tbed_checksum_continue(checksum, page + TBED_COPY_USED_NBYTES,
                                          page_nbytes - TBED_COPY_USED_NBYTES);
    }
    return checksum;
}

/* ---- Entries ---- */

uint32_t tbed_entry_check_make(const struct tbed_disk_entry *entry)
{
    struct tbed_disk_entry copy = *entry;
    copy.flags = tbed_le16_make(0);
    copy.generation = copy.process = copy.age = tbed_le32_make(0);
    return (uint32_t)tbed_hash64(&copy, offsetof(struct tbed_disk_entry, check));
}

static bool entry_is_valid(const struct tbed_disk_entry *entry)
{
    if (entry->state == TBED_ENTRY_FREE)
        return true;
    if (entry->kind < TBED_BLOCK_EVENTS || entry->kind > TBED_BLOCK_CELLS)
        return false;
    return entry->state < TBED_ENTRY_SEALED || (entry->state == TBED_ENTRY_SEALED &&
                                                tbed_le32_load(entry->check) == tbed_entry_check_make(entry));
}

static bool has_string_page(uint32_t kind)
{
    return kind == TBED_BLOCK_STRINGS || kind == TBED_BLOCK_CELLS;
}

struct tbed_entry_fields tbed_entry_load(const void *entry)
{
    uint64_t words[TBED_ENTRY_NBYTES / 8];
    struct tbed_disk_entry disk;
    for (size_t i = 0; i < TBED_ENTRY_NBYTES / 8; i++)
        words[i] = tbed_raw_word_load((const uint8_t *)entry + 8 * i);
    memcpy(&disk, words, sizeof disk);
    uint32_t depth = tbed_le32_load(disk.depth);
    bool has_ordinal = has_string_page(disk.kind);
    return (struct tbed_entry_fields){
        .state = disk.state,
        .kind = disk.kind,
        .flags = tbed_le16_load(disk.flags),
        .sequence = tbed_le32_load(disk.sequence),
        .generation = tbed_le32_load(disk.generation),
        .process = tbed_le32_load(disk.process),
        .stream = tbed_le32_load(disk.stream),
        .used_nbytes = tbed_le32_load(disk.used_nbytes),
        .first_tick = tbed_le64_load(disk.first_tick),
        .last_tick = tbed_le64_load(disk.last_tick),
        .least_begin_tick = tbed_le64_load(disk.least_begin_tick),
        .depth = has_ordinal ? 0 : depth,
        .string_page = has_ordinal ? depth : 0,
        .age = tbed_le32_load(disk.age),
        .checksum = tbed_le32_load(disk.checksum),
        .is_valid = entry_is_valid(&disk),
    };
}

struct tbed_block_fields tbed_entry_block(const struct tbed_entry_fields *entry, uint64_t file_id,
                                          uint32_t page, uint32_t shift)
{
    return (struct tbed_block_fields){
        .kind = entry->kind,
        /* The shift is not stored in entries. */
        .shift = entry->kind == TBED_BLOCK_CELLS ? TBED_CELL_SHIFT_MIN : shift,
        .page = page,
        .file_id = file_id,
        .stream = entry->stream,
        .sequence = entry->sequence,
        .generation = entry->generation >> TBED_MARK_STATE_BITS,
        .string_page = entry->string_page,
        .first_tick = entry->first_tick,
        .depth = entry->depth,
        .used_nbytes = entry->used_nbytes,
        .last_tick = entry->last_tick,
        .checksum = entry->checksum,
    };
}

struct tbed_disk_entry tbed_entry_make(const struct tbed_block_fields *block, uint64_t least_begin_tick)
{
    struct tbed_mark mark = {.count = block->generation};
    if (block->generation != 0)
        mark.state = block->used_nbytes == 0 ? TBED_MARK_HELD : TBED_MARK_RELEASED;
    struct tbed_disk_entry entry = {
        .state = TBED_ENTRY_SEALED,
        .kind = (uint8_t)block->kind,
        .sequence = tbed_le32_make(block->sequence),
        .generation = tbed_le32_make((uint32_t)tbed_mark_word(mark)),
        .stream = tbed_le32_make(block->stream),
        .used_nbytes = tbed_le32_make(block->used_nbytes),
        .first_tick = tbed_le64_make(block->first_tick),
        .last_tick = tbed_le64_make(block->last_tick),
        .least_begin_tick = tbed_le64_make(least_begin_tick),
        .depth = tbed_le32_make(has_string_page(block->kind) ? block->string_page : block->depth),
        .checksum = tbed_le32_make((uint32_t)block->checksum),
    };
    entry.check = tbed_le32_make(tbed_entry_check_make(&entry));
    return entry;
}

bool tbed_entry_agrees(const struct tbed_entry_fields *entry, const struct tbed_block_fields *block)
{
    bool is_same = entry->kind == block->kind && entry->stream == block->stream &&
                   entry->sequence == block->sequence &&
                   entry->generation >> TBED_MARK_STATE_BITS == block->generation &&
                   entry->first_tick == block->first_tick && entry->depth == block->depth &&
                   (!has_string_page(block->kind) || entry->string_page == block->string_page);
    bool is_sealed = entry->state >= TBED_ENTRY_SEALED;
    if (!is_same || entry->state < TBED_ENTRY_ENDED || (!is_sealed && block->used_nbytes == 0))
        return is_same;
    return entry->used_nbytes == block->used_nbytes && entry->last_tick == block->last_tick &&
           (!is_sealed || entry->checksum == (uint32_t)block->checksum);
}

/* ---- Directory pages, and the header's copies ---- */

void tbed_directory_page_make(void *bytes, const void *header, uint32_t page)
{
    const struct tbed_disk_header *from = header;
    uint32_t page_nbytes = tbed_le32_load(from->page_nbytes);
    struct tbed_disk_block block = {
        .kind = TBED_BLOCK_DIRECTORY,
        .shift = (uint8_t)__builtin_ctz(page_nbytes),
        .page = tbed_le32_make(page),
        .file_id = from->file_id,
        .sequence = tbed_le32_make((uint32_t)tbed_directory_pages_below(page_nbytes, page)),
        .used_nbytes = tbed_le32_make(TBED_COPY_USED_NBYTES),
    };
    block.checksum = tbed_le64_make(tbed_block_checksum_apart(&block, header, TBED_HEADER_COPY_NBYTES));
    memcpy(bytes, &block, sizeof block);
    memcpy((uint8_t *)bytes + sizeof block, header, TBED_HEADER_COPY_NBYTES);
}

bool tbed_directory_page_is_valid(const void *bytes, const void *header, uint32_t page)
{
    uint64_t made[TBED_COPY_USED_NBYTES / 8];
    bool is_same = true;
    tbed_directory_page_make(made, header, page);
    for (size_t i = 0; i < TBED_COPY_USED_NBYTES / 8; i++) /* a writer may be storing the same words again */
        is_same &= tbed_raw_word_load((const uint8_t *)bytes + 8 * i) == made[i];
    return is_same;
}

bool tbed_header_copy_is_valid(const void *bytes, uint64_t offset, struct tbed_header_fields *fields_ret)
{
    const struct tbed_disk_block *block = bytes;
    struct tbed_error error;
    bool may_have_one = block->kind == TBED_BLOCK_CELLS || block->kind == TBED_BLOCK_DIRECTORY;
    if (!may_have_one || tbed_le16_load(block->cell) != 0 ||
        tbed_le32_load(block->used_nbytes) != TBED_COPY_USED_NBYTES ||
        tbed_le64_load(block->checksum) != tbed_block_checksum(bytes, TBED_COPY_USED_NBYTES))
        return false;
    if (tbed_header_fixed_check(block + 1, fields_ret, &error) != TBED_OK)
        return false;
    return fields_ret->file_id == tbed_le64_load(block->file_id) &&
           (uint64_t)tbed_le32_load(block->page) * fields_ret->page_nbytes == offset;
}

/* ---- All of a file ---- */

static uint16_t cells_begun(const uint8_t *page, uint32_t page_nbytes, uint32_t shift)
{
    uint32_t count = 0;
    if (shift < TBED_CELL_SHIFT_MIN || shift > 20)
        return 0;
    for (uint32_t at = 1u << shift; at < page_nbytes; at += 1u << shift)
        count += page[at] != TBED_BLOCK_NONE;
    return (uint16_t)count;
}

static struct tbed_disk_entry entry_of_page(const uint8_t *page, uint32_t page_nbytes)
{
    struct tbed_block_fields fields = tbed_block_load(page);
    struct tbed_block_scan scan = {.least_begin_tick = fields.first_tick};
    if (fields.kind < TBED_BLOCK_EVENTS || fields.kind > TBED_BLOCK_CELLS)
        return (struct tbed_disk_entry){.state = TBED_ENTRY_FREE};
    if (fields.kind == TBED_BLOCK_EVENTS && fields.used_nbytes != 0)
        tbed_block_scan(page, page_nbytes, TBED_BLOCK_EVENTS, &scan);
    struct tbed_disk_entry entry = tbed_entry_make(&fields, scan.least_begin_tick);
    if (fields.kind == TBED_BLOCK_CELLS)
        entry.flags = tbed_le16_make(cells_begun(page, page_nbytes, fields.shift));
    if (fields.used_nbytes == 0) {
        entry.state = TBED_ENTRY_BEGUN;
        entry.last_tick = entry.least_begin_tick = tbed_le64_make(0);
        entry.checksum = entry.check = tbed_le32_make(0);
    }
    return entry;
}

void tbed_directory_build_page(uint8_t *map, uint32_t page_nbytes, uint64_t page)
{
    uint8_t *bytes = map + page * page_nbytes;
    if (tbed_directory_has_page(page_nbytes, page)) {
        tbed_directory_page_make(bytes, map, (uint32_t)page);
        return;
    }
    struct tbed_disk_entry entry = entry_of_page(bytes, page_nbytes);
    memcpy(map + tbed_directory_entry_offset(page_nbytes, page), &entry, sizeof entry);
}

void tbed_directory_build(uint8_t *map, uint32_t page_nbytes, uint64_t page_count)
{
    for (uint64_t page = 1; page < page_count; page++)
        tbed_directory_build_page(map, page_nbytes, page);
}
