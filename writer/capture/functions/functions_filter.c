/*
 * Which functions are recorded: by the plan of their module, and how deep.
 *
 * A verdict is remembered by address, in a table shared by all threads. Deciding by it leaves the vector registers alone,
 * which the quick path for patched places requires.
 *
 * SPDX-License-Identifier: MIT
 */
#define _GNU_SOURCE 1
#if defined(__clang__)
#pragma clang attribute push(__attribute__((target("general-regs-only"))), apply_to = function)
#else
#pragma GCC target("general-regs-only")
#endif
#include <errno.h>
#include <stdint.h>
#include <stdlib.h>

#include "writer/base/sandbox_state.h"
#include "writer/capture/functions/functions.h"

bool functions_is_selective;
bool functions_is_limited;

static bool has_plans;
static uint32_t depth_max = UINT32_MAX;

/* Runs before all other constructors, so that their functions are recorded too. */
__attribute__((constructor(101))) static void start(void)
{
    const char *depth = getenv(FUNCTIONS_ENV_DEPTH);
    has_plans = functions_plans_begin();
    if (depth != NULL)
        depth_max = (uint32_t)strtoul(depth, NULL, 10);
    functions_is_limited = depth != NULL || getenv(FUNCTIONS_ENV_MINIMUM) != NULL ||
                           functions_default_flags & LAUNCH_PLAN_HAS_TRIGGERS;
    functions_is_selective = has_plans || functions_is_limited;
    functions_triggers_begin();
}

/* ---- Verdicts ---- */

#define VERDICT_RECORDED ((uint64_t)1)
#define VERDICT_TRIGGERS ((uint64_t)2)
#define VERDICT_ITSELF   (VERDICT_RECORDED | VERDICT_TRIGGERS)

uint64_t functions_verdicts[FUNCTIONS_VERDICT_COUNT];

const struct launch_plan_function *functions_planned(uintptr_t function, const struct launch_plan **plan_ret)
{
    struct preload_module module;
    const struct launch_plan *plan =
        preload_module_find(function, &module) ? functions_plan_of(&module) : NULL;
    *plan_ret = plan;
    return plan != NULL ? launch_plan_find(plan, function - module.start + module.base) : NULL;
}

static uint32_t flags_of(uintptr_t function)
{
    const struct launch_plan *plan;
    const struct launch_plan_function *planned = has_plans ? functions_planned(function, &plan) : NULL;
    return planned != NULL ? planned->flags : functions_default_flags & LAUNCH_PLAN_RECORDED;
}

bool functions_is_chosen(uintptr_t function)
{
    return flags_of(function) & (LAUNCH_PLAN_RECORDED | LAUNCH_PLAN_TRIGGERS);
}

static uint64_t verdict_of(uint32_t flags)
{
    return (flags & LAUNCH_PLAN_RECORDED ? VERDICT_RECORDED : 0) |
           (flags & LAUNCH_PLAN_TRIGGERS ? VERDICT_TRIGGERS : 0);
}

static uint64_t verdict_find(struct preload_thread *thread, uintptr_t function)
{
    struct functions_signals signals;
    int saved_errno = errno;
    if (tbed_is_sandboxed()) /* nothing can be requested */
        return verdict_of(functions_default_flags & LAUNCH_PLAN_RECORDED);
    functions_signals_block(&signals);
    preload_location_at(thread, function); /* makes the module known */
    uint32_t flags = flags_of(function);
    functions_signals_restore(&signals);
    errno = saved_errno;
    return verdict_of(flags);
}

static uint64_t verdict_at(struct preload_thread *thread, uintptr_t function)
{
    uint64_t key = functions_verdict_key(function), *slot = functions_verdict_slot(function);
    uint64_t verdict = __atomic_load_n(slot, __ATOMIC_RELAXED);
    if ((verdict & ~VERDICT_ITSELF) != key) {
        verdict = verdict_find(thread, function);
        __atomic_store_n(slot, functions_verdict_key(function) | verdict, __ATOMIC_RELAXED);
    }
    return verdict & VERDICT_ITSELF;
}

bool functions_is_wanted(struct preload_thread *thread, uintptr_t function, uint32_t depth)
{
    return depth < depth_max && (!has_plans || verdict_at(thread, function) & VERDICT_RECORDED);
}

/* ---- Calls of a thread ---- */

static void scope_begin(struct functions_thread *frames)
{
    frames->scope = (struct functions_scope){.is_known = true, .depth_max = depth_max};
    if (functions_minimum_ns != 0)
        frames->scope.minimum_ticks = functions_ticks_of(functions_minimum_ns);
}

/* Counts spans, also those whose begins wait. */
static uint32_t depth_of(const struct preload_thread *thread, struct functions_thread *frames)
{
    return functions_open_count(thread->recorder) + functions_pending_count(frames);
}

static void pull_trigger(const struct preload_thread *thread, struct functions_thread *frames,
                         uintptr_t function)
{
    const struct launch_plan *plan;
    struct functions_signals signals;
    if (tbed_is_sandboxed())
        return;
    functions_signals_block(&signals);
    const struct launch_plan_function *planned = functions_planned(function, &plan);
    if (planned != NULL)
        functions_trigger(frames, planned, depth_of(thread, frames));
    functions_signals_restore(&signals);
}

static bool is_allowed(const struct preload_thread *thread, struct functions_thread *frames, uint64_t verdict)
{
    if (!(verdict & VERDICT_RECORDED) || !functions_triggers_allow(frames))
        return false;
    return frames->scope.depth_max == UINT32_MAX || depth_of(thread, frames) < frames->scope.depth_max;
}

bool functions_choose(struct preload_thread *thread, struct functions_thread *frames, uintptr_t function)
{
    uint64_t verdict = has_plans ? verdict_at(thread, function) : VERDICT_RECORDED;
    if (!functions_is_limited)
        return verdict & VERDICT_RECORDED;
    if (!frames->scope.is_known)
        scope_begin(frames);
    functions_scopes_leave(frames);
    if (verdict & VERDICT_TRIGGERS)
        pull_trigger(thread, frames, function);
    return is_allowed(thread, frames, verdict);
}

enum functions_choice functions_choose_quickly(const struct preload_thread *thread,
                                               struct functions_thread *frames, uintptr_t function)
{
    uint64_t verdict = VERDICT_RECORDED;
    if (has_plans) {
        verdict = __atomic_load_n(functions_verdict_slot(function), __ATOMIC_RELAXED);
        if ((verdict & ~VERDICT_ITSELF) != functions_verdict_key(function))
            return FUNCTIONS_UNDECIDED;
    }
    if (verdict & VERDICT_TRIGGERS || !frames->scope.is_known)
        return FUNCTIONS_UNDECIDED;
    functions_scopes_leave(frames);
    return is_allowed(thread, frames, verdict) ? FUNCTIONS_CHOSEN : FUNCTIONS_SKIPPED;
}
#if defined(__clang__)
#pragma clang attribute pop
#endif
