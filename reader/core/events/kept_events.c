/*
 * What the events in batches point to; see kept_events.h.
 *
 * SPDX-License-Identifier: MIT
 */
#include "reader/core/events/kept_events.h"

#include <stdlib.h>

/* Without memory for a lease, the unit stays. */
static void keep(struct tbed_batches *batches, const struct tbed_map *map, uint64_t offset)
{
    struct tbed_batch *batch = tbed_batches_current(batches);
    if (batch->kept == NULL)
        batch->kept = calloc(1, sizeof(struct tbed_lease));
    if (batch->kept != NULL)
        tbed_map_keep(map, batch->kept, map->bytes + offset);
    else
        tbed_map_take(map, offset, true);
}

void tbed_batch_keep_event(struct tbed_batches *batches, const struct tbed_map *map,
                           const struct tbed_event *event)
{
    if (map->packed != NULL && (event->argument_count > 0 || event->type == TBED_EVENT_COUNTER))
        keep(batches, map, event->offset);
}

void tbed_batch_keep_span(struct tbed_batches *batches, const struct tbed_map *map,
                          const struct tbed_assembled *span)
{
    if (map->packed != NULL && span->argument_count > 0)
        keep(batches, map, (uint64_t)((const uint8_t *)span->arguments.at - map->bytes));
}

void tbed_batch_let_go(void *kept, bool is_last)
{
    tbed_lease_empty(kept);
    if (is_last)
        free(kept);
}
