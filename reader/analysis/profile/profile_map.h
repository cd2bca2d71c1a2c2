/*
 * A hash map from 64-bit keys to numbers. Nothing is removed but everything.
 *
 * SPDX-License-Identifier: MIT
 */
#ifndef TRACEBED_PROFILE_MAP_H
#define TRACEBED_PROFILE_MAP_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

struct profile_map_place {
    uint64_t key;
    uint32_t value; /* + 1; 0: a free place */
};

struct profile_map {
    struct profile_map_place *places;
    size_t count, room; /* room: a power of two, or 0 */
};

#define PROFILE_MAP_NONE UINT32_MAX

/* The key's number, or PROFILE_MAP_NONE. */
uint32_t tbed_profile_map_find(const struct profile_map *map, uint64_t key);

/* Adds a key that is not there. False: no memory. */
bool tbed_profile_map_add(struct profile_map *map, uint64_t key, uint32_t value);

void tbed_profile_map_clear(struct profile_map *map); /* the room stays */
void tbed_profile_map_free(struct profile_map *map);

#endif
