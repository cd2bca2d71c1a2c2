/*
 * The pass over the events in order of time: flows that are open, and the spans around their points.
 *
 * SPDX-License-Identifier: MIT
 */
#ifndef TRACEBED_FLOW_PASS_H
#define TRACEBED_FLOW_PASS_H

#include "reader/analysis/flows/flow_streams.h"
#include "reader/analysis/flows/flow_sums.h"

/* Adds all flows in these streams to the sums. Errors: ERR_MEMORY. */
enum tbed_status tbed_flow_pass(struct tbed_reader *reader, const struct tbed_flows_options *options,
                                const struct flow_streams *streams, struct flow_sums *sums);

#endif
