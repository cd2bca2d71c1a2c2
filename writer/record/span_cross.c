/*
 * Spans that end before others inside them, and spans that another thread ends.
 *
 * Only its owner stores into a stream. A thread that ends another's span leaves a note, which the owner takes when it records
 * such a span next, or ends.
 *
 * Source: spec/format.md, section 6.2, LEAVE.
 *
 * SPDX-License-Identifier: MIT
 */
#include <errno.h>
#include <stdlib.h>
#include <string.h>

#include "writer/file/usable.h"
#include "writer/record/extended.h"
#include "writer/record/recorders.h"
#include "writer/record/spans.h"

static bool is_of(const struct tbed_open_span *span, uint32_t id, uint64_t begin_tick)
{
    return span->begin_tick == begin_tick && span->id == id;
}

/* In a forked child, spans of its parent begin with the child. NULL: there is none. */
static struct tbed_open_span *find(const struct tbed_recorder_kept *kept, uint32_t id, uint64_t begin_tick)
{
    const struct tbed_recorder_cold *cold = kept->cold;
    struct tbed_open_span *span = kept->top;
    while (span-- != kept->stack)
        if (is_of(span, id, begin_tick))
            return span;
    if (begin_tick > cold->inherited_tick)
        return NULL;
    for (uint32_t i = cold->inherited_count; i-- > 0;)
        if (kept->stack + i < kept->top && is_of(kept->stack + i, id, cold->inherited_tick))
            return kept->stack + i;
    return NULL;
}

static void remove_span(struct tbed_recorder_kept *kept, struct tbed_open_span *span)
{
    struct tbed_recorder_cold *cold = kept->cold;
    cold->inherited_count -= (uint32_t)(span - kept->stack) < cold->inherited_count;
    kept->floor -= kept->floor > span;
    memmove(span, span + 1, (size_t)(kept->top - span - 1) * sizeof *span);
    *--kept->top = (struct tbed_open_span){0};
}

/* The recorder has been entered. */
static void leave_span(struct tbed_recorder *recorder, const struct tbed_open_span *span, uint64_t tick,
                       uint64_t end_tick)
{
    struct tbed_recorder_kept *kept = tbed_kept_of(recorder);
    struct tbed_extended_event record = {.type = TBED_EXT_LEAVE,
                                         .aux = (uint32_t)(kept->top - span - 1) + kept->deep_count,
                                         .id = span->id,
                                         .fixed = {span->begin_tick, end_tick},
                                         .fixed_count = 2};
    size_t index = (size_t)(span - kept->stack);
    if (span->dropped)
        tbed_recorder_drop(recorder,
                           (enum tbed_drop_cause)__atomic_load_n(&kept->cold->gap_cause, __ATOMIC_RELAXED));
    else
        tbed_extended_put(recorder, tick, &record);
    remove_span(kept,
                kept->stack + index); /* last, because it is still open in a block that begins with this */
}

static void end_span(struct tbed_recorder *recorder, uint32_t id, uint64_t begin_tick, uint64_t tick,
                     uint64_t end_tick)
{
    const struct tbed_open_span *span = find(tbed_kept_of(recorder), id, begin_tick);
    if (span != NULL)
        leave_span(recorder, span, tick, end_tick);
}

void tbed_span_leave_outer(struct tbed_recorder *recorder, uint32_t inside, uint64_t tick, uint64_t end_tick)
{
    const struct tbed_recorder_kept *kept = tbed_kept_of(recorder);
    if (inside >= kept->deep_count && inside - kept->deep_count < (size_t)(kept->top - kept->stack))
        leave_span(recorder, kept->top - 1 - (inside - kept->deep_count), tick, end_tick);
}

void tbed_span_end_of(struct tbed_recorder *recorder, uint32_t id, uint64_t begin_tick)
{
    recorder = tbed_recorder_entered(recorder);
    if (recorder == NULL)
        return;
    struct tbed_recorder_kept *kept = tbed_kept_of(recorder);
    uint64_t tick = tbed_recorder_now(recorder);
    if (kept->deep_count == 0 && tbed_span_is_known(recorder) && is_of(&kept->top[-1], id, begin_tick))
        tbed_span_end_at(recorder, tick);
    else
        end_span(recorder, id, begin_tick, tick, tick);
    tbed_recorder_leave(recorder);
}

bool tbed_span_end_named(struct tbed_recorder *recorder, uint32_t id)
{
    recorder = tbed_recorder_entered(recorder);
    if (recorder == NULL)
        return false;
    const struct tbed_recorder_kept *kept = tbed_kept_of(recorder);
    uint64_t tick = tbed_recorder_now(recorder);
    const struct tbed_open_span *span = kept->top;
    while (span != kept->stack && span[-1].id != id)
        span--;
    bool is_there = span != kept->stack;
    if (is_there)
        end_span(recorder, id, span[-1].begin_tick, tick, tick);
    tbed_recorder_leave(recorder);
    return is_there;
}

void tbed_span_end_later(struct tbed_recorder *recorder, uint32_t id, uint64_t begin_tick, uint64_t end_tick)
{
    struct tbed_recorder_cold *cold = tbed_cold_of(recorder);
    if (cold == NULL || !cold->is_open)
        return;
    int kept_errno = errno;
    struct tbed_end_note *note = malloc(sizeof *note);
    errno = kept_errno;
    if (note == NULL) {
        tbed_drop(tbed_cold_file(cold), TBED_DROP_NO_MEMORY, 1);
        return;
    }
    *note = (struct tbed_end_note){.id = id, .begin_tick = begin_tick, .end_tick = end_tick};
    note->next = __atomic_load_n(&cold->end_notes, __ATOMIC_RELAXED);
    while (!__atomic_compare_exchange_n(&cold->end_notes, &note->next, note, true, __ATOMIC_RELEASE,
                                        __ATOMIC_RELAXED))
        ;
    __atomic_store_n(&tbed_kept_of(recorder)->has_notes, 1, __ATOMIC_RELEASE);
}

static struct tbed_end_note *take_notes(struct tbed_recorder_cold *cold)
{
    struct tbed_end_note *newest = __atomic_exchange_n(&cold->end_notes, NULL, __ATOMIC_ACQUIRE),
                         *first = NULL;
    while (newest != NULL) {
        struct tbed_end_note *next = newest->next;
        newest->next = first;
        first = newest;
        newest = next;
    }
    return first;
}

void tbed_span_take_notes(struct tbed_recorder *recorder)
{
    struct tbed_recorder_kept *kept = tbed_kept_of(recorder);
    if (kept->cold == NULL || !__atomic_load_n(&kept->has_notes, __ATOMIC_RELAXED))
        return;
    recorder = tbed_recorder_entered(recorder);
    if (recorder == NULL)
        return;
    if (tbed_kept_of(recorder) == kept) { /* else in a handler: the thread takes them later */
        __atomic_store_n(&kept->has_notes, 0, __ATOMIC_SEQ_CST);
        struct tbed_end_note *notes = take_notes(kept->cold);
        for (const struct tbed_end_note *note = notes; note != NULL; note = note->next)
            end_span(recorder, note->id, note->begin_tick, tbed_recorder_now(recorder), note->end_tick);
        tbed_end_notes_free(notes);
    }
    tbed_recorder_leave(recorder);
}
