/*
 * Ranges of durations for a histogram: bounds that people can read, such as 1, 2, 5, 10.
 *
 * SPDX-License-Identifier: MIT
 */
#ifndef TRACEBED_DURATION_BOUNDS_H
#define TRACEBED_DURATION_BOUNDS_H

#include <tracebed/reader.h>

#define DURATION_ROWS_DEFAULT 20u
#define DURATION_ROWS_MAX     1000u

/* Where ranges begin, in nanoseconds, or in units of a clock that does not measure time. Zeroed: empty. */
struct duration_bounds {
    double *items;
    size_t count, room;
};

/*
 * About 'rows' ranges for durations from 'least' to 'most': of equal size if they are linear, otherwise they grow with the
 * durations. There is at least one. False: no memory.
 */
bool tbed_duration_bounds_make(struct duration_bounds *bounds, double least, double most, size_t rows,
                               bool is_linear);
void tbed_duration_bounds_free(struct duration_bounds *bounds);

/* A duration in the unit of bounds, and the first one in ticks that is not below a bound. */
double tbed_duration_value(const struct tbed_reader *reader, uint64_t ticks);
uint64_t tbed_duration_ticks(const struct tbed_reader *reader, double value);

#endif
