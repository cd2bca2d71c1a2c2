/*
 * Ranges of durations; see duration_bounds.h.
 *
 * SPDX-License-Identifier: MIT
 */
#include "reader/analysis/calls/duration_bounds.h"

#include <stdlib.h>

double tbed_duration_value(const struct tbed_reader *reader, uint64_t ticks)
{
    struct tbed_trace_info info;
    tbed_reader_info(reader, &info);
    return info.clock != TBED_CLOCK_USER ? tbed_tick_span_to_ns(reader, ticks) : (double)ticks;
}

uint64_t tbed_duration_ticks(const struct tbed_reader *reader, double value)
{
    uint64_t low = 0, high = INT64_MAX;
    while (low < high) {
        uint64_t middle = low + (high - low) / 2;
        if (tbed_duration_value(reader, middle) < value)
            low = middle + 1;
        else
            high = middle;
    }
    return low;
}

/* Preferred numbers: how many a factor of 10 is divided into. */
static const double one[] = {1}, three[] = {1, 2, 5}, five[] = {1, 1.6, 2.5, 4, 6.3},
                    ten[] = {1, 1.25, 1.6, 2, 2.5, 3.2, 4, 5, 6.3, 8};
static const struct series {
    const double *items;
    size_t count;
} all_series[] = {{ten, 10}, {five, 5}, {three, 3}, {one, 1}};
#define SERIES_COUNT (sizeof all_series / sizeof all_series[0])

/* The largest power of 10 that is not above the value, which is above 0. */
static double decade_of(double value)
{
    double decade = 1;
    while (decade > value)
        decade /= 10;
    while (decade * 10 <= value)
        decade *= 10;
    return decade;
}

/* False: no memory. */
static bool add_bound(struct duration_bounds *bounds, double bound)
{
    if (bounds->count == bounds->room) {
        size_t room = bounds->room * 2 + 64;
        double *items = realloc(bounds->items, room * sizeof *items);
        if (items == NULL)
            return false;
        bounds->items = items;
        bounds->room = room;
    }
    bounds->items[bounds->count++] = bound;
    return true;
}

/* The bounds of a series from the last that is not above 'least' up to 'most'. */
static bool add_series(struct duration_bounds *bounds, const struct series *series, double least, double most)
{
    bounds->count = 0;
    for (double decade = decade_of(least); decade <= most; decade *= 10)
        for (size_t i = 0; i < series->count && decade * series->items[i] <= most; i++) {
            double bound = decade * series->items[i];
            if (bound <= least)
                bounds->count = 0;
            if (!add_bound(bounds, bound))
                return false;
        }
    return true;
}

/* 1, 2 or 5 times a power of 10, and not below the value. */
static double step_from(double value)
{
    double decade = decade_of(value);
    for (size_t i = 0; i < 3; i++)
        if (decade * three[i] >= value)
            return decade * three[i];
    return decade * 10;
}

static bool add_steps(struct duration_bounds *bounds, double least, double most, size_t rows)
{
    double step = most > least ? step_from((most - least) / (double)rows) : 1;
    double bound = (double)(uint64_t)(least / step) * step;
    do
        if (!add_bound(bounds, bound))
            return false;
    while ((bound += step) <= most && bounds->count <= DURATION_ROWS_MAX + 1);
    return true;
}

bool tbed_duration_bounds_make(struct duration_bounds *bounds, double least, double most, size_t rows,
                               bool is_linear)
{
    if (is_linear || most < 4 * least || most <= 0)
        return add_steps(bounds, least, most, rows);
    double first = least > 0 ? least : most / 1e6 > 1 ? 1 : most / 1e6;
    size_t best = 0, best_distance = SIZE_MAX;
    for (size_t i = 0; i < SERIES_COUNT; i++) {
        if (!add_series(bounds, &all_series[i], first, most))
            return false;
        size_t count = bounds->count, distance = count > rows ? count - rows : rows - count;
        best = distance < best_distance ? i : best;
        best_distance = distance < best_distance ? distance : best_distance;
    }
    if (!add_series(bounds, &all_series[best], first, most))
        return false;
    if (least < bounds->items[0])
        bounds->items[0] = 0;
    return true;
}

void tbed_duration_bounds_free(struct duration_bounds *bounds)
{
    free(bounds->items);
    *bounds = (struct duration_bounds){0};
}
