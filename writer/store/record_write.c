/*
 * Records: what is said of processes, ids, counters and bindings.
 *
 * Source: spec/format.md, section 8.
 *
 * SPDX-License-Identifier: MIT
 */
#include <unistd.h>

#include "format/checksum.h"
#include "writer/file/private.h"

/* Copies 'nbytes' of a record into a record block; the head word, which commits it, comes last. */
bool tbed_record_append_parts(struct tbed_writer *writer, enum tbed_record_type type, const void *fixed,
                              uint32_t fixed_nbytes, const void *rest, uint32_t rest_nbytes)
{
    uint32_t nbytes = (uint32_t)tbed_round_up((uint64_t)fixed_nbytes + rest_nbytes, 8);
    uint8_t *room = tbed_block_room(writer, &writer->records, nbytes);
    if (room == NULL)
        return false;
    memcpy(room + 8, (const uint8_t *)fixed + 8, fixed_nbytes - 8);
    if (rest_nbytes > 0)
        memcpy(room + fixed_nbytes, rest, rest_nbytes);
    tbed_word_store(room, (uint64_t)nbytes << 32 | type);
    return true;
}

bool tbed_record_append(struct tbed_writer *writer, void *record, enum tbed_record_type type, uint32_t nbytes)
{
    return tbed_record_append_parts(writer, type, record, nbytes, NULL, 0);
}

bool tbed_stream_append(struct tbed_writer *writer, struct tbed_disk_stream *record,
                        enum tbed_drop_cause *cause_ret)
{
    uint8_t *room = tbed_block_room_or_cause(writer, &writer->records, sizeof *record, cause_ret);
    if (room == NULL)
        return false;
    memcpy(room + 8, (const uint8_t *)record + 8, sizeof *record - 8);
    tbed_word_store(room, (uint64_t)sizeof *record << 32 | TBED_RECORD_STREAM);
    return true;
}

void tbed_process_record(struct tbed_writer *writer, uint32_t name_id, uint32_t forked_from)
{
    bool is_own = writer->process_pid == 0;
    uint32_t given_pid = writer->process_pid == TBED_PID_UNKNOWN ? 0 : writer->process_pid;
    struct tbed_disk_process record = {
        .stream = tbed_le32_make(writer->process_stream),
        .pid = tbed_le32_make(is_own ? (uint32_t)getpid() : given_pid),
        .parent_pid = tbed_le32_make(is_own ? (uint32_t)getppid() : 0),
        .name_id = tbed_le32_make(name_id),
        .tick = tbed_le64_make(tbed_clock_now(writer)),
        .forked_from = tbed_le32_make(forked_from),
    };
    tbed_record_append(writer, &record, TBED_RECORD_PROCESS, sizeof record);
}

/* ---- Bindings ---- */

bool tbed_can_be_bound(uint32_t first_id, uint32_t count, uint32_t string_id)
{
    bool is_metadata = first_id == TBED_ID_METADATA && count == 1;
    bool is_reserved = first_id <= TBED_ID_MAX_RESERVED && count <= TBED_ID_MAX_RESERVED + 1 - first_id;
    return count > 0 && (is_metadata || is_reserved) && string_id <= TBED_ID_MAX;
}

bool tbed_bind_locked(struct tbed_writer *writer, uint32_t first_id, uint32_t count, uint32_t string_id)
{
    struct tbed_disk_bind record = {
        .first_id = tbed_le32_make(first_id),
        .id_count = tbed_le32_make(count),
        .string_id = tbed_le32_make(string_id),
    };
    return tbed_record_append(writer, &record, TBED_RECORD_BIND, sizeof record);
}

void tbed_id_bind(struct tbed_writer *writer, uint32_t first_id, uint32_t count, uint32_t string_id)
{
    if (!tbed_can_be_bound(first_id, count, string_id)) {
        tbed_drop(writer, TBED_DROP_TOO_LARGE, 1);
        return;
    }
    if (!tbed_writer_lock_or_drop(writer))
        return;
    tbed_bind_locked(writer, first_id, count, string_id);
    tbed_writer_unlock(writer);
}

#define PAIRS_AT_ONCE 128

void tbed_id_bind_list(struct tbed_writer *writer, const uint32_t *ids, const uint32_t *string_ids,
                       size_t count)
{
    if (!tbed_writer_lock_or_drop(writer))
        return;
    for (size_t i = 0; i < count;) {
        struct tbed_disk_id_pair pairs[PAIRS_AT_ONCE];
        uint32_t taken = 0;
        for (; i < count && taken < PAIRS_AT_ONCE; i++) {
            if (tbed_can_be_bound(ids[i], 1, string_ids[i]))
                pairs[taken++] =
                    (struct tbed_disk_id_pair){tbed_le32_make(ids[i]), tbed_le32_make(string_ids[i])};
            else
                tbed_drop(writer, TBED_DROP_TOO_LARGE, 1);
        }
        struct tbed_disk_bind_list record = {.count = tbed_le32_make(taken)};
        if (taken > 0)
            tbed_record_append_parts(writer, TBED_RECORD_BIND_LIST, &record, sizeof record, pairs,
                                     taken * (uint32_t)sizeof *pairs);
    }
    tbed_writer_unlock(writer);
}

