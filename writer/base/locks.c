/*
 * Locks: futexes that know whether the calling thread holds them.
 *
 * SPDX-License-Identifier: MIT
 */
#include <pthread.h>

#include "writer/base/kernel.h"
#include "writer/base/locks.h"

int tbed_cancel_disable(void)
{
    int state = PTHREAD_CANCEL_ENABLE;
    pthread_setcancelstate(PTHREAD_CANCEL_DISABLE, &state);
    return state;
}

void tbed_cancel_restore(int state)
{
    pthread_setcancelstate(state, &state);
}

/*
 * A bit for each lock that the thread holds, is taking or is giving. It is set before the first step and cleared after
 * the last, so that a signal handler never waits for the thread that it interrupted; a handler clears what it sets
 * before it returns.
 */
static __thread uint32_t tbed_locks_mine;

static uint32_t bit_of(const struct tbed_lock *lock)
{
    /* A lock's page holds nothing else, so the bits do not clash. */
    return 1u << ((uintptr_t)lock / sizeof *lock % 32);
}

bool tbed_lock_take(struct tbed_lock *lock)
{
    uint32_t bit = bit_of(lock), state = 0;
    if ((tbed_locks_mine & bit) != 0)
        return false;
    tbed_locks_mine |= bit;
    __atomic_signal_fence(__ATOMIC_SEQ_CST);
    if (!__atomic_compare_exchange_n(&lock->state, &state, 1, false, __ATOMIC_ACQUIRE, __ATOMIC_RELAXED)) {
        while (__atomic_exchange_n(&lock->state, 2, __ATOMIC_ACQUIRE) != 0)
            tbed_futex_wait(&lock->state, 2, UINT64_MAX);
    }
    return true;
}

bool tbed_lock_try(struct tbed_lock *lock)
{
    uint32_t bit = bit_of(lock), state = 0;
    if ((tbed_locks_mine & bit) != 0)
        return false;
    tbed_locks_mine |= bit;
    __atomic_signal_fence(__ATOMIC_SEQ_CST);
    if (__atomic_compare_exchange_n(&lock->state, &state, 1, false, __ATOMIC_ACQUIRE, __ATOMIC_RELAXED))
        return true;
    tbed_locks_mine &= ~bit;
    return false;
}

bool tbed_lock_is_mine(const struct tbed_lock *lock)
{
    return (tbed_locks_mine & bit_of(lock)) != 0;
}

void tbed_lock_give(struct tbed_lock *lock)
{
    if (__atomic_exchange_n(&lock->state, 0, __ATOMIC_RELEASE) == 2)
        tbed_futex_wake_one(&lock->state);
    __atomic_signal_fence(__ATOMIC_SEQ_CST);
    tbed_locks_mine &= ~bit_of(lock);
}
