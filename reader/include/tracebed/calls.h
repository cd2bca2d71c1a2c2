/*
 * tracebed/calls.h: single spans of a trace, such as the slowest calls of a function.
 *
 * SPDX-License-Identifier: MIT
 */
#ifndef TRACEBED_CALLS_H
#define TRACEBED_CALLS_H

#include <tracebed/filter.h>

#ifdef __cplusplus
extern "C" {
#endif

enum tbed_calls_order {
    TBED_CALLS_SLOWEST,
    TBED_CALLS_FASTEST,
    TBED_CALLS_NEAREST, /* to a tick: those that contain it first, then by how far away they are */
    TBED_CALLS_BEFORE,  /* only those that begin before a tick, the last one first */
    TBED_CALLS_AFTER,   /* only those that begin at a tick or later, the first one first */
};

struct tbed_calls_options {
    size_t size;                      /* sizeof(struct tbed_calls_options) */
    unsigned thread_count;            /* 0: one per processor */
    const struct tbed_filter *filter; /* which spans, such as those of one name; NULL: all */
    enum tbed_calls_order order;
    uint64_t tick; /* for NEAREST, BEFORE and AFTER */
    /* If this becomes true, the call returns with ERR_CANCELLED soon; atomic; NULL: never. */
    const bool *is_cancelled;
};

/* A span, cut to the window of the filter. One that ends before it begins has no time, at its end. */
struct tbed_call {
    uint64_t begin_tick, end_tick;
    uint64_t ticks; /* its duration, from times rounded down to the resolution of the trace */
    uint32_t stream;
    uint32_t id;
    uint32_t category; /* INVALID: none, or not known */
    bool is_open;      /* it never ended */
};

/*
 * Finds the first 'count' spans in this order, and stores them in 'calls', which has room for as many. Equal ones come in order
 * of begin, then stream, then end, then id, those that never ended last, whatever the number of threads. '*found_ret' is how many were stored, and
 * '*total_ret' how many spans the filter takes, also those that the order leaves out; both may be NULL. A span whose begin is not known is not found.
 *
 * Memory grows with 'count', and with the spans that are open at one time.
 *
 * Errors: ERR_MEMORY, ERR_ARGUMENT, ERR_CANCELLED. Damage is not an error: everything readable is read, and the rest is added to the
 *         damage list.
 */
enum tbed_status tbed_calls_find(struct tbed_reader *reader, const struct tbed_calls_options *options,
                                 struct tbed_call *calls, size_t count, size_t *found_ret,
                                 uint64_t *total_ret);

/*
 * Counts the spans by duration: counts[i] is how many take at least bounds[i] ticks and less than bounds[i + 1], the last
 * one how many take at least that; ticks[i], if 'ticks' is not NULL, is how long they take together. Spans below bounds[0]
 * are not counted. The bounds rise. 'order' and 'tick' of the options are ignored.
 *
 * Errors: ERR_MEMORY, ERR_ARGUMENT, ERR_CANCELLED.
 */
enum tbed_status tbed_calls_count(struct tbed_reader *reader, const struct tbed_calls_options *options,
                                  const uint64_t *bounds, size_t bound_count, uint64_t *counts,
                                  uint64_t *ticks);

#ifdef __cplusplus
}
#endif
#endif
