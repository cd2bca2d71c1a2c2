/*
 * The directory: what a file says about its pages in one place. Arithmetic, and entries and directory pages made and
 * checked. Pure functions over bytes.
 *
 * Not here: when a writer stores an entry (writer/pages), and what a reader does with it.
 *
 * Source: spec/format.md, sections 3.3 and 4.3.
 *
 * SPDX-License-Identifier: MIT
 */
#ifndef TRACEBED_DIRECTORY_H
#define TRACEBED_DIRECTORY_H

#include "format/block.h"
#include "format/file/header.h"
#include "format/layout.h"

enum tbed_entry_state {
    TBED_ENTRY_FREE = 0,
    TBED_ENTRY_CLAIMED = 1, /* the page is zero, or is being begun */
    TBED_ENTRY_BEGUN = 2,
    TBED_ENTRY_ENDED = 3, /* used, last tick and least begin tick are final */
    TBED_ENTRY_SEALED = 4,
};

#define TBED_ENTRY_LAST 1u /* a flag of a ring's event block: its stream has ended */

struct tbed_entry_fields { /* an entry, host order */
    uint32_t state;
    uint32_t kind;
    uint32_t flags; /* kind 4: how many cells were begun; kind 1, in a ring: TBED_ENTRY_LAST */
    uint32_t sequence;
    uint32_t generation; /* of a ring page, and the process: the mark (mark.h); else 0 */
    uint32_t process;
    uint32_t stream;
    uint32_t used_nbytes; /* 0 before ENDED, like the three after it */
    uint64_t first_tick;
    uint64_t last_tick;
    uint64_t least_begin_tick;
    uint32_t depth;
    uint32_t string_page; /* kinds 2 and 4, in place of the depth */
    uint32_t age;
    uint32_t checksum; /* the low half of the block's */
    bool is_valid;     /* DIRECTORY_ENTRY, as far as one entry shows it */
};

/* ---- Where things stand ---- */

/* How many entries, of pages 0 to count - 1, the header page has. */
static inline uint32_t tbed_directory_first_count(uint32_t page_nbytes)
{
    return (page_nbytes / 2 - TBED_ENTRIES_OFFSET) / TBED_ENTRY_NBYTES;
}

/* How many entries, of the pages that follow it, a directory page has. */
static inline uint32_t tbed_directory_page_count(uint32_t page_nbytes)
{
    return (page_nbytes - TBED_COPY_USED_NBYTES) / TBED_ENTRY_NBYTES;
}

/* The page number of directory page 'index'. */
static inline uint64_t tbed_directory_page(uint32_t page_nbytes, uint64_t index)
{
    return tbed_directory_first_count(page_nbytes) + index * (tbed_directory_page_count(page_nbytes) + 1);
}

bool tbed_directory_has_page(uint32_t page_nbytes, uint64_t page);

/* How many of the pages below 'page_count' are directory pages. */
uint64_t tbed_directory_pages_below(uint32_t page_nbytes, uint64_t page_count);

/* The file offset of a page's entry. The page is not a directory page. */
uint64_t tbed_directory_entry_offset(uint32_t page_nbytes, uint64_t page);

/*
 * Section 3.2: the closing checksum of a file of 'page_count' pages that is mapped at 'map'. 'header' is its header page,
 * or a copy of its first 768 bytes that already has the final counters and state.
 */
uint64_t tbed_closing_checksum(const void *header, const uint8_t *map, uint32_t page_nbytes,
                               uint64_t page_count);

/* ---- Entries ---- */

/* Loads an entry that a writer may be storing at this moment. */
struct tbed_entry_fields tbed_entry_load(const void *entry);

/* The header that the block of a page has if its entry is right, of a file with pages of 1 << 'shift' bytes. */
struct tbed_block_fields tbed_entry_block(const struct tbed_entry_fields *entry, uint64_t file_id,
                                          uint32_t page, uint32_t shift);

/* What belongs at the end of a sealed entry. */
uint32_t tbed_entry_check_make(const struct tbed_disk_entry *entry);

/* The entry of a page whose block is 'block' and sealed, without flags, process and age. */
struct tbed_disk_entry tbed_entry_make(const struct tbed_block_fields *block, uint64_t least_begin_tick);

/* The entry and the valid header of its page's block say the same. */
bool tbed_entry_agrees(const struct tbed_entry_fields *entry, const struct tbed_block_fields *block);

/*
 * Stores the directory, and directory pages, of a file that is mapped at 'map' and belongs to the caller alone: what its
 * blocks say about themselves. The header page has been made.
 */
void tbed_directory_build(uint8_t *map, uint32_t page_nbytes, uint64_t page_count);

/* The same for one page, which may be a directory page itself. */
void tbed_directory_build_page(uint8_t *map, uint32_t page_nbytes, uint64_t page);

/* ---- Directory pages, and the header's copies in them and in cells pages ---- */

/* Fills the first 512 bytes of a directory page. 'header' is the header page. The page number is a directory page's. */
void tbed_directory_page_make(void *bytes, const void *header, uint32_t page);

/*
 * Checks the first 512 bytes of a directory page; 'header' is the header page, or a copy of its first 448 bytes, that
 * has been checked.
 */
bool tbed_directory_page_is_valid(const void *bytes, const void *header, uint32_t page);

/*
 * Whether [0, 512) of 'bytes', which stand at 'offset' in the file, are a directory page or cell 0 of a cells page with
 * an intact copy of the header. The copy is then [64, 512).
 */
bool tbed_header_copy_is_valid(const void *bytes, uint64_t offset, struct tbed_header_fields *fields_ret);

#endif
