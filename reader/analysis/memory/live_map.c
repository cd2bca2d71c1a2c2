/*
 * Live blocks of memory; see live_map.h.
 *
 * SPDX-License-Identifier: MIT
 */
#include "reader/analysis/memory/live_map.h"
#include "reader/core/system/system.h"

#include <stdlib.h>
#include <sys/mman.h>

#define ROOM_BITS_MIN 10u

#define MAPPED_NBYTES_MIN ((size_t)8 << 20)

void tbed_live_map_open(struct live_map *map)
{
    *map = (struct live_map){.shift = 64};
}

static size_t map_mask(const struct live_map *map)
{
    return ((size_t)1 << (64 - map->shift)) - 1;
}

static struct live_block *probe(const struct live_map *map, uint64_t address)
{
    size_t mask = map_mask(map), at = tbed_address_home(address, map->shift);
    while (map->blocks[at].address != address && map->blocks[at].address != 0)
        at = (at + 1) & mask;
    return &map->blocks[at];
}

struct live_block *tbed_live_map_find(const struct live_map *map, uint64_t address)
{
    if (map->blocks == NULL || address == 0)
        return NULL;
    struct live_block *block = probe(map, address);
    return block->address != 0 ? block : NULL;
}

/*
 * Zeroed blocks. Most look-ups in a large map miss the processor's cache, and with small pages its page tables as well; the
 * advice to use huge ones may be refused. NULL: no memory.
 */
static struct live_block *new_blocks(size_t count)
{
    size_t nbytes = count * sizeof(struct live_block);
    if (nbytes < MAPPED_NBYTES_MIN)
        return calloc(count, sizeof(struct live_block));
    void *blocks = mmap(NULL, nbytes, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
    if (blocks == MAP_FAILED)
        return NULL;
    tbed_memory_prefer_huge_pages(blocks, nbytes);
    return blocks;
}

static void free_blocks(const struct live_map *map)
{
    size_t nbytes = map->blocks != NULL ? (map_mask(map) + 1) * sizeof *map->blocks : 0;
    if (nbytes < MAPPED_NBYTES_MIN)
        free(map->blocks);
    else
        munmap(map->blocks, nbytes);
}

void tbed_live_map_close(struct live_map *map)
{
    free_blocks(map);
}

static bool grow(struct live_map *map)
{
    struct live_map larger = {.count = map->count};
    larger.shift = map->blocks == NULL ? 64 - ROOM_BITS_MIN : map->shift - 1;
    larger.blocks = new_blocks(map_mask(&larger) + 1);
    if (larger.blocks == NULL)
        return false;
    for (size_t i = 0; map->blocks != NULL && i <= map_mask(map); i++)
        if (map->blocks[i].address != 0)
            *probe(&larger, map->blocks[i].address) = map->blocks[i];
    free_blocks(map);
    *map = larger;
    return true;
}

bool tbed_live_map_add(struct live_map *map, const struct live_block *block)
{
    /* At most five eighths full: fuller maps take longer to search, emptier ones more memory. */
    if ((map->blocks == NULL || map->count >= (map_mask(map) + 1) / 8 * 5) && !grow(map))
        return false;
    *probe(map, block->address) = *block;
    map->count++;
    return true;
}

void tbed_live_map_remove(struct live_map *map, struct live_block *block)
{
    size_t mask = map_mask(map), hole = (size_t)(block - map->blocks);
    map->count--;
    for (size_t at = (hole + 1) & mask; map->blocks[at].address != 0; at = (at + 1) & mask) {
        size_t home = tbed_address_home(map->blocks[at].address, map->shift);
        /* The entry may move to the hole if the hole is not before its home slot. */
        if (((at - home) & mask) >= ((at - hole) & mask)) {
            map->blocks[hole] = map->blocks[at];
            hole = at;
        }
    }
    map->blocks[hole].address = 0;
}

/* ---- Allocated addresses ---- */

void tbed_given_map_open(struct given_map *map)
{
    *map = (struct given_map){.shift = 64};
}

void tbed_given_map_close(struct given_map *map)
{
    free(map->places);
}

static size_t given_mask(const struct given_map *map)
{
    return ((size_t)1 << (64 - map->shift)) - 1;
}

static struct given_address *given_probe(const struct given_map *map, uint64_t address)
{
    size_t mask = given_mask(map), at = tbed_address_home(address, map->shift);
    while (map->places[at].address != address && map->places[at].address != 0)
        at = (at + 1) & mask;
    return &map->places[at];
}

static bool given_grow(struct given_map *map)
{
    struct given_map larger = {.count = map->count};
    larger.shift = map->places == NULL ? 64 - ROOM_BITS_MIN : map->shift - 1;
    larger.places = calloc(given_mask(&larger) + 1, sizeof *larger.places);
    if (larger.places == NULL)
        return false;
    for (size_t i = 0; map->places != NULL && i <= given_mask(map); i++)
        if (map->places[i].address != 0)
            *given_probe(&larger, map->places[i].address) = map->places[i];
    free(map->places);
    *map = larger;
    return true;
}

bool tbed_given_map_add(struct given_map *map, uint64_t address, uint64_t tick)
{
    if ((map->places == NULL || map->count >= (given_mask(map) + 1) / 4 * 3) && !given_grow(map))
        return false;
    struct given_address *place = given_probe(map, address);
    if (place->address != 0)
        return true;
    *place = (struct given_address){address, tick};
    map->count++;
    return true;
}

bool tbed_given_map_has(const struct given_map *map, uint64_t address, uint64_t tick)
{
    if (map->places == NULL || address == 0)
        return false;
    const struct given_address *place = given_probe(map, address);
    return place->address != 0 && place->tick <= tick;
}
