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

/* Makes a profile of format 9 by running rustc on a source with many functions. False: rustc is not installed. */
bool bench_profile_by_rustc(const char *directory, const char *path);

/* Makes a synthetic profile: queries of random depth on four threads. False: it could not be written. */
bool bench_profile_made_up(const char *path);

/*
 * Copies 'from', of format 9, to 'to', then repeats its events, each time shifted by the profile's length so that they
 * nest as before, until there are 'event_count'. Returns the number of events, or 0 on failure.
 */
uint64_t bench_profile_repeat(const char *from, const char *to, uint64_t event_count);

#endif
