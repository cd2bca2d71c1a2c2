/*
 * Mappings of memory; see mappings.h.
 *
 * SPDX-License-Identifier: MIT
 */
#include "reader/analysis/memory/mappings.h"

#include <stdlib.h>
#include <string.h>

void tbed_mappings_close(struct mappings *mappings)
{
    free(mappings->items);
    *mappings = (struct mappings){0};
}

/* The index of the first one that ends above the address. */
static size_t first_above(const struct mappings *mappings, uint64_t address)
{
    size_t low = 0, high = mappings->count;
    while (low < high) {
        size_t middle = low + (high - low) / 2;
        if (mappings->items[middle].end > address)
            high = middle;
        else
            low = middle + 1;
    }
    return low;
}

static void insert(struct mappings *mappings, size_t at, const struct mapping *mapping)
{
    struct mapping *place = &mappings->items[at];
    memmove(place + 1, place, (mappings->count - at) * sizeof *place);
    *place = *mapping;
    mappings->count++;
}

static void erase(struct mappings *mappings, size_t at)
{
    struct mapping *place = &mappings->items[at];
    memmove(place, place + 1, (mappings->count - at - 1) * sizeof *place);
    mappings->count--;
}

bool tbed_mappings_make_room(struct mappings *mappings)
{
    size_t room = 2 * mappings->room + 16;
    if (mappings->count < mappings->room)
        return true;
    struct mapping *items = realloc(mappings->items, room * sizeof *items);
    if (items == NULL)
        return false;
    mappings->items = items;
    mappings->room = room;
    return true;
}

bool tbed_mappings_add(struct mappings *mappings, struct mapping mapping)
{
    if (!tbed_mappings_make_room(mappings))
        return false;
    mapping.number = mappings->next_number++;
    insert(mappings, first_above(mappings, mapping.start), &mapping);
    return true;
}

static bool has_number(const struct mappings *mappings, uint64_t number)
{
    for (size_t i = 0; i < mappings->count; i++)
        if (mappings->items[i].number == number)
            return true;
    return false;
}

bool tbed_mappings_cut(struct mappings *mappings, uint64_t start, uint64_t end, struct mapping *part_ret,
                       bool *is_last_ret)
{
    size_t at = first_above(mappings, start);
    if (start >= end || at == mappings->count || mappings->items[at].start >= end)
        return false;
    struct mapping *mapping = &mappings->items[at], right = *mapping;
    *part_ret = *mapping;
    part_ret->start = start > mapping->start ? start : mapping->start;
    part_ret->end = end < mapping->end ? end : mapping->end;
    right.start = part_ret->end;
    bool has_left = part_ret->start > mapping->start, has_right = right.start < right.end;
    mapping->end = part_ret->start;
    if (has_left && has_right)
        insert(mappings, at + 1, &right);
    else if (has_right)
        *mapping = right;
    else if (!has_left)
        erase(mappings, at);
    *is_last_ret = !has_left && !has_right && !has_number(mappings, part_ret->number);
    return true;
}

const struct mapping *tbed_mappings_above(const struct mappings *mappings, uint64_t address)
{
    size_t at = first_above(mappings, address);
    return at < mappings->count ? &mappings->items[at] : NULL;
}
