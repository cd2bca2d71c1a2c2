/*
 * Included before every source file of the coverage variant: a child that leaves by _exit() keeps its counts.
 *
 * SPDX-License-Identifier: MIT
 */
#ifndef TRACEBED_COV_EXIT_H
#define TRACEBED_COV_EXIT_H

#ifndef __cplusplus
#include <unistd.h>

void __gcov_dump(void);

__attribute__((noreturn)) static inline void exit_counted(int status)
{
    __gcov_dump();
    (_exit)(status);
}

#define _exit(status) exit_counted(status)
#endif

#endif
