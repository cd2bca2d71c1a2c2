/*
 * Shared by the files of callgrind's profiles.
 *
 * SPDX-License-Identifier: MIT
 */
#ifndef TRACEBED_EXCHANGE_CALLGRIND_H
#define TRACEBED_EXCHANGE_CALLGRIND_H

#include "reader/exchange/shared/exchange_format.h"
#include "reader/exchange/stacks/frame_table.h"

#define CALLGRIND_EVENTS 4u

/* What was spent; unused values are 0. Sums stop at the highest number. */
struct callgrind_costs {
    uint64_t values[CALLGRIND_EVENTS];
};

/* Calls of a function, which is a frame without a line, from a frame. */
struct callgrind_arc {
    uint64_t key; /* the number of the caller + 1 in the upper half, that of the function in the lower */
    uint64_t count;
    struct callgrind_costs inclusive;
};

struct callgrind_sums {
    struct frame_table frames;
    TBED_VECTOR(struct callgrind_costs) own; /* by frame */
    TBED_HASHMAP(struct callgrind_arc) arcs;
    struct callgrind_costs total;
};

static inline void tbed_callgrind_add(struct callgrind_costs *sum, const struct callgrind_costs *costs)
{
    for (unsigned i = 0; i < CALLGRIND_EVENTS; i++)
        if (__builtin_add_overflow(sum->values[i], costs->values[i], &sum->values[i]))
            sum->values[i] = UINT64_MAX;
}

/* False: no memory. */
bool tbed_callgrind_own(struct callgrind_sums *sums, uint32_t frame, const struct callgrind_costs *costs);
bool tbed_callgrind_call(struct callgrind_sums *sums, uint32_t caller, uint32_t callee, uint64_t count,
                         const struct callgrind_costs *inclusive);
void tbed_callgrind_free(struct callgrind_sums *sums);

/* Writes the sums of these events. False: no memory, or the output failed. */
bool tbed_callgrind_write(struct callgrind_sums *sums, const char *const *events, unsigned event_count,
                          struct export_out *out, uint64_t *function_count_ret);

enum tbed_status tbed_export_callgrind(const struct export_job *job, struct export_out *out);

#endif
