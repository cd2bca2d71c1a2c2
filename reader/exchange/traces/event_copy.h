/*
 * Copies the words of single events, with the ids and ticks of the new trace.
 *
 * SPDX-License-Identifier: MIT
 */
#ifndef TRACEBED_EVENT_COPY_H
#define TRACEBED_EVENT_COPY_H

#include "reader/exchange/traces/stream_copy.h"

/* Copies the event unchanged. */
void tbed_event_copy(struct stream_copy *copy, const struct tbed_event *event);

/* A BEGIN with the category and the arguments of the span. */
void tbed_event_copy_begin(struct stream_copy *copy, const struct tbed_assembled *span);

/* An event that ends the innermost span; 'begin_tick' is the span's, which may be cut. */
void tbed_event_copy_end(struct stream_copy *copy, const struct tbed_event *event, uint64_t begin_tick);
/* A LEAVE of the span at 'at' on the stack; those above stay open. */
void tbed_event_copy_leave(struct stream_copy *copy, const struct tbed_event *event, size_t at);

/* A SPAN with the arguments of the span and of 'end', which may be NULL. */
void tbed_event_copy_span(struct stream_copy *copy, const struct tbed_assembled *span,
                          const struct tbed_event *end);

/* A LEAVE of the innermost span at the latest tick. */
void tbed_event_put_leave(struct stream_copy *copy, uint64_t end_tick);

#endif
