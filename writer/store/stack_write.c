/*
 * Storing call stacks: nodes linked to their parents, each stored once.
 *
 * Nodes are looked up without a lock: the table only grows, an entry's key is stored after its id, and the id's record
 * was committed before both. A table that has become too small is left for threads that are still reading it; all old
 * tables together take as much memory as the current one. A forked child goes on with its parent's table, whenever the
 * fork happened: an entry lies within one page, and its key is stored last.
 *
 * Source: spec/format.md, section 8.5.
 *
 * SPDX-License-Identifier: MIT
 */
#include <sys/mman.h>

#include "writer/base/memory.h"
#include "writer/file/usable.h"
#include "writer/store/records.h"
#include "writer/store/texts.h"

#define TABLE_HEAD_NBYTES 4096 /* kept when the entries' memory is given back */
#define TABLE_COUNT_MIN   1024
#define FRAMES_AT_ONCE    128

struct entry {
    uint64_t key; /* 0: free; atomic, stored last */
    uint32_t id;
    uint32_t zero;
};

struct tbed_stack_table {
    struct tbed_stack_table *older;
    size_t capacity; /* a power of two */
    size_t count;
    uint8_t padding[TABLE_HEAD_NBYTES - 3 * sizeof(size_t)];
    struct entry entries[];
};
_Static_assert(sizeof(struct tbed_stack_table) == TABLE_HEAD_NBYTES, "the entries begin a page");

static size_t table_nbytes(size_t capacity)
{
    return TABLE_HEAD_NBYTES + capacity * sizeof(struct entry);
}

static uint64_t key_of(uint32_t parent, uint32_t location)
{
    return (uint64_t)1 << 63 | (uint64_t)parent << 32 | location;
}

/* ---- Looking ---- */

/* The entry of the key, or the free one where it belongs. */
static struct entry *probe(struct tbed_stack_table *table, uint64_t key)
{
    size_t mask = table->capacity - 1, at = (size_t)((key * 0x9E3779B97F4A7C15u) >> 32) & mask;
    for (;; at = (at + 1) & mask) {
        uint64_t found = __atomic_load_n(&table->entries[at].key, __ATOMIC_ACQUIRE);
        if (found == key || found == 0)
            return &table->entries[at];
    }
}

/* TBED_ID_INVALID: unknown. */
static uint32_t look(const struct tbed_store *store, uint32_t parent, uint32_t location)
{
    struct tbed_stack_table *table = __atomic_load_n(&store->stacks, __ATOMIC_ACQUIRE);
    uint64_t key = key_of(parent, location);
    if (table == NULL)
        return TBED_ID_INVALID;
    const struct entry *entry = probe(table, key);
    if (__atomic_load_n(&entry->key, __ATOMIC_ACQUIRE) != key)
        return TBED_ID_INVALID;
    uint32_t id = __atomic_load_n(&entry->id, __ATOMIC_RELAXED);
    return id != 0 ? id - 1 : TBED_ID_INVALID; /* 0: its memory was given back in between */
}

/* Returns how many of the frames are known, starting with the outermost. */
static size_t look_frames(const struct tbed_store *store, uint32_t parent, const uint32_t *locations,
                          size_t count, uint32_t *ids_ret)
{
    for (size_t i = 0; i < count; i++) {
        ids_ret[i] = look(store, parent, locations[i] & TBED_ID_MAX);
        if (ids_ret[i] == TBED_ID_INVALID)
            return i;
        parent = ids_ret[i];
    }
    return count;
}

/* ---- Adding; the caller holds 'state_lock' ---- */

static bool table_grow(struct tbed_store *store)
{
    struct tbed_stack_table *old = store->stacks;
    size_t capacity = old == NULL ? TABLE_COUNT_MIN : 2 * old->capacity;
    struct tbed_stack_table *table = tbed_pages_alloc(table_nbytes(capacity));
    if (table == NULL)
        return false;
    table->older = old;
    table->capacity = capacity;
    for (size_t i = 0; old != NULL && i < old->capacity; i++)
        if (old->entries[i].key != 0) {
            *probe(table, old->entries[i].key) = old->entries[i];
            table->count++;
        }
    __atomic_store_n(&store->stacks, table, __ATOMIC_RELEASE);
    return true;
}

