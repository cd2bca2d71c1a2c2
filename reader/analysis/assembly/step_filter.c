/*
 * A filter for steps; see step_filter.h.
 *
 * SPDX-License-Identifier: MIT
 */
#include "reader/analysis/assembly/step_filter.h"

#include "reader/analysis/assembly/neighbours.h"

#include <stdlib.h>
#include <string.h>

enum queued_state { IS_IN, IS_OUT, IS_WAITING, IS_WAITING_FOR_TIME };

struct queued_step {
    enum queued_state state;
    struct tbed_step step;
    struct tbed_assembled span;
    struct tbed_event event;
};

/* For each depth, the number of the BEGIN that waits for its end, plus 1; 0: none. */
struct waiting_stream {
    uint64_t *numbers;
    size_t room;
    uint64_t last_tick;
    bool has_last_tick;
};

void tbed_step_filter_open(struct step_filter *steps, const struct tbed_filter *filter, bool is_reused)
{
    steps->filter = filter;
    steps->is_reused = is_reused;
}

void tbed_step_filter_close(struct step_filter *steps)
{
    for (size_t i = 0; i < steps->stream_count; i++)
        free(steps->streams[i].numbers);
    free(steps->streams);
    free(steps->queue);
    tbed_number_map_free(&steps->by_stream);
}

/* ---- The queue ---- */

static struct queued_step *queued(const struct step_filter *steps, size_t at)
{
    return &steps->queue[(steps->first + at) & (steps->room - 1)];
}

static bool have_room(struct step_filter *steps)
{
    if (steps->count < steps->room)
        return true;
    size_t room = steps->room * 2 + (steps->room == 0 ? 64 : 0);
    struct queued_step *queue = malloc(room * sizeof *queue);
    if (queue == NULL)
        return false;
    for (size_t i = 0; i < steps->count; i++)
        queue[i] = *queued(steps, i);
    free(steps->queue);
    steps->queue = queue;
    steps->room = room;
    steps->first = 0;
    return true;
}

static enum tbed_status enqueue(struct step_filter *steps, const struct tbed_step *step,
                                enum queued_state state)
{
    if (!have_room(steps))
        return TBED_ERR_MEMORY;
    struct queued_step *place = queued(steps, steps->count++);
    place->state = state;
    place->step = *step;
    if (step->span != NULL)
        place->span = *step->span;
    if (step->event != NULL)
        place->event = *step->event;
    if (steps->is_reused && steps->count > 1) {
        place->span.argument_count = place->event.argument_count = 0;
        place->span.arguments = place->event.arguments = (struct tbed_arguments){NULL, 0, 0};
    }
    return TBED_OK;
}

/* ---- Waiting for ends ---- */

/* The place of the BEGIN at this depth of the stream; NULL: no memory. */
static uint64_t *waiting_at(struct step_filter *steps, uint32_t stream, size_t depth)
{
    uint32_t index = tbed_number_map_find(&steps->by_stream, stream);
    if (index == NUMBER_MAP_NONE) {
        if (steps->stream_count == steps->stream_room) {
            size_t room = steps->stream_room * 2 + 16;
            struct waiting_stream *streams = realloc(steps->streams, room * sizeof *streams);
            if (streams == NULL)
                return NULL;
            steps->streams = streams;
            steps->stream_room = room;
        }
        index = (uint32_t)steps->stream_count;
        if (!tbed_number_map_add(&steps->by_stream, stream, index))
            return NULL;
        steps->streams[steps->stream_count++] = (struct waiting_stream){0};
    }
    struct waiting_stream *of = &steps->streams[index];
    if (depth >= of->room) {
        size_t room = depth * 2 + 16;
        uint64_t *numbers = realloc(of->numbers, room * sizeof *numbers);
        if (numbers == NULL)
            return NULL;
        memset(numbers + of->room, 0, (room - of->room) * sizeof *numbers);
        of->numbers = numbers;
        of->room = room;
    }
    return &of->numbers[depth];
}

/* May a BEGIN have to wait? */
static bool has_waiting(const struct step_filter *steps)
{
    return steps->filter->minimum > 0 || steps->filter->has_ranges;
}

static enum tbed_status take_begin(struct step_filter *steps, const struct tbed_step *step)
{
    enum filter_begin begin = tbed_filter_takes_begin(steps->filter, step->span);
    bool waits = begin == FILTER_BEGIN_LONG || begin == FILTER_BEGIN_END;
    if (has_waiting(steps)) {
        uint64_t *number = waiting_at(steps, step->span->stream, step->depth);
        if (number == NULL)
            return TBED_ERR_MEMORY;
        *number = waits ? steps->first_number + steps->count + 1 : 0;
    }
    if (begin == FILTER_BEGIN_OUT)
        return TBED_OK;
    return enqueue(steps, step,
                   !waits                       ? IS_IN
                   : begin == FILTER_BEGIN_LONG ? IS_WAITING_FOR_TIME
                                                : IS_WAITING);
}

/* The span has ended, so its BEGIN counts or not. */
static enum tbed_status settle(struct step_filter *steps, const struct tbed_step *step, bool is_taken)
{
    bool is_whole = step->event != NULL && step->event->type == TBED_EVENT_SPAN;
    if (!step->span->was_begun || is_whole || !has_waiting(steps))
        return TBED_OK;
    uint64_t *number = waiting_at(steps, step->span->stream, step->depth);
    if (number == NULL)
        return TBED_ERR_MEMORY;
    if (*number > steps->first_number) {
        struct queued_step *begin = queued(steps, (size_t)(*number - 1 - steps->first_number));
        begin->state = is_taken ? IS_IN : IS_OUT;
    }
    *number = 0;
    return TBED_OK;
}

