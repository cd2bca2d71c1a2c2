/*
 * Pages and blocks of the file.
 *
 * SPDX-License-Identifier: MIT
 */
#ifndef TRACEBED_WRITER_PAGES_H
#define TRACEBED_WRITER_PAGES_H

#include "format/block.h"
#include "format/file/mark.h"
#include "writer/file/state.h"

/* ---- page.c ---- */
/* A claimed page, zero, not begun; NULL with the cause. */
uint8_t *tbed_page_claim(struct tbed_file *file, enum tbed_drop_cause *cause_ret);
/* Makes the file grow, if it must, so that the next claim need not; false, with the cause, if that claim would fail. */
bool tbed_page_prepare(struct tbed_file *file, enum tbed_drop_cause *cause_ret);

/* ---- page_entry.c: what the directory says about a page; section 3.3 ---- */
/* Stores the header of a directory page. Several writers may do so: they store the same bytes. */
void tbed_directory_page_begin(uint8_t *map, uint32_t page_nbytes, uint64_t page);
/* Whether a directory page has nothing but its header, or only a part of that. */
bool tbed_directory_page_is_fresh(const uint8_t *map, uint32_t page_nbytes, uint64_t page);
/* The entry of the page that has the block. */
struct tbed_disk_entry *tbed_entry_at(uint8_t *map, uint32_t page_nbytes, const uint8_t *block);
/* In the order in which they are called. 'header' is the block's, which is not stored yet. */
void tbed_entry_claim(struct tbed_disk_entry *entry, const struct tbed_disk_block *header);
void tbed_entry_begin(struct tbed_disk_entry *entry);
void tbed_entry_end(struct tbed_disk_entry *entry, uint32_t used_nbytes,
                    const struct tbed_block_ticks *ticks);
void tbed_entry_seal(struct tbed_disk_entry *entry, uint64_t checksum);
/* For a ring: the page is taken from its block. Everything except the mark becomes zero. */
void tbed_entry_clear(struct tbed_disk_entry *entry);
/* For a ring: the stream of the page's block has ended. Nothing happens if the page was taken since it had 'mark'. */
void tbed_entry_note_last(struct tbed_disk_entry *entry, uint32_t stream, struct tbed_mark mark);
/* One more cell of a cells page was begun. */
void tbed_entry_count_cell(struct tbed_disk_entry *entry);

/* ---- block_write.c ---- */
struct tbed_block_start { /* what a block's header says from the start */
    enum tbed_block_kind kind;
    uint32_t stream, sequence, string_page, depth;
    uint64_t tick;
};
void tbed_block_begin(struct tbed_file *file, uint8_t *block, uint32_t nbytes,
                      const struct tbed_block_start *start);
/* Ends a block, for tbed_block_seal(): it has its last tick, and the directory says how far it goes. */
void tbed_block_end(struct tbed_file *file, uint8_t *block, uint32_t used_nbytes,
                    const struct tbed_block_ticks *ticks);
void tbed_block_seal(struct tbed_file *file, uint8_t *block, uint32_t used_nbytes);
/* The same for a block of any file, without its entry. Returns the checksum. */
uint64_t tbed_block_seal_alone(uint8_t *block, uint32_t used_nbytes, uint64_t last_tick);
/* Lets go of a sealed page that is not needed soon; a cell waits until its whole page goes. */
void tbed_page_release(struct tbed_file *file, uint8_t *block);

/* ---- seal_queue.c ---- */
/* Leaves the sealing of a full page to the helper. False: the caller seals. */
bool tbed_seal_queue_put(struct tbed_file *file, uint8_t *block, uint32_t used_nbytes);
/* Before the helper starts: in a forked child, forgets what the parent's threads have put in. */
void tbed_seal_queue_begin(struct tbed_file *file);
/* Seals all pages that wait: called by the helper, and by the thread that stops it. */
void tbed_seal_queue_run(struct tbed_file *file);

/* ---- helper_wake.c ---- */
/* After a claim; 'is_low': the helper's lead is down to half. Wakes the helper, or does its work where there is none. */
void tbed_helper_page_taken(struct tbed_file *file, uint64_t page, bool is_low);
/* It runs, and there is enough for it to do; until then recorders do its work themselves. */
bool tbed_helper_is_busy(const struct tbed_file *file);
void tbed_helper_wake(struct tbed_helper_link *link);

#endif
