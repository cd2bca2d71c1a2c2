/*
 * The pages of a flight recorder. Only for files that are one, except tbed_ring_has(), tbed_ring_owns() and
 * tbed_ring_note_last().
 *
 * SPDX-License-Identifier: MIT
 */
#ifndef TRACEBED_WRITER_RING_H
#define TRACEBED_WRITER_RING_H

#include "writer/file/state.h"

bool tbed_ring_has(const struct tbed_file *file, const uint8_t *block);
/* A page of the ring, all zero, for tbed_block_begin(); NULL with the cause: all are held. */
uint8_t *tbed_ring_claim(struct tbed_file *file, enum tbed_drop_cause *cause_ret);
/* The same for a page that the caller has just sealed. */
uint8_t *tbed_ring_retake(struct tbed_file *file, uint8_t *block, enum tbed_drop_cause *cause_ret);
/* The block gets no more events: its age begins. */
void tbed_ring_note_end(struct tbed_file *file, const uint8_t *block);
/* The block is the last of a stream that ends. Nothing happens if it is in no ring, or is gone. */
void tbed_ring_note_last(struct tbed_file *file, const uint8_t *block, uint32_t stream);
/* The generation of the block that begins in a page that was claimed. */
uint32_t tbed_ring_generation(const struct tbed_file *file, const uint8_t *block);
/* The block has its header and its page's entry: readers may look. */
void tbed_ring_commit(struct tbed_file *file, uint8_t *block);
/* The block is not in a page of the ring that another process has taken, believing this one to be dead. */
bool tbed_ring_owns(const struct tbed_file *file, const uint8_t *block);
/* The block is sealed: its page may be taken. */
void tbed_ring_release(struct tbed_file *file, uint8_t *block);
/* How many pages this process may have made ready ahead, and how many may wait for their seals. */
uint32_t tbed_ring_share(const struct tbed_file *file);
/* For the helper: takes and zeroes a page ahead. False: enough are, or all are held. */
bool tbed_ring_make_ready(struct tbed_file *file);
void tbed_ring_give_back(struct tbed_file *file);

#endif
