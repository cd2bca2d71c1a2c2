/*
 * The streams with events of each process, and the merge of their allocation events in order of time.
 *
 * SPDX-License-Identifier: MIT
 */
#ifndef TRACEBED_ALLOCATION_STREAMS_H
#define TRACEBED_ALLOCATION_STREAMS_H

#include "reader/analysis/memory/allocation_source.h"

struct allocation_stream { /* a stream and its process */
    uint32_t process, stream;
};

/* All streams that have events, by process. The caller frees them. NULL: no memory. */
struct allocation_stream *tbed_allocation_streams(const struct tbed_reader *reader, size_t *count_ret);

/* ---- Sources in a heap: the first is the one whose event comes first ---- */

static inline bool tbed_allocation_comes_first(const struct allocation_source *a,
                                               const struct allocation_source *b)
{
    return a->event.tick != b->event.tick ? a->event.tick < b->event.tick : a->event.stream < b->event.stream;
}

static inline void tbed_allocation_sift_down(struct allocation_source **sources, size_t count, size_t at)
{
    struct allocation_source *moving = sources[at];
    for (size_t child; (child = 2 * at + 1) < count; at = child) {
        if (child + 1 < count && tbed_allocation_comes_first(sources[child + 1], sources[child]))
            child++;
        if (!tbed_allocation_comes_first(sources[child], moving))
            break;
        sources[at] = sources[child];
    }
    sources[at] = moving;
}

#endif
