/*
 * Stopping all recorders of a process, for good or for a rotation, or moving them to new blocks for a sync, while their
 * threads go on. writer/tests/models has models of a close and of a rotation.
 *
 * SPDX-License-Identifier: MIT
 */
#include <sched.h>

#include "writer/base/kernel.h"
#include "writer/file/usable.h"
#include "writer/record/recorders.h"

#define STOP_WAIT_NS 1000000000u

/* Takes the kernel about 10 ms in a process with several threads, and no time in one with a single thread. */
bool tbed_barrier_register(void)
{
    static bool is_registered;
    if (!__atomic_load_n(&is_registered, __ATOMIC_RELAXED) && tbed_barrier(TBED_BARRIER_REGISTER) != 0)
        return false;
    __atomic_store_n(&is_registered, true, __ATOMIC_RELAXED);
    return true;
}

/*
 * The owner marks itself busy and then loads 'end', with plain instructions; we clear 'end' and then look at the mark.
 * The barrier in between ensures that one of the two sees the other.
 */
static bool barrier_for_all_threads(void)
{
    return tbed_barrier_register() && tbed_barrier(TBED_BARRIER_RUN) == 0;
}

/*
 * Waits until the owner is between two records, or has noticed the close inside one: from then on it stores nothing.
 * The hot half and the stack stay the owner's, since it may still call.
 */
static bool recorder_stop(struct tbed_recorder *recorder)
{
    uint64_t deadline = tbed_monotonic_ns() + STOP_WAIT_NS;
    while (__atomic_load_n(&recorder->mark, __ATOMIC_ACQUIRE) == TBED_MARK_BUSY &&
           !__atomic_load_n(&recorder->saw_close, __ATOMIC_ACQUIRE)) {
        if (tbed_monotonic_ns() > deadline)
            return false;
        sched_yield();
    }
    return true;
}

static bool clear_end(struct tbed_recorder *recorder)
{
    __atomic_store_n(&recorder->end, NULL, __ATOMIC_SEQ_CST);
    return true;
}

static bool stop_and_finish(struct tbed_recorder *recorder)
{
    struct tbed_recorders *recorders = tbed_cold_of(recorder)->recorders;
    if (!recorder_stop(recorder)) {
        recorders->has_lost = true;
        return true;
    }
    tbed_lock_take(&recorders->store.file.live->state_lock);
    tbed_recorder_finish(recorder);
    tbed_lock_give(&recorders->store.file.live->state_lock);
    return true;
}

void tbed_recorders_interrupt(struct tbed_recorders *recorders)
{
    tbed_recorders_each(recorders, clear_end);
}

void tbed_recorders_stop(struct tbed_recorders *recorders)
{
    size_t count = tbed_recorders_each(recorders, clear_end);
    /*
     * The only recorder may belong to another thread. Without a barrier, a single recorder is assumed to be the
     * caller's, as in the usual small program.
     */
    if (count > 0 && !barrier_for_all_threads() && count > 1) {
        recorders->has_lost = true;
        return;
    }
    tbed_recorders_each(recorders, stop_and_finish);
}

/* ---- Rotations ---- */

bool tbed_recorders_pause(struct tbed_recorders *recorders)
{
    if (!tbed_state_lock(&recorders->store.file))
        return false;
    tbed_recorders_each(recorders, clear_end);
    tbed_state_unlock(&recorders->store.file);
    return barrier_for_all_threads();
}

/* A recorder that waits for the rotation is busy, but stays off the pages. */
static bool is_storing(struct tbed_recorder *recorder)
{
    return __atomic_load_n(&recorder->mark, __ATOMIC_ACQUIRE) == TBED_MARK_BUSY &&
           !__atomic_load_n(&recorder->saw_close, __ATOMIC_SEQ_CST);
}

bool tbed_recorders_are_busy(struct tbed_recorders *recorders)
{
    return tbed_recorders_each(recorders, is_storing) != 0;
}

static bool hand_over(struct tbed_recorder *recorder)
{
    struct tbed_recorder_cold *cold = tbed_cold_of(recorder);
    if (tbed_cold_is_ours(cold)) {
        tbed_block_hand_over(recorder, cold);
        cold->next_sequence = 0;
    }
    return true;
}

void tbed_recorders_hand_over(struct tbed_recorders *recorders)
{
    tbed_recorders_each(recorders, hand_over);
}

/* ---- Syncs ---- */

/* As in tbed_recorder_refill(): the flag is raised before 'end' is cleared. */
static bool leave_block(struct tbed_recorder *recorder)
{
    bool has_left = __atomic_exchange_n(&tbed_cold_of(recorder)->must_leave, true, __ATOMIC_SEQ_CST);
    clear_end(recorder);
    return !has_left;
}

size_t tbed_recorders_leave_blocks(struct tbed_recorders *recorders)
{
    return tbed_recorders_each(recorders, leave_block);
}

bool tbed_recorders_notify(void)
{
    return barrier_for_all_threads();
}

static bool is_in_old_block(struct tbed_recorder *recorder)
{
    return __atomic_load_n(&tbed_cold_of(recorder)->must_leave, __ATOMIC_SEQ_CST) && is_storing(recorder);
}

bool tbed_recorders_are_in_old_blocks(struct tbed_recorders *recorders)
{
    return tbed_recorders_each(recorders, is_in_old_block) != 0;
}
