/*
 * What is known of all flows together: the sums of each name, where the time went, and the slowest flows.
 *
 * SPDX-License-Identifier: MIT
 */
#ifndef TRACEBED_FLOW_SUMS_H
#define TRACEBED_FLOW_SUMS_H

#include "reader/analysis/shared/number_map.h"
#include "reader/analysis/sums/cells.h"
#include "reader/core/base/vector.h"

#include <tracebed/flows.h>

/* A begin, a step or an end. */
struct flow_point {
    uint64_t tick;
    uint64_t span_begin, span_end; /* of the span around it; outside of all spans, its tick */
    uint32_t stream;
    uint32_t id; /* of that span; INVALID: outside of all spans */
};

/* The flows of one id. */
struct flow_name {
    uint32_t id;
    bool is_async;
    uint64_t open_count, lost_end_count, lost_step_count, decrease_count;
    uint64_t running, waiting;
};

/* Time of the flows of one id. */
struct flow_share {
    uint32_t name, stream, id;
    bool is_waiting;
    uint64_t count, ticks;
};

struct flow_sums {
    TBED_VECTOR(struct flow_name) names;
    TBED_VECTOR(struct flow_share) shares;
    TBED_VECTOR(struct tbed_flow_stretch) stretches; /* of the flow that is being added */
    struct number_map name_of;                       /* by id and kind */
    struct number_map span_of;                       /* by id and stream */
    struct number_map share_of;                      /* by name, span and kind */
    struct stat_cells cells;                         /* of each name */
    struct tbed_flow *slowest;                       /* a heap, the last one on top; later sorted */
    uint64_t *order;                                 /* of each of them: the how manieth to end */
    size_t slowest_count, wanted;
    uint64_t ended_count;
    uint64_t resolution;
    bool is_out_of_memory; /* once set, the sums are unusable */
};

bool tbed_flow_sums_open(struct flow_sums *sums, size_t wanted, uint64_t resolution);
void tbed_flow_sums_close(struct flow_sums *sums);

/* The number of a name; UINT32_MAX: no memory. */
uint32_t tbed_flow_name(struct flow_sums *sums, uint32_t id, bool is_async);

/* Adds a flow that has ended. */
void tbed_flow_sums_add(struct flow_sums *sums, uint32_t name, uint64_t key, const struct flow_point *points,
                        size_t count);

/* Sorts the slowest flows; nothing can be added any more. */
void tbed_flow_sums_sort(struct flow_sums *sums);

#endif
