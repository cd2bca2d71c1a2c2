/*
 * What is left of a damaged file's directory, and of the counters in its header page.
 *
 * Source: spec/format.md, section 3.
 *
 * SPDX-License-Identifier: MIT
 */
#define _GNU_SOURCE 1 /* memmem() */
#include <string.h>

#include "format/file/mark.h"
#include "writer/base/shared_words.h"
#include "writer/copy/recover.h"

/* ---- The header page ---- */

/* The source is mapped, so it is aligned. The file id makes sure that it is the header page of this file. */
static const struct tbed_disk_header *header_page(const struct tbed_recover *recover)
{
    const struct tbed_disk_header *header = (const struct tbed_disk_header *)(const void *)recover->map;
    bool is_there = recover->nbytes >= recover->fields.page_nbytes &&
                    tbed_le64_load(header->file_id) == recover->fields.file_id &&
                    header->magic[0] > TBED_BLOCK_DIRECTORY;
    return is_there ? header : NULL;
}

/* A file that was closed has a checksum of them. */
static bool counters_are_good(const struct tbed_recover *recover)
{
    const struct tbed_disk_header *header = recover->header;
    uint64_t in_file = recover->nbytes >> recover->page_shift;
    if (header == NULL)
        return false;
    uint64_t claimed = tbed_le64_load(header->page_count);
    if (tbed_le32_load(header->state) == TBED_STATE_OPEN)
        return claimed <= UINT32_MAX;
    return tbed_le32_load(header->state) == TBED_STATE_SHUT &&
           tbed_le64_load(header->closing_checksum) ==
               tbed_closing_checksum(header, recover->map, recover->fields.page_nbytes,
                                     claimed < in_file ? claimed : in_file);
}

/* ---- Parts of the directory ---- */

static bool add_part(struct tbed_recover *recover, uint64_t offset, uint32_t first_page, uint32_t count)
{
    uint64_t there = offset < recover->nbytes ? (recover->nbytes - offset) / TBED_ENTRY_NBYTES : 0;
    struct tbed_directory_part *part = tbed_list_push(&recover->directory, sizeof *part);
    if (part != NULL)
        *part = (struct tbed_directory_part){offset, first_page, there < count ? (uint32_t)there : count};
    return part != NULL;
}

/* A directory page whose copy of the header is at 'at'; it may be anywhere in the file. */
static bool is_directory_page(const struct tbed_recover *recover, uint64_t at, uint32_t *page_ret)
{
    uint64_t bytes[TBED_COPY_USED_NBYTES / 8];
    const struct tbed_disk_block *block = (const struct tbed_disk_block *)(const void *)bytes;
    struct tbed_header_fields fields;
    if (at < TBED_BLOCK_HEADER_NBYTES || recover->nbytes - at < TBED_HEADER_COPY_NBYTES)
        return false;
    memcpy(bytes, recover->map + at - TBED_BLOCK_HEADER_NBYTES, sizeof bytes);
    *page_ret = tbed_le32_load(block->page);
    return block->kind == TBED_BLOCK_DIRECTORY &&
           tbed_header_copy_is_valid(bytes, (uint64_t)*page_ret << recover->page_shift, &fields) &&
           fields.file_id == recover->fields.file_id &&
           tbed_directory_has_page(recover->fields.page_nbytes, *page_ret);
}

bool tbed_recover_directory(struct tbed_recover *recover)
{
    uint32_t page_nbytes = recover->fields.page_nbytes, page;
    const uint8_t *at = recover->map, *end = recover->map + recover->nbytes;
    recover->header = header_page(recover);
    recover->counters_are_good = counters_are_good(recover);
    if (recover->header != NULL && !add_part(recover, TBED_ENTRIES_OFFSET + TBED_ENTRY_NBYTES, 1,
                                             tbed_directory_first_count(page_nbytes) - 1))
        return false;
    while ((at = memmem(at, (size_t)(end - at), TBED_MAGIC, sizeof TBED_MAGIC - 1)) != NULL) {
        uint64_t offset = (uint64_t)(at - recover->map);
        if (is_directory_page(recover, offset, &page) &&
            !add_part(recover, offset + TBED_HEADER_COPY_NBYTES, page + 1,
                      tbed_directory_page_count(page_nbytes)))
            return false;
        at++;
    }
    return true;
}

/* ---- Entries ---- */

bool tbed_recover_part_entry(const struct tbed_recover *recover, const struct tbed_directory_part *part,
                             uint32_t index, struct tbed_entry_fields *fields_ret)
{
    uint64_t words[TBED_ENTRY_NBYTES / 8];
    memcpy(words, recover->map + part->offset + (uint64_t)index * TBED_ENTRY_NBYTES, sizeof words);
    *fields_ret = tbed_entry_load(words);
    bool is_of_ring = part->first_page + index <= recover->fields.ring_page_count;
    if (is_of_ring && !tbed_mark_has_block(tbed_mark_load(words)))
        fields_ret->state = TBED_ENTRY_FREE;
    return fields_ret->is_valid;
}

bool tbed_recover_entry(const struct tbed_recover *recover, uint32_t page,
                        struct tbed_entry_fields *fields_ret)
{
    const struct tbed_directory_part *parts = recover->directory.items;
    for (size_t i = 0; i < recover->directory.count; i++)
        if (page >= parts[i].first_page && page - parts[i].first_page < parts[i].count)
            return tbed_recover_part_entry(recover, &parts[i], page - parts[i].first_page, fields_ret) &&
                   fields_ret->state >= TBED_ENTRY_BEGUN && fields_ret->stream != 0;
    return false;
}
