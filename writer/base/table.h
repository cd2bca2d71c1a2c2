/*
 * A hash table that is read without a lock and only grows.
 *
 * A value is published by its key, a table by the pointer to it. A table that has become too small is left for threads
 * that are still reading it; all old ones together take as much memory as the current one. An entry lies within one page
 * and its key is stored last, so a forked child may go on with its parent's table, whenever the fork happened.
 *
 * Threads: any may look; one at a time may add, under a lock of the owner's.
 *
 * SPDX-License-Identifier: MIT
 */
#ifndef TRACEBED_WRITER_TABLE_H
#define TRACEBED_WRITER_TABLE_H

#include <tracebed/types.h>

#define TBED_TABLE_HEAD_NBYTES 4096 /* stays when the memory of the entries is given back */

struct tbed_table_entry {
    tbed_word key;   /* 0: free; atomic, stored last */
    tbed_word value; /* atomic; 0: its memory was given back in between */
};

struct tbed_table {
    struct tbed_table *older;
    size_t capacity; /* a power of two */
    size_t count;
    uint8_t padding[TBED_TABLE_HEAD_NBYTES - 3 * sizeof(size_t)];
    struct tbed_table_entry entries[];
};

/* The entry with the key, or the free one where it belongs. */
static inline struct tbed_table_entry *tbed_table_probe(struct tbed_table *table, uint64_t key)
{
    size_t mask = table->capacity - 1, at = (size_t)((key * 0x9E3779B97F4A7C15u) >> 32) & mask;
    for (;; at = (at + 1) & mask) {
        uint64_t found = __atomic_load_n(&table->entries[at].key, __ATOMIC_ACQUIRE);
        if (found == key || found == 0)
            return &table->entries[at];
    }
}

/* The value of the key in '*table', which may be NULL; 0: there is none. */
static inline uint64_t tbed_table_find(struct tbed_table *const *table, uint64_t key)
{
    struct tbed_table *current = __atomic_load_n(table, __ATOMIC_ACQUIRE);
    const struct tbed_table_entry *entry = current != NULL ? tbed_table_probe(current, key) : NULL;
    if (entry == NULL || __atomic_load_n(&entry->key, __ATOMIC_ACQUIRE) != key)
        return 0;
    return __atomic_load_n(&entry->value, __ATOMIC_RELAXED);
}

/* Makes room for 'count' more, so that half of the table stays free. False: no memory, nothing has changed. */
bool tbed_table_make_room(struct tbed_table **table, size_t count, size_t capacity_min);
/* Adds a key that is not there; there must be room. */
void tbed_table_add(struct tbed_table *table, uint64_t key, uint64_t value);
/* Gives back the memory of all entries: a thread that is still looking finds nothing. The addresses stay valid. */
void tbed_table_forget(struct tbed_table *table);
/* Takes NULL. */
void tbed_table_free(struct tbed_table *table);

#endif
