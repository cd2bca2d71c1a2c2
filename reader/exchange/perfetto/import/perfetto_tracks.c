/*
 * Tracks of a Perfetto trace: threads, processes, counters, and those with only a name, which belong to the process or thread
 * above them. A descriptor may come after events of its track.
 *
 * SPDX-License-Identifier: MIT
 */
#include "reader/exchange/perfetto/import/perfetto_import.h"

#include <string.h>

enum {
    TRACK_UUID = 1,
    TRACK_NAME = 2,
    TRACK_PROCESS = 3,
    TRACK_THREAD = 4,
    TRACK_PARENT = 5,
    TRACK_COUNTER = 8,
    TRACK_STATIC_NAME = 10,
    TRACK_ATRACE_NAME = 13
};
enum { PROCESS_PID = 1, PROCESS_NAME = 6 };
enum { THREAD_PID = 1, THREAD_TID = 2, THREAD_NAME = 5, THREAD_REFERENCE_US = 6 };
enum { COUNTER_UNIT = 3, COUNTER_MULTIPLIER = 4, COUNTER_INCREMENTAL = 5, COUNTER_UNIT_NAME = 6 };

#define PARENTS_MAX      16u
#define UNIT_NMAX        64u
#define COUNTERS_OF      UINT64_C(0xC0)
#define ASYNC_OF         UINT64_C(0xA0)
#define OLD_THREAD_TRACK (UINT64_C(1) << 63)

static uint64_t key_of(uint64_t uuid)
{
    return tbed_event_key(1, uuid);
}

struct perfetto_in_track *tbed_perfetto_track(struct perfetto_import *perfetto, uint64_t uuid)
{
    size_t known = perfetto->tracks.map.count;
    struct perfetto_in_track *track = TBED_HASHMAP_ADD(&perfetto->tracks, key_of(uuid));
    perfetto->is_out_of_memory |= track == NULL;
    if (track != NULL && perfetto->tracks.map.count > known) {
        track->index = EVENT_NONE;
        track->name_id = track->counter_id = TBED_ID_INVALID;
        track->multiplier = 1;
    }
    return track;
}

/* ---- Where its events go ---- */

/* The nearest track above, or itself, that is a process or a thread. NULL: there is none. */
static const struct perfetto_in_track *owner_of(const struct perfetto_import *perfetto,
                                                const struct perfetto_in_track *track)
{
    for (unsigned i = 0; i < PARENTS_MAX && track != NULL; i++) {
        if (track->is_process || track->is_thread)
            return track;
        track = track->parent != 0 ? TBED_HASHMAP_FIND(&perfetto->tracks, key_of(track->parent)) : NULL;
    }
    return NULL;
}

static uint32_t process_of(struct perfetto_import *perfetto, const struct perfetto_in_track *track)
{
    const struct perfetto_in_track *owner = owner_of(perfetto, track);
    uint32_t pid = owner != NULL ? owner->pid : 0;
    return tbed_event_process(&perfetto->events, tbed_event_key(2, pid), pid);
}

static void set_name(struct perfetto_import *perfetto, uint32_t index, const char *name, size_t nbytes)
{
    if (nbytes > 0)
        tbed_event_track_name(&perfetto->events, index, name, nbytes);
}

uint32_t tbed_perfetto_track_index(struct perfetto_import *perfetto, uint64_t uuid)
{
    struct perfetto_in_track *track = tbed_perfetto_track(perfetto, uuid);
    if (track == NULL || track->index != EVENT_NONE)
        return track != NULL ? track->index : EVENT_NONE;
    uint32_t process = process_of(perfetto, track);
    uint64_t key = track->is_thread ? tbed_event_key(tbed_event_key(3, track->pid), track->tid)
                                    : tbed_event_key(4, uuid);
    track->index = tbed_event_track(&perfetto->events, key, process, track->is_thread ? track->tid : 0);
    return track->index;
}

uint32_t tbed_perfetto_thread_above(struct perfetto_import *perfetto, const struct perfetto_in_track *track)
{
    const struct perfetto_in_track *owner = owner_of(perfetto, track);
    return owner != NULL && owner != track && owner->is_thread ? owner->index : EVENT_NONE;
}

