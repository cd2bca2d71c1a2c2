/*
 * The inside of a cursor, for the merge, which has one for each stream.
 *
 * SPDX-License-Identifier: MIT
 */
#ifndef TRACEBED_CURSOR_H
#define TRACEBED_CURSOR_H

#include "reader/core/container/packed_pages.h"

#include <tracebed/reader.h>

/* Called with each block that a cursor enters, before the block's first event. */
typedef void tbed_block_entered(void *context, const struct tbed_block *block);

struct tbed_cursor {
    const struct tbed_reader *reader;
    const uint64_t *at; /* the next word of the block; NULL before the first block */
    const uint64_t *end;
    uint64_t base;                      /* tick of delta 0 */
    uint64_t offset_bias;               /* a word's address + this is its offset in the file */
    uint64_t next_sequence;             /* the lowest that the next block may have */
    uint64_t end_sequence;              /* above any that it may have */
    uint64_t window_first, window_last; /* blocks outside it are skipped; inclusive */
    uint32_t stream;
    uint32_t depth;
    uint32_t cell;
    uint64_t *copy; /* of the block, in a live ring; NULL: none needed so far */
    /* The block that was copied, as long as it may grow; otherwise its 'bytes' are NULL. */
    struct tbed_block origin;
    struct tbed_lease lease; /* of the block, which was unpacked */
    bool is_sealed;          /* if set, a zero word is damage, not the end of what has been written */

    tbed_block_entered *entered; /* NULL: not needed */
    void *entered_context;
};

/* Frees what the cursor holds, not the cursor itself. */
void tbed_cursor_release(struct tbed_cursor *cursor);

void tbed_cursor_init(struct tbed_cursor *cursor, const struct tbed_reader *reader, uint32_t stream);

/* What a merge tells, and asks, about the blocks of its streams. */
struct tbed_merge_watch {
    tbed_block_entered *entered; /* NULL: not needed */
    /* The sequences from which and up to which blocks are read; NULL: all. */
    void (*range)(void *context, uint32_t stream, uint64_t *first_ret, uint64_t *end_ret);
    void *context;
};

/* Like tbed_merge_open(). */
enum tbed_status tbed_merge_open_watched(const struct tbed_reader *reader, const uint32_t *streams,
                                         size_t stream_count, const struct tbed_merge_watch *watch,
                                         struct tbed_merge **merge_ret);

#endif
