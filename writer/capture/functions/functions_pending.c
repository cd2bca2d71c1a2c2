/*
 * Calls that may turn out too short to be recorded (--minimum-duration): their begins are stored once they have lasted
 * long enough.
 *
 * Until then a begin waits in its frame, with its tick. It is stored when the call ends after at least the minimum, when
 * the thread forks, or at the next entry at which it is that old, so that a killed program leaves its long calls open in the trace. Callers
 * are stored before what they call. A call that is stored contains nothing that was stored before, and its callers are
 * stored by then, so the ticks of a stream do not decrease.
 *
 * Calls that are left out are counted in memory shared with 'tracebed record', which prints their number: each thread has
 * a counter of its own there, which is exact also if the process is killed.
 *
 * Not here: calls of signal handlers that interrupt a hook, which are recorded however short they are.
 *
 * SPDX-License-Identifier: MIT
 */
#define _GNU_SOURCE 1
#if defined(__clang__)
#pragma clang attribute push(__attribute__((target("general-regs-only"))), apply_to = function)
#else
#pragma GCC target("general-regs-only")
#endif
#include <pthread.h>
#include <stdlib.h>
#include <string.h>

#include "writer/base/clock.h"
#include "writer/base/sandbox_state.h"
#include "writer/capture/functions/functions.h"
#include "writer/capture/launch/launch.h"
#include "writer/file/state.h"
#include "writer/record/spans.h"

uint64_t functions_minimum_ns;
static bool has_minimum; /* of all calls, or by a trigger */

/* ---- Time ---- */

uint64_t functions_ticks_of(uint64_t ns)
{
    static uint64_t rate; /* atomic; ticks per second */
    uint64_t known = __atomic_load_n(&rate, __ATOMIC_RELAXED);
    if (known == 0) {
        const struct tbed_file *file = tbed_file_of(preload_writer);
        struct tbed_header_fields fields = file->fields;
        if (fields.ticks_per_second == 0)
            tbed_clock_rate(&file->clock, &fields);
        known = fields.ticks_per_second != 0 ? fields.ticks_per_second : 1000000000;
        __atomic_store_n(&rate, known, __ATOMIC_RELAXED);
    }
    return (uint64_t)((unsigned __int128)ns * known / 1000000000);
}

/* ---- Counting what is left out ---- */

/* A counter for this thread alone; NULL: there are none left. */
static uint64_t *counter_take(struct launch_notes *notes)
{
    const uint32_t most = LAUNCH_LEFT_OUT_MAX - 1;
    if (__atomic_load_n(&notes->left_out_next, __ATOMIC_RELAXED) >= most)
        return NULL;
    uint32_t next = __atomic_fetch_add(&notes->left_out_next, 1, __ATOMIC_RELAXED);
    return next < most ? &notes->left_out[1 + next].count : NULL;
}

static void count_left_out(struct functions_thread *frames)
{
    struct launch_notes *notes = frames->left_out == NULL ? launch_notes_find() : NULL;
    if (TBED_UNLIKELY(notes != NULL))
        frames->left_out = counter_take(notes);
    if (frames->left_out != NULL)
        __atomic_store_n(frames->left_out, *frames->left_out + 1, __ATOMIC_RELAXED);
    else if (notes != NULL)
        __atomic_fetch_add(&notes->left_out[0].count, 1, __ATOMIC_RELAXED);
}

/* ---- Frames ---- */

void functions_pending_push(struct functions_thread *frames, struct functions_frame frame)
{
    frame.stack |= FUNCTIONS_PENDING;
    frames->frames[frames->depth] = frame;
    if (frames->pending_first > frames->depth)
        frames->pending_first = frames->depth;
    frames->depth++;
}

/* Skips frames whose begins do not wait. */
static bool has_pending(struct functions_thread *frames)
{
    while (frames->pending_first < frames->depth &&
           !(frames->frames[frames->pending_first].stack & FUNCTIONS_PENDING))
        frames->pending_first++;
    return frames->pending_first < frames->depth;
}

