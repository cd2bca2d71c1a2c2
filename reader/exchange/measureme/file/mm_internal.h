/*
 * Declarations shared by the parts of the profile reader: a file, its streams as lists of segments, damage.
 *
 * SPDX-License-Identifier: MIT
 */
#ifndef TRACEBED_MM_INTERNAL_H
#define TRACEBED_MM_INTERNAL_H

#include <string.h>

#include "reader/core/base/vector.h"
#include "reader/exchange/measureme/file/measureme.h"

#define MM_HEADER_NBYTES      8u
#define MM_PAGE_HEADER_NBYTES 5u
#define MM_CHUNK_NBYTES       262144u
#define MM_SMALL_PAGE_NBYTES  256u /* many smaller pages are copied: listing them would cost more */
#define MM_SMALL_PAGES_LISTED 64u
#define MM_COPIED_SPAN_NBYTES                                                                                \
    4096u /* bytes of the file that one segment of copies spans: finding an offset means walking over them */
#define MM_PAIRED_EVENT_NBYTES 40u
#define MM_INDEX_NBYTES_MAX    16u
#define MM_DAMAGE_KEPT         10000u

/* How strings are written. */
enum mm_encoding { MM_TAGGED, MM_CLASSIC, MM_MARKED_4, MM_MARKED_8 };

struct mm_format {
    uint32_t version;
    bool paged;
    enum mm_shape shape;
    uint32_t event_nbytes;
    uint32_t index_nbytes; /* of a record */
    enum mm_encoding encoding;
    uint64_t metadata_id, invalid_id, first_regular_id;
    bool index_has_regular;
};

/* One of the files, or the only one. */
struct mm_source {
    const uint8_t *bytes; /* NULL: missing */
    size_t nbytes;
    bool is_mapped;
};

/* With this bit, a place is in the stream's copies, otherwise in the file. */
#define MM_IN_COPIES (UINT64_C(1) << 63)

struct mm_segment {
    uint64_t start; /* in the stream; it ends where the next one starts */
    uint64_t place;
    uint64_t offset; /* in the file; for copies, of the first byte only */
};

struct mm_run {
    uint64_t first; /* event */
    uint64_t place;
    uint64_t offset;
};

struct mm_stream_map {
    uint64_t nbytes;
    struct tbed_vector segments; /* struct mm_segment; none for the events */
    struct tbed_vector copies;   /* bytes */
};

struct mm_events {
    struct tbed_vector runs; /* struct mm_run */
    uint64_t count;
    uint32_t nbytes; /* of one */
    uint8_t header[MM_HEADER_NBYTES];
    uint32_t header_nbytes;
    bool has_no_header;
    uint64_t header_offset;
    uint8_t carry[32]; /* an event that a page's end cuts in two */
    uint32_t carry_nbytes;
    uint64_t carry_offset;
    uint64_t unmatched_starts, unmatched_ends;
};

struct mm_lookup;
struct mm_damage_list;

struct mm_file {
    const struct mm_format *format;
    struct mm_source sources[MM_STREAM_COUNT];
    struct mm_stream_map streams[MM_STREAM_COUNT];
    struct mm_events events;
    struct mm_lookup *lookup;
    struct mm_damage_list *damages; /* by pointer: reading the index adds to it */
};

/* mm_map.c */
enum tbed_status tbed_mm_fail(struct tbed_error *error, enum tbed_status status, int system_errno);
enum tbed_status tbed_mm_source_map(int fd, struct mm_source *source_ret, struct tbed_error *error_ret);
enum tbed_status tbed_mm_sources_open(const char *path, struct mm_source sources_ret[MM_STREAM_COUNT],
                                      struct tbed_error *error_ret);
void tbed_mm_source_unmap(struct mm_source *source);
void tbed_mm_source_release(const struct mm_source *source); /* removes what was read from resident memory */

/* mm_streams.c: the container. False: no memory. */
bool tbed_mm_list_pages(struct mm_file *file);
bool tbed_mm_list_three(struct mm_file *file);
bool tbed_mm_event_copy(struct mm_file *file, const uint8_t *event, uint64_t offset);

/* mm_position.c: reading a stream across its segments. */
void tbed_mm_position_at(const struct mm_file *file, enum mm_stream stream, uint64_t address,
                         struct mm_position *position_ret);
bool tbed_mm_position_next(struct mm_position *position); /* to the next segment; false past the last */
bool tbed_mm_position_take(struct mm_position *position, void *bytes_ret,
                           size_t nbytes); /* reads all bytes, at least one, or returns false */

static inline uint64_t tbed_mm_position_address(const struct mm_position *position)
{
    return position->end_address - (uint64_t)(position->end - position->at);
}

/* mm_pairs.c: format 0. False: no memory. */
bool tbed_mm_pair_events(struct mm_file *file);

/* mm_lookup.c: the string index, built when it is first needed. */
struct mm_lookup *tbed_mm_lookup_create(void);
void tbed_mm_lookup_free(struct mm_lookup *lookup);

/* mm_damage.c: changed only while one thread has the file, or under the lookup's lock. */
struct mm_damage_list *tbed_mm_damage_list_create(void);
void tbed_mm_damage_list_free(struct mm_damage_list *list);
void tbed_mm_damage_add(const struct mm_file *file, enum tbed_status status, enum mm_stream source,
                        uint64_t offset, uint64_t detail);
uint64_t tbed_mm_damage_count(const struct mm_damage_list *list);
bool tbed_mm_damage_find(const struct mm_damage_list *list, size_t index, struct mm_damage *damage_ret);

/* The stream's own file of a set of three; otherwise the only file. */
static inline enum mm_stream tbed_mm_source_of(const struct mm_file *file, enum mm_stream stream)
{
    return file->format->paged ? MM_EVENTS : stream;
}

/* The bytes at a place of a stream. */
static inline const uint8_t *tbed_mm_place(const struct mm_file *file, enum mm_stream stream, uint64_t place)
{
    if (place & MM_IN_COPIES)
        return (const uint8_t *)file->streams[stream].copies.items + (place & ~MM_IN_COPIES);
    return file->sources[tbed_mm_source_of(file, stream)].bytes + place;
}

#endif
