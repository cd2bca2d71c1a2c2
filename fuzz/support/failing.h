/*
 * Injects failures at a point that the input chooses: memory runs out, or a file cannot be opened, read or written.
 *
 * All targets are linked so that malloc(), open() and the like pass through here (FAILING in ninja/generate.py). They
 * fail only between failing_start() and failing_stop(). Calls that the C library makes internally do not fail.
 *
 * SPDX-License-Identifier: MIT
 */
#ifndef TRACEBED_FUZZ_FAILING_H
#define TRACEBED_FUZZ_FAILING_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

struct tbed_reader;

/* Which calls fail. The first run fails the call that follows 'first' others, each later run the call after that. */
struct failing_plan {
    uint32_t first;
    uint32_t run_count;
    bool all_later; /* calls after the chosen one fail as well */
};

#define FAILING_PLAN_NBYTES     4
#define FAILING_PLACES_VARIABLE "TBED_FAILING_PLACES"

/* Decodes a plan: two bytes of 'first', one of the number of runs minus 1, one whose lowest bit is 'all_later'. */
struct failing_plan failing_plan_of(const uint8_t bytes[FAILING_PLAN_NBYTES]);

/* Removes the plan that follows the last complete page of a trace. Without one, the first 40 calls fail in turn. */
struct failing_plan failing_plan_cut(const uint8_t *data, size_t *nbytes);

/*
 * Calls 'step' with each place of the plan in turn until it returns false, because it never gets that far. With
 * TBED_FAILING_PLACES=N in the environment, which './run fuzz' sets, or built with FAILING_PLACES=N, as for OSS-Fuzz,
 * only N random places are tried, which are the same ones each time.
 */
void failing_try_places(const struct failing_plan *plan, bool (*step)(void *context, uint32_t place),
                        void *context);

/* Does the same for a 'step' in which the place is the call that fails. The last run is one in which no call failed. */
void failing_run(const struct failing_plan *plan, void (*step)(void *context), void *context);

/* The step calls these two: only between them are calls counted and made to fail. */
void failing_start(void);
void failing_stop(void);

/*
 * Like failing_start(), but file calls fail, with this errno, instead of allocations. With FAILING_CHANGED they succeed
 * but behave as if the file had changed: fstat() reports a different file, and pread() reports its end.
 */
#define FAILING_CHANGED (-1)
void failing_start_files(int system_errno);

/* Returns how many calls have failed in this run. If none has, the step must succeed. */
uint32_t failing_count(void);

/* Adds a value to a hash of what was seen. */
static inline uint64_t failing_mix(uint64_t seen, uint64_t value)
{
    seen = (seen ^ value) * 0x9E3779B97F4A7C15u;
    return seen ^ seen >> 32;
}

/* Uses a reader and returns a hash of everything that it saw, or FAILING_NO_MEMORY if the reader said that memory ran out. */
#define FAILING_NO_MEMORY UINT64_MAX
typedef uint64_t failing_use(struct tbed_reader *reader);

/*
 * Runs 'use' on a trace with each failure of the plan that follows the trace, with a new reader each time. It must
 * return its usual result if nothing failed, and again when it is repeated on the same reader with enough memory.
 */
void failing_use_trace(const uint8_t *data, size_t nbytes, failing_use *use);

#endif
