/*
 * Profiles of measureme (rustc's -Zself-profile), read in place: formats 0 and 3 to 9, in one paged file or in
 * three. This is the reading alone: what becomes of it is import.c's and the analyses' affair.
 *
 * A profile is a union of three streams: events, string data, string index. In a paged file each stream's bytes lie in
 * pages of that file. Nothing is copied: events are pointers into the map, a text component is one or more pieces of
 * it. (Only what would cost more to list than to copy is copied: many pages of less than 256 bytes, an event cut in two by
 * a page's end, and format 0's events, which have to be paired.)
 *
 * Whatever is wrong with the container and the index is told in the damage list, and what is whole around it is still
 * given. Strings are looked at when they are walked: their damage is the walk's to return and the caller's to count.
 *
 * Threads: once open, a file may be shared by any number of threads. A file must not be cut short while it is open.
 * Source:  spec/measureme.md.
 *
 * SPDX-License-Identifier: MIT
 */
#ifndef TRACEBED_MEASUREME_H
#define TRACEBED_MEASUREME_H

#include <tracebed/format.h>

#include "format/base/utf8.h"
#include "reader/exchange/measureme/file/names.h"

struct mm_file;

enum mm_stream { MM_EVENTS, MM_STRING_DATA, MM_STRING_INDEX, MM_STREAM_COUNT };

/* ---- Opening ---- */

/* True if what starts with these bytes may be a profile: "MMPD", or a stream of the three-file formats. */
bool mm_is_profile(const void *start, size_t nbytes);

/* The same for a path: one of three files whose own start is broken is a profile if one of the others is right. */
bool mm_is_profile_path(const char *path);

/*
 * mm_open() opens a profile and lists its pages. 'path' is a paged file; or any one of the three files
 * (.events, .string_data, .string_index), the others being found beside it. A missing string file is damage, not a
 * failure; nor is a header that is wrong, as long as one of the three is right. Only page headers are read, and of
 * format 0 all events.
 *
 * Ownership: '*file_ret' is the caller's, freed by mm_close(). 'fd' stays the caller's, who may close it at once.
 * Errors:    ERR_OPEN, ERR_READ, ERR_MAP, ERR_MEMORY, ERR_IS_DIRECTORY, ERR_NOT_REGULAR, ERR_EMPTY; ERR_NOT_A_TRACE;
 *            ERR_PROFILE_CUT: the file ends in its first 8 bytes; ERR_PROFILE_VERSION: 'detail' is the version.
 *            'error_ret' may be NULL.
 */
enum tbed_status mm_open(const char *path, struct mm_file **file_ret, struct tbed_error *error_ret);

/* The same for a paged file, or for an event file alone, whose strings are then missing. */
enum tbed_status mm_open_fd(int fd, struct mm_file **file_ret, struct tbed_error *error_ret);

/*
 * The same for bytes in memory, which stay the caller's: one paged file in bytes[0] (the others NULL), or the three
 * streams of the older formats by enum mm_stream (NULL: missing).
 */
enum tbed_status mm_open_memory(const void *const bytes[MM_STREAM_COUNT],
                                const size_t nbytes[MM_STREAM_COUNT], struct mm_file **file_ret,
                                struct tbed_error *error_ret);
void mm_close(struct mm_file *file); /* NULL is fine */

struct mm_info {
    uint32_t version; /* 0, 3 … 9 */
    bool paged;
    uint64_t file_nbytes;                    /* of all its files */
    uint64_t stream_nbytes[MM_STREAM_COUNT]; /* their headers included; 0: missing */
    uint64_t event_count;                    /* whole ones; of format 0, the paired ones and instants */
    uint64_t unmatched_start_count;          /* of format 0, else 0 */
    uint64_t unmatched_end_count;
    uint64_t index_count;  /* records of the string index */
    uint64_t damage_count; /* of the container and the index */
    uint64_t metadata_id, invalid_id,
        first_regular_id; /* of this version; invalid: UINT64_MAX if it has none */
    uint64_t
        max_virtual_id; /* the highest id that the index gives a meaning to (0 if none), METADATA apart */
};

/* The first call, or that of mm_damage_get(), or of mm_string_address() for a virtual id, reads the index: about
 * 10 ms per million records. mm_event_count(), mm_event_shape() and the chunks do not wait for that. */
void mm_info(const struct mm_file *file, struct mm_info *info_ret);
uint64_t mm_event_count(const struct mm_file *file);

/*
 * What is wrong, each place once, in the order found; at most 10,000 are kept, all are counted. False past the last.
 *
 * Units: ERR_PROFILE_STREAM: a header that is wrong, 'detail' is what stands there, the first 4 bytes or the version;
 *        or, at UINT64_MAX, the stream 'detail' (enum mm_stream) is missing. PAGE: 'detail' is the tag. CUT: the
 *        length, if it is a page's. INDEX: the id. EVENT: the low bits of format 0's time. ERR_MEMORY: there was no
 *        memory to look up virtual ids, which have no meaning then.
 */
