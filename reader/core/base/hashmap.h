/*
 * The hash map: from 64-bit keys to slots of the caller's type, by open addressing. One implementation for all types.
 *
 * A slot begins with its key, a uint64_t that is never 0: 0 marks a free slot. Keys that may be 0 must be mapped to
 * others (for 32-bit numbers, tbed_hashmap_key32() does that). Items without a numeric key, such as texts, are found
 * by their hash: several slots may then have the same key, and the caller compares them.
 *
 *     struct name { uint64_t key; uint32_t number; };
 *     TBED_HASHMAP(struct name) names = {0};
 *     struct name *name = TBED_HASHMAP_ADD(&names, key);    found, or new and zeroed; NULL: no memory
 *     name = TBED_HASHMAP_FIND(&names, key);                NULL: not there
 *     tbed_hashmap_free(&names.map);
 *
 * A slot stays where it is until the next addition or removal. At most 5/8 of the slots are taken. All functions are
 * inline: with a slot of constant size, a lookup compiles to what one would write by hand.
 *
 * SPDX-License-Identifier: MIT
 */
#ifndef TRACEBED_HASHMAP_H
#define TRACEBED_HASHMAP_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <stdlib.h>
#include <string.h>

#define TBED_HASHMAP_BITS_MIN 4u
#define TBED_HASHMAP_BITS_MAX (8 * sizeof(size_t) - 2) /* so many slots never fit into memory */
#define TBED_HASHMAP_INLINE   static inline __attribute__((always_inline))

struct tbed_hashmap { /* zeroed: empty */
    void *slots;      /* NULL: none yet */
    size_t count;     /* of taken slots */
    uint8_t bits;     /* the number of slots is 2^bits */
    bool is_borrowed; /* the slots are the caller's memory */
};

/* A map whose slots have a type. */
#define TBED_HASHMAP(type)                                                                                   \
    union {                                                                                                  \
        struct tbed_hashmap map;                                                                             \
        type *slots;                                                                                         \
    }

#define TBED_HASHMAP_FIND(typed, key) tbed_hashmap_find(&(typed)->map, sizeof *(typed)->slots, key)
#define TBED_HASHMAP_FIND_MORE(typed, slot)                                                                  \
    tbed_hashmap_find_more(&(typed)->map, sizeof *(typed)->slots, slot)
#define TBED_HASHMAP_ADD(typed, key)      tbed_hashmap_add(&(typed)->map, sizeof *(typed)->slots, key)
#define TBED_HASHMAP_INSERT(typed, key)   tbed_hashmap_insert(&(typed)->map, sizeof *(typed)->slots, key)
#define TBED_HASHMAP_RESERVE(typed, more) tbed_hashmap_reserve(&(typed)->map, sizeof *(typed)->slots, more)
#define TBED_HASHMAP_REMOVE(typed, slot)  tbed_hashmap_remove(&(typed)->map, sizeof *(typed)->slots, slot)
#define TBED_HASHMAP_NEXT(typed, slot)    tbed_hashmap_next(&(typed)->map, sizeof *(typed)->slots, slot)
#define TBED_HASHMAP_CLEAR(typed)         tbed_hashmap_clear(&(typed)->map, sizeof *(typed)->slots)
#define TBED_HASHMAP_BORROW(typed, array, n)                                                                 \
    tbed_hashmap_borrow(&(typed)->map, sizeof *(typed)->slots, array, n)

/* ---- Keys ---- */

/* A number of 32 bits as a key: never 0. */
static inline uint64_t tbed_hashmap_key32(uint32_t number)
{
    return UINT64_C(1) << 32 | number;
}

/*
 * The first of 2^bits slots to look at. Fibonacci hashing: the factor is 2^64 divided by the golden ratio; the
 * product's highest bits depend on all of the key, and spread keys that are close together, such as ids and
 * addresses.
 */
static inline size_t tbed_hash_home(uint64_t key, unsigned bits)
{
    return (size_t)(key * UINT64_C(0x9E3779B97F4A7C15) >> (64 - bits));
}

/* ---- Slots ---- */

static inline size_t tbed_hashmap_capacity(const struct tbed_hashmap *map)
{
    return map->slots == NULL ? 0 : (size_t)1 << map->bits;
}

