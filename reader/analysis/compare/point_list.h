/*
 * The points of a stream in order of time, begins and ends of spans and instants, and the intervals between them.
 *
 * SPDX-License-Identifier: MIT
 */
#ifndef TRACEBED_POINT_LIST_H
#define TRACEBED_POINT_LIST_H

#include <tracebed/compare.h>

/* A point: what happens, and the number of its label. */
#define POINT_NONE UINT64_MAX
static inline uint64_t point_make(enum tbed_point_kind kind, uint32_t label)
{
    return (uint64_t)label << 2 | (uint64_t)kind;
}
static inline enum tbed_point_kind point_kind(uint64_t point)
{
    return point == POINT_NONE ? TBED_POINT_NONE : (enum tbed_point_kind)(point & 3);
}
static inline uint32_t point_label(uint64_t point)
{
    return (uint32_t)(point >> 2);
}

/* A span, or an instant. */
struct point_item {
    uint64_t begin_tick, end_tick;
    uint32_t label;
    bool is_instant;
};

/* The items of a stream, in the order in which the assembler gave them. */
struct point_items {
    struct point_item *items;
    size_t count, room;
};

struct point_interval {
    uint64_t from, to; /* points */
    uint64_t inside;   /* the label of the innermost span around both; POINT_NONE: none */
    uint64_t ticks;
};

struct point_intervals {
    struct point_interval *items;
    size_t count, room;
};

/* False: no memory. */
bool tbed_point_items_add(struct point_items *items, const struct point_item *item);

/* Replaces the list by the intervals of a stream in order of time. False: no memory. */
bool tbed_point_intervals_make(const struct point_items *items, struct point_intervals *intervals);

#endif
