/*
 * Time by stack: workers share the streams, read each from its end to its start, and their trees are merged.
 *
 * SPDX-License-Identifier: MIT
 */
#include "format/base/sized.h"
#include "reader/analysis/assembly/block_spans.h"
#include "reader/analysis/shared/counts.h"
#include "reader/analysis/shared/resolution.h"
#include "reader/analysis/stacks/stacks_parts.h"
#include "reader/core/base/workers.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

struct tbed_stacks {
    struct tbed_stacks_totals totals;
    struct stack_labels labels;
    struct tbed_stack_row *rows;
    size_t row_count;
};

/* A span on the stack of the walk. */
struct frame {
    uint64_t begin_tick, end_tick;
    uint32_t node;
};

/* What is to be read, and the results. */
struct item {
    uint32_t stream;
    uint32_t process_label, thread_label; /* thread_label UINT32_MAX: none */
};

struct job {
    struct tbed_reader *reader;
    const struct tbed_stacks_options *options;
    struct stack_labels *labels;
    uint64_t resolution; /* ticks */
    struct item *items;
    size_t item_count, process_count;
    uint32_t deeper_label, other_label;
    size_t path_max;    /* of a stream */
    uint32_t *passages; /* struct look_back */
};

struct worker {
    struct stack_tree tree;
    struct stack_ids ids;
    struct block_spans spans;
    struct tbed_stacks_totals totals;
    struct frame *frames;
    size_t frame_room;
    enum tbed_status status;
};

/* One stream being read. */
struct stream_walk {
    struct worker *worker;
    const struct job *job;
    const struct item *item;
    struct stack_tree tree; /* of the stream */
    struct tbed_stacks_totals totals;
    uint32_t process, root; /* nodes, made with the first span */
    size_t depth;
    uint64_t first_tick, last_tick;
    bool has_spans;
};

/* ---- One stream ---- */

static bool have_frame(struct worker *worker, size_t depth)
{
    if (depth < worker->frame_room)
        return true;
    size_t room = worker->frame_room * 2 + 64;
    struct frame *frames = realloc(worker->frames, room * sizeof *frames);
    if (frames == NULL)
        return false;
    worker->frames = frames;
    worker->frame_room = room;
    return true;
}

/* Removes the spans that do not contain this one from the stack. */
static void leave_others(struct stream_walk *walk, const struct block_span *span)
{
    const struct frame *frames = walk->worker->frames;
    bool overlaps = false;
    while (walk->depth > 0) {
        const struct frame *top = &frames[walk->depth - 1];
        if (top->begin_tick <= span->begin_tick && span->end_tick <= top->end_tick)
            break;
        overlaps |= top->begin_tick < span->end_tick && span->begin_tick < top->end_tick;
        walk->depth--;
    }
    walk->totals.overlap_count += overlaps;
}

static enum tbed_status find_node(struct stream_walk *walk, uint32_t id, uint32_t parent, uint32_t *node_ret,
                                  bool *is_inside)
{
    const struct job *job = walk->job;
    uint32_t label;
    enum tbed_status status = tbed_stack_id_label(&walk->worker->ids, job->labels, id, &label);
    if (status == TBED_OK)
        status = tbed_stack_tree_place(&walk->tree, walk->root, parent, label, job->deeper_label, node_ret,
                                       is_inside);
    walk->totals.deep_count += tbed_stack_tree_is_deep(&walk->tree, walk->root, parent);
    return status;
}

static enum tbed_status make_root(struct stream_walk *walk)
{
    struct stack_tree *tree = &walk->tree;
    enum tbed_status status = tbed_stack_tree_child(tree, 0, walk->item->process_label, &walk->process);
    walk->root = walk->process;
    if (status == TBED_OK && walk->item->thread_label != UINT32_MAX)
        status = tbed_stack_tree_child(tree, walk->process, walk->item->thread_label, &walk->root);
    return status;
}

