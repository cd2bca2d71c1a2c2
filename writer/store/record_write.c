/*
 * Records, appended; and those in which a process speaks of itself.
 *
 * Source: spec/format.md, section 8.
 *
 * SPDX-License-Identifier: MIT
 */
#include <unistd.h>

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

void tbed_anchor_append(struct tbed_writer *writer)
{
    if (writer->fields.clock == TBED_CLOCK_USER || writer->has_given_ticks)
        return;
    struct tbed_clock_reading now = tbed_clock_read(writer);
    struct tbed_disk_anchor record = {
        .ticks = tbed_le64_make(now.ticks),
        .realtime_ns = tbed_le64_make(now.realtime_ns),
        .monotonic_ns = tbed_le64_make(now.monotonic_ns),
    };
    tbed_record_append(writer, &record, TBED_RECORD_ANCHOR, sizeof record);
}
