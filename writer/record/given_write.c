/*
 * Events that happened before, elsewhere, and bring their own ticks.
 *
 * SPDX-License-Identifier: MIT
 */
#include "format/base/sized.h"
#include "writer/record/extended.h"
#include "writer/record/recorders.h"
#include "writer/record/spans.h"

static uint32_t category_of(const struct tbed_given_event *event)
{
    return tbed_category_aux(event->category);
}

static bool is_plain(const struct tbed_given_event *event)
{
    return event->argument_count == 0 && category_of(event) == 0;
}

/* SPANs alone may begin before their block. */
static void note_begin(struct tbed_recorder *recorder, uint64_t begin_tick)
{
    struct tbed_recorder_cold *cold = tbed_cold_of(recorder);
    if (begin_tick < cold->least_begin_tick)
        cold->least_begin_tick = begin_tick;
}

static bool give_extended(struct tbed_recorder *recorder, const struct tbed_given_event *event,
                          enum tbed_extended type)
{
    struct tbed_extended_event record = {.type = type,
                                         .aux = category_of(event),
                                         .id = event->id,
                                         .fixed = {event->begin_tick},
                                         .fixed_count = type == TBED_EXT_SPAN,
                                         .arguments = event->arguments,
                                         .argument_count = event->argument_count};
    return tbed_extended_put(recorder, event->tick, &record);
}

static void give_begin(struct tbed_recorder *recorder, const struct tbed_given_event *event)
{
    if (is_plain(event))
        tbed_span_begin_at(recorder, event->id, event->tick);
    else if (give_extended(recorder, event, TBED_EXT_BEGIN))
        tbed_span_push(recorder, event->id, event->tick);
    else
        tbed_span_push_dropped(recorder, event->id, event->tick);
}

static void give_end(struct tbed_recorder *recorder, const struct tbed_given_event *event)
{
    if (event->argument_count == 0 && tbed_span_is_known(recorder))
        tbed_span_end_at(recorder, event->tick);
    else
        tbed_span_end_entered(recorder, event->arguments, event->argument_count);
}

/* Takes the innermost span off the stack as END does, and records when it really ends; 0: never. */
static void give_leave(struct tbed_recorder *recorder, const struct tbed_given_event *event)
{
    if (event->inside > 0) {
        tbed_span_leave_outer(recorder, event->inside, event->tick, event->end_tick);
        return;
    }
    struct tbed_open_span span = tbed_span_top(recorder);
    struct tbed_extended_event record = {.type = TBED_EXT_LEAVE,
                                         .id = span.id,
                                         .fixed = {span.begin_tick, event->end_tick},
                                         .fixed_count = 2,
                                         .arguments = event->arguments,
                                         .argument_count = event->argument_count};
    if (!span.dropped)
        tbed_extended_put(recorder, event->tick, &record);
    tbed_span_pop(recorder);
}

static void give_instant(struct tbed_recorder *recorder, const struct tbed_given_event *event)
{
    if (is_plain(event))
        tbed_instant_at(recorder, event->id, event->tick);
    else
        give_extended(recorder, event, TBED_EXT_INSTANT);
}

/* Spans are the most frequent events of imports, so they go straight into the block. */
static void give_span(struct tbed_recorder *recorder, const struct tbed_given_event *event)
{
    if (event->argument_count != 0) {
        if (give_extended(recorder, event, TBED_EXT_SPAN))
            note_begin(recorder, event->begin_tick);
        return;
    }
    uint64_t *at = tbed_recorder_room(recorder, 3, event->tick);
    if (at == NULL)
        return;
    tbed_record_head_store(at, TBED_EXT_SPAN | (uint64_t)2 << 16 | (uint64_t)category_of(event) << 32);
    at[2] = tbed_word_order(event->begin_tick);
    tbed_recorder_commit(recorder, at, 3,
                         tbed_event_word(recorder, TBED_TAG_EXTENDED, event->id, event->tick));
    note_begin(recorder, event->begin_tick);
}

static bool has_value(const struct tbed_given_event *event)
{
    return event->argument_count > 0 && event->arguments[0].type >= TBED_ARG_U64 &&
           event->arguments[0].type <= TBED_ARG_F64;
}

static void give_message(struct tbed_recorder *recorder, const struct tbed_given_event *event)
{
    struct tbed_extended_event record = {.type = TBED_EXT_MESSAGE,
                                         .aux = event->severity,
                                         .id = event->id,
                                         .arguments = event->arguments,
                                         .argument_count = event->argument_count};
    tbed_extended_put(recorder, event->tick, &record);
}

static void give_keyed(struct tbed_recorder *recorder, const struct tbed_given_event *event)
{
    struct tbed_extended_event record = {.type =
                                             TBED_EXT_ASYNC_BEGIN + (event->type - TBED_GIVEN_ASYNC_BEGIN),
                                         .id = event->id,
                                         .fixed = {event->key},
                                         .fixed_count = 1,
                                         .arguments = event->arguments,
                                         .argument_count = event->argument_count};
    tbed_extended_put(recorder, event->tick, &record);
}
_Static_assert(TBED_EXT_FLOW_END - TBED_EXT_ASYNC_BEGIN == TBED_GIVEN_FLOW_END - TBED_GIVEN_ASYNC_BEGIN,
               "both lists have the same order");

static void give(struct tbed_recorder *recorder, const struct tbed_given_event *event)
{
    switch (event->type) {
    case TBED_GIVEN_SPAN:
        give_span(recorder, event);
        return;
    case TBED_GIVEN_BEGIN:
        give_begin(recorder, event);
        return;
    case TBED_GIVEN_END:
        give_end(recorder, event);
        return;
    case TBED_GIVEN_LEAVE:
        give_leave(recorder, event);
        return;
    case TBED_GIVEN_INSTANT:
        give_instant(recorder, event);
        return;
    case TBED_GIVEN_MESSAGE:
        give_message(recorder, event);
        return;
    case TBED_GIVEN_ASYNC_BEGIN:
    case TBED_GIVEN_ASYNC_END:
    case TBED_GIVEN_FLOW_BEGIN:
    case TBED_GIVEN_FLOW_STEP:
    case TBED_GIVEN_FLOW_END:
        give_keyed(recorder, event);
        return;
    case TBED_GIVEN_COUNTER:
        if (has_value(event)) {
            give_extended(recorder, event, TBED_EXT_COUNTER);
            return;
        }
        break;
    }
    tbed_recorder_drop(recorder, TBED_DROP_TOO_LARGE);
}

void tbed_event_record_given_sized(struct tbed_recorder *recorder, const struct tbed_given_event *given,
                                   size_t given_nbytes)
{
    struct tbed_recorder_kept *kept = tbed_kept_of(recorder);
    struct tbed_given_event event;
    recorder = tbed_recorder_entered(recorder);
    if (recorder == NULL)
        return;
    if (kept->takes_given && tbed_sized_take(&event, sizeof event, given, given_nbytes)) {
        if (event.tick < kept->given_tick)
            kept->cold->is_unordered = true;
        __atomic_store_n(&kept->given_tick, event.tick,
                         __ATOMIC_RELAXED); /* read by the thread that closes the writer */
        give(recorder, &event);
    } else {
        tbed_recorder_drop(recorder, TBED_DROP_TOO_LARGE);
    }
    tbed_recorder_leave(recorder);
}
