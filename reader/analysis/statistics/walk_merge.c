/*
 * Merges the chunks of a profile; see walk_merge.h.
 *
 * For each thread of a chunk, its roots are compared in order with the stack that the later chunks have left;
 * then the spans left by the chunk are put on top. A root that is contained in the innermost span changes only
 * that span's time in children. So if one span contains all roots of a chunk, as is usual, adding their sum
 * suffices.
 *
 * SPDX-License-Identifier: MIT
 */
#include "reader/analysis/statistics/walk_merge.h"

#include <stdlib.h>
#include <string.h>

static struct stat_stream *add_stream(struct stat_merge *merge, uint64_t thread)
{
    if (merge->stream_count == merge->stream_room) {
        size_t room = merge->stream_room == 0 ? 16 : merge->stream_room * 2;
        struct stat_stream *streams = realloc(merge->streams, room * sizeof *streams);
        if (streams == NULL)
            return NULL;
        merge->streams = streams;
        merge->stream_room = room;
    }
    if (!tbed_number_map_add(&merge->by_thread, thread, (uint32_t)merge->stream_count))
        return NULL;
    struct stat_stream *stream = &merge->streams[merge->stream_count++];
    *stream = (struct stat_stream){.thread = thread, .begin = UINT64_MAX};
    return stream;
}

static struct stat_stream *find_stream(struct stat_merge *merge, uint64_t thread)
{
    uint32_t index = tbed_number_map_find(&merge->by_thread, thread);
    return index != NUMBER_MAP_NONE ? &merge->streams[index] : add_stream(merge, thread);
}

static void pop(struct stat_merge *merge, struct stat_stream *stream)
{
    const struct stat_span *span = &stream->spans[--stream->depth];
    if (tbed_stat_grow_cells(&merge->cells, span->cell))
        stat_pop(&merge->cells, span);
}

static void take_root(struct stat_merge *merge, struct stat_stream *stream, const struct stat_root *root)
{
    while (stream->depth > 0) {
        struct stat_span *top = &stream->spans[stream->depth - 1];
        if (stat_contains(top, root->begin, root->end)) {
            top->children += tbed_ticks_between(merge->cells.resolution, root->begin, root->end);
            return;
        }
        merge->overlap_count += stat_overlaps(top, root->begin, root->end);
        pop(merge, stream);
    }
}

static void take_roots(struct stat_merge *merge, struct stat_stream *stream, const struct stat_part *part)
{
    struct stat_span *top = stream->depth > 0 ? &stream->spans[stream->depth - 1] : NULL;
    if (top != NULL && stat_contains(top, part->hull_begin, part->hull_end)) {
        top->children += part->spans[0].children;
        return;
    }
    for (const struct stat_root *root = part->roots; root < part->roots_at && stream->depth > 0; root++)
        take_root(merge, stream, root);
}

/* Puts the spans left on the part's stack on top of the stream's. */
static bool take_stack(struct stat_stream *stream, const struct stat_part *part)
{
    size_t count = (size_t)(part->top - part->spans);
    if (count == 0)
        return true;
    if (count > stream->room - stream->depth) {
        size_t room = (stream->depth + count) * 2;
        struct stat_span *spans = realloc(stream->spans, room * sizeof *spans);
        if (spans == NULL)
            return false;
        stream->spans = spans;
        stream->room = room;
    }
    memcpy(stream->spans + stream->depth, part->spans + 1, count * sizeof *part->spans);
    stream->depth += count;
    return true;
}

void tbed_stat_merge_take(struct stat_merge *merge, const struct stat_result *result)
{
    for (size_t i = 0; i < result->part_count; i++) {
        const struct stat_part *part = &result->parts[i];
        struct stat_stream *stream = find_stream(merge, part->thread);
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

uint64_t tbed_stat_merge_finish(struct stat_merge *merge)
{
    uint64_t ticks = 0;
    for (size_t i = 0; i < merge->stream_count; i++) {
        struct stat_stream *stream = &merge->streams[i];
        while (stream->depth > 0)
            pop(merge, stream);
        ticks += tbed_ticks_between(merge->cells.resolution, stream->begin, stream->end);
    }
    return ticks;
}

static void free_streams(struct stat_merge *merge)
{
    for (size_t i = 0; i < merge->stream_count; i++)
        free(merge->streams[i].spans);
    merge->stream_count = 0;
}

void tbed_stat_merge_clear(struct stat_merge *merge)
{
    free_streams(merge);
    tbed_number_map_clear(&merge->by_thread);
    tbed_stat_cells_clear(&merge->cells);
    merge->overlap_count = 0;
}

void tbed_stat_merge_free(struct stat_merge *merge)
{
    free_streams(merge);
    free(merge->streams);
    tbed_stat_cells_free(&merge->cells);
    tbed_number_map_free(&merge->by_thread);
}
