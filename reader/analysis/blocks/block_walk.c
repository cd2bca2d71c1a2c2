/*
 * All blocks of memory; see block_walk.h.
 *
 * SPDX-License-Identifier: MIT
 */
#include "reader/analysis/blocks/block_walk.h"
#include "reader/analysis/blocks/allocation_streams.h"

#include <stdlib.h>

/* So many events are applied between two looks at 'is_cancelled'. */
#define EVENTS_AT_ONCE 65536u

struct block_walk {
    struct heap_watch watch; /* first, for ended() */
    struct tbed_reader *reader;
    struct block_walk_options options;
    struct allocation_stream *streams; /* of all processes */
    size_t stream_count, next_stream;

    /* The process that is walked. */
    uint32_t process;
    bool has_process, is_heap_open;
    struct heap heap;
    struct allocation_source *all, **sources;
    size_t all_count, source_count;

    /* Blocks that are not handed out yet: those that the latest event has ended, or the live ones. */
    struct heap_block *blocks;
    size_t block_count, block_room, next_block;
    bool is_out_of_memory;
};

/* ---- Blocks that wait ---- */

/* One event can end many mappings. */
static void take_ended(struct heap_watch *watch, const struct heap_block *block)
{
    struct block_walk *walk = (struct block_walk *)watch;
    if (walk->block_count == walk->block_room) {
        size_t room = walk->block_room * 2 + 16;
        struct heap_block *blocks = realloc(walk->blocks, room * sizeof *blocks);
        if (blocks == NULL) {
            walk->is_out_of_memory = true;
            return;
        }
        walk->blocks = blocks;
        walk->block_room = room;
    }
    walk->blocks[walk->block_count++] = *block;
}

static void hand_out(struct block_walk *walk, struct walked_block *block_ret)
{
    block_ret->block = walk->blocks[walk->next_block++];
    block_ret->block.site = walk->heap.sites[block_ret->block.site].id;
    block_ret->process = walk->process;
}

/* ---- Processes ---- */

static void close_process(struct block_walk *walk)
{
    if (walk->is_heap_open)
        tbed_heap_close(&walk->heap);
    for (size_t i = 0; walk->all != NULL && i < walk->all_count; i++)
        tbed_allocation_source_close(&walk->all[i]);
    free(walk->all);
    free(walk->sources);
    walk->all = NULL;
    walk->sources = NULL;
    walk->source_count = 0;
    walk->is_heap_open = walk->has_process = false;
}

/* Errors: ERR_MEMORY. */
static enum tbed_status open_sources(struct block_walk *walk, size_t first, size_t count)
{
    walk->all_count = count;
    walk->all = calloc(count, sizeof *walk->all);
    walk->sources = calloc(count, sizeof *walk->sources);
    if (walk->all == NULL || walk->sources == NULL)
        return TBED_ERR_MEMORY;
    for (size_t i = 0; i < count; i++) {
        tbed_allocation_source_open(&walk->all[i], walk->reader, walk->streams[first + i].stream,
                                    walk->options.filter);
        if (tbed_allocation_source_next(&walk->all[i]))
            walk->sources[walk->source_count++] = &walk->all[i];
    }
    for (size_t at = walk->source_count / 2; at-- > 0;)
        tbed_allocation_sift_down(walk->sources, walk->source_count, at);
    return TBED_OK;
}

/* Errors: END: there are no more processes; ERR_MEMORY. */
static enum tbed_status open_process(struct block_walk *walk)
{
    size_t first = walk->next_stream, end = first;
    if (first == walk->stream_count)
        return TBED_END;
    walk->process = walk->streams[first].process;
    while (end < walk->stream_count && walk->streams[end].process == walk->process)
        end++;
    walk->next_stream = end;
    if (walk->process < walk->options.least_process || walk->process > walk->options.greatest_process)
        return TBED_OK;
    tbed_heap_open(&walk->heap);
    walk->heap.watch = &walk->watch;
    walk->is_heap_open = walk->has_process = true;
    return open_sources(walk, first, end - first);
}

/* Applies events until one has ended blocks. */
static enum tbed_status follow(struct block_walk *walk)
{
    for (unsigned i = 0; i < EVENTS_AT_ONCE && walk->source_count > 0 && walk->block_count == 0; i++) {
        struct allocation_source *source = walk->sources[0];
        if (!tbed_heap_take(&walk->heap, &source->event, &source->newest_address) || walk->is_out_of_memory)
            return TBED_ERR_MEMORY;
        if (!tbed_allocation_source_next(source))
            walk->sources[0] = walk->sources[--walk->source_count];
        if (walk->source_count > 0)
            tbed_allocation_sift_down(walk->sources, walk->source_count, 0);
    }
    return TBED_OK;
}

/* After the last event of a process. */
static enum tbed_status list_live(struct block_walk *walk)
{
    size_t count = 0;
    struct heap_block *blocks = tbed_heap_live(&walk->heap, &count);
    if (blocks == NULL)
        return TBED_ERR_MEMORY;
    free(walk->blocks);
    walk->blocks = blocks;
    walk->block_count = walk->block_room = count;
    walk->has_process = false;
    return TBED_OK;
}

/* ---- The walk ---- */

enum tbed_status tbed_block_walk_open(struct tbed_reader *reader, const struct block_walk_options *options,
                                      struct block_walk **walk_ret)
{
    if (tbed_filter_has_labels(options->filter))
        return TBED_ERR_ARGUMENT;
    struct block_walk *walk = calloc(1, sizeof *walk);
    if (walk == NULL)
        return TBED_ERR_MEMORY;
    walk->watch.ended = take_ended;
    walk->reader = reader;
    walk->options = *options;
    walk->streams = tbed_allocation_streams(reader, &walk->stream_count);
    if (walk->streams == NULL) {
        free(walk);
        return TBED_ERR_MEMORY;
    }
    *walk_ret = walk;
    return TBED_OK;
}

static bool is_cancelled(const struct block_walk *walk)
{
    return walk->options.is_cancelled != NULL &&
           __atomic_load_n(walk->options.is_cancelled, __ATOMIC_RELAXED);
}

/* Towards the next block: one step. */
static enum tbed_status step(struct block_walk *walk)
{
    walk->next_block = walk->block_count = 0;
    if (walk->has_process && walk->source_count > 0)
        return is_cancelled(walk) ? TBED_ERR_CANCELLED : follow(walk);
    if (walk->has_process)
        return list_live(walk);
    close_process(walk);
    return open_process(walk);
}

enum tbed_status tbed_block_walk_next(struct block_walk *walk, struct walked_block *block_ret)
{
    while (walk->next_block == walk->block_count) {
        enum tbed_status status = step(walk);
        if (status != TBED_OK)
            return status;
    }
    hand_out(walk, block_ret);
    return TBED_OK;
}

void tbed_block_walk_close(struct block_walk *walk)
{
    if (walk == NULL)
        return;
    close_process(walk);
    free(walk->streams);
    free(walk->blocks);
    free(walk);
}
