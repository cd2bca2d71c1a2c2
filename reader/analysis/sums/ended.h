/*
 * Spans that have ended, collected and added to their cells together: the processor then waits for the counts of many spans
 * at once, which are seldom in its cache.
 *
 * SPDX-License-Identifier: MIT
 */
#ifndef TRACEBED_ENDED_H
#define TRACEBED_ENDED_H

#include "reader/analysis/sums/cells.h"

#define STAT_ENDED_MAX 1024u

struct stat_ended {
    uint64_t ticks, self;
    uint32_t row; /* its cell is of the kind STAT_OTHER, and exists */
};

/* Adds the spans to their cells. */
void tbed_stat_add_ended(struct stat_cells *cells, const struct stat_ended *ended, size_t count);

#endif
