/*
 * Asynchronous spans: a begin matches an end with the same id and key in any stream, so these events are read in
 * order of time, in a separate pass.
 *
 * SPDX-License-Identifier: MIT
 */
#ifndef TRACEBED_ASYNC_PASS_H
#define TRACEBED_ASYNC_PASS_H

#include "reader/analysis/statistics/span_walk.h"

/*
 * Reads the streams that have asynchronous spans once more, into 'cells'; 'worker' knows their rows. False: no
 * memory.
 */
bool tbed_async_pass(struct stat_worker *worker, struct stat_cells *cells);

#endif
