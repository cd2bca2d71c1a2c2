/*
 * The bytes of a trace: a mapped file, a copied file, or memory of the caller's.
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

#include <tracebed/format.h>

struct tbed_map {
    const uint8_t *bytes;
    size_t nbytes;               /* the file's size at the last refresh */
    size_t reserved_nbytes;      /* of the newest mapping */
    int fd;                      /* -1: it does not grow */
    bool is_sparse;              /* less of it is on disk than its size, at the last refresh */
    int seek_fd;                 /* of a sparse file: another description of it, for SEEK_DATA; or -1 */
    struct tbed_vector mappings; /* struct tbed_mapping, the newest last */
};

/* Checks the type of 'fd' and maps or copies it. 'fd' stays the caller's. Errors: EMPTY, IS_DIRECTORY,
 * NOT_REGULAR, ERR_READ, ERR_MAP, ERR_MEMORY. */
enum tbed_status tbed_map_open(struct tbed_map *map_ret, int fd, bool copy, struct tbed_error *error_ret);

void tbed_map_memory(struct tbed_map *map_ret, const void *bytes, size_t nbytes);

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
