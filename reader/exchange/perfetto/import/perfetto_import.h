/*
 * Imports of Perfetto's protobuf. Declarations shared by its files: the file and its packets (perfetto_file.c), what packets
 * of one sequence have in common (perfetto_sequence.c), clocks, tracks, events and their annotations.
 *
 * SPDX-License-Identifier: MIT
 */
#ifndef TRACEBED_EXCHANGE_PERFETTO_IMPORT_H
#define TRACEBED_EXCHANGE_PERFETTO_IMPORT_H

#include "reader/core/base/text.h"
#include "reader/exchange/foreign/event_import.h"
#include "reader/exchange/foreign/foreign_input.h"
#include "reader/exchange/foreign/proto_in.h"

#define PERFETTO_SEQUENCE_MAX 65536u
#define PERFETTO_COUNTERS_MAX 16u /* extra values of one event */
#define PERFETTO_CLOCK_BOOT   6u  /* the default; times of the trace are its times */

/* ---- Sequences ---- */

enum perfetto_in_list { /* by the field of InternedData; the last has other strings */
                        PERFETTO_IN_CATEGORY = 1,
                        PERFETTO_IN_NAME = 2,
                        PERFETTO_IN_ANNOTATION = 3,
                        PERFETTO_IN_PLACE = 4,
                        PERFETTO_IN_STRING = 29,
};

struct perfetto_entry {
    uint64_t key; /* of list and iid */
    uint32_t id;  /* of the text in the trace; of a place, of its function */
    uint32_t file_id, line;
    size_t at, nbytes; /* the text, in 'texts' of the sequence */
};

struct perfetto_sequence {
    TBED_HASHMAP(struct perfetto_entry) entries;
    struct tbed_text texts;
    uint64_t clock; /* of its packets, unless they say otherwise */
    uint64_t track; /* of its events, the same; 0: none */
    uint64_t counters[PERFETTO_COUNTERS_MAX], f64_counters[PERFETTO_COUNTERS_MAX];
    uint32_t counter_count, f64_counter_count;
    uint64_t thread_track; /* of an old thread descriptor; 0: none */
    int64_t reference_ns;  /* the same: what deltas of times are added to */
};

/* ---- Tracks ---- */

struct perfetto_in_track {
    uint64_t key; /* of its uuid */
    uint64_t parent;
    uint32_t index;   /* of the track in the import; EVENT_NONE: none yet */
    uint32_t name_id; /* of its name as a string; TBED_ID_INVALID: it has none */
    uint32_t pid, tid;
    bool is_process, is_thread, is_counter, is_unit_known;
    bool is_incremental;
    int64_t multiplier;
    int64_t sum; /* of an incremental counter */
    uint32_t counter_id;
    uint32_t span_count; /* begun on it and not ended, in the order of the file; not the asynchronous ones */
};

/* ---- Clocks ---- */

struct perfetto_clock {
    uint64_t key;  /* of the id and, if it is local, of the sequence */
    int64_t ns;    /* what the clock showed, in nanoseconds of its own, */
    int64_t time;  /* at this time of the trace */
    int64_t last;  /* of an incremental clock: the last time */
    uint64_t unit; /* nanoseconds */
    bool is_incremental;
};

struct perfetto_flow {
    uint64_t key;
    uint32_t name;
};

struct perfetto_place {
    uint64_t key; /* of the string whose place has been stored */
};

struct perfetto_import {
    struct event_import events;
    struct foreign_input input;
    TBED_HASHMAP(struct event_slot) sequence_slots;
    TBED_VECTOR(struct perfetto_sequence) sequences;
    TBED_HASHMAP(struct perfetto_in_track) tracks;
    TBED_HASHMAP(struct perfetto_clock) clocks;
    TBED_HASHMAP(struct perfetto_flow) flows;
    TBED_HASHMAP(struct perfetto_place) places;
    struct tbed_text
        text; /* arguments of the current event that are put together; does not move while there are any */
    /* The begin of a span on a track of its own below a thread, at most one: if its end comes next, it is the thread's. */
    struct event_rows aside;
    uint64_t aside_uuid;
    uint64_t search_nbytes; /* looked at for the next packet, behind damage */
    bool is_out_of_memory;
};

