/*
 * Pages and blocks of the file.
 *
 * SPDX-License-Identifier: MIT
 */
#ifndef TRACEBED_WRITER_PAGES_H
#define TRACEBED_WRITER_PAGES_H

#include "format/block.h"
#include "writer/file/state.h"

/* ---- page.c ---- */
/* A claimed page, zero, not begun; NULL with the cause. */
uint8_t *tbed_page_claim(struct tbed_file *file, enum tbed_drop_cause *cause_ret);

/* ---- block_write.c ---- */
struct tbed_block_start { /* what a block's header says from the start */
    enum tbed_block_kind kind;
    uint32_t stream, sequence, string_page, depth;
    uint64_t tick;
};
void tbed_block_begin(struct tbed_file *file, uint8_t *block, uint32_t nbytes,
                      const struct tbed_block_start *start);
void tbed_block_seal(uint8_t *block, uint32_t used_nbytes, uint64_t last_tick);
/* Lets go of a sealed page that is not needed soon; a cell waits until its whole page goes. */
void tbed_page_release(struct tbed_file *file, uint8_t *block);

/* ---- seal_queue.c ---- */
/* Leaves the sealing of a full page to the helper. False: the caller seals. */
bool tbed_seal_queue_put(struct tbed_file *file, uint8_t *block, uint32_t used_nbytes);
/* Seals all pages that wait: called by the helper, and by the thread that stops it. */
void tbed_seal_queue_run(struct tbed_file *file);

/* ---- helper_wake.c ---- */
/* After a claim; 'is_low': the helper's lead is down to half. Wakes the helper, or does its work where there is none. */
void tbed_helper_page_taken(struct tbed_file *file, uint64_t page, bool is_low);
/* It runs, and there is enough for it to do; until then recorders do its work themselves. */
bool tbed_helper_is_busy(const struct tbed_file *file);
void tbed_helper_wake(struct tbed_helper_link *link);

#endif
