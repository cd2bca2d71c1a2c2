/*
 * tracebed/flows.h: requests followed over threads: flows, and asynchronous spans.
 *
 * A flow is what happens between a FLOW_BEGIN and the FLOW_END with the same name and key, in any stream, with the
 * steps between them. An asynchronous span is followed like a flow without steps. Steps and ends belong to the newest
 * open flow of their name and key.
 *
 * Where the time goes. The begin, each step and the end is a point in a stream, and belongs to the innermost span that
 * is open there, if any. Between two points, the flow first runs in the span of the first point until that span ends.
 * Then it waits, until the span of the second point begins. From there on it runs in that span. A point outside of all
 * spans takes no time: the flow waits from it to the next point, or from the last point to it. So everything adds up
 * to the time from begin to end.
 *
 * Waiting is for a stream and a span: those of the point that ends it.
 *
 * A point whose tick is below that of the point before counts as if it happened at the same time as that one.
 *
 * Units:     ticks, as in analysis.h.
 * Ownership: rows are valid until the flows are closed. They do not need their reader any more.
 * Threads:   any number of threads may share the flows; nothing changes them.
 *
 * SPDX-License-Identifier: MIT
 */
#ifndef TRACEBED_FLOWS_H
#define TRACEBED_FLOWS_H

#include <tracebed/analysis.h>

#ifdef __cplusplus
extern "C" {
#endif

struct tbed_flows_options {
    size_t size;           /* sizeof(struct tbed_flows_options) */
    unsigned thread_count; /* 0: one per processor */
    /*
     * Which events and spans count; NULL: all. Points that it does not take do not exist: a flow whose begin is
     * outside the window has none.
     */
    const struct tbed_filter *filter;
    const struct tbed_filter *names; /* its conditions on names say which flows count; NULL: all */
    const uint64_t *key;             /* only flows with this key; NULL: all */
    size_t slowest_count;            /* how many single flows are kept: those with the most time */
    tbed_name_function name;         /* NULL: tbed_id_text() */
    void *name_context;
    tbed_prepare_function prepare; /* called before 'name'; may be NULL */
};

/* The flows, or the asynchronous spans, of one label. Only those that have a begin and an end have a time. */
struct tbed_flow_row {
    const char *name; /* terminated */
    size_t name_nbytes;
    uint32_t id; /* the lowest id with this label */
    bool is_async;
    uint64_t count;                           /* flows with begin and end */
    uint64_t open_count;                      /* flows that never ended */
    uint64_t lost_end_count, lost_step_count; /* ends and steps of flows that never began */
    uint64_t decrease_count;                  /* points whose tick is below that of the point before */
    uint64_t total_ticks, min_ticks, max_ticks;
    uint64_t p50_ticks, p90_ticks, p99_ticks; /* as in struct tbed_span_row */
    uint64_t running_ticks, waiting_ticks;    /* together 'total_ticks' */
    size_t part_count;
};

/* Part of the time of all flows of a row. */
struct tbed_flow_part {
    bool is_waiting;  /* for that stream to begin that span; otherwise running in it */
    const char *name; /* of the span, terminated; "" for a point outside of all spans */
    size_t name_nbytes;
    uint32_t id; /* the lowest id with this label; INVALID: outside of all spans */
    uint32_t stream;
    uint64_t count; /* stretches of time */
    uint64_t ticks;
};

/* Some time of one flow; of the stretches of a flow, each begins where the one before ends. None is empty. */
struct tbed_flow_stretch {
    bool is_waiting;
    uint32_t id, stream; /* as above */
    uint64_t begin_tick, ticks;
};

/* A begin, a step or the end. */
struct tbed_flow_point {
    uint64_t tick; /* as recorded: it may be below that of the point before */
    uint32_t stream;
};

struct tbed_flow {
    uint32_t id;
    bool is_async;
    uint64_t key;
    uint64_t begin_tick, ticks;
    uint32_t begin_stream, end_stream;
    size_t point_count; /* with begin and end */
    size_t stretch_count;
    const struct tbed_flow_stretch *stretches;
    const struct tbed_flow_point *points; /* 'point_count' of them */
};

struct tbed_flows;

/*
 * tbed_flows_make() reads all event blocks to see which streams have flows, and then these streams in order of time.
 *
 * Memory grows with the number of names and streams, and with the points of flows that are open at one time. A point
 * in a stream that has SPAN events, or within a span whose BEGIN is not in the window, is also kept until the span
 * ends.
 *
 * Ownership: '*flows_ret' is the caller's; free it with tbed_flows_close(). It is untouched on failure. The options
 *            need not outlive the call.
 * Errors:    ERR_MEMORY, ERR_ARGUMENT. Damage is not an error: everything readable is read, and the rest is added to
 *            the damage list.
 */
enum tbed_status tbed_flows_make(struct tbed_reader *reader, const struct tbed_flows_options *options,
                                 struct tbed_flows **flows_ret);
void tbed_flows_close(struct tbed_flows *flows); /* NULL is allowed */

/* The rows, sorted by the bytes of their names, flows before asynchronous spans; NULL past the last. */
const struct tbed_flow_row *tbed_flows_row(const struct tbed_flows *flows, size_t index);

/* Where the time of a row went: the longest part first, then running before waiting, then by name and stream. */
const struct tbed_flow_part *tbed_flows_part(const struct tbed_flows *flows, size_t row, size_t index);

/* The slowest flows, the slowest first, equal ones in order of begin, then as they ended; NULL past the last. */
const struct tbed_flow *tbed_flows_slowest(const struct tbed_flows *flows, size_t index);

#ifdef __cplusplus
}
#endif
#endif
