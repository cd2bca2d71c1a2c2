/*
 * Pages, cells and blocks: claimed, begun, filled, sealed.
 *
 * Source: spec/format.md, section 4.
 *
 * SPDX-License-Identifier: MIT
 */
#include <sys/mman.h>

#include "format/checksum.h"
#include "writer/file/private.h"

/* A page is claimed only once the disk has room for it, so that no claim is ever lost. */
static bool claim_number(struct tbed_writer *writer, uint64_t *page_ret, enum tbed_drop_cause *cause_ret)
{
    tbed_le64 *count = &tbed_shared(writer)->page_count;
    uint64_t page = tbed_shared_load(count);
    do {
        if (!tbed_file_back(writer, page, cause_ret))
            return false;
    } while (!tbed_shared_swap(count, &page, page + 1));
    *page_ret = page;
    return true;
}

/* After a failure nobody asks the kernel again for a while: a full disk must not cost system calls by the
 * event. */
static bool is_too_early(struct tbed_writer *writer, enum tbed_drop_cause *cause_ret)
{
    uint64_t retry_ns = __atomic_load_n(&writer->retry_ns, __ATOMIC_RELAXED);
    *cause_ret = (enum tbed_drop_cause)__atomic_load_n(&writer->retry_cause, __ATOMIC_RELAXED);
    return retry_ns != 0 && tbed_monotonic_ns() < retry_ns;
}

static void wait_before_retry(struct tbed_writer *writer, enum tbed_drop_cause cause)
{
    __atomic_store_n(&writer->retry_cause, (uint32_t)cause, __ATOMIC_RELAXED);
    __atomic_store_n(&writer->retry_ns, tbed_monotonic_ns() + TBED_RETRY_NS, __ATOMIC_RELAXED);
}

/* Streams that are written to seldom would keep all their cells resident. What is still in use comes back. */
static void release_below(struct tbed_writer *writer, uint64_t page)
{
    uint64_t interval = TBED_RESIDENT_NBYTES >> writer->page_shift;
    if (writer->has_given_ticks && page % interval == 0)
        madvise(writer->map, page << writer->page_shift, MADV_DONTNEED);
}

uint8_t *tbed_page_claim(struct tbed_writer *writer, enum tbed_drop_cause *cause_ret)
{
    uint64_t page;
    if (is_too_early(writer, cause_ret))
        return NULL;
    if (!claim_number(writer, &page, cause_ret)) {
        if (*cause_ret != TBED_DROP_INTERRUPTED)
            wait_before_retry(writer, *cause_ret);
        return NULL;
    }
    tbed_helper_want(writer, page);
    release_below(writer, page);
    return writer->map + (page << writer->page_shift);
}

uint32_t tbed_cell_nbytes(const struct tbed_writer *writer)
{
    uint32_t largest = writer->page_nbytes / 8;
    uint32_t nbytes = 1u << TBED_CELL_SHIFT_DEFAULT;
    return nbytes < largest ? nbytes : largest;
}

static uint32_t shift_of(uint32_t nbytes)
{
    return (uint32_t)__builtin_ctz(nbytes);
}

static uint64_t map_offset(const struct tbed_writer *writer, const uint8_t *at)
{
    return (uint64_t)(at - writer->map);
}

/* The first word last. The word of generation and string page is zero already, or a ring's mark. */
static void store_header(uint8_t *block, const struct tbed_disk_block *header)
{
    size_t mark = offsetof(struct tbed_disk_block, generation),
           after = offsetof(struct tbed_disk_block, first_tick);
    uint64_t first;
    memcpy(&first, header, sizeof first);
    memcpy(block + sizeof first, (const uint8_t *)header + sizeof first, mark - sizeof first);
    memcpy(block + after, (const uint8_t *)header + after, sizeof *header - after);
    if (tbed_le32_load(header->string_page) != 0)
        memcpy(block + offsetof(struct tbed_disk_block, string_page), &header->string_page, 4);
    tbed_word_store(block, first);
}

