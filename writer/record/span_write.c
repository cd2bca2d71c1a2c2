/*
 * Spans and instants off the fast path, and the stack of the spans that are open: what a block stores of it, what of it a
 * block knows.
 *
 * Not here: spans with arguments (event_write.c).
 * Source: spec/format.md, sections 4.2 and 6.
 *
 * SPDX-License-Identifier: MIT
 */
#include <errno.h>

#include "writer/file/private.h"

/* ---- The stack ---- */

void tbed_stack_reset(struct tbed_recorder_kept *kept)
{
    struct tbed_recorder_cold *cold = kept->cold;
    if (cold->stack_nbytes != 0)
        tbed_pages_free(kept->stack, cold->stack_nbytes);
    cold->stack_nbytes = 0;
    kept->stack = kept->top = kept->floor = cold->inline_stack;
    kept->limit = kept->stack + TBED_STACK_INLINE_COUNT;
    kept->deep_count = 0;
}

uint32_t tbed_stack_depth(const struct tbed_recorder_kept *kept)
{
    return (uint32_t)(kept->top - kept->stack) + kept->deep_count;
}

uint8_t *tbed_stack_store(struct tbed_recorder_kept *kept, uint8_t *at, uint32_t stored)
{
    uint32_t first = tbed_stack_depth(kept) - stored, known = (uint32_t)(kept->top - kept->stack);
    kept->floor = kept->deep_count == 0 ? kept->stack + first : kept->top;
    for (uint32_t i = 0; i < stored; i++) {
        uint32_t index = first + i;
        struct tbed_disk_open_span entry = {.id = tbed_le32_make(TBED_ID_INVALID)};
        if (index < known) {
            kept->stack[index].dropped = 0;
            entry.begin_tick = tbed_le64_make(kept->stack[index].begin_tick);
            entry.id = tbed_le32_make(kept->stack[index].id & TBED_ID_MAX);
        }
        memcpy(at, &entry, sizeof entry);
        at += sizeof entry;
    }
    return at;
}

static bool stack_grow(struct tbed_recorder_kept *kept)
{
    struct tbed_recorder_cold *cold = kept->cold;
    size_t old_capacity = (size_t)(kept->limit - kept->stack);
    size_t capacity = old_capacity < 256 ? 256 : old_capacity * 4;
    if (capacity > TBED_STACK_MAX_COUNT)
        return false;
    size_t nbytes = capacity * sizeof(struct tbed_open_span);
    int kept_errno = errno;
    struct tbed_open_span *stack = tbed_pages_alloc(nbytes);
    errno = kept_errno;
    if (stack == NULL)
        return false;
    memcpy(stack, kept->stack, old_capacity * sizeof *stack);
    kept->top = stack + (kept->top - kept->stack);
    kept->floor = stack + (kept->floor - kept->stack);
    if (cold->stack_nbytes != 0)
        tbed_pages_free(kept->stack, cold->stack_nbytes);
    cold->stack_nbytes = nbytes;
    kept->stack = stack;
    kept->limit = stack + capacity;
    return true;
}

/* Deeper than can be remembered, the span is counted only: its end then has neither id nor begin tick. */
static void push(struct tbed_recorder_kept *kept, uint32_t id, uint64_t tick, bool dropped)
{
    if (kept->deep_count == 0 && (kept->top < kept->limit || stack_grow(kept)))
        *kept->top++ = (struct tbed_open_span){.begin_tick = tick, .id = id, .dropped = dropped};
    else
        kept->deep_count++;
}

/* The begin was dropped, so the end must not close somebody else's span: 'floor' sends it to the slow path. */
void tbed_span_push_dropped(struct tbed_recorder *recorder, uint32_t id, uint64_t tick)
{
    struct tbed_recorder_kept *kept = tbed_kept_of(recorder);
    push(kept, id, tick, true);
    kept->floor = kept->top;
}

void tbed_span_push(struct tbed_recorder *recorder, uint32_t id, uint64_t tick)
{
    struct tbed_recorder_kept *kept = tbed_kept_of(recorder);
    push(kept, id, tick, false);
    if (kept->deep_count != 0)
        kept->floor = kept->top;
}

struct tbed_open_span tbed_span_top(struct tbed_recorder *recorder)
{
    struct tbed_recorder_kept *kept = tbed_kept_of(recorder);
    bool is_known = kept->deep_count == 0 && kept->top != kept->stack;
    return is_known ? kept->top[-1] : (struct tbed_open_span){.id = TBED_ID_INVALID};
}

void tbed_span_pop(struct tbed_recorder *recorder)
{
    struct tbed_recorder_kept *kept = tbed_kept_of(recorder);
    bool was_dropped = tbed_span_top(recorder).dropped;
    if (kept->deep_count != 0)
        kept->deep_count--;
    else if (kept->top != kept->stack)
        kept->top--;
    if (kept->floor > kept->top)
        kept->floor = kept->top;
    if (was_dropped) /* its begin is in no block */
        tbed_recorder_drop(recorder,
                           (enum tbed_drop_cause)__atomic_load_n(&kept->cold->gap_cause, __ATOMIC_RELAXED));
}

/* ---- Words ---- */

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
    if (!tbed_recorder_enter(recorder))
        return;
    tbed_span_begin_at(recorder, id, tbed_recorder_now(recorder));
    tbed_recorder_leave(recorder);
}

void tbed_instant_record_slow(struct tbed_recorder *recorder, uint32_t id)
{
    if (!tbed_recorder_enter(recorder))
        return;
    tbed_instant_at(recorder, id, tbed_recorder_now(recorder));
    tbed_recorder_leave(recorder);
}

/* An end that the block cannot match by itself carries its begin tick. */
void tbed_span_end_slow(struct tbed_recorder *recorder)
{
    if (!tbed_recorder_enter(recorder))
        return;
    if (tbed_span_is_known(recorder))
        tbed_span_end_at(recorder, tbed_recorder_now(recorder));
    else
        tbed_span_end_entered(recorder, NULL, 0);
    tbed_recorder_leave(recorder);
}
