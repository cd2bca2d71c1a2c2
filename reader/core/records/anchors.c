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

#define NS_PER_S      1000000000
#define ANCHOR_MIN_NS 1000000 /* anchors closer together give a worse rate than the header */

static int compare_anchors(const void *a, const void *b)
{
    const struct tbed_anchor *x = a, *y = b;
    if (x->ticks != y->ticks)
        return x->ticks < y->ticks ? -1 : 1;
    return x->monotonic_ns < y->monotonic_ns ? -1 : x->monotonic_ns > y->monotonic_ns;
}

void tbed_anchors_arrange(struct tbed_vector *anchors)
{
    struct tbed_anchor *items = anchors->items;
    size_t kept = 0;
    if (anchors->count > 1)
        qsort(items, anchors->count, sizeof *items, compare_anchors);
    for (size_t i = 0; i < anchors->count; i++) {
        const struct tbed_anchor *last = kept == 0 ? NULL : &items[kept - 1];
        if (last == NULL || (items[i].ticks > last->ticks && items[i].monotonic_ns >= last->monotonic_ns))
            items[kept++] = items[i];
    }
    anchors->count = kept;
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

static bool tells_a_rate(const struct tbed_anchor *a, const struct tbed_anchor *b)
{
    return b->monotonic_ns - a->monotonic_ns >= ANCHOR_MIN_NS;
}

/*
 * The line for 'tick': between two anchors, the line through them; outside, that of the nearest two or the header's
 * rate.
 */
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
    bool is_inside = low > 0 && low < count;
    const struct tbed_anchor *from = low == count && count > 1 ? near - 1 : near;
    if (count > 1 && (is_inside || tells_a_rate(from, from + 1)))
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
    if (tells_a_rate(anchors, last))
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
