/*
 * Storing call stacks: nodes linked to their parents, each stored once.
 *
 * A node is looked up without a lock (base/table.h); its record was committed before it is published. A forked child
 * goes on with its parent's table.
 *
 * Source: spec/format.md, section 8.5.
 *
 * SPDX-License-Identifier: MIT
 */
#include "writer/base/table.h"
#include "writer/file/usable.h"
#include "writer/store/records.h"
#include "writer/store/texts.h"

#define TABLE_COUNT_MIN 1024
#define FRAMES_AT_ONCE  128

static uint64_t key_of(uint32_t parent, uint32_t location)
{
    return (uint64_t)1 << 63 | (uint64_t)parent << 32 | location;
}

/* ---- Looking ---- */

/* TBED_ID_INVALID: unknown. */
static uint32_t look(const struct tbed_store *store, uint32_t parent, uint32_t location)
{
    uint64_t value = tbed_table_find(&store->stacks, key_of(parent, location));
    return value != 0 ? (uint32_t)(value - 1) : TBED_ID_INVALID;
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

/* Adds unknown frames, each called by the one before: one range of ids, one record. */
static bool add_frames(struct tbed_store *store, uint32_t parent, const uint32_t *locations, uint32_t count,
                       uint32_t *ids_ret)
{
    struct tbed_disk_id_pair nodes[FRAMES_AT_ONCE];
    if (!tbed_table_make_room(&store->stacks, count, TABLE_COUNT_MIN)) {
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
        uint64_t key = key_of(i == 0 ? parent : first + i - 1, locations[i] & TBED_ID_MAX);
        tbed_table_add(store->stacks, key, (uint64_t)first + i + 1);
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
    tbed_table_forget(store->stacks);
}

void tbed_stacks_free(struct tbed_store *store)
{
    tbed_table_free(store->stacks);
    store->stacks = NULL;
}
