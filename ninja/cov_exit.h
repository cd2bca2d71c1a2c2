/*
 * Included before every source file of the coverage variant, so that a process that calls _exit() writes its counts
 * first. In a preloaded library, it also replaces the program's _exit(), and counts are written before a program is
 * replaced by exec or enters a sandbox.
 *
 * SPDX-License-Identifier: MIT
 */
#ifndef TRACEBED_COV_EXIT_H
#define TRACEBED_COV_EXIT_H

#ifndef __cplusplus
#include <dlfcn.h>
#include <linux/prctl.h>
#include <string.h>
#include <sys/syscall.h>
#include <unistd.h>

void __gcov_dump(void);
void __gcov_reset(void);

__attribute__((noreturn)) static inline void exit_counted(int status)
{
    __gcov_dump();
    for (;;)
        syscall(SYS_exit_group, status);
}

#ifdef COV_PRELOADED
__attribute__((noreturn, weak, visibility("default"))) void _exit(int status)
{
    exit_counted(status);
}

/* gcov allocates, and so may come back here. */
__attribute__((unused)) static void write_counts(void)
{
    static __thread int is_under_way __attribute__((tls_model("initial-exec")));
    if (is_under_way)
        return;
    is_under_way = 1;
    __gcov_dump();
    __gcov_reset();
    is_under_way = 0;
}

/* All arguments are numbers or pointers, and at most five. */
#define BEFORE(name, condition)                                                                              \
    static __attribute__((unused)) void *counted_##name;                                                     \
    static __attribute__((unused)) long before_##name(long a, long b, long c, long d, long e)                \
    {                                                                                                        \
        long (*function)(long, long, long, long, long);                                                      \
        memcpy(&function, &counted_##name, sizeof function);                                                 \
        if (condition)                                                                                       \
            write_counts();                                                                                  \
        return function(a, b, c, d, e);                                                                      \
    }
BEFORE(execve, 1)
BEFORE(execv, 1)
BEFORE(execvp, 1)
BEFORE(execvpe, 1)
BEFORE(fexecve, 1)
BEFORE(execveat, 1)
BEFORE(prctl, a == PR_SET_SECCOMP)

#define FIND_BEFORE(symbol)                                                                                  \
    if (found != NULL && strcmp(name, #symbol) == 0) {                                                       \
        long (*function)(long, long, long, long, long) = before_##symbol;                                    \
        counted_##symbol = found;                                                                            \
        memcpy(&found, &function, sizeof found);                                                             \
    }

__attribute__((unused)) static void *find_counted(void *handle, const char *name)
{
    void *found = dlsym(handle, name);
    FIND_BEFORE(execve)
    FIND_BEFORE(execv)
    FIND_BEFORE(execvp)
    FIND_BEFORE(execvpe)
    FIND_BEFORE(fexecve)
    FIND_BEFORE(execveat)
    FIND_BEFORE(prctl)
    return found;
}

#define dlsym(handle, name) find_counted(handle, name)
#endif

#define _exit(status) exit_counted(status)
#endif

#endif
