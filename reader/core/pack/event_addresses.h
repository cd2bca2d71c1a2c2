/*
 * Addresses of allocations: an allocator hands out again what was freed last, and programs free what is young. Both
 * directions; see unit_columns.h.
 *
 * Source: spec/packed.md, "Addresses".
 *
 * SPDX-License-Identifier: MIT
 */
#ifndef TRACEBED_CORE_EVENT_ADDRESSES_H
#define TRACEBED_CORE_EVENT_ADDRESSES_H

#include "reader/core/pack/unit_columns.h"

#define ADDRESS_ALLOCS                                                                                       \
    (PACK_UNIT_NBYTES_MAX / 16 + 1) /* the first is not used; an event has two words or more */
#define ADDRESS_SLOTS_BITS 17
#define ADDRESS_SLOTS      (1u << ADDRESS_SLOTS_BITS)
#define ADDRESS_CLASSES    2100u
#define ADDRESS_UNKNOWN    0u  /* the class of freed blocks whose allocation is not in the unit */
#define ADDRESS_FREED      16u /* how many of each class are kept */
#define ADDRESS_NEAR       32u /* codes below are of freed blocks */
#define ADDRESS_RANKS      32u

struct address_alloc {
    uint64_t address;
    uint32_t class;        /* ADDRESS_UNKNOWN: it was freed */
    uint32_t newer, older; /* neighbours among the live ones */
};

struct address_freed {
    uint64_t unit;                     /* the unit in which this is meant */
    uint64_t addresses[ADDRESS_FREED]; /* the last freed one is the last */
    uint32_t count;
};

struct addresses {
    uint64_t unit, last_alloc, last_size, last_free;
    uint32_t count, newest; /* of 'allocs', and among the live ones */
    struct address_freed freed[ADDRESS_CLASSES];
    struct address_alloc allocs[ADDRESS_ALLOCS];
    uint32_t slots[ADDRESS_SLOTS]; /* for packing: the newest allocation of each address; 0 none */
    uint32_t slot_of[ADDRESS_ALLOCS];
};

static inline void addresses_begin(struct addresses *all, bool packs)
{
    if (packs)
        for (uint32_t i = 1; i < all->count; i++)
            all->slots[all->slot_of[i]] = 0;
    all->unit++;
    all->count = 1;
    all->newest = 0;
    all->last_alloc = all->last_size = all->last_free = 0;
}

BOTH_WAYS uint32_t address_class(uint64_t nbytes)
{
    if (nbytes >= (ADDRESS_CLASSES - 1) * 16)
        return ADDRESS_CLASSES - 1;
    uint32_t class = (uint32_t)(nbytes + 23) / 16;
    return class < 2 ? 2 : class < ADDRESS_CLASSES ? class : ADDRESS_CLASSES - 1;
}

BOTH_WAYS struct address_freed *address_freed_of(struct addresses *all, uint32_t class)
{
    struct address_freed *freed = &all->freed[class];
    if (freed->unit != all->unit) {
        freed->unit = all->unit;
        freed->count = 0;
    }
    return freed;
}

static inline void address_freed_push(struct address_freed *freed, uint64_t address)
{
    if (freed->count == ADDRESS_FREED)
        memmove(freed->addresses, freed->addresses + 1, --freed->count * sizeof freed->addresses[0]);
    freed->addresses[freed->count++] = address;
}

/* Takes the one out that is at 'depth' behind the last. */
static inline uint64_t address_freed_take(struct address_freed *freed, uint32_t depth)
{
    uint32_t at = freed->count - 1 - depth;
    uint64_t address = freed->addresses[at];
    memmove(freed->addresses + at, freed->addresses + at + 1, depth * sizeof freed->addresses[0]);
    freed->count--;
    return address;
}

/* Its depth, or ADDRESS_FREED. */
static inline uint32_t address_freed_find(const struct address_freed *freed, uint64_t address)
{
    for (uint32_t depth = 0; depth < freed->count; depth++)
        if (freed->addresses[freed->count - 1 - depth] == address)
            return depth;
    return ADDRESS_FREED;
}

static inline uint32_t address_slot(const struct addresses *all, uint64_t address)
{
    uint32_t slot = (uint32_t)((address * UINT64_C(0x9E3779B97F4A7C15)) >> (64 - ADDRESS_SLOTS_BITS));
    while (all->slots[slot] != 0 && all->allocs[all->slots[slot]].address != address)
        slot = (slot + 1) % ADDRESS_SLOTS;
    return slot;
}

/* An address that has not been seen, as the difference to another one: multiples of 16 are short. 1: it is far away. */
#define NEAR_FAR 1u
BOTH_WAYS uint64_t address_near_code(uint64_t address, uint64_t from)
{
    uint64_t difference = address - from, folded = fold(difference);
    if (folded >> 56 != 0)
        return NEAR_FAR;
    return (difference & 15) != 0 ? folded << 1 | 1 : folded >> 4 << 1;
}

