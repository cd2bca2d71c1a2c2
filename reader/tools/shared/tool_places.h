/*
 * What places in code are called, for the verbs: the symbols of the programs on this machine, and names that are less
 * than whole.
 *
 * SPDX-License-Identifier: MIT
 */
#ifndef TRACEBED_TOOL_PLACES_H
#define TRACEBED_TOOL_PLACES_H

#include <tracebed/symbols.h>

struct tool_places {
    struct tbed_reader *reader;
    struct tbed_symbols *symbols; /* NULL: only the file is asked */
    enum tbed_name_part part;
};

/* From here on the reader names native code by the symbols of the programs that are here, if there are any. Closed by
 * tool_places_close(), before the reader; it takes zeros as well. */
void tool_places_open(struct tool_places *places, struct tbed_reader *reader, enum tbed_name_part part);
void tool_places_close(struct tool_places *places);

/* A tbed_name_function; the context are the places. */
size_t tool_places_name(void *context, uint32_t id, char *buffer, size_t buffer_nbytes);

/* tbed_prepare_functions for it: of call stacks the innermost frame, or all. */
void tool_places_prepare(void *context, const uint32_t *ids, size_t count);
void tool_places_prepare_stacks(void *context, const uint32_t *ids, size_t count);

/* The same for all that the trace uses: before its events are named one after another. */
void tool_places_prepare_all(struct tool_places *places);

#endif
