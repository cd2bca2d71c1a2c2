/*
 * The packets of the Perfetto export: clocks, tracks, and what precedes an event in its packet.
 *
 * SPDX-License-Identifier: MIT
 */
#include "reader/exchange/perfetto/perfetto.h"

#include <string.h>

enum {
    PACKET_CLOCKS = 6,
    PACKET_TIMESTAMP = 8,
    PACKET_SEQUENCE = 10,
    PACKET_EVENT = 11,
    PACKET_FLAGS = 13,
    PACKET_TRACK = 60,
    PACKET_FIRST = 87
};
enum { FLAG_CLEARED = 1, FLAG_NEEDS = 2 };
enum { CLOCK_REALTIME = 1, CLOCK_BOOTTIME = 6 };
enum {
    TRACK_UUID = 1,
    TRACK_NAME = 2,
    TRACK_PROCESS = 3,
    TRACK_THREAD = 4,
    TRACK_PARENT = 5,
    TRACK_COUNTER = 8
};
enum { EVENT_TYPE = 9, EVENT_TRACK = 11 };

static uint64_t mix(uint64_t hash, uint64_t value)
{
    hash = (hash ^ value) * UINT64_C(0xBF58476D1CE4E5B9);
    hash = (hash ^ hash >> 29) * UINT64_C(0x94D049BB133111EB);
    return hash ^ hash >> 32;
}

uint64_t tbed_perfetto_uuid(const struct perfetto *perfetto, enum perfetto_track kind, uint64_t of,
                            uint64_t more, uint64_t key)
{
    uint64_t hash = mix(mix(mix(mix(perfetto->walk.trace + 1, kind), of), more), key);
    return hash != 0 ? hash : 1;
}

/* Writes the packet. */
static void put_packet(struct perfetto *perfetto, struct tbed_text *to)
{
    pb_message(to, 1, &perfetto->packet);
    perfetto->is_out_of_memory |= perfetto->packet.is_out_of_memory;
}

static void begin_packet(struct perfetto *perfetto)
{
    struct tbed_text *packet = &perfetto->packet;
    packet->nbytes = 0;
    pb_u64(packet, PACKET_SEQUENCE, perfetto->walk.trace + 1);
    pb_u64(packet, PACKET_FLAGS, perfetto->is_first_packet ? FLAG_CLEARED : FLAG_NEEDS);
    if (perfetto->is_first_packet)
        pb_u64(packet, PACKET_FIRST, 1);
    perfetto->is_first_packet = false;
}

static void put_clock(struct perfetto *perfetto, uint32_t clock, int64_t ns)
{
    perfetto->scratch.nbytes = 0;
    pb_u64(&perfetto->scratch, 1, clock);
    pb_u64(&perfetto->scratch, 2, (uint64_t)ns);
    pb_message(&perfetto->event, 1, &perfetto->scratch);
}

void tbed_perfetto_put_clocks(struct perfetto *perfetto)
{
    if (!perfetto->walk.has_realtime || perfetto->walk.realtime_ns < 0)
        return;
    perfetto->event.nbytes = 0;
    put_clock(perfetto, CLOCK_BOOTTIME, 0);
    put_clock(perfetto, CLOCK_REALTIME, perfetto->walk.realtime_ns);
    begin_packet(perfetto);
    pb_message(&perfetto->packet, PACKET_CLOCKS, &perfetto->event);
    put_packet(perfetto, &perfetto->out->text);
}

/* ---- Tracks ---- */

/* Ids are 32-bit numbers with a sign there: those of processes that were renumbered, and of tracks without a thread, are above
 * all that Linux gives. */
static uint64_t pid_of(uint64_t pid)
{
    return pid >> 32 == 0 ? pid & INT32_MAX : (UINT64_C(1) << 30 | (pid & 0xFFFFFFF));
}

static uint64_t tid_of(uint64_t tid, uint32_t stream)
{
    return tid >> 32 == 0 ? tid & INT32_MAX : (UINT64_C(1) << 29 | (stream & 0xFFFFFFF));
}

static void begin_track(struct perfetto *perfetto, uint64_t uuid)
{
    perfetto->event.nbytes = 0;
    pb_u64(&perfetto->event, TRACK_UUID, uuid);
}

static void end_track(struct perfetto *perfetto)
{
    begin_packet(perfetto);
    pb_message(&perfetto->packet, PACKET_TRACK, &perfetto->event);
    put_packet(perfetto, &perfetto->out->text);
}

