/*
 * The native locations that a trace uses: in events, their arguments, and the call stacks that these lead to.
 *
 * SPDX-License-Identifier: MIT
 */
#ifndef TRACEBED_USED_LOCATIONS_H
#define TRACEBED_USED_LOCATIONS_H

#include <tracebed/reader.h>

struct used_locations {
    uint32_t *ids; /* each once */
    size_t count, room;
    uint64_t *seen; /* a bit for each reserved id */
};

/* Starts with none. False: no memory. */
bool used_locations_open(struct used_locations *used);

/* An id, and all that its stack leads to, as far as they are locations of which the file does not tell what they mean. */
void used_locations_add(struct tbed_reader *reader, struct used_locations *used, uint32_t id);

/* All of a trace, rising: so module by module. False: no memory. */
bool used_locations_find(struct tbed_reader *reader, struct used_locations *used);
void used_locations_free(struct used_locations *used);

#endif
