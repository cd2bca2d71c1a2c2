/*
 * Applies a filter to the steps of the assembler. Whether a BEGIN counts may depend on the end of its span, so it waits in a
 * queue with all that follows it.
 *
 * SPDX-License-Identifier: MIT
 */
#ifndef TRACEBED_STEP_FILTER_H
#define TRACEBED_STEP_FILTER_H

#include "reader/analysis/filter/filter.h"

struct queued_step;
struct waiting_stream;

/* All zeros: no filter. */
struct step_filter {
    const struct tbed_filter *filter;
    bool is_reused;            /* what events point to is overwritten while they wait */
    struct queued_step *queue; /* a ring */
    size_t room, first, count; /* room: a power of two */
    uint64_t first_number;     /* of the first step of the queue */
    struct waiting_stream *streams;
    size_t stream_count, stream_room;
    struct number_map by_stream;
    bool is_at_end;
};

void tbed_step_filter_open(struct step_filter *steps, const struct tbed_filter *filter, bool is_reused);
void tbed_step_filter_close(struct step_filter *steps);

/* Are there steps that went in and have not come out? */
static inline bool tbed_step_filter_waits(const struct step_filter *steps)
{
    return steps->count > 0;
}

/* Errors: ERR_MEMORY. */
enum tbed_status tbed_step_filter_take(struct step_filter *steps, const struct tbed_step *step);

/* After the last step: what still waits does not count. Returns whether there was anything. */
bool tbed_step_filter_end(struct step_filter *steps);

/* The next step that counts, valid until the next call of tbed_step_filter_take(). False: there is none so far. */
bool tbed_step_filter_next(struct step_filter *steps, struct tbed_step *step_ret);

#endif
