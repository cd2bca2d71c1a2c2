/*
 * The check of all blocks of a kind, on several threads. For verify.c only.
 *
 * SPDX-License-Identifier: MIT
 */
#ifndef TRACEBED_VERIFY_BLOCKS_H
#define TRACEBED_VERIFY_BLOCKS_H

#include "reader/core/file/reader_state.h"

/*
 * Checks everything in the blocks of a kind, including checksums and events, and counts what killed writers left
 * unfinished. Damage of blocks is added to the reader's list, that of the events in them to 'events'; both in the order of
 * the index, however many threads there are. Errors: ERR_MEMORY.
 */
enum tbed_status tbed_verify_blocks(struct tbed_reader *reader, enum tbed_block_kind kind,
                                    unsigned thread_count, struct tbed_damage_list *events);

#endif