void tbed_block_begin(struct tbed_writer *writer, uint8_t *block, uint32_t nbytes,
                      const struct tbed_block_start *start)
{
    uint64_t offset = map_offset(writer, block);
    uint32_t in_page = (uint32_t)(offset & (writer->page_nbytes - 1));
    struct tbed_disk_block header = {
        .kind = (uint8_t)start->kind,
        .shift = (uint8_t)shift_of(nbytes),
        .cell = tbed_le16_make((uint16_t)(in_page / nbytes)),
        .page = tbed_le32_make((uint32_t)(offset >> writer->page_shift)),
        .file_id = tbed_le64_make(writer->fields.file_id),
        .stream = tbed_le32_make(start->stream),
        .sequence = tbed_le32_make(start->sequence),
        .string_page = tbed_le32_make(start->string_page),
        .first_tick = tbed_le64_make(start->tick),
        .depth = tbed_le32_make(start->depth),
    };
    if (start->kind == TBED_BLOCK_CELLS) {
        header.used_nbytes = tbed_le32_make(TBED_BLOCK_HEADER_NBYTES);
        header.last_tick = header.first_tick;
        header.checksum = tbed_le64_make(tbed_block_checksum_apart(&header, NULL, 0));
    }
    store_header(block, &header);
    if (tbed_ring_has(writer, block))
        tbed_ring_commit(block);
}

void tbed_block_seal(uint8_t *block, uint32_t used_nbytes, uint64_t last_tick)
{
    struct tbed_disk_block *header = (struct tbed_disk_block *)block;
    struct tbed_disk_block final;
    memcpy(&final, header, sizeof final);
    final.last_tick = tbed_le64_make(last_tick);
    final.used_nbytes = tbed_le32_make(used_nbytes);
    uint64_t checksum = tbed_block_checksum_apart(&final, block + sizeof final, used_nbytes - sizeof final);
    header->last_tick = final.last_tick;
    header->checksum = tbed_le64_make(checksum);
    __atomic_store_n((uint32_t *)(void *)&header->used_nbytes, used_nbytes, __ATOMIC_RELEASE);
}

/*
 * A writer of given ticks may fill gigabytes in a second: what is sealed leaves its resident memory, not the file. A
 * traced program's own pages stay where they are, which costs it nothing, unless it wants them released.
 */
void tbed_page_release(struct tbed_writer *writer, uint8_t *block)
{
    bool is_page = ((uint64_t)(block - writer->map) & (writer->page_nbytes - 1)) == 0;
    if (writer->releases_pages && is_page)
        madvise(block, writer->page_nbytes, MADV_DONTNEED);
}

/* ---- Cells ---- */

/*
 * The string space has 2^32 bytes; past its end an ordinal would name somebody else's strings. The page is
 * claimed first: a full disk must not use up ordinals.
 */
static uint8_t *string_page_claim(struct tbed_writer *writer, uint32_t *ordinal_ret,
                                  enum tbed_drop_cause *cause_ret)
{
    uint64_t limit = ((uint64_t)1 << 32) >> writer->page_shift;
    tbed_le64 *next = &tbed_shared(writer)->next_string_page;
    uint64_t ordinal = tbed_shared_load(next);
    *cause_ret = TBED_DROP_IDS_EXHAUSTED;
    if (ordinal >= limit)
        return NULL;
    uint8_t *page = tbed_page_claim(writer, cause_ret);
    if (page == NULL)
        return NULL;
    *cause_ret = TBED_DROP_IDS_EXHAUSTED;
    do {
        if (ordinal >= limit) /* others took the last ones meanwhile; the page stays zero */
            return NULL;
    } while (!tbed_shared_swap(next, &ordinal, ordinal + 1));
    *ordinal_ret = (uint32_t)ordinal;
    return page;
}

/* Sealed from the start: the last word to be stored is the first one, as for every block. */
static uint8_t *cells_page_begin(struct tbed_writer *writer, uint64_t tick, enum tbed_drop_cause *cause_ret)
{
    uint32_t string_page;
    uint8_t *page = string_page_claim(writer, &string_page, cause_ret);
    if (page == NULL)
        return NULL;
    struct tbed_block_start start = {
        .kind = TBED_BLOCK_CELLS,
        .stream = writer->process_stream,
        .sequence = writer->cells_sequence++,
        .string_page = string_page,
        .tick = tick,
    };
    tbed_block_begin(writer, page, tbed_cell_nbytes(writer), &start);
    return page;
}

