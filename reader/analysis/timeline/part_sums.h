/*
 * Sums of a timeline by id and part of the time.
 *
 * SPDX-License-Identifier: MIT
 */
#ifndef TRACEBED_PART_SUMS_H
#define TRACEBED_PART_SUMS_H

#include "reader/analysis/shared/number_map.h"

#include <tracebed/timeline.h>

/* How the time is divided. */
struct parts {
    uint64_t first_tick, each; /* ticks; the last part takes what is left */
    size_t count;
    uint64_t resolution;
};

/*
 * Of spans in one part. A span that covers many parts is added to two of them: 'full' grows where it begins to cover parts
 * completely, and shrinks where it ends to do so.
 */
struct part_span {
    uint64_t count, ticks, full;
};

struct part_value {
    uint64_t count;
    double sum, min, max;
};

/* An array for each id, one item for each part. All zeros, except for 'item_nbytes', is an empty table. */
struct part_table {
    struct number_map by_id;
    struct part_entry {
        uint32_t id;
        void *parts;
    } * entries;
    size_t count, room;
    size_t item_nbytes;
    uint32_t last_id; /* the one that was asked for last */
    void *last;
};

/* The array of an id. NULL: no memory. */
void *tbed_part_table_get(struct part_table *table, uint32_t id, size_t part_count);
void tbed_part_table_free(struct part_table *table);

/* Adds [begin, end); nothing if it is empty. */
void tbed_parts_add_time(const struct parts *parts, struct part_span *sums, uint64_t begin, uint64_t end);
size_t tbed_parts_of(const struct parts *parts, uint64_t tick);
uint64_t tbed_parts_tick(const struct parts *parts, size_t part);

/* Turns 'full' into ticks. */
void tbed_parts_settle(const struct parts *parts, struct part_span *sums);

void tbed_part_spans_add(struct part_span *into, const struct part_span *from, size_t count);
void tbed_part_values_add(struct part_value *into, const struct part_value *from, size_t count);
void tbed_part_value_take(struct part_value *sums, double value);

#endif
