/*
 * Names looked up ahead, in the order of events, for threads that turn events into text in any order.
 *
 * Making a name may find damage, which is listed in the order found, and long texts are left out once the budget for them is
 * spent. One thread that looks up the names of all events makes both independent of what the others do: cheap names cost the
 * same whoever makes them, and from the first expensive one on, that thread is to do everything.
 *
 * SPDX-License-Identifier: MIT
 */
#ifndef TRACEBED_NAMES_AHEAD_H
#define TRACEBED_NAMES_AHEAD_H

#include <tracebed/reader.h>

struct tbed_names_ahead {
    struct tbed_reader *reader;
    uint32_t *looked_up; /* ids plus 1, by hash; 0: none */
    uint64_t use_count;  /* of the budget for long texts, at first */
};

/* False: no memory. */
bool tbed_names_ahead_open(struct tbed_names_ahead *ahead, struct tbed_reader *reader);
void tbed_names_ahead_close(struct tbed_names_ahead *ahead);

/* False: from this event on, the order in which texts are made matters. */
bool tbed_names_ahead_take(struct tbed_names_ahead *ahead, const struct tbed_event *event);

/* The same for the begin of a span, which may have been another event. */
bool tbed_names_ahead_take_begin(struct tbed_names_ahead *ahead, uint32_t id, uint32_t category,
                                 struct tbed_arguments arguments, uint32_t argument_count);

#endif
