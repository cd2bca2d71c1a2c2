/*
 * How spans nest; see nesting.h.
 *
 * SPDX-License-Identifier: MIT
 */
#include "reader/tables/rows/nesting.h"

#include "reader/core/base/workers.h"

#include <stdlib.h>
#include <string.h>

/* A span that is around the end of a block, and belongs to a later one. */
struct node {
    uint64_t begin, end, id;
    int64_t self_ns; /* when the stream has been read */
    uint32_t depth;
    struct node *around;
};

/* A span of the block that is being read, while others are looked for inside it. */
struct nesting_frame {
    uint64_t begin, end, id;
    int64_t left_ns;   /* of its time, without that of the spans inside it */
    size_t item;       /* in the second pass */
    struct node *node; /* in the first pass: made at the start of a block */
};

#define POOL_NODES 1024u
struct pool {
    struct pool *next;
    struct node nodes[POOL_NODES];
};

struct nesting {
    struct nesting_options options;
    struct node **tops; /* by block: the innermost span of later blocks around its end */
    struct pool *pools;
};

/* ---- Frames ---- */

static bool have_frames(struct nesting_space *space, size_t count)
{
    if (count <= space->room)
        return true;
    size_t room = count * 2 + 64;
    struct nesting_frame *frames = realloc(space->frames, room * sizeof *frames);
    if (frames == NULL)
        return false;
    space->frames = frames;
    space->room = room;
    return true;
}

void tbed_nesting_space_free(struct nesting_space *space)
{
    free(space->frames);
}

static struct nesting_frame frame_of(const struct nesting *nesting, struct nesting_space *space,
                                     const struct block_span *item, uint64_t id)
{
    const struct nesting_options *options = &nesting->options;
    uint64_t begin = item->begin_tick < item->end_tick ? item->begin_tick : item->end_tick;
    return (struct nesting_frame){.begin = begin,
                                  .end = item->end_tick,
                                  .id = id,
                                  .left_ns = nesting_duration(options->reader, &space->line,
                                                              options->resolution, begin, item->end_tick)};
}

/* Takes the time of a span from that of the one around it. */
static void take_from(struct nesting_frame *outer, const struct nesting_frame *inner)
{
    if (__builtin_sub_overflow(outer->left_ns, inner->left_ns, &outer->left_ns))
        outer->left_ns = INT64_MIN;
}

static bool contains(uint64_t begin, uint64_t end, const struct nesting_frame *inner)
{
    return begin <= inner->begin && inner->end <= end;
}

/* ---- The first pass ---- */

struct pass {
    struct tbed_work work;
    struct nesting *nesting;
    struct pass_worker *workers;
};

struct pass_worker {
    struct block_spans spans;
    struct nesting_space space;
    struct pool *pools;
    size_t pool_used; /* nodes of the first one */
    enum tbed_status status;
};

static struct node *make_node(struct pass_worker *worker)
{
    if (worker->pools == NULL || worker->pool_used == POOL_NODES) {
        struct pool *pool = malloc(sizeof *pool);
        if (pool == NULL)
            return NULL;
        pool->next = worker->pools;
        worker->pools = pool;
        worker->pool_used = 0;
    }
    return &worker->pools->nodes[worker->pool_used++];
}

static void pop(struct nesting_frame *frame)
{
    if (frame->node != NULL)
        frame->node->self_ns = frame->left_ns;
}

/* Keeps the spans that are open at the start of the block that has been read. Returns the innermost; NULL: none. */
static bool keep_frames(struct pass_worker *worker, size_t count, struct node **top_ret)
{
    struct nesting_frame *frames = worker->space.frames;
    size_t at = count;
    while (at > 0 && frames[at - 1].node == NULL)
        at--;
    for (; at < count; at++) {
        struct node *node = make_node(worker);
        if (node == NULL)
            return false;
        *node = (struct node){.begin = frames[at].begin,
                              .end = frames[at].end,
                              .id = frames[at].id,
                              .depth = (uint32_t)at,
                              .around = at > 0 ? frames[at - 1].node : NULL};
        frames[at].node = node;
    }
    *top_ret = count > 0 ? frames[count - 1].node : NULL;
    return true;
}

static bool walk_block(struct pass_worker *worker, const struct nesting *nesting, size_t *depth)
{
    struct nesting_space *space = &worker->space;
    const struct block_spans *spans = &worker->spans;
    size_t count = *depth;
    uint64_t first_id = nesting_first_id(&spans->block);
    if (!have_frames(space, count + spans->count))
        return false;
    for (size_t i = spans->count; i-- > 0;) {
        if (spans->items[i].kind == TBED_STEP_UNKNOWN)
            continue;
        struct nesting_frame frame = frame_of(nesting, space, &spans->items[i], first_id + i);
        while (count > 0 && !contains(space->frames[count - 1].begin, space->frames[count - 1].end, &frame))
            pop(&space->frames[--count]);
        if (count > 0)
            take_from(&space->frames[count - 1], &frame);
        space->frames[count++] = frame;
    }
    *depth = count;
    return true;
}

