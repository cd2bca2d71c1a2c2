/*
 * Asynchronous spans: a begin and an end match by id and key, in whatever streams they stand, so they are
 * read in order of time, in a pass of their own.
 *
 * SPDX-License-Identifier: MIT
 */
#ifndef TRACEBED_ASYNC_PASS_H
#define TRACEBED_ASYNC_PASS_H

#include "reader/analysis/statistics/span_walk.h"

/* Reads the streams of the chunks that have any, once more, into 'cells'; 'worker' knows their rows. False: no memory. */
bool tbed_async_pass(struct stat_worker *worker, struct stat_cells *cells);

#endif
