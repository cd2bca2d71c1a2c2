/*
 * Blocks of strings and records, and the cells that short blocks are. The caller holds 'state_lock'.
 *
 * SPDX-License-Identifier: MIT
 */
#ifndef TRACEBED_WRITER_ENTRIES_H
#define TRACEBED_WRITER_ENTRIES_H

#include "writer/store/store.h"

/* ---- shared_cells.c ---- */
uint32_t tbed_cell_nbytes(uint32_t page_nbytes);
/*
 * How many blocks a stream, or the strings or records of a process, have in cells before they get pages: they get the first
 * page when they have filled as much, so that at most half of the file is empty.
 */
uint32_t tbed_early_cell_count(const struct tbed_store *store);
/* Cells use up addresses that strings need, so those that could be pages get at most half of them. */
bool tbed_has_spare_cells(const struct tbed_store *store);
/* The page that only this process takes cells from; NULL: none. */
uint8_t *tbed_cells_page(const struct tbed_store *store);
/* After a change of the file: 'offset' 0: none. */
void tbed_cells_set(struct tbed_store *store, uint64_t offset, uint32_t next, uint32_t sequence);
/* A cell that nobody else has, its header not begun; NULL: no page has one. Not for strings. Needs no lock. */
uint8_t *tbed_cell_take(struct tbed_store *store);
/* The same, from another page if need be; NULL with the cause. */
uint8_t *tbed_cell_claim(struct tbed_store *store, uint64_t tick, uint32_t *string_page_ret,
                         enum tbed_drop_cause *cause_ret);
/* A page with an ordinal, for strings or cells; NULL with the cause. */
uint8_t *tbed_string_page_claim(struct tbed_store *store, uint32_t *ordinal_ret,
                                enum tbed_drop_cause *cause_ret);

/* ---- entries.c ---- */

uint32_t tbed_entry_max_nbytes(const struct tbed_store *store);
/*
 * Room for an entry of 'nbytes' (a multiple of 8) in a string or record block. NULL: a drop has been counted; from
 * tbed_block_room_or_cause() it has not, and the cause is returned.
 */
uint8_t *tbed_block_room(struct tbed_store *store, struct tbed_block_writer *blocks, uint32_t nbytes);
uint8_t *tbed_block_room_or_cause(struct tbed_store *store, struct tbed_block_writer *blocks, uint32_t nbytes,
                                  enum tbed_drop_cause *cause_ret);
void tbed_block_writer_finish(struct tbed_store *store, struct tbed_block_writer *blocks);
/* For a sync: what comes next goes to a new block. True if there was a block, so something is new. */
bool tbed_block_writer_cut(struct tbed_store *store, struct tbed_block_writer *blocks);

#endif
