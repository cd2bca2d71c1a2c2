/*
 * Asynchronous spans: a begin and an end match by id and key, in whatever streams they stand, so they are
 * read in order of time, in a pass of their own.
 *
 * SPDX-License-Identifier: MIT
 */
#ifndef TRACEBED_ASYNC_PASS_H
#define TRACEBED_ASYNC_PASS_H

#include "reader/analysis/spans/name_table.h"

/* Reads the streams of the blocks that are marked SPAN_MARK_ASYNC, into 'names'. Errors: ERR_MEMORY. */
enum tbed_status tbed_async_pass(struct tbed_reader *reader, const uint8_t *block_marks, size_t block_count,
                                 struct name_table *names);

/*
 * The streams of the blocks that have the mark, at least one of them; NULL: no memory. The caller frees them. Blocks
 * are numbered by stream, so each comes once.
 */
uint32_t *tbed_marked_streams(struct tbed_reader *reader, const uint8_t *block_marks, size_t block_count,
                              uint8_t mark, size_t *count_ret);

#endif
