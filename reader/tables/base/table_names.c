/*
 * Texts by code; see table.h.
 *
 * SPDX-License-Identifier: MIT
 */
#define XXH_INLINE_ALL
#include "reader/tables/base/table.h"

#include <xxhash.h>

#define SLOTS_LEAST 1024

static size_t start_of(const struct table_names *names, uint32_t code)
{
    return code > 0 ? names->ends[code - 1] : 0;
}

void tbed_table_names_get(const struct table_names *names, uint32_t code, const char **text_ret,
                          size_t *nbytes_ret)
{
    size_t start = start_of(names, code);
    *text_ret = names->bytes.bytes + start;
    *nbytes_ret = names->ends[code] - start;
}

static size_t hash_of(const char *text, size_t nbytes)
{
    return (size_t)XXH3_64bits(text, nbytes);
}

static bool is_text(const struct table_names *names, uint32_t code, const char *text, size_t nbytes)
{
    const char *own;
    size_t own_nbytes;
    tbed_table_names_get(names, code, &own, &own_nbytes);
    return own_nbytes == nbytes && (nbytes == 0 || memcmp(own, text, nbytes) == 0);
}

/* The slot of the text, or the free one where it belongs. */
static uint32_t *slot_of(const struct table_names *names, const char *text, size_t nbytes)
{
    size_t mask = names->slot_count - 1, at = hash_of(text, nbytes) & mask;
    while (names->slots[at] != 0 && !is_text(names, names->slots[at] - 1, text, nbytes))
        at = (at + 1) & mask;
    return &names->slots[at];
}

/* Keeps at least half of the slots free. */
static bool grow_slots(struct table_names *names)
{
    if (names->slot_count > 0 && names->count < names->slot_count / 2)
        return true;
    size_t count = names->slot_count > 0 ? names->slot_count * 2 : SLOTS_LEAST;
    uint32_t *slots = calloc(count, sizeof *slots);
    if (slots == NULL)
        return false;
    free(names->slots);
    names->slots = slots;
    names->slot_count = count;
    for (uint32_t code = 0; code < names->count; code++) {
        const char *text;
        size_t nbytes;
        tbed_table_names_get(names, code, &text, &nbytes);
        *slot_of(names, text, nbytes) = code + 1;
    }
    return true;
}

static bool grow_ends(struct table_names *names)
{
    if (names->count < names->room)
        return true;
    uint32_t room = names->room > 0 ? names->room * 2 : SLOTS_LEAST;
    size_t *ends = room > names->room ? realloc(names->ends, room * sizeof *ends) : NULL;
    if (ends == NULL)
        return false;
    names->ends = ends;
    names->room = room;
    return true;
}

bool tbed_table_names_add(struct table_names *names, const char *text, size_t nbytes, uint32_t *code_ret)
{
    if (!grow_slots(names) || !grow_ends(names))
        return false;
    uint32_t *slot = slot_of(names, text, nbytes);
    if (*slot == 0) {
        /* An empty text has an address too. */
        if (!tbed_text_reserve(&names->bytes, nbytes + 1))
            return false;
        tbed_text_put(&names->bytes, text, nbytes);
        names->ends[names->count++] = names->bytes.nbytes;
        *slot = names->count;
    }
    *code_ret = *slot - 1;
    return true;
}

void tbed_table_names_free(struct table_names *names)
{
    free(names->bytes.bytes);
    free(names->ends);
    free(names->slots);
    *names = (struct table_names){0};
}
