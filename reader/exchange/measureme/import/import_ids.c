/*
 * Ids of a profile as ids of a bed.
 *
 * SPDX-License-Identifier: MIT
 */
#include "reader/exchange/measureme/import/import.h"

#include <stdlib.h>

#define CAPACITY_FIRST 1024

void tbed_import_ids_start(struct import_ids *ids, struct tbed_writer *writer, const struct mm_info *info)
{
    *ids = (struct import_ids){.writer = writer, .metadata = info->metadata_id, .invalid = info->invalid_id};
    pthread_mutex_init(&ids->lock, NULL);
}

void tbed_import_ids_end(struct import_ids *ids)
{
    pthread_mutex_destroy(&ids->lock);
    free(ids->slots);
}

static struct import_id_slot *slot_find(struct import_id_slot *slots, size_t capacity, uint64_t key)
{
    size_t at = (size_t)(key * UINT64_C(0x9E3779B97F4A7C15) >> 20) & (capacity - 1);
    while (slots[at].id != 0 && slots[at].id != key)
        at = (at + 1) & (capacity - 1);
    return &slots[at];
}

static bool grow(struct import_ids *ids)
{
    size_t capacity = ids->capacity > 0 ? ids->capacity * 2 : CAPACITY_FIRST;
    struct import_id_slot *slots = calloc(capacity, sizeof *slots);
    if (slots == NULL)
        return false;
    for (size_t i = 0; i < ids->capacity; i++)
        if (ids->slots[i].id != 0)
            *slot_find(slots, capacity, ids->slots[i].id) = ids->slots[i];
    free(ids->slots);
    ids->slots = slots;
    ids->capacity = capacity;
    return true;
}

static uint32_t fresh_find(struct import_ids *ids, uint64_t id)
{
    if (ids->count * 4 >= ids->capacity * 3 && !grow(ids))
        return TBED_ID_INVALID;
    struct import_id_slot *slot = slot_find(ids->slots, ids->capacity, id + 1);
    if (slot->id == 0) {
        uint32_t bed_id = tbed_id_reserve(ids->writer, 1);
        if (bed_id == TBED_ID_INVALID)
            return bed_id;
        *slot = (struct import_id_slot){id + 1, bed_id};
        ids->count++;
    }
    return slot->bed_id;
}

uint32_t tbed_import_id_slow(struct import_ids *ids, uint64_t id)
{
    if (id == ids->metadata)
        return TBED_ID_METADATA;
    if (id == ids->invalid ||
        id == UINT64_MAX) /* the latter has no key; it can mean nothing in any version */
        return TBED_ID_INVALID;
    pthread_mutex_lock(&ids->lock);
    uint32_t bed_id = fresh_find(ids, id);
    pthread_mutex_unlock(&ids->lock);
    return bed_id;
}

/* Bound to what it stands for: so the kind resolves as that id does, and export gives that id back. */
uint32_t tbed_import_kind_slow(struct import_ids *ids, bool is_zero)
{
    uint32_t *kind = is_zero ? &ids->zero_kind : &ids->invalid_kind;
    pthread_mutex_lock(&ids->lock);
    if (*kind == 0) {
        *kind = tbed_id_reserve(ids->writer, 1);
        if (*kind != TBED_ID_INVALID)
            tbed_id_bind(ids->writer, *kind, 1, is_zero ? 0 : TBED_ID_INVALID);
    }
    pthread_mutex_unlock(&ids->lock);
    return *kind;
}
