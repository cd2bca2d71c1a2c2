/*
 * Ticks and time: the piecewise linear map of spec/format.md, section 8.3.
 *
 * Products of ticks and nanoseconds take 128 bits; results are clamped to 64 bits.
 *
 * SPDX-License-Identifier: MIT
 */
#include "reader/core/base/number_text.h"
#include "reader/core/base/wide.h"
#include "reader/core/file/reader_state.h"
#include "reader/core/records/metadata.h"

#include <stdlib.h>

#define NS_PER_S        1000000000
#define RATE_MIN_NS     1000000   /* anchors closer together give a worse rate than the header */
#define DISTANCE_MIN_NS 100000000 /* a line through closer ones only shows the jitter of reading clocks */

static int compare_anchors(const void *a, const void *b)
{
    const struct tbed_anchor *x = a, *y = b;
    if (x->ticks != y->ticks)
        return x->ticks < y->ticks ? -1 : 1;
    return x->monotonic_ns < y->monotonic_ns ? -1 : x->monotonic_ns > y->monotonic_ns;
}

/* Keeps those that do not contradict earlier ones. */
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

/* Keeps the first, the last, and those in between that are far enough from their neighbours; so each is later than the one
 * before. */
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
    qsort(anchors->items, anchors->count, sizeof(struct tbed_anchor), compare_anchors);
    anchors->count = keep_consistent(anchors->items, anchors->count);
    anchors->count = keep_distant(anchors->items, anchors->count);
}

/* A line through (ticks, ns): ns = start_ns + (tick - start) * rise_ns / run_ticks. */
struct line {
    uint64_t start;
    struct tbed_wide start_ns;
    struct tbed_wide rise_ns; /* the difference of two numbers of 64 bits */
    uint64_t run_ticks;
};

static struct tbed_wide anchor_ns(const struct tbed_anchor *anchor, bool realtime)
{
    return realtime ? tbed_wide_extend(anchor->realtime_ns) : (struct tbed_wide){0, anchor->monotonic_ns};
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
                             tbed_wide_subtract(anchor_ns(from + 1, realtime), anchor_ns(from, realtime)),
                             from[1].ticks - from->ticks};
    return (struct line){
        near->ticks, anchor_ns(near, realtime), {0, NS_PER_S}, reader->header.ticks_per_second};
}

/* floor(a * b / c) for c > 0 and |a|, |b| < 2^64, clamped to +-2^100 so that later arithmetic cannot overflow. */
static struct tbed_wide scale(struct tbed_wide a, struct tbed_wide b, uint64_t c)
{
    const struct tbed_wide limit = {UINT64_C(1) << 36, 0};
    bool a_is_negative = a.high != 0, b_is_negative = b.high != 0,
         is_negative = a_is_negative != b_is_negative;
    uint64_t rest;
    struct tbed_wide product =
        tbed_wide_multiply(a_is_negative ? -a.low : a.low, b_is_negative ? -b.low : b.low);
    struct tbed_wide quotient = tbed_wide_divide(product, c, &rest);
    if (is_negative && rest != 0)
        quotient = tbed_wide_add(quotient, (struct tbed_wide){0, 1});
    if (quotient.high >= limit.high)
        quotient = limit;
    return is_negative ? tbed_wide_negate(quotient) : quotient;
}

static struct tbed_wide tick_ns(const struct tbed_reader *reader, uint64_t tick, bool realtime)
{
    struct line line = line_find(reader, tick, realtime);
    struct tbed_wide run = tbed_wide_subtract((struct tbed_wide){0, tick}, (struct tbed_wide){0, line.start});
    return tbed_wide_add(line.start_ns, scale(run, line.rise_ns, line.run_ticks));
}

int64_t tbed_ticks_to_ns(const struct tbed_reader *reader, uint64_t tick)
{
    struct tbed_wide at = {0, tick}, origin = {0, reader->origin_tick};
    if (reader->header.clock != TBED_CLOCK_USER) {
        at = tick_ns(reader, tick, false);
        origin = tick_ns(reader, reader->origin_tick, false);
    }
    return tbed_wide_clamp(tbed_wide_subtract(at, origin));
}

