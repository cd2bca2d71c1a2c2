/*
 * All blocks of memory of a trace one by one: process by process, each block when it ends, then those that are live.
 * Memory grows with the blocks that are live at one time. Blocks are those that tbed_allocations_make() counts.
 *
 * SPDX-License-Identifier: MIT
 */
#ifndef TRACEBED_BLOCK_WALK_H
#define TRACEBED_BLOCK_WALK_H

#include "reader/analysis/memory/heap.h"

#include <tracebed/filter.h>

struct block_walk;

struct walked_block {
    struct heap_block block; /* 'site' is the id of its place in code or call stack */
    uint32_t process;        /* 0: none */
};

struct block_walk_options {
    const struct tbed_filter *filter; /* NULL: everything */
    int64_t least_process, greatest_process;
    const bool *is_cancelled; /* NULL: never */
};

/* Errors: ERR_MEMORY; ERR_ARGUMENT for a filter with conditions on labels, categories or durations. */
enum tbed_status tbed_block_walk_open(struct tbed_reader *reader, const struct block_walk_options *options,
                                      struct block_walk **walk_ret);
/* Errors: END after the last; ERR_MEMORY, ERR_CANCELLED. */
enum tbed_status tbed_block_walk_next(struct block_walk *walk, struct walked_block *block_ret);
void tbed_block_walk_close(struct block_walk *walk); /* NULL is allowed */

#endif
