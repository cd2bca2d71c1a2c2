/*
 * Imports the events of a profile into streams of the trace: one for each thread, each in file order.
 *
 * Nothing is reordered or corrected. Oddities are counted.
 *
 * SPDX-License-Identifier: MIT
 */
#include "reader/exchange/measureme/import/import.h"

#include <stdlib.h>

struct track {
    uint64_t key; /* the thread + 1 */
    struct tbed_recorder *recorder;
    uint64_t tick;  /* of the previous event; 0: none yet */
    bool is_shared; /* shared by all further threads */
};

struct tracks {
    TBED_HASHMAP(struct track) known;
    struct track further;
};

struct events {
    struct import *import;
    struct tracks tracks;
    struct track *last; /* most events are of the same thread as the previous one */
    uint32_t thread_name_id;
    bool is_out_of_memory; /* a thread has no track */
};

/* ---- Tracks ---- */

static struct track *further_track(struct events *events)
{
    static const char name[] = "thread";
    struct track *further = &events->tracks.further;
    if (further->recorder == NULL) {
        struct tbed_writer *writer = events->import->writer;
        *further = (struct track){.is_shared = true,
                                  .recorder = tbed_recorder_open_given(writer, "further threads", 0)};
        events->thread_name_id = tbed_string_intern(writer, name, sizeof name - 1);
    }
    return further;
}

static struct track *track_find(struct events *events, uint64_t thread)
{
    struct tracks *tracks = &events->tracks;
    uint64_t key = thread + 1; /* the highest number, which is not a thread's, has no key */
    struct track *track = key != 0 ? TBED_HASHMAP_FIND(&tracks->known, key) : NULL;
    if (track != NULL)
        return track;
    if (key == 0 || tracks->known.map.count >= IMPORT_THREAD_MAX)
        return further_track(events);
    track = TBED_HASHMAP_ADD(&tracks->known, key);
    events->is_out_of_memory = events->is_out_of_memory || track == NULL;
    if (track == NULL)
        return further_track(events);
    events->import->report->thread_count++;
    track->recorder = tbed_recorder_open_given(events->import->writer, NULL, (uint32_t)thread);
    return track;
}

/* ---- Events ---- */

static inline void put(struct events *events, struct track *track, struct tbed_given_event *given,
                       uint64_t thread)
{
    struct tbed_argument arguments[2];
    if (given->type == TBED_GIVEN_COUNTER || track->is_shared) {
        for (size_t i = 0; i < given->argument_count; i++)
            arguments[i] = given->arguments[i];
        if (track->is_shared)
            arguments[given->argument_count++] = (struct tbed_argument){
                .type = TBED_ARG_U64, .name_id = events->thread_name_id, .nbytes = 8, .value.u64 = thread};
        given->arguments = arguments;
    }
    tbed_event_record_given(track->recorder, given);
}

static inline void give(struct events *events, struct track *track, const struct mm_event *event)
{
    struct import *import = events->import;
    struct tbed_import_report *report = import->report;
    struct tbed_argument value;
    struct tbed_given_event given = {.id = import_id(&import->ids, event->id),
                                     .category = import_kind(&import->ids, event->kind),
                                     .tick = track->tick};
    if (event->type == MM_INTEGER) {
        value = (struct tbed_argument){
            .type = TBED_ARG_U64, .name_id = TBED_ID_INVALID, .nbytes = 8, .value.u64 = event->begin};
        given.type = TBED_GIVEN_COUNTER;
        given.arguments = &value;
        given.argument_count = 1;
        report->integer_count++;
    } else {
        bool is_interval = event->type == MM_INTERVAL;
        given.type = is_interval ? TBED_GIVEN_SPAN : TBED_GIVEN_INSTANT;
        given.tick = event->end;
        given.begin_tick = event->begin;
        report->interval_count += is_interval;
        report->instant_count += !is_interval;
        report->inverted_count += event->end < event->begin;
        report->unordered_count += event->end < track->tick;
        track->tick = event->end;
    }
    put(events, track, &given, event->thread);
}

/* A loop of its own, so that the loads of the bits, which are scattered in memory, overlap. */
static inline void mark_chunk(const struct import_marks *marks, const struct mm_chunk *chunk,
                              enum mm_shape shape)
{
    const struct import_marks local = *marks;
    const uint8_t *at = chunk->bytes;
    for (uint32_t i = 0; i < chunk->event_count; i++, at += chunk->event_nbytes) {
        struct mm_event event;
        mm_event_load(at, shape, &event);
        import_mark_id(&local, local.used, event.id);
        import_mark_id(&local, local.used, event.kind);
    }
}

/* Callers pass a constant 'shape', so that the loops have no branches on it. */
static inline void give_chunk(struct events *events, const struct mm_chunk *chunk, enum mm_shape shape)
{
    const uint8_t *at = chunk->bytes;
    struct track *track = events->last;
    mark_chunk(&events->import->marks, chunk, shape);
    for (uint32_t i = 0; i < chunk->event_count; i++, at += chunk->event_nbytes) {
        struct mm_event event;
        mm_event_load(at, shape, &event);
        if (track == NULL || track->key != event.thread + 1 || track->is_shared)
            track = track_find(events, event.thread);
        give(events, track, &event);
    }
    events->last = track;
}

static void give_all(struct events *events, enum mm_shape shape)
{
    const struct import *import = events->import;
    size_t count = mm_chunk_count(import->file);
    for (size_t i = 0; i < count; i++) {
        struct mm_chunk chunk = mm_chunk_get(import->file, i);
        switch (shape) {
        case MM_SHAPE_24_NO_INTEGERS:
            give_chunk(events, &chunk, MM_SHAPE_24_NO_INTEGERS);
            break;
        case MM_SHAPE_24:
            give_chunk(events, &chunk, MM_SHAPE_24);
            break;
        case MM_SHAPE_32:
            give_chunk(events, &chunk, MM_SHAPE_32);
            break;
        case MM_SHAPE_PAIRED:
            give_chunk(events, &chunk, MM_SHAPE_PAIRED);
            break;
        }
        mm_release(import->file, &chunk);
    }
}

enum tbed_status tbed_import_events(struct import *import)
{
    struct events events = {.import = import};
    struct tbed_import_report *report = import->report;
    give_all(&events, mm_event_shape(import->file));
    report->event_count = report->interval_count + report->instant_count + report->integer_count;
    tbed_hashmap_free(&events.tracks.known.map); /* the recorders are the writer's */
    return events.is_out_of_memory ? TBED_ERR_MEMORY : TBED_OK;
}
