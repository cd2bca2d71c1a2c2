/*
 * Profiles of measureme (rustc's -Zself-profile), read in place: formats 0 and 3 to 9, in one paged file or in
 * three. This only reads them; import.c and the analyses use the result.
 *
 * A profile is a union of three streams: events, string data, string index. In a paged file each stream's bytes lie in
 * pages of that file. Almost nothing is copied: events are pointers into the map, and a text component is one or more
 * pieces of it. Copied are only many pages of less than 256 bytes, which would cost more to list, an event that a
 * page's end cuts in two, and format 0's events, which have to be paired.
 *
 * Damage to the container and the index is added to the damage list, and everything intact around it is read. Strings
 * are checked when they are walked: the walk returns their damage, and the caller counts it.
 *
 * Threads: once open, a file may be shared by any number of threads. A file must not be truncated while it is open.
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

/* True if a file that starts with these bytes may be a profile: "MMPD", or a stream of the three-file formats. */
bool mm_is_profile(const void *start, size_t nbytes);

/*
 * The same for a path. One of three files is a profile even if its own header is damaged, as long as another one's is
 * valid.
 */
bool mm_is_profile_path(const char *path);

/*
 * mm_open() opens a profile and lists its pages. 'path' is a paged file, or any one of the three files (.events,
 * .string_data, .string_index); the others are found in the same folder. A missing string file is damage, not a
 * failure, and so is an invalid header as long as one of the three is valid. Only page headers are read and, in
 * format 0, all events.
 *
 * Ownership: the caller frees '*file_ret' with mm_close(). The caller keeps 'fd', and may close it at once.
 * Errors:    ERR_OPEN, ERR_READ, ERR_MAP, ERR_MEMORY, ERR_IS_DIRECTORY, ERR_NOT_REGULAR, ERR_EMPTY; ERR_NOT_A_TRACE;
 *            ERR_PROFILE_CUT: the file ends in its first 8 bytes; ERR_PROFILE_VERSION: 'detail' is the version.
 *            'error_ret' may be NULL.
 */
enum tbed_status mm_open(const char *path, struct mm_file **file_ret, struct tbed_error *error_ret);

/* The same for a paged file, or for an event file alone, whose strings are then missing. */
enum tbed_status mm_open_fd(int fd, struct mm_file **file_ret, struct tbed_error *error_ret);

/*
 * The same for bytes in memory, which the caller keeps: one paged file in bytes[0] (the others NULL), or the three
 * streams of the older formats by enum mm_stream (NULL: missing).
 */
enum tbed_status mm_open_memory(const void *const bytes[MM_STREAM_COUNT],
                                const size_t nbytes[MM_STREAM_COUNT], struct mm_file **file_ret,
                                struct tbed_error *error_ret);
void mm_close(struct mm_file *file); /* NULL is fine */

struct mm_info {
    uint32_t version; /* 0, 3 … 9 */
    bool paged;
    uint64_t file_nbytes;                    /* of all its files together */
    uint64_t stream_nbytes[MM_STREAM_COUNT]; /* including their headers; 0: missing */
    uint64_t event_count;                    /* complete ones; in format 0, paired ones and instants */
    uint64_t unmatched_start_count;          /* in format 0; otherwise 0 */
    uint64_t unmatched_end_count;
    uint64_t index_count;  /* records of the string index */
    uint64_t damage_count; /* in the container and the index */
    uint64_t metadata_id, invalid_id,
        first_regular_id;    /* ids in this version; invalid: UINT64_MAX if it has none */
    uint64_t max_virtual_id; /* the highest id defined by the index, except METADATA (0 if none) */
};

/*
 * The first call of this, of mm_damage_get(), or of mm_string_address() for a virtual id builds the index, which
 * takes about 10 ms per million records. mm_event_count(), mm_event_shape() and the chunks do not need it.
 */
void mm_info(const struct mm_file *file, struct mm_info *info_ret);
uint64_t mm_event_count(const struct mm_file *file);

/*
 * The damage, each place once, in the order found. At most 10,000 places are kept, all are counted. False past the
 * last.
 *
 * Units: ERR_PROFILE_STREAM: an invalid header; 'detail' is the value found, the first 4 bytes or the version; or, at
 *        UINT64_MAX, the stream 'detail' (enum mm_stream) is missing. PAGE: 'detail' is the tag. CUT: the length, if
 *        it is a page's. INDEX: the id. EVENT: the low bits of format 0's time. ERR_MEMORY: there was no memory for
 *        the table of virtual ids, which then have no meaning.
 */
struct mm_damage {
    enum tbed_status status; /* ERR_PROFILE_…, ERR_MEMORY */
    enum mm_stream file;     /* for three files, which one; for a paged file, 0 */
    uint64_t offset;         /* in that file; UINT64_MAX: not a place in it */
    uint64_t detail;         /* the value found, if there is one */
};
bool mm_damage_get(const struct mm_file *file, size_t index, struct mm_damage *damage_ret);

