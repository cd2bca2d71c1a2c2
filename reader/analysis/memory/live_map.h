/*
 * The blocks of memory that are live at one moment, and the addresses that ever were given out, by address.
 *
 * Open addressing with linear probing; a removal moves what stands after it up, so there are no tombstones
 * and a long trace leaves no traces. Address 0 marks a free place: no allocation has it.
 *
 * SPDX-License-Identifier: MIT
 */
#ifndef TRACEBED_LIVE_MAP_H
#define TRACEBED_LIVE_MAP_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

struct live_block {
    uint64_t address;
    uint64_t nbytes;
    uint64_t tick;   /* of its allocation */
    uint32_t site;   /* the caller's */
    uint32_t stream; /* that allocated it */
};

struct live_map {
    struct live_block *blocks;
    size_t count;
    unsigned shift; /* room is 2^(64 - shift); 64: none yet */
};

/* Where an address belongs. They are multiples of 8 or 16 close together: a multiplication spreads them. */
static inline size_t tbed_address_home(uint64_t address, unsigned shift)
{
    return (size_t)((address * 0x9E3779B97F4A7C15u) >> shift);
}

void tbed_live_map_open(struct live_map *map);
void tbed_live_map_close(struct live_map *map);

/* The block at the address; NULL: there is none. Valid until the next add or remove. */
struct live_block *tbed_live_map_find(const struct live_map *map, uint64_t address);

/* Adds a block whose address is not 0 and not there. False: no memory. */
bool tbed_live_map_add(struct live_map *map, const struct live_block *block);

/* Removes a block that find gave. */
void tbed_live_map_remove(struct live_map *map, struct live_block *block);

/* Addresses, and when each was first given out. Nothing is removed. */
struct given_address {
    uint64_t address, tick;
};

struct given_map {
    struct given_address *places;
    size_t count;
    unsigned shift; /* as above */
};

void tbed_given_map_open(struct given_map *map);
void tbed_given_map_close(struct given_map *map);

/* The address, which is not 0, was given out at 'tick'; the first tick counts. False: no memory. */
bool tbed_given_map_add(struct given_map *map, uint64_t address, uint64_t tick);

/* True if the address was given out at 'tick' or before. */
bool tbed_given_map_has(const struct given_map *map, uint64_t address, uint64_t tick);

#endif
