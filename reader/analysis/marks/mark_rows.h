/*
 * The marks of a stream, and the values of counters: events are put in, and joined by column.
 *
 * SPDX-License-Identifier: MIT
 */
#ifndef TRACEBED_MARK_ROWS_H
#define TRACEBED_MARK_ROWS_H

#include "reader/core/base/vector.h"

#include <tracebed/window.h>

/* Marks in order of columns and kinds. */
typedef TBED_VECTOR(struct tbed_mark_row) mark_vector;

/* Of one stream, while it is read: a slot for each kind and column. */
struct mark_slots {
    uint64_t begin_tick, column_ticks;
    size_t column_count;
    struct tbed_mark_row *slots; /* 'count' 0: empty */
};

bool tbed_mark_slots_open(struct mark_slots *slots, size_t column_count);
void tbed_mark_slots_add(struct mark_slots *slots, const struct tbed_mark_row *mark);
/* Moves all marks to the end of 'to'. False: no memory. */
bool tbed_mark_slots_take(struct mark_slots *slots, mark_vector *to);

/* Joins what is in the same column of a stream when columns are 'column_ticks' wide, a multiple of what they were. */
void tbed_marks_widen(mark_vector *marks, uint64_t begin_tick, uint64_t column_ticks);

/* The sums of a counter in a column. */
struct counter_sums {
    uint64_t count;
    double min, max, sum;
};

struct counter_key {
    uint32_t process, id;
};

/* Counters in the order in which they were met. */
struct counter_table {
    size_t column_count;
    struct counter_key keys[TBED_MARKS_COUNTERS_MAX];
    struct counter_sums *columns[TBED_MARKS_COUNTERS_MAX];
    size_t count;
    size_t latest; /* the one that was asked for last */
    uint64_t left_out;
    bool is_out_of_memory;
};

void tbed_counter_table_add(struct counter_table *table, struct counter_key key, size_t column,
                            const struct counter_sums *sums);
void tbed_counter_table_free(struct counter_table *table);

#endif
