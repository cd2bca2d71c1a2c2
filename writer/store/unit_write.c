/*
 * Code units: registering them, once for all processes that share them; loading and unloading them.
 *
 * Source: spec/format.md, section 8.
 *
 * SPDX-License-Identifier: MIT
 */
#include <string.h>

#include "format/base/sized.h"
#include "format/checksum.h"
#include "writer/base/shared_words.h"
#include "writer/file/usable.h"
#include "writer/store/records.h"
#include "writer/store/texts.h"

#define PAIRS_AT_ONCE 128

/* ---- Code units ---- */

static tbed_le64 *unit_slot(const struct tbed_store *store, uint64_t index)
{
    size_t slots = store->file.page_nbytes / 2 / TBED_UNIT_SLOT_NBYTES;
    uint8_t *table = store->file.map + store->file.page_nbytes / 2;
    return (tbed_le64 *)(void *)(table + (index % slots) * TBED_UNIT_SLOT_NBYTES);
}

/* Two processes mean the same unit if all of this is equal. */
static uint64_t unit_key(const struct tbed_unit_options *options)
{
    uint64_t parts[6] = {
        options->kind, options->pc_shift, options->base, options->pc_count, 0, 0,
    };
    parts[4] = tbed_hash64(options->file, strlen(options->file));
    if (options->build_id_nbytes > 0)
        parts[5] = tbed_hash64(options->build_id, options->build_id_nbytes);
    uint64_t key = tbed_hash64(parts, sizeof parts);
    return key != 0 ? key : 1;
}

static uint64_t id_count_of(const struct tbed_unit_options *options)
{
    uint64_t count = ((options->pc_count - 1) >> options->pc_shift) + 1;
    return count > UINT32_MAX ? UINT32_MAX : count;
}

#define DIRECTORY_PROBES  64
#define DIRECTORY_WAIT_NS 2000000u

/* The process that took the slot is writing the unit's record; if it was killed meanwhile, none will come. */
static uint32_t directory_wait(tbed_le64 *slot)
{
    uint64_t deadline = tbed_monotonic_ns() + DIRECTORY_WAIT_NS;
    uint64_t value;
    do {
        value = tbed_shared_load(slot + 1);
    } while (value == 0 && tbed_monotonic_ns() < deadline);
    return value != 0 ? (uint32_t)value : TBED_ID_INVALID;
}

/*
 * Returns the unit's first id if another process registered it. Otherwise '*slot_ret' is the slot to publish it in, or
 * NULL.
 */
static uint32_t directory_find(const struct tbed_store *store, uint64_t key, tbed_le64 **slot_ret)
{
    *slot_ret = NULL;
    for (uint64_t probe = 0; probe < DIRECTORY_PROBES; probe++) {
        tbed_le64 *slot = unit_slot(store, key + probe);
        uint64_t found = 0;
        if (tbed_shared_swap(slot, &found, key)) {
            *slot_ret = slot;
            return TBED_ID_INVALID;
        }
        if (found == key)
            return directory_wait(slot);
    }
    return TBED_ID_INVALID;
}

/* Does not take a slot. The record of a unit that is found here is stored already. */
static uint32_t directory_look(const struct tbed_store *store, uint64_t key)
{
    for (uint64_t probe = 0; probe < DIRECTORY_PROBES; probe++) {
        const tbed_le64 *slot = unit_slot(store, key + probe);
        uint64_t found = tbed_shared_load(slot);
        if (found == 0)
            break;
        uint64_t value = tbed_shared_load(slot + 1);
        if (found == key && value != 0)
            return (uint32_t)value;
    }
    return TBED_ID_INVALID;
}

uint32_t tbed_unit_look(struct tbed_writer *writer, const struct tbed_unit_options *options)
{
    struct tbed_file *file = tbed_file_of(writer);
    if (!tbed_state_lock(file))
        return TBED_ID_INVALID;
    uint32_t first_id = directory_look(tbed_store_of(writer), unit_key(options));
    tbed_state_unlock(file);
    return first_id;
}

void tbed_unit_add_key(struct tbed_writer *writer, const struct tbed_unit_options *options, uint32_t first_id)
{
    struct tbed_file *file = tbed_file_of(writer);
    tbed_le64 *slot;
    if (first_id > TBED_ID_MAX_RESERVED || !tbed_state_lock(file))
        return;
    if (directory_find(tbed_store_of(writer), unit_key(options), &slot) == TBED_ID_INVALID && slot != NULL)
        tbed_word_store(slot + 1, id_count_of(options) << 32 | first_id);
    tbed_state_unlock(file);
}

