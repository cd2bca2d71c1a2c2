/*
 * Texts that stay where they are while their file is open, so that SQLite need not copy them; see sql_inside.h.
 *
 * SPDX-License-Identifier: MIT
 */
#define XXH_INLINE_ALL
#include "reader/sql/sql_inside.h"

#ifdef SQL_IS_BUILT

#include <xxhash.h>

#define CHUNK_NBYTES ((size_t)64 << 10)

struct sql_name_slot {
    uint64_t key;
    const char *text;
    size_t nbytes;
};

struct sql_name_chunk {
    struct sql_name_chunk *next;
    size_t nbytes, room;
    char bytes[];
};

static char *room_for(struct sql_names *names, size_t nbytes)
{
    struct sql_name_chunk *chunk = names->chunks;
    if (chunk == NULL || nbytes > chunk->room - chunk->nbytes) {
        size_t room = nbytes > CHUNK_NBYTES ? nbytes : CHUNK_NBYTES;
        if (room > SQL_NAMES_MAX - names->nbytes)
            return NULL;
        chunk = malloc(sizeof *chunk + room);
        if (chunk == NULL)
            return NULL;
        *chunk = (struct sql_name_chunk){.next = names->chunks, .room = room};
        names->chunks = chunk;
        names->nbytes += room;
    }
    chunk->nbytes += nbytes;
    return chunk->bytes + chunk->nbytes - nbytes;
}

void sql_names_intern(struct sql_names *names, const char *text, size_t nbytes, struct sql_name *name_ret)
{
    uint64_t hash = XXH3_64bits(text, nbytes) | 1;
    *name_ret = (struct sql_name){.nbytes = nbytes, .hash = hash};
    struct sql_name_slot *slot = TBED_HASHMAP_ADD(&names->by_hash, hash);
    if (slot == NULL)
        return;
    if (slot->text == NULL) {
        char *own = room_for(names, nbytes);
        if (own == NULL)
            return; /* the slot stays without text */
        if (nbytes > 0)
            memcpy(own, text, nbytes);
        slot->text = own;
        slot->nbytes = nbytes;
    }
    /* Another text with this hash stays out. */
    if (slot->nbytes == nbytes && (nbytes == 0 || memcmp(slot->text, text, nbytes) == 0))
        name_ret->text = slot->text;
}

void sql_names_free(struct sql_names *names)
{
    while (names->chunks != NULL) {
        struct sql_name_chunk *chunk = names->chunks;
        names->chunks = chunk->next;
        free(chunk);
    }
    tbed_hashmap_free(&names->by_hash.map);
    *names = (struct sql_names){0};
}

#endif
