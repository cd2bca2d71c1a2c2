/*
 * Names of code locations for the commands, using the symbols of the programs on this machine; also parts of names.
 *
 * SPDX-License-Identifier: MIT
 */
#ifndef TRACEBED_TOOL_PLACES_H
#define TRACEBED_TOOL_PLACES_H

#include <tracebed/symbols.h>

struct tool_places {
    struct tbed_reader *reader;
    struct tbed_symbols *symbols; /* NULL: use only what is in the trace */
    enum tbed_name_part part;
};

/* Lets the reader name native code by the symbols of the programs on this machine. Call tool_places_close() before
 * closing the reader; it accepts all zeros as well. */
void tool_places_open(struct tool_places *places, struct tbed_reader *reader, enum tbed_name_part part);
void tool_places_close(struct tool_places *places);

/* A tbed_name_function; 'context' is a struct tool_places. */
size_t tool_places_name(void *context, uint32_t id, char *buffer, size_t buffer_nbytes);

/* Matching tbed_prepare_functions: for the innermost frames of call stacks, or for all frames. */
void tool_places_prepare(void *context, const uint32_t *ids, size_t count);
void tool_places_prepare_stacks(void *context, const uint32_t *ids, size_t count);

/* The same for every location in the trace; call it before naming its events one by one. */
void tool_places_prepare_all(struct tool_places *places);

#endif
