/*
 * The chunks of a profile put together, from the last to the first.
 *
 * SPDX-License-Identifier: MIT
 */
#ifndef TRACEBED_STAT_MERGE_H
#define TRACEBED_STAT_MERGE_H

#include "reader/analysis/statistics/span_walk.h"

/* A thread, as the chunks so far have left it. */
struct stat_stream {
    uint64_t thread;
    struct stat_span *spans; /* the innermost last */
    size_t depth, room;
    uint64_t begin, end; /* of all its spans */
};

struct stat_merge {
    struct stat_stream *streams;
    size_t stream_count, stream_room;
    struct number_map by_thread;
    struct stat_cells cells;
    uint64_t overlap_count;
    bool out_of_memory;
};

/* Takes the chunk before those that were taken. */
void tbed_stat_merge_take(struct stat_merge *merge, const struct stat_result *result);

/* After the first chunk: lets all spans leave their stacks. Returns the ticks of all streams. */
uint64_t tbed_stat_merge_finish(struct stat_merge *merge);

/* Forgets everything; the room of the cells stays. */
void tbed_stat_merge_clear(struct stat_merge *merge);

void tbed_stat_merge_free(struct stat_merge *merge);

#endif
