/*
 * The blocks before and after a block in its stream.
 *
 * SPDX-License-Identifier: MIT
 */
#ifndef TRACEBED_NEIGHBOURS_H
#define TRACEBED_NEIGHBOURS_H

#include <tracebed/reader.h>

/* True if block 'index' is good and directly precedes block 'next' in the same stream; then it is filled in. */
bool tbed_block_before(const struct tbed_reader *reader, const struct tbed_block *next, size_t index,
                       struct tbed_block *block_ret);

/*
 * Moves to the previous good block of the stream, even if blocks between them are missing. False: there is none.
 */
bool tbed_block_previous(const struct tbed_reader *reader, struct tbed_block *block, size_t *index);

/*
 * The next good block of the stream after block 'index', which is 'block', even if blocks between them are
 * missing.
 */
bool tbed_block_after(const struct tbed_reader *reader, const struct tbed_block *block, size_t index,
                      struct tbed_block *next_ret);

/* A tick that no event of the block is later than: its latest event's if the block is not sealed. */
uint64_t tbed_block_last_tick(const struct tbed_block *block);

/* The latest tick of the block's events; its first tick if it has none. */
uint64_t tbed_block_latest_tick(const struct tbed_block *block);

/* The last tick of the stream's last good block; 'none' if it has no such block. */
uint64_t tbed_stream_last_tick(const struct tbed_reader *reader, uint32_t stream, uint64_t none);

#endif
