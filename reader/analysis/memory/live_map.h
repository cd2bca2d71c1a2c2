/*
 * Two hash maps by address: the blocks of memory that are live at one moment, and all addresses ever allocated.
 *
 * Open addressing with linear probing. A removal moves the following entries up, so there are no tombstones, and
 * lookups do not slow down over a long trace. Address 0 marks a free slot: no allocation has it.
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

/*
 * The home slot of an address. Blocks that are used together are often close together, and so are their slots: the
 * multiplication spreads pieces of 1 KiB, each of which has 32 slots in a row.
 */
static inline size_t tbed_address_home(uint64_t address, unsigned shift)
{
    size_t piece = (size_t)(((address >> 10) * 0x9E3779B97F4A7C15u) >> shift);
    return (piece + (address >> 5) % 32) & (((size_t)1 << (64 - shift)) - 1);
}

void tbed_live_map_open(struct live_map *map);
void tbed_live_map_close(struct live_map *map);

/* The block at the address, or NULL. Valid until the next add or remove. */
struct live_block *tbed_live_map_find(const struct live_map *map, uint64_t address);

/* Adds a block, whose address must not be 0 or already present. False: no memory. */
bool tbed_live_map_add(struct live_map *map, const struct live_block *block);

/* Removes a block returned by find. */
void tbed_live_map_remove(struct live_map *map, struct live_block *block);

/* Addresses with the tick of their first allocation. Nothing is removed. */
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

/*
 * Records that the address, which must not be 0, was allocated at 'tick'; the first tick is kept. False: no
 * memory.
 */
bool tbed_given_map_add(struct given_map *map, uint64_t address, uint64_t tick);

/* True if the address was allocated at 'tick' or before. */
bool tbed_given_map_has(const struct given_map *map, uint64_t address, uint64_t tick);

#endif
