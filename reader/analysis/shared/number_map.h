/*
 * A hash map from 64-bit keys to numbers. Single keys cannot be removed.
 *
 * SPDX-License-Identifier: MIT
 */
#ifndef TRACEBED_NUMBER_MAP_H
#define TRACEBED_NUMBER_MAP_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

struct number_map_place {
    uint64_t key;
    uint32_t value; /* + 1; 0: a free slot */
};

struct number_map {
    struct number_map_place *places;
    size_t count, room; /* room: a power of two, or 0 */
};

#define NUMBER_MAP_NONE UINT32_MAX

/* The key's number, or NUMBER_MAP_NONE. */
uint32_t tbed_number_map_find(const struct number_map *map, uint64_t key);

/* Adds a key, which must not be present. False: no memory. */
bool tbed_number_map_add(struct number_map *map, uint64_t key, uint32_t value);

void tbed_number_map_clear(struct number_map *map); /* keeps the allocated room */
void tbed_number_map_free(struct number_map *map);

#endif
