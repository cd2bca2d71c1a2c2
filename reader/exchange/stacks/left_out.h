/*
 * Counts the events of a trace by kind, for formats that leave them out.
 *
 * SPDX-License-Identifier: MIT
 */
#ifndef TRACEBED_LEFT_OUT_H
#define TRACEBED_LEFT_OUT_H

#include "reader/exchange/shared/exchange_format.h"

/* Which kinds a format takes: these are not counted. */
enum left_out_taken { LEFT_OUT_TAKES_SPANS = 1, LEFT_OUT_TAKES_ALLOCATIONS = 2 };

/* Counts an event that is no begin or end of a span. */
void tbed_left_out_event(uint64_t *notes, const struct tbed_event *event, unsigned taken);

/* Reads the events that the filter takes, on several threads, and adds what is not taken to job->result->notes. */
enum tbed_status tbed_left_out_count(const struct export_job *job, size_t index, unsigned taken);

#endif
