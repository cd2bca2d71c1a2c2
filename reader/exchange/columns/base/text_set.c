/*
 * Different texts, numbered; see text_set.h.
 *
 * SPDX-License-Identifier: MIT
 */
#define XXH_INLINE_ALL
#include "reader/exchange/columns/base/text_set.h"

#include <xxhash.h>

#define SLOTS_LEAST 1024

void tbed_text_set_get(const struct text_set *set, uint32_t index, const char **bytes_ret, size_t *nbytes_ret)
{
    size_t start = index > 0 ? set->ends[index - 1] : 0;
    *bytes_ret = set->bytes.bytes != NULL ? set->bytes.bytes + start : ""; /* NULL if all are empty */
    *nbytes_ret = set->ends[index] - start;
}

static bool is_text(const struct text_set *set, uint32_t index, const char *bytes, size_t nbytes)
{
    const char *own;
    size_t own_nbytes;
    tbed_text_set_get(set, index, &own, &own_nbytes);
    return own_nbytes == nbytes && (nbytes == 0 || memcmp(own, bytes, nbytes) == 0);
}

/* The slot of the text, or the free one where it belongs. */
static uint32_t *slot_of(const struct text_set *set, const char *bytes, size_t nbytes)
{
    size_t mask = set->slot_count - 1, at = (size_t)XXH3_64bits(bytes, nbytes) & mask;
    while (set->slots[at] != 0 && !is_text(set, set->slots[at] - 1, bytes, nbytes))
        at = (at + 1) & mask;
    return &set->slots[at];
}

/* Keeps at least half of the slots free. */
static bool grow_slots(struct text_set *set)
{
    if (set->slot_count > 0 && set->count < set->slot_count / 2)
        return true;
    size_t count = set->slot_count > 0 ? set->slot_count * 2 : SLOTS_LEAST;
    uint32_t *slots = calloc(count, sizeof *slots);
    if (slots == NULL)
        return false;
    free(set->slots);
    set->slots = slots;
    set->slot_count = count;
    for (uint32_t index = 0; index < set->count; index++) {
        const char *bytes;
        size_t nbytes;
        tbed_text_set_get(set, index, &bytes, &nbytes);
        *slot_of(set, bytes, nbytes) = index + 1;
    }
    return true;
}

static bool grow_ends(struct text_set *set)
{
    if (set->count < set->room)
        return true;
    uint32_t room = set->room > 0 ? set->room * 2 : SLOTS_LEAST / 2;
    size_t *ends = room > set->room ? realloc(set->ends, room * sizeof *ends) : NULL;
    if (ends == NULL)
        return false;
    set->ends = ends;
    set->room = room;
    return true;
}

bool tbed_text_set_add(struct text_set *set, const char *bytes, size_t nbytes, uint32_t *index_ret)
{
    if (!grow_slots(set) || !grow_ends(set))
        return false;
    uint32_t *slot = slot_of(set, nbytes > 0 ? bytes : "", nbytes);
    if (*slot == 0) {
        tbed_text_put(&set->bytes, bytes, nbytes);
        if (set->bytes.is_out_of_memory)
            return false;
        set->ends[set->count++] = set->bytes.nbytes;
        *slot = set->count;
    }
    *index_ret = *slot - 1;
    return true;
}

void tbed_text_set_clear(struct text_set *set)
{
    set->bytes.nbytes = 0;
    set->count = 0;
    if (set->slots != NULL)
        memset(set->slots, 0, set->slot_count * sizeof *set->slots);
}

void tbed_text_set_free(struct text_set *set)
{
    free(set->bytes.bytes);
    free(set->ends);
    free(set->slots);
    *set = (struct text_set){0};
}
