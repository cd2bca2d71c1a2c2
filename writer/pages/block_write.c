/*
 * Beginning and sealing blocks, wherever they lie in the file.
 *
 * Source: spec/format.md, section 4.
 *
 * SPDX-License-Identifier: MIT
 */
#include <string.h>
#include <sys/mman.h>

#include "format/checksum.h"
#include "writer/base/sandbox_state.h"
#include "writer/pages/pages.h"
#include "writer/pages/ring.h"

static uint32_t shift_of(uint32_t nbytes)
{
    return (uint32_t)__builtin_ctz(nbytes);
}

static uint64_t map_offset(const struct tbed_file *file, const uint8_t *at)
{
    return (uint64_t)(at - file->map);
}

static void store_header(uint8_t *block, const struct tbed_disk_block *header)
{
    uint64_t first;
    memcpy(&first, header, sizeof first);
    memcpy(block + sizeof first, (const uint8_t *)header + sizeof first, sizeof *header - sizeof first);
    tbed_raw_word_store(block, first);
}

static bool is_cell(const struct tbed_file *file, const uint8_t *block)
{
    return (map_offset(file, block) & (file->page_nbytes - 1)) != 0;
}

static struct tbed_disk_entry *entry_of(const struct tbed_file *file, const uint8_t *block)
{
    return tbed_entry_at(file->map, file->page_nbytes, block);
}

/* A page of cells is sealed from the start, and has a copy of the header page's first bytes. */
static void cells_page_begin(struct tbed_file *file, uint8_t *block, struct tbed_disk_block *header)
{
    struct tbed_disk_entry *entry = entry_of(file, block);
    uint64_t tick = tbed_le64_load(header->first_tick);
    header->last_tick = header->first_tick;
    header->used_nbytes = tbed_le32_make(TBED_COPY_USED_NBYTES);
    memcpy(block + sizeof *header, file->map, TBED_HEADER_COPY_NBYTES);
    uint64_t checksum = tbed_block_checksum_apart(header, file->map, TBED_HEADER_COPY_NBYTES);
    header->checksum = tbed_le64_make(checksum);
    tbed_entry_claim(entry, header);
    store_header(block, header);
    tbed_entry_end(entry, TBED_COPY_USED_NBYTES, &(struct tbed_block_ticks){tick, tick});
    tbed_entry_seal(entry, checksum);
}

static void page_begin(struct tbed_file *file, uint8_t *block, struct tbed_disk_block *header)
{
    struct tbed_disk_entry *entry = entry_of(file, block);
    if (tbed_ring_has(file, block))
        header->generation = tbed_le32_make(tbed_ring_generation(file, block));
    tbed_entry_claim(entry, header);
    store_header(block, header);
    tbed_entry_begin(entry);
    if (tbed_ring_has(file, block))
        tbed_ring_commit(file, block);
}

void tbed_block_begin(struct tbed_file *file, uint8_t *block, uint32_t nbytes,
                      const struct tbed_block_start *start)
{
    uint64_t offset = map_offset(file, block);
    uint32_t in_page = (uint32_t)(offset & (file->page_nbytes - 1));
    struct tbed_disk_block header = {
        .kind = (uint8_t)start->kind,
        .shift = (uint8_t)shift_of(nbytes),
        .cell = tbed_le16_make((uint16_t)(in_page / nbytes)),
        .page = tbed_le32_make((uint32_t)(offset >> file->page_shift)),
        .file_id = tbed_le64_make(file->fields.file_id),
        .stream = tbed_le32_make(start->stream),
        .sequence = tbed_le32_make(start->sequence),
        .string_page = tbed_le32_make(start->string_page),
        .first_tick = tbed_le64_make(start->tick),
        .depth = tbed_le32_make(start->depth),
    };
    if (start->kind == TBED_BLOCK_CELLS) {
        cells_page_begin(file, block, &header);
    } else if (in_page != 0) {
        store_header(block, &header);
        tbed_entry_count_cell(entry_of(file, block));
    } else {
        page_begin(file, block, &header);
    }
}

uint64_t tbed_block_seal_alone(uint8_t *block, uint32_t used_nbytes, uint64_t last_tick)
{
    struct tbed_disk_block *header = (struct tbed_disk_block *)block;
    struct tbed_disk_block final;
    memcpy(&final, header, sizeof final);
    final.last_tick = tbed_le64_make(last_tick);
    final.used_nbytes = tbed_le32_make(used_nbytes);
    uint64_t checksum = tbed_block_checksum_apart(&final, block + sizeof final, used_nbytes - sizeof final);
    header->last_tick = final.last_tick;
    header->checksum = tbed_le64_make(checksum);
    tbed_word32_store(&header->used_nbytes, used_nbytes);
    return checksum;
}

void tbed_block_end(struct tbed_file *file, uint8_t *block, uint32_t used_nbytes,
                    const struct tbed_block_ticks *ticks)
{
    if (!tbed_ring_owns(file, block))
        return;
    tbed_word_store(&((struct tbed_disk_block *)(void *)block)->last_tick, ticks->last);
    if (tbed_ring_has(file, block))
        tbed_ring_note_end(file, block);
    if (!is_cell(file, block))
        tbed_entry_end(entry_of(file, block), used_nbytes, ticks);
}

void tbed_block_seal(struct tbed_file *file, uint8_t *block, uint32_t used_nbytes)
{
    if (!tbed_ring_owns(file, block))
        return;
    uint64_t last_tick = tbed_le64_load(((struct tbed_disk_block *)(void *)block)->last_tick);
    uint64_t checksum = tbed_block_seal_alone(block, used_nbytes, last_tick);
    if (is_cell(file, block))
        return;
    tbed_entry_seal(entry_of(file, block), checksum);
    if (tbed_ring_has(file, block))
        tbed_ring_release(file, block);
}

/*
 * A writer of given ticks may fill gigabytes a second, so sealed pages leave its resident memory (not the file). The
 * pages of a traced program stay resident, which costs it nothing, unless the options ask for their release.
 */
void tbed_page_release(struct tbed_file *file, uint8_t *block)
{
    bool is_page = ((uint64_t)(block - file->map) & (file->page_nbytes - 1)) == 0;
    if (file->releases_pages && is_page && !tbed_is_sandboxed())
        madvise(block, file->page_nbytes, MADV_DONTNEED);
}
