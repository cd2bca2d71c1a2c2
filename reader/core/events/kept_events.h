/*
 * What the events in batches point to, kept until their batch has been put out: of a packed trace, a cursor holds no more than
 * the block that it is in.
 *
 * SPDX-License-Identifier: MIT
 */
#ifndef TRACEBED_KEPT_EVENTS_H
#define TRACEBED_KEPT_EVENTS_H

#include "reader/core/base/batches.h"
#include "reader/core/file/map.h"

#include <tracebed/analysis.h>

/* For the item that was pushed last. The job's 'let_go' is tbed_batch_let_go(). */
void tbed_batch_keep_event(struct tbed_batches *batches, const struct tbed_map *map,
                           const struct tbed_event *event);
void tbed_batch_keep_span(struct tbed_batches *batches, const struct tbed_map *map,
                          const struct tbed_assembled *span);

void tbed_batch_let_go(void *kept, bool is_last);

#endif
