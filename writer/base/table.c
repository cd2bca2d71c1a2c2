/*
 * A hash table that is read without a lock and only grows: growing and freeing it.
 *
 * SPDX-License-Identifier: MIT
 */
#include <sys/mman.h>

#include "writer/base/memory.h"
#include "writer/base/table.h"

_Static_assert(sizeof(struct tbed_table) == TBED_TABLE_HEAD_NBYTES, "the entries begin a page");

static size_t table_nbytes(size_t capacity)
{
    return TBED_TABLE_HEAD_NBYTES + capacity * sizeof(struct tbed_table_entry);
}

static bool grow(struct tbed_table **table, size_t capacity)
{
    struct tbed_table *old = *table, *larger = tbed_pages_alloc(table_nbytes(capacity));
    if (larger == NULL)
        return false;
    larger->older = old;
    larger->capacity = capacity;
    for (size_t i = 0; old != NULL && i < old->capacity; i++)
        if (old->entries[i].key != 0) {
            *tbed_table_probe(larger, old->entries[i].key) = old->entries[i];
            larger->count++;
        }
    __atomic_store_n(table, larger, __ATOMIC_RELEASE);
    return true;
}

bool tbed_table_make_room(struct tbed_table **table, size_t count, size_t capacity_min)
{
    while (*table == NULL || ((*table)->count + count) * 2 > (*table)->capacity)
        if (!grow(table, *table == NULL ? capacity_min : 2 * (*table)->capacity))
            return false;
    return true;
}

void tbed_table_add(struct tbed_table *table, uint64_t key, uint64_t value)
{
    struct tbed_table_entry *entry = tbed_table_probe(table, key);
    __atomic_store_n(&entry->value, value, __ATOMIC_RELAXED);
    __atomic_store_n(&entry->key, key, __ATOMIC_RELEASE);
    table->count++;
}

void tbed_table_forget(struct tbed_table *table)
{
    for (; table != NULL; table = table->older)
        madvise(table->entries, table->capacity * sizeof *table->entries, MADV_DONTNEED);
}

void tbed_table_free(struct tbed_table *table)
{
    for (struct tbed_table *older; table != NULL; table = older) {
        older = table->older;
        tbed_pages_free(table, table_nbytes(table->capacity));
    }
}
