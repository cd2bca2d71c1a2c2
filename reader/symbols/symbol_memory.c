/*
 * Memory that the symbol library keeps until it is closed: texts and frames, to which users hold pointers.
 *
 * SPDX-License-Identifier: MIT
 */
#include "reader/symbols/symbols_internal.h"

#include <stdlib.h>
#include <string.h>

struct chunk {
    struct chunk *next;
    size_t used, room;
    _Alignas(16) char bytes[];
};

void *tbed_symbols_keep(struct tbed_symbols *symbols, size_t nbytes)
{
    size_t rounded = (nbytes + 15) & ~(size_t)15;
    struct chunk *chunk = symbols->chunks;
    if (chunk == NULL || chunk->room - chunk->used < rounded) {
        size_t room = rounded > 65536 ? rounded : 65536;
        chunk = malloc(sizeof *chunk + room);
        if (chunk == NULL)
            return NULL;
        *chunk = (struct chunk){.next = symbols->chunks, .room = room};
        symbols->chunks = chunk;
    }
    chunk->used += rounded;
    return chunk->bytes + chunk->used - rounded;
}

const char *tbed_symbols_keep_text(struct tbed_symbols *symbols, const char *text, size_t nbytes)
{
    char *kept = nbytes > 0 ? tbed_symbols_keep(symbols, nbytes + 1) : NULL;
    if (kept == NULL)
        return NULL;
    memcpy(kept, text, nbytes);
    kept[nbytes] = '\0';
    return kept;
}

void tbed_symbols_keep_nothing(struct tbed_symbols *symbols)
{
    while (symbols->chunks != NULL) {
        struct chunk *next = symbols->chunks->next;
        free(symbols->chunks);
        symbols->chunks = next;
    }
}
