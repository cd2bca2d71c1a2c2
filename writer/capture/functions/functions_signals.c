/*
 * Keeps signal handlers out where a lock may be taken or several events are stored.
 *
 * SPDX-License-Identifier: MIT
 */
#define _GNU_SOURCE 1
#include <signal.h>
#include <string.h>

#include "writer/capture/functions/functions.h"

void functions_signals_block(struct functions_signals *old_ret)
{
    sigset_t all, old;
    sigfillset(&all);
    pthread_sigmask(SIG_SETMASK, &all, &old);
    memcpy(old_ret, &old, sizeof old);
}

void functions_signals_restore(const struct functions_signals *signals)
{
    sigset_t old;
    memcpy(&old, signals, sizeof old);
    pthread_sigmask(SIG_SETMASK, &old, NULL);
}
_Static_assert(sizeof(sigset_t) <= sizeof(struct functions_signals), "the mask fits");
