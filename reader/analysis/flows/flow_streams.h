/*
 * Which streams have flows: the blocks are read in any order, by all workers.
 *
 * SPDX-License-Identifier: MIT
 */
#ifndef TRACEBED_FLOW_STREAMS_H
#define TRACEBED_FLOW_STREAMS_H

#include <tracebed/flows.h>

struct flow_streams {
    uint32_t *items;  /* those with points of flows, rising */
    bool *have_whole; /* of each: there are SPAN events, which are recorded when the span ends */
    size_t count;
};

/* False: no memory. To be freed in any case. */
bool tbed_flow_streams_find(struct tbed_reader *reader, const struct tbed_flows_options *options,
                            struct flow_streams *streams);
void tbed_flow_streams_free(struct flow_streams *streams);

#endif
