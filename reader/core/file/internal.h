/*
 * What the parts of the reading library know of each other. Not for users of the library.
 *
 * A reader is a map of the file, an index of its blocks (index.h), what its records say (metadata.h) and a
 * list of damage. Everything that reads inside a block has gone through tbed_gateway().
 *
 * SPDX-License-Identifier: MIT
 */
#ifndef TRACEBED_READER_INTERNAL_H
#define TRACEBED_READER_INTERNAL_H

#include "format/block.h"
#include "format/header.h"
#include "reader/core/file/damage.h"
#include "reader/core/file/index.h"
#include "reader/core/file/map.h"
#include "reader/core/records/metadata.h"

#include <tracebed/reader.h>

struct tbed_reader {
    struct tbed_map map;
    struct tbed_header_fields header;
    bool skip_hashes;
    bool shut;           /* as the last look found it */
    uint64_t page_count; /* claimed, as the last look found it; what the file has if that is impossible */
    uint64_t epoch;      /* raised by every refresh: positions in the index may have moved */
    struct tbed_index index;
    struct tbed_metadata metadata;
    struct tbed_damage_list *damage; /* by pointer: a const reader still tells of damage */
    struct tbed_name_cache *names;   /* the same */
    bool has_origin;
    uint64_t origin_tick;              /* what tbed_ticks_to_ns() counts from */
    uint64_t interrupted_record_count; /* these three by tbed_reader_verify() */
    uint64_t unknown_event_count;
    uint64_t tick_decrease_count;
};

static inline const struct tbed_disk_header *tbed_reader_header(const struct tbed_reader *reader)
{
    return (const struct tbed_disk_header *)reader->map.bytes;
}

/* Tells of damage at 'offset' of the file; the page follows from it. */
void tbed_damage_tell(const struct tbed_reader *reader, enum tbed_status status, uint64_t offset,
                      uint32_t cell, uint64_t detail);

/* The same for damage that is the whole file's. */
void tbed_damage_tell_file(const struct tbed_reader *reader, enum tbed_status status, uint64_t offset,
                           uint64_t detail);

/* Where a block stands in the file. */
static inline uint64_t tbed_entry_offset(const struct tbed_reader *reader, const struct tbed_entry *entry)
{
    return (uint64_t)entry->page * reader->header.page_nbytes + ((uint64_t)entry->cell << entry->shift);
}

/*
 * The gateway: the only way from an entry of the index to the bytes of a block. Checks the place against the
 * map, the header every time, the content once (again if 'force_hash' and it was let pass without its
 * checksum).
 *
 * Errors: the block's ERR_BLOCK_…, or ERR_EVENT_STACK, told as damage; ERR_CHANGED if another block stands
 * there now.
 */
enum tbed_status tbed_gateway(const struct tbed_reader *reader, enum tbed_block_kind kind,
                              struct tbed_entry *entry, bool force_hash, struct tbed_block *block_ret);

/*
 * Copies a block that may be given to another stream while it is read into 'copy', of block->nbytes bytes, and makes
 * 'block' be the copy. False: that has happened before the copy was made.
 */
bool tbed_block_copy(struct tbed_block *block, uint64_t *copy);

/* The same from word 'at' on, of a block that was copied before and may have grown since; and whether it has. */
bool tbed_block_has_more(const struct tbed_block *original, size_t at);
bool tbed_block_copy_more(const struct tbed_block *original, uint64_t *copy, size_t at);

/* Are pages of the file given to other blocks while it is read? */
static inline bool tbed_reader_is_reused(const struct tbed_reader *reader)
{
    return reader->header.ring_page_count != 0 && !reader->shut;
}

/* Does the block stand all its own checks? What it holds (the stack, events, entries) is not asked. Tells if not. */
bool tbed_entry_is_good(const struct tbed_reader *reader, enum tbed_block_kind kind,
                        struct tbed_entry *entry);

/* A sealed event block all of whose ticks are below 'tick', by its header alone. Tells nothing: false if it is damaged. */
bool tbed_entry_ends_before(const struct tbed_reader *reader, struct tbed_entry *entry, uint64_t tick);

/* What a block that stands at 'page' and 'cell' has to say in its header, as things are now. */
struct tbed_block_place tbed_place_make(const struct tbed_reader *reader, uint32_t page, uint32_t cell,
                                        uint32_t shift, uint32_t cells_string_page);

/* The entry of the string table that 'id' addresses; its content, checked but for its components. */
struct tbed_string_entry {
    const uint8_t *content;
    uint32_t nbytes; /* terminator included */
};
enum tbed_status tbed_string_find(const struct tbed_reader *reader, uint32_t id,
                                  struct tbed_string_entry *entry_ret);

#endif
