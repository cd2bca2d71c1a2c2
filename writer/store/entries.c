/*
 * Where strings and records are stored: blocks that are filled entry by entry. A process's first blocks are cells,
 * small enough for several to share a page.
 *
 * Source: spec/format.md, sections 4.3, 5 and 8.
 *
 * SPDX-License-Identifier: MIT
 */
#include "writer/store/entries.h"
#include "writer/base/shared_words.h"
#include "writer/file/usable.h"
#include "writer/pages/pages.h"

/* ---- Cells ---- */

uint32_t tbed_cell_nbytes(uint32_t page_nbytes)
{
    uint32_t largest = page_nbytes / 8;
    uint32_t nbytes = 1u << TBED_CELL_SHIFT_DEFAULT;
    return nbytes < largest ? nbytes : largest;
}

bool tbed_has_spare_cells(const struct tbed_store *store)
{
    uint64_t half = ((uint64_t)1 << 31) >> store->file.page_shift;
    return tbed_shared_load(&tbed_shared(&store->file)->next_string_page) < half;
}

/*
 * The string space has 2^32 bytes; an ordinal beyond its end would name the strings of another page. The page is
 * claimed first, so that a full disk does not use up ordinals.
 */
static uint8_t *string_page_claim(struct tbed_store *store, uint32_t *ordinal_ret,
                                  enum tbed_drop_cause *cause_ret)
{
    uint64_t limit = ((uint64_t)1 << 32) >> store->file.page_shift;
    tbed_le64 *next = &tbed_shared(&store->file)->next_string_page;
    uint64_t ordinal = tbed_shared_load(next);
    *cause_ret = TBED_DROP_IDS_EXHAUSTED;
    if (ordinal >= limit)
        return NULL;
    uint8_t *page = tbed_page_claim(&store->file, cause_ret);
    if (page == NULL)
        return NULL;
    *cause_ret = TBED_DROP_IDS_EXHAUSTED;
    do {
        if (ordinal >= limit) /* other processes took the last ones; the page stays zero */
            return NULL;
    } while (!tbed_shared_swap(next, &ordinal, ordinal + 1));
    *ordinal_ret = (uint32_t)ordinal;
    return page;
}

/* The page is sealed from the start. As for every block, the first word is stored last. */
static uint8_t *cells_page_begin(struct tbed_store *store, uint64_t tick, enum tbed_drop_cause *cause_ret)
{
    uint32_t string_page;
    uint8_t *page = string_page_claim(store, &string_page, cause_ret);
    if (page == NULL)
        return NULL;
    struct tbed_block_start start = {
        .kind = TBED_BLOCK_CELLS,
        .stream = store->file.process.stream,
        .sequence = store->cells.sequence++,
        .string_page = string_page,
        .tick = tick,
    };
    tbed_block_begin(&store->file, page, tbed_cell_nbytes(store->file.page_nbytes), &start);
    return page;
}

uint8_t *tbed_cell_claim(struct tbed_store *store, uint64_t tick, uint32_t *string_page_ret,
                         enum tbed_drop_cause *cause_ret)
{
    uint32_t cell_nbytes = tbed_cell_nbytes(store->file.page_nbytes);
    if (store->cells.page == NULL || store->cells.next == store->file.page_nbytes / cell_nbytes) {
        uint8_t *page = cells_page_begin(store, tick, cause_ret);
        if (page == NULL)
            return NULL;
        store->cells.page = page;
        store->cells.next = 1;
    }
    *string_page_ret = tbed_le32_load(((struct tbed_disk_block *)store->cells.page)->string_page);
    return store->cells.page + (size_t)cell_nbytes * store->cells.next++;
}

/* ---- Blocks of entries: strings and records ---- */

uint32_t tbed_entry_max_nbytes(const struct tbed_store *store)
{
    return store->file.page_nbytes - TBED_BLOCK_HEADER_NBYTES;
}

void tbed_block_writer_finish(struct tbed_store *store, struct tbed_block_writer *blocks)
{
    if (blocks->block != NULL) {
        uint64_t tick = tbed_le64_load(((struct tbed_disk_block *)blocks->block)->first_tick);
        tbed_block_end(&store->file, blocks->block, blocks->at, &(struct tbed_block_ticks){tick, tick});
        tbed_block_seal(&store->file, blocks->block, blocks->at);
        tbed_page_release(&store->file, blocks->block);
    }
    blocks->block = NULL;
}

bool tbed_block_writer_cut(struct tbed_store *store, struct tbed_block_writer *blocks)
{
    if (blocks->block == NULL)
        return false;
    blocks->was_short = blocks->at <= tbed_cell_nbytes(store->file.page_nbytes);
    tbed_block_writer_finish(store, blocks);
    return true;
}

/* A process's first block of a kind is a cell, so that small processes stay small in the file. */
static bool next_block(struct tbed_store *store, struct tbed_block_writer *blocks, uint32_t nbytes,
                       enum tbed_drop_cause *cause_ret)
{
    uint64_t tick = tbed_clock_now(&store->file.clock);
    uint32_t cell_nbytes = tbed_cell_nbytes(store->file.page_nbytes);
    bool is_early = blocks->sequence == 0 || (blocks->was_short && tbed_has_spare_cells(store));
    bool is_cell = is_early && nbytes <= cell_nbytes - TBED_BLOCK_HEADER_NBYTES;
    uint32_t string_page = 0;
    uint8_t *block = is_cell ? tbed_cell_claim(store, tick, &string_page, cause_ret) : NULL;
    if (is_cell && block == NULL && *cause_ret != TBED_DROP_IDS_EXHAUSTED)
        return false;
    is_cell = block != NULL; /* without ordinals there are no more cells, only pages */
    if (!is_cell && blocks->kind == TBED_BLOCK_STRINGS)
        block = string_page_claim(store, &string_page, cause_ret);
    else if (!is_cell)
        block = tbed_page_claim(&store->file, cause_ret);
    if (block == NULL)
        return false;
    if (blocks->kind != TBED_BLOCK_STRINGS)
        string_page = 0;
    tbed_block_writer_finish(store, blocks);
    blocks->was_short = false;
    blocks->block = block;
    blocks->nbytes = is_cell ? cell_nbytes : store->file.page_nbytes;
    blocks->at = TBED_BLOCK_HEADER_NBYTES;
    blocks->string_page = string_page;
    struct tbed_block_start start = {
        .kind = blocks->kind,
        .stream = store->file.process.stream,
        .sequence = blocks->sequence++,
        .string_page = string_page,
        .tick = tick,
    };
    tbed_block_begin(&store->file, block, blocks->nbytes, &start);
    return true;
}

uint8_t *tbed_block_room_or_cause(struct tbed_store *store, struct tbed_block_writer *blocks, uint32_t nbytes,
                                  enum tbed_drop_cause *cause_ret)
{
    bool fits = blocks->block != NULL && nbytes <= blocks->nbytes - blocks->at;
    *cause_ret = TBED_DROP_TOO_LARGE;
    if (nbytes > tbed_entry_max_nbytes(store) || (!fits && !next_block(store, blocks, nbytes, cause_ret)))
        return NULL;
    uint8_t *room = blocks->block + blocks->at;
    blocks->at += nbytes;
    return room;
}

uint8_t *tbed_block_room(struct tbed_store *store, struct tbed_block_writer *blocks, uint32_t nbytes)
{
    enum tbed_drop_cause cause;
    uint8_t *room = tbed_block_room_or_cause(store, blocks, nbytes, &cause);
    if (room == NULL)
        tbed_drop(&store->file, cause, 1);
    return room;
}
