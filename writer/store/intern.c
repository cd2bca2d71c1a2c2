/*
 * The texts that have an id in this process.
 *
 * The table (base/table.h) leads from a text's hash to a copy of the text with its id, so that comparing never reads the
 * trace file. Copies stay until tbed_writer_free(), for threads that are still reading them.
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
#include "writer/base/table.h"
#include "writer/file/usable.h"
#include "writer/store/records.h"
#include "writer/store/texts.h"

#define TABLE_COUNT_MIN    128
#define TEXTS_NBYTES       65536
#define KEPT_AT_END_NBYTES 4096 /* the head of a chunk of texts, which links it to the next */

struct tbed_intern_texts {
    struct tbed_intern_texts *older;
    size_t used_nbytes;
};

#define TEXT_NBYTES_MAX (TEXTS_NBYTES - sizeof(struct tbed_intern_texts) - sizeof(struct tbed_known) - 1)

/* Longer texts are not copied: their hash alone decides. */
static bool has_copy(size_t nbytes)
{
    return nbytes <= TEXT_NBYTES_MAX;
}

static uint64_t load8(const char *at)
{
    uint64_t word;
    memcpy(&word, at, sizeof word);
    return word;
}

static uint32_t load4(const char *at)
{
    uint32_t word;
    memcpy(&word, at, sizeof word);
    return word;
}

/* Names are short: a call of memcmp() would take longer than the comparison. */
static bool is_equal(const char *one, const char *other, size_t nbytes)
{
    if (nbytes > 16)
        return memcmp(one, other, nbytes) == 0;
    if (nbytes >= 8)
        return load8(one) == load8(other) && load8(one + nbytes - 8) == load8(other + nbytes - 8);
    if (nbytes >= 4)
        return load4(one) == load4(other) && load4(one + nbytes - 4) == load4(other + nbytes - 4);
    for (size_t i = 0; i < nbytes; i++)
        if (one[i] != other[i])
            return false;
    return true;
}

static bool is_same(const struct tbed_known *known, const char *text, size_t nbytes)
{
    return known->nbytes == (uint32_t)nbytes && (!has_copy(nbytes) || is_equal(known->text, text, nbytes));
}

/* Of up to 16 bytes: all of them are in two words. The table multiplies once more. */
static uint64_t hash_of_short(const char *text, size_t nbytes)
{
    uint64_t low = 0, high = 0;
    if (nbytes >= 8) {
        low = load8(text);
        high = load8(text + nbytes - 8);
    } else if (nbytes >= 4) {
        low = load4(text);
        high = load4(text + nbytes - 4);
    } else if (nbytes > 0) {
        low = (uint8_t)text[0] | (uint64_t)(uint8_t)text[nbytes / 2] << 8;
        high = (uint8_t)text[nbytes - 1];
    }
    low = (low ^ (uint64_t)nbytes << 56 ^ nbytes) * 0x9E3779B97F4A7C15u;
    low = (low ^ low >> 32 ^ high) * 0xC2B2AE3D27D4EB4Fu;
    return low ^ low >> 29;
}

/* Odd, and so never 0. */
static uint64_t hash_of(const char *text, size_t nbytes)
{
    return (nbytes <= 16 ? hash_of_short(text, nbytes) : tbed_hash64(text, nbytes)) | 1;
}

/* The text's copy, NULL if it has none; then '*key_ret' is where it belongs: a text with a taken hash gets the next. */
static const struct tbed_known *known_find(const struct tbed_store *store, uint64_t hash, const char *text,
                                           size_t nbytes, uint64_t *key_ret)
{
    for (*key_ret = hash;; *key_ret += 2) {
        uint64_t value = tbed_table_find(&store->intern.table, *key_ret);
        if (value == 0)
            return NULL;
        const struct tbed_known *known = (const struct tbed_known *)(uintptr_t)value;
        if (is_same(known, text, nbytes))
            return known;
    }
}

static uint32_t find(const struct tbed_store *store, uint64_t hash, const char *text, size_t nbytes,
                     uint64_t *key_ret)
{
    const struct tbed_known *known = known_find(store, hash, text, nbytes, key_ret);
    return known != NULL ? known->id : 0;
}

/* ---- Adding: the caller holds 'state_lock' ---- */

/* NULL: no memory. */
static struct tbed_known *known_make(struct tbed_intern *intern, const char *text, size_t nbytes, uint32_t id)
{
    size_t copied = has_copy(nbytes) ? nbytes : 0;
    size_t needed = (size_t)tbed_round_up(sizeof(struct tbed_known) + copied + 1, sizeof(uint64_t));
    struct tbed_intern_texts *texts = intern->texts;
    if (texts == NULL || needed > TEXTS_NBYTES - texts->used_nbytes) {
        texts = tbed_pages_alloc(TEXTS_NBYTES);
        if (texts == NULL)
            return NULL;
        texts->older = intern->texts;
        texts->used_nbytes = sizeof *texts;
        intern->texts = texts;
    }
    struct tbed_known *known = (struct tbed_known *)(void *)((uint8_t *)texts + texts->used_nbytes);
    known->id = id;
    known->nbytes = (uint32_t)nbytes;
    memcpy(known->text, text, copied);
    texts->used_nbytes += needed;
    return known;
}

