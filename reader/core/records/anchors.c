/*
 * Ticks and time: the piecewise linear map of spec/format.md, section 8.3.
 *
 * Products of ticks and nanoseconds take 128 bits; results are clamped to 64 bits.
 *
 * SPDX-License-Identifier: MIT
 */
#include "reader/core/file/reader_state.h"
#include "reader/core/records/metadata.h"

#include <stdlib.h>

typedef __int128 int128;

#define NS_PER_S        1000000000
#define RATE_MIN_NS     1000000   /* anchors closer together give a worse rate than the header */
#define DISTANCE_MIN_NS 100000000 /* a line through closer ones shows how precisely clocks are read */

static int compare_anchors(const void *a, const void *b)
{
    const struct tbed_anchor *x = a, *y = b;
    if (x->ticks != y->ticks)
        return x->ticks < y->ticks ? -1 : 1;
    return x->monotonic_ns < y->monotonic_ns ? -1 : x->monotonic_ns > y->monotonic_ns;
}

/* Leaves those that contradict none before them. */
static size_t keep_consistent(struct tbed_anchor *items, size_t count)
{
    size_t kept = 0;
    for (size_t i = 0; i < count; i++) {
        const struct tbed_anchor *last = kept == 0 ? NULL : &items[kept - 1];
        if (last == NULL || (items[i].ticks > last->ticks && items[i].monotonic_ns >= last->monotonic_ns))
            items[kept++] = items[i];
    }
    return kept;
}

static bool is_apart(const struct tbed_anchor *a, const struct tbed_anchor *b, uint64_t distance_ns)
{
    return b->monotonic_ns - a->monotonic_ns >= distance_ns;
}

/* Leaves the first, the last, and in between those that are far enough from their neighbours. */
static size_t keep_distant(struct tbed_anchor *items, size_t count)
{
    const struct tbed_anchor last = items[count - 1];
    size_t kept = 1;
    if (count == 1 || !is_apart(&items[0], &last, RATE_MIN_NS))
        return kept;
    for (size_t i = 1; i < count - 1; i++) {
        if (is_apart(&items[kept - 1], &items[i], DISTANCE_MIN_NS) &&
            is_apart(&items[i], &last, DISTANCE_MIN_NS))
            items[kept++] = items[i];
    }
    items[kept++] = last;
    return kept;
}

void tbed_anchors_arrange(struct tbed_vector *anchors)
{
    if (anchors->count == 0)
        return;
    qsort(anchors->items, anchors->count, sizeof(struct tbed_anchor), compare_anchors);
    anchors->count = keep_consistent(anchors->items, anchors->count);
    anchors->count = keep_distant(anchors->items, anchors->count);
}

/* A line through (ticks, ns): ns = start_ns + (tick - start) * rise_ns / run_ticks. */
struct line {
    uint64_t start;
    int128 start_ns;
    int128 rise_ns;
    uint64_t run_ticks;
};

static int128 anchor_ns(const struct tbed_anchor *anchor, bool realtime)
{
    return realtime ? (int128)anchor->realtime_ns : (int128)anchor->monotonic_ns;
}

/* The line for 'tick': through the two anchors around it or nearest to it; if there is one, at the header's rate. */
static struct line line_find(const struct tbed_reader *reader, uint64_t tick, bool realtime)
{
    const struct tbed_anchor *anchors = reader->metadata->anchors.items;
    size_t count = reader->metadata->anchors.count, low = 0, high = count;
    while (low < high) { /* 'low' becomes the number of anchors at or before the tick */
        size_t middle = low + (high - low) / 2;
        if (anchors[middle].ticks <= tick)
            low = middle + 1;
        else
            high = middle;
    }
    const struct tbed_anchor *near = &anchors[low == 0 ? 0 : low - 1];
    const struct tbed_anchor *from = low == count && count > 1 ? near - 1 : near;
    if (count > 1)
        return (struct line){near->ticks, anchor_ns(near, realtime),
                             anchor_ns(from + 1, realtime) - anchor_ns(from, realtime),
                             from[1].ticks - from->ticks};
    return (struct line){near->ticks, anchor_ns(near, realtime), NS_PER_S, reader->header.ticks_per_second};
}

/* floor(a * b / c) for c > 0, clamped to +-2^100 so that later arithmetic cannot overflow. */
static int128 scale(int128 a, int128 b, uint64_t c)
{
    int128 product;
    const int128 limit = (int128)1 << 100;
    if (__builtin_mul_overflow(
            a, b, &product)) /* only for values that no clock reaches, where full precision is not needed */
        return (a < 0) == (b < 0) ? limit : -limit;
    int128 quotient = product / c;
    if (product % c < 0)
        quotient--;
    return quotient > limit ? limit : quotient < -limit ? -limit : quotient;
}

static int128 tick_ns(const struct tbed_reader *reader, uint64_t tick, bool realtime)
{
    struct line line = line_find(reader, tick, realtime);
    return line.start_ns + scale((int128)tick - line.start, line.rise_ns, line.run_ticks);
}

static int64_t cut(int128 ns)
{
    return ns > INT64_MAX ? INT64_MAX : ns < INT64_MIN ? INT64_MIN : (int64_t)ns;
}

int64_t tbed_ticks_to_ns(const struct tbed_reader *reader, uint64_t tick)
{
    if (reader->header.clock == TBED_CLOCK_USER)
        return cut((int128)tick - reader->origin_tick);
    return cut(tick_ns(reader, tick, false) - tick_ns(reader, reader->origin_tick, false));
}

double tbed_tick_span_to_ns(const struct tbed_reader *reader, uint64_t ticks)
{
    const struct tbed_anchor *anchors = reader->metadata->anchors.items;
    const struct tbed_anchor *last = anchors + reader->metadata->anchors.count - 1;
    if (reader->header.clock == TBED_CLOCK_USER)
        return (double)ticks;
    if (last != anchors)
        return (double)ticks * (double)(last->monotonic_ns - anchors->monotonic_ns) /
               (double)(last->ticks - anchors->ticks);
    return (double)ticks * NS_PER_S / (double)reader->header.ticks_per_second;
}

enum tbed_status tbed_ticks_to_realtime_ns(const struct tbed_reader *reader, uint64_t tick, int64_t *ns_ret)
{
    if (reader->header.clock == TBED_CLOCK_USER)
        return TBED_ERR_NO_TIME;
    *ns_ret = cut(tick_ns(reader, tick, true));
    return TBED_OK;
}
