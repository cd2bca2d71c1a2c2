/*
 * Which suppression a frame of a call stack matches.
 *
 * SPDX-License-Identifier: MIT
 */
#ifndef TRACEBED_SUPPRESSION_LIST_H
#define TRACEBED_SUPPRESSION_LIST_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <tracebed/suppressions.h>

/* The names of a frame. NULL: unknown. */
struct suppression_frame {
    const char *function, *file;
    const char *module;   /* its path */
    const char *together; /* MODULE!FUNCTION */
};

/* The number of patterns, those that are built in last. */
size_t tbed_suppressions_count(const struct tbed_suppressions *suppressions);

/* The text of a pattern, without "leak:". */
const char *tbed_suppressions_text(const struct tbed_suppressions *suppressions, size_t index,
                                   bool *is_built_in_ret);

/* The first pattern that matches; SIZE_MAX: none. */
size_t tbed_suppressions_match(const struct tbed_suppressions *suppressions,
                               const struct suppression_frame *frame);

/*
 * The emergency pool of a C++ library without symbols has no function to name: it is a block of a certain size from code of
 * this library that has no name. SIZE_MAX: a block of this size is not the pool.
 */
size_t tbed_suppressions_pool(const struct tbed_suppressions *suppressions, uint64_t nbytes);
bool tbed_suppressions_is_pool_place(const struct suppression_frame *frame);

#endif
