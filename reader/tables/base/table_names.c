/*
 * Texts by code; see table.h.
 *
 * Entries and texts never move, so that a code can be read without a lock while other threads add texts.
 *
 * SPDX-License-Identifier: MIT
 */
#define XXH_INLINE_ALL
#include "reader/tables/base/table.h"

#include <xxhash.h>

#define SLOTS_LEAST 1024
#define SHELF_LEAST 64u /* entries of the first shelf; each further one has twice as many */
#define PIECE_LEAST                                                                                          \
    ((size_t)4 << 10) /* bytes of the first piece of text; each further one has twice as many */
#define PIECE_MOST ((size_t)1 << 20)
#define NBYTES_MAX                                                                                           \
    ((size_t)1 << 30) /* a small hostile file can have more different names than fit into memory */

/* The texts are in pieces, the newest first. */
struct table_name_piece {
    struct table_name_piece *older;
    char bytes[];
};

static struct table_name_entry *entry_at(const struct table_names *names, uint32_t code)
{
    unsigned shelf = 31u - (unsigned)__builtin_clz(code / SHELF_LEAST + 1);
    uint32_t first = SHELF_LEAST * ((1u << shelf) - 1);
    return &names->shelves[shelf][code - first];
}

void tbed_table_names_get(const struct table_names *names, uint32_t code, const char **text_ret,
                          size_t *nbytes_ret)
{
    const struct table_name_entry *entry = entry_at(names, code);
    *text_ret = entry->text;
    *nbytes_ret = entry->nbytes;
}

static bool is_text(const struct table_name_entry *entry, uint32_t hash, const char *text, size_t nbytes)
{
    return entry->hash == hash && entry->nbytes == nbytes &&
           (nbytes == 0 || memcmp(entry->text, text, nbytes) == 0);
}

/* The slot of the text, or the free one where it belongs. */
static uint32_t *slot_of(const struct table_names *names, uint32_t hash, const char *text, size_t nbytes)
{
    size_t mask = names->slot_count - 1, at = hash & mask;
    while (names->slots[at] != 0 && !is_text(entry_at(names, names->slots[at] - 1), hash, text, nbytes))
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
        size_t at = entry_at(names, code)->hash & (count - 1);
        while (slots[at] != 0)
            at = (at + 1) & (count - 1);
        slots[at] = code + 1;
    }
    return true;
}

static bool grow_shelves(struct table_names *names)
{
    unsigned shelf = 31u - (unsigned)__builtin_clz(names->count / SHELF_LEAST + 1);
    if (shelf >= TABLE_NAME_SHELVES)
        return false;
    if (names->shelves[shelf] == NULL)
        names->shelves[shelf] = malloc(((size_t)SHELF_LEAST << shelf) * sizeof *names->shelves[shelf]);
    return names->shelves[shelf] != NULL;
}

/* A copy of the text; NULL: no memory. */
static const char *keep_text(struct table_names *names, const char *text, size_t nbytes)
{
    if (nbytes > NBYTES_MAX - names->nbytes)
        return NULL;
    if (names->pieces == NULL || nbytes > names->piece_room) {
        size_t usual = names->nbytes < PIECE_LEAST ? PIECE_LEAST : names->nbytes;
        usual = usual < PIECE_MOST ? usual : PIECE_MOST;
        size_t room = nbytes > usual ? nbytes : usual;
        struct table_name_piece *piece = malloc(sizeof *piece + room);
        if (piece == NULL)
            return NULL;
        piece->older = names->pieces;
        names->pieces = piece;
        names->piece_at = piece->bytes;
        names->piece_room = room;
    }
    char *copy = names->piece_at;
    if (nbytes > 0)
        memcpy(copy, text, nbytes);
    names->piece_at += nbytes;
    names->piece_room -= nbytes;
    names->nbytes += nbytes;
    return copy;
}

static bool add(struct table_names *names, const char *text, size_t nbytes, uint32_t *code_ret)
{
    uint32_t hash = (uint32_t)XXH3_64bits(text, nbytes);
    if (!grow_slots(names) || !grow_shelves(names))
        return false;
    uint32_t *slot = slot_of(names, hash, text, nbytes);
    if (*slot == 0) {
        const char *copy = keep_text(names, text, nbytes);
        if (copy == NULL)
            return false;
        *entry_at(names, names->count) = (struct table_name_entry){copy, nbytes, hash};
        __atomic_store_n(&names->count, names->count + 1, __ATOMIC_RELEASE);
        *slot = names->count;
    }
    *code_ret = *slot - 1;
    return true;
}

bool tbed_table_names_add(struct table_names *names, const char *text, size_t nbytes, uint32_t *code_ret)
{
    pthread_mutex_lock(&names->lock);
    bool is_there = add(names, nbytes > 0 ? text : "", nbytes, code_ret);
    pthread_mutex_unlock(&names->lock);
    return is_there;
}

void tbed_table_names_open(struct table_names *names)
{
    *names = (struct table_names){0};
    pthread_mutex_init(&names->lock, NULL); /* on Linux, this cannot fail without attributes */
}

void tbed_table_names_free(struct table_names *names)
{
    while (names->pieces != NULL) {
        struct table_name_piece *older = names->pieces->older;
        free(names->pieces);
        names->pieces = older;
    }
    for (size_t i = 0; i < TABLE_NAME_SHELVES; i++)
        free(names->shelves[i]);
    free(names->slots);
    pthread_mutex_destroy(&names->lock);
}
