/*
 * Garbage collections of a trace: when each had found what is dead, by process.
 *
 * They are known from the spans of tracks with the name "garbage collector": one whose name ends in "GC: sweeping" begins
 * when a collection has marked what is alive.
 *
 * SPDX-License-Identifier: MIT
 */
#ifndef TRACEBED_COLLECTIONS_H
#define TRACEBED_COLLECTIONS_H

#include "reader/core/base/vector.h"

#include <tracebed/filter.h>
#include <tracebed/reader.h>

struct collection {
    uint64_t tick;
    uint32_t process;
};

/* Zeroed: there are none. Sorted by process and time. */
struct collections {
    TBED_VECTOR(struct collection) all;
};

/* Those of one process. */
struct collections_part {
    const struct collection *items;
    size_t count;
};

/* Those in the time that the filter takes; NULL: all. Errors: ERR_MEMORY. */
enum tbed_status tbed_collections_load(struct tbed_reader *reader, const struct tbed_filter *filter,
                                       struct collections *collections);
void tbed_collections_free(struct collections *collections);

struct collections_part tbed_collections_of(const struct collections *collections, uint32_t process);

/* How many collections were over at 'tick'. */
size_t tbed_collections_before(struct collections_part part, uint64_t tick);

#endif
