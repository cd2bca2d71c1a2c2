/*
 * One raw event; see measureme.h. Inline: analyses call it for each event.
 *
 * SPDX-License-Identifier: MIT
 */
#ifndef TRACEBED_MEASUREME_EVENT_LOAD_H
#define TRACEBED_MEASUREME_EVENT_LOAD_H

#include <string.h>

#define MM_INSTANT_MARK UINT64_C(0xFFFFFFFFFFFF)
#define MM_INTEGER_MARK UINT64_C(0xFFFFFFFFFFFE)

/* The three last words of 4 bytes: two times of 48 bits. */
static inline void mm_times_load(const uint8_t *bytes, bool has_integers, struct mm_event *event)
{
    uint32_t low1, low2, upper;
    memcpy(&low1, bytes, 4);
    memcpy(&low2, bytes + 4, 4);
    memcpy(&upper, bytes + 8, 4);
    event->begin = low1 | (uint64_t)(upper & 0xFFFF0000u) << 16;
    event->end = low2 | (uint64_t)(upper & 0xFFFFu) << 32;
    event->type = MM_INTERVAL;
    if (event->end == MM_INSTANT_MARK) {
        event->type = MM_INSTANT;
        event->end = event->begin;
    } else if (has_integers && event->end == MM_INTEGER_MARK) {
        event->type = MM_INTEGER;
        event->end = 0;
    }
}

/* False: the event is evidently no interval. To pass over the others of which there may be many. */
static inline bool mm_event_may_be_interval(const uint8_t *bytes, enum mm_shape shape)
{
    const uint8_t *times = bytes + (shape == MM_SHAPE_32 ? 20 : 12);
    uint32_t low, upper,
        mark = shape == MM_SHAPE_24_NO_INTEGERS ? (uint32_t)MM_INSTANT_MARK : (uint32_t)MM_INTEGER_MARK;
    if (shape == MM_SHAPE_PAIRED)
        return true;
    memcpy(&low, times + 4, 4);
    memcpy(&upper, times + 8, 4);
    return low < mark || (upper & 0xFFFFu) != 0xFFFFu;
}

static inline void mm_event_load(const uint8_t *bytes, enum mm_shape shape, struct mm_event *event_ret)
{
    uint32_t narrow[3];
    switch (shape) {
    case MM_SHAPE_24_NO_INTEGERS:
    case MM_SHAPE_24:
        memcpy(narrow, bytes, 12);
        event_ret->kind = narrow[0];
        event_ret->id = narrow[1];
        event_ret->thread = narrow[2];
        mm_times_load(bytes + 12, shape == MM_SHAPE_24, event_ret);
        break;
    case MM_SHAPE_32:
        memcpy(&event_ret->kind, bytes, 8);
        memcpy(&event_ret->id, bytes + 8, 8);
        memcpy(narrow, bytes + 16, 4);
        event_ret->thread = narrow[0];
        mm_times_load(bytes + 20, true, event_ret);
        break;
    case MM_SHAPE_PAIRED:
    default:
        memcpy(event_ret, bytes, 40);
        event_ret->type = event_ret->end == UINT64_MAX ? MM_INSTANT : MM_INTERVAL;
        if (event_ret->type == MM_INSTANT)
            event_ret->end = event_ret->begin;
        break;
    }
}

#endif