/* Makes room for more paths. The spans around the next one keep theirs. */
static enum tbed_status prune(struct stream_walk *walk)
{
    struct stack_tree *tree = &walk->tree;
    struct frame *frames = walk->worker->frames;
    bool *must_stay = calloc(tree->count, sizeof *must_stay);
    uint32_t *places = malloc(tree->count * sizeof *places);
    enum tbed_status status = TBED_ERR_MEMORY;
    if (must_stay != NULL && places != NULL) {
        must_stay[walk->process] = must_stay[walk->root] = true;
        for (size_t i = 0; i < walk->depth; i++)
            must_stay[frames[i].node] = true;
        status = tbed_stack_tree_prune(tree, walk->job->path_max / 4, walk->job->other_label, must_stay,
                                       places, &walk->totals.folded_count);
    }
    for (size_t i = 0; status == TBED_OK && i < walk->depth; i++)
        frames[i].node = places[frames[i].node];
    if (status == TBED_OK) {
        walk->process = places[walk->process];
        walk->root = places[walk->root];
    }
    free(must_stay);
    free(places);
    return status;
}

/*
 * Are there more paths than the stream's share, and so many that pruning leaves at most three quarters? It leaves a quarter
 * of the share, the spans around the next one, and "<other>" in each of them.
 */
static bool has_too_many(const struct stream_walk *walk)
{
    size_t depth = walk->depth < TBED_STACK_DEPTH_MAX ? walk->depth : TBED_STACK_DEPTH_MAX;
    return walk->tree.count > walk->job->path_max && walk->tree.count > 8 * (depth + 2);
}

static enum tbed_status place_span(struct stream_walk *walk, struct block_span span)
{
    struct worker *worker = walk->worker;
    if (!walk->has_spans && make_root(walk) != TBED_OK)
        return TBED_ERR_MEMORY;
    if (span.begin_tick > span.end_tick) {
        span.begin_tick = span.end_tick;
        walk->totals.inverted_count++;
    }
    leave_others(walk, &span);
    if (has_too_many(walk) && prune(walk) != TBED_OK)
        return TBED_ERR_MEMORY;
    uint32_t parent = walk->depth > 0 ? worker->frames[walk->depth - 1].node : walk->root, node;
    bool is_inside;
    enum tbed_status status = find_node(walk, span.id, parent, &node, &is_inside);
    if (status != TBED_OK || !have_frame(worker, walk->depth))
        return TBED_ERR_MEMORY;
    uint64_t ticks = tbed_ticks_between(walk->job->resolution, span.begin_tick, span.end_tick);
    tbed_stack_node_add(&walk->tree.nodes[node], 1, is_inside ? 0 : ticks);
    walk->tree.nodes[node].open_count += span.kind == TBED_STEP_OPEN;
    worker->frames[walk->depth++] = (struct frame){span.begin_tick, span.end_tick, node};
    walk->totals.span_count++;
    walk->totals.open_count += span.kind == TBED_STEP_OPEN;
    if (!walk->has_spans || span.begin_tick < walk->first_tick)
        walk->first_tick = span.begin_tick;
    if (!walk->has_spans || span.end_tick > walk->last_tick)
        walk->last_tick = span.end_tick;
    walk->has_spans = true;
    return TBED_OK;
}

static void count_other(void *context, const struct block_spans *spans, const struct tbed_event *event,
                        size_t word)
{
    struct worker *worker = context;
    (void)spans;
    (void)event;
    (void)word;
    worker->totals.other_count++;
}

static enum tbed_status take_block(struct stream_walk *walk, size_t index)
{
    struct block_spans *spans = &walk->worker->spans;
    struct tbed_stacks_totals *totals = &walk->totals;
    enum tbed_status status = tbed_block_spans_read(spans, index);
    if (status == TBED_ERR_MEMORY || status == TBED_ERR_CANCELLED)
        return status;
    totals->bad_block_count += status != TBED_OK || spans->is_damaged;
    if (status != TBED_OK)
        return TBED_OK;
    for (size_t i = spans->count; i-- > 0 && status == TBED_OK;)
        if (spans->items[i].kind == TBED_STEP_UNKNOWN)
            totals->unknown_count++;
        else
            status = place_span(walk, spans->items[i]);
    return status;
}

