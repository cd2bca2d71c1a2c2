/*
 * Large profiles of measureme for benchmarks: a small one, repeated.
 *
 * SPDX-License-Identifier: MIT
 */
#ifndef TBED_BENCH_PROFILE_TRACE_H
#define TBED_BENCH_PROFILE_TRACE_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

/* A profile of format 9 that rustc makes of a source text with many functions. False: there is no rustc here. */
bool bench_profile_by_rustc(const char *directory, const char *path);

/* One that this program makes up: queries of random depth on four threads. False: it could not be written. */
bool bench_profile_made_up(const char *path);

/*
 * Writes 'from', of format 9, to 'to': as it is, then its events again and again, each time later by the length of it
 * all, so that they nest as they did, until there are 'event_count'. Returns how many there are; 0: it failed.
 */
uint64_t bench_profile_repeat(const char *from, const char *to, uint64_t event_count);

#endif
