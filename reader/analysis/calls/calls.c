/*
 * Single spans: each worker keeps the first of those that it has met, in a heap with the last of them on top.
 *
 * SPDX-License-Identifier: MIT
 */
#include "format/base/sized.h"
#include "reader/analysis/assembly/block_spans.h"
#include "reader/analysis/shared/resolution.h"
#include "reader/analysis/sums/cells.h"
#include "reader/core/base/workers.h"

#include <stdlib.h>
#include <string.h>
#include <tracebed/calls.h>

struct order {
    enum tbed_calls_order by;
    uint64_t tick;
};

struct finder {
    struct block_spans spans;
    struct tbed_call *heap;
    size_t count;
    uint64_t total;
    uint64_t *counts, *ticks; /* of the bounds, if there are any */
    enum tbed_status status;
};

struct bounds {
    const uint64_t *items; /* NULL: spans are kept, not counted */
    size_t count;
};

struct search {
    struct tbed_work work;
    struct tbed_reader *reader;
    const struct tbed_calls_options *options;
    struct order order;
    uint64_t resolution;
    size_t wanted;
    struct bounds bounds;
    size_t *blocks;
    uint32_t *passages; /* struct look_back */
    struct finder *finders;
};

/* ---- The order ---- */

static uint64_t distance(const struct tbed_call *call, uint64_t tick)
{
    if (call->begin_tick > tick)
        return call->begin_tick - tick;
    return call->end_tick < tick ? tick - call->end_tick : 0;
}

static int compare_u64(uint64_t a, uint64_t b)
{
    return (a > b) - (a < b);
}

/* Below 0: 'a' comes first. */
static int compare_calls(const struct order *order, const struct tbed_call *a, const struct tbed_call *b)
{
    int result = 0;
    if (order->by == TBED_CALLS_NEAREST)
        result = compare_u64(distance(a, order->tick), distance(b, order->tick));
    else if (order->by == TBED_CALLS_BEFORE)
        result = compare_u64(b->begin_tick, a->begin_tick);
    else if (order->by == TBED_CALLS_AFTER)
        result = compare_u64(a->begin_tick, b->begin_tick);
    if (result == 0)
        result = order->by == TBED_CALLS_SLOWEST ? compare_u64(b->ticks, a->ticks)
                                                 : compare_u64(a->ticks, b->ticks);
    if (result == 0)
        result = compare_u64(a->begin_tick, b->begin_tick);
    if (result == 0)
        result = compare_u64(a->stream, b->stream);
    if (result == 0)
        result = compare_u64(a->end_tick, b->end_tick);
    if (result == 0)
        result = compare_u64(a->id, b->id);
    return result != 0 ? result : compare_u64(a->is_open, b->is_open);
}

static bool is_left_out(const struct order *order, const struct tbed_call *call)
{
    return order->by == TBED_CALLS_BEFORE ? call->begin_tick >= order->tick
                                          : order->by == TBED_CALLS_AFTER && call->begin_tick < order->tick;
}

/* ---- The heap: the last one on top ---- */

static void sift_down(const struct order *order, struct tbed_call *heap, size_t count)
{
    struct tbed_call moving = heap[0];
    size_t at = 0;
    for (size_t child; (child = 2 * at + 1) < count; at = child) {
        if (child + 1 < count && compare_calls(order, &heap[child], &heap[child + 1]) < 0)
            child++;
        if (compare_calls(order, &moving, &heap[child]) >= 0)
            break;
        heap[at] = heap[child];
    }
    heap[at] = moving;
}

static void push(const struct order *order, struct tbed_call *heap, size_t at, const struct tbed_call *call)
{
    for (; at > 0 && compare_calls(order, &heap[(at - 1) / 2], call) < 0; at = (at - 1) / 2)
        heap[at] = heap[(at - 1) / 2];
    heap[at] = *call;
}