BOTH_WAYS uint64_t address_near(struct columns *columns, enum column_number number, uint64_t code,
                                uint64_t address, uint64_t from, bool packs)
{
    if (code == NEAR_FAR)
        return column_value(columns, number, address, packs);
    if (packs)
        return address;
    return from + ((code & 1) != 0 ? unfold(code >> 1) : unfold(code >> 1) << 4);
}

static inline void address_add(struct addresses *all, uint64_t address, uint32_t class, bool packs)
{
    uint32_t i = all->count++;
    all->allocs[i] = (struct address_alloc){.address = address, .class = class, .older = all->newest};
    if (all->newest != 0)
        all->allocs[all->newest].newer = i;
    all->newest = i;
    if (packs) {
        all->slot_of[i] = address_slot(all, address);
        all->slots[all->slot_of[i]] = i;
    }
}

static inline void address_remove(struct addresses *all, uint32_t i)
{
    struct address_alloc *alloc = &all->allocs[i];
    alloc->class = ADDRESS_UNKNOWN;
    if (alloc->newer != 0)
        all->allocs[alloc->newer].older = alloc->older;
    else
        all->newest = alloc->older;
    if (alloc->older != 0)
        all->allocs[alloc->older].newer = alloc->newer;
}

/* The code of an allocation's address: a freed block of its class, one of unknown class, or another address. */
static inline uint64_t address_alloc_code(struct address_freed *same, struct address_freed *unknown,
                                          uint64_t address, uint64_t expected)
{
    uint32_t depth = address_freed_find(same, address);
    if (depth < ADDRESS_FREED)
        return depth;
    depth = address_freed_find(unknown, address);
    return depth < ADDRESS_FREED ? ADDRESS_FREED + depth
                                 : ADDRESS_NEAR + address_near_code(address, expected);
}

BOTH_WAYS uint64_t address_of_alloc(struct columns *columns, struct addresses *all, uint64_t address,
                                    uint64_t nbytes, bool packs)
{
    uint32_t class = address_class(nbytes);
    struct address_freed *same = address_freed_of(all, class),
                         *unknown = address_freed_of(all, ADDRESS_UNKNOWN);
    uint64_t expected = all->last_alloc + all->last_size;
    uint64_t code = packs ? address_alloc_code(same, unknown, address, expected) : 0;
    code = column_value(columns, COLUMN_ALLOC, code, packs);
    if (code >= ADDRESS_NEAR)
        address = address_near(columns, COLUMN_ALLOC, code - ADDRESS_NEAR, address, expected, packs);
    else {
        struct address_freed *freed = code < ADDRESS_FREED ? same : unknown;
        uint32_t depth = (uint32_t)code % ADDRESS_FREED;
        if (depth < freed->count)
            address = address_freed_take(freed, depth);
        else
            columns->is_damaged = true;
    }
    all->last_alloc = address;
    all->last_size = class * 16;
    address_add(all, address, class, packs);
    return address;
}

/* Which allocation is freed; 0: none of the unit. */
static inline uint32_t address_live(const struct addresses *all, uint64_t address)
{
    uint32_t i = all->slots[address_slot(all, address)];
    return all->allocs[i].class != ADDRESS_UNKNOWN ? i : 0;
}

/* Its code: how many younger ones live, if they are few, else how many were made since; from 1 on. */
static inline uint64_t address_rank(const struct addresses *all, uint32_t i)
{
    uint32_t rank = 1, at = all->newest;
    for (; at != i && rank <= ADDRESS_RANKS; rank++)
        at = all->allocs[at].older;
    return rank <= ADDRESS_RANKS ? rank : ADDRESS_RANKS + all->count - i;
}

/* The one with this code; 0: there is none. */
static inline uint32_t address_ranked(const struct addresses *all, uint64_t code)
{
    uint32_t at = all->newest;
    if (code > ADDRESS_RANKS) {
        uint64_t back = code - ADDRESS_RANKS;
        at = back < all->count ? all->count - (uint32_t)back : 0;
        return all->allocs[at].class != ADDRESS_UNKNOWN ? at : 0;
    }
    for (; code > 1; code--)
        at = all->allocs[at].older;
    return at;
}

BOTH_WAYS uint64_t address_of_free(struct columns *columns, struct addresses *all, uint64_t address,
                                   bool packs)
{
    uint32_t i = packs ? address_live(all, address) : 0;
    uint64_t code = column_value(columns, COLUMN_FREE, i != 0 ? address_rank(all, i) : 0, packs);
    if (code == 0) {
        uint64_t near = packs ? address_near_code(address, all->last_free) : 0;
        near = column_value(columns, COLUMN_FREE, near, packs);
        address = address_near(columns, COLUMN_FREE, near, address, all->last_free, packs);
        all->last_free = address;
        address_freed_push(address_freed_of(all, ADDRESS_UNKNOWN), address);
        return address;
    }
    if (!packs)
        i = address_ranked(all, code);
    if (i == 0) {
        columns->is_damaged = true;
        return 0;
    }
    address_freed_push(address_freed_of(all, all->allocs[i].class), all->allocs[i].address);
    address_remove(all, i);
    return all->allocs[i].address;
}

#endif
