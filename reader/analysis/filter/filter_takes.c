/*
 * What a filter takes; see filter.h.
 *
 * SPDX-License-Identifier: MIT
 */
#include "reader/analysis/filter/filter.h"

#include <stdlib.h>

bool tbed_filter_has_stream(const struct tbed_filter *filter, uint32_t stream)
{
    size_t low = 0, high;
    if (filter == NULL || !filter->has_streams)
        return true;
    for (high = filter->stream_count; low < high;) {
        size_t middle = low + (high - low) / 2;
        if (filter->streams[middle] < stream)
            low = middle + 1;
        else
            high = middle;
    }
    return low < filter->stream_count && filter->streams[low] == stream;
}

/* ---- Time ---- */

bool tbed_filter_has_tick(const struct tbed_filter *filter, uint64_t tick)
{
    return tick >= filter->begin && (!filter->has_end || tick < filter->end);
}

bool tbed_filter_cut(const struct tbed_filter *filter, uint64_t *begin_tick, uint64_t *end_tick,
                     bool *is_cut_ret)
{
    *is_cut_ret = filter->has_end && *end_tick > filter->end;
    if (*begin_tick >= *end_tick) {
        *begin_tick = *end_tick;
        return tbed_filter_has_tick(filter, *end_tick);
    }
    if (*end_tick <= filter->begin || (filter->has_end && *begin_tick >= filter->end))
        return false;
    if (*begin_tick < filter->begin)
        *begin_tick = filter->begin;
    if (*is_cut_ret)
        *end_tick = filter->end;
    return true;
}

/* ---- Inside ---- */

static int compare_ranges(const void *left, const void *right)
{
    const struct filter_range *a = left, *b = right;
    return (a->begin > b->begin) - (a->begin < b->begin);
}

void tbed_filter_ranges_join(struct filter_ranges *ranges)
{
    size_t count = 0;
    if (ranges->count > 1)
        qsort(ranges->items, ranges->count, sizeof *ranges->items, compare_ranges);
    for (size_t i = 0; i < ranges->count; i++) {
        struct filter_range *range = &ranges->items[i], *last = &ranges->items[count - (count > 0)];
        if (count == 0 || range->begin >= last->end)
            ranges->items[count++] = *range;
        else if (range->end > last->end)
            last->end = range->end;
    }
    ranges->count = count;
}

/* The last range of 'inside' that has the tick, or NULL. */
static const struct filter_range *range_at(const struct tbed_filter *filter, uint32_t stream, uint64_t tick)
{
    uint32_t number = tbed_number_map_find(&filter->ranges_of, stream);
    const struct filter_ranges *ranges = number != NUMBER_MAP_NONE ? &filter->ranges[number] : NULL;
    size_t low = 0, high = ranges != NULL ? ranges->count : 0;
    while (low < high) { /* the first range that begins after the tick */
        size_t middle = low + (high - low) / 2;
        if (ranges->items[middle].begin <= tick)
            low = middle + 1;
        else
            high = middle;
    }
    return low > 0 && tick <= ranges->items[low - 1].end ? &ranges->items[low - 1] : NULL;
}

static bool is_inside(const struct tbed_filter *filter, uint32_t stream, uint64_t begin_tick,
                      uint64_t end_tick)
{
    if (!filter->has_ranges)
        return true;
    const struct filter_range *range = range_at(filter, stream, begin_tick);
    return range != NULL && end_tick <= range->end;
}

/* ---- Spans and events ---- */

static bool has_name(const struct tbed_filter *filter, uint32_t id)
{
    return filter->names.count + filter->excluded.count == 0 || tbed_filter_ask(filter, FILTER_NAME, id);
}

static bool has_category(const struct tbed_filter *filter, uint32_t category)
{
    if (filter->categories.count == 0)
        return true;
    return category != TBED_ID_INVALID && tbed_filter_ask(filter, FILTER_CATEGORY, category);
}

static bool has_no_label(enum tbed_event_type type)
{
    switch (type) {
    case TBED_EVENT_ALLOC:
    case TBED_EVENT_FREE:
    case TBED_EVENT_REALLOC:
    case TBED_EVENT_RESIZE:
    case TBED_EVENT_GAP:
    case TBED_EVENT_FLOW_BEGIN:
    case TBED_EVENT_FLOW_STEP:
    case TBED_EVENT_FLOW_END:
        return true;
    default:
        return false;
    }
}

bool tbed_filter_takes_point(const struct tbed_filter *filter, uint32_t stream, uint64_t tick)
{
    return tbed_filter_has_tick(filter, tick) && tbed_filter_has_stream(filter, stream) &&
           is_inside(filter, stream, tick, tick);
}

bool tbed_filter_takes_event(const struct tbed_filter *filter, const struct tbed_event *event)
{
    if (filter == NULL)
        return true;
    return tbed_filter_takes_point(filter, event->stream, event->tick) &&
           (has_no_label(event->type) ||
            (has_name(filter, event->id) && has_category(filter, event->category)));
}

bool tbed_filter_takes_span(const struct tbed_filter *filter, uint32_t stream, uint32_t id, uint32_t category,
                            uint64_t *begin_tick, uint64_t *end_tick, bool *is_cut_ret)
{
    *is_cut_ret = false;
    if (filter == NULL)
        return true;
    return tbed_filter_has_stream(filter, stream) &&
           tbed_filter_cut(filter, begin_tick, end_tick, is_cut_ret) &&
           *end_tick - *begin_tick >= filter->minimum && is_inside(filter, stream, *begin_tick, *end_tick) &&
           has_name(filter, id) && has_category(filter, category);
}

enum filter_begin tbed_filter_takes_begin(const struct tbed_filter *filter, const struct tbed_assembled *span)
{
    if (!tbed_filter_has_tick(filter, span->begin_tick) || !tbed_filter_has_stream(filter, span->stream) ||
        !has_name(filter, span->id) || !has_category(filter, span->category))
        return FILTER_BEGIN_OUT;
    if (filter->has_ranges) {
        const struct filter_range *range = range_at(filter, span->stream, span->begin_tick);
        if (range == NULL)
            return FILTER_BEGIN_OUT;
        /* A span that begins within one on the stack ends within it. */
        bool is_within = (span->begin_tick > range->begin && span->begin_tick < range->end) ||
                         tbed_filter_ask(filter, FILTER_INSIDE, span->id);
        if (filter->has_unnested || !is_within)
            return FILTER_BEGIN_END;
    }
    return filter->minimum > 0 ? FILTER_BEGIN_LONG : FILTER_BEGIN_IN;
}

bool tbed_filter_takes_unknown(const struct tbed_filter *filter, uint32_t stream, uint32_t id, uint64_t tick)
{
    if (filter == NULL)
        return true;
    return filter->minimum == 0 && filter->categories.count == 0 && tbed_filter_has_tick(filter, tick) &&
           tbed_filter_has_stream(filter, stream) && is_inside(filter, stream, tick, tick) &&
           has_name(filter, id);
}

bool tbed_filter_has_labels(const struct tbed_filter *filter)
{
    return filter != NULL && (filter->names.count + filter->excluded.count + filter->categories.count > 0 ||
                              filter->minimum > 0);
}

bool tbed_filter_is_window(const struct tbed_filter *filter)
{
    return !tbed_filter_has_labels(filter) && !filter->has_ranges;
}
