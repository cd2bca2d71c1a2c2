/*
 * Ticks of events, as steps of the clock: most clocks do not show every tick, but jump, for instance by 26 ticks, or by
 * 10.02 nanoseconds. Both directions; see unit_columns.h.
 *
 * Source: spec/packed.md, "Ticks".
 *
 * SPDX-License-Identifier: MIT
 */
#ifndef TRACEBED_CORE_EVENT_CLOCK_H
#define TRACEBED_CORE_EVENT_CLOCK_H

#include "reader/core/pack/unit_columns.h"

#define CLOCK_FRACTION_BITS 16
#define CLOCK_ONE           (UINT64_C(1) << CLOCK_FRACTION_BITS)
#define CLOCK_STEP_MAX      (UINT64_C(1) << 48)

struct event_clock {
    uint64_t step;    /* ticks with 16 bits of fraction, from CLOCK_ONE to CLOCK_STEP_MAX */
    uint64_t inverse; /* for packing: 2^48 / step */
    uint64_t common;  /* the most frequent large number of steps; 0: none */
    uint64_t phase;   /* the fraction of the last tick */
};

/* Finds the step and the most frequent number of steps in ticks from event to event, which it sorts. */
struct event_clock tbed_event_clock_find(uint32_t *ticks, size_t count);

#define CLASS_EXACT  16  /* classes below are the number itself */
#define CLASS_LIMIT  248 /* up to here, four leading bits; the others follow in COLUMN_BITS */
#define CLASS_COMMON 254
#define CLASS_WIDE   255

/* Below 2^33. */
BOTH_WAYS uint32_t class_put(struct columns *columns, enum column_number number, uint64_t steps,
                             uint64_t common)
{
    if (steps < CLASS_EXACT)
        return column_byte(columns, number, (uint8_t)steps, true);
    if (steps == common)
        return column_byte(columns, number, CLASS_COMMON, true);
    uint32_t bit_count = 60 - (uint32_t)__builtin_clzll(steps);
    column_bits(columns, steps & ((UINT64_C(1) << bit_count) - 1), bit_count, true);
    return column_byte(columns, number, (uint8_t)(bit_count * 8 + (steps >> bit_count)), true);
}

BOTH_WAYS uint64_t class_get(struct columns *columns, uint32_t class, uint64_t common)
{
    if (class < CLASS_EXACT)
        return class;
    if (class == CLASS_COMMON)
        return common;
    if (class >= CLASS_LIMIT) {
        columns->is_damaged = true;
        return 0;
    }
    uint32_t bit_count = (class >> 3) - 1;
    return (uint64_t)((class & 7) | 8) << bit_count | column_bits(columns, 0, bit_count, false);
}

/* What the steps do not explain; nearly always 0. */
BOTH_WAYS uint64_t clock_rest(struct columns *columns, enum column_number number, uint64_t rest, bool packs)
{
    uint64_t folded = packs ? fold(rest) : 0;
    uint8_t byte = column_byte(columns, number, folded < 255 ? (uint8_t)folded : 255, packs);
    if (byte < 255)
        folded = byte;
    else
        folded = column_value(columns, COLUMN_WIDE, folded, packs);
    return unfold(folded);
}

/* The number of steps in 'ticks', or CLOCK_WIDE if they do not fit; for unpacking, '*ticks' is then filled. */
#define CLOCK_WIDE UINT64_MAX
BOTH_WAYS uint64_t clock_steps(struct columns *columns, const struct event_clock *clock,
                               enum column_number number, uint64_t *ticks, bool packs)
{
    uint64_t steps = 0;
    uint32_t class;
    if (!packs)
        class = column_byte(columns, number, 0, false);
    else if (*ticks >> 32 != 0)
        class = column_byte(columns, number, CLASS_WIDE, true);
    else
        class =
            class_put(columns, number, steps = (*ticks * clock->inverse + (1u << 31)) >> 32, clock->common);
    if (class == CLASS_WIDE) {
        *ticks = column_difference(columns, COLUMN_WIDE, *ticks, 0, packs);
        return CLOCK_WIDE;
    }
    return packs ? steps : class_get(columns, class, clock->common);
}

/* The ticks from the last event to this one. */
BOTH_WAYS uint64_t clock_advance(struct columns *columns, struct event_clock *clock, uint64_t ticks,
                                 bool packs)
{
    uint64_t steps = clock_steps(columns, clock, COLUMN_TICK_CLASS, &ticks, packs);
    if (steps == CLOCK_WIDE)
        return ticks;
    if (clock->step == CLOCK_ONE)
        return packs ? ticks : steps;
    uint64_t position = clock->phase + steps * clock->step, expected = position >> CLOCK_FRACTION_BITS;
    uint64_t rest = clock_rest(columns, COLUMN_TICK_REST, ticks - expected, packs);
    clock->phase = rest == 0 ? position & (CLOCK_ONE - 1) : rest >> 63 != 0 ? CLOCK_ONE - 1 : 0;
    return expected + rest;
}

/* The ticks from the begin of a SPAN to this event. */
BOTH_WAYS uint64_t clock_since(struct columns *columns, const struct event_clock *clock, uint64_t ticks,
                               bool packs)
{
    uint64_t steps = clock_steps(columns, clock, COLUMN_SPAN_CLASS, &ticks, packs);
    if (steps == CLOCK_WIDE)
        return ticks;
    if (clock->step == CLOCK_ONE)
        return packs ? ticks : steps;
    uint64_t expected = (steps * clock->step + (CLOCK_ONE - 1) - clock->phase) >> CLOCK_FRACTION_BITS;
    return expected + clock_rest(columns, COLUMN_SPAN_REST, ticks - expected, packs);
}

#endif