void tbed_perfetto_put_process(struct perfetto *perfetto, size_t process)
{
    size_t nbytes;
    const char *name = tbed_export_process_name(&perfetto->walk, process, &nbytes);
    uint64_t pid = perfetto->walk.threads.pids[process];
    perfetto->scratch.nbytes = 0;
    pb_u64(&perfetto->scratch, 1, pid_of(pid));
    if (nbytes > 0)
        pb_bytes(&perfetto->scratch, 6, name, nbytes);
    begin_track(perfetto, tbed_perfetto_uuid(perfetto, PERFETTO_TRACK_PROCESS, pid, 0, 0));
    pb_message(&perfetto->event, TRACK_PROCESS, &perfetto->scratch);
    end_track(perfetto);
}

/* Signal handlers and times off the processor have a track below the thread's, if that is written; 0: none. */
static uint64_t parent_of(const struct perfetto *perfetto, const struct export_thread *thread)
{
    const struct export_thread *parent = tbed_export_threads_find(&perfetto->walk.threads, thread->parent);
    bool is_thread = thread->parent != 0 && parent != NULL && parent->parent == 0;
    return is_thread ? tbed_perfetto_uuid(perfetto, PERFETTO_TRACK_THREAD, parent->stream, 0, 0) : 0;
}

void tbed_perfetto_put_thread(struct perfetto *perfetto)
{
    const struct export_thread *thread = perfetto->walk.thread;
    struct tbed_text *scratch = &perfetto->scratch;
    const char *name = thread->kind == TBED_STREAM_HANDLERS  ? "signal handlers"
                       : thread->kind == TBED_STREAM_OFF_CPU ? "off CPU"
                                                             : "no process";
    size_t nbytes = strlen(name);
    if (thread->name_id != TBED_ID_INVALID)
        name = tbed_export_text_of(&perfetto->walk, thread->name_id, &nbytes);
    perfetto->thread_track = tbed_perfetto_uuid(perfetto, PERFETTO_TRACK_THREAD, thread->stream, 0, 0);
    uint64_t parent = parent_of(perfetto, thread);
    if (thread->pid == 0 || parent != 0) {
        tbed_perfetto_put_track(perfetto, perfetto->thread_track, parent, name, nbytes);
        return;
    }
    scratch->nbytes = 0;
    pb_u64(scratch, 1, pid_of(thread->pid));
    pb_u64(scratch, 2, tid_of(thread->tid, thread->stream));
    if (thread->name_id != TBED_ID_INVALID)
        pb_bytes(scratch, 5, name, nbytes);
    begin_track(perfetto, perfetto->thread_track);
    pb_message(&perfetto->event, TRACK_THREAD, scratch);
    end_track(perfetto);
}

void tbed_perfetto_put_track(struct perfetto *perfetto, uint64_t uuid, uint64_t parent, const char *name,
                             size_t nbytes)
{
    begin_track(perfetto, uuid);
    pb_bytes(&perfetto->event, TRACK_NAME, name, nbytes);
    if (parent != 0)
        pb_u64(&perfetto->event, TRACK_PARENT, parent);
    end_track(perfetto);
}

void tbed_perfetto_put_counter_track(struct perfetto *perfetto, uint64_t uuid, uint64_t parent,
                                     const char *name, size_t nbytes, const char *unit, size_t unit_nbytes)
{
    size_t known = perfetto->counters.map.count;
    perfetto->is_out_of_memory |= TBED_HASHMAP_ADD(&perfetto->counters, uuid) == NULL;
    if (perfetto->counters.map.count == known)
        return;
    perfetto->scratch.nbytes = 0;
    if (unit != NULL)
        pb_bytes(&perfetto->scratch, 6, unit, unit_nbytes);
    begin_track(perfetto, uuid);
    pb_bytes(&perfetto->event, TRACK_NAME, name, nbytes);
    if (parent != 0)
        pb_u64(&perfetto->event, TRACK_PARENT, parent);
    pb_message(&perfetto->event, TRACK_COUNTER, &perfetto->scratch);
    end_track(perfetto);
}

/* ---- Events ---- */

void tbed_perfetto_begin_event(struct perfetto *perfetto, enum perfetto_type type, uint64_t track)
{
    perfetto->event.nbytes = 0;
    pb_u64(&perfetto->event, EVENT_TYPE, type);
    pb_u64(&perfetto->event, EVENT_TRACK, track);
}

void tbed_perfetto_end_event(struct perfetto *perfetto, int64_t ns, struct tbed_text *to)
{
    begin_packet(perfetto);
    pb_u64(&perfetto->packet, PACKET_TIMESTAMP, (uint64_t)ns);
    pb_message(&perfetto->packet, PACKET_EVENT, &perfetto->event);
    put_packet(perfetto, to);
    perfetto->is_out_of_memory |= perfetto->event.is_out_of_memory || perfetto->scratch.is_out_of_memory ||
                                  perfetto->value.is_out_of_memory || to->is_out_of_memory;
    perfetto->walk.job->result->written_count++;
}
