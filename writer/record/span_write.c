/*
 * Spans and instants off the fast path: as single words, and with arguments.
 *
 * Source: spec/format.md, section 6.
 *
 * SPDX-License-Identifier: MIT
 */
#include "writer/record/extended.h"
#include "writer/record/spans.h"

static bool word_put(struct tbed_recorder *recorder, enum tbed_tag tag, uint32_t id, uint64_t tick)
{
    uint64_t *at = tbed_recorder_room(recorder, 1, tick);
    if (at != NULL)
        tbed_recorder_commit(recorder, at, 1, tbed_event_word(recorder, tag, id, tick));
    return at != NULL;
}

void tbed_span_begin_at(struct tbed_recorder *recorder, uint32_t id, uint64_t tick)
{
    if (word_put(recorder, TBED_TAG_BEGIN, id, tick))
        tbed_span_push(recorder, id, tick);
    else
        tbed_span_push_dropped(recorder, id, tick);
}

bool tbed_span_is_known(struct tbed_recorder *recorder)
{
    struct tbed_recorder_kept *kept = tbed_kept_of(recorder);
    return kept->top != kept->floor;
}

/* The block knows the span. */
void tbed_span_end_at(struct tbed_recorder *recorder, uint64_t tick)
{
    struct tbed_recorder_kept *kept = tbed_kept_of(recorder);
    uint32_t id = kept->top[-1].id;
    word_put(recorder, TBED_TAG_END, id, tick);
    kept->top--;
}

void tbed_instant_at(struct tbed_recorder *recorder, uint32_t id, uint64_t tick)
{
    word_put(recorder, TBED_TAG_INSTANT, id, tick);
}

void tbed_span_begin_slow(struct tbed_recorder *recorder, uint32_t id)
{
    recorder = tbed_recorder_entered(recorder);
    if (recorder == NULL)
        return;
    tbed_span_begin_at(recorder, id, tbed_recorder_now(recorder));
    tbed_recorder_leave(recorder);
}

void tbed_span_begin_since(struct tbed_recorder *recorder, uint32_t id, uint64_t tick)
{
    recorder = tbed_recorder_entered(recorder);
    if (recorder == NULL)
        return;
    tbed_span_begin_at(recorder, id, tick);
    tbed_recorder_leave(recorder);
}

void tbed_instant_record_slow(struct tbed_recorder *recorder, uint32_t id)
{
    recorder = tbed_recorder_entered(recorder);
    if (recorder == NULL)
        return;
    tbed_instant_at(recorder, id, tbed_recorder_now(recorder));
    tbed_recorder_leave(recorder);
}

/* ---- Spans and instants with arguments ---- */

void tbed_span_begin_category(struct tbed_recorder *recorder, uint32_t id, uint32_t category,
                              const struct tbed_argument *arguments, size_t argument_count)
{
    struct tbed_extended_event record = {.type = TBED_EXT_BEGIN,
                                         .aux = tbed_category_aux(category),
                                         .id = id,
                                         .arguments = arguments,
                                         .argument_count = argument_count};
    recorder = tbed_recorder_entered(recorder);
    if (recorder == NULL)
        return;
    uint64_t tick = tbed_recorder_now(recorder);
    if (tbed_extended_put(recorder, tick, &record))
        tbed_span_push(recorder, id, tick);
    else
        tbed_span_push_dropped(recorder, id, tick);
    tbed_recorder_leave(recorder);
}

void tbed_span_begin_args(struct tbed_recorder *recorder, uint32_t id, const struct tbed_argument *arguments,
                          size_t argument_count)
{
    tbed_span_begin_category(recorder, id, TBED_ID_INVALID, arguments, argument_count);
}

void tbed_span_end_entered(struct tbed_recorder *recorder, const struct tbed_argument *arguments,
                           size_t argument_count)
{
    struct tbed_open_span span = tbed_span_top(recorder);
    struct tbed_extended_event record = {.type = TBED_EXT_END,
                                         .id = span.id,
                                         .fixed = {span.begin_tick},
                                         .fixed_count = 1,
                                         .arguments = arguments,
                                         .argument_count = argument_count};
    if (!span.dropped)
        tbed_extended_put(recorder, tbed_recorder_now(recorder), &record);
    tbed_span_pop(recorder); /* last, because the span is still open in a block that begins with this end */
}

/* An end that the block cannot match by itself carries its begin tick. */
static void end_innermost(struct tbed_recorder *recorder)
{
    if (tbed_span_is_known(recorder))
        tbed_span_end_at(recorder, tbed_recorder_now(recorder));
    else
        tbed_span_end_entered(recorder, NULL, 0);
}

void tbed_span_end_slow(struct tbed_recorder *recorder)
{
    recorder = tbed_recorder_entered(recorder);
    if (recorder == NULL)
        return;
    end_innermost(recorder);
    tbed_recorder_leave(recorder);
}

void tbed_span_end_to(struct tbed_recorder *recorder, uint32_t depth)
{
    if (tbed_span_depth(recorder) <= depth)
        return;
    recorder = tbed_recorder_entered(recorder);
    if (recorder == NULL)
        return;
    while (tbed_stack_depth(tbed_kept_of(recorder)) > depth)
        end_innermost(recorder);
    tbed_recorder_leave(recorder);
}

void tbed_span_end_args(struct tbed_recorder *recorder, const struct tbed_argument *arguments,
                        size_t argument_count)
{
    recorder = tbed_recorder_entered(recorder);
    if (recorder == NULL)
        return;
    tbed_span_end_entered(recorder, arguments, argument_count);
    tbed_recorder_leave(recorder);
}

void tbed_instant_record_category(struct tbed_recorder *recorder, uint32_t id, uint32_t category,
                                  const struct tbed_argument *arguments, size_t argument_count)
{
    struct tbed_extended_event record = {.type = TBED_EXT_INSTANT,
                                         .aux = tbed_category_aux(category),
                                         .id = id,
                                         .arguments = arguments,
                                         .argument_count = argument_count};
    tbed_extended_record(recorder, &record);
}

void tbed_instant_record_args(struct tbed_recorder *recorder, uint32_t id,
                              const struct tbed_argument *arguments, size_t argument_count)
{
    tbed_instant_record_category(recorder, id, TBED_ID_INVALID, arguments, argument_count);
}
