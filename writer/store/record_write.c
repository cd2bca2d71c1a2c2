/*
 * Appending records, and the records in which a process describes itself.
 *
 * Source: spec/format.md, section 8.
 *
 * SPDX-License-Identifier: MIT
 */
#include <string.h>
#include <unistd.h>

#include "writer/base/shared_words.h"
#include "writer/store/entries.h"
#include "writer/store/records.h"

/* Copies a record into a record block; the head word, which commits it, is stored last. */
bool tbed_record_append_parts(struct tbed_store *store, enum tbed_record_type type, const void *fixed,
                              uint32_t fixed_nbytes, const void *rest, uint32_t rest_nbytes)
{
    uint32_t nbytes = (uint32_t)tbed_round_up((uint64_t)fixed_nbytes + rest_nbytes, 8);
    uint8_t *room = tbed_block_room(store, &store->records, nbytes);
    if (room == NULL)
        return false;
    memcpy(room + 8, (const uint8_t *)fixed + 8, fixed_nbytes - 8);
    if (rest_nbytes > 0)
        memcpy(room + fixed_nbytes, rest, rest_nbytes);
    tbed_word_store(room, (uint64_t)nbytes << 32 | type);
    return true;
}

bool tbed_record_append(struct tbed_store *store, void *record, enum tbed_record_type type, uint32_t nbytes)
{
    return tbed_record_append_parts(store, type, record, nbytes, NULL, 0);
}

bool tbed_stream_append(struct tbed_store *store, struct tbed_disk_stream *record,
                        enum tbed_drop_cause *cause_ret)
{
    uint8_t *room = tbed_block_room_or_cause(store, &store->records, sizeof *record, cause_ret);
    if (room == NULL)
        return false;
    memcpy(room + 8, (const uint8_t *)record + 8, sizeof *record - 8);
    tbed_word_store(room, (uint64_t)sizeof *record << 32 | TBED_RECORD_STREAM);
    return true;
}

void tbed_process_record(struct tbed_store *store, uint32_t name_id, uint32_t forked_from)
{
    bool is_own = store->file.process.given_pid == 0;
    uint32_t given_pid =
        store->file.process.given_pid == TBED_PID_UNKNOWN ? 0 : store->file.process.given_pid;
    struct tbed_disk_process record = {
        .stream = tbed_le32_make(store->file.process.stream),
        .pid = tbed_le32_make(is_own ? (uint32_t)getpid() : given_pid),
        .parent_pid = tbed_le32_make(is_own ? (uint32_t)getppid() : 0),
        .name_id = tbed_le32_make(name_id),
        .tick = tbed_le64_make(tbed_clock_now(&store->file.clock)),
        .forked_from = tbed_le32_make(forked_from),
        .instants = tbed_le32_make(store->file.process.instants_are_allocations ? TBED_INSTANTS_ALLOCATIONS
                                                                                : TBED_INSTANTS_ANY),
    };
    tbed_record_append(store, &record, TBED_RECORD_PROCESS, sizeof record);
}

uint32_t tbed_other_process_record(struct tbed_store *store, uint32_t name_id, uint32_t pid,
                                   uint32_t parent_pid, uint32_t forked_from)
{
    uint64_t number = tbed_shared_add(&tbed_shared(&store->file)->next_stream, 1);
    struct tbed_disk_process record = {
        .stream = tbed_le32_make((uint32_t)number),
        .pid = tbed_le32_make(pid),
        .parent_pid = tbed_le32_make(parent_pid),
        .name_id = tbed_le32_make(name_id),
        .tick = tbed_le64_make(tbed_clock_now(&store->file.clock)),
        .forked_from = tbed_le32_make(forked_from),
    };
    if (number > UINT32_MAX)
        return 0;
    return tbed_record_append(store, &record, TBED_RECORD_PROCESS, sizeof record) ? (uint32_t)number : 0;
}

void tbed_process_describe(struct tbed_store *store, uint32_t number, uint32_t name_id, uint32_t pid)
{
    struct tbed_disk_process record = {
        .stream = tbed_le32_make(number),
        .pid = tbed_le32_make(pid),
        .name_id = tbed_le32_make(name_id),
        .tick = tbed_le64_make(tbed_clock_now(&store->file.clock)),
    };
    tbed_record_append(store, &record, TBED_RECORD_PROCESS, sizeof record);
}

void tbed_anchor_append(struct tbed_store *store)
{
    if (store->file.fields.clock == TBED_CLOCK_USER || store->file.clock.is_given)
        return;
    struct tbed_clock_reading now = tbed_clock_read(&store->file.clock);
    struct tbed_disk_anchor record = {
        .ticks = tbed_le64_make(now.ticks),
        .realtime_ns = tbed_le64_make(now.realtime_ns),
        .monotonic_ns = tbed_le64_make(now.monotonic_ns),
    };
    tbed_record_append(store, &record, TBED_RECORD_ANCHOR, sizeof record);
}
