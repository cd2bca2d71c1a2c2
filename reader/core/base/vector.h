/*
 * The growing array. One implementation for all types; nothing is ever sized by a count in a file.
 *
 * All of it is inline, so that every library of the reading side can use it without sharing a symbol.
 *
 *     TBED_VECTOR(struct line) lines = {0};
 *     struct line *line = TBED_VECTOR_PUSH(&lines);    NULL: no memory
 *     lines.items[i], lines.count
 *     tbed_vector_free(&lines.vector);
 *
 * SPDX-License-Identifier: MIT
 */
#ifndef TRACEBED_VECTOR_H
#define TRACEBED_VECTOR_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <stdlib.h>
#include <string.h>

#define TBED_VECTOR_COUNT_MIN 16

struct tbed_vector { /* zeroed: empty */
    void *items;
    size_t count;
    size_t capacity;
};

/* A vector whose items have a type. */
#define TBED_VECTOR(type)                                                                                    \
    union {                                                                                                  \
        struct tbed_vector vector;                                                                           \
        struct {                                                                                             \
            type *items;                                                                                     \
            size_t count, capacity;                                                                          \
        };                                                                                                   \
    }

/* Makes room for 'count' items in all, and no more than that. False: no memory, and the vector is unchanged. */
static inline bool tbed_vector_reserve(struct tbed_vector *vector, size_t count, size_t item_nbytes)
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

/* Appends 'count' > 0 items without setting them, and returns the first; the room grows by doubling. NULL: no memory. */
static inline void *tbed_vector_extend(struct tbed_vector *vector, size_t count, size_t item_nbytes)
{
    if (count > vector->capacity - vector->count) {
        size_t least = count > SIZE_MAX - vector->count ? SIZE_MAX : vector->count + count;
        size_t doubled = vector->capacity > SIZE_MAX / 2 ? SIZE_MAX : vector->capacity * 2;
        size_t wanted = doubled < TBED_VECTOR_COUNT_MIN ? TBED_VECTOR_COUNT_MIN : doubled;
        if (!tbed_vector_reserve(vector, wanted < least ? least : wanted, item_nbytes))
            return NULL;
    }
    void *item = (char *)vector->items + vector->count * item_nbytes;
    vector->count += count;
    return item;
}

/* Appends one item, zeroed. NULL: no memory. */
static inline void *tbed_vector_push(struct tbed_vector *vector, size_t item_nbytes)
{
    void *item = tbed_vector_extend(vector, 1, item_nbytes);
    return item == NULL ? NULL : memset(item, 0, item_nbytes);
}

#define TBED_VECTOR_PUSH(typed)          tbed_vector_push(&(typed)->vector, sizeof *(typed)->items)
#define TBED_VECTOR_EXTEND(typed, more)  tbed_vector_extend(&(typed)->vector, more, sizeof *(typed)->items)
#define TBED_VECTOR_RESERVE(typed, room) tbed_vector_reserve(&(typed)->vector, room, sizeof *(typed)->items)

/* Makes '*to_ret', which is overwritten, an independent copy. */
static inline bool tbed_vector_copy(const struct tbed_vector *from, size_t item_nbytes,
                                    struct tbed_vector *to_ret)
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

static inline void tbed_vector_free(struct tbed_vector *vector)
{
    free(vector->items);
    *vector = (struct tbed_vector){0};
}

#endif
