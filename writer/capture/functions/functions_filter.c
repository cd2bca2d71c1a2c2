/*
 * Which functions are recorded: by the plan of their module, and how deep.
 *
 * A verdict is remembered by address, in a table shared by all threads.
 *
 * SPDX-License-Identifier: MIT
 */
#define _GNU_SOURCE 1
#include <errno.h>
#include <stdint.h>
#include <stdlib.h>

#include "writer/base/sandbox_state.h"
#include "writer/capture/functions/functions.h"

bool functions_is_selective;

static bool has_plans;
static uint32_t depth_max = UINT32_MAX;

/* Runs before all other constructors, so that their functions are recorded too. */
__attribute__((constructor(101))) static void start(void)
{
    const char *depth = getenv(FUNCTIONS_ENV_DEPTH);
    has_plans = functions_plans_begin();
    if (depth != NULL)
        depth_max = (uint32_t)strtoul(depth, NULL, 10);
    functions_is_selective = has_plans || depth != NULL || getenv(FUNCTIONS_ENV_MINIMUM) != NULL;
}

/* ---- Verdicts ---- */

/* Version of the modules (15 bits), address (48 bits), verdict. */
#define VERDICT_COUNT 4096
static uint64_t verdicts[VERDICT_COUNT];

static uint64_t verdict_key(uintptr_t function)
{
    uint64_t version = __atomic_load_n(&preload_modules_version, __ATOMIC_ACQUIRE);
    return version << 49 | ((uint64_t)function << 16 >> 15);
}

const struct launch_plan_function *functions_planned(uintptr_t function, const struct launch_plan **plan_ret)
{
    struct preload_module module;
    const struct launch_plan *plan =
        preload_module_find(function, &module) ? functions_plan_of(&module) : NULL;
    *plan_ret = plan;
    return plan != NULL ? launch_plan_find(plan, function - module.start + module.base) : NULL;
}

bool functions_is_chosen(uintptr_t function)
{
    const struct launch_plan *plan;
    const struct launch_plan_function *planned = has_plans ? functions_planned(function, &plan) : NULL;
    return (planned != NULL ? planned->flags : functions_default_flags) & LAUNCH_PLAN_RECORDED;
}

static bool verdict_find(struct preload_thread *thread, uintptr_t function)
{
    struct functions_signals signals;
    int saved_errno = errno;
    if (tbed_is_sandboxed()) /* nothing can be requested */
        return functions_default_flags & LAUNCH_PLAN_RECORDED;
    functions_signals_block(&signals);
    preload_location_at(thread, function); /* makes the module known */
    bool is_chosen = functions_is_chosen(function);
    functions_signals_restore(&signals);
    errno = saved_errno;
    return is_chosen;
}

/* The depth counts spans, also those whose begins wait. */
bool functions_choose(struct preload_thread *thread, struct functions_thread *frames, uintptr_t function)
{
    uint32_t depth = 0;
    if (TBED_UNLIKELY(frames->minimum_ticks == 0 && functions_minimum_ns != 0))
        frames->minimum_ticks = functions_ticks_of(functions_minimum_ns);
    if (depth_max != UINT32_MAX)
        depth = functions_open_count(thread->recorder) + functions_pending_count(frames);
    return functions_is_wanted(thread, function, depth);
}

bool functions_is_wanted(struct preload_thread *thread, uintptr_t function, uint32_t depth)
{
    if (depth >= depth_max)
        return false;
    if (!has_plans)
        return true;
    uint64_t key = verdict_key(function);
    uint64_t *slot = &verdicts[(function ^ function >> 12) % VERDICT_COUNT];
    uint64_t verdict = __atomic_load_n(slot, __ATOMIC_RELAXED);
    if ((verdict & ~(uint64_t)1) != key) {
        verdict = key | verdict_find(thread, function);
        __atomic_store_n(slot, verdict_key(function) | (verdict & 1), __ATOMIC_RELAXED);
    }
    return verdict & 1;
}
