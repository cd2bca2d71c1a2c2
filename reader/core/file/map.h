/*
 * The bytes of a trace: a mapped file, a copied file, memory of the caller's, or any of these packed.
 *
 * Of a packed file, bytes are there once tbed_map_take() or tbed_map_at() has been called for their page; it does not grow.
 *
 * A mapped file may grow. The map reaches past the file's end, so that bytes written there later can be read without
 * moving anything. If the file outgrows it, the file is mapped again and the old map is kept, so every pointer handed
 * out stays valid. Only the first 'nbytes' may be read: a load beyond them raises SIGBUS.
 *
 * SPDX-License-Identifier: MIT
 */
#ifndef TRACEBED_MAP_H
#define TRACEBED_MAP_H

#include "reader/core/base/vector.h"
#include "reader/core/container/packed_pages.h"

#include <tracebed/format.h>

struct tbed_map {
    const uint8_t *bytes;
    size_t nbytes;               /* the file's size at the last refresh */
    size_t reserved_nbytes;      /* of the newest mapping */
    int fd;                      /* -1: it does not grow */
    bool is_sparse;              /* less of it is on disk than its size, at the last refresh */
    int seek_fd;                 /* of a sparse file: another description of it, for SEEK_DATA; or -1 */
    struct tbed_vector mappings; /* struct tbed_mapping, the newest last */
    struct tbed_packed *packed;  /* NULL: the file is plain, and its bytes are there */
    uint32_t packed_page_nbytes;
};

/* Checks the type of 'fd' and maps or copies it. 'fd' stays the caller's. Errors: EMPTY, IS_DIRECTORY,
 * NOT_REGULAR, ERR_READ, ERR_MAP, ERR_MEMORY; those of tbed_packed_open(). */
enum tbed_status tbed_map_open(struct tbed_map *map_ret, int fd, bool copy, struct tbed_error *error_ret);

/* Errors: those of tbed_packed_open(). */
enum tbed_status tbed_map_memory(struct tbed_map *map_ret, const void *bytes, size_t nbytes,
                                 struct tbed_error *error_ret);

/*
 * Makes the page that has 'offset' present; with 'stays' as long as the map is open, otherwise as the thread's lease says.
 * The offset lies inside the file. Errors: ERR_PACKED_UNIT: the page is lost, and reads as zeros.
 */
static inline enum tbed_status tbed_map_take(const struct tbed_map *map, uint64_t offset, bool stays)
{
    return map->packed == NULL ? TBED_OK
                               : tbed_packed_page_take(map->packed, offset / map->packed_page_nbytes, stays);
}

/* The byte at 'offset' and the rest of its page, which lies inside the file; zeros if it is lost. */
static inline const uint8_t *tbed_map_at(const struct tbed_map *map, uint64_t offset)
{
    tbed_map_take(map, offset, false);
    return map->bytes + offset;
}

/* Holds the page that 'at' points into, which somebody else has taken, for the lease as well. A plain file needs none. */
static inline void tbed_map_keep(const struct tbed_map *map, struct tbed_lease *lease, const void *at)
{
    if (map->packed == NULL)
        return;
    tbed_lease_enter(lease, map->packed);
    tbed_map_take(map, (uint64_t)((const uint8_t *)at - map->bytes), false);
    tbed_lease_leave(lease);
}

/* The unit of a packed file that has the page at 'offset': where it is in the packed file. */
uint64_t tbed_map_packed_offset(const struct tbed_map *map, uint64_t offset);

/* Reads the file's size again. Errors: ERR_READ, ERR_MAP, ERR_MEMORY; the map stays as it was. */
enum tbed_status tbed_map_refresh(struct tbed_map *map, struct tbed_error *error_ret);

/* A stretch of the file that has data, or has none. Zeroed: nothing is known. */
struct tbed_extent {
    uint64_t begin, end;
    bool has_data;
};

/*
 * The first offset from 'offset' on that has data on disk; the file's size if there is none. Everything before it reads as
 * zeros, or did when '*known' was filled, which calls of one pass over the file share.
 */
uint64_t tbed_map_data_from(const struct tbed_map *map, struct tbed_extent *known, uint64_t offset);

/* Asks the kernel to read [offset, offset + nbytes) of the file, and not to read around it. */
void tbed_map_prefetch(const struct tbed_map *map, uint64_t offset, size_t nbytes);

void tbed_map_close(struct tbed_map *map);

#endif
