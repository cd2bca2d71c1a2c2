/*
 * The names that a reader keeps.
 *
 * A hash table of pointers to entries that never move and, except for the epoch, never change. Lookups take no lock: they
 * load the table, then a key, then its entry, each with acquire order. Insertions hold a mutex. A table that has been
 * outgrown is kept until the end, because a lookup may still be using it.
 *
 * SPDX-License-Identifier: MIT
 */
#include "reader/core/names/name_cache.h"

#include <pthread.h>
#include <stdatomic.h>
#include <stdlib.h>
#include <string.h>

#define CHUNK_NBYTES       ((size_t)64 << 10)
#define FIRST_CAPACITY     ((size_t)256)
#define SHARE_OF_CHUNK_MAX 8 /* larger entries get a chunk of their own */

struct entry {
    uint64_t key;
    _Atomic uint64_t epoch; /* of the last check that it holds; UINT64_MAX: it always holds */
    enum tbed_status status;
    uint32_t id;
    size_t nbytes;
    const char *text; /* behind the entry, or in the map */
};

/* The key is stored beside the entry, and last: a lookup of another key never touches the entry. */
struct slot {
    _Atomic uint64_t key; /* 0: free */
    _Atomic(struct entry *) entry;
};

struct table {
    struct table *outgrown; /* by this one */
    size_t capacity;        /* a power of two, at most half full */
    struct slot slots[];
};

struct chunk {
    struct chunk *next;
    size_t used, room;
};

struct tbed_name_cache {
    _Atomic(struct table *) table; /* NULL: nothing is kept */
    pthread_mutex_t mutex;         /* protects all below */
    struct chunk *chunks;
    size_t count;
    size_t nbytes; /* of all chunks and tables */
};

struct tbed_name_cache *tbed_name_cache_make(void)
{
    struct tbed_name_cache *cache = calloc(1, sizeof *cache);
    if (cache != NULL && pthread_mutex_init(&cache->mutex, NULL) != 0) {
        free(cache);
        return NULL;
    }
    return cache;
}

void tbed_name_cache_free(struct tbed_name_cache *cache)
{
    if (cache == NULL)
        return;
    for (struct table *table = atomic_load(&cache->table), *next; table != NULL; table = next) {
        next = table->outgrown;
        free(table);
    }
    for (struct chunk *chunk = cache->chunks, *next; chunk != NULL; chunk = next) {
        next = chunk->next;
        free(chunk);
    }
    pthread_mutex_destroy(&cache->mutex);
    free(cache);
}

/* ---- Memory ---- */

static void *take_memory(struct tbed_name_cache *cache, size_t nbytes, enum tbed_status *status_ret)
{
    if (nbytes > TBED_NAMES_NBYTES_MAX - cache->nbytes) {
        *status_ret = TBED_ERR_CACHE_FULL;
        return NULL;
    }
    void *memory = calloc(1, nbytes);
    if (memory == NULL)
        *status_ret = TBED_ERR_MEMORY;
    else
        cache->nbytes += nbytes;
    return memory;
}

/* Allocates an entry in the newest chunk, in a new one, or, if it is large, in a chunk of its own. */
static void *take_room(struct tbed_name_cache *cache, size_t nbytes, enum tbed_status *status_ret)
{
    struct chunk *newest = cache->chunks;
    nbytes = (nbytes + 15) / 16 * 16;
    bool is_large = nbytes > CHUNK_NBYTES / SHARE_OF_CHUNK_MAX;
    if (!is_large && newest != NULL && nbytes <= newest->room - newest->used) {
        newest->used += nbytes;
        return (char *)newest + newest->used - nbytes;
    }
    size_t head = (sizeof *newest + 15) / 16 * 16;
    size_t room = is_large ? head + nbytes : CHUNK_NBYTES;
    struct chunk *chunk = take_memory(cache, room, status_ret);
    if (chunk == NULL)
        return NULL;
    chunk->room = room;
    chunk->used = head + nbytes;
    struct chunk **place = is_large && newest != NULL ? &newest->next : &cache->chunks;
    chunk->next = *place;
    *place = chunk;
    return (char *)chunk + head;
}

/* ---- The table ---- */

static uint64_t key_make(enum tbed_name_kind kind, uint32_t id)
{
    return (uint64_t)kind << 32 | id;
}

/* The slot that has the key, or the free one for it. */
static struct slot *slot_of(struct table *table, uint64_t key)
{
    size_t at = (key * 0x9E3779B97F4A7C15u >> 32) & (table->capacity - 1);
    for (;; at = (at + 1) & (table->capacity - 1)) {
        uint64_t found = atomic_load_explicit(&table->slots[at].key, memory_order_acquire);
        if (found == key || found == 0)
            return &table->slots[at];
    }
}

static void slot_set(struct slot *slot, struct entry *entry)
{
    atomic_store_explicit(&slot->entry, entry, memory_order_release);
    atomic_store_explicit(&slot->key, entry->key, memory_order_release);
}

