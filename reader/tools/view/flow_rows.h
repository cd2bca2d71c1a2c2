/*
 * The flows and asynchronous spans that have to do with a window, the slowest first; and where asynchronous spans, which need not
 * nest, are drawn: each in the first row that is free.
 *
 * SPDX-License-Identifier: MIT
 */
#ifndef TRACEBED_VIEW_FLOW_ROWS_H
#define TRACEBED_VIEW_FLOW_ROWS_H

#include "reader/core/base/vector.h"

#include <tracebed/flows.h>

#define FLOW_ROWS_MAX 64 /* what finds no free row is in the last one */

struct flow_row_span {
    const struct tbed_flow *flow;
    uint32_t row;
};

/* In order of begin. */
struct flow_rows {
    TBED_VECTOR(struct flow_row_span) spans;
    uint32_t row_count;
};

/* The first one from '*index' on, which is then behind it; NULL: there are no more. */
const struct tbed_flow *flow_rows_next(const struct tbed_flows *flows, uint64_t begin_tick, uint64_t end_tick,
                                       size_t *index);

/* At most 'most' spans, those with the most time. False: no memory. Free it in any case with flow_rows_free(). */
bool flow_rows_make(struct flow_rows *rows, const struct tbed_flows *flows, uint64_t begin_tick,
                    uint64_t end_tick, size_t most);
void flow_rows_free(struct flow_rows *rows);

/* All that have a begin and an end. */
uint64_t flow_rows_total(const struct tbed_flows *flows);

#endif
