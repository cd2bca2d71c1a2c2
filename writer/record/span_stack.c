/*
 * The stack of a recorder's open spans: what a block stores of it, and which of them a block knows.
 *
 * Source: spec/format.md, section 4.2.
 *
 * SPDX-License-Identifier: MIT
 */
#include <errno.h>
#include <string.h>

#include "writer/base/memory.h"
#include "writer/record/recorders.h"
#include "writer/record/spans.h"

#define STACK_MAX_COUNT (1u << 20)

void tbed_stack_reset(struct tbed_recorder_kept *kept)
{
    struct tbed_recorder_cold *cold = kept->cold;
    if (cold->stack_nbytes != 0)
        tbed_pages_free(kept->stack, cold->stack_nbytes);
    cold->stack_nbytes = 0;
    cold->inherited_count = 0;
    kept->has_notes = 0;
    tbed_end_notes_free(__atomic_exchange_n(&cold->end_notes, NULL, __ATOMIC_ACQUIRE));
    kept->stack = kept->top = kept->floor = cold->inline_stack;
    memset(cold->inline_stack, 0, sizeof cold->inline_stack);
    kept->limit = kept->stack + TBED_STACK_INLINE_COUNT;
    kept->deep_count = 0;
}

uint32_t tbed_stack_depth(const struct tbed_recorder_kept *kept)
{
    return (uint32_t)(kept->top - kept->stack) + kept->deep_count;
}

void tbed_stack_inherit(struct tbed_recorder_kept *kept, uint64_t tick)
{
    struct tbed_recorder_cold *cold = kept->cold;
    cold->inherited_tick = tick;
    cold->inherited_count = (uint32_t)(kept->top - kept->stack);
    for (uint32_t i = 0; i < cold->inherited_count; i++)
        kept->stack[i].begin_tick = tick;
}

/*
 * A span of our own at the place of an inherited one that has ended is recognized by its begin. If the clock stood
 * still in between, it passes for inherited, which changes no time.
 */
static bool is_inherited(const struct tbed_recorder_kept *kept, uint32_t index)
{
    const struct tbed_recorder_cold *cold = kept->cold;
    return index < cold->inherited_count && kept->stack[index].begin_tick == cold->inherited_tick;
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
            entry.flags = tbed_le32_make(is_inherited(kept, index) ? TBED_OPEN_SPAN_INHERITED : 0);
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
    if (capacity > STACK_MAX_COUNT)
        return false;
    size_t nbytes = capacity * sizeof(struct tbed_open_span);
    int kept_errno = errno;
    struct tbed_open_span *stack = tbed_pages_alloc(nbytes);
    errno = kept_errno;
    if (stack == NULL) {
        tbed_recorder_drop(cold->recorder, TBED_DROP_NO_MEMORY);
        return false;
    }
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

/*
 * A span deeper than the limit is only counted: its end then has neither id nor begin tick. So is one for which there is no
 * memory, and that is a drop.
 */
static void push(struct tbed_recorder_kept *kept, uint32_t id, uint64_t tick, bool dropped)
{
    if (kept->deep_count == 0 && (kept->top < kept->limit || stack_grow(kept)))
        *kept->top++ = (struct tbed_open_span){.begin_tick = tick, .id = id, .dropped = dropped};
    else
        kept->deep_count++;
}

/* The begin was dropped, so the end must not close another span: 'floor' sends it to the slow path. */
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
        *--kept->top =
            (struct tbed_open_span){0}; /* the fast path sets only the begin and the id of the next one */
    if (kept->floor > kept->top)
        kept->floor = kept->top;
    if (was_dropped) /* its begin is in no block */
        tbed_recorder_drop(recorder,
                           (enum tbed_drop_cause)__atomic_load_n(&kept->cold->gap_cause, __ATOMIC_RELAXED));
}
