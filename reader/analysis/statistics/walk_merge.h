/*
 * Merges the chunks of a profile, from the last to the first.
 *
 * SPDX-License-Identifier: MIT
 */
#ifndef TRACEBED_STAT_MERGE_H
#define TRACEBED_STAT_MERGE_H

#include "reader/analysis/statistics/span_walk.h"

/* The state of a thread after the chunks merged so far. */
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

/* Merges the chunk before those merged so far. */
void tbed_stat_merge_take(struct stat_merge *merge, const struct stat_result *result);

/* To be called after the first chunk: removes all spans from their stacks. Returns the ticks of all streams. */
uint64_t tbed_stat_merge_finish(struct stat_merge *merge);

/* Clears everything; the room of the cells is kept. */
void tbed_stat_merge_clear(struct stat_merge *merge);

void tbed_stat_merge_free(struct stat_merge *merge);

#endif
