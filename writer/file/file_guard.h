/*
 * A guard for mapped files: a store into a page that the file no longer has, because somebody truncated it or its disk
 * failed, goes into private memory instead of killing the program.
 *
 * The kernel reports such a store by SIGBUS (never by SIGSEGV). The handler replaces the page by private memory and
 * marks the file as lost; recording into it then stops, and everything further is dropped and counted. Faults anywhere
 * else, and signals that were sent, go to the action that the program had set.
 *
 * Not here: which writers are guarded (struct tbed_writer_options); programs that change the action of SIGBUS while a
 * writer is guarded (writer/capture/shared/preload_signals.c).
 *
 * SPDX-License-Identifier: MIT
 */
#ifndef TRACEBED_WRITER_GUARD_H
#define TRACEBED_WRITER_GUARD_H

#include <signal.h>

#include "writer/file/state.h"

/* A range of mapped memory. What 'is_lost' points to is set, with sequential consistency, before any byte changes. */
struct tbed_guarded {
    uint8_t *start; /* NULL: not guarded */
    uint64_t nbytes;
    uint32_t window_nbytes; /* so much is replaced at once */
    bool *is_lost;
    struct tbed_file *file; /* its recorders are stopped; NULL: none */
};

/*
 * Guards the range until tbed_guard_remove(). The first range installs the handler; removing the last one restores the
 * program's action, unless the program has installed another since. False: there are too many ranges, or the kernel
 * refuses the handler.
 */
bool tbed_guard_add(const struct tbed_guarded *range);
/* Ignores a range that is not guarded. */
void tbed_guard_remove(const uint8_t *start);

/* A map made for one operation of a guarded file; the operation fails if '*is_lost' is true at its end. */
void tbed_guard_enter(const struct tbed_file *file, void *map, uint64_t nbytes, bool *is_lost);
void tbed_guard_leave(const struct tbed_file *file, const void *map);

/* Unblocks SIGBUS in this thread: the kernel kills a process for a fault whose signal is blocked. */
void tbed_guard_admit_thread(void);

/*
 * For a library that interposes sigaction(): sets or returns the action that signals are passed on to. False: no handler
 * is installed, so the program's call may go to the kernel. Each may be NULL.
 */
bool tbed_guard_chain(const struct sigaction *action, struct sigaction *old_ret);
/* Asked at each fault first, with the handler's context; true: it has been dealt with. NULL: there is none. */
extern bool (*tbed_guard_recover)(void *context);
/* The function that sets the kernel's action; sigaction() unless such a library changes it. */
extern int (*tbed_guard_sigaction)(int number, const struct sigaction *action, struct sigaction *old_ret);

static inline bool tbed_is_lost(const struct tbed_file *file)
{
    return __atomic_load_n(&file->is_lost, __ATOMIC_SEQ_CST);
}

#endif
