/*
 * What one worker knows of each id: a table of its own, so that no event takes a lock.
 *
 * Ids are 30 bits and stand close together (string addresses, program counters of one unit), so an id finds
 * its slot through a radix tree of two levels: two loads and no branch that depends on the data. The root is
 * 16 MiB of address space, of which only what is touched becomes memory.
 *
 * SPDX-License-Identifier: MIT
 */
#ifndef TRACEBED_NAME_TABLE_H
#define TRACEBED_NAME_TABLE_H

#include "reader/analysis/spans/histogram.h"
#include <tracebed/reader.h>

#define NAME_LEAF_BITS  9
#define NAME_LEAF_COUNT (1u << NAME_LEAF_BITS)
#define NAME_ROOT_COUNT (1u << (TBED_ID_BITS - NAME_LEAF_BITS))

/* Where an event stands, for "the last one": its tick, and at a tie its block and place. */
struct name_place {
    uint64_t tick;
    uint64_t block, word;
};

/* What few ids have. */
struct name_extra {
    uint64_t unknown_count, open_count;
    uint64_t counter_count;
    double counter_last, counter_min, counter_max;
    struct name_place counter_place;
    uint64_t severity_counts[5];
};

/* What the tight loop touches: one cache line. */
struct name_slot {
    uint64_t total_ticks, self_ticks, count, min_ticks, max_ticks;
    uint64_t instant_count;
    struct tbed_histogram *histogram; /* NULL until the first span ended */
    uint32_t id;
    uint32_t extra; /* index into the table's extras + 1; 0: none */
};
_Static_assert(sizeof(struct name_slot) == 64, "one cache line");

#define NAME_CHUNK_COUNT 1024u
struct name_chunk {
    struct name_chunk *next;
    uint32_t used;
    struct name_slot slots[NAME_CHUNK_COUNT] __attribute__((aligned(64)));
};

struct name_table {
    struct name_slot ***root;
    struct name_chunk *chunks; /* the newest first */
    struct name_extra *extras;
    size_t extra_count, extra_room;
    size_t slot_count;
    bool out_of_memory;     /* once set, the results are no good */
    struct name_slot spare; /* takes what has no slot, when memory is out */
};

enum tbed_status tbed_name_table_open(struct name_table *table);
void tbed_name_table_close(struct name_table *table);

/* Makes the slot of an id that has none. Never NULL: 'spare' when memory is out. */
struct name_slot *tbed_name_table_add(struct name_table *table, uint32_t id);

/* A slot that no id finds, for what is named in another way; its id is above TBED_ID_MAX. Never NULL, as above. */
struct name_slot *tbed_name_table_add_loose(struct name_table *table, uint32_t id);

static inline struct name_slot *tbed_name_table_slot(struct name_table *table, uint32_t id)
{
    struct name_slot **leaf = table->root[id >> NAME_LEAF_BITS];
    if (__builtin_expect(leaf != NULL, 1)) {
        struct name_slot *slot = leaf[id & (NAME_LEAF_COUNT - 1)];
        if (__builtin_expect(slot != NULL, 1))
            return slot;
    }
    return tbed_name_table_add(table, id);
}

/* The slot's extra, made when first asked for; valid until the next one is made. NULL: no memory. */
struct name_extra *tbed_name_table_extra(struct name_table *table, struct name_slot *slot);

/* Out of line: the first span of a name that ends. */
bool tbed_name_slot_start(struct name_table *table, struct name_slot *slot);

/* A span of 'ticks' ended. */
static inline void tbed_name_slot_end(struct name_table *table, struct name_slot *slot, uint64_t ticks)
{
    if (__builtin_expect(slot->histogram == NULL, 0) && !tbed_name_slot_start(table, slot))
        return;
    slot->count++;
    slot->total_ticks += ticks;
    slot->min_ticks = ticks < slot->min_ticks ? ticks : slot->min_ticks;
    slot->max_ticks = ticks > slot->max_ticks ? ticks : slot->max_ticks;
    if (__builtin_expect(!tbed_histogram_add(slot->histogram, ticks), 0))
        table->out_of_memory = true;
}

void tbed_name_slot_counter(struct name_table *table, struct name_slot *slot, double value,
                            struct name_place place);

/* Adds to 'into' what 'from' knows of the id. */
void tbed_name_table_merge_slot(struct name_table *into, struct name_slot *slot,
                                const struct name_table *from, const struct name_slot *from_slot);

/* Adds all of 'from'. */
void tbed_name_table_merge(struct name_table *into, const struct name_table *from);

#endif