/* From the stream's last block to its first. */
static enum tbed_status walk_stream(struct pass_worker *worker, const struct nesting *nesting,
                                    uint32_t stream)
{
    size_t first, block_count, depth = 0;
    struct node *top = NULL;
    tbed_filter_blocks(nesting->options.filter, nesting->options.reader, stream, &first, &block_count);
    for (size_t at = first + block_count; at-- > first;) {
        nesting->tops[at] = top;
        enum tbed_status status = tbed_block_spans_read(&worker->spans, at);
        if (status == TBED_ERR_MEMORY || status == TBED_ERR_CANCELLED)
            return status;
        if (status != TBED_OK)
            continue;
        if (!walk_block(worker, nesting, &depth) || !keep_frames(worker, depth, &top))
            return TBED_ERR_MEMORY;
    }
    while (depth > 0)
        pop(&worker->space.frames[--depth]);
    return TBED_OK;
}

static void walk_streams(struct tbed_work *work, unsigned number)
{
    struct pass *pass = work->context;
    struct pass_worker *worker = &pass->workers[number];
    size_t at;
    while (worker->status == TBED_OK && tbed_work_take(work, &at))
        worker->status = walk_stream(worker, pass->nesting, pass->nesting->options.streams[at]);
}

static enum tbed_status close_worker(struct nesting *nesting, struct pass_worker *worker)
{
    tbed_block_spans_free(&worker->spans);
    tbed_nesting_space_free(&worker->space);
    while (worker->pools != NULL) {
        struct pool *pool = worker->pools;
        worker->pools = pool->next;
        pool->next = nesting->pools;
        nesting->pools = pool;
    }
    return worker->status;
}

static enum tbed_status run(struct nesting *nesting)
{
    const struct nesting_options *options = &nesting->options;
    struct pass pass = {.work = {.item_count = options->stream_count, .run = walk_streams},
                        .nesting = nesting};
    unsigned count = tbed_worker_count(options->thread_count, options->stream_count);
    pass.work.context = &pass;
    pass.workers = calloc(count, sizeof *pass.workers);
    if (pass.workers == NULL)
        return TBED_ERR_MEMORY;
    for (unsigned i = 0; i < count; i++) {
        struct block_spans *spans = &pass.workers[i].spans;
        spans->reader = spans->back.reader = options->reader;
        spans->back.passages = options->passages;
        spans->filter = options->filter;
        spans->is_cancelled = options->is_cancelled;
    }
    tbed_work_run(&pass.work, count);
    enum tbed_status status = TBED_OK;
    for (unsigned i = 0; i < count; i++) {
        enum tbed_status of_worker = close_worker(nesting, &pass.workers[i]);
        status = status == TBED_OK ? of_worker : status;
    }
    free(pass.workers);
    return status;
}

enum tbed_status tbed_nesting_make(const struct nesting_options *options, struct nesting **nesting_ret)
{
    struct nesting *nesting = calloc(1, sizeof *nesting);
    if (nesting == NULL)
        return TBED_ERR_MEMORY;
    nesting->options = *options;
    nesting->tops = calloc(tbed_event_block_count(options->reader) + 1, sizeof(struct node *));
    enum tbed_status status = nesting->tops != NULL ? run(nesting) : TBED_ERR_MEMORY;
    if (status == TBED_OK)
        *nesting_ret = nesting;
    else
        tbed_nesting_free(nesting);
    return status;
}

void tbed_nesting_free(struct nesting *nesting)
{
    if (nesting == NULL)
        return;
    while (nesting->pools != NULL) {
        struct pool *next = nesting->pools->next;
        free(nesting->pools);
        nesting->pools = next;
    }
    free(nesting->tops);
    free(nesting);
}

/* ---- The second pass ---- */

/* The block of the same stream that was read after this one in the first pass has the nodes of what is left. */
static const struct node *top_at_start(const struct nesting *nesting, size_t index)
{
    return index > 0 ? nesting->tops[index - 1] : NULL;
}

/* Spans that are left at the block's start may have more inside them in earlier blocks. */
static void finish(const struct nesting *nesting, size_t index, const struct nesting_frame *frames,
                   size_t count, struct nested *nested)
{
    const struct node *node = top_at_start(nesting, index);
    while (count > 0) {
        const struct nesting_frame *frame = &frames[--count];
        bool is_same = node != NULL && node->id == frame->id;
        nested[frame->item].self_ns = is_same ? node->self_ns : frame->left_ns;
        node = is_same ? node->around : node;
    }
}

bool tbed_nesting_block(const struct nesting *nesting, struct nesting_space *space, size_t index,
                        uint64_t first_id, const struct block_span *items, size_t item_count,
                        struct nested *nested_ret)
{
    const struct node *around = nesting->tops[index];
    size_t count = 0;
    if (!have_frames(space, item_count))
        return false;
    struct nesting_frame *frames = space->frames;
    for (size_t i = item_count; i-- > 0;) {
        nested_ret[i] = (struct nested){0};
        if (items[i].kind == TBED_STEP_UNKNOWN)
            continue;
        struct nesting_frame frame = frame_of(nesting, space, &items[i], first_id + i);
        frame.item = i;
        while (count > 0 && !contains(frames[count - 1].begin, frames[count - 1].end, &frame)) {
            nested_ret[frames[count - 1].item].self_ns = frames[count - 1].left_ns;
            count--;
        }
        while (count == 0 && around != NULL && !contains(around->begin, around->end, &frame))
            around = around->around;
        if (count > 0)
            take_from(&frames[count - 1], &frame);
        nested_ret[i].parent = count > 0 ? frames[count - 1].id : around != NULL ? around->id : 0;
        nested_ret[i].depth = (uint32_t)count + (around != NULL ? around->depth + 1 : 0);
        frames[count++] = frame;
    }
    finish(nesting, index, frames, count, nested_ret);
    return true;
}
