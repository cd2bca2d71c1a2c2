/*
 * Spans deeper than a block stores: who they are stands in blocks before it.
 *
 * SPDX-License-Identifier: MIT
 */
#ifndef TRACEBED_OPEN_SPANS_H
#define TRACEBED_OPEN_SPANS_H

#include <tracebed/reader.h>

/* True if block 'index' is a good one and directly before block 'next' of the same stream; then it is filled. */
bool tbed_block_before(const struct tbed_reader *reader, const struct tbed_block *next, size_t index,
                       struct tbed_block *block_ret);

/* The tick of the block's last event; its first tick if it has none. */
uint64_t tbed_block_last_tick(const struct tbed_block *block);

/*
 * Calls 'found' with the ids of the 'deep' outermost spans that are open at the start of block 'index' and
 * stay open in it, innermost first, until it says false. Goes back block by block; what stands in none of
 * them is left out, and counted by the return value. Memory out: all that is left is left out.
 */
uint64_t tbed_open_spans_below(const struct tbed_reader *reader, size_t index, uint64_t deep,
                               bool (*found)(void *context, uint32_t id), void *context);

#endif