uint64_t tbed_monotonic_tick(const struct tbed_reader *reader, uint64_t ns)
{
    const struct tbed_anchor *anchors = reader->metadata->anchors.items;
    size_t count = reader->metadata->anchors.count, at = 0;
    for (size_t end = count > 1 ? count - 1 : 1;
         at + 1 < end;) { /* the line that begins last, at or before the time */
        size_t middle = at + (end - at) / 2;
        at = anchors[middle].monotonic_ns <= ns ? middle : at;
        end = anchors[middle].monotonic_ns <= ns ? end : middle;
    }
    uint64_t rise_ns = NS_PER_S, run_ticks = reader->header.ticks_per_second;
    if (count > 1) {
        rise_ns = anchors[at + 1].monotonic_ns - anchors[at].monotonic_ns;
        run_ticks = anchors[at + 1].ticks - anchors[at].ticks;
    }
    struct tbed_wide after =
        tbed_wide_subtract((struct tbed_wide){0, ns}, (struct tbed_wide){0, anchors[at].monotonic_ns});
    return anchors[at].ticks + scale(after, (struct tbed_wide){0, run_ticks}, rise_ns).low;
}

/* Below this, a quotient estimated with doubles is off by one at most. */
#define LINE_MAX (UINT64_C(1) << 50)

void tbed_tick_line_find(const struct tbed_reader *reader, uint64_t tick, struct tbed_tick_line *line_ret)
{
    const struct tbed_anchor *anchors = reader->metadata->anchors.items;
    size_t count = reader->metadata->anchors.count, at = 0;
    *line_ret = (struct tbed_tick_line){.first = tick};
    if (reader->header.clock == TBED_CLOCK_USER)
        return;
    struct line line = line_find(reader, tick, false);
    if (tick < line.start || line.rise_ns.low > LINE_MAX || line.run_ticks > LINE_MAX)
        return;
    while (at < count && anchors[at].ticks <= line.start)
        at++;
    uint64_t nticks = at < count ? anchors[at].ticks - line.start : UINT64_MAX - line.start;
    double rate = (double)line.rise_ns.low / (double)line.run_ticks, most = (double)LINE_MAX;
    nticks = nticks < LINE_MAX ? nticks : LINE_MAX;
    nticks = rate > 1 && (double)nticks > most / rate ? (uint64_t)(most / rate) : nticks;
    int64_t first_ns = tbed_ticks_to_ns(reader, line.start);
    if (first_ns > INT64_MAX / 2 || first_ns < INT64_MIN / 2 || tick - line.start >= nticks)
        return;
    *line_ret = (struct tbed_tick_line){line.start, nticks, first_ns, line.rise_ns.low, line.run_ticks, rate};
}

double tbed_tick_span_to_ns(const struct tbed_reader *reader, uint64_t ticks)
{
    const struct tbed_anchor *anchors = reader->metadata->anchors.items;
    const struct tbed_anchor *last = anchors + reader->metadata->anchors.count - 1;
    if (reader->header.clock == TBED_CLOCK_USER)
        return (double)ticks;
    if (last != anchors)
        return tbed_as_double(tbed_as_double(tbed_as_double((double)ticks) *
                                             (double)(last->monotonic_ns - anchors->monotonic_ns)) /
                              (double)(last->ticks - anchors->ticks));
    double product = tbed_as_double(tbed_as_double((double)ticks) * NS_PER_S);
    return tbed_as_double(product / (double)reader->header.ticks_per_second);
}

enum tbed_status tbed_ticks_to_realtime_ns(const struct tbed_reader *reader, uint64_t tick, int64_t *ns_ret)
{
    if (reader->header.clock == TBED_CLOCK_USER)
        return TBED_ERR_NO_TIME;
    *ns_ret = tbed_wide_clamp(tick_ns(reader, tick, true));
    return TBED_OK;
}