static bool make_room(struct tbed_store *store, size_t count)
{
    while (store->stacks == NULL || (store->stacks->count + count) * 2 > store->stacks->capacity)
        if (!table_grow(store))
            return false;
    return true;
}

static void publish(struct tbed_stack_table *table, uint32_t parent, uint32_t location, uint32_t id)
{
    uint64_t key = key_of(parent, location);
    struct entry *entry = probe(table, key);
    __atomic_store_n(&entry->id, id + 1, __ATOMIC_RELAXED);
    __atomic_store_n(&entry->key, key, __ATOMIC_RELEASE);
    table->count++;
}

/* Adds unknown frames, each called by the one before: one range of ids, one record. */
static bool add_frames(struct tbed_store *store, uint32_t parent, const uint32_t *locations, uint32_t count,
                       uint32_t *ids_ret)
{
    struct tbed_disk_id_pair nodes[FRAMES_AT_ONCE];
    if (!make_room(store, count)) {
        tbed_drop(&store->file, TBED_DROP_NO_MEMORY, 1);
        return false;
    }
    uint32_t first = tbed_reserve_ids(store, count);
    if (first == TBED_ID_INVALID)
        return false;
    for (uint32_t i = 0; i < count; i++)
        nodes[i] = (struct tbed_disk_id_pair){tbed_le32_make(locations[i] & TBED_ID_MAX),
                                              tbed_le32_make(i == 0 ? parent : first + i - 1)};
    struct tbed_disk_stacks record = {.first_id = tbed_le32_make(first), .count = tbed_le32_make(count)};
    if (!tbed_record_append_parts(store, TBED_RECORD_STACKS, &record, sizeof record, nodes,
                                  count * (uint32_t)sizeof *nodes))
        return false;
    for (uint32_t i = 0; i < count; i++) {
        publish(store->stacks, i == 0 ? parent : first + i - 1, locations[i] & TBED_ID_MAX, first + i);
        ids_ret[i] = first + i;
    }
    return true;
}

static bool intern_locked(struct tbed_store *store, uint32_t parent, const uint32_t *locations, size_t count,
                          uint32_t *ids_ret)
{
    size_t at = 0;
    for (;;) { /* another thread may have added some */
        size_t known = look_frames(store, parent, locations + at, count - at, ids_ret + at);
        at += known;
        if (known > 0)
            parent = ids_ret[at - 1];
        if (at == count)
            return true;
        uint32_t next = count - at < FRAMES_AT_ONCE ? (uint32_t)(count - at) : FRAMES_AT_ONCE;
        if (!add_frames(store, parent, locations + at, next, ids_ret + at))
            break;
    }
    for (; at < count; at++)
        ids_ret[at] = TBED_ID_INVALID;
    return false;
}

/* ---- For everybody ---- */

bool tbed_stack_intern_frames(struct tbed_writer *writer, uint32_t parent, const uint32_t *locations,
                              size_t count, uint32_t *ids_ret)
{
    struct tbed_store *store = tbed_store_of(writer);
    if (parent > TBED_ID_MAX_RESERVED)
        parent = TBED_ID_INVALID;
    size_t known = store != NULL ? look_frames(store, parent, locations, count, ids_ret) : 0;
    if (known == count)
        return true;
    if (tbed_state_lock_or_drop(tbed_file_of(writer))) {
        bool has_all = intern_locked(store, parent, locations, count, ids_ret);
        tbed_state_unlock(tbed_file_of(writer));
        return has_all;
    }
    for (; known < count; known++)
        ids_ret[known] = TBED_ID_INVALID;
    return false;
}

uint32_t tbed_stack_intern(struct tbed_writer *writer, uint32_t parent, uint32_t location)
{
    uint32_t id;
    tbed_stack_intern_frames(writer, parent, &location, 1, &id);
    return id;
}

/* ---- The end ---- */

void tbed_stacks_forget(struct tbed_store *store)
{
    for (struct tbed_stack_table *table = store->stacks; table != NULL; table = table->older)
        madvise(table->entries, table->capacity * sizeof *table->entries, MADV_DONTNEED);
}

void tbed_stacks_free(struct tbed_store *store)
{
    for (struct tbed_stack_table *table = store->stacks, *older; table != NULL; table = older) {
        older = table->older;
        tbed_pages_free(table, table_nbytes(table->capacity));
    }
    store->stacks = NULL;
}
