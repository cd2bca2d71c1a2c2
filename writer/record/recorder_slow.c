/*
 * Recorders off the fast path: other clocks, and drops.
 *
 * SPDX-License-Identifier: MIT
 */
#include "writer/file/usable.h"
#include "writer/record/recorders.h"

uint64_t tbed_clock_slow(const struct tbed_recorder *recorder)
{
    const struct tbed_recorder_kept *kept = tbed_kept_of((struct tbed_recorder *)(uintptr_t)recorder);
    if (kept->cold == NULL || kept->takes_given)
        return __atomic_load_n(&kept->given_tick, __ATOMIC_RELAXED);
    return tbed_clock_now(&tbed_cold_file(kept->cold)->clock);
}

static void drop(struct tbed_recorder_cold *cold, enum tbed_drop_cause cause)
{
    __atomic_fetch_add(&cold->gap_count, 1, __ATOMIC_RELAXED);
    __atomic_store_n(&cold->gap_cause, (uint32_t)cause, __ATOMIC_RELAXED);
    tbed_drop(tbed_cold_file(cold), cause, 1);
}

void tbed_recorder_drop(struct tbed_recorder *recorder, enum tbed_drop_cause cause)
{
    drop(tbed_cold_of(recorder), cause);
}

void tbed_recorder_drop_busy(struct tbed_recorder *recorder)
{
    struct tbed_recorder_cold *cold = tbed_cold_of(recorder);
    if (cold != NULL)
        drop(cold, recorder->mark == TBED_MARK_STOPPED ? TBED_DROP_CLOSED : TBED_DROP_INTERRUPTED);
}