uint32_t tbed_perfetto_async_index(struct perfetto_import *perfetto, const struct perfetto_in_track *track)
{
    static const char name[] = "asynchronous spans";
    uint32_t process = process_of(perfetto, track);
    size_t known = perfetto->events.tracks.count;
    uint32_t index = tbed_event_track(&perfetto->events, tbed_event_key(ASYNC_OF, process), process, 0);
    if (perfetto->events.tracks.count > known)
        set_name(perfetto, index, name, sizeof name - 1);
    return index;
}

uint32_t tbed_perfetto_counter_index(struct perfetto_import *perfetto, uint64_t uuid)
{
    static const char name[] = "counters";
    struct perfetto_in_track *track = tbed_perfetto_track(perfetto, uuid);
    if (track == NULL)
        return EVENT_NONE;
    const struct perfetto_in_track *owner = owner_of(perfetto, track);
    uint32_t process = process_of(perfetto, track);
    size_t known = perfetto->events.tracks.count;
    uint64_t key = owner != NULL && owner->is_thread
                       ? tbed_event_key(tbed_event_key(3, owner->pid), owner->tid)
                       : tbed_event_key(COUNTERS_OF, process);
    uint32_t tid = owner != NULL && owner->is_thread ? owner->tid : 0;
    uint32_t index = tbed_event_track(&perfetto->events, key, process, tid);
    if (perfetto->events.tracks.count > known && tid == 0)
        set_name(perfetto, index, name, sizeof name - 1);
    return index;
}

/* ---- Descriptors ---- */

struct descriptor {
    uint64_t uuid, parent;
    struct proto_field name, process, thread, counter;
};

static bool read_descriptor(const struct proto_field *message, struct descriptor *descriptor)
{
    struct proto_in in = tbed_proto_inside(message);
    struct proto_field field;
    memset(descriptor, 0, sizeof *descriptor);
    while (tbed_proto_next(&in, &field)) {
        bool is_bytes = field.wire == PROTO_BYTES;
        if (field.number == TRACK_UUID && !is_bytes)
            descriptor->uuid = field.value;
        else if (field.number == TRACK_PARENT && !is_bytes)
            descriptor->parent = field.value;
        else if (is_bytes && (field.number == TRACK_NAME || field.number == TRACK_STATIC_NAME ||
                              field.number == TRACK_ATRACE_NAME))
            descriptor->name = field;
        else if (is_bytes && field.number == TRACK_PROCESS)
            descriptor->process = field;
        else if (is_bytes && field.number == TRACK_THREAD)
            descriptor->thread = field;
        else if (is_bytes && field.number == TRACK_COUNTER)
            descriptor->counter = field;
    }
    return !in.is_bad;
}

struct thread {
    uint32_t pid, tid;
    struct proto_field name;
    int64_t reference_us;
};

static bool read_thread(const struct proto_field *message, struct thread *thread)
{
    struct proto_in in = tbed_proto_inside(message);
    struct proto_field field;
    *thread = (struct thread){.name = {.bytes = ""}};
    while (tbed_proto_next(&in, &field)) {
        if (field.number == THREAD_NAME && field.wire == PROTO_BYTES)
            thread->name = field;
        else if (field.number == THREAD_PID && field.wire == PROTO_VARINT)
            thread->pid = (uint32_t)field.value;
        else if (field.number == THREAD_TID && field.wire == PROTO_VARINT)
            thread->tid = (uint32_t)field.value;
        else if (field.number == THREAD_REFERENCE_US && field.wire == PROTO_VARINT)
            thread->reference_us = (int64_t)field.value;
    }
    return !in.is_bad;
}

static bool take_process(struct perfetto_import *perfetto, struct perfetto_in_track *track,
                         const struct proto_field *message)
{
    struct proto_in in = tbed_proto_inside(message);
    struct proto_field field, name = {.bytes = ""};
    uint32_t pid = 0;
    while (tbed_proto_next(&in, &field)) {
        if (field.number == PROCESS_NAME && field.wire == PROTO_BYTES)
            name = field;
        else if (field.number == PROCESS_PID && field.wire == PROTO_VARINT)
            pid = (uint32_t)field.value;
    }
    track->is_process = !in.is_bad;
    track->pid = pid;
    uint32_t process = process_of(perfetto, track);
    if (name.nbytes > 0)
        tbed_event_process_name(&perfetto->events, process, name.bytes, name.nbytes);
    return !in.is_bad;
}

