/*
 * Makes allocations of the library fail: for a test that is linked with
 * -Wl,--wrap=malloc,--wrap=calloc,--wrap=realloc. Other allocations are unaffected.
 *
 *     calls_left = 3;     the fourth allocation from here fails, and no other
 *     ...
 *     bool was_reached = calls_left < 0;
 *     calls_left = -1;
 *
 * SPDX-License-Identifier: MIT
 */
#ifndef TRACEBED_FAILING_MEMORY_H
#define TRACEBED_FAILING_MEMORY_H

#include <stdbool.h>
#include <stdlib.h>

void *__real_malloc(size_t nbytes);
void *__real_calloc(size_t count, size_t nbytes);
void *__real_realloc(void *old, size_t nbytes);
void *__wrap_malloc(size_t nbytes);
void *__wrap_calloc(size_t count, size_t nbytes);
void *__wrap_realloc(void *old, size_t nbytes);

static int calls_left = -1; /* allocations until one fails; below 0: none fails */

static bool fails_now(void)
{
    return calls_left >= 0 && calls_left-- == 0;
}

void *__wrap_malloc(size_t nbytes)
{
    return fails_now() ? NULL : __real_malloc(nbytes);
}

void *__wrap_calloc(size_t count, size_t nbytes)
{
    return fails_now() ? NULL : __real_calloc(count, nbytes);
}

void *__wrap_realloc(void *old, size_t nbytes)
{
    return fails_now() ? NULL : __real_realloc(old, nbytes);
}

#endif