/* ---- Events ---- */

/* A run of complete events: a page, or a part of at most 256 KiB. In file order. Not aligned. */
struct mm_chunk {
    const uint8_t *bytes;
    uint32_t event_count;  /* not 0 */
    uint32_t event_nbytes; /* 24, 32, or 40 for paired events of format 0 */
    uint64_t first;        /* the number of its first event in the file */
    uint64_t offset; /* offset of its first byte in the file; if paired, of the end of its first event */
};
size_t mm_chunk_count(const struct mm_file *file);
struct mm_chunk mm_chunk_get(const struct mm_file *file, size_t index); /* O(1) */

/*
 * A hint that the chunk's bytes will not be read again soon: they are removed from the process's resident memory.
 * Harmless to other readers, for which they are loaded again. Any thread.
 */
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
 * Format 0 has separate starts and ends: mm_open() pairs them, in the order of their ends, in memory of its own. An
 * end matches the latest start of its thread with the same kind and id. Later starts of that thread, starts that are
 * never matched, and ends without a start are counted as unmatched.
 */
enum mm_shape { MM_SHAPE_24_NO_INTEGERS, MM_SHAPE_24, MM_SHAPE_32, MM_SHAPE_PAIRED };
enum mm_shape mm_event_shape(const struct mm_file *file);
static inline void mm_event_load(const uint8_t *bytes, enum mm_shape shape, struct mm_event *event_ret);

/* ---- Strings ---- */

/*
 * The address of an id's entry in the string data, counting headers; false: the id is not defined. Works for METADATA
 * too. Regular ids of formats 4 to 9 cost a subtraction, all others a table lookup. Whether a string starts there is
 * not checked.
 */
bool mm_string_address(const struct mm_file *file, uint64_t id, uint64_t *address_ret);

/* Whether METADATA is the first entry although the index does not say so. */
bool mm_metadata_is_unlisted(const struct mm_file *file);

struct mm_component {
    bool is_reference;
    uint64_t id; /* of a reference */
    /* Otherwise a piece of text: valid UTF-8, except for a code point that two pieces may share. */
    const char *text;
    uint32_t nbytes; /* of the text; not 0, at most 2^30 */
};

/* A reading position in a stream; private to the walk. */
struct mm_position {
    const struct mm_file *file;
    enum mm_stream stream;
    size_t segment;
    const uint8_t *at, *end; /* the rest of the segment */
    uint64_t end_address;    /* of 'end' in the stream */
};

/*
 * Starts at an entry; each call of mm_component_next() returns one component, then END. After END it is at the next
 * entry, which further calls return; the last entry ends at stream_nbytes[MM_STRING_DATA].
 *
 * ERR_PROFILE_STRING: not terminated, not UTF-8, or not a component; 'damage_address' is the place. Components
 *                     returned before belong to the damaged entry. The walk then continues after the next terminator
 *                     byte, or at the stream's end.
 *
 * Ownership: text is valid while the file is open.
 * Threads: one thread a walk.
 */
struct mm_string_walk {
    uint64_t address; /* of the next component */
    uint64_t damage_address;
    struct mm_position position; /* this and all that follows is private to the walk */
    struct tbed_utf8 utf8;       /* a code point that a page's end cuts in two */
    uint32_t value_left;         /* in a text of format 0: bytes left */
    uint32_t piece_nbytes_max;   /* the caller may lower it before the first component */
};
void mm_string_walk_start(const struct mm_file *file, uint64_t address, struct mm_string_walk *walk);
enum tbed_status mm_component_next(struct mm_string_walk *walk, struct mm_component *component_ret);

/*
 * Takes components up to the next damage, of which it returns the status: see mm_component_next(). END: the rest of the
 * string data is intact.
 */
enum tbed_status mm_string_damage_next(struct mm_string_walk *walk);

/* The first entry's address. Entries are contiguous and end at stream_nbytes[MM_STRING_DATA]. */
uint64_t mm_string_first(const struct mm_file *file);

/* The offset of a stream's byte in its file, for messages; UINT64_MAX: none. */
uint64_t mm_file_offset(const struct mm_file *file, enum mm_stream stream, uint64_t address);

/*
 * The index's raw records, in file order, including invalid ones; of the others, the last one for an id counts. False
 * past the last.
 */
struct mm_index_record {
    uint64_t id, address;
};
bool mm_index_get(const struct mm_file *file, size_t index, struct mm_index_record *record_ret);

/* True if the record counts: its id is one that the index may define, and its address is inside the string data. */
bool mm_index_is_valid(const struct mm_file *file, const struct mm_index_record *record);

#include "reader/exchange/measureme/file/event_load.h"

#endif
