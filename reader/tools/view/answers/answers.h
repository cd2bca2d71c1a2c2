/*
 * All answers. Each gets a request whose parameters are known and whose trace is open, and writes an object.
 *
 * SPDX-License-Identifier: MIT
 */
#ifndef TRACEBED_VIEW_ANSWERS_H
#define TRACEBED_VIEW_ANSWERS_H

#include "reader/tools/view/answers/answer.h"

#include <tracebed/calls.h>

enum answer_status answer_trace(struct answer *answer);
enum answer_status answer_window(struct answer *answer);
enum answer_status answer_table(struct answer *answer);
enum answer_status answer_histogram(struct answer *answer);
enum answer_status answer_histograms(struct answer *answer);
enum answer_status answer_flame(struct answer *answer);
enum answer_status answer_gaps(struct answer *answer);
enum answer_status answer_marks(struct answer *answer);
enum answer_status answer_plots(struct answer *answer);
enum answer_status answer_span(struct answer *answer);
enum answer_status answer_search(struct answer *answer);
enum answer_status answer_name_of(struct answer *answer);
enum answer_status answer_source(struct answer *answer);
enum answer_status answer_flows(struct answer *answer);
enum answer_status answer_critical(struct answer *answer);
enum answer_status answer_memory(struct answer *answer);
enum answer_status answer_memory_flame(struct answer *answer);

/* Appends the plot of the memory in use to the array of plots, if there are allocations. */
void answer_memory_plot(struct answer *answer, const struct answer_part *part, uint64_t columns);

/*
 * Finds the spans of a stream that are open at a tick, or begin or end there, in any order. False, and perhaps an error: that
 * would take long, or there are more than 'room'. A span that was written as a single event may be missing.
 */
bool answer_spans_around(struct answer *answer, uint32_t stream, uint64_t tick, struct tbed_call *calls,
                         size_t room, size_t *count_ret, enum tbed_status *status_ret);

#endif