uint8_t *tbed_cell_claim(struct tbed_writer *writer, uint64_t tick, uint32_t *string_page_ret,
                         enum tbed_drop_cause *cause_ret)
{
    uint32_t cell_nbytes = tbed_cell_nbytes(writer);
    if (writer->cells == NULL || writer->cells_next == writer->page_nbytes / cell_nbytes) {
        uint8_t *page = cells_page_begin(writer, tick, cause_ret);
        if (page == NULL)
            return NULL;
        writer->cells = page;
        writer->cells_next = 1;
    }
    *string_page_ret = tbed_le32_load(((struct tbed_disk_block *)writer->cells)->string_page);
    return writer->cells + (size_t)cell_nbytes * writer->cells_next++;
}

/* ---- Blocks of entries: strings and records ---- */

uint32_t tbed_entry_max_nbytes(const struct tbed_writer *writer)
{
    return writer->page_nbytes - TBED_BLOCK_HEADER_NBYTES;
}

void tbed_block_writer_finish(struct tbed_writer *writer, struct tbed_block_writer *blocks)
{
    if (blocks->block != NULL) {
        uint64_t tick = tbed_le64_load(((struct tbed_disk_block *)blocks->block)->first_tick);
        tbed_block_seal(blocks->block, blocks->at, tick);
        tbed_page_release(writer, blocks->block);
    }
    blocks->block = NULL;
}

/* A process's first block of a kind is a cell, so that small processes stay small in the file. */
static bool next_block(struct tbed_writer *writer, struct tbed_block_writer *blocks, uint32_t nbytes,
                       enum tbed_drop_cause *cause_ret)
{
    uint64_t tick = tbed_clock_now(writer);
    uint32_t cell_nbytes = tbed_cell_nbytes(writer);
    bool is_cell = blocks->sequence == 0 && nbytes <= cell_nbytes - TBED_BLOCK_HEADER_NBYTES;
    uint32_t string_page = 0;
    uint8_t *block = is_cell ? tbed_cell_claim(writer, tick, &string_page, cause_ret) : NULL;
    if (is_cell && block == NULL && *cause_ret != TBED_DROP_IDS_EXHAUSTED)
        return false;
    is_cell = block != NULL; /* without ordinals there are no more cells, but pages */
    if (!is_cell && blocks->kind == TBED_BLOCK_STRINGS)
        block = string_page_claim(writer, &string_page, cause_ret);
    else if (!is_cell)
        block = tbed_page_claim(writer, cause_ret);
    if (block == NULL)
        return false;
    if (blocks->kind != TBED_BLOCK_STRINGS)
        string_page = 0;
    tbed_block_writer_finish(writer, blocks);
    blocks->block = block;
    blocks->nbytes = is_cell ? cell_nbytes : writer->page_nbytes;
    blocks->at = TBED_BLOCK_HEADER_NBYTES;
    blocks->string_page = string_page;
    struct tbed_block_start start = {
        .kind = blocks->kind,
        .stream = writer->process_stream,
        .sequence = blocks->sequence++,
        .string_page = string_page,
        .tick = tick,
    };
    tbed_block_begin(writer, block, blocks->nbytes, &start);
    return true;
}

uint8_t *tbed_block_room_or_cause(struct tbed_writer *writer, struct tbed_block_writer *blocks,
                                  uint32_t nbytes, enum tbed_drop_cause *cause_ret)
{
    bool fits = blocks->block != NULL && nbytes <= blocks->nbytes - blocks->at;
    *cause_ret = TBED_DROP_TOO_LARGE;
    if (nbytes > tbed_entry_max_nbytes(writer) || (!fits && !next_block(writer, blocks, nbytes, cause_ret)))
        return NULL;
    uint8_t *room = blocks->block + blocks->at;
    blocks->at += nbytes;
    return room;
}

uint8_t *tbed_block_room(struct tbed_writer *writer, struct tbed_block_writer *blocks, uint32_t nbytes)
{
    enum tbed_drop_cause cause;
    uint8_t *room = tbed_block_room_or_cause(writer, blocks, nbytes, &cause);
    if (room == NULL)
        tbed_drop(writer, cause, 1);
    return room;
}
