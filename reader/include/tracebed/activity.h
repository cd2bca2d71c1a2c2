/*
 * tracebed/activity.h: when each thread was busy, and when it did nothing.
 *
 * A stream is busy while any span is open that the filter takes, and idle otherwise, from its first to its last event.
 * A gap is an idle stretch of time between two spans, before the first one or after the last one. Spans without
 * duration divide gaps.
 *
 * Units:     ticks, as in analysis.h.
 * Ownership: rows are valid until the activity is closed. It does not need its reader any more.
 * Threads:   any number of threads may share an activity; nothing changes it.
 *
 * SPDX-License-Identifier: MIT
 */
#ifndef TRACEBED_ACTIVITY_H
#define TRACEBED_ACTIVITY_H

#include <tracebed/filter.h>

#ifdef __cplusplus
extern "C" {
#endif

struct tbed_activity_options {
    size_t size;           /* sizeof(struct tbed_activity_options) */
    unsigned thread_count; /* 0: one per processor */
    const struct tbed_filter *filter;
    /* If this becomes true, the call returns with ERR_CANCELLED soon; atomic; NULL: never. */
    const bool *is_cancelled;
};

struct tbed_activity_row {
    uint32_t stream;
    uint64_t first_tick, last_tick; /* of its events, cut to the window; spans may reach beyond */
    uint64_t span_count;            /* without those whose begin is not known, which have no time */
    uint64_t busy_ticks, idle_ticks;
    uint64_t gap_count; /* of at least a tick, or a step of the resolution; together 'idle_ticks' */
    uint64_t p50_gap_ticks, p90_gap_ticks, p99_gap_ticks; /* accurate to 1 % */
    uint64_t longest_gap_ticks, longest_gap_tick;         /* the first of the longest, and when it begins */
};

struct tbed_activity;

/*
 * tbed_activity_make() reads all event blocks. Memory grows with the number of streams, and with the spans that are
 * open at one time; for a stream whose spans are not recorded in the order of their ends, also with its number of gaps.
 *
 * Ownership: '*activity_ret' is the caller's; free it with tbed_activity_close(). It is untouched on failure. The
 *            options need not outlive the call.
 * Errors:    ERR_MEMORY, ERR_ARGUMENT, ERR_CANCELLED. Damage is not an error: everything readable is read, and the rest is added to
 *            the damage list.
 */
enum tbed_status tbed_activity_make(struct tbed_reader *reader, const struct tbed_activity_options *options,
                                    struct tbed_activity **activity_ret);
void tbed_activity_close(struct tbed_activity *activity); /* NULL is allowed */

/* The streams that have events in the window, in the order of tbed_stream_get(); NULL past the last. */
const struct tbed_activity_row *tbed_activity_get(const struct tbed_activity *activity, size_t index);

#ifdef __cplusplus
}
#endif
#endif