void tbed_metadata_set(struct tbed_writer *writer, const char *text, size_t nbytes)
{
    uint32_t id = tbed_string_intern(writer, text, nbytes);
    if (id != TBED_ID_INVALID)
        tbed_id_bind(writer, TBED_ID_METADATA, 1, id);
}

void tbed_counter_describe(struct tbed_writer *writer, uint32_t counter_id, const char *unit)
{
    if (counter_id > TBED_ID_MAX || !tbed_writer_lock_or_drop(writer))
        return;
    struct tbed_disk_counter record = {
        .id = tbed_le32_make(counter_id & TBED_ID_MAX),
        .unit_id = tbed_le32_make(tbed_intern_locked(writer, unit, strlen(unit))),
    };
    tbed_record_append(writer, &record, TBED_RECORD_COUNTER, sizeof record);
    tbed_writer_unlock(writer);
}

/* ---- Frames ---- */

void tbed_location_describe(struct tbed_writer *writer, uint32_t location,
                            const struct tbed_frame_names *frames, size_t frame_count)
{
    struct tbed_disk_frame disk[TBED_FRAMES_MAX];
    bool fits = location <= TBED_ID_MAX && frame_count <= TBED_FRAMES_MAX;
    for (size_t i = 0; fits && i < frame_count; i++) {
        fits = frames[i].function_id <= TBED_ID_MAX && frames[i].file_id <= TBED_ID_MAX;
        disk[i] =
            (struct tbed_disk_frame){tbed_le32_make(frames[i].function_id), tbed_le32_make(frames[i].file_id),
                                     tbed_le32_make(frames[i].line), tbed_le32_make(0)};
    }
    if (!fits) {
        tbed_drop(writer, TBED_DROP_TOO_LARGE, 1);
        return;
    }
    if (!tbed_writer_lock_or_drop(writer))
        return;
    struct tbed_disk_frames record = {.location_id = tbed_le32_make(location),
                                      .count = tbed_le32_make((uint32_t)frame_count)};
    tbed_record_append_parts(writer, TBED_RECORD_FRAMES, &record, sizeof record, disk,
                             (uint32_t)(frame_count * sizeof *disk));
    tbed_writer_unlock(writer);
}

/* ---- Code units ---- */

static tbed_le64 *directory_slot(const struct tbed_writer *writer, uint64_t index)
{
    size_t slots = writer->page_nbytes / 2 / TBED_DIRECTORY_SLOT_NBYTES;
    uint8_t *directory = writer->map + writer->page_nbytes / 2;
    return (tbed_le64 *)(void *)(directory + (index % slots) * TBED_DIRECTORY_SLOT_NBYTES);
}

/* Two processes mean the same unit when all of this is the same. */
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

#define DIRECTORY_PROBES  64
#define DIRECTORY_WAIT_NS 2000000u

/* Whoever took the slot is writing the unit's record; if it was killed meanwhile, there will be nothing. */
static uint32_t directory_wait(tbed_le64 *slot)
{
    uint64_t deadline = tbed_monotonic_ns() + DIRECTORY_WAIT_NS;
    uint64_t value;
    do {
        value = tbed_shared_load(slot + 1);
    } while (value == 0 && tbed_monotonic_ns() < deadline);
    return value != 0 ? (uint32_t)value : TBED_ID_INVALID;
}

