/*
 * Arrays of items that start with a key, sorted and looked up by it.
 *
 * SPDX-License-Identifier: MIT
 */
#ifndef TRACEBED_KEYED_H
#define TRACEBED_KEYED_H

#include "reader/core/base/vector.h"

#include <stdint.h>

/* What a record describes, and its place in the file. Sorted by both, the last item of a key is the newest. */
struct tbed_keyed {
    uint32_t key;
    uint32_t cell; /* for damage */
    uint64_t offset;
};

void tbed_keyed_sort(struct tbed_vector *vector, size_t item_nbytes);

/* Sorts, and keeps only the last item of each key, which is the newest in file order. */
void tbed_keyed_keep_newest(struct tbed_vector *vector, size_t item_nbytes);

/* How many items have a key that is not above 'key'. */
size_t tbed_keyed_count_up_to(const struct tbed_vector *vector, size_t item_nbytes, uint32_t key);

/* The last item with 'key', or NULL. */
void *tbed_keyed_find(const struct tbed_vector *vector, size_t item_nbytes, uint32_t key);

#endif
