/*
 * Random traces with everything that distinguishes one way of reading spans from another.
 *
 * SPDX-License-Identifier: MIT
 */
#ifndef TRACEBED_RANDOM_TRACE_H
#define TRACEBED_RANDOM_TRACE_H

#include "reader/tests/analysis/analysis_fixture.h"

#define IDS     12u
#define STREAMS 3u

/* What happens now and then in stream 2. */
enum {
    ODD_NOTHING,
    ODD_WHOLE,
    ODD_BACK,
    ODD_UNKNOWN,
    ODD_LEAVE,
    ODD_OUTER, /* a span leaves before those inside it */
    ODD_CATEGORY,
    ODD_COUNTER,
    ODD_EXTENDED,
    ODD_COUNT
};

/* Streams 1 to STREAMS; the first goes on with spans of a parent process. If it loses blocks, the file was not closed. */
struct fixture *random_trace(unsigned odd, uint32_t depth_max, bool loses, uint64_t seed);

/* The same with blocks of about so many events; 0: as many as fit. */
struct fixture *random_trace_in_blocks(unsigned odd, uint32_t depth_max, bool loses, uint32_t block_events,
                                       uint64_t seed);

#endif
