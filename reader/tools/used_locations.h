/*
 * The native locations that a trace uses: in events, their arguments, and the call stacks that these lead to.
 *
 * SPDX-License-Identifier: MIT
 */
#ifndef TRACEBED_USED_LOCATIONS_H
#define TRACEBED_USED_LOCATIONS_H

#include <tracebed/reader.h>

struct used_locations {
    uint32_t *ids; /* rising: so module by module */
    size_t count, room;
    uint64_t *seen; /* a bit for each reserved id */
};

/* Those of which the file does not tell what they mean. False: no memory. */
bool used_locations_find(struct tbed_reader *reader, struct used_locations *used);
void used_locations_free(struct used_locations *used);

#endif
