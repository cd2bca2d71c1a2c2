/*
 * A hash map from 64-bit keys to numbers; see number_map.h.
 *
 * SPDX-License-Identifier: MIT
 */
#include "reader/analysis/shared/number_map.h"

#include <stdlib.h>
#include <string.h>

#define ROOM_MIN 16u

/* Keys are consecutive numbers or addresses, so both ends of the product are mixed. */
static size_t home(uint64_t key, size_t room)
{
    uint64_t mixed = (key ^ key >> 32) * 0x9E3779B97F4A7C15u;
    return (size_t)(mixed >> 32) & (room - 1);
}

uint32_t tbed_number_map_find(const struct number_map *map, uint64_t key)
{
    if (map->room == 0)
        return NUMBER_MAP_NONE;
    for (size_t i = home(key, map->room); map->places[i].value != 0; i = (i + 1) & (map->room - 1))
        if (map->places[i].key == key)
            return map->places[i].value - 1;
    return NUMBER_MAP_NONE;
}

static void put(struct number_map *map, uint64_t key, uint32_t value)
{
    size_t i = home(key, map->room);
    while (map->places[i].value != 0)
        i = (i + 1) & (map->room - 1);
    map->places[i] = (struct number_map_place){key, value + 1};
}

static bool grow(struct number_map *map)
{
    struct number_map larger = {.count = map->count, .room = map->room == 0 ? ROOM_MIN : map->room * 2};
    larger.places = calloc(larger.room, sizeof *larger.places);
    if (larger.places == NULL)
        return false;
    for (size_t i = 0; i < map->room; i++)
        if (map->places[i].value != 0)
            put(&larger, map->places[i].key, map->places[i].value - 1);
    free(map->places);
    *map = larger;
    return true;
}

bool tbed_number_map_add(struct number_map *map, uint64_t key, uint32_t value)
{
    if (map->count * 2 >= map->room && !grow(map))
        return false;
    put(map, key, value);
    map->count++;
    return true;
}

void tbed_number_map_clear(struct number_map *map)
{
    if (map->count > 0)
        memset(map->places, 0, map->room * sizeof *map->places);
    map->count = 0;
}

void tbed_number_map_free(struct number_map *map)
{
    free(map->places);
    *map = (struct number_map){0};
}
