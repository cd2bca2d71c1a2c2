/*
 * Checks a plan once, and finds functions in it.
 *
 * SPDX-License-Identifier: MIT
 */
#include "writer/capture/launch/launch_plan.h"

_Static_assert(sizeof(struct launch_plan_function) == 32, "a function has no padding");
_Static_assert(sizeof(struct launch_plan) == 16, "neither has the header");

bool launch_plan_check(const struct launch_plan *plan, size_t nbytes)
{
    if (nbytes < sizeof *plan || plan->magic != LAUNCH_PLAN_MAGIC)
        return false;
    size_t left = nbytes - sizeof *plan;
    if (plan->function_count > left / sizeof plan->functions[0])
        return false;
    left -= plan->function_count * sizeof plan->functions[0];
    if (plan->more_nbytes != left)
        return false;
    for (size_t i = 1; i < plan->function_count; i++)
        if (plan->functions[i - 1].start >= plan->functions[i].start)
            return false;
    return true;
}

const struct launch_plan_function *launch_plan_find(const struct launch_plan *plan, uint64_t pc)
{
    size_t low = 0, high = plan->function_count; /* the first one past 'pc' is in [low, high] */
    while (low < high) {
        size_t middle = low + (high - low) / 2;
        if (plan->functions[middle].start <= pc)
            low = middle + 1;
        else
            high = middle;
    }
    if (low == 0 || pc - plan->functions[low - 1].start >= plan->functions[low - 1].nbytes)
        return NULL;
    return &plan->functions[low - 1];
}
