/*
 * A growing array in memory. One implementation for all types; nothing is ever sized by a count in a file.
 *
 * SPDX-License-Identifier: MIT
 */
#ifndef TRACEBED_VECTOR_H
#define TRACEBED_VECTOR_H

#include <stdbool.h>
#include <stddef.h>

struct tbed_vector { /* zeroed: empty */
    void *items;
    size_t count;
    size_t capacity;
};

/* Room for one more at the end, zeroed; NULL: no memory, and the vector is as it was. */
void *tbed_vector_push(struct tbed_vector *vector, size_t item_nbytes);

/* Room for 'count' items in all. */
bool tbed_vector_reserve(struct tbed_vector *vector, size_t count, size_t item_nbytes);

/* An independent copy in '*to_ret', which is overwritten. */
bool tbed_vector_copy(const struct tbed_vector *from, size_t item_nbytes, struct tbed_vector *to_ret);

void tbed_vector_free(struct tbed_vector *vector);

#endif
