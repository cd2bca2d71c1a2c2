/*
 * Whether this process is in a sandbox that it entered itself, such as a filter of system calls (seccomp). A call that
 * the program does not make itself may then kill it, so the writer makes none: it takes memory from what was reserved
 * before, pages from what was allocated before, and otherwise drops and counts.
 *
 * The only exception is a lock that two threads want at once: a program with threads has to wait for locks itself.
 *
 * Forked children inherit both the sandbox and the flag.
 *
 * SPDX-License-Identifier: MIT
 */
#ifndef TRACEBED_WRITER_SANDBOX_STATE_H
#define TRACEBED_WRITER_SANDBOX_STATE_H

#include <stdbool.h>
#include <stdint.h>

extern bool tbed_sandbox_flag; /* atomic */

static inline bool tbed_is_sandboxed(void)
{
    return __builtin_expect(__atomic_load_n(&tbed_sandbox_flag, __ATOMIC_RELAXED), 0);
}

void tbed_sandbox_flag_set(bool is_sandboxed);

/* The calling thread's number, as far as it can be known without a system call; 0: unknown. */
uint32_t tbed_thread_id_known(void);

#endif
