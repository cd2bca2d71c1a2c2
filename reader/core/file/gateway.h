/*
 * The gateway: the only way from an entry of the index to the bytes of a block. Whatever reads inside a block has come
 * through it.
 *
 * SPDX-License-Identifier: MIT
 */
#ifndef TRACEBED_GATEWAY_H
#define TRACEBED_GATEWAY_H

#include "format/block.h"
#include "reader/core/file/reader_state.h"

/*
 * Checks the place against the map, the header every time, and the content once (again if 'force_hash' and it was
 * accepted before without its checksum).
 *
 * Errors: the block's ERR_BLOCK_…, or ERR_EVENT_STACK, added to the damage; ERR_CHANGED if another block is there now.
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

/* Does the block pass all its own checks? Its content (the stack, events, entries) is not looked at. Adds damage. */
bool tbed_entry_is_good(const struct tbed_reader *reader, enum tbed_block_kind kind,
                        struct tbed_entry *entry);

/* A sealed event block all of whose ticks are below 'tick', by its header alone. Adds no damage: false if there is. */
bool tbed_entry_ends_before(const struct tbed_reader *reader, struct tbed_entry *entry, uint64_t tick);

/* What the header of a block at 'page' and 'cell' has to say, as things are now. */
struct tbed_block_place tbed_place_make(const struct tbed_reader *reader, uint32_t page, uint32_t cell,
                                        uint32_t shift, uint32_t cells_string_page);

#endif
