/*
 * Declarations shared by the files of the Perfetto export.
 *
 * Each trace is a sequence of packets with interned names. Its processes and threads are tracks, and so is each counter, each
 * asynchronous span and each span that does not nest in its thread. Perfetto sorts packets by time; at equal times their order
 * decides what is inside what.
 *
 * SPDX-License-Identifier: MIT
 */
#ifndef TRACEBED_EXCHANGE_PERFETTO_H
#define TRACEBED_EXCHANGE_PERFETTO_H

#include "reader/core/base/hashmap.h"
#include "reader/exchange/events/export_nest.h"
#include "reader/exchange/events/export_walk.h"
#include "reader/exchange/perfetto/protobuf.h"

#define PERFETTO_DEPTH_MAX 512u /* Perfetto drops deeper spans, and pairs their ends with others */

enum perfetto_type {
    PERFETTO_BEGIN = 1,
    PERFETTO_END = 2,
    PERFETTO_INSTANT = 3,
    PERFETTO_COUNTER = 4,
};

/* The lists of interned texts, by the field that holds them. */
enum perfetto_list {
    PERFETTO_CATEGORIES = 1,
    PERFETTO_NAMES = 2,
    PERFETTO_ARGUMENT_NAMES = 3,
    PERFETTO_PLACES = 4,
    PERFETTO_LIST_COUNT = 5,
};

struct perfetto_interned {
    uint64_t key;
    uint64_t iid;
};

struct perfetto_counter {
    uint64_t key; /* of its track */
};

/* A span whose begin has been written. */
struct perfetto_open {
    uint64_t begin_tick;
    size_t depth;
    uint32_t id;
    bool is_skipped; /* too deep */
};

struct perfetto {
    struct export_walk walk;
    struct export_out *out;
    TBED_HASHMAP(struct perfetto_interned) lists[PERFETTO_LIST_COUNT];
    TBED_HASHMAP(struct perfetto_counter) counters;
    bool is_first_packet; /* of its sequence */
    uint64_t aside_count; /* spans on tracks of their own */
    uint64_t thread_track;
    struct perfetto_open *open;
    size_t open_count, open_room;
    struct perfetto_open *lost; /* those whose end comes after that of a span around them */
    size_t lost_count, lost_room;
    bool is_disordered; /* spans of the thread are written only when they have ended */
    struct export_nest nest;
    struct tbed_text event, packet, held, scratch, value, utf8;
    bool is_out_of_memory;
};

/* ---- perfetto_packets.c ---- */

enum perfetto_track {
    PERFETTO_TRACK_PROCESS = 1,
    PERFETTO_TRACK_THREAD,
    PERFETTO_TRACK_COUNTER,
    PERFETTO_TRACK_ASYNC,
    PERFETTO_TRACK_ASIDE,
    PERFETTO_TRACK_LIVE,
};

/* The number of a track of the current trace. */
uint64_t tbed_perfetto_uuid(const struct perfetto *perfetto, enum perfetto_track kind, uint64_t of,
                            uint64_t more, uint64_t key);

void tbed_perfetto_put_clocks(struct perfetto *perfetto);
void tbed_perfetto_put_process(struct perfetto *perfetto, size_t process);
void tbed_perfetto_put_thread(struct perfetto *perfetto);
/* A track inside another. */
void tbed_perfetto_put_track(struct perfetto *perfetto, uint64_t uuid, uint64_t parent, const char *name,
                             size_t nbytes);
/* The track of a counter, the first time. 'unit' may be NULL. */
void tbed_perfetto_put_counter_track(struct perfetto *perfetto, uint64_t uuid, uint64_t parent,
                                     const char *name, size_t nbytes, const char *unit, size_t unit_nbytes);

/* Starts an event in 'event'; tbed_perfetto_end_event() puts its packet to 'to'. */
void tbed_perfetto_begin_event(struct perfetto *perfetto, enum perfetto_type type, uint64_t track);
void tbed_perfetto_end_event(struct perfetto *perfetto, int64_t ns, struct tbed_text *to);

/* ---- tbed_perfetto_intern.c ---- */

/* The number of an id's text in the list; a packet that says what it means is written the first time. */
uint64_t tbed_perfetto_intern(struct perfetto *perfetto, enum perfetto_list list, uint32_t id);
/* The same for "arg0", "arg1", … */
uint64_t tbed_perfetto_intern_number(struct perfetto *perfetto, uint32_t number);

/* ---- perfetto_events.c ---- */

void tbed_perfetto_put_name(struct perfetto *perfetto, uint32_t id, uint32_t category);
/* The arguments in the name of 'id'. */
void tbed_perfetto_put_own_arguments(struct perfetto *perfetto, uint32_t id);
/* Arguments of an event; those without a name are numbered from 'first' on. */
void tbed_perfetto_put_arguments(struct perfetto *perfetto, struct tbed_arguments arguments, uint32_t count,
                                 uint32_t first);
void tbed_perfetto_put_flag(struct perfetto *perfetto, const char *name);
void tbed_perfetto_put_event(struct perfetto *perfetto, const struct tbed_event *event);
void tbed_perfetto_put_live(void *context, uint64_t pid, int64_t ns, uint64_t nbytes);

/* ---- perfetto_spans.c ---- */

void tbed_perfetto_open_thread(void *context);
void tbed_perfetto_close_thread(void *context);
void tbed_perfetto_step(void *context, const struct tbed_step *step);

#endif