/* Reads the stream from its last block to its first. */
static enum tbed_status walk_back(struct stream_walk *walk)
{
    enum tbed_status status = TBED_OK;
    size_t first, count;
    tbed_filter_blocks(walk->job->options->filter, walk->job->reader, walk->item->stream, &first, &count);
    for (size_t i = count; i-- > 0 && status == TBED_OK;)
        status = take_block(walk, first + i);
    return status;
}

static enum tbed_status join_stream(struct stream_walk *walk)
{
    struct worker *worker = walk->worker;
    uint64_t ticks = tbed_ticks_between(walk->job->resolution, walk->first_tick, walk->last_tick);
    TBED_COUNTS_ADD(&worker->totals, &walk->totals);
    if (!walk->has_spans)
        return TBED_OK;
    tbed_stack_node_add(&walk->tree.nodes[walk->root], 1, ticks);
    if (walk->root != walk->process)
        tbed_stack_node_add(&walk->tree.nodes[walk->process], 1, ticks);
    worker->totals.stream_count++;
    return tbed_stack_tree_merge(&worker->tree, &walk->tree, NULL);
}

static enum tbed_status walk_stream(struct worker *worker, const struct job *job, const struct item *item)
{
    struct stream_walk walk = {.worker = worker, .job = job, .item = item};
    enum tbed_status status = tbed_stack_tree_open(&walk.tree);
    if (status == TBED_OK)
        status = walk_back(&walk);
    if (status == TBED_OK)
        status = join_stream(&walk);
    tbed_stack_tree_close(&walk.tree);
    return status;
}

/* ---- All streams ---- */

struct shared_work {
    const struct job *job;
    struct worker *workers;
};

static void run_worker(struct tbed_work *work, unsigned number)
{
    const struct shared_work *shared = work->context;
    struct worker *worker = &shared->workers[number];
    size_t index;
    while (worker->status == TBED_OK && tbed_work_take(work, &index))
        worker->status = walk_stream(worker, shared->job, &shared->job->items[index]);
}

static enum tbed_status join_workers(struct tbed_stacks *stacks, struct worker *workers, unsigned count)
{
    struct stack_tree tree;
    enum tbed_status status = tbed_stack_tree_open(&tree);
    if (status == TBED_OK)
        status = tbed_stack_labels_name(&stacks->labels);
    for (unsigned i = 0; i < count && status == TBED_OK; i++) {
        status = workers[i].status;
        TBED_COUNTS_ADD(&stacks->totals, &workers[i].totals);
        if (status == TBED_OK)
            status = tbed_stack_tree_merge(&tree, &workers[i].tree, &stacks->labels);
    }
    if (status == TBED_OK)
        status = tbed_stack_tree_rows(&tree, stacks->labels.items, stacks->labels.count, &stacks->rows,
                                      &stacks->totals.negative_count);
    stacks->row_count = status == TBED_OK ? tree.count - 1 : 0;
    tbed_stack_tree_close(&tree);
    return status;
}

/* A root whose name is known is present even if it has no spans. */
static enum tbed_status make_named_root(struct worker *worker, const struct job *job, const char *root)
{
    uint32_t label, node;
    if (root == NULL)
        return TBED_OK;
    enum tbed_status status = tbed_stack_label_intern(job->labels, root, strlen(root), &label);
    return status == TBED_OK ? tbed_stack_tree_child(&worker->tree, 0, label, &node) : status;
}

static enum tbed_status open_worker(struct worker *worker, const struct job *job)
{
    worker->spans.reader = worker->spans.back.reader = job->reader;
    worker->spans.back.passages = job->passages;
    worker->spans.filter = job->options->filter;
    worker->spans.is_cancelled = job->options->is_cancelled;
    worker->spans.has_categories = job->options->filter != NULL;
    worker->spans.other = count_other;
    worker->spans.other_context = worker;
    return tbed_stack_tree_open(&worker->tree);
}

