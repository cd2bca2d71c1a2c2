/*
 * Reserved ids: handing them out, and binding them to strings.
 *
 * Source: spec/format.md, sections 7 and 8.
 *
 * SPDX-License-Identifier: MIT
 */
#include "writer/base/shared_words.h"
#include "writer/file/usable.h"
#include "writer/store/records.h"

/* The counter never passes the end: exhausted ids stay exhausted, and none is handed out twice. */
uint32_t tbed_reserve_ids(struct tbed_store *store, uint32_t count)
{
    tbed_le64 *next = &tbed_shared(&store->file)->next_reserved_id;
    uint64_t first = tbed_shared_load(next);
    do {
        if (count == 0 || first > TBED_ID_MAX_RESERVED || count > TBED_ID_MAX_RESERVED + 1 - first) {
            tbed_drop(&store->file, TBED_DROP_IDS_EXHAUSTED, 1);
            return TBED_ID_INVALID;
        }
    } while (!tbed_shared_swap(next, &first, first + count));
    return (uint32_t)first;
}

uint32_t tbed_id_reserve(struct tbed_writer *writer, uint32_t count)
{
    struct tbed_store *store = tbed_store_of(writer);
    if (!tbed_state_lock_or_drop(tbed_file_of(writer)))
        return TBED_ID_INVALID;
    uint32_t first = tbed_reserve_ids(store, count);
    tbed_state_unlock(tbed_file_of(writer));
    return first;
}

/* ---- Bindings ---- */

bool tbed_can_be_bound(uint32_t first_id, uint32_t count, uint32_t string_id)
{
    bool is_metadata = first_id == TBED_ID_METADATA && count == 1;
    bool is_reserved = first_id <= TBED_ID_MAX_RESERVED && count <= TBED_ID_MAX_RESERVED + 1 - first_id;
    return count > 0 && (is_metadata || is_reserved) && string_id <= TBED_ID_MAX;
}

/* Keeps ids from being handed out that the application has taken for itself. */
static void claim_ids(struct tbed_store *store, uint32_t first_id, uint32_t count)
{
    tbed_le64 *next = &tbed_shared(&store->file)->next_reserved_id;
    uint64_t end = (uint64_t)first_id + count, found = tbed_shared_load(next);
    while (first_id <= TBED_ID_MAX_RESERVED && found < end)
        if (tbed_shared_swap(next, &found, end))
            return;
}

bool tbed_bind_locked(struct tbed_store *store, uint32_t first_id, uint32_t count, uint32_t string_id)
{
    struct tbed_disk_bind record = {
        .first_id = tbed_le32_make(first_id),
        .id_count = tbed_le32_make(count),
        .string_id = tbed_le32_make(string_id),
    };
    claim_ids(store, first_id, count);
    return tbed_record_append(store, &record, TBED_RECORD_BIND, sizeof record);
}

void tbed_id_bind(struct tbed_writer *writer, uint32_t first_id, uint32_t count, uint32_t string_id)
{
    struct tbed_store *store = tbed_store_of(writer);
    if (!tbed_can_be_bound(first_id, count, string_id)) {
        tbed_drop(tbed_file_of(writer), TBED_DROP_TOO_LARGE, 1);
        return;
    }
    if (!tbed_state_lock_or_drop(tbed_file_of(writer)))
        return;
    tbed_bind_locked(store, first_id, count, string_id);
    tbed_state_unlock(tbed_file_of(writer));
}

#define PAIRS_AT_ONCE 128

void tbed_id_bind_list(struct tbed_writer *writer, const uint32_t *ids, const uint32_t *string_ids,
                       size_t count)
{
    struct tbed_store *store = tbed_store_of(writer);
    if (!tbed_state_lock_or_drop(tbed_file_of(writer)))
        return;
    for (size_t i = 0; i < count;) {
        struct tbed_disk_id_pair pairs[PAIRS_AT_ONCE];
        uint32_t taken = 0;
        for (; i < count && taken < PAIRS_AT_ONCE; i++) {
            if (!tbed_can_be_bound(ids[i], 1, string_ids[i])) {
                tbed_drop(tbed_file_of(writer), TBED_DROP_TOO_LARGE, 1);
                continue;
            }
            claim_ids(store, ids[i], 1);
            pairs[taken++] =
                (struct tbed_disk_id_pair){tbed_le32_make(ids[i]), tbed_le32_make(string_ids[i])};
        }
        struct tbed_disk_bind_list record = {.count = tbed_le32_make(taken)};
        if (taken > 0)
            tbed_record_append_parts(store, TBED_RECORD_BIND_LIST, &record, sizeof record, pairs,
                                     taken * (uint32_t)sizeof *pairs);
    }
    tbed_state_unlock(tbed_file_of(writer));
}
