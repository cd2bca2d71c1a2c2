/*
 * The texts that have an id in this process: a hash table that is read without a lock.
 *
 * A slot is published by its hash, a table by the pointer to it, with release order. A full table is copied into one
 * twice as large; the old tables stay for threads that are still reading them, and everything stays until
 * tbed_writer_free(). The texts are copies, so that comparing never reads the trace file.
 *
 * Not here: what is stored in the file (string_write.c).
 *
 * SPDX-License-Identifier: MIT
 */
#include <errno.h>
#include <string.h>
#include <sys/mman.h>

#include "format/checksum.h"
#include "writer/base/memory.h"
#include "writer/file/usable.h"
#include "writer/store/texts.h"

#define FIRST_SLOT_COUNT   128
#define TEXTS_NBYTES       65536
#define KEPT_AT_END_NBYTES 4096 /* the head of each, which links it to the next */

struct slot {
    uint64_t hash; /* 0: free; stored last */
    uint32_t id;
    uint32_t nbytes;
    const char *text; /* a copy; NULL: too long for one, so the hash alone decides */
};

struct tbed_intern_table {
    struct tbed_intern_table *older;
    size_t mask; /* the number of slots - 1 */
    struct slot slots[];
};

struct tbed_intern_texts {
    struct tbed_intern_texts *older;
    size_t used_nbytes;
};

static size_t table_nbytes(size_t slot_count)
{
    return sizeof(struct tbed_intern_table) + slot_count * sizeof(struct slot);
}

static bool slot_holds(const struct slot *slot, const char *text, size_t nbytes)
{
    if (slot->nbytes != (uint32_t)nbytes)
        return false;
    return slot->text == NULL || memcmp(slot->text, text, nbytes) == 0;
}

static uint64_t hash_of(const char *text, size_t nbytes)
{
    return tbed_hash64(text, nbytes) | 1;
}

/* 0: not found. In a table whose memory has been given back everything is zero, also 'mask' and 'id'. */
static uint32_t find(const struct tbed_store *store, uint64_t hash, const char *text, size_t nbytes)
{
    const struct tbed_intern_table *table = __atomic_load_n(&store->intern.table, __ATOMIC_ACQUIRE);
    if (table == NULL)
        return 0;
    size_t mask = table->mask;
    for (size_t at = hash & mask;; at = (at + 1) & mask) {
        const struct slot *slot = &table->slots[at];
        uint64_t found = __atomic_load_n(&slot->hash, __ATOMIC_ACQUIRE);
        if (found == 0)
            return 0;
        if (found == hash && slot_holds(slot, text, nbytes))
            return slot->id;
    }
}

/* ---- Adding: the caller holds 'state_lock' ---- */

static void slot_put(struct tbed_intern_table *table, const struct slot *slot)
{
    size_t at = slot->hash & table->mask;
    while (table->slots[at].hash != 0)
        at = (at + 1) & table->mask;
    struct slot *free_slot = &table->slots[at];
    free_slot->id = slot->id;
    free_slot->nbytes = slot->nbytes;
    free_slot->text = slot->text;
    __atomic_store_n(&free_slot->hash, slot->hash, __ATOMIC_RELEASE);
}

/* Makes room for one more; a quarter of the slots is always free. */
static bool table_grow(struct tbed_intern *intern)
{
    struct tbed_intern_table *old = intern->table;
    size_t slot_count = old != NULL ? old->mask + 1 : 0;
    if (intern->count < slot_count / 4 * 3)
        return true;
    size_t new_count = slot_count != 0 ? slot_count * 2 : FIRST_SLOT_COUNT;
    struct tbed_intern_table *table = tbed_pages_alloc(table_nbytes(new_count));
    if (table == NULL)
        return false;
    table->older = old;
    table->mask = new_count - 1;
    for (size_t i = 0; i < slot_count; i++)
        if (old->slots[i].hash != 0)
            slot_put(table, &old->slots[i]);
    __atomic_store_n(&intern->table, table, __ATOMIC_RELEASE);
    return true;
}

