/*
 * Compilers and other programs that tests need.
 *
 * SPDX-License-Identifier: MIT
 */
#ifndef TRACEBED_TESTS_SHELL_RUN_H
#define TRACEBED_TESTS_SHELL_RUN_H

#include <stdarg.h>
#include <stdbool.h>
#include <stdio.h>
#include <stdlib.h>

/* Runs a shell command in the folder; its output is in 'log' there. False: its exit status is not 0. */
__attribute__((format(printf, 2, 3))) static inline bool shell_run(const char *folder, const char *format,
                                                                   ...)
{
    char command[4096], whole[4400];
    va_list arguments;
    va_start(arguments, format);
    vsnprintf(command, sizeof command, format, arguments);
    va_end(arguments);
    snprintf(whole, sizeof whole, "cd %s && { %s; } >log 2>&1", folder, command);
    return system(whole) == 0;
}

#endif