TBED_HASHMAP_INLINE uint64_t *tbed_hashmap_slot(const struct tbed_hashmap *map, size_t slot_nbytes, size_t at)
{
    return (uint64_t *)((char *)map->slots + at * slot_nbytes);
}

TBED_HASHMAP_INLINE size_t tbed_hashmap_index(const struct tbed_hashmap *map, size_t slot_nbytes,
                                              const void *slot)
{
    return (size_t)((const char *)slot - (const char *)map->slots) / slot_nbytes;
}

/* The first slot from 'at' on that has the key or is free. */
TBED_HASHMAP_INLINE uint64_t *tbed_hashmap_probe(const struct tbed_hashmap *map, size_t slot_nbytes,
                                                 uint64_t key, size_t at)
{
    size_t mask = ((size_t)1 << map->bits) - 1;
    for (;; at = (at + 1) & mask) {
        uint64_t *slot = tbed_hashmap_slot(map, slot_nbytes, at);
        if (*slot == key || *slot == 0)
            return slot;
    }
}

/* ---- Finding ---- */

/* The slot of the key, or the first of those with this hash. NULL: there is none. */
TBED_HASHMAP_INLINE void *tbed_hashmap_find(const struct tbed_hashmap *map, size_t slot_nbytes, uint64_t key)
{
    if (map->slots == NULL)
        return NULL;
    uint64_t *slot = tbed_hashmap_probe(map, slot_nbytes, key, tbed_hash_home(key, map->bits));
    return *slot == 0 ? NULL : slot;
}

/* The next slot with the same hash. NULL: there are no more. */
TBED_HASHMAP_INLINE void *tbed_hashmap_find_more(const struct tbed_hashmap *map, size_t slot_nbytes,
                                                 const void *slot)
{
    size_t mask = ((size_t)1 << map->bits) - 1;
    size_t at = (tbed_hashmap_index(map, slot_nbytes, slot) + 1) & mask;
    uint64_t *more = tbed_hashmap_probe(map, slot_nbytes, *(const uint64_t *)slot, at);
    return *more == 0 ? NULL : more;
}

/*
 * Iterates over the taken slots: the one after 'slot' or, if that is NULL, the first. The order is arbitrary and must
 * not show in any output.
 */
TBED_HASHMAP_INLINE void *tbed_hashmap_next(const struct tbed_hashmap *map, size_t slot_nbytes,
                                            const void *slot)
{
    size_t at = slot == NULL ? 0 : tbed_hashmap_index(map, slot_nbytes, slot) + 1;
    for (size_t capacity = tbed_hashmap_capacity(map); at < capacity; at++)
        if (*tbed_hashmap_slot(map, slot_nbytes, at) != 0)
            return tbed_hashmap_slot(map, slot_nbytes, at);
    return NULL;
}

/* ---- Adding ---- */

static inline void tbed_hashmap_release(struct tbed_hashmap *map)
{
    if (!map->is_borrowed)
        free(map->slots);
}

static inline bool tbed_hashmap_has_room(const struct tbed_hashmap *map, size_t more)
{
    size_t capacity = tbed_hashmap_capacity(map);
    return more <= capacity && map->count + more <= capacity / 8 * 5;
}

/* Makes room for 'more' slots. False: no memory, and the map is unchanged. Out of line: it is rare. */
__attribute__((noinline, unused)) static bool tbed_hashmap_grow(struct tbed_hashmap *map, size_t slot_nbytes,
                                                                size_t more)
{
    struct tbed_hashmap larger = {.count = map->count, .bits = TBED_HASHMAP_BITS_MIN};
    if (map->slots != NULL && map->bits > larger.bits)
        larger.bits = map->bits;
    while (larger.bits < TBED_HASHMAP_BITS_MAX && ((size_t)1 << larger.bits) / 8 * 5 < map->count + more)
        larger.bits++;
    if (larger.bits == TBED_HASHMAP_BITS_MAX || ((size_t)1 << larger.bits) > SIZE_MAX / 2 / slot_nbytes)
        return false;
    larger.slots = calloc((size_t)1 << larger.bits, slot_nbytes);
    if (larger.slots == NULL)
        return false;
    for (uint64_t *slot = NULL; (slot = tbed_hashmap_next(map, slot_nbytes, slot)) != NULL;) {
        size_t at = tbed_hash_home(*slot, larger.bits), mask = ((size_t)1 << larger.bits) - 1;
        while (*tbed_hashmap_slot(&larger, slot_nbytes, at) != 0) /* several may have one key */
            at = (at + 1) & mask;
        memcpy(tbed_hashmap_slot(&larger, slot_nbytes, at), slot, slot_nbytes);
    }
    tbed_hashmap_release(map);
    *map = larger;
    return true;
}

