/*
 * The parts of `tracebed flows`.
 *
 * SPDX-License-Identifier: MIT
 */
#ifndef TRACEBED_FLOWS_VERB_H
#define TRACEBED_FLOWS_VERB_H

#include "reader/tools/query/query.h"

#include <tracebed/flows.h>

struct flows_verb {
    struct query query;
    struct query_trace trace;
    struct tool_filter names; /* of flows; that of the query is of events */
    struct tbed_flows_options options;
    struct tbed_flows *flows;
    uint64_t key;
    size_t limit;
    bool parts, slowest;
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

/* What the tables consist of: rows, where the time of each went (with --path), and the stretches of the slowest. */
extern const struct table flows_tables[2], flows_stretches;

/* Print the rows; where the time of each went; the slowest flows. */
void flows_print_text(struct flows_verb *verb);
void flows_print_csv(struct flows_verb *verb);
void flows_print_json(struct flows_verb *verb);

/* The slowest flows one by one. */
void flows_put_slowest(struct flows_verb *verb);
void flows_json_slowest(struct flows_verb *verb, struct tbed_json *json);
void flows_csv_slowest(struct flows_verb *verb);

#define FLOWS_OUTSIDE "(outside of all spans)"

static inline const char *flows_kind(bool is_async)
{
    return is_async ? "async" : "flow";
}

static inline struct table_value flows_what(bool is_waiting)
{
    return table_text_of(is_waiting ? "waiting" : "running", sizeof "waiting" - 1);
}

#endif