static void keep(const struct search *search, struct finder *finder, const struct tbed_call *call)
{
    if (finder->count < search->wanted) {
        push(&search->order, finder->heap, finder->count++, call);
    } else if (search->wanted > 0 && compare_calls(&search->order, call, &finder->heap[0]) < 0) {
        finder->heap[0] = *call;
        sift_down(&search->order, finder->heap, finder->count);
    }
}

/* ---- Counting ---- */

static void count_duration(const struct bounds *bounds, struct finder *finder, uint64_t ticks)
{
    size_t low = 0, high = bounds->count;
    while (low < high) { /* the first bound above */
        size_t middle = low + (high - low) / 2;
        if (bounds->items[middle] <= ticks)
            low = middle + 1;
        else
            high = middle;
    }
    if (low == 0)
        return;
    finder->counts[low - 1]++;
    finder->ticks[low - 1] = stat_sum(finder->ticks[low - 1], ticks);
}

/* ---- Workers ---- */

static void take_span(const struct search *search, struct finder *finder, const struct block_span *span)
{
    struct tbed_call call = {.begin_tick =
                                 span->begin_tick < span->end_tick ? span->begin_tick : span->end_tick,
                             .end_tick = span->end_tick,
                             .stream = finder->spans.block.stream,
                             .id = span->id,
                             .category = span->category,
                             .is_open = span->kind == TBED_STEP_OPEN};
    if (span->kind == TBED_STEP_UNKNOWN)
        return;
    call.ticks = tbed_ticks_between(search->resolution, call.begin_tick, call.end_tick);
    finder->total++;
    if (search->bounds.items != NULL)
        count_duration(&search->bounds, finder, call.ticks);
    else if (!is_left_out(&search->order, &call))
        keep(search, finder, &call);
}

static void find_in_blocks(struct tbed_work *work, unsigned number)
{
    const struct search *search = work->context;
    struct finder *finder = &search->finders[number];
    size_t at;
    while (finder->status == TBED_OK && tbed_work_take(work, &at)) {
        enum tbed_status status = tbed_block_spans_read(&finder->spans, search->blocks[at]);
        if (status == TBED_ERR_MEMORY || status == TBED_ERR_CANCELLED)
            finder->status = status;
        for (size_t i = 0; status == TBED_OK && i < finder->spans.count; i++)
            take_span(search, finder, &finder->spans.items[i]);
    }
}

static bool open_finder(const struct search *search, struct finder *finder)
{
    finder->spans.reader = finder->spans.back.reader = search->reader;
    finder->spans.back.passages = search->passages;
    finder->spans.filter = search->options->filter;
    finder->spans.is_cancelled = search->options->is_cancelled;
    finder->spans.has_categories = true;
    finder->heap = calloc(search->wanted + 1, sizeof *finder->heap);
    finder->counts = calloc(search->bounds.count + 1, sizeof *finder->counts);
    finder->ticks = calloc(search->bounds.count + 1, sizeof *finder->ticks);
    return finder->heap != NULL && finder->counts != NULL && finder->ticks != NULL;
}

static void close_finders(struct search *search, unsigned count)
{
    for (unsigned i = 0; search->finders != NULL && i < count; i++) {
        tbed_block_spans_free(&search->finders[i].spans);
        free(search->finders[i].heap);
        free(search->finders[i].counts);
        free(search->finders[i].ticks);
    }
    free(search->finders);
    free(search->blocks);
    free(search->passages);
}

/* Adds all to the first one. */
static enum tbed_status join(struct search *search, unsigned count)
{
    struct finder *first = &search->finders[0];
    enum tbed_status status = first->status;
    for (unsigned i = 1; i < count && status == TBED_OK; i++) {
        const struct finder *other = &search->finders[i];
        status = other->status;
        first->total += other->total;
        for (size_t k = 0; k < other->count; k++)
            keep(search, first, &other->heap[k]);
        for (size_t k = 0; k < search->bounds.count; k++) {
            first->counts[k] += other->counts[k];
            first->ticks[k] = stat_sum(first->ticks[k], other->ticks[k]);
        }
    }
    return tbed_filter_has_failed(search->options->filter) ? TBED_ERR_MEMORY : status;
}

