/*
 * When traces began, so that the times of several of them start at the first.
 *
 * SPDX-License-Identifier: MIT
 */
#ifndef TRACEBED_EXCHANGE_EXPORT_START_H
#define TRACEBED_EXCHANGE_EXPORT_START_H

#include <tracebed/reader.h>

/*
 * When a trace began, by its clock and, if known, by the wall clock. The first event left in a ring may be the end of a
 * span.
 */
struct export_start {
    int64_t ns, realtime_ns;
    bool has_realtime;
};

/* Errors: ERR_MEMORY. */
enum tbed_status tbed_export_start_find(struct tbed_reader *reader, struct export_start *start_ret);

/* The offset added to the trace's times: its start is 0, or later if another of 'starts' is before it. */
int64_t tbed_export_start_shift(const struct export_start *start, const struct export_start *starts,
                                size_t count);

#endif
