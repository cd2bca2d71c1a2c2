/*
 * Durations in traces whose clock has a resolution coarser than a tick: spec/format.md, section 8.3.
 *
 * SPDX-License-Identifier: MIT
 */
#ifndef TRACEBED_RESOLUTION_H
#define TRACEBED_RESOLUTION_H

#include <stdint.h>

/* The difference of both times, each rounded down to the resolution, in ticks; 0 if time decreases. */
static inline uint64_t tbed_ticks_between(uint64_t resolution, uint64_t from, uint64_t to)
{
    if (resolution > 1) {
        from -= from % resolution;
        to -= to % resolution;
    }
    return to > from ? to - from : 0;
}

#endif