/* The unit's first id if another process has it; else, in '*slot_ret', the slot to publish it in, or NULL. */
static uint32_t directory_find(const struct tbed_writer *writer, uint64_t key, tbed_le64 **slot_ret)
{
    *slot_ret = NULL;
    for (uint64_t probe = 0; probe < DIRECTORY_PROBES; probe++) {
        tbed_le64 *slot = directory_slot(writer, key + probe);
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

static void lines_append(struct tbed_writer *writer, uint32_t first_id, const uint32_t *lines, size_t count)
{
    while (count > 0) {
        struct tbed_disk_id_pair pairs[PAIRS_AT_ONCE];
        uint32_t taken = count < PAIRS_AT_ONCE ? (uint32_t)count : PAIRS_AT_ONCE;
        for (uint32_t i = 0; i < taken; i++)
            pairs[i] =
                (struct tbed_disk_id_pair){tbed_le32_make(lines[2 * i]), tbed_le32_make(lines[2 * i + 1])};
        struct tbed_disk_lines record = {.first_id = tbed_le32_make(first_id),
                                         .count = tbed_le32_make(taken)};
        tbed_record_append_parts(writer, TBED_RECORD_LINES, &record, sizeof record, pairs,
                                 taken * (uint32_t)sizeof *pairs);
        lines += (size_t)2 * taken;
        count -= taken;
    }
}

/* The line map comes before the unit, the unit before anything that uses it: what is committed resolves. */
static uint32_t unit_create(struct tbed_writer *writer, const struct tbed_unit_options *options,
                            uint32_t id_count)
{
    uint32_t first_id = tbed_reserve_ids(writer, id_count);
    if (first_id == TBED_ID_INVALID)
        return first_id;
    const char *file = options->file != NULL ? options->file : "";
    const char *name = options->name != NULL ? options->name : file;
    lines_append(writer, first_id, options->lines, options->line_count);
    struct tbed_disk_unit record = {
        .first_id = tbed_le32_make(first_id),
        .id_count = tbed_le32_make(id_count),
        .kind = tbed_le32_make(options->kind),
        .pc_shift = tbed_le32_make(options->pc_shift),
        .name_id = tbed_le32_make(tbed_intern_locked(writer, name, strlen(name))),
        .file_id = tbed_le32_make(tbed_intern_locked(writer, file, strlen(file))),
        .first_line = tbed_le32_make(options->first_line),
        .build_id_nbytes = tbed_le32_make(options->build_id_nbytes),
        .base = tbed_le64_make(options->base),
    };
    uint8_t padded[TBED_BUILD_ID_MAX_NBYTES] = {0};
    if (options->build_id_nbytes > 0)
        memcpy(padded, options->build_id, options->build_id_nbytes);
    uint32_t padded_nbytes = (uint32_t)tbed_round_up(options->build_id_nbytes, 8);
    bool is_stored =
        tbed_record_append_parts(writer, TBED_RECORD_UNIT, &record, sizeof record, padded, padded_nbytes);
    return is_stored ? first_id : TBED_ID_INVALID;
}

uint32_t tbed_unit_register(struct tbed_writer *writer, const struct tbed_unit_options *options)
{
    bool is_allowed = options->pc_shift < 32 && options->pc_count > 0 &&
                      options->build_id_nbytes <= TBED_BUILD_ID_MAX_NBYTES &&
                      (options->kind == TBED_UNIT_NATIVE || options->kind == TBED_UNIT_BYTECODE);
    if (!is_allowed || !tbed_writer_lock_or_drop(writer))
        return TBED_ID_INVALID;
    uint64_t id_count = ((options->pc_count - 1) >> options->pc_shift) + 1;
    uint32_t count = id_count > UINT32_MAX ? UINT32_MAX : (uint32_t)id_count;
    tbed_le64 *slot = NULL;
    uint32_t first_id = TBED_ID_INVALID;
    if (options->share && options->file != NULL)
        first_id = directory_find(writer, unit_key(options), &slot);
    if (first_id == TBED_ID_INVALID) {
        first_id = unit_create(writer, options, count);
        if (slot != NULL && first_id != TBED_ID_INVALID)
            tbed_word_store(slot + 1, (uint64_t)count << 32 | first_id);
    }
    tbed_writer_unlock(writer);
    return first_id;
}

void tbed_unit_load_record(struct tbed_writer *writer, uint32_t first_id, uint64_t address, uint64_t nbytes)
{
    if (first_id > TBED_ID_MAX_RESERVED || !tbed_writer_lock_or_drop(writer))
        return;
    struct tbed_disk_load record = {
        .process = tbed_le32_make(writer->process_stream),
        .first_id = tbed_le32_make(first_id),
        .address = tbed_le64_make(address),
        .nbytes = tbed_le64_make(nbytes),
        .tick = tbed_le64_make(tbed_clock_now(writer)),
    };
    tbed_record_append(writer, &record, TBED_RECORD_LOAD, sizeof record);
    tbed_writer_unlock(writer);
}

void tbed_unit_unload_record(struct tbed_writer *writer, uint32_t first_id)
{
    if (first_id > TBED_ID_MAX_RESERVED || !tbed_writer_lock_or_drop(writer))
        return;
    struct tbed_disk_unload record = {
        .process = tbed_le32_make(writer->process_stream),
        .first_id = tbed_le32_make(first_id),
        .tick = tbed_le64_make(tbed_clock_now(writer)),
    };
    tbed_record_append(writer, &record, TBED_RECORD_UNLOAD, sizeof record);
    tbed_writer_unlock(writer);
}
