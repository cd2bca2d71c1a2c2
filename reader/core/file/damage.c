/*
 * The list of damage in a file; see damage.h.
 *
 * SPDX-License-Identifier: MIT
 */
#include "reader/core/file/damage.h"
#include "format/base/sized.h"

#include "format/checksum.h"
#include "reader/core/file/place.h"

/* Past this many places, duplicates are no longer recognised: 16 MiB of hashes are enough for a hopeless file. */
#define SEEN_MAX ((size_t)1 << 20)

bool tbed_damage_list_make(struct tbed_damage_list *list_ret)
{
    *list_ret = (struct tbed_damage_list){0};
    return pthread_mutex_init(&list_ret->lock, NULL) == 0;
}

void tbed_damage_list_free(struct tbed_damage_list *list)
{
    pthread_mutex_destroy(&list->lock);
    tbed_vector_free(&list->kept);
    tbed_hashmap_free(&list->seen.map);
}

/* If there is no memory to remember it, it counts as new, unless is_kept() finds it. */
static bool is_new_hash(struct tbed_damage_list *list, uint64_t hash)
{
    if (TBED_HASHMAP_FIND(&list->seen, hash) != NULL)
        return false;
    if (list->seen.map.count < SEEN_MAX && TBED_HASHMAP_ADD(&list->seen, hash) == NULL)
        list->has_forgotten = true;
    return true;
}

static bool is_kept(const struct tbed_damage_list *list, const struct tbed_damage *damage)
{
    const struct tbed_damage *kept = list->kept.items;
    for (size_t i = 0; i < list->kept.count; i++)
        if (kept[i].status == damage->status && kept[i].offset == damage->offset)
            return true;
    return false;
}

static bool is_new(struct tbed_damage_list *list, const struct tbed_damage *damage)
{
    uint64_t key[2] = {(uint64_t)damage->status, damage->offset};
    return is_new_hash(list, tbed_hash64(key, sizeof key) | 1) &&
           !(list->has_forgotten && is_kept(list, damage));
}

/* The caller has the lock. */
static void add(struct tbed_damage_list *list, const struct tbed_damage *damage)
{
    struct tbed_damage *slot = NULL;
    if (!is_new(list, damage))
        return;
    if (list->kept.count < TBED_DAMAGE_KEPT_MAX)
        slot = tbed_vector_push(&list->kept, sizeof *slot);
    if (slot != NULL)
        *slot = *damage;
    if (list->first == TBED_OK)
        list->first = damage->status;
    list->count++;
}

void tbed_damage_list_add(struct tbed_damage_list *list, const struct tbed_damage *damage)
{
    pthread_mutex_lock(&list->lock);
    add(list, damage);
    pthread_mutex_unlock(&list->lock);
}

void tbed_damage_list_join(struct tbed_damage_list *list, const struct tbed_damage_list *from)
{
    const struct tbed_damage *kept = from->kept.items;
    uint64_t remembered = from->seen.map.count;
    pthread_mutex_lock(&list->lock);
    if (list->first == TBED_OK)
        list->first = from->first;
    for (size_t i = 0; i < from->kept.count; i++)
        add(list, &kept[i]);
    /* What 'from' had no room or memory to keep. */
    for (uint64_t *hash = NULL;
         from->count > from->kept.count && (hash = TBED_HASHMAP_NEXT(&from->seen, hash)) != NULL;)
        list->count += is_new_hash(list, *hash);
    list->count += from->count > remembered ? from->count - remembered : 0;
    pthread_mutex_unlock(&list->lock);
}

void tbed_damage_tell(const struct tbed_reader *reader, enum tbed_status status, uint64_t offset,
                      uint32_t cell, uint64_t detail)
{
    tbed_damage_tell_page(reader, status, offset / reader->header.page_nbytes, cell, offset, detail);
}

void tbed_damage_tell_page(const struct tbed_reader *reader, enum tbed_status status, uint64_t page,
                           uint32_t cell, uint64_t offset, uint64_t detail)
{
    struct tbed_damage damage = {
        .status = status,
        .offset = offset,
        .page = page,
        .cell = cell,
        .detail = detail,
        .page_count = 1,
    };
    struct tbed_block_facts facts = tbed_place_facts(reader, damage.page, cell);
    damage.kind = facts.kind;
    damage.stream = facts.stream;
    damage.sequence = facts.sequence;
    damage.first_tick = facts.first_tick;
    damage.last_tick = facts.last_tick;
    tbed_damage_list_add(reader->damage, &damage);
}

void tbed_damage_tell_pages(const struct tbed_reader *reader, enum tbed_status status, uint64_t offset,
                            uint64_t page_count, uint64_t detail)
{
    struct tbed_damage damage = {
        .status = status,
        .offset = offset,
        .page = offset / reader->header.page_nbytes,
        .detail = detail,
        .page_count = page_count,
    };
    tbed_damage_list_add(reader->damage, &damage);
}

void tbed_damage_tell_file(const struct tbed_reader *reader, enum tbed_status status, uint64_t offset,
                           uint64_t detail)
{
    struct tbed_damage damage = {.status = status, .offset = offset, .page = UINT64_MAX, .detail = detail};
    tbed_damage_list_add(reader->damage, &damage);
}

bool tbed_damage_get_sized(const struct tbed_reader *reader, size_t index, struct tbed_damage *damage_ret,
                           size_t damage_nbytes)
{
    struct tbed_damage_list *list = reader->damage;
    pthread_mutex_lock(&list->lock);
    bool found = index < list->kept.count;
    const struct tbed_damage *kept = list->kept.items;
    if (found)
        tbed_sized_give(damage_ret, damage_nbytes, &kept[index], sizeof *damage_ret);
    pthread_mutex_unlock(&list->lock);
    return found;
}

uint64_t tbed_damage_count(const struct tbed_reader *reader)
{
    struct tbed_damage_list *list = reader->damage;
    pthread_mutex_lock(&list->lock);
    uint64_t count = list->count;
    pthread_mutex_unlock(&list->lock);
    return count;
}

enum tbed_status tbed_damage_first(const struct tbed_reader *reader)
{
    struct tbed_damage_list *list = reader->damage;
    pthread_mutex_lock(&list->lock);
    enum tbed_status first = list->first;
    pthread_mutex_unlock(&list->lock);
    return first;
}