static bool text_copy(struct tbed_intern *intern, const char *text, size_t nbytes, const char **copy_ret)
{
    struct tbed_intern_texts *texts = intern->texts;
    *copy_ret = NULL;
    if (nbytes > TEXTS_NBYTES - sizeof *texts)
        return true;
    if (texts == NULL || nbytes > TEXTS_NBYTES - texts->used_nbytes) {
        texts = tbed_pages_alloc(TEXTS_NBYTES);
        if (texts == NULL)
            return false;
        texts->older = intern->texts;
        texts->used_nbytes = sizeof *texts;
        intern->texts = texts;
    }
    char *copy = (char *)texts + texts->used_nbytes;
    memcpy(copy, text, nbytes);
    texts->used_nbytes += nbytes;
    *copy_ret = copy;
    return true;
}

/* Without memory nothing is lost except space: the text is stored again the next time. */
static void add(struct tbed_intern *intern, uint64_t hash, const char *text, size_t nbytes, uint32_t id)
{
    struct slot slot = {.hash = hash, .id = id, .nbytes = (uint32_t)nbytes};
    if (!table_grow(intern) || !text_copy(intern, text, nbytes, &slot.text))
        return;
    slot_put(intern->table, &slot);
    intern->count++;
}

static uint32_t find_or_add(struct tbed_store *store, uint64_t hash, const char *text, size_t nbytes)
{
    uint32_t id = find(store, hash, text, nbytes);
    if (id != 0)
        return id;
    id = tbed_text_alloc(store, text, nbytes);
    if (id != TBED_ID_INVALID)
        add(&store->intern, hash, text, nbytes, id);
    return id;
}

uint32_t tbed_intern_locked(struct tbed_store *store, const char *text, size_t nbytes)
{
    return find_or_add(store, hash_of(text, nbytes), text, nbytes);
}

/* ---- What the program asks ---- */

__attribute__((noinline)) static uint32_t take_lock_and_add(struct tbed_store *store, uint64_t hash,
                                                            const char *text, size_t nbytes)
{
    uint32_t id = TBED_ID_INVALID;
    int kept_errno = errno;
    if (tbed_state_lock_or_drop(&store->file)) {
        id = find_or_add(store, hash, text, nbytes);
        tbed_state_unlock(&store->file);
    }
    errno = kept_errno;
    return id;
}

/* A forked child has no table until it has joined the trace. */
uint32_t tbed_string_intern(struct tbed_writer *writer, const char *text, size_t nbytes)
{
    struct tbed_store *store = tbed_store_of(writer);
    if (store == NULL)
        return TBED_ID_INVALID;
    if (text == NULL) {
        text = "";
        nbytes = 0;
    }
    uint64_t hash = hash_of(text, nbytes);
    bool has_joined = __atomic_load_n(&store->file.live->alive, __ATOMIC_ACQUIRE);
    uint32_t id = has_joined ? find(store, hash, text, nbytes) : 0;
    return id != 0 ? id : take_lock_and_add(store, hash, text, nbytes);
}

/* ---- The end ---- */

static void give_back(void *pages, size_t nbytes)
{
    if (nbytes > KEPT_AT_END_NBYTES)
        madvise((uint8_t *)pages + KEPT_AT_END_NBYTES, nbytes - KEPT_AT_END_NBYTES, MADV_DONTNEED);
}

void tbed_intern_close(struct tbed_store *store)
{
    struct tbed_intern *intern = &store->intern;
    intern->closed = intern->table;
    __atomic_store_n(&intern->table, NULL, __ATOMIC_RELEASE);
    for (struct tbed_intern_table *table = intern->closed; table != NULL; table = table->older)
        give_back(table, table_nbytes(table->mask + 1));
    for (struct tbed_intern_texts *texts = intern->texts; texts != NULL; texts = texts->older)
        give_back(texts, TEXTS_NBYTES);
}

void tbed_intern_free(struct tbed_store *store)
{
    struct tbed_intern *intern = &store->intern;
    for (struct tbed_intern_table *table = intern->closed, *older; table != NULL; table = older) {
        older = table->older;
        tbed_pages_free(table, table_nbytes(table->mask + 1));
    }
    for (struct tbed_intern_texts *texts = intern->texts, *older; texts != NULL; texts = older) {
        older = texts->older;
        tbed_pages_free(texts, TEXTS_NBYTES);
    }
    memset(intern, 0, sizeof *intern);
}
