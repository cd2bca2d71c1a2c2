/*
 * The contents of the records: processes, streams, units, lines, bindings, anchors, counters.
 *
 * Built from all record blocks, in file order, and never changed afterwards, so any thread may read it.
 *
 * SPDX-License-Identifier: MIT
 */
#ifndef TRACEBED_METADATA_H
#define TRACEBED_METADATA_H

#include "reader/core/records/keyed.h"

#include <tracebed/reader.h>

struct tbed_reader;
struct tbed_index;

struct tbed_keyed_process {
    struct tbed_keyed keyed; /* by the stream number of the process */
    struct tbed_process_info info;
};

struct tbed_keyed_stream {
    struct tbed_keyed keyed; /* by stream */
    struct tbed_stream_info info;
};

struct tbed_keyed_unit {
    struct tbed_keyed keyed; /* by first id */
    struct tbed_unit_info info;
};

struct tbed_line { /* applies from 'pc' of a unit on */
    uint32_t first_id, pc, line;
    uint32_t order; /* in file order: the last one for a pc counts */
};

struct tbed_keyed_stacks {   /* STACKS, or TYPES */
    struct tbed_keyed keyed; /* by the first id */
    const uint8_t *pairs;    /* struct tbed_disk_id_pair, into the map */
    uint32_t count;
    bool has_types; /* the pairs are a location or stack, and a type */
};

struct tbed_keyed_frames {
    struct tbed_keyed keyed; /* by the location's id */
    const uint8_t *frames;   /* struct tbed_disk_frame, into the map */
    uint32_t count;
};

struct tbed_keyed_value { /* NAME, END: by stream; COUNTER: by the counter's id */
    struct tbed_keyed keyed;
    uint32_t id;
    uint64_t tick;
};

/* Bindings as recorded: a BIND, or a part of a BIND_LIST, which is read in place. */
struct tbed_binding_run {
    size_t index;         /* of its first binding, in file order */
    const uint8_t *pairs; /* struct tbed_disk_id_pair, into the map; NULL: a BIND */
    uint32_t count;       /* of pairs; 1 for a BIND */
    uint32_t first, end;  /* all its ids are in [first, end) */
    uint32_t string_id;   /* for a BIND */
    bool is_sorted;       /* the pairs' ids are in ascending order */
};

struct tbed_segment { /* ids [first, end) mean one string; disjoint, ascending */
    uint32_t first;
    uint32_t end;
    uint32_t string_id;
};

struct tbed_anchor {
    uint64_t ticks;
    int64_t realtime_ns;
    uint64_t monotonic_ns;
};

struct tbed_metadata {
    struct tbed_vector processes; /* struct tbed_keyed_process, one a key */
    /* struct tbed_keyed_stream, one for each key, including streams that only have blocks. */
    struct tbed_vector streams;
    struct tbed_vector units;    /* struct tbed_keyed_unit, disjoint, ascending */
    struct tbed_vector loads;    /* struct tbed_load_info, in file order */
    struct tbed_vector losses;   /* struct tbed_lost_info, in file order */
    struct tbed_vector lines;    /* struct tbed_line, by unit, pc and order */
    struct tbed_vector stacks;   /* struct tbed_keyed_stacks, disjoint, ascending, none inside a unit */
    struct tbed_vector frames;   /* struct tbed_keyed_frames, one a key */
    struct tbed_vector names;    /* struct tbed_keyed_value, the newest of each key */
    struct tbed_vector ends;     /* struct tbed_keyed_value, one a key */
    struct tbed_vector counters; /* struct tbed_keyed_value, one a key */
    struct tbed_vector bindings; /* struct tbed_binding_run, in file order */
    struct tbed_vector runs; /* struct tbed_binding_run, ascending: runs that share no id with any other */
    struct tbed_vector segments; /* struct tbed_segment, from all other bindings */
    /* struct tbed_anchor by ascending ticks, including the header's; monotonic_ns ascends too. */
    struct tbed_vector anchors;
    uint64_t series_id, previous_file_id;
    uint32_t series_number; /* 0: no SERIES record */
    uint32_t series_failed_count;
};

/* Reads all record blocks of 'index' and adds damage. Errors: ERR_MEMORY. */
enum tbed_status tbed_metadata_build(const struct tbed_reader *reader, const struct tbed_index *index,
                                     struct tbed_metadata **metadata_ret);

/* NULL is allowed. */
void tbed_metadata_free(struct tbed_metadata *metadata);

/*
 * units.c: sorts units and stacks. If two overlap, the later one in file order is removed and reported; empty ones
 * are removed too. False: no memory.
 */
bool tbed_ranges_separate(const struct tbed_reader *reader, struct tbed_metadata *metadata);

/* bindings.c: adds a record's bindings. False: no memory. */
bool tbed_bindings_add(struct tbed_metadata *metadata, uint32_t first_id, uint32_t id_count,
                       uint32_t string_id);
bool tbed_bindings_add_list(struct tbed_metadata *metadata, const uint8_t *pairs, uint32_t count);

/*
 * To be called after all records: prepares the bindings for lookups, where the last one of an id counts. False: no
 * memory.
 */
bool tbed_bindings_arrange(struct tbed_metadata *metadata);

/* The string that a reserved id, or METADATA, is bound to. */
bool tbed_binding_find(const struct tbed_metadata *metadata, uint32_t id, uint32_t *string_id_ret);

/* anchors.c: sorts them, at least one, and removes those at which CLOCK_MONOTONIC goes back. */
void tbed_anchors_arrange(struct tbed_vector *anchors);

/* The tick at a time of CLOCK_MONOTONIC, by the map of section 8.3. For clocks that measure time. */
uint64_t tbed_monotonic_tick(const struct tbed_reader *reader, uint64_t ns);

/* A stretch of ticks in which tbed_ticks_to_ns() is a line, for code that converts many. */
struct tbed_tick_line {
    uint64_t first, nticks; /* the ticks [first, first + nticks) */
    int64_t first_ns;
    uint64_t rise_ns, run_ticks; /* nanoseconds = first_ns + floor((tick - first) * rise_ns / run_ticks) */
    double rate;
};

/* The line of a tick; 'nticks' is 0 if none can be given. */
void tbed_tick_line_find(const struct tbed_reader *reader, uint64_t tick, struct tbed_tick_line *line_ret);

/* As tbed_ticks_to_ns(). The line is replaced by another one where necessary. */
static inline int64_t tbed_tick_line_ns(const struct tbed_reader *reader, struct tbed_tick_line *line,
                                        uint64_t tick)
{
    uint64_t run = tick - line->first;
    if (__builtin_expect(run >= line->nticks, 0)) {
        tbed_tick_line_find(reader, tick, line);
        run = tick - line->first;
        if (run >= line->nticks)
            return tbed_ticks_to_ns(reader, tick);
    }
    if (line->rise_ns == line->run_ticks)
        return line->first_ns + (int64_t)run;
    /* The estimate is off by one at most, and the rest says by how much: the product may wrap, the rest is small. */
    uint64_t quotient = (uint64_t)((double)run * line->rate);
    int64_t rest = (int64_t)(run * line->rise_ns - quotient * line->run_ticks);
    quotient -= rest < 0;
    quotient += rest >= (int64_t)line->run_ticks;
    return line->first_ns + (int64_t)quotient;
}

#endif
