/*
 * A set of native places in code that the file does not describe. Not for users of the library.
 *
 * SPDX-License-Identifier: MIT
 */
#ifndef TRACEBED_NATIVE_IDS_H
#define TRACEBED_NATIVE_IDS_H

#include <tracebed/reader.h>

struct tbed_native_ids {
    uint32_t *ids; /* each once */
    size_t count, room;
    uint64_t *seen; /* a bit for each reserved id */
    bool is_out_of_memory;
};

/* Starts empty. False: no memory. */
bool tbed_native_ids_open(struct tbed_native_ids *set);
void tbed_native_ids_free(struct tbed_native_ids *set);

/* Adds what 'id' leads to if it is such a place; with 'whole_stacks' all frames of a call stack, else the innermost. */
void tbed_native_ids_add(struct tbed_native_ids *set, const struct tbed_reader *reader, uint32_t id,
                         bool whole_stacks);

/* Sorts them, so that those of one module are together. */
void tbed_native_ids_sort(struct tbed_native_ids *set);

#endif
