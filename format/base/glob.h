/*
 * Shell patterns for names.
 *
 * SPDX-License-Identifier: MIT
 */
#ifndef TRACEBED_GLOB_H
#define TRACEBED_GLOB_H

#include <stdbool.h>
#include <stddef.h>

/* '*' matches any text, '?' any byte. On a mismatch the latest '*' takes one more byte. */
static inline bool tbed_glob_fits(const char *pattern, const char *name)
{
    const char *star = NULL, *retry = NULL;
    while (*name != 0) {
        if (*pattern == '*') {
            star = pattern++;
            retry = name;
        } else if (*pattern == '?' || *pattern == *name) {
            pattern++;
            name++;
        } else if (star != NULL) {
            pattern = star + 1;
            name = ++retry;
        } else {
            return false;
        }
    }
    while (*pattern == '*')
        pattern++;
    return *pattern == 0;
}

#endif
