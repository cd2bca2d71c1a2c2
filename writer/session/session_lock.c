/*
 * The lock of the process's session, and what it protects.
 *
 * SPDX-License-Identifier: MIT
 */
#include <errno.h>

#include "writer/base/kernel.h"
#include "writer/base/locks.h"
#include "writer/base/memory.h"
#include "writer/session/session.h"

static struct tbed_session session;
static struct tbed_lock *session_lock; /* a page of its own, zeroed in a forked child */

/* Leaves errno as it is: callers that get no session return at once. */
static struct tbed_lock *lock_make(void)
{
    int kept_errno = errno;
    struct tbed_lock *made = tbed_pages_alloc(4096), *expected = NULL;
    bool can_fork = made != NULL && madvise(made, 4096, MADV_WIPEONFORK) == 0;
    errno = kept_errno;
    if (!can_fork) {
        tbed_pages_free(made, 4096);
        return NULL;
    }
    if (__atomic_compare_exchange_n(&session_lock, &expected, made, false, __ATOMIC_ACQ_REL,
                                    __ATOMIC_ACQUIRE))
        return made;
    tbed_pages_free(made, 4096);
    return expected;
}

struct tbed_session *tbed_session_lock(void)
{
    struct tbed_lock *lock = __atomic_load_n(&session_lock, __ATOMIC_ACQUIRE);
    if (lock == NULL)
        lock = lock_make();
    return lock != NULL && tbed_lock_take(lock) ? &session : NULL;
}

void tbed_session_unlock(void)
{
    tbed_lock_give(__atomic_load_n(&session_lock, __ATOMIC_ACQUIRE));
}
