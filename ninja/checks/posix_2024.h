/*
 * What POSIX.1-2024 has and older C libraries show only with extensions of their own; for check_posix.py.
 *
 * SPDX-License-Identifier: MIT
 */
#include <stddef.h>
#include <sys/mman.h>
#include <unistd.h>

#ifndef MAP_ANONYMOUS
#define MAP_ANONYMOUS 0x20
#endif
#ifndef SEEK_DATA
#define SEEK_DATA 3
#define SEEK_HOLE 4
#endif

void qsort_r(void *base, size_t count, size_t nbytes, int (*compare)(const void *, const void *, void *),
             void *context);
