/*
 * The chunks of a profile put together, from the last to the first.
 *
 * SPDX-License-Identifier: MIT
 */
#ifndef TRACEBED_PROFILE_MERGE_H
#define TRACEBED_PROFILE_MERGE_H

#include "reader/analysis/profile/profile_take.h"

/* A thread, as the chunks so far have left it. */
struct profile_stream {
    uint64_t thread;
    struct profile_span *spans; /* the innermost last */
    size_t depth, room;
    uint64_t begin, end; /* of all its spans */
};

struct profile_merge {
    struct profile_stream *streams;
    size_t stream_count, stream_room;
    struct number_map by_thread;
    struct profile_cells cells;
    uint64_t overlap_count;
    bool out_of_memory;
};

/* Takes the chunk before those that were taken. */
void tbed_profile_merge_take(struct profile_merge *merge, const struct profile_result *result);

/* After the first chunk: lets all spans leave their stacks. Returns the ticks of all streams. */
uint64_t tbed_profile_merge_finish(struct profile_merge *merge);

void tbed_profile_merge_free(struct profile_merge *merge);

#endif
