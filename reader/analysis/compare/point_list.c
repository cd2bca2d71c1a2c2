/*
 * Makes intervals of spans. Nesting is defined backwards, as everywhere (tracebed/analysis.h): the walk goes from the last
 * span to the first, and leaves the spans that do not contain the next one, which are the begins.
 *
 * SPDX-License-Identifier: MIT
 */
#include "reader/analysis/compare/point_list.h"

#include <stdlib.h>

bool tbed_point_items_add(struct point_items *items, const struct point_item *item)
{
    if (items->count == items->room) {
        size_t room = items->room * 2 + 256;
        struct point_item *grown = realloc(items->items, room * sizeof *grown);
        if (grown == NULL)
            return false;
        items->items = grown;
        items->room = room;
    }
    items->items[items->count++] = *item;
    return true;
}

struct walk {
    const struct point_items *items;
    struct point_intervals *intervals;
    size_t *open; /* the items around the current place */
    size_t depth;
    uint64_t later; /* the last point, which is the next one in time */
    uint64_t later_tick;
};

static bool add_interval(struct point_intervals *intervals, const struct point_interval *interval)
{
    if (intervals->count == intervals->room) {
        size_t room = intervals->room * 2 + 256;
        struct point_interval *grown = realloc(intervals->items, room * sizeof *grown);
        if (grown == NULL)
            return false;
        intervals->items = grown;
        intervals->room = room;
    }
    intervals->items[intervals->count++] = *interval;
    return true;
}

/* 'inside' are the spans around the interval between this point and the one before, which is later. */
static bool put_point(struct walk *walk, uint64_t point, uint64_t tick, size_t inside)
{
    uint64_t later = walk->later, ticks = walk->later_tick > tick ? walk->later_tick - tick : 0;
    walk->later = point;
    walk->later_tick = tick;
    if (later == POINT_NONE)
        return true;
    uint64_t label = inside > 0 ? walk->items->items[walk->open[inside - 1]].label : POINT_NONE;
    return add_interval(walk->intervals, &(struct point_interval){point, later, label, ticks});
}

/* The interval after a begin is inside its span. */
static bool leave(struct walk *walk)
{
    const struct point_item *item = &walk->items->items[walk->open[walk->depth - 1]];
    bool fits = put_point(walk, point_make(TBED_POINT_BEGIN, item->label), item->begin_tick, walk->depth);
    walk->depth--;
    return fits;
}

static bool contains(const struct point_item *outer, const struct point_item *inner)
{
    return outer->begin_tick <= inner->begin_tick && inner->end_tick <= outer->end_tick;
}

static bool walk_item(struct walk *walk, size_t index)
{
    const struct point_item *item = &walk->items->items[index];
    while (walk->depth > 0 && !contains(&walk->items->items[walk->open[walk->depth - 1]], item))
        if (!leave(walk))
            return false;
    enum tbed_point_kind kind = item->is_instant ? TBED_POINT_INSTANT : TBED_POINT_END;
    if (!put_point(walk, point_make(kind, item->label), item->end_tick, walk->depth))
        return false;
    if (!item->is_instant)
        walk->open[walk->depth++] = index;
    return true;
}

static void reverse(struct point_intervals *intervals)
{
    for (size_t i = 0, k = intervals->count; i + 1 < k; i++) {
        struct point_interval last = intervals->items[--k];
        intervals->items[k] = intervals->items[i];
        intervals->items[i] = last;
    }
}

bool tbed_point_intervals_make(const struct point_items *items, struct point_intervals *intervals)
{
    struct walk walk = {.items = items, .intervals = intervals, .later = POINT_NONE};
    walk.open = calloc(items->count + 1, sizeof *walk.open);
    intervals->count = 0;
    bool fits = walk.open != NULL;
    for (size_t i = items->count; i-- > 0 && fits;)
        fits = walk_item(&walk, i);
    while (fits && walk.depth > 0)
        fits = leave(&walk);
    free(walk.open);
    reverse(intervals);
    return fits;
}
