/*
 * Times and durations on the command line. What they mean in ticks depends on the trace.
 *
 * SPDX-License-Identifier: MIT
 */
#ifndef TRACEBED_FILTER_TIME_H
#define TRACEBED_FILTER_TIME_H

#include "reader/tools/shared/tool.h"

enum filter_time_kind {
    FILTER_TIME_NONE,
    FILTER_TIME_PLAIN,   /* a number without a unit: seconds, or ticks if the clock does not measure time */
    FILTER_TIME_NS,      /* a number with a unit, in nanoseconds */
    FILTER_TIME_PERCENT, /* of the time from the first to the last tick */
    FILTER_TIME_WALL,    /* nanoseconds since 1970 */
};

struct filter_time {
    enum filter_time_kind kind;
    long double value;
};

/* A time: "1.5", "20ms", "10%", "2026-11-22T10:15:00.5", "@1795342500.5". Returns NULL, or what is expected instead. */
const char *filter_time_parse(const char *text, struct filter_time *time_ret);

/* A duration: "1.5", "20ms". The same. */
const char *filter_duration_parse(const char *text, struct filter_time *time_ret);

/*
 * The first tick at or after the time. Returns false if there is none: the time is later than any tick. '*problem_ret' is
 * what is wrong if the time cannot be told from this trace; then the result is meaningless.
 */
bool filter_time_tick(const struct filter_time *time, const struct tbed_reader *reader, uint64_t *tick_ret,
                      const char **problem_ret);

/* The least number of ticks that take at least the duration. */
uint64_t filter_duration_ticks(const struct filter_time *time, const struct tbed_reader *reader,
                               const char **problem_ret);

#endif
