/*
 * Where strings and records are stored: blocks that are filled entry by entry. A process's first blocks are cells,
 * small enough for several to share a page (shared_cells.c).
 *
 * Source: spec/format.md, sections 4.3, 5 and 8.
 *
 * SPDX-License-Identifier: MIT
 */
#include "writer/store/entries.h"
#include "writer/file/usable.h"
#include "writer/pages/pages.h"

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

/* The first blocks of a kind are cells, so that small processes stay small in the file. */
static bool next_block(struct tbed_store *store, struct tbed_block_writer *blocks, uint32_t nbytes,
                       enum tbed_drop_cause *cause_ret)
{
    uint64_t tick = tbed_clock_now(&store->file.clock);
    uint32_t cell_nbytes = tbed_cell_nbytes(store->file.page_nbytes);
    bool was_cell = blocks->nbytes == cell_nbytes;
    bool may_be_cell = blocks->was_short || (was_cell && blocks->sequence < tbed_early_cell_count(store));
    bool is_early = blocks->sequence == 0 || (may_be_cell && tbed_has_spare_cells(store));
    bool is_cell = is_early && nbytes <= cell_nbytes - TBED_BLOCK_HEADER_NBYTES;
    uint32_t string_page = 0;
    uint8_t *block = is_cell ? tbed_cell_claim(store, tick, &string_page, cause_ret) : NULL;
    if (is_cell && block == NULL && *cause_ret != TBED_DROP_IDS_EXHAUSTED)
        return false;
    if (block < blocks->latest && blocks->kind == TBED_BLOCK_RECORDS)
        block = NULL; /* records are read in file order; a page that is claimed now is behind all others */
    is_cell = block != NULL; /* without ordinals there are no more cells, only pages */
    if (!is_cell && blocks->kind == TBED_BLOCK_STRINGS)
        block = tbed_string_page_claim(store, &string_page, cause_ret);
    else if (!is_cell)
        block = tbed_page_claim(&store->file, cause_ret);
    if (block == NULL)
        return false;
    if (blocks->kind != TBED_BLOCK_STRINGS)
        string_page = 0;
    tbed_block_writer_finish(store, blocks);
    blocks->was_short = false;
    blocks->block = block;
    blocks->latest = block;
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
