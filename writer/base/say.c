/*
 * A line on standard error; see say.h.
 *
 * SPDX-License-Identifier: MIT
 */
#include "writer/base/say.h"

#include <errno.h>
#include <pthread.h>
#include <signal.h>
#include <time.h>
#include <unistd.h>

/* The signal that a failed write() has raised in this thread; 0: none. */
static int signal_of(int system_errno)
{
    if (system_errno == EPIPE)
        return SIGPIPE;
    return system_errno == EFBIG ? SIGXFSZ : 0;
}

void tbed_say(const char *line, int nbytes)
{
    sigset_t ours, before, pending;
    sigemptyset(&ours);
    sigaddset(&ours, SIGPIPE);
    sigaddset(&ours, SIGXFSZ);
    sigpending(&pending);
    pthread_sigmask(SIG_BLOCK, &ours, &before);
    int raised = nbytes > 0 && write(STDERR_FILENO, line, (size_t)nbytes) < 0 ? signal_of(errno) : 0;
    if (raised != 0 && !sigismember(&pending, raised)) {
        sigemptyset(&ours);
        sigaddset(&ours, raised);
        sigtimedwait(&ours, NULL, &(struct timespec){0});
    }
    pthread_sigmask(SIG_SETMASK, &before, NULL);
}