static enum tbed_status read_all(struct tbed_stacks *stacks, const struct job *job, const char *root,
                                 unsigned worker_count)
{
    struct worker *workers = calloc(worker_count, sizeof *workers);
    struct shared_work shared = {job, workers};
    struct tbed_work work = {.item_count = job->item_count, .run = run_worker, .context = &shared};
    enum tbed_status status = workers != NULL ? TBED_OK : TBED_ERR_MEMORY;
    for (unsigned i = 0; i < worker_count && status == TBED_OK; i++)
        status = open_worker(&workers[i], job);
    if (status == TBED_OK)
        status = make_named_root(&workers[0], job, root);
    if (status == TBED_OK) {
        tbed_work_run(&work, worker_count);
        status = join_workers(stacks, workers, worker_count);
    }
    for (unsigned i = 0; workers != NULL && i < worker_count; i++) {
        tbed_stack_tree_close(&workers[i].tree);
        tbed_block_spans_free(&workers[i].spans);
        free(workers[i].ids.slots);
        free(workers[i].frames);
    }
    free(workers);
    return status;
}

/* ---- Names of streams ---- */

/* The metadata of measureme has these two fields; an import keeps it unchanged. */
static enum tbed_status is_profile(const struct tbed_reader *reader, bool *found_ret)
{
    char *text = malloc(65536);
    size_t nbytes = 0;
    if (text == NULL)
        return TBED_ERR_MEMORY;
    enum tbed_status status = tbed_string_resolve(reader, TBED_ID_METADATA, text, 65536, &nbytes);
    *found_ret = strstr(text, "\"process_id\"") != NULL && strstr(text, "\"cmd\"") != NULL;
    free(text);
    return status == TBED_ERR_MEMORY ? status : TBED_OK;
}

/* Processes are in order of their numbers. */
static bool find_process(const struct job *job, uint32_t number, struct tbed_process_info *process)
{
    size_t low = 0, high = job->process_count;
    while (low < high) {
        size_t middle = low + (high - low) / 2;
        if (tbed_process_get(job->reader, middle, process) && process->stream < number)
            low = middle + 1;
        else
            high = middle;
    }
    return tbed_process_get(job->reader, low, process) && process->stream == number;
}

static enum tbed_status label_process(const struct job *job, const struct tbed_stream_info *stream,
                                      const char *root, uint32_t *label_ret)
{
    static const char none[] = "<no process>";
    struct tbed_process_info process;
    char nameless[32];
    size_t nbytes;
    if (root == NULL && find_process(job, stream->process, &process)) {
        bool has_name =
            tbed_string_resolve(job->reader, process.name_id, NULL, 0, &nbytes) != TBED_OK || nbytes > 0;
        if (has_name)
            return tbed_stack_label_make(job->labels, process.name_id, label_ret);
        snprintf(nameless, sizeof nameless, "process %u", process.pid);
        root = process.pid != 0 ? nameless : "<unnamed process>";
    }
    const char *text = root != NULL ? root : none;
    return tbed_stack_label_intern(job->labels, text, strlen(text), label_ret);
}

static enum tbed_status label_thread(const struct job *job, const struct tbed_stream_info *stream,
                                     uint32_t *label_ret)
{
    char text[32];
    size_t nbytes;
    if (stream->name_id != TBED_ID_INVALID)
        return tbed_stack_label_make(job->labels, stream->name_id, label_ret);
    if (stream->kind == TBED_STREAM_THREAD)
        nbytes = (size_t)snprintf(text, sizeof text, "thread %u", stream->tid);
    else
        nbytes = (size_t)snprintf(text, sizeof text, "stream %u", stream->stream);
    return tbed_stack_label_intern(job->labels, text, nbytes, label_ret);
}

static bool is_wanted(const struct tbed_reader *reader, const struct tbed_stacks_options *options,
                      uint32_t stream)
{
    if (!tbed_filter_sums_stream(options->filter, reader, stream))
        return false;
    for (size_t i = 0; options->streams != NULL && i < options->stream_count; i++)
        if (options->streams[i] == stream)
            return true;
    return options->streams == NULL;
}