/* Takes the last of the heap again and again. */
static void sort(const struct order *order, struct tbed_call *heap, size_t count)
{
    while (count > 1) {
        struct tbed_call last = heap[0];
        heap[0] = heap[--count];
        sift_down(order, heap, count);
        heap[count] = last;
    }
}

static enum tbed_status search_all(struct search *search, unsigned count)
{
    search->finders = calloc(count, sizeof *search->finders);
    bool fine = search->finders != NULL;
    for (unsigned i = 0; i < count && fine; i++)
        fine = open_finder(search, &search->finders[i]);
    if (!fine)
        return TBED_ERR_MEMORY;
    search->work.run = find_in_blocks;
    search->work.context = search;
    tbed_work_run(&search->work, count);
    return join(search, count);
}

/* Sets what is the same for both questions. */
static enum tbed_status run(struct search *search, unsigned *worker_count_ret)
{
    const struct tbed_calls_options *options = search->options;
    search->blocks = tbed_filter_list_blocks(options->filter, search->reader, &search->work.item_count);
    search->passages = calloc(tbed_event_block_count(search->reader) + 1, sizeof *search->passages);
    *worker_count_ret = tbed_worker_count(options->thread_count, search->work.item_count);
    if (search->blocks == NULL || search->passages == NULL)
        return TBED_ERR_MEMORY;
    return search_all(search, *worker_count_ret);
}

static bool start(struct search *search, struct tbed_reader *reader, const struct tbed_calls_options *given,
                  struct tbed_calls_options *options)
{
    struct tbed_trace_info info;
    if (!tbed_options_take(options, sizeof *options, given) || options->order > TBED_CALLS_AFTER)
        return false;
    tbed_reader_info(reader, &info);
    *search = (struct search){.reader = reader,
                              .options = options,
                              .order = {options->order, options->tick},
                              .resolution = info.resolution_ticks};
    return true;
}

enum tbed_status tbed_calls_find(struct tbed_reader *reader, const struct tbed_calls_options *given,
                                 struct tbed_call *calls, size_t count, size_t *found_ret,
                                 uint64_t *total_ret)
{
    struct tbed_calls_options options;
    struct search search;
    unsigned worker_count;
    if (!start(&search, reader, given, &options))
        return TBED_ERR_ARGUMENT;
    search.wanted = count;
    enum tbed_status status = run(&search, &worker_count);
    if (status == TBED_OK) {
        struct finder *first = &search.finders[0];
        sort(&search.order, first->heap, first->count);
        if (first->count > 0)
            memcpy(calls, first->heap, first->count * sizeof *calls);
        if (found_ret != NULL)
            *found_ret = first->count;
        if (total_ret != NULL)
            *total_ret = first->total;
    }
    close_finders(&search, worker_count);
    return status;
}

static bool do_rise(const uint64_t *bounds, size_t count)
{
    for (size_t i = 1; i < count; i++)
        if (bounds[i] <= bounds[i - 1])
            return false;
    return count > 0;
}

enum tbed_status tbed_calls_count(struct tbed_reader *reader, const struct tbed_calls_options *given,
                                  const uint64_t *bounds, size_t bound_count, uint64_t *counts,
                                  uint64_t *ticks)
{
    struct tbed_calls_options options;
    struct search search;
    unsigned worker_count;
    if (!do_rise(bounds, bound_count) || !start(&search, reader, given, &options))
        return TBED_ERR_ARGUMENT;
    search.bounds = (struct bounds){bounds, bound_count};
    enum tbed_status status = run(&search, &worker_count);
    if (status == TBED_OK)
        memcpy(counts, search.finders[0].counts, bound_count * sizeof *counts);
    if (status == TBED_OK && ticks != NULL)
        memcpy(ticks, search.finders[0].ticks, bound_count * sizeof *ticks);
    close_finders(&search, worker_count);
    return status;
}