/* Room for one more. */
static enum tbed_status grow(struct tbed_name_cache *cache)
{
    enum tbed_status status = TBED_OK;
    struct table *old = atomic_load_explicit(&cache->table, memory_order_relaxed);
    if (old != NULL && cache->count * 2 < old->capacity)
        return TBED_OK;
    size_t capacity = old != NULL ? old->capacity * 2 : FIRST_CAPACITY;
    struct table *table = take_memory(cache, sizeof *table + capacity * sizeof table->slots[0], &status);
    if (table == NULL)
        return status;
    table->capacity = capacity;
    table->outgrown = old;
    for (size_t i = 0; old != NULL && i < old->capacity; i++) {
        struct entry *entry = atomic_load_explicit(&old->slots[i].entry, memory_order_relaxed);
        if (entry != NULL)
            slot_set(slot_of(table, entry->key), entry);
    }
    atomic_store_explicit(&cache->table, table, memory_order_release);
    return TBED_OK;
}

static enum tbed_status give(const struct entry *entry, struct tbed_name *name_ret)
{
    *name_ret = (struct tbed_name){entry->text, entry->nbytes, entry->id};
    return entry->status;
}

static bool holds(struct entry *entry, uint64_t epoch)
{
    uint64_t held = atomic_load_explicit(&entry->epoch, memory_order_relaxed);
    return held == UINT64_MAX || held == epoch;
}

enum tbed_status tbed_name_cache_find(const struct tbed_name_cache *cache, enum tbed_name_kind kind,
                                      uint32_t id, uint64_t epoch, struct tbed_name *name_ret)
{
    struct table *table = atomic_load_explicit(&cache->table, memory_order_acquire);
    if (table == NULL)
        return TBED_END;
    /* Another thread may take a free slot for another key meanwhile: an entry is valid only if its key matches. */
    struct slot *slot = slot_of(table, key_make(kind, id));
    if (atomic_load_explicit(&slot->key, memory_order_acquire) != key_make(kind, id))
        return TBED_END;
    struct entry *entry = atomic_load_explicit(&slot->entry, memory_order_acquire);
    return holds(entry, epoch) ? give(entry, name_ret) : TBED_END;
}

/* ---- Keeping ---- */

static bool is_same(const struct entry *entry, const struct tbed_name_fact *fact)
{
    return entry->status == fact->status && entry->id == fact->name.id &&
           entry->nbytes == fact->name.nbytes && memcmp(entry->text, fact->name.text, entry->nbytes) == 0;
}

static enum tbed_status entry_make(struct tbed_name_cache *cache, uint64_t key,
                                   const struct tbed_name_fact *fact, struct entry **entry_ret)
{
    enum tbed_status status = TBED_OK;
    size_t text_nbytes = fact->is_in_map ? 0 : fact->name.nbytes + 1; /* zeroed: terminated */
    struct entry *entry = take_room(cache, sizeof *entry + text_nbytes, &status);
    if (entry == NULL)
        return status;
    if (!fact->is_in_map)
        memcpy(entry + 1, fact->name.text, fact->name.nbytes);
    entry->key = key;
    entry->status = fact->status;
    entry->id = fact->name.id;
    entry->nbytes = fact->name.nbytes;
    entry->text = fact->is_in_map ? fact->name.text : (const char *)(entry + 1);
    *entry_ret = entry;
    return TBED_OK;
}

/* Call with the mutex held. */
static enum tbed_status keep(struct tbed_name_cache *cache, const struct tbed_name_fact *fact,
                             struct entry **entry_ret)
{
    enum tbed_status status = grow(cache);
    if (status != TBED_OK)
        return status;
    uint64_t key = key_make(fact->kind, fact->id);
    struct table *table = atomic_load_explicit(&cache->table, memory_order_relaxed);
    struct slot *slot = slot_of(table, key);
    struct entry *entry = atomic_load_explicit(&slot->entry, memory_order_relaxed);
    bool is_new = entry == NULL;
    if (is_new || !is_same(entry, fact)) {
        status = entry_make(cache, key, fact, &entry);
        if (status != TBED_OK)
            return status;
        atomic_store_explicit(&entry->epoch, fact->epoch, memory_order_relaxed);
        slot_set(slot, entry);
        cache->count += is_new;
    } else {
        atomic_store_explicit(&entry->epoch, fact->epoch, memory_order_relaxed);
    }
    *entry_ret = entry;
    return TBED_OK;
}

enum tbed_status tbed_name_cache_keep(struct tbed_name_cache *cache, const struct tbed_name_fact *fact,
                                      struct tbed_name *name_ret)
{
    struct entry *entry;
    if (fact->name.nbytes > TBED_NAME_NBYTES_MAX)
        return TBED_ERR_CACHE_FULL;
    pthread_mutex_lock(&cache->mutex);
    enum tbed_status status = keep(cache, fact, &entry);
    pthread_mutex_unlock(&cache->mutex);
    return status == TBED_OK ? give(entry, name_ret) : status;
}