/* The spans inside one that has ended stay open, and are at one depth less from now on. */
static void move_up(struct step_filter *steps, const struct tbed_step *step)
{
    bool is_end = step->event != NULL && step->event->type == TBED_EVENT_END;
    uint32_t inside = is_end ? step->event->of.end.inside : 0;
    uint32_t index =
        inside > 0 ? tbed_number_map_find(&steps->by_stream, step->span->stream) : NUMBER_MAP_NONE;
    if (index == NUMBER_MAP_NONE)
        return;
    const struct waiting_stream *of = &steps->streams[index];
    for (size_t i = 0, at = step->depth; i < inside && at + 1 < of->room; i++, at++) {
        of->numbers[at] = of->numbers[at + 1];
        of->numbers[at + 1] = 0;
    }
}

static enum tbed_status take_end(struct step_filter *steps, struct tbed_step step)
{
    struct tbed_assembled span = *step.span;
    bool is_cut = false;
    bool is_taken = tbed_filter_takes_span(steps->filter, span.stream, span.id, span.category,
                                           &span.begin_tick, &span.end_tick, &is_cut);
    enum tbed_status status = settle(steps, &step, is_taken);
    move_up(steps, &step);
    if (status != TBED_OK || !is_taken)
        return status;
    bool is_whole = step.event != NULL && step.event->type == TBED_EVENT_SPAN;
    span.was_begun &= tbed_filter_has_tick(steps->filter, step.span->begin_tick) && !(is_whole && is_cut);
    if (is_cut) {
        step.kind = TBED_STEP_END;
        step.event = NULL;
    }
    step.span = &span;
    return enqueue(steps, &step, IS_IN);
}

static enum tbed_status take_unknown(struct step_filter *steps, const struct tbed_step *step)
{
    uint64_t tick = step->event != NULL ? step->event->tick : step->span->end_tick;
    bool is_taken = tbed_filter_takes_unknown(steps->filter, step->span->stream, step->span->id, tick);
    return is_taken ? enqueue(steps, step, IS_IN) : TBED_OK;
}

/* The last tick that a span of the stream can have. */
static uint64_t last_tick_of(struct step_filter *steps, uint32_t stream)
{
    uint32_t index = tbed_number_map_find(&steps->by_stream, stream);
    if (index == NUMBER_MAP_NONE)
        return 0;
    struct waiting_stream *of = &steps->streams[index];
    if (!of->has_last_tick)
        of->last_tick = tbed_stream_last_tick(steps->filter->reader, stream, 0);
    of->has_last_tick = true;
    return of->last_tick;
}

/*
 * The first of the queue has taken long enough by now if it is still open at 'tick', and its stream goes on until then. A
 * span that is not ended by then ends later, or lasts until the last tick of its stream.
 */
static void let_through(struct step_filter *steps, uint64_t tick)
{
    const struct tbed_filter *filter = steps->filter;
    struct queued_step *first = steps->count > 0 ? queued(steps, 0) : NULL;
    if (first == NULL || first->state != IS_WAITING_FOR_TIME || !tbed_filter_has_clock(filter))
        return;
    uint64_t begin_tick = first->span.begin_tick, last_tick = filter->has_end ? filter->end : UINT64_MAX;
    tick = tick < last_tick ? tick : last_tick;
    if (tick < begin_tick || tick - begin_tick < filter->minimum)
        return;
    last_tick = last_tick_of(steps, first->span.stream);
    if (last_tick >= begin_tick && last_tick - begin_tick >= filter->minimum)
        first->state = IS_IN;
}

enum tbed_status tbed_step_filter_take(struct step_filter *steps, const struct tbed_step *step)
{
    if (step->event != NULL)
        let_through(steps, step->event->tick);
    switch (step->kind) {
    case TBED_STEP_BEGIN:
        return take_begin(steps, step);
    case TBED_STEP_END:
    case TBED_STEP_OPEN:
        return take_end(steps, *step);
    case TBED_STEP_UNKNOWN:
        return take_unknown(steps, step);
    default:
        return tbed_filter_takes_event(steps->filter, step->event) ? enqueue(steps, step, IS_IN) : TBED_OK;
    }
}

bool tbed_step_filter_end(struct step_filter *steps)
{
    for (size_t i = 0; i < steps->count; i++)
        if (queued(steps, i)->state >= IS_WAITING)
            queued(steps, i)->state = IS_OUT;
    return steps->count > 0;
}

bool tbed_step_filter_next(struct step_filter *steps, struct tbed_step *step_ret)
{
    while (steps->count > 0) {
        struct queued_step *first = queued(steps, 0);
        if (first->state >= IS_WAITING)
            return false;
        steps->first = (steps->first + 1) & (steps->room - 1);
        steps->first_number++;
        steps->count--;
        if (first->state == IS_OUT)
            continue;
        *step_ret = first->step;
        if (step_ret->span != NULL)
            step_ret->span = &first->span;
        if (step_ret->event != NULL)
            step_ret->event = &first->event;
        return true;
    }
    return false;
}