/* Without memory nothing is lost except space: the text is stored again the next time. */
static void add(struct tbed_intern *intern, uint64_t key, const char *text, size_t nbytes, uint32_t id)
{
    const struct tbed_known *known = NULL;
    if (tbed_table_make_room(&intern->table, 1, TABLE_COUNT_MIN))
        known = known_make(intern, text, nbytes, id);
    if (known != NULL)
        tbed_table_add(intern->table, key, (uintptr_t)known);
}

static uint32_t find_or_add(struct tbed_store *store, uint64_t hash, const char *text, size_t nbytes)
{
    uint64_t key;
    uint32_t id = find(store, hash, text, nbytes, &key);
    if (id != 0)
        return id;
    id = tbed_text_alloc(store, text, nbytes);
    if (id != TBED_ID_INVALID)
        add(&store->intern, key, text, nbytes, id);
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
uint32_t tbed_known_intern(struct tbed_writer *writer, const char *text, size_t nbytes,
                           const struct tbed_known **known_ret)
{
    struct tbed_store *store = tbed_store_of(writer);
    *known_ret = NULL;
    if (store == NULL)
        return TBED_ID_INVALID;
    uint64_t key, hash = hash_of(text, nbytes);
    bool has_joined = __atomic_load_n(&store->file.live->alive, __ATOMIC_ACQUIRE);
    const struct tbed_known *known = has_joined ? known_find(store, hash, text, nbytes, &key) : NULL;
    uint32_t id = known != NULL ? known->id : 0;
    if (id == 0)
        return take_lock_and_add(store, hash, text, nbytes);
    *known_ret = has_copy(nbytes) ? known : NULL;
    return id;
}

uint32_t tbed_string_intern(struct tbed_writer *writer, const char *text, size_t nbytes)
{
    const struct tbed_known *known;
    return tbed_known_intern(writer, text != NULL ? text : "", text != NULL ? nbytes : 0, &known);
}

/* ---- Lists of names: under even keys, with their ids as the text ---- */

static uint32_t names_bind(struct tbed_store *store, const uint32_t *ids, size_t count)
{
    uint32_t first = tbed_reserve_ids(store, (uint32_t)count);
    for (size_t i = 0; first != TBED_ID_INVALID && i < count; i++)
        if (!tbed_bind_locked(store, first + (uint32_t)i, 1, ids[i]))
            return TBED_ID_INVALID;
    return first;
}

uint32_t tbed_names_intern(struct tbed_writer *writer, const uint32_t *ids, size_t count)
{
    struct tbed_store *store = tbed_store_of(writer);
    const char *text = (const char *)ids;
    size_t nbytes = count * sizeof *ids;
    uint64_t key, hash = (tbed_hash64(ids, nbytes) | 3) - 1;
    uint32_t first = TBED_ID_INVALID;
    int kept_errno = errno;
    if (tbed_state_lock_or_drop(tbed_file_of(writer))) {
        first = find(store, hash, text, nbytes, &key);
        if (first == 0) {
            first = names_bind(store, ids, count);
            if (first != TBED_ID_INVALID && first != 0)
                add(&store->intern, key, text, nbytes, first);
        }
        tbed_state_unlock(tbed_file_of(writer));
    }
    errno = kept_errno;
    return first;
}

/* ---- The end ---- */

void tbed_intern_close(struct tbed_store *store)
{
    struct tbed_intern *intern = &store->intern;
    intern->closed = intern->table;
    __atomic_store_n(&intern->table, NULL, __ATOMIC_RELEASE);
    tbed_table_forget(intern->closed);
    for (struct tbed_intern_texts *texts = intern->texts; texts != NULL; texts = texts->older)
        madvise((uint8_t *)texts + KEPT_AT_END_NBYTES, TEXTS_NBYTES - KEPT_AT_END_NBYTES, MADV_DONTNEED);
}

void tbed_intern_free(struct tbed_store *store)
{
    struct tbed_intern *intern = &store->intern;
    tbed_table_free(intern->closed);
    for (struct tbed_intern_texts *texts = intern->texts, *older; texts != NULL; texts = older) {
        older = texts->older;
        tbed_pages_free(texts, TEXTS_NBYTES);
    }
    memset(intern, 0, sizeof *intern);
}
