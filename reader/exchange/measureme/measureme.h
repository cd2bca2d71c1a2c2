/*
 * Profiles of measureme (rustc's -Zself-profile), read in place: formats 0 and 3 to 9, in one paged file or in
 * three. This is the reading alone: what becomes of it is import.c's and the analyses' affair.
 *
 * A file is a union of three streams: events, string data, string index. In a paged file each stream's bytes lie in
 * pages of that file. Nothing is copied: events are pointers into the map, a text component is one or more
 * pieces of it.
 *
 * Whatever is wrong is told in the damage list, and what is whole around it is still given.
 *
 * Threads: once open, a file may be shared by any number of threads.
 * Source:  spec/measureme.md.
 *
 * SPDX-License-Identifier: MIT
 */
#ifndef TRACEBED_MEASUREME_H
#define TRACEBED_MEASUREME_H

#include <tracebed/format.h>

struct mm_file;

enum mm_stream { MM_EVENTS, MM_STRING_DATA, MM_STRING_INDEX, MM_STREAM_COUNT };

/* ---- Opening ---- */

/* True if what starts with these bytes may be a profile: "MMPD", or an event stream of the three-file formats. */
bool mm_is_profile(const void *start, size_t nbytes);

/*
 * mm_open() opens a profile and lists its pages. 'path' is a paged file; or any one of the three files
 * (.events, .string_data, .string_index), the others being found beside it. A missing string file is damage, not a
 * failure.
 *
 * Ownership: '*file_ret' is the caller's, freed by mm_close().
 * Errors:    ERR_OPEN, ERR_READ, ERR_MAP, ERR_MEMORY; ERR_EMPTY, ERR_NOT_A_TRACE, ERR_PROFILE_VERSION.
 */
enum tbed_status mm_open(const char *path, struct mm_file **file_ret, struct tbed_error *error_ret);
enum tbed_status mm_open_fd(int fd, struct mm_file **file_ret, struct tbed_error *error_ret); /* paged */

/*
 * The same for bytes in memory, which stay the caller's: one paged file in bytes[0] (the others NULL), or the three
 * streams of the older formats by enum mm_stream.
 */
enum tbed_status mm_open_memory(const void *const bytes[MM_STREAM_COUNT], const size_t nbytes[MM_STREAM_COUNT],
                                struct mm_file **file_ret, struct tbed_error *error_ret);
void mm_close(struct mm_file *file); /* NULL is fine */

struct mm_info {
    uint32_t version; /* 0, 3 … 9 */
    bool paged;
    uint64_t file_nbytes; /* of all its files */
    uint64_t stream_nbytes[MM_STREAM_COUNT]; /* their headers included */
    uint64_t event_count;  /* whole ones */
    uint64_t index_count;  /* records of the string index */
    uint64_t damage_count;
    uint64_t metadata_id, invalid_id, first_regular_id; /* of this version; invalid: UINT64_MAX if it has none */
    uint64_t max_virtual_id; /* the highest id that the index may give a meaning to */
};
void mm_info(const struct mm_file *file, struct mm_info *info_ret);

/* What is wrong, each place once, in the order found; at most 10,000 are kept, all are counted. False past the last. */
struct mm_damage {
    enum tbed_status status; /* ERR_PROFILE_… */
    enum mm_stream file;     /* of three files: which; of a paged file: 0 */
    uint64_t offset;         /* in that file */
    uint64_t detail;         /* the value found, where there is one */
};
bool mm_damage_get(const struct mm_file *file, size_t index, struct mm_damage *damage_ret);

/* ---- Events ---- */

/* A run of whole events: a page's, or a part of an event file of at most 256 KiB. In file order. */
struct mm_chunk {
    const uint8_t *bytes;
    uint32_t event_count;
    uint32_t event_nbytes; /* 24, 32, or 40 where format 0 was paired */
    uint64_t first;        /* the number of its first event in the file */
    uint64_t offset;       /* of its first byte in the file */
};
size_t mm_chunk_count(const struct mm_file *file);
struct mm_chunk mm_chunk_get(const struct mm_file *file, size_t index);

enum mm_event_type { MM_INTERVAL, MM_INSTANT, MM_INTEGER };

/*
 * An event.
 *
 * Units: begin and end are nanoseconds since the start of the profile, or counts of an instruction counter.
 *        INSTANT: both are its time. INTEGER: begin is its value, end is 0.
 */
struct mm_event {
    uint64_t kind, id, thread;
    uint64_t begin, end;
    enum mm_event_type type;
};

/*
 * mm_event_load() reads one event; 'shape' is mm_event_shape() of its file. Inline, in event_load.h.
 * Format 0 has separate starts and ends: mm_open() pairs them, in the order of their ends, into memory of its own.
 */
enum mm_shape { MM_SHAPE_24_NO_INTEGERS, MM_SHAPE_24, MM_SHAPE_32, MM_SHAPE_PAIRED };
enum mm_shape mm_event_shape(const struct mm_file *file);
static inline void mm_event_load(const uint8_t *bytes, enum mm_shape shape, struct mm_event *event_ret);

/* ---- Strings ---- */

/* Where an id's entry is in the string data, headers included; false: it means nothing. Metadata works too. */
bool mm_string_address(const struct mm_file *file, uint64_t id, uint64_t *address_ret);

struct mm_component {
    bool is_reference;
    uint64_t id;      /* of a reference */
    const char *text; /* else: a piece of text, UTF-8 but for a code point that two pieces may share */
    uint32_t nbytes;
};

/* Stands on an entry; each call of mm_component_next() gives one component, or END. Valid while the file is open.
 * One thread's. Errors: ERR_PROFILE_STRING, told in the damage list. */
struct mm_string_walk {
    const struct mm_file *file;
    uint64_t address; /* of what comes next: after END, of the entry behind */
    /* the walk's own */
    size_t segment;
    const uint8_t *at, *end;
    uint8_t carry[8];
    uint32_t carry_nbytes;
};
void mm_string_walk_start(const struct mm_file *file, uint64_t address, struct mm_string_walk *walk);
enum tbed_status mm_component_next(struct mm_string_walk *walk, struct mm_component *component_ret);

/* The first entry's address; where entries end is stream_nbytes[MM_STRING_DATA]. Entries follow one another. */
uint64_t mm_string_first(const struct mm_file *file);

/* The index's records, in file order (the last one for an id counts). False past the last. */
struct mm_index_record {
    uint64_t id, address;
};
bool mm_index_get(const struct mm_file *file, size_t index, struct mm_index_record *record_ret);

#include "reader/exchange/measureme/event_load.h"

#endif
