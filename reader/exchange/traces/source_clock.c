/*
 * The clocks of the sources of a merge; see source_clock.h.
 *
 * SPDX-License-Identifier: MIT
 */
#include "reader/exchange/traces/source_clock.h"

#include "format/base/sized.h"
#include "reader/core/file/reader_state.h"
#include "reader/core/records/metadata.h"

#include <math.h>

#define ANCHOR_ERROR_NS 1000 /* of reading two clocks one after the other */
#define RATE_ERROR      1e-4 /* of the rate in the header */
#define SLEW_MAX        5e-4 /* by which CLOCK_REALTIME and CLOCK_MONOTONIC are slewed at most */
#define SAME_START_NS   1e6  /* how well two anchors of one machine agree */

static const struct tbed_anchor *anchors_of(const struct tbed_reader *reader, size_t *count_ret)
{
    *count_ret = reader->metadata->anchors.count;
    return reader->metadata->anchors.items;
}

/* ---- One clock ---- */

bool tbed_clocks_are_alike(const struct tbed_reader *reader, const struct tbed_reader *other)
{
    const struct tbed_header_fields *a = &reader->header, *b = &other->header;
    if (a->clock != b->clock || memcmp(a->clock_unit, b->clock_unit, sizeof a->clock_unit) != 0)
        return false;
    double rate = (double)a->ticks_per_second, rate_b = (double)b->ticks_per_second;
    return fabs(rate - rate_b) <= rate * SLEW_MAX;
}

/* The difference of two unsigned numbers, which may be large. */
static double subtract(uint64_t a, uint64_t b)
{
    return a > b ? (double)(a - b) : -(double)(b - a);
}

bool tbed_clocks_are_one(const struct tbed_reader *reader, const struct tbed_reader *other)
{
    const struct tbed_header_fields *a = &reader->header, *b = &other->header;
    if (a->clock == TBED_CLOCK_USER || !tbed_clocks_are_alike(reader, other) || a->anchor_monotonic_ns == 0 ||
        b->anchor_monotonic_ns == 0)
        return false;
    double monotonic_ns = subtract(a->anchor_monotonic_ns, b->anchor_monotonic_ns);
    double realtime_ns = (double)(a->anchor_realtime_ns / 2 - b->anchor_realtime_ns / 2) * 2;
    double ticks_ns = subtract(a->anchor_ticks, b->anchor_ticks) * 1e9 / (double)a->ticks_per_second;
    double allowed_ns = SAME_START_NS + fabs(monotonic_ns) * SLEW_MAX;
    return fabs(monotonic_ns - realtime_ns) <= allowed_ns && fabs(monotonic_ns - ticks_ns) <= allowed_ns;
}

/* ---- Quality ---- */

static uint64_t distance(uint64_t a, uint64_t b)
{
    return a > b ? a - b : b - a;
}

/* How far the trace goes beyond its anchors, in ticks. */
static uint64_t ticks_beyond(const struct tbed_trace_info *info, const struct tbed_anchor *first,
                             const struct tbed_anchor *last)
{
    uint64_t before = info->first_tick < first->ticks ? first->ticks - info->first_tick : 0;
    uint64_t after = info->last_tick > last->ticks ? info->last_tick - last->ticks : 0;
    return before > after ? before : after;
}

static uint64_t nearest(double ns)
{
    return ns < 0x1p63 ? (uint64_t)(ns + 0.5) : UINT64_MAX;
}

static void judge_one(const struct tbed_reader *reader, const struct tbed_trace_info *info,
                      const struct tbed_anchor *anchor, struct tbed_clock_quality *quality)
{
    uint64_t before = distance(info->first_tick, anchor->ticks),
             after = distance(info->last_tick, anchor->ticks);
    double ns = (double)(before > after ? before : after) * 1e9 / (double)reader->header.ticks_per_second;
    quality->uncertainty_ns = nearest(ANCHOR_ERROR_NS + ns * RATE_ERROR);
}

static void judge_several(const struct tbed_reader *reader, const struct tbed_trace_info *info,
                          const struct tbed_anchor *anchors, size_t count, struct tbed_clock_quality *quality)
{
    const struct tbed_anchor *first = anchors, *last = anchors + count - 1;
    double ticks = (double)(last->ticks - first->ticks);
    double ns = (double)(last->realtime_ns / 2 - first->realtime_ns / 2) * 2;
    double nominal_ns = ticks * 1e9 / (double)reader->header.ticks_per_second;
    if (ns > 0)
        quality->drift_ppm = (nominal_ns / ns - 1) * 1e6;
    /* The line through the two nearest anchors goes on; it is as good as they are far apart. */
    double part = (double)ticks_beyond(info, first, last) / (ticks / (double)(count - 1));
    quality->uncertainty_ns = nearest(ANCHOR_ERROR_NS * (1 + 2 * part));
}

void tbed_clock_quality_get_sized(const struct tbed_reader *reader, struct tbed_clock_quality *quality_ret,
                                  size_t quality_nbytes)
{
    struct tbed_clock_quality quality = {0};
    struct tbed_trace_info info;
    size_t count;
    const struct tbed_anchor *anchors = anchors_of(reader, &count);
    tbed_reader_info(reader, &info);
    quality.has_wall_clock =
        reader->header.clock != TBED_CLOCK_USER && (count > 1 || anchors->realtime_ns != 0);
    if (quality.has_wall_clock) {
        quality.anchor_count = (uint32_t)count;
        if (count == 1)
            judge_one(reader, &info, anchors, &quality);
        else
            judge_several(reader, &info, anchors, count, &quality);
    }
    tbed_sized_give(quality_ret, quality_nbytes, &quality, sizeof quality);
}
