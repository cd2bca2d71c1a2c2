/*
 * Storing which type of object is allocated where: pairs, each stored once.
 *
 * A pair is looked up without a lock (base/table.h); its record was committed before it is published. A forked child
 * goes on with its parent's table.
 *
 * Source: spec/format.md, section 8.8.
 *
 * SPDX-License-Identifier: MIT
 */
#include "writer/base/table.h"
#include "writer/file/usable.h"
#include "writer/store/records.h"
#include "writer/store/texts.h"

#define TABLE_COUNT_MIN 256

static uint64_t key_of(uint32_t location, uint32_t type)
{
    return (uint64_t)1 << 63 | (uint64_t)type << 32 | location;
}

/* TBED_ID_INVALID: unknown. */
static uint32_t look(const struct tbed_store *store, uint32_t location, uint32_t type)
{
    uint64_t value = tbed_table_find(&store->types, key_of(location, type));
    return value != 0 ? (uint32_t)(value - 1) : TBED_ID_INVALID;
}

/* The caller holds 'state_lock'. TBED_ID_INVALID: there is no memory, no id, or no room in the file. */
static uint32_t add(struct tbed_store *store, uint32_t location, uint32_t type)
{
    if (!tbed_table_make_room(&store->types, 1, TABLE_COUNT_MIN)) {
        tbed_drop(&store->file, TBED_DROP_NO_MEMORY, 1);
        return TBED_ID_INVALID;
    }
    uint32_t id = tbed_reserve_ids(store, 1);
    if (id == TBED_ID_INVALID || (location >= id && location <= TBED_ID_MAX_RESERVED))
        return TBED_ID_INVALID; /* a number of the application's own, which nobody has handed out */
    struct tbed_disk_types record = {.first_id = tbed_le32_make(id), .count = tbed_le32_make(1)};
    struct tbed_disk_id_pair pair = {tbed_le32_make(location), tbed_le32_make(type)};
    if (!tbed_record_append_parts(store, TBED_RECORD_TYPES, &record, sizeof record, &pair, sizeof pair))
        return TBED_ID_INVALID;
    tbed_table_add(store->types, key_of(location, type), (uint64_t)id + 1);
    return id;
}

uint32_t tbed_typed_intern(struct tbed_writer *writer, uint32_t location, uint32_t type)
{
    struct tbed_store *store = tbed_store_of(writer);
    location &= TBED_ID_MAX;
    type &= TBED_ID_MAX;
    uint32_t id = store != NULL && type != TBED_ID_INVALID ? look(store, location, type) : location;
    if (id != TBED_ID_INVALID || !tbed_state_lock_or_drop(tbed_file_of(writer)))
        return id != TBED_ID_INVALID ? id : location;
    id = look(store, location, type); /* another thread may have added it */
    if (id == TBED_ID_INVALID)
        id = add(store, location, type);
    tbed_state_unlock(tbed_file_of(writer));
    return id != TBED_ID_INVALID ? id : location;
}

/* ---- The end ---- */

void tbed_types_forget(struct tbed_store *store)
{
    tbed_table_forget(store->types);
}

void tbed_types_free(struct tbed_store *store)
{
    tbed_table_free(store->types);
    store->types = NULL;
}