bool functions_pending_is_old(struct functions_thread *frames, uint64_t tick)
{
    return has_pending(frames) &&
           tick - frames->frames[frames->pending_first].tick >= frames->scope.minimum_ticks;
}

uint32_t functions_pending_count(struct functions_thread *frames)
{
    uint32_t count = 0;
    if (has_pending(frames))
        for (uint32_t i = frames->pending_first; i < frames->depth; i++)
            count += (frames->frames[i].stack & FUNCTIONS_PENDING) != 0;
    return count;
}

/* Stores the begins that wait in the first 'end' frames, up to the first one after 'tick_max'. */
static void store(struct functions_thread *frames, struct tbed_recorder *recorder, uint32_t end,
                  uint64_t tick_max)
{
    if (!has_pending(frames))
        return;
    struct tbed_recorder *entered = tbed_recorder_entered(recorder);
    for (; entered != NULL && frames->pending_first < end; frames->pending_first++) {
        struct functions_frame *frame = &frames->frames[frames->pending_first];
        if (!(frame->stack & FUNCTIONS_PENDING))
            continue;
        if (frame->tick > tick_max)
            break;
        tbed_span_begin_at(entered, (uint32_t)frame->location, frame->tick);
        frame->stack &= ~FUNCTIONS_PENDING;
    }
    if (entered != NULL)
        tbed_recorder_leave(entered);
}

void functions_pending_store(struct functions_thread *frames, struct tbed_recorder *recorder, uint32_t end)
{
    store(frames, recorder, end, UINT64_MAX);
}

void functions_pending_store_old(struct functions_thread *frames, struct tbed_recorder *recorder,
                                 uint64_t tick)
{
    if (tick >= frames->scope.minimum_ticks)
        store(frames, recorder, frames->depth, tick - frames->scope.minimum_ticks);
}

bool functions_pending_is_short(struct functions_thread *frames, uint64_t tick)
{
    if (tick - frames->frames[frames->depth - 1].tick >= frames->scope.minimum_ticks)
        return false;
    count_left_out(frames);
    return true;
}

/* ---- Outside of hooks ---- */

/* Stores what has waited for 'minimum' in this thread, outside of a hook. */
static void store_now(uint64_t minimum)
{
    struct preload_thread *thread = &preload_thread;
    struct functions_signals signals;
    if (thread->guard != PRELOAD_FREE || thread->recorder == NULL || tbed_is_sandboxed())
        return;
    functions_signals_block(&signals);
    preload_guard_set(thread, PRELOAD_RECORDING);
    store(&functions_thread, thread->recorder, functions_thread.depth,
          tbed_recorder_now(thread->recorder) - minimum);
    preload_guard_set(thread, PRELOAD_FREE);
    functions_signals_restore(&signals);
}

/* What waits at a fork is stored, so that in the child it is a span that its parent began. */
static void fork_begin(void)
{
    store_now(0);
}

/* The counter is the parent's. */
static void child_begin(void)
{
    functions_thread.left_out = NULL;
}

__attribute__((constructor(101))) static void start(void)
{
    const char *text = getenv(FUNCTIONS_ENV_MINIMUM);
    const char *plans = getenv(LAUNCH_ENV_PLANS), *flags = plans != NULL ? strchr(plans, ',') : NULL;
    functions_minimum_ns = text != NULL ? strtoull(text, NULL, 10) : 0;
    has_minimum = functions_minimum_ns != 0 ||
                  (flags != NULL && strtoul(flags + 1, NULL, 10) & LAUNCH_PLAN_HAS_TRIGGERS);
    if (!has_minimum)
        return;
    pthread_atfork(fork_begin, NULL, child_begin);
    if (launch_notes_remember())
        launch_notes_find(); /* now, since a sandbox may not allow it later */
}

/* The calls inside which exit() was called do not return. */
__attribute__((destructor)) static void end(void)
{
    if (has_minimum)
        store_now(functions_thread.scope.minimum_ticks);
}
#if defined(__clang__)
#pragma clang attribute pop
#endif
