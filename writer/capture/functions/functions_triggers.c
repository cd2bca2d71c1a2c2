/*
 * Triggers: calls that change what is recorded, until they end or until another one changes it.
 *
 * What holds for the time of a call is restored when its frame is gone, however that happened: each change remembers the
 * number of its frame, and is taken back before the next decision at which there are no more frames than that.
 *
 * Not here: calls of signal handlers that interrupt a hook, which change nothing.
 *
 * SPDX-License-Identifier: MIT
 */
#define _GNU_SOURCE 1
#if defined(__clang__)
#pragma clang attribute push(__attribute__((target("general-regs-only"))), apply_to = function)
#else
#pragma GCC target("general-regs-only")
#endif
#include "writer/capture/functions/functions.h"

#define SWITCHES (LAUNCH_PLAN_TRACE_ON | LAUNCH_PLAN_TRACE_OFF)

static bool is_off; /* atomic; of the process */

void functions_triggers_begin(void)
{
    is_off = functions_default_flags & LAUNCH_PLAN_TRACE_OFF;
}

void functions_scopes_leave(struct functions_thread *frames)
{
    while (frames->scope_count > 0 && frames->scopes[frames->scope_count - 1].frame >= frames->depth)
        frames->scope = frames->scopes[--frames->scope_count].before;
}

/* A function that calls itself changes nothing more, and so do more functions inside one another than there is room for. */
static bool is_entered(const struct functions_thread *frames, const struct launch_plan_function *planned)
{
    for (uint32_t i = 0; i < frames->scope_count; i++)
        if (frames->scopes[i].planned == planned)
            return true;
    return frames->scope_count == FUNCTIONS_SCOPE_COUNT;
}

static void scope_enter(struct functions_thread *frames, const struct launch_plan_function *planned,
                        uint32_t depth)
{
    if (is_entered(frames, planned))
        return;
    frames->scopes[frames->scope_count].frame = frames->depth;
    frames->scopes[frames->scope_count].planned = planned;
    frames->scopes[frames->scope_count].before = frames->scope;
    frames->scope_count++;
    if (planned->flags & LAUNCH_PLAN_DEPTH)
        frames->scope.depth_max = planned->depth < UINT32_MAX - depth ? depth + planned->depth : UINT32_MAX;
    if (planned->flags & LAUNCH_PLAN_MINIMUM)
        frames->scope.minimum_ticks = functions_ticks_of(planned->minimum_ns);
    if (planned->flags & LAUNCH_PLAN_FILTER)
        frames->scope.is_inside = true;
    if (planned->flags & LAUNCH_PLAN_NOTRACE)
        frames->scope.is_silent = true;
}

void functions_trigger(struct functions_thread *frames, const struct launch_plan_function *planned,
                       uint32_t depth)
{
    if (planned->flags & SWITCHES)
        __atomic_store_n(&is_off, (planned->flags & LAUNCH_PLAN_TRACE_OFF) != 0, __ATOMIC_RELAXED);
    if (planned->flags & LAUNCH_PLAN_TRIGGERS & ~(uint32_t)SWITCHES)
        scope_enter(frames, planned, depth);
}

bool functions_triggers_allow(const struct functions_thread *frames)
{
    bool needs_inside = functions_default_flags & LAUNCH_PLAN_FILTER;
    return !__atomic_load_n(&is_off, __ATOMIC_RELAXED) && !frames->scope.is_silent &&
           (frames->scope.is_inside || !needs_inside);
}
#if defined(__clang__)
#pragma clang attribute pop
#endif
