/*
 * What the reading library uses of Linux beyond POSIX.1-2024, with what serves on other systems. Besides this, only
 * regular_file.c has code for Linux alone; check_posix.py holds that.
 *
 * SPDX-License-Identifier: MIT
 */
#ifndef TRACEBED_SYSTEM_H
#define TRACEBED_SYSTEM_H

#include <math.h>
#include <stdbool.h>
#include <stddef.h>
#include <stdio.h>
#include <sys/mman.h>

#ifndef __linux__
#undef MAP_NORESERVE
#define MAP_NORESERVE 0
#endif

/* Advice, which may be refused. */
static inline void tbed_memory_prefer_huge_pages(void *start, size_t nbytes)
{
#ifdef __linux__
    madvise(start, nbytes, MADV_HUGEPAGE);
#else
    (void)start, (void)nbytes;
#endif
}

/* Gives back pages of private memory, which are zeros afterwards. False: they are as before. */
static inline bool tbed_memory_empty(void *start, size_t nbytes)
{
#ifdef __linux__
    return madvise(start, nbytes, MADV_DONTNEED) == 0;
#else
    return mmap(start, nbytes, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS | MAP_FIXED, -1, 0) !=
           MAP_FAILED;
#endif
}

/* For a stream that only this thread uses. */
static inline void tbed_stream_put(const char *text, size_t nbytes, FILE *out)
{
#ifdef __linux__
    fwrite_unlocked(text, 1, nbytes, out);
#else
    fwrite(text, 1, nbytes, out);
#endif
}

/* The logarithm of the gamma function of a positive number. Any thread. */
static inline double tbed_log_gamma(double x)
{
#ifdef __linux__
    int sign;
    return lgamma_r(x, &sign);
#else
    return lgamma(x);
#endif
}

#endif