static void lines_append(struct tbed_store *store, uint32_t first_id, const uint32_t *lines, size_t count)
{
    while (count > 0) {
        struct tbed_disk_id_pair pairs[PAIRS_AT_ONCE];
        uint32_t taken = count < PAIRS_AT_ONCE ? (uint32_t)count : PAIRS_AT_ONCE;
        for (uint32_t i = 0; i < taken; i++)
            pairs[i] =
                (struct tbed_disk_id_pair){tbed_le32_make(lines[2 * i]), tbed_le32_make(lines[2 * i + 1])};
        struct tbed_disk_lines record = {.first_id = tbed_le32_make(first_id),
                                         .count = tbed_le32_make(taken)};
        tbed_record_append_parts(store, TBED_RECORD_LINES, &record, sizeof record, pairs,
                                 taken * (uint32_t)sizeof *pairs);
        lines += (size_t)2 * taken;
        count -= taken;
    }
}

/*
 * The line map is stored before the unit, and the unit before anything that uses it, so that everything committed
 * resolves.
 */
static uint32_t unit_create(struct tbed_store *store, const struct tbed_unit_options *options,
                            uint32_t id_count)
{
    uint32_t first_id = tbed_reserve_ids(store, id_count);
    if (first_id == TBED_ID_INVALID)
        return first_id;
    const char *file = options->file != NULL ? options->file : "";
    const char *name = options->name != NULL ? options->name : file;
    lines_append(store, first_id, options->lines, options->line_count);
    struct tbed_disk_unit record = {
        .first_id = tbed_le32_make(first_id),
        .id_count = tbed_le32_make(id_count),
        .kind = tbed_le32_make(options->kind),
        .pc_shift = tbed_le32_make(options->pc_shift),
        .name_id = tbed_le32_make(tbed_intern_locked(store, name, strlen(name))),
        .file_id = tbed_le32_make(tbed_intern_locked(store, file, strlen(file))),
        .first_line = tbed_le32_make(options->first_line),
        .build_id_nbytes = tbed_le32_make(options->build_id_nbytes),
        .base = tbed_le64_make(options->base),
    };
    uint8_t padded[TBED_BUILD_ID_MAX_NBYTES] = {0};
    if (options->build_id_nbytes > 0)
        memcpy(padded, options->build_id, options->build_id_nbytes);
    uint32_t padded_nbytes = (uint32_t)tbed_round_up(options->build_id_nbytes, 8);
    bool is_stored =
        tbed_record_append_parts(store, TBED_RECORD_UNIT, &record, sizeof record, padded, padded_nbytes);
    return is_stored ? first_id : TBED_ID_INVALID;
}

uint32_t tbed_unit_register(struct tbed_writer *writer, const struct tbed_unit_options *given)
{
    struct tbed_store *store = tbed_store_of(writer);
    struct tbed_unit_options taken, *options = &taken;
    bool is_allowed = tbed_options_take(&taken, sizeof taken, given) && options->pc_shift < 32 &&
                      options->pc_count > 0 && options->build_id_nbytes <= TBED_BUILD_ID_MAX_NBYTES &&
                      (options->kind == TBED_UNIT_NATIVE || options->kind == TBED_UNIT_BYTECODE);
    if (!is_allowed || !tbed_state_lock_or_drop(tbed_file_of(writer)))
        return TBED_ID_INVALID;
    uint32_t count = (uint32_t)id_count_of(options);
    tbed_le64 *slot = NULL;
    uint32_t first_id = TBED_ID_INVALID;
    if (options->share && options->file != NULL)
        first_id = directory_find(store, unit_key(options), &slot);
    if (first_id == TBED_ID_INVALID) {
        first_id = unit_create(store, options, count);
        if (slot != NULL && first_id != TBED_ID_INVALID)
            tbed_word_store(slot + 1, (uint64_t)count << 32 | first_id);
    }
    tbed_state_unlock(tbed_file_of(writer));
    return first_id;
}

void tbed_unit_load_record(struct tbed_writer *writer, uint32_t first_id, uint64_t address, uint64_t nbytes)
{
    struct tbed_store *store = tbed_store_of(writer);
    if (first_id > TBED_ID_MAX_RESERVED || !tbed_state_lock_or_drop(tbed_file_of(writer)))
        return;
    struct tbed_disk_load record = {
        .process = tbed_le32_make(store->file.process.stream),
        .first_id = tbed_le32_make(first_id),
        .address = tbed_le64_make(address),
        .nbytes = tbed_le64_make(nbytes),
        .tick = tbed_le64_make(tbed_clock_now(&store->file.clock)),
    };
    tbed_record_append(store, &record, TBED_RECORD_LOAD, sizeof record);
    tbed_state_unlock(tbed_file_of(writer));
}

void tbed_unit_unload_record(struct tbed_writer *writer, uint32_t first_id)
{
    struct tbed_store *store = tbed_store_of(writer);
    if (first_id > TBED_ID_MAX_RESERVED || !tbed_state_lock_or_drop(tbed_file_of(writer)))
        return;
    struct tbed_disk_unload record = {
        .process = tbed_le32_make(store->file.process.stream),
        .first_id = tbed_le32_make(first_id),
        .tick = tbed_le64_make(tbed_clock_now(&store->file.clock)),
    };
    tbed_record_append(store, &record, TBED_RECORD_UNLOAD, sizeof record);
    tbed_state_unlock(tbed_file_of(writer));
}
