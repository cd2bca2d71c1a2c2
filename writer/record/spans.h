/*
 * Spans and instants from inside an entered recorder: words, and the stack of open spans.
 *
 * SPDX-License-Identifier: MIT
 */
#ifndef TRACEBED_WRITER_SPANS_H
#define TRACEBED_WRITER_SPANS_H

#include "tracebed/writer.h"

/* ---- span_stack.c ---- */
/* For a recorder that is opened or closed: no span is open. */
void tbed_stack_reset(struct tbed_recorder_kept *kept);
/*
 * In a forked child: the spans that are open begin anew at 'tick', the child's first, so that no time belongs to both
 * processes.
 */
void tbed_stack_inherit(struct tbed_recorder_kept *kept, uint64_t tick);
uint32_t tbed_stack_depth(const struct tbed_recorder_kept *kept);
/*
 * Writes the innermost 'stored' open spans. The block then knows all above 'floor', also if their begins were dropped.
 */
uint8_t *tbed_stack_store(struct tbed_recorder_kept *kept, uint8_t *at, uint32_t stored);
void tbed_span_push(struct tbed_recorder *recorder, uint32_t id, uint64_t tick);
void tbed_span_push_dropped(struct tbed_recorder *recorder, uint32_t id, uint64_t tick);
/* The innermost open span, INVALID where there is none; its end must be dropped if its begin was. */
struct tbed_open_span tbed_span_top(struct tbed_recorder *recorder);
/* Removes the innermost span; if its begin was dropped, counts its end as dropped too. */
void tbed_span_pop(struct tbed_recorder *recorder);

/* ---- span_cross.c ---- */
/* Takes a span off the stack that has 'inside' others inside it, if there is one. The recorder has been entered. */
void tbed_span_leave_outer(struct tbed_recorder *recorder, uint32_t inside, uint64_t tick, uint64_t end_tick);

/* ---- span_write.c ---- */
void tbed_instant_at(struct tbed_recorder *recorder, uint32_t id, uint64_t tick);
void tbed_span_begin_at(struct tbed_recorder *recorder, uint32_t id, uint64_t tick);
/* The block knows the innermost span. */
bool tbed_span_is_known(struct tbed_recorder *recorder);
/* Only for a span that the block knows. */
void tbed_span_end_at(struct tbed_recorder *recorder, uint64_t tick);
/* An end that carries its begin tick, for any span. */
void tbed_span_end_entered(struct tbed_recorder *recorder, const struct tbed_argument *arguments,
                           size_t argument_count);

#endif
