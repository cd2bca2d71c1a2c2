/*
 * The step of a clock. Many time stamp counters count nanoseconds or less but move by ten nanoseconds at a time. A writer
 * gives events of the same step different ticks, so their distance looks like a time that was measured.
 *
 * SPDX-License-Identifier: MIT
 */
#include "reader/analysis/shared/clock_step.h"

#include <stdlib.h>
#include <tracebed/analysis.h>

#define EVENTS_MAX   65536u /* that are looked at */
#define STEP_MIN     8u     /* a smaller one cannot be told from chance */
#define MULTIPLES    8u
#define EVIDENCE_MIN 64u /* gaps */

/* Events of one step are one or two ticks apart, which the gap to the next step lacks. */
static uint32_t tolerance_of(uint32_t step)
{
    return step < 20 ? 1 : step / 10;
}

/* The shortest gap that is not rare, or the most frequent one near it. */
static uint32_t candidate_of(const uint32_t gaps[CLOCK_GAP_MAX], uint64_t count)
{
    uint32_t step = STEP_MIN;
    while (step < CLOCK_GAP_MAX && (gaps[step] == 0 || gaps[step] < count / 50))
        step++;
    uint32_t best = step;
    for (uint32_t near = step; near <= step + tolerance_of(step) && near < CLOCK_GAP_MAX; near++)
        best = gaps[near] > gaps[best] ? near : best;
    return best;
}

uint64_t tbed_step_of_gaps(const uint32_t gaps[CLOCK_GAP_MAX])
{
    uint64_t count = 0, near = 0, far = 0;
    for (uint32_t gap = 2; gap < CLOCK_GAP_MAX; gap++)
        count += gaps[gap];
    uint32_t step = candidate_of(gaps, count);
    if (step >= CLOCK_GAP_MAX / (MULTIPLES + 1))
        return 1;
    uint32_t tolerance = tolerance_of(step);
    for (uint32_t gap = tolerance + 1; gap <= MULTIPLES * step + tolerance; gap++) {
        uint32_t off = (gap + tolerance) % step;
        if (off <= 2 * tolerance && gap + tolerance >= step)
            near += gaps[gap];
        else
            far += gaps[gap];
    }
    return near >= EVIDENCE_MIN && far <= near / 100 ? step : 1;
}

static void count_gaps(struct tbed_cursor *cursor, uint32_t *gaps, uint32_t *left)
{
    struct tbed_event event;
    uint64_t last = UINT64_MAX;
    for (; *left > 0 && tbed_cursor_next(cursor, &event) == TBED_OK; last = event.tick, --*left)
        if (event.tick > last && event.tick - last < CLOCK_GAP_MAX)
            gaps[event.tick - last]++;
}

uint64_t tbed_clock_step(struct tbed_reader *reader)
{
    struct tbed_trace_info info;
    struct tbed_stream_info stream;
    struct tbed_cursor *cursor;
    uint32_t left = EVENTS_MAX;
    tbed_reader_info(reader, &info);
    if (info.clock == TBED_CLOCK_USER || info.resolution_ticks > 1)
        return info.resolution_ticks > 0 ? info.resolution_ticks : 1;
    uint32_t *gaps = calloc(CLOCK_GAP_MAX, sizeof *gaps);
    for (size_t i = 0; gaps != NULL && left > 0 && tbed_stream_get(reader, i, &stream); i++) {
        if (stream.block_count == 0 || tbed_cursor_open(reader, stream.stream, &cursor) != TBED_OK)
            continue;
        count_gaps(cursor, gaps, &left);
        tbed_cursor_close(cursor);
    }
    uint64_t step = gaps != NULL ? tbed_step_of_gaps(gaps) : 1;
    free(gaps);
    return step;
}
