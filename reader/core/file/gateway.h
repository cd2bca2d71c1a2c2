/*
 * The gateway: the only way from an entry of the index to the bytes of a block. All code that reads a block's
 * contents goes through it.
 *
 * SPDX-License-Identifier: MIT
 */
#ifndef TRACEBED_GATEWAY_H
#define TRACEBED_GATEWAY_H

#include "reader/core/file/place.h"

/*
 * Checks that the block lies inside the map and that its header is valid on every call, and its content once (again
 * if 'force_hash' is set and it was accepted without its checksum before).
 *
 * Errors: the block's ERR_BLOCK_…, or ERR_EVENT_STACK, added to the damage; ERR_CHANGED if another block has taken
 *         its place.
 */
enum tbed_status tbed_gateway(const struct tbed_reader *reader, enum tbed_block_kind kind,
                              struct tbed_indexed *entry, bool force_hash, struct tbed_block *block_ret);

/*
 * The same by the header and the stored stack alone: the content is not read, so a block that nobody has read may prove
 * damaged. One that is known to be damaged is refused. Errors: as above.
 */
enum tbed_status tbed_gateway_by_header(const struct tbed_reader *reader, enum tbed_block_kind kind,
                                        struct tbed_indexed *entry, struct tbed_block *block_ret);

/*
 * As tbed_event_block_get(), for those who need only what the block's header says: of a packed trace, what '*block_ret' points
 * to is not held.
 */
enum tbed_status tbed_event_block_look(const struct tbed_reader *reader, size_t index,
                                       struct tbed_block *block_ret);

/* Whether the block still is in its place, and all that was loaded from it before this call is its own. */
bool tbed_block_is_there(const struct tbed_reader *reader, const struct tbed_block *block);

/*
 * Copies a block that may be given to another stream while it is being read into 'copy', which has room for
 * block->nbytes bytes, and makes 'block' refer to the copy. False if the block was given away before the copy was
 * complete.
 */
bool tbed_block_copy(const struct tbed_reader *reader, struct tbed_block *block, uint64_t *copy);

/* Updates such a copy from word 'at' on, and returns whether the block has grown since it was copied. */
bool tbed_block_has_more(const struct tbed_block *original, size_t at);
bool tbed_block_copy_more(const struct tbed_reader *reader, const struct tbed_block *original, uint64_t *copy,
                          size_t at);

/* Do the block's header and checksum pass? Its content (the stack, events, entries) is not decoded. Adds damage. */
bool tbed_indexed_is_good(const struct tbed_reader *reader, enum tbed_block_kind kind,
                          struct tbed_indexed *entry);

/*
 * Is this, by its entry or its header alone, a sealed event block all of whose ticks are below 'tick'? False if it is damaged;
 * adds no damage.
 */
bool tbed_indexed_ends_before(const struct tbed_reader *reader, struct tbed_indexed *entry, uint64_t tick);

#endif
