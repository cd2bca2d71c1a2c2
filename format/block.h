/*
 * Decodes and checks block headers, and walks the content of blocks. Pure functions over bytes.
 *
 * Not here: checks that need a second block (BLOCK_TWICE, BLOCK_MISSING, duplicate ordinals), and file access.
 *
 * Source: spec/format.md, section 4.
 *
 * SPDX-License-Identifier: MIT
 */
#ifndef TRACEBED_BLOCK_H
#define TRACEBED_BLOCK_H

#include "format/layout.h"

struct tbed_block_fields { /* the block header, host order */
    uint32_t kind;
    uint32_t shift;
    uint32_t cell;
    uint32_t page;
    uint64_t file_id;
    uint32_t stream;
    uint32_t sequence;
    uint32_t generation;
    uint32_t string_page;
    uint64_t first_tick;
    uint32_t depth;
    uint32_t used_nbytes; /* 0: not sealed */
    uint64_t last_tick;
    uint64_t checksum;
};

/* What a block's position says about it; the header must agree. */
struct tbed_block_place {
    uint64_t file_id;
    uint32_t page_nbytes;
    uint32_t page;
    uint32_t cell;              /* 0: the block fills the page */
    uint32_t nbytes;            /* the page's size, or the cell size stored in the cells page */
    uint32_t cells_string_page; /* for a cell: the ordinal of its page */
    uint64_t next_stream;       /* the file's counter; in a live file, loaded after the block's first word */
    uint64_t next_string_page;  /* the same */
};

/*
 * Loads a header that a writer may be storing at this moment: the first word, then 'used', each with acquire
 * order before what they publish. A kind of NONE means that the other fields mean nothing yet.
 */
struct tbed_block_fields tbed_block_load(const uint8_t *block);

/*
 * Makes those block checks of section 12 that need only the header. The kind is not NONE.
 *
 * Errors: BLOCK_KIND, SHIFT, CELL, PAGE, FILE, STREAM, DEPTH, USED, TICKS, ORDINAL; '*field_ret' is
 *         then the offset of the field in the block, '*detail_ret' its value.
 */
enum tbed_status tbed_block_header_check(const struct tbed_block_fields *fields,
                                         const struct tbed_block_place *place, uint32_t *field_ret,
                                         uint64_t *detail_ret);

/*
 * Checks the content of a sealed block: BLOCK_CHECKSUM, BLOCK_TAIL. 'nbytes' is the block's size (for a cells page, the
 * cell size); 64 <= used <= nbytes must have been checked. 'skip_hash' omits the checksum.
 */
enum tbed_status tbed_block_content_check(const uint8_t *block, const struct tbed_block_fields *fields,
                                          uint32_t nbytes, bool skip_hash);

/* How many open spans an event block of 'nbytes' stores when 'depth' are open. */
static inline uint32_t tbed_block_stored_count(uint32_t nbytes, uint32_t depth)
{
    return depth < nbytes / 64 ? depth : nbytes / 64;
}

/* The offset of its first event word. */
static inline uint32_t tbed_block_words_offset(uint32_t nbytes, uint32_t depth)
{
    return TBED_BLOCK_HEADER_NBYTES + TBED_STACK_ENTRY_NBYTES * tbed_block_stored_count(nbytes, depth);
}

/* Checks the stored stack: EVENT_STACK, with the offset in the block, or OK. */
enum tbed_status tbed_block_stack_check(const uint8_t *block, uint32_t stored_count, uint32_t *offset_ret);

/* The result of tbed_block_scan(). */
struct tbed_block_scan {
    uint32_t end_nbytes; /* the end of the content: the offset of the first zero word or of the damage */
    uint64_t last_tick;  /* the latest event's tick, at least the first tick */
    uint64_t least_begin_tick; /* the first tick, or the earliest begin tick of a SPAN if that is lower */
    bool has_rest;             /* bytes after 'end_nbytes' are not zero: an interrupted record, or damage */
    uint64_t item_count;       /* event words and records, string entries, or records before the end */
};

/*
 * tbed_block_scan() walks a block of kind EVENTS, STRINGS or RECORDS that is not sealed, from the start of its content
 * to the first zero word or to the end of the block. For a cells page the end is that of the header's copy. The header's kind, depth and first
 * tick are not checked; whatever they are, the result lies within the block.
 *
 * Errors: EVENT_… , STRING_LENGTH or RECORD_LENGTH if it found damage; 'end_nbytes' is then the damage's offset in the
 * block. '*scan_ret' is filled in any case. Contents of strings and fields of records are not examined.
 */
enum tbed_status tbed_block_scan(const uint8_t *block, uint32_t nbytes, enum tbed_block_kind kind,
                                 struct tbed_block_scan *scan_ret);

/*
 * Whether what a scan without damage found is all that there was of an unsealed block. 'ended_nbytes' is the end of its
 * content if it is known, from a page's entry that says that the block has ended; otherwise 0, and what follows the end
 * may be an interrupted record: one, where events have their length.
 *
 * Errors: EVENT_ZERO, STRING_LENGTH or RECORD_LENGTH, at the end that the scan found.
 */
enum tbed_status tbed_block_end_check(const uint8_t *block, uint32_t nbytes, enum tbed_block_kind kind,
                                      const struct tbed_block_scan *scan, uint32_t ended_nbytes);

struct tbed_block_ticks {
    uint64_t last, least_begin; /* as in the entry of a page, but not beyond what the events say */
};

/* Those of [0, used) of an event block of the caller's own, whose words are trusted. */
struct tbed_block_ticks tbed_block_ticks(const uint8_t *block, uint32_t used_nbytes);

#endif