static enum tbed_status list_items(struct job *job, const struct tbed_stacks_options *options,
                                   const char *root)
{
    struct tbed_process_info process;
    struct tbed_stream_info stream;
    size_t count = 0;
    while (tbed_process_get(job->reader, job->process_count, &process))
        job->process_count++;
    while (tbed_stream_get(job->reader, count, &stream))
        count++;
    job->items = calloc(count + 1, sizeof *job->items);
    enum tbed_status status = job->items != NULL ? TBED_OK : TBED_ERR_MEMORY;
    for (size_t i = 0; status == TBED_OK && i < count && tbed_stream_get(job->reader, i, &stream); i++) {
        if (!is_wanted(job->reader, options, stream.stream))
            continue;
        struct item *item = &job->items[job->item_count++];
        *item = (struct item){.stream = stream.stream, .thread_label = UINT32_MAX};
        status = label_process(job, &stream, root, &item->process_label);
        if (status == TBED_OK && options->per_thread)
            status = label_thread(job, &stream, &item->thread_label);
    }
    return status;
}

/* ---- Building the result ---- */

static enum tbed_status load_options(const struct tbed_stacks_options *given,
                                     struct tbed_stacks_options *options)
{
    return tbed_options_take(options, sizeof *options, given) ? TBED_OK : TBED_ERR_ARGUMENT;
}

/* The paths of one stream. */
static size_t share_of_paths(const struct tbed_stacks_options *options, size_t stream_count)
{
    size_t all = options->path_count_max != 0 ? options->path_count_max : TBED_STACK_PATHS_USUAL;
    return stream_count > 1 ? all / stream_count : all;
}

static enum tbed_status make(struct tbed_stacks *stacks, struct tbed_reader *reader,
                             const struct tbed_stacks_options *options)
{
    static const char deeper[] = "<deeper>", other[] = "<other>";
    struct tbed_trace_info info;
    const char *root = options->root;
    bool found = false;
    if (root == NULL && is_profile(reader, &found) != TBED_OK)
        return TBED_ERR_MEMORY;
    root = found ? "rustc" : root;
    tbed_reader_info(reader, &info);
    struct job job = {
        .reader = reader, .options = options, .labels = &stacks->labels, .resolution = info.resolution_ticks};
    job.passages = calloc(tbed_event_block_count(reader) + 1, sizeof *job.passages);
    enum tbed_status status = job.passages != NULL ? TBED_OK : TBED_ERR_MEMORY;
    if (status == TBED_OK)
        status = tbed_stack_labels_open(&stacks->labels, reader, options);
    if (status == TBED_OK)
        status = tbed_stack_label_intern(&stacks->labels, deeper, sizeof deeper - 1, &job.deeper_label);
    if (status == TBED_OK)
        status = tbed_stack_label_intern(&stacks->labels, other, sizeof other - 1, &job.other_label);
    if (status == TBED_OK)
        status = list_items(&job, options, root);
    job.path_max = share_of_paths(options, job.item_count);
    if (status == TBED_OK)
        status = read_all(stacks, &job, root, tbed_worker_count(options->thread_count, job.item_count));
    if (status == TBED_OK && tbed_filter_has_failed(options->filter))
        status = TBED_ERR_MEMORY;
    free(job.items);
    free(job.passages);
    return status;
}

enum tbed_status tbed_stacks_make(struct tbed_reader *reader, const struct tbed_stacks_options *given,
                                  struct tbed_stacks **stacks_ret)
{
    struct tbed_stacks_options options;
    enum tbed_status status = load_options(given, &options);
    if (status != TBED_OK)
        return status;
    struct tbed_stacks *stacks = calloc(1, sizeof *stacks);
    if (stacks == NULL)
        return TBED_ERR_MEMORY;
    status = make(stacks, reader, &options);
    if (status == TBED_OK)
        *stacks_ret = stacks;
    else
        tbed_stacks_close(stacks);
    return status;
}

void tbed_stacks_close(struct tbed_stacks *stacks)
{
    if (stacks == NULL)
        return;
    tbed_stack_labels_close(&stacks->labels);
    free(stacks->rows);
    free(stacks);
}

void tbed_stacks_totals_sized(const struct tbed_stacks *stacks, struct tbed_stacks_totals *totals_ret,
                              size_t totals_nbytes)
{
    tbed_sized_give(totals_ret, totals_nbytes, &stacks->totals, sizeof stacks->totals);
}

const struct tbed_stack_row *tbed_stacks_row(const struct tbed_stacks *stacks, size_t index)
{
    return index < stacks->row_count ? &stacks->rows[index] : NULL;
}
