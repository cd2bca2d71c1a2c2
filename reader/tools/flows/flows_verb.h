/*
 * The parts of `tracebed flows`.
 *
 * SPDX-License-Identifier: MIT
 */
#ifndef TRACEBED_FLOWS_VERB_H
#define TRACEBED_FLOWS_VERB_H

#include "reader/tools/filter/tool_filter.h"
#include "reader/tools/table/table.h"

#include <tracebed/flows.h>

struct flows_verb {
    const char *path;
    struct tbed_reader *reader;
    struct tool_places places;
    struct tool_filter filter, names; /* of events; of flows */
    struct tbed_flows_options options;
    struct tbed_trace_info info;
    struct tbed_flows *flows;
    uint64_t key;
    size_t limit;
    bool parts, slowest, no_symbols, csv, json;
    struct tool_buffer text; /* of the current value */
};

/* One line of a listing: a row, or a part of its time. */
struct flows_line {
    const struct tbed_flow_row *row;
    const struct tbed_flow_part *part;
};

/* One line of a single flow in CSV. */
struct flows_stretch {
    const struct tbed_flow *flow;
    const struct tbed_flow_stretch *stretch;
    size_t number; /* of the flow, from 1 */
};

/* Print the rows; where the time of each went; the slowest flows. */
void flows_print_text(struct flows_verb *verb);
void flows_print_csv(struct flows_verb *verb);
void flows_print_json(struct flows_verb *verb);

/* The slowest flows one by one. */
void flows_put_slowest(struct flows_verb *verb);
void flows_json_slowest(struct flows_verb *verb, struct tbed_json *json);
void flows_csv_slowest(struct flows_verb *verb);

/* The name of a span, or of a flow; valid until the next one. */
const struct tool_buffer *flows_label(struct flows_verb *verb, uint32_t id);

/* "thread 4711 worker"; valid until the next text. */
const struct tool_buffer *flows_thread(struct flows_verb *verb, uint32_t number);

static inline const char *flows_kind(bool is_async)
{
    return is_async ? "async" : "flow";
}

#endif