/* Makes room, so that the next 'more' additions cannot fail. False: no memory. */
TBED_HASHMAP_INLINE bool tbed_hashmap_reserve(struct tbed_hashmap *map, size_t slot_nbytes, size_t more)
{
    return tbed_hashmap_has_room(map, more) || tbed_hashmap_grow(map, slot_nbytes, more);
}

/* The slot of the key; a new one has the key and is otherwise zero. NULL: no memory. */
TBED_HASHMAP_INLINE void *tbed_hashmap_add(struct tbed_hashmap *map, size_t slot_nbytes, uint64_t key)
{
    uint64_t *slot = NULL;
    if (map->slots != NULL)
        slot = tbed_hashmap_probe(map, slot_nbytes, key, tbed_hash_home(key, map->bits));
    if (slot != NULL && *slot != 0)
        return slot;
    if (!tbed_hashmap_has_room(map, 1)) {
        if (!tbed_hashmap_grow(map, slot_nbytes, 1))
            return NULL;
        slot = tbed_hashmap_probe(map, slot_nbytes, key, tbed_hash_home(key, map->bits));
    }
    map->count++;
    *slot = key;
    return slot;
}

/* A new slot with the key, even if the map already has one. NULL: no memory. */
TBED_HASHMAP_INLINE void *tbed_hashmap_insert(struct tbed_hashmap *map, size_t slot_nbytes, uint64_t key)
{
    if (!tbed_hashmap_reserve(map, slot_nbytes, 1))
        return NULL;
    size_t mask = ((size_t)1 << map->bits) - 1, at = tbed_hash_home(key, map->bits);
    while (*tbed_hashmap_slot(map, slot_nbytes, at) != 0)
        at = (at + 1) & mask;
    map->count++;
    *tbed_hashmap_slot(map, slot_nbytes, at) = key;
    return tbed_hashmap_slot(map, slot_nbytes, at);
}

/* Starts an empty map in 'slots', zeroed memory of the caller's; 'count' is a power of two. */
TBED_HASHMAP_INLINE void tbed_hashmap_borrow(struct tbed_hashmap *map, size_t slot_nbytes, void *slots,
                                             size_t count)
{
    (void)slot_nbytes;
    *map =
        (struct tbed_hashmap){.slots = slots, .bits = (uint8_t)__builtin_ctzll(count), .is_borrowed = true};
}

/* ---- Removing ---- */

/* Removes a slot. Slots displaced by it move up, so no tombstone is needed. */
TBED_HASHMAP_INLINE void tbed_hashmap_remove(struct tbed_hashmap *map, size_t slot_nbytes, void *slot)
{
    size_t mask = ((size_t)1 << map->bits) - 1, hole = tbed_hashmap_index(map, slot_nbytes, slot);
    map->count--;
    for (size_t at = (hole + 1) & mask;; at = (at + 1) & mask) {
        uint64_t *moved = tbed_hashmap_slot(map, slot_nbytes, at);
        if (*moved == 0)
            break;
        if (((at - tbed_hash_home(*moved, map->bits)) & mask) < ((at - hole) & mask))
            continue; /* the hole is before its home */
        memcpy(tbed_hashmap_slot(map, slot_nbytes, hole), moved, slot_nbytes);
        hole = at;
    }
    memset(tbed_hashmap_slot(map, slot_nbytes, hole), 0, slot_nbytes);
}

/* Empties the map and keeps its room. */
TBED_HASHMAP_INLINE void tbed_hashmap_clear(struct tbed_hashmap *map, size_t slot_nbytes)
{
    if (map->count > 0)
        memset(map->slots, 0, tbed_hashmap_capacity(map) * slot_nbytes);
    map->count = 0;
}

static inline void tbed_hashmap_free(struct tbed_hashmap *map)
{
    tbed_hashmap_release(map);
    *map = (struct tbed_hashmap){0};
}

#endif
