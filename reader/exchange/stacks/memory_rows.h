/*
 * Memory by call stack as rows like those of time (struct tbed_stack_row), whose ticks are bytes or allocations, for flame
 * graphs and folded stacks. Frames are functions without lines; inlined ones count as the function around them.
 *
 * SPDX-License-Identifier: MIT
 */
#ifndef TRACEBED_MEMORY_ROWS_H
#define TRACEBED_MEMORY_ROWS_H

#include "reader/core/base/vector.h"

#include <tracebed/analysis.h>

enum memory_weight {
    MEMORY_BYTES,  /* allocated */
    MEMORY_COUNT,  /* allocations */
    MEMORY_PEAK,   /* live when the process had the most */
    MEMORY_LEAKED, /* never freed */
};

struct memory_rows_options {
    enum memory_weight weight;
    const char *root; /* names the root; NULL: "all" */
    unsigned thread_count;
    const struct tbed_filter *filter;
};

struct memory_rows {
    TBED_VECTOR(struct tbed_stack_row) rows; /* each is followed by its children */
    uint64_t count;                          /* allocations */

    /* private */
    struct tbed_reader *reader;
    enum memory_weight weight;
    struct tbed_allocations *allocations; /* these own the labels */
    struct tbed_statistics *instants;
};

/* Errors: those of tbed_allocations_make(). To be closed in any case. */
enum tbed_status tbed_memory_rows_make(struct tbed_reader *reader, const struct memory_rows_options *options,
                                       struct memory_rows *rows_ret);
void tbed_memory_rows_close(struct memory_rows *rows); /* zeroed is allowed */

#endif
