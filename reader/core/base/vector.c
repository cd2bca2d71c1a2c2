/*
 * A growing array in memory.
 *
 * SPDX-License-Identifier: MIT
 */
#include "reader/core/base/vector.h"

#include <stdint.h>
#include <stdlib.h>
#include <string.h>

bool tbed_vector_reserve(struct tbed_vector *vector, size_t count, size_t item_nbytes)
{
    if (count <= vector->capacity)
        return true;
    if (count > SIZE_MAX / 2 / item_nbytes)
        return false;
    void *items = realloc(vector->items, count * item_nbytes);
    if (items == NULL)
        return false;
    vector->items = items;
    vector->capacity = count;
    return true;
}

void *tbed_vector_push(struct tbed_vector *vector, size_t item_nbytes)
{
    if (vector->count == vector->capacity) {
        size_t capacity = vector->capacity == 0 ? 16 : vector->capacity * 2;
        if (!tbed_vector_reserve(vector, capacity, item_nbytes))
            return NULL;
    }
    char *item = (char *)vector->items + vector->count++ * item_nbytes;
    return memset(item, 0, item_nbytes);
}

bool tbed_vector_copy(const struct tbed_vector *from, size_t item_nbytes, struct tbed_vector *to_ret)
{
    *to_ret = (struct tbed_vector){0};
    if (from->count == 0)
        return true;
    if (!tbed_vector_reserve(to_ret, from->count, item_nbytes))
        return false;
    memcpy(to_ret->items, from->items, from->count * item_nbytes);
    to_ret->count = from->count;
    return true;
}

void tbed_vector_free(struct tbed_vector *vector)
{
    free(vector->items);
    *vector = (struct tbed_vector){0};
}
