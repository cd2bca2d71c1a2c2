/*
 * The streams of each process; see allocation_streams.h.
 *
 * SPDX-License-Identifier: MIT
 */
#include "reader/analysis/blocks/allocation_streams.h"

#include <stdlib.h>

static int compare_streams(const void *left, const void *right)
{
    const struct allocation_stream *a = left, *b = right;
    if (a->process != b->process)
        return a->process < b->process ? -1 : 1;
    return a->stream < b->stream ? -1 : a->stream > b->stream;
}

struct allocation_stream *tbed_allocation_streams(const struct tbed_reader *reader, size_t *count_ret)
{
    struct tbed_stream_info info;
    size_t total = 0, count = 0;
    while (tbed_stream_get(reader, total, &info))
        total++;
    struct allocation_stream *streams = calloc(total + 1, sizeof *streams);
    for (size_t i = 0; streams != NULL && i < total && tbed_stream_get(reader, i, &info); i++)
        if (info.block_count > 0)
            streams[count++] = (struct allocation_stream){info.process, info.stream};
    if (count > 1)
        qsort(streams, count, sizeof *streams, compare_streams);
    *count_ret = count;
    return streams;
}
