/*
 * What preload_stacks_helper logs of each allocation.
 *
 * SPDX-License-Identifier: MIT
 */
#ifndef TRACEBED_PRELOAD_STACKS_LOG_H
#define TRACEBED_PRELOAD_STACKS_LOG_H

#include <stdint.h>

#define STACKS_FRAMES_MAX   40
#define STACKS_FIRST_NBYTES 100000u /* each allocation has a size of its own */
#define STACKS_COUNT        10493u  /* 1,500 calls and 300 of threads, some of which branch */

struct stacks_entry {
    uint64_t nbytes;
    uint32_t count, zero;
    uint64_t pcs[STACKS_FRAMES_MAX]; /* innermost first */
};

#endif
