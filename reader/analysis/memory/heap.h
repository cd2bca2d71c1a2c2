/*
 * The heap of one process, followed event by event.
 *
 * SPDX-License-Identifier: MIT
 */
#ifndef TRACEBED_HEAP_H
#define TRACEBED_HEAP_H

#include "reader/analysis/memory/collections.h"
#include "reader/analysis/memory/lifetimes.h"
#include "reader/analysis/memory/live_map.h"
#include "reader/analysis/memory/mappings.h"
#include <tracebed/analysis.h>

struct heap_site {
    struct tbed_allocation_sums sums;
    union {
        uint64_t peak_number; /* the heap's, when sums.peak_nbytes was last adjusted */
        uint64_t row;         /* of the result, when all heaps are finished */
    };
    uint32_t id;
    uint32_t suppression; /* of its live blocks: its index + 1; 0: none */
    uint64_t retained_count, retained_nbytes, retained_generation;
};

/* The intervals of --over-time, in memory of the caller that opened the heap. */
struct heap_moments {
    struct tbed_allocation_moment *at; /* NULL: not requested */
    struct heap_stay {
        double area; /* bytes times ticks */
        uint64_t ticks;
    } * stays; /* of each */
    size_t count, now;
    uint64_t first_tick, ticks_each;
    uint64_t last_tick; /* the latest */
    bool has_begun;
};

struct heap_site_place {
    uint32_t id;
    uint32_t number; /* index + 1; 0: free */
};

/* A block of memory, or a mapping, and its end. */
struct heap_block {
    uint64_t address;
    uint64_t nbytes;      /* that were allocated for it: what it gained by being resized is included */
    uint64_t tick;        /* of its allocation */
    uint64_t end_tick;    /* 0 of a live one */
    uint64_t live_nbytes; /* of a live one, which may have shrunk; of a mapping, parts may be gone */
    uint32_t site, stream;
    bool is_live;
    bool is_replaced; /* its address was allocated again without a recorded free */
    bool is_temporary, is_mapping;
};

/* Who follows what a heap does; either function may be NULL. */
struct heap_watch {
    /* A block has ended. Those that are live at the end are listed by tbed_heap_live(). */
    void (*ended)(struct heap_watch *watch, const struct heap_block *block);
    /* 'nbytes' more or less are live at a site, of a block or of a part of a mapping. */
    void (*change)(struct heap_watch *watch, uint32_t site_id, uint64_t nbytes, bool is_more);
};

struct heap {
    struct tbed_allocation_process process;
    struct heap_watch *watch; /* NULL: none */
    struct live_map live;
    struct live_map shrunk; /* what live blocks have shrunk by, in all; only if ends are followed */
    struct mappings mappings;
    struct heap_site *sites;
    size_t site_count, site_room;
    struct heap_site_place *site_places; /* hash table */
    size_t site_place_count;
    uint64_t peak_number; /* raised with each new peak */
    struct heap_moments moments;
    struct lifetimes lifetimes; /* by site */
    bool by_size;               /* the ids of sites are classes of sizes */
    uint32_t survived_min;      /* collections; 0: not asked for */
    struct collections_part collections;

    /* Forked processes. A parent is finished before its children are started. */
    const struct heap *parent; /* NULL: none that has allocation events */
    uint64_t fork_tick;        /* addresses that the parent had allocated by then may be freed here */
    bool has_children;
    uint64_t last_fork_tick; /* of all children */
    struct given_map given;  /* up to then; kept if there are children */
};

/* How many generations back a block may come from. The limit bounds the time that a malicious trace can cost. */
#define HEAP_GENERATIONS_MAX 64

/* An event of type ALLOC, FREE, REALLOC or RESIZE. */
struct heap_event {
    uint64_t tick, address, nbytes;
    uint64_t old_address, begin_tick; /* REALLOC only */
    uint64_t old_nbytes;              /* REALLOC of a mapping */
    uint32_t id, stream;
    enum tbed_event_type type;
    bool is_mapping; /* ALLOC or REALLOC of a mapping, FREE of a range of 'nbytes' */
};

/* An event with this address follows soon. Must be inlined: gcc drops calls to a function that only prefetches. */
static inline __attribute__((always_inline)) void tbed_heap_prefetch(const struct heap *heap,
                                                                     uint64_t address)
{
    if (heap->live.blocks != NULL)
        __builtin_prefetch(&heap->live.blocks[tbed_address_home(address, heap->live.shift)]);
    if (heap->given.places != NULL)
        __builtin_prefetch(&heap->given.places[tbed_address_home(address, heap->given.shift)]);
}

/*
 * Classes of sizes: nothing, up to 8 bytes, and from each power of two to the next, which is included, as allocators and
 * the tools of other people have them.
 */
#define HEAP_SIZE_CLASSES 63u
static inline uint32_t tbed_size_class(uint64_t nbytes)
{
    return nbytes <= 8 ? nbytes > 0 : 62u - (uint32_t)__builtin_clzll(nbytes - 1);
}

void tbed_heap_open(struct heap *heap);
void tbed_heap_close(struct heap *heap);

/* Records that 'child' was forked from 'parent', which must be read first. */
void tbed_heap_fork(struct heap *parent, struct heap *child, uint64_t fork_tick);

/*
 * Applies the process's next event. '*newest_address' is the block allocated by the previous event of the same
 * stream, or 0, and is updated to that of this event. False: no memory.
 */
bool tbed_heap_take(struct heap *heap, const struct heap_event *event, uint64_t *newest_address);

/*
 * The blocks that are live now, in order of their ticks and addresses. The caller frees them. NULL: no memory.
 */
struct heap_block *tbed_heap_live(const struct heap *heap, size_t *count_ret);

/* To be called after the last event: adjusts the sites' shares of the peak and frees the map of live blocks. */
void tbed_heap_finish(struct heap *heap);

#endif
