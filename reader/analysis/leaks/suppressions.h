/*
 * Which suppression a frame of a call stack matches.
 *
 * SPDX-License-Identifier: MIT
 */
#ifndef TRACEBED_SUPPRESSION_LIST_H
#define TRACEBED_SUPPRESSION_LIST_H

#include "reader/analysis/leaks/valgrind_blocks.h"
#include <stdbool.h>
#include <tracebed/suppressions.h>

/* The number of suppressions: patterns that were given, those of valgrind, and those that are built in. */
size_t tbed_suppressions_count(const struct tbed_suppressions *suppressions);

/* The text of a pattern, without "leak:", or the name of a suppression of valgrind. */
const char *tbed_suppressions_text(const struct tbed_suppressions *suppressions, size_t index,
                                   bool *is_built_in_ret);

/* Those of valgrind, which need whole stacks; the first of them has the number '*first_ret'. */
const struct valgrind_blocks *tbed_suppressions_valgrind(const struct tbed_suppressions *suppressions,
                                                         size_t *first_ret);

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
