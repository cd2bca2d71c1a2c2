/*
 * What the imports of formats of events have in common: processes, tracks, events of any order, and the trace that is made
 * of them.
 *
 *     tbed_event_import_open()
 *     process = tbed_event_process(), track = tbed_event_track()      for each event: mostly found
 *     tbed_event_argument(), tbed_event_put()
 *     tbed_event_import_finish()                                      writes all events
 *     tbed_event_import_close()
 *
 * Memory grows with the processes, tracks and different names, not with the events.
 *
 * SPDX-License-Identifier: MIT
 */
#ifndef TRACEBED_EXCHANGE_EVENT_IMPORT_H
#define TRACEBED_EXCHANGE_EVENT_IMPORT_H

#include <tracebed/exchange.h>
#include <tracebed/writer.h>

#include "reader/core/base/hashmap.h"
#include "reader/core/base/vector.h"
#include "reader/exchange/foreign/sorted_rows.h"

#define EVENT_TRACK_MAX       65536u /* all further threads share the last one */
#define EVENT_NAME_NMAX       4096u  /* of a process or a track; a longer one is cut */
#define EVENT_INLINE_TEXT_MAX 8192u  /* a longer argument is stored as a string */
#define EVENT_NONE            UINT32_MAX

struct event_slot {
    uint64_t key;
    uint32_t index;
};

struct event_process {
    uint32_t pid;
    uint32_t number; /* in the trace; 0: not recorded yet, or the writer's own */
    bool is_recorded;
    char *name; /* NULL: unknown */
};

struct event_track {
    uint32_t process, tid;
    char *name;
    uint64_t last_begin, last_end; /* of its spans, in the order of the file */
    bool begins_decrease, ends_decrease, has_inner_behind;
};

struct event_import {
    struct tbed_writer *writer;
    struct tbed_import_report *report;
    struct event_rows rows;
    enum tbed_status status; /* the first failure */

    TBED_VECTOR(struct event_process) processes;
    TBED_VECTOR(struct event_track) tracks;
    TBED_HASHMAP(struct event_slot) process_slots;
    TBED_HASHMAP(struct event_slot) track_slots;

    struct tbed_argument arguments[EVENT_ARGUMENTS_MAX]; /* of the event that is being put together */
    size_t argument_count, argument_nbytes;
    uint32_t last_string; /* ids of strings rise */
    uint64_t first_time;  /* EVENT_TIME() */
    uint64_t first_begin; /* the same, of a span that is begun by an event of its own */
};

/* Begins a trace in 'fd', a new file. Errors: those of tbed_writer_open_fd(). */
enum tbed_status tbed_event_import_open(struct event_import *import, int fd,
                                        struct tbed_import_report *report, struct tbed_error *error);
void tbed_event_import_close(struct event_import *import);

/* Adds to what the report has about damage. */
void tbed_event_damage(struct event_import *import, enum tbed_status status, uint64_t offset);
void tbed_event_note(struct event_import *import, enum tbed_import_note note);

/* The process or track of a key, which is any number; a new one if there is none. EVENT_NONE: no memory, see 'status'. */
uint32_t tbed_event_process(struct event_import *import, uint64_t key, uint32_t pid);
uint32_t tbed_event_track(struct event_import *import, uint64_t key, uint32_t process, uint32_t tid);

/* Whether the file lists the track's spans in the order of their begins. */
static inline bool tbed_event_is_by_begin(const struct event_track *track)
{
    return track->ends_decrease || (track->has_inner_behind && !track->begins_decrease);
}

/* The last name counts. */
void tbed_event_process_name(struct event_import *import, uint32_t process, const char *name, size_t nbytes);
void tbed_event_track_name(struct event_import *import, uint32_t track, const char *name, size_t nbytes);

/* The id of a text. */
uint32_t tbed_event_intern(struct event_import *import, const char *text, size_t nbytes);

/* Adds to the arguments of the event that is being put together. The text is not copied before tbed_event_put(). */
void tbed_event_argument(struct event_import *import, struct tbed_argument argument);
void tbed_event_text(struct event_import *import, uint32_t name_id, const char *text, size_t nbytes);

/* Takes the event with the arguments that were added. */
void tbed_event_put(struct event_import *import, const struct event_row *row);

/* Writes the trace. */
enum tbed_status tbed_event_import_finish(struct event_import *import, struct tbed_error *error);

static inline uint64_t tbed_event_key(uint64_t a, uint64_t b)
{
    uint64_t key = (a * UINT64_C(0x9E3779B97F4A7C15) ^ b) * UINT64_C(0xD6E8FEB86659FD93);
    key ^= key >> 32;
    return key != 0 ? key : 1;
}

#endif
