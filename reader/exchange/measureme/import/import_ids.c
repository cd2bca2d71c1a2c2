/*
 * Maps ids of a profile to ids of a trace.
 *
 * SPDX-License-Identifier: MIT
 */
#include "reader/exchange/measureme/import/import.h"

void tbed_import_ids_start(struct import_ids *ids, struct tbed_writer *writer, const struct mm_info *info)
{
    *ids = (struct import_ids){.writer = writer, .metadata = info->metadata_id, .invalid = info->invalid_id};
    pthread_mutex_init(&ids->lock, NULL);
}

void tbed_import_ids_end(struct import_ids *ids)
{
    pthread_mutex_destroy(&ids->lock);
    tbed_hashmap_free(&ids->fresh.map);
}

static uint32_t fresh_find(struct import_ids *ids, uint64_t id)
{
    const struct import_id_slot *known = TBED_HASHMAP_FIND(&ids->fresh, id + 1);
    if (known != NULL)
        return known->trace_id;
    struct import_id_slot *slot = TBED_HASHMAP_ADD(&ids->fresh, id + 1);
    ids->is_out_of_memory = ids->is_out_of_memory || slot == NULL;
    if (slot == NULL)
        return TBED_ID_INVALID;
    slot->trace_id = tbed_id_reserve(ids->writer, 1); /* INVALID, and a drop, if there are no more */
    return slot->trace_id;
}

uint32_t tbed_import_id_slow(struct import_ids *ids, uint64_t id)
{
    if (id == ids->metadata)
        return TBED_ID_METADATA;
    if (id == ids->invalid || id == UINT64_MAX) /* the latter has no key; it is undefined in all versions */
        return TBED_ID_INVALID;
    pthread_mutex_lock(&ids->lock);
    uint32_t trace_id = fresh_find(ids, id);
    pthread_mutex_unlock(&ids->lock);
    return trace_id;
}

/* Bound to the id that it stands for, so the kind resolves like that id, and an export restores it. */
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