static bool take_counter(struct perfetto_import *perfetto, struct perfetto_in_track *track,
                         const struct proto_field *message)
{
    static const char *const units[] = {"", "ns", "", "bytes"};
    struct proto_in in = tbed_proto_inside(message);
    struct proto_field field;
    char unit[UNIT_NMAX] = "";
    while (tbed_proto_next(&in, &field)) {
        if (field.number == COUNTER_UNIT && field.wire == PROTO_VARINT && field.value < 4 && unit[0] == '\0')
            strcpy(unit, units[field.value]);
        else if (field.number == COUNTER_MULTIPLIER && field.wire == PROTO_VARINT && field.value != 0)
            track->multiplier = (int64_t)field.value;
        else if (field.number == COUNTER_INCREMENTAL && field.wire == PROTO_VARINT)
            track->is_incremental = field.value != 0;
        else if (field.number == COUNTER_UNIT_NAME && field.wire == PROTO_BYTES &&
                 field.nbytes < sizeof unit) {
            memcpy(unit, field.bytes, field.nbytes);
            unit[field.nbytes] = '\0';
        }
    }
    track->is_counter = true;
    track->counter_id =
        track->name_id != TBED_ID_INVALID ? track->name_id : tbed_event_intern(&perfetto->events, "", 0);
    if (unit[0] != '\0' && !track->is_unit_known)
        tbed_counter_describe(perfetto->events.writer, track->counter_id, unit);
    track->is_unit_known = true;
    return !in.is_bad;
}

/* Events may have come before the descriptor. */
static void describe_again(struct perfetto_import *perfetto, struct perfetto_in_track *track,
                           struct proto_field name)
{
    struct event_track *known = &perfetto->events.tracks.items[track->index];
    uint32_t process = process_of(perfetto, track);
    if (process != EVENT_NONE)
        known->process = process;
    if (track->is_thread)
        known->tid = track->tid;
    set_name(perfetto, track->index, name.bytes, name.nbytes);
}

bool tbed_perfetto_take_track(struct perfetto_import *perfetto, const struct proto_field *message)
{
    struct descriptor descriptor;
    struct thread thread = {.name = {.bytes = ""}};
    if (!read_descriptor(message, &descriptor) ||
        (descriptor.thread.bytes != NULL && !read_thread(&descriptor.thread, &thread)))
        return false;
    struct perfetto_in_track *track = tbed_perfetto_track(perfetto, descriptor.uuid);
    if (track == NULL)
        return true;
    bool is_fine = true;
    struct proto_field name = descriptor.name;
    if (descriptor.parent != 0)
        track->parent = descriptor.parent;
    if (descriptor.thread.bytes != NULL) {
        track->is_thread = true;
        track->pid = thread.pid;
        track->tid = thread.tid;
        name = thread.name.nbytes > 0 ? thread.name : name;
    }
    if (name.nbytes > 0)
        track->name_id = tbed_event_intern(&perfetto->events, name.bytes, name.nbytes);
    if (descriptor.process.bytes != NULL && descriptor.thread.bytes == NULL)
        is_fine = take_process(perfetto, track, &descriptor.process);
    if (descriptor.counter.bytes != NULL)
        is_fine = take_counter(perfetto, track, &descriptor.counter) && is_fine;
    bool was_resolved = track->index != EVENT_NONE;
    if (!track->is_counter && !track->is_process &&
        tbed_perfetto_track_index(perfetto, descriptor.uuid) != EVENT_NONE) {
        track = tbed_perfetto_track(perfetto, descriptor.uuid);
        if (was_resolved)
            describe_again(perfetto, track, name);
        else
            set_name(perfetto, track->index, name.bytes, name.nbytes);
    }
    return is_fine;
}

/* As Chrome once wrote it: the events of the sequence are the thread's. */
bool tbed_perfetto_take_thread(struct perfetto_import *perfetto, struct perfetto_sequence *sequence,
                               uint32_t sequence_id, const struct proto_field *message)
{
    struct thread thread;
    if (!read_thread(message, &thread))
        return false;
    sequence->thread_track = OLD_THREAD_TRACK | sequence_id;
    if (__builtin_mul_overflow(thread.reference_us, 1000, &sequence->reference_ns))
        sequence->reference_ns = 0;
    struct perfetto_in_track *track = tbed_perfetto_track(perfetto, sequence->thread_track);
    if (track == NULL)
        return true;
    track->is_thread = true;
    track->pid = thread.pid;
    track->tid = thread.tid;
    set_name(perfetto, tbed_perfetto_track_index(perfetto, OLD_THREAD_TRACK | sequence_id), thread.name.bytes,
             thread.name.nbytes);
    return true;
}
