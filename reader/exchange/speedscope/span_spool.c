/*
 * A list that can be read in either direction; see span_spool.h.
 *
 * SPDX-License-Identifier: MIT
 */
#define _GNU_SOURCE 1
#include "reader/exchange/speedscope/span_spool.h"

#include "reader/exchange/shared/new_file.h"

#include <errno.h>
#include <stdlib.h>
#include <unistd.h>

#define CHUNK_ITEMS 32768u /* 768 KiB */

/* Writes or reads the chunk of this number. */
static bool move_chunk(struct span_spool *spool, uint64_t number, size_t count, bool is_write)
{
    size_t nbytes = count * sizeof *spool->chunk, done = 0;
    off_t at = (off_t)(number * CHUNK_ITEMS * sizeof *spool->chunk);
    while (done < nbytes) {
        char *bytes = (char *)spool->chunk + done;
        ssize_t moved = is_write ? pwrite(spool->fd, bytes, nbytes - done, at + (off_t)done)
                                 : pread(spool->fd, bytes, nbytes - done, at + (off_t)done);
        if (moved == 0 || (moved < 0 && errno != EINTR))
            return false;
        done += moved > 0 ? (size_t)moved : 0;
    }
    return true;
}

/* The chunk is full, or all chunks but the last are in the file and the last is to be as well. */
static bool write_chunk(struct span_spool *spool, size_t count)
{
    if (spool->fd < 0)
        spool->fd = tbed_nameless_file();
    return spool->fd >= 0 && move_chunk(spool, (spool->count - 1) / CHUNK_ITEMS, count, true);
}

void tbed_span_spool_add(struct span_spool *spool, const struct spool_item *item)
{
    if (spool->chunk == NULL)
        spool->chunk = calloc(CHUNK_ITEMS, sizeof *spool->chunk);
    spool->has_failed |= spool->chunk == NULL;
    if (spool->has_failed)
        return;
    spool->chunk[spool->count++ % CHUNK_ITEMS] = *item;
    if (spool->count % CHUNK_ITEMS == 0)
        spool->has_failed |= !write_chunk(spool, CHUNK_ITEMS);
}

void tbed_span_spool_read(struct span_spool *spool, bool is_backward)
{
    size_t last = spool->count % CHUNK_ITEMS;
    if (spool->count > CHUNK_ITEMS && last > 0 && !spool->has_failed)
        spool->has_failed |= !write_chunk(spool, last);
    spool->is_backward = is_backward;
    spool->left = spool->has_failed ? 0 : spool->count;
    spool->next = is_backward ? spool->count : 0;
}

static bool turn(struct span_spool *spool, uint64_t at)
{
    uint64_t number = at / CHUNK_ITEMS, left = spool->count - number * CHUNK_ITEMS;
    bool is_first = spool->left == spool->count;
    if (spool->count <= CHUNK_ITEMS ||
        (!is_first && at % CHUNK_ITEMS != (spool->is_backward ? CHUNK_ITEMS - 1 : 0)))
        return true;
    return move_chunk(spool, number, left < CHUNK_ITEMS ? (size_t)left : CHUNK_ITEMS, false);
}

bool tbed_span_spool_next(struct span_spool *spool, struct spool_item *item_ret)
{
    if (spool->left == 0 || spool->has_failed)
        return false;
    uint64_t at = spool->is_backward ? --spool->next : spool->next++;
    if (!turn(spool, at)) {
        spool->has_failed = true;
        return false;
    }
    spool->left--;
    *item_ret = spool->chunk[at % CHUNK_ITEMS];
    return true;
}

void tbed_span_spool_clear(struct span_spool *spool)
{
    spool->count = spool->left = 0;
}

void tbed_span_spool_close(struct span_spool *spool)
{
    free(spool->chunk);
    if (spool->fd >= 0)
        close(spool->fd);
    *spool = (struct span_spool){.fd = -1};
}
