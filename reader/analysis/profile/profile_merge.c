/*
 * The chunks of a profile put together; see profile_merge.h.
 *
 * For each thread of a chunk: its roots meet the stack that the later chunks have left, in their order; then what
 * the chunk has left comes on top. A root that is contained in the innermost span changes nothing but that span's
 * share of its children. So if one span contains all roots of a chunk, which is usual, their sum is all it takes.
 *
 * SPDX-License-Identifier: MIT
 */
#include "reader/analysis/profile/profile_merge.h"

#include <stdlib.h>
#include <string.h>

static struct profile_stream *add_stream(struct profile_merge *merge, uint64_t thread)
{
    if (merge->stream_count == merge->stream_room) {
        size_t room = merge->stream_room == 0 ? 16 : merge->stream_room * 2;
        struct profile_stream *streams = realloc(merge->streams, room * sizeof *streams);
        if (streams == NULL)
            return NULL;
        merge->streams = streams;
        merge->stream_room = room;
    }
    if (!tbed_number_map_add(&merge->by_thread, thread, (uint32_t)merge->stream_count))
        return NULL;
    struct profile_stream *stream = &merge->streams[merge->stream_count++];
    *stream = (struct profile_stream){.thread = thread, .begin = UINT64_MAX};
    return stream;
}

static struct profile_stream *find_stream(struct profile_merge *merge, uint64_t thread)
{
    uint32_t index = tbed_number_map_find(&merge->by_thread, thread);
    return index != NUMBER_MAP_NONE ? &merge->streams[index] : add_stream(merge, thread);
}

static void pop(struct profile_merge *merge, struct profile_stream *stream)
{
    const struct profile_span *span = &stream->spans[--stream->depth];
    if (span->cell >= merge->cells.room && !tbed_profile_grow_cells(&merge->cells, span->cell))
        merge->out_of_memory = true;
    else
        profile_pop(&merge->cells, span);
}

static void take_root(struct profile_merge *merge, struct profile_stream *stream,
                      const struct profile_root *root)
{
    while (stream->depth > 0) {
        struct profile_span *top = &stream->spans[stream->depth - 1];
        if (profile_contains(top, root->begin, root->end)) {
            top->children += root->end - root->begin;
            return;
        }
        merge->overlap_count += profile_overlaps(top, root->begin, root->end);
        pop(merge, stream);
    }
}

static void take_roots(struct profile_merge *merge, struct profile_stream *stream,
                       const struct profile_part *part)
{
    struct profile_span *top = stream->depth > 0 ? &stream->spans[stream->depth - 1] : NULL;
    if (top != NULL && profile_contains(top, part->hull_begin, part->hull_end)) {
        top->children += part->spans[0].children;
        return;
    }
    for (const struct profile_root *root = part->roots; root < part->roots_at && stream->depth > 0; root++)
        take_root(merge, stream, root);
}

/* What is left on the part's stack comes on top of the stream's. */
static bool take_stack(struct profile_stream *stream, const struct profile_part *part)
{
    size_t count = (size_t)(part->top - part->spans);
    if (count == 0)
        return true;
    if (count > stream->room - stream->depth) {
        size_t room = (stream->depth + count) * 2;
        struct profile_span *spans = realloc(stream->spans, room * sizeof *spans);
        if (spans == NULL)
            return false;
        stream->spans = spans;
        stream->room = room;
    }
    memcpy(stream->spans + stream->depth, part->spans + 1, count * sizeof *part->spans);
    stream->depth += count;
    return true;
}

void tbed_profile_merge_take(struct profile_merge *merge, const struct profile_result *result)
{
    for (size_t i = 0; i < result->part_count; i++) {
        const struct profile_part *part = &result->parts[i];
        struct profile_stream *stream = find_stream(merge, part->thread);
        if (stream == NULL) {
            merge->out_of_memory = true;
            return;
        }
        take_roots(merge, stream, part);
        stream->begin = part->hull_begin < stream->begin ? part->hull_begin : stream->begin;
        stream->end = part->hull_end > stream->end ? part->hull_end : stream->end;
        if (!take_stack(stream, part))
            merge->out_of_memory = true;
    }
}

uint64_t tbed_profile_merge_finish(struct profile_merge *merge)
{
    uint64_t ticks = 0;
    for (size_t i = 0; i < merge->stream_count; i++) {
        struct profile_stream *stream = &merge->streams[i];
        while (stream->depth > 0)
            pop(merge, stream);
        ticks += stream->end - stream->begin;
    }
    return ticks;
}

void tbed_profile_merge_free(struct profile_merge *merge)
{
    for (size_t i = 0; i < merge->stream_count; i++)
        free(merge->streams[i].spans);
    free(merge->streams);
    free(merge->cells.cells);
    tbed_number_map_free(&merge->by_thread);
}
