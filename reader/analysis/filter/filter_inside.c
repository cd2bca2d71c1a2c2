/*
 * The condition 'inside'; see filter_inside.h.
 *
 * SPDX-License-Identifier: MIT
 */
#include "reader/analysis/filter/filter_inside.h"

#include "reader/analysis/assembly/block_spans.h"
#include "reader/core/base/workers.h"

#include <stdlib.h>

struct search {
    struct tbed_work work;
    struct tbed_filter *filter;
    uint32_t *passages; /* struct look_back */
    bool is_out_of_memory;
};

static bool add_range(struct filter_ranges *ranges, const struct block_span *span)
{
    if (ranges->count == ranges->room) {
        size_t room = ranges->room * 2 + 16;
        struct filter_range *items = realloc(ranges->items, room * sizeof *items);
        if (items == NULL)
            return false;
        ranges->items = items;
        ranges->room = room;
    }
    ranges->items[ranges->count++] = (struct filter_range){span->begin_tick, span->end_tick};
    return true;
}

/* The spans of a block are already cut to the window. */
static bool take_spans(const struct tbed_filter *filter, const struct block_spans *spans,
                       struct filter_ranges *ranges)
{
    for (size_t i = 0; i < spans->count; i++) {
        const struct block_span *span = &spans->items[i];
        if (span->kind != TBED_STEP_UNKNOWN && tbed_filter_ask(filter, FILTER_INSIDE, span->id) &&
            !add_range(ranges, span))
            return false;
    }
    return true;
}

/* False: no memory. */
static bool search_stream(const struct search *search, uint32_t stream, struct filter_ranges *ranges)
{
    const struct tbed_filter *filter = search->filter;
    struct block_spans spans = {.reader = filter->reader,
                                .filter = filter,
                                .back = {.reader = filter->reader, .passages = search->passages}};
    bool fine = true;
    size_t first, count;
    tbed_filter_blocks(filter, filter->reader, stream, &first, &count);
    for (size_t i = first; fine && i < first + count; i++) {
        enum tbed_status status = tbed_block_spans_read(&spans, i);
        if (status == TBED_OK && (spans.whole_count > 0 || spans.back.crosses))
            __atomic_store_n(&search->filter->has_unnested, true, __ATOMIC_RELAXED);
        fine = status != TBED_ERR_MEMORY && (status != TBED_OK || take_spans(filter, &spans, ranges));
    }
    tbed_block_spans_free(&spans);
    tbed_filter_ranges_join(ranges);
    return fine;
}

static void search_streams(struct tbed_work *work, unsigned number)
{
    struct search *search = work->context;
    struct tbed_stream_info info;
    size_t index;
    (void)number;
    while (tbed_work_take(work, &index))
        if (tbed_stream_get(search->filter->reader, index, &info) &&
            !search_stream(search, info.stream, &search->filter->ranges[index]))
            __atomic_store_n(&search->is_out_of_memory, true, __ATOMIC_RELAXED);
}

static bool number_streams(struct tbed_filter *filter)
{
    struct tbed_stream_info info;
    while (tbed_stream_get(filter->reader, filter->ranges_count, &info)) {
        if (tbed_number_map_find(&filter->ranges_of, info.stream) == NUMBER_MAP_NONE &&
            !tbed_number_map_add(&filter->ranges_of, info.stream, (uint32_t)filter->ranges_count))
            return false;
        filter->ranges_count++;
    }
    filter->ranges = calloc(filter->ranges_count + 1, sizeof *filter->ranges);
    return filter->ranges != NULL;
}

enum tbed_status tbed_filter_find_inside(struct tbed_filter *filter, unsigned thread_count)
{
    struct search search = {.filter = filter};
    if (!number_streams(filter))
        return TBED_ERR_MEMORY;
    search.passages = calloc(tbed_event_block_count(filter->reader) + 1, sizeof *search.passages);
    if (search.passages == NULL)
        return TBED_ERR_MEMORY;
    search.work =
        (struct tbed_work){.item_count = filter->ranges_count, .run = search_streams, .context = &search};
    tbed_work_run(&search.work, tbed_worker_count(thread_count, filter->ranges_count));
    free(search.passages);
    filter->has_ranges = true;
    return search.is_out_of_memory || tbed_filter_has_failed(filter) ? TBED_ERR_MEMORY : TBED_OK;
}

void tbed_filter_free_inside(struct tbed_filter *filter)
{
    for (size_t i = 0; filter->ranges != NULL && i < filter->ranges_count; i++)
        free(filter->ranges[i].items);
    free(filter->ranges);
    tbed_number_map_free(&filter->ranges_of);
}
