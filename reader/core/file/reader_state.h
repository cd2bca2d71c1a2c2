/*
 * The state of a reader: the map of the file, the index of its blocks and the list of damage, which all rooms share;
 * and pointers to what the upper rooms attach, which are opaque to the others.
 *
 * SPDX-License-Identifier: MIT
 */
#ifndef TRACEBED_READER_STATE_H
#define TRACEBED_READER_STATE_H

#include "format/base/bytes.h"
#include "format/file/header.h"
#include "format/layout.h"
#include "reader/core/file/damage.h"
#include "reader/core/file/index.h"
#include "reader/core/file/map.h"

#include <tracebed/reader.h>

struct tbed_metadata;    /* reader/core/records */
struct tbed_name_cache;  /* reader/core/names */
struct tbed_lookup;      /* reader/core/names */
struct tbed_text_budget; /* reader/core/strings */

/* What tbed_reader_verify() counts. */
struct tbed_verify_counts {
    uint64_t events, unknown_events, application_events;
    uint64_t tick_decreases, interrupted_records;
};

struct tbed_reader {
    struct tbed_map map;
    struct tbed_header_fields header;
    uint64_t fixed[TBED_HEADER_COPY_NBYTES / 8]; /* what copies of the header should have */
    bool has_copy;                               /* of the header, which is damaged */
    bool has_counters;                           /* the counters in the header page can be believed */
    bool believes_entries; /* a block whose entry is sealed is looked at when it is read */
    bool skip_hashes;
    bool shut;           /* at the last refresh */
    uint64_t page_count; /* claimed at the last refresh; if that count is impossible, the file's pages */
    uint64_t epoch;      /* raised by every refresh: positions in the index may have moved */
    struct tbed_index index;
    struct tbed_damage_list *damage; /* by pointer: damage is added to a const reader too */
    struct tbed_metadata *metadata;  /* NULL until the first refresh */
    struct tbed_name_cache *names;
    struct tbed_text_budget *texts;
    struct tbed_lookup *lookup; /* of native code; NULL: none */
    bool has_origin;
    uint64_t origin_tick; /* the zero of tbed_ticks_to_ns() */
    struct tbed_verify_counts verified;
    uint64_t read_count;     /* atomic; sealed event blocks whose content has been checked */
    uint64_t *read_count_at; /* its address, for readers that are const and for copies */
};

static inline const struct tbed_disk_header *tbed_reader_header(const struct tbed_reader *reader)
{
    return (const struct tbed_disk_header *)reader->map.bytes;
}

/* Where a block starts in the file. */
static inline uint64_t tbed_indexed_offset(const struct tbed_reader *reader, const struct tbed_indexed *entry)
{
    return (uint64_t)entry->page * reader->header.page_nbytes + ((uint64_t)entry->cell << entry->shift);
}

/* May pages of the file be given to other blocks while it is being read? */
static inline bool tbed_reader_is_reused(const struct tbed_reader *reader)
{
    return reader->header.ring_page_count != 0 && !reader->shut;
}

/* How many pages, from page 1 on, those are. */
static inline uint32_t tbed_reader_reused_count(const struct tbed_reader *reader)
{
    return reader->shut || !reader->has_counters ? 0 : reader->header.ring_page_count;
}

#endif