struct mm_damage {
    enum tbed_status status; /* ERR_PROFILE_…, ERR_MEMORY */
    enum mm_stream file;     /* of three files: which; of a paged file: 0 */
    uint64_t offset;         /* in that file; UINT64_MAX: no place in it */
    uint64_t detail;         /* the value found, where there is one */
};
bool mm_damage_get(const struct mm_file *file, size_t index, struct mm_damage *damage_ret);

/* ---- Events ---- */

/* A run of whole events: a page's, or a part of at most 256 KiB. In file order. Aligned to nothing. */
struct mm_chunk {
    const uint8_t *bytes;
    uint32_t event_count;  /* not 0 */
    uint32_t event_nbytes; /* 24, 32, or 40 where format 0 was paired */
    uint64_t first;        /* the number of its first event in the file */
    uint64_t offset;       /* of its first byte in the file; paired: of the end of its first event */
};
size_t mm_chunk_count(const struct mm_file *file);
struct mm_chunk mm_chunk_get(const struct mm_file *file, size_t index); /* O(1) */

/* Tells that the chunk's bytes will not be read again soon: they leave the process's resident memory. A hint, and
 * harmless to other readers: what they touch comes back. Any thread. */
void mm_release(const struct mm_file *file, const struct mm_chunk *chunk);

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
 *
 * Format 0 has separate starts and ends: mm_open() pairs them, in the order of their ends, into memory of its own.
 * An end takes the latest start of its thread with the same kind and id; starts of that thread in between, and those
 * never taken, are counted as unmatched, as are ends that find no start.
 */
enum mm_shape { MM_SHAPE_24_NO_INTEGERS, MM_SHAPE_24, MM_SHAPE_32, MM_SHAPE_PAIRED };
enum mm_shape mm_event_shape(const struct mm_file *file);
static inline void mm_event_load(const uint8_t *bytes, enum mm_shape shape, struct mm_event *event_ret);

/* ---- Strings ---- */

/*
 * Where an id's entry is in the string data, headers included; false: it means nothing. Metadata works too. Regular
 * ids of formats 4 to 9 cost a subtraction, all others a look into a table. That a string starts there is not checked.
 */
bool mm_string_address(const struct mm_file *file, uint64_t id, uint64_t *address_ret);

struct mm_component {
    bool is_reference;
    uint64_t id;      /* of a reference */
    const char *text; /* else: a piece of text, UTF-8 but for a code point that two pieces may share */
    uint32_t nbytes;  /* of it, not 0, at most 2^30 */
};

/* Where reading stands in a stream; the walk's own. */
struct mm_position {
    const struct mm_file *file;
    enum mm_stream stream;
    size_t segment;
    const uint8_t *at, *end; /* what is left of the segment */
    uint64_t end_address;    /* of 'end' in the stream */
};

/*
 * Stands on an entry; each call of mm_component_next() gives one component, then END. After END it stands on the
 * entry behind, which further calls give; the last entry ends at stream_nbytes[MM_STRING_DATA].
 *
 * ERR_PROFILE_STRING: not terminated, not UTF-8, no component; 'damage_address' tells where. Components given before
 * are of the damaged entry. Then too it stands behind: after the next terminator byte, or at the stream's end.
 *
 * Ownership: text is valid while the file is open.
 * Threads:   a walk is one thread's.
 */
struct mm_string_walk {
    uint64_t address; /* of what comes next */
    uint64_t damage_address;
    struct mm_position position; /* the walk's own, as is all that follows */
    struct tbed_utf8 utf8;       /* the code point that a page's end cut in two */
    uint32_t value_left;         /* of a text of format 0: bytes to come */
    uint32_t piece_nbytes_max;   /* the caller may set it lower before the first component */
};
void mm_string_walk_start(const struct mm_file *file, uint64_t address, struct mm_string_walk *walk);
enum tbed_status mm_component_next(struct mm_string_walk *walk, struct mm_component *component_ret);

/* The first entry's address; where entries end is stream_nbytes[MM_STRING_DATA]. Entries follow one another. */
uint64_t mm_string_first(const struct mm_file *file);

/* Where a byte of a stream lies in its file, for messages; UINT64_MAX: nowhere. */
uint64_t mm_file_offset(const struct mm_file *file, enum mm_stream stream, uint64_t address);

/* The index's records as they stand, in file order: those that lead nowhere too; of the others the last one for an id
 * counts. False past the last. */
struct mm_index_record {
    uint64_t id, address;
};
bool mm_index_get(const struct mm_file *file, size_t index, struct mm_index_record *record_ret);

/* True if the record counts: its id is one that the index gives a meaning to, its address one of the string data. */
bool mm_index_is_valid(const struct mm_file *file, const struct mm_index_record *record);

#include "reader/exchange/measureme/file/event_load.h"

#endif
