/*
 * A set of ids, each with how often it was added. Grows with names, not with events.
 *
 * SPDX-License-Identifier: MIT
 */
#include "reader/tools/info/strings_ids.h"

#include <stdlib.h>
#include <string.h>

static struct used_id *find(const struct used_ids *used, uint32_t id)
{
    size_t slot = ((uint64_t)id * 0x9E3779B97F4A7C15u >> 32) & (used->capacity - 1);
    while (used->slots[slot].count != 0 && used->slots[slot].id != id)
        slot = (slot + 1) & (used->capacity - 1);
    return &used->slots[slot];
}

static void grow(struct used_ids *used)
{
    struct used_ids old = *used;
    used->capacity = old.capacity > 0 ? old.capacity * 2 : 1024;
    used->slots = tool_realloc(NULL, used->capacity * sizeof *used->slots);
    memset(used->slots, 0, used->capacity * sizeof *used->slots);
    for (size_t i = 0; i < old.capacity; i++)
        if (old.slots[i].count != 0)
            *find(used, old.slots[i].id) = old.slots[i];
    free(old.slots);
}

uint64_t used_ids_add(struct used_ids *used, uint32_t id)
{
    if (used->count * 2 >= used->capacity)
        grow(used);
    struct used_id *found = find(used, id);
    used->count += found->count == 0;
    found->id = id;
    return ++found->count;
}

void used_ids_free(struct used_ids *used)
{
    free(used->slots);
}
