/*
 * What a block's place in the file says about it, and what is known of the block at a place.
 *
 * SPDX-License-Identifier: MIT
 */
#ifndef TRACEBED_PLACE_H
#define TRACEBED_PLACE_H

#include "format/block.h"
#include "format/file/directory.h"
#include "reader/core/file/reader_state.h"

/*
 * The values that the header of a block at 'page' and 'cell' is checked against, given the current state of the file.
 */
struct tbed_block_place tbed_place_make(const struct tbed_reader *reader, uint32_t page, uint32_t cell,
                                        uint32_t shift, uint32_t cells_string_page);

/* What the directory says about a page. */
struct tbed_page_entry {
    bool is_there;    /* the file has the entry; otherwise nothing else here is set */
    bool is_begun;    /* the entry is valid, and says that the page was begun */
    bool is_possible; /* what it says could be in a block's header */
    bool is_sealed;   /* it also says that the block is sealed: the page need not be looked at */
    struct tbed_entry_fields fields;
};

/* While a page of a ring is being taken, it has no entry. */
struct tbed_page_entry tbed_page_entry_load(const struct tbed_reader *reader, uint64_t page);

/* The same; 'page' is not a directory page, and its entry would be at 'offset'. */
struct tbed_page_entry tbed_page_entry_at(const struct tbed_reader *reader, uint64_t page, uint64_t offset);

/* The header of a page's block; the kind is NONE if there is none, or it is being taken. The page lies within the file. */
struct tbed_block_fields tbed_page_block_load(const struct tbed_reader *reader, uint64_t page);

/* The page of a live ring has been given to another block since its entry was loaded. */
bool tbed_page_was_taken(const struct tbed_reader *reader, uint64_t page,
                         const struct tbed_page_entry *entry);

/* What is known of the block that is or was at a place, without checking its content. */
struct tbed_block_facts {
    enum tbed_block_kind kind; /* NONE: nothing is known */
    uint32_t stream;
    uint32_t sequence;
    uint64_t first_tick, last_tick; /* equal if it is not sealed */
};

struct tbed_block_facts tbed_place_facts(const struct tbed_reader *reader, uint64_t page, uint32_t cell);

#endif
