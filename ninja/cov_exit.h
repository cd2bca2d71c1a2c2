/*
 * Included before every source file of the coverage variant, so that a process that calls _exit() writes its counts
 * first. In a preloaded library, it also replaces the program's _exit().
 *
 * SPDX-License-Identifier: MIT
 */
#ifndef TRACEBED_COV_EXIT_H
#define TRACEBED_COV_EXIT_H

#ifndef __cplusplus
#include <sys/syscall.h>
#include <unistd.h>

void __gcov_dump(void);

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
#endif

#define _exit(status) exit_counted(status)
#endif

#endif
