/*
 * Calls that fail because memory has run out, or because a file cannot be opened, read or written, at a place that the
 * input chooses.
 *
 * All targets are linked so that malloc(), open() and their like pass through here (FAILING in ninja/generate.py). They
 * fail only between failing_start() and failing_stop(). What the C library does for itself does not fail.
 *
 * SPDX-License-Identifier: MIT
 */
#ifndef TRACEBED_FUZZ_FAILING_H
#define TRACEBED_FUZZ_FAILING_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

struct tbed_reader;

/* Which calls fail. In the first run it is the one after 'first' others, in the next run the one after that. */
struct failing_plan {
    uint32_t first;
    uint32_t run_count;
    bool all_later; /* as well */
};

#define FAILING_PLAN_NBYTES 4

/* A plan in bytes: 'first' in two, the number of runs less 1 in one, and 'all_later' in the lowest bit of one. */
struct failing_plan failing_plan_of(const uint8_t bytes[FAILING_PLAN_NBYTES]);

/* Cuts the plan off that follows the last whole page of a trace. If there is none: the first 40 calls. */
struct failing_plan failing_plan_cut(const uint8_t *data, size_t *nbytes);

/*
 * Calls 'step' for each place of the plan until it returns false: it does not get that far. With TBED_FAILING_PLACES=N in the
 * environment, as './run fuzz' sets it, only N places are tried, chosen at random.
 */
void failing_try_places(const struct failing_plan *plan, bool (*step)(void *context, uint32_t place),
                        void *context);

/* The same, where a place is the call that fails. The last run is one in which no call has failed. */
void failing_run(const struct failing_plan *plan, void (*step)(void *context), void *context);

/* For the step: from here on, and up to here, calls are counted and may fail. */
void failing_start(void);
void failing_stop(void);

/*
 * Like failing_start(), but it is the calls for files that fail, with this errno. With FAILING_CHANGED, they succeed but
 * find that the file has changed: fstat() finds another one, and pread() its end.
 */
#define FAILING_CHANGED (-1)
void failing_start_files(int system_errno);

/* How many calls have failed in this run. If none has, the step must succeed. */
uint32_t failing_count(void);

/* Uses a reader, and returns a number that depends on all that it saw. */
typedef uint64_t failing_use(struct tbed_reader *reader);

/*
 * Runs 'use' on a trace, a new reader each time, by the plan behind the trace. Where nothing has failed, and when it is
 * done again with the same reader and enough memory, it must see what it always sees.
 */
void failing_use_trace(const uint8_t *data, size_t nbytes, failing_use *use);

#endif
