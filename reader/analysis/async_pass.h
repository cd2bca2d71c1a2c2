/*
 * Asynchronous spans: a begin and an end match by id and key, in whatever streams they stand, so they are
 * read in order of time, in a pass of their own.
 *
 * SPDX-License-Identifier: MIT
 */
#ifndef TRACEBED_ASYNC_PASS_H
#define TRACEBED_ASYNC_PASS_H

#include "reader/analysis/name_table.h"

/* Reads the streams of the blocks that are marked in 'block_has_async', into 'names'. Errors: ERR_MEMORY. */
enum tbed_status tbed_async_pass(struct tbed_reader *reader, const uint8_t *block_has_async,
                                 size_t block_count, struct name_table *names);

#endif
