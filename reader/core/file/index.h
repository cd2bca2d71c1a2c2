/*
 * The index of a file's blocks, built from the directory and, where it does not suffice, from the blocks' headers.
 *
 * It takes 24 bytes a block. Nothing in it points into the map, so it stays valid when the map grows.
 *
 * SPDX-License-Identifier: MIT
 */
#ifndef TRACEBED_INDEX_H
#define TRACEBED_INDEX_H

#include "reader/core/base/vector.h"

#include <tracebed/format.h>

struct tbed_reader;

/*
 * How far an entry's content has been checked. Values above these two are the enum tbed_status of the failed check.
 */
enum tbed_block_verdict {
    TBED_VERDICT_NONE = 0, /* an unsealed block stays so */
    TBED_VERDICT_GOOD_BUT_HASH = 1,
    TBED_VERDICT_GOOD = 2,
};

struct tbed_indexed {
    uint32_t page;
    uint16_t cell;
    uint8_t shift : 6;    /* log2 of its size; for a page of cells, of the size of a cell */
    uint8_t by_entry : 1; /* known from the directory alone: its header is checked when it is read */
    uint8_t unsealed : 1; /* when the index was last brought up to date */
    uint8_t state;        /* enum tbed_block_verdict, atomic */
    uint32_t stream;
    uint32_t sequence;
    union {
        uint64_t first_tick;  /* events */
        uint64_t string_page; /* strings and cells pages: the ordinal */
    };
};
_Static_assert(sizeof(struct tbed_indexed) == 24, "memory is tens of bytes a block");

struct tbed_stream_range { /* the event blocks of a stream */
    uint32_t stream;
    size_t first;
    size_t count;
};

struct tbed_index {
    struct tbed_vector
        lists[TBED_BLOCK_CELLS + 1]; /* struct tbed_indexed, by kind; by stream, then sequence */
    struct tbed_vector
        ghosts; /* damaged blocks, so that they are not reported as missing too; struct tbed_ghost, sorted */
    struct tbed_vector pending; /* pages and cells without a block, to be read again; struct tbed_pending */
    struct tbed_vector string_slots;  /* struct tbed_string_slot, by ordinal, then cell */
    struct tbed_vector record_order;  /* uint32_t positions in the list of records, in file order */
    struct tbed_vector stream_ranges; /* struct tbed_stream_range, by stream */
    struct tbed_vector ordinal_pages; /* uint32_t, the page with each ordinal up to the highest; 0: none */
    uint64_t scanned_page_count;      /* pages that have been read, including the header page */
    uint64_t pending_page_count;      /* how many pages are pending */
    uint64_t cut_page_count;          /* pages that were begun, and lie beyond the end of the file */
    uint64_t first_tick, last_tick;   /* of all sealed event blocks; none if first > last */
};

static inline struct tbed_indexed *tbed_index_at(const struct tbed_index *index, enum tbed_block_kind kind,
                                                 size_t at)
{
    return &((struct tbed_indexed *)index->lists[kind].items)[at];
}

/* The page with this ordinal; 0: none. */
static inline uint32_t tbed_index_ordinal_page(const struct tbed_index *index, uint32_t ordinal)
{
    return ordinal < index->ordinal_pages.count ? ((uint32_t *)index->ordinal_pages.items)[ordinal] : 0;
}

/* Widens the times of the index to those of a sealed event block. */
static inline void tbed_index_note_ticks(struct tbed_index *index, uint64_t first_tick, uint64_t last_tick)
{
    if (first_tick < index->first_tick)
        index->first_tick = first_tick;
    if (last_tick > index->last_tick)
        index->last_tick = last_tick;
}

/* Reads all pages that are new or had no block. Errors: ERR_MEMORY, after which the index can only be freed. */
enum tbed_status tbed_index_update(struct tbed_reader *reader, struct tbed_index *index);

/*
 * Reports the numbers below a stream's highest that no block has, in a file that is shut. 'losses' are the struct
 * tbed_lost_info of its LOST records, which explain some. Errors: ERR_MEMORY.
 */
enum tbed_status tbed_index_tell_gaps(const struct tbed_reader *reader, const struct tbed_index *index,
                                      const struct tbed_vector *losses);

/* A copy to update, so that the old index is intact after a failure. */
enum tbed_status tbed_index_copy(const struct tbed_index *from, struct tbed_index *to_ret);

void tbed_index_free(struct tbed_index *index);

/* The stream's range; {stream, 0, 0} if it has no event blocks. */
struct tbed_stream_range tbed_index_stream(const struct tbed_index *index, uint32_t stream);

/* How many event blocks between these two of a stream are neither there nor damaged. */
uint32_t tbed_index_missing_count(const struct tbed_index *index, const struct tbed_indexed *before,
                                  const struct tbed_indexed *after);

/* String blocks in the order of the string space: position 0, 1, … NULL past the last. */
struct tbed_indexed *tbed_index_string_at(const struct tbed_index *index, size_t position);

/* The position of the string block that holds 'offset' of the string page 'ordinal'; SIZE_MAX: there is none. */
size_t tbed_index_string_position(const struct tbed_index *index, uint32_t ordinal, uint32_t offset);

/* Reports places without a block that are not all zero as BLOCK_NOT_ZERO. For files that were shut. */
void tbed_index_check_unwritten(const struct tbed_reader *reader);

#endif
