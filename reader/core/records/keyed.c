/*
 * Items by key; see keyed.h.
 *
 * SPDX-License-Identifier: MIT
 */
#include "reader/core/records/keyed.h"

#include <stdlib.h>
#include <string.h>

static int compare_keyed(const void *a, const void *b)
{
    const struct tbed_keyed *x = a, *y = b;
    if (x->key != y->key)
        return x->key < y->key ? -1 : 1;
    return x->offset < y->offset ? -1 : x->offset > y->offset;
}

void tbed_keyed_sort(struct tbed_vector *vector, size_t item_nbytes)
{
    if (vector->count > 1)
        qsort(vector->items, vector->count, item_nbytes, compare_keyed);
}

void tbed_keyed_keep_newest(struct tbed_vector *vector, size_t item_nbytes)
{
    char *items = vector->items;
    size_t kept = 0;
    tbed_keyed_sort(vector, item_nbytes);
    for (size_t i = 0; i < vector->count; i++) {
        const struct tbed_keyed *item = (const struct tbed_keyed *)(items + i * item_nbytes);
        const struct tbed_keyed *next = (const struct tbed_keyed *)(items + (i + 1) * item_nbytes);
        if (i + 1 < vector->count && next->key == item->key)
            continue;
        if (kept != i)
            memcpy(items + kept * item_nbytes, item, item_nbytes);
        kept++;
    }
    vector->count = kept;
}

size_t tbed_keyed_count_up_to(const struct tbed_vector *vector, size_t item_nbytes, uint32_t key)
{
    size_t low = 0, high = vector->count;
    while (low < high) {
        size_t middle = low + (high - low) / 2;
        const void *item = (const char *)vector->items + middle * item_nbytes;
        if (((const struct tbed_keyed *)item)->key <= key)
            low = middle + 1;
        else
            high = middle;
    }
    return low;
}

void *tbed_keyed_find(const struct tbed_vector *vector, size_t item_nbytes, uint32_t key)
{
    size_t count = tbed_keyed_count_up_to(vector, item_nbytes, key);
    struct tbed_keyed *item;
    if (count == 0)
        return NULL;
    item = (struct tbed_keyed *)((char *)vector->items + (count - 1) * item_nbytes);
    return item->key == key ? item : NULL;
}