/* A packet: the fields that matter to its parts. */
struct perfetto_packet {
    struct proto_field event, track, interned, defaults, clocks, thread;
    uint64_t timestamp, clock;
    uint32_t sequence, flags;
    bool has_timestamp, has_clock, has_event, has_track, has_interned, has_defaults, has_clocks, has_thread,
        is_cleared, has_lost;
};

/* ---- perfetto_sequence.c ---- */

/* NULL: there are too many, or no memory. Valid until the next call. */
struct perfetto_sequence *tbed_perfetto_sequence(struct perfetto_import *perfetto, uint32_t id);
void tbed_perfetto_sequence_clear(struct perfetto_sequence *sequence);
void tbed_perfetto_sequence_free(struct perfetto_sequence *sequence);
/* These two return false if the message is not well-formed. */
bool tbed_perfetto_take_interned(struct perfetto_import *perfetto, struct perfetto_sequence *sequence,
                                 const struct proto_field *message);
bool tbed_perfetto_take_defaults(struct perfetto_sequence *sequence, const struct proto_field *message);
/* NULL: there is none. */
const struct perfetto_entry *tbed_perfetto_entry(const struct perfetto_sequence *sequence,
                                                 enum perfetto_in_list list, uint64_t iid);

/* ---- perfetto_clocks.c ---- */

bool tbed_perfetto_take_clocks(struct perfetto_import *perfetto, uint32_t sequence,
                               const struct proto_field *message);
/* The time of the trace, in nanoseconds. False: the clock is unknown, or the time is out of range. */
bool tbed_perfetto_time(struct perfetto_import *perfetto, uint32_t sequence, uint64_t clock, uint64_t value,
                        int64_t *time_ret);

/* ---- perfetto_tracks.c ---- */

bool tbed_perfetto_take_track(struct perfetto_import *perfetto, const struct proto_field *message);
bool tbed_perfetto_take_thread(struct perfetto_import *perfetto, struct perfetto_sequence *sequence,
                               uint32_t sequence_id, const struct proto_field *message);
/* The track; new if it is unknown. NULL: no memory. Valid until the next call. */
struct perfetto_in_track *tbed_perfetto_track(struct perfetto_import *perfetto, uint64_t uuid);
/* The track in the import for events of this one, and for its values if it is a counter's. */
uint32_t tbed_perfetto_track_index(struct perfetto_import *perfetto, uint64_t uuid);
/* The same of the thread above this track; EVENT_NONE: there is none, or it is one. */
uint32_t tbed_perfetto_thread_above(struct perfetto_import *perfetto, const struct perfetto_in_track *track);
/* The same for asynchronous spans: one of the process. */
uint32_t tbed_perfetto_async_index(struct perfetto_import *perfetto, const struct perfetto_in_track *track);
uint32_t tbed_perfetto_counter_index(struct perfetto_import *perfetto, uint64_t uuid);

/* ---- perfetto_notes.c ---- */

/*
 * Adds a debug annotation to the event's arguments. Sets '*never_ended' if it says so of a span; that is no argument. False:
 * it is not well-formed.
 */
bool tbed_perfetto_take_annotation(struct perfetto_import *perfetto, const struct perfetto_sequence *sequence,
                                   const struct proto_field *message, size_t place, bool *never_ended);

/* ---- perfetto_track_events.c ---- */

bool tbed_perfetto_take_event(struct perfetto_import *perfetto, struct perfetto_sequence *sequence,
                              const struct perfetto_packet *packet);

/* After the last one. */
void tbed_perfetto_finish_events(struct perfetto_import *perfetto);

/* ---- The registry; see exchange_format.h ---- */

bool tbed_perfetto_has_start(const char *start, size_t nbytes);
enum tbed_status tbed_perfetto_import(const void *source, int fd, struct tbed_import_report *report,
                                      struct tbed_error *error_ret);

#endif
