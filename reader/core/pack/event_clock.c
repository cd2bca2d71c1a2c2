/*
 * Which steps a clock makes; see event_clock.h.
 *
 * SPDX-License-Identifier: MIT
 */
#include "reader/core/pack/event_clock.h"

#include <stdlib.h>

#define STEP_MAX  128 /* of those that are tried one by one */
#define COUNT_MIN 32
/* A clock has a step if this part of the short ticks are multiples of it, perhaps rounded. */
#define SHARE_NUMERATOR   7
#define SHARE_DENOMINATOR 10
#define SHORT_STEPS       12

static int compare_ticks(const void *a, const void *b)
{
    uint32_t x = *(const uint32_t *)a, y = *(const uint32_t *)b;
    return x < y ? -1 : x > y;
}

static uint32_t common_divisor(const uint32_t *ticks, size_t count)
{
    uint32_t a = 0;
    for (size_t i = 0; i < count && a != 1; i++)
        for (uint32_t b = ticks[i]; b != 0;) {
            uint32_t rest = a % b;
            a = b;
            b = rest;
        }
    return a;
}

/* Are most of the short ticks multiples of 'step'? 'ticks' are sorted, without zeros. */
static bool is_step(const uint32_t *ticks, size_t count, uint32_t step)
{
    size_t i = 0, hits = 0;
    for (; i < count && (ticks[i] <= step * SHORT_STEPS || i < COUNT_MIN); i++)
        hits += ticks[i] % step == 0;
    return i >= COUNT_MIN && hits * SHARE_DENOMINATOR >= i * SHARE_NUMERATOR;
}

/* The step with its fraction: from the shortest ticks on, each by what is known from those before. */
static uint64_t refine(const uint32_t *ticks, size_t count, uint32_t step)
{
    uint64_t steps = 0, sum = 0, refined = (uint64_t)step << CLOCK_FRACTION_BITS;
    for (size_t i = 0; i < count && ticks[i] < step * 256u; i++) {
        sum += ticks[i];
        steps += (((uint64_t)ticks[i] << CLOCK_FRACTION_BITS) + refined / 2) / refined;
        if (i >= COUNT_MIN && steps > 0)
            refined = (sum << CLOCK_FRACTION_BITS) / steps;
    }
    return refined;
}

/* The most frequent number of steps that is not a class of its own, if it is really frequent; 0: none. */
static uint64_t find_common(const uint32_t *ticks, size_t count, uint64_t inverse)
{
    uint64_t best = 0, best_count = count / 8, last = 0, last_count = 0;
    for (size_t i = 0; i < count; i++) {
        uint64_t steps = (ticks[i] * inverse + (1u << 31)) >> 32;
        last_count = steps == last ? last_count + 1 : 1;
        last = steps;
        if (steps < CLASS_EXACT || last_count <= best_count)
            continue;
        best = steps;
        best_count = last_count;
    }
    return best;
}

struct event_clock tbed_event_clock_find(uint32_t *ticks, size_t count)
{
    uint64_t step = CLOCK_ONE;
    qsort(ticks, count, sizeof ticks[0], compare_ticks);
    while (count > 0 && ticks[0] == 0) {
        ticks++;
        count--;
    }
    uint32_t divisor = common_divisor(ticks, count);
    if (count >= COUNT_MIN && divisor > STEP_MAX)
        step = (uint64_t)divisor << CLOCK_FRACTION_BITS;
    for (uint32_t i = STEP_MAX; i > 1 && step == CLOCK_ONE; i--)
        if (is_step(ticks, count, i))
            step = refine(ticks, count, i);
    uint64_t inverse = (CLOCK_STEP_MAX + step / 2) / step;
    return (struct event_clock){
        .step = step, .inverse = inverse, .common = find_common(ticks, count, inverse)};
}
