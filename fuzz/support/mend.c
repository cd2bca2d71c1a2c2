/*
 * Recomputes the checksums of a trace whose bytes were changed.
 *
 * SPDX-License-Identifier: MIT
 */
#include "fuzz/support/mend.h"

#include "format/block.h"
#include "format/checksum.h"
#include "format/file/directory.h"
#include "format/string.h"

uint32_t mend_page_nbytes(const uint8_t *bytes, size_t nbytes)
{
    const struct tbed_disk_header *header = (const struct tbed_disk_header *)bytes;
    uint32_t page_nbytes = nbytes >= sizeof *header ? tbed_le32_load(header->page_nbytes) : 0;
    bool is_possible = page_nbytes >= TBED_PAGE_NBYTES_MIN && page_nbytes <= TBED_PAGE_NBYTES_MAX &&
                       (page_nbytes & (page_nbytes - 1)) == 0;
    return is_possible && page_nbytes <= nbytes ? page_nbytes : 0;
}

static void mend_strings(uint8_t *block, uint32_t end)
{
    uint32_t at = TBED_BLOCK_HEADER_NBYTES;
    while (at < end && end - at >= TBED_STRING_HEAD_NBYTES) {
        struct tbed_disk_string *entry = (struct tbed_disk_string *)(block + at);
        uint32_t nbytes = tbed_le32_load(entry->nbytes);
        if (nbytes == 0 || nbytes > end - at - TBED_STRING_HEAD_NBYTES)
            return;
        entry->hash = tbed_le32_make(tbed_string_hash(entry->content, nbytes));
        at += (uint32_t)tbed_string_entry_nbytes(nbytes);
    }
}

void mend_block(uint8_t *block, uint32_t nbytes, unsigned what)
{
    struct tbed_disk_block *header = (struct tbed_disk_block *)block;
    uint32_t used = tbed_le32_load(header->used_nbytes);
    bool is_sealed = used >= TBED_BLOCK_HEADER_NBYTES && used <= nbytes;
    if (header->kind == TBED_BLOCK_STRINGS && (what & MEND_STRINGS) != 0)
        mend_strings(block, is_sealed ? used : nbytes);
    if (is_sealed && (what & MEND_BLOCKS) != 0)
        header->checksum = tbed_le64_make(tbed_block_checksum(block, used));
}

/* Where a cells page has a copy of the header, it gets the one that it should have. */
static void mend_copy(uint8_t *page, const uint8_t *file)
{
    const struct tbed_disk_block *header = (const struct tbed_disk_block *)page;
    if (header->kind == TBED_BLOCK_CELLS && tbed_le32_load(header->used_nbytes) == TBED_COPY_USED_NBYTES)
        memcpy(page + TBED_BLOCK_HEADER_NBYTES, file, TBED_HEADER_COPY_NBYTES);
}

static void mend_page(uint8_t *page, uint32_t page_nbytes, unsigned what, const uint8_t *file)
{
    const struct tbed_disk_block *header = (const struct tbed_disk_block *)page;
    if ((what & MEND_DIRECTORY) != 0)
        mend_copy(page, file);
    mend_block(page, page_nbytes, what);
    if (header->kind != TBED_BLOCK_CELLS || header->shift < TBED_CELL_SHIFT_MIN || header->shift > 20)
        return;
    uint32_t cell_nbytes = 1u << header->shift;
    for (uint32_t at = cell_nbytes; at < page_nbytes; at += cell_nbytes)
        mend_block(page + at, cell_nbytes, what);
}

static void mend_header(struct tbed_disk_header *header)
{
    uint32_t nbytes = tbed_le32_load(header->header_nbytes);
    if (nbytes < TBED_HEADER_FIXED_NBYTES || nbytes > TBED_HEADER_FIXED_MAX)
        return;
    tbed_le64 checksum = tbed_le64_make(tbed_header_checksum(header, nbytes));
    memcpy((uint8_t *)header + nbytes - sizeof checksum, &checksum, sizeof checksum);
}

static void mend_closing(struct tbed_disk_header *header, uint64_t page_count, uint32_t page_nbytes)
{
    uint64_t claimed = tbed_le64_load(header->page_count);
    header->closing_checksum = tbed_le64_make(tbed_closing_checksum(
        header, (const uint8_t *)header, page_nbytes, claimed < page_count ? claimed : page_count));
}

void mend_file(uint8_t *bytes, size_t nbytes, unsigned what)
{
    struct tbed_disk_header *header = (struct tbed_disk_header *)bytes;
    uint32_t page_nbytes = mend_page_nbytes(bytes, nbytes);
    if (nbytes >= sizeof *header && (what & MEND_HEADER) != 0)
        mend_header(header);
    if (page_nbytes == 0)
        return;
    for (size_t at = page_nbytes; nbytes - at >= page_nbytes; at += page_nbytes)
        mend_page(bytes + at, page_nbytes, what, bytes);
    if ((what & MEND_DIRECTORY) != 0)
        tbed_directory_build(bytes, page_nbytes, nbytes / page_nbytes);
    if (tbed_le32_load(header->state) == TBED_STATE_SHUT && (what & MEND_CLOSING) != 0)
        mend_closing(header, nbytes / page_nbytes, page_nbytes);
}
