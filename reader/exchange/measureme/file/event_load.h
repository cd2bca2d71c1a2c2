/*
 * One raw event; see measureme.h. Inline: analyses call it for each event.
 *
 * SPDX-License-Identifier: MIT
 */
#ifndef TRACEBED_MEASUREME_EVENT_LOAD_H
#define TRACEBED_MEASUREME_EVENT_LOAD_H

#include "format/base/bytes.h"

#define MM_INSTANT_MARK UINT64_C(0xFFFFFFFFFFFF)
#define MM_INTEGER_MARK UINT64_C(0xFFFFFFFFFFFE)

/* The three last words of 4 bytes: two times of 48 bits. */
static inline void mm_times_load(const uint8_t *bytes, bool has_integers, struct mm_event *event)
{
    uint32_t low1 = tbed_le32_at(bytes), low2 = tbed_le32_at(bytes + 4), upper = tbed_le32_at(bytes + 8);
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
    uint32_t mark = shape == MM_SHAPE_24_NO_INTEGERS ? (uint32_t)MM_INSTANT_MARK : (uint32_t)MM_INTEGER_MARK;
    if (shape == MM_SHAPE_PAIRED)
        return true;
    return tbed_le32_at(times + 4) < mark || (tbed_le32_at(times + 8) & 0xFFFFu) != 0xFFFFu;
}

static inline void mm_event_load(const uint8_t *bytes, enum mm_shape shape, struct mm_event *event_ret)
{
    switch (shape) {
    case MM_SHAPE_24_NO_INTEGERS:
    case MM_SHAPE_24:
        event_ret->kind = tbed_le32_at(bytes);
        event_ret->id = tbed_le32_at(bytes + 4);
        event_ret->thread = tbed_le32_at(bytes + 8);
        mm_times_load(bytes + 12, shape == MM_SHAPE_24, event_ret);
        break;
    case MM_SHAPE_32:
        event_ret->kind = tbed_le64_at(bytes);
        event_ret->id = tbed_le64_at(bytes + 8);
        event_ret->thread = tbed_le32_at(bytes + 16);
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
