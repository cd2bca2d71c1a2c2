/*
 * What the ids of a trace are in a new trace, and the strings of the new trace: those that were asked for, and what they
 * refer to.
 *
 * Reserved ids of a source are shifted by a constant, so that ranges stay ranges. Strings are stored anew.
 *
 * SPDX-License-Identifier: MIT
 */
#ifndef TRACEBED_ID_MAP_H
#define TRACEBED_ID_MAP_H

#include "reader/analysis/shared/number_map.h"
#include "reader/exchange/traces/out/trace_file.h"

#include <tracebed/reader.h>

#define ID_CACHE_COUNT 1024u

/* The ids of one source. */
struct id_map {
    struct tbed_reader *reader;
    uint32_t first_reserved; /* what is added to its reserved ids */
    uint32_t reserved_end;   /* of those that have a meaning; ids from here on have none in the new trace */
    struct number_map strings;
    struct number_map used; /* reserved ids that were asked for */
    struct tbed_block near; /* the block of the last string */
    struct {
        uint32_t id, new_id;
    } cache[ID_CACHE_COUNT];
};

struct waiting_string {
    struct id_map *source;
    uint32_t id;
    uint8_t *place; /* of its entry */
};

struct strings_out {
    struct trace_file *file;
    uint32_t stream; /* that owns the pages */
    TBED_VECTOR(uint8_t *)
    pages;                      /* the last one is being filled; the others wait for the content of entries */
    TBED_VECTOR(uint32_t) used; /* of each of them */
    uint32_t page_count;        /* string pages begun */
    uint64_t string_count;
    uint64_t dropped_count;                     /* too large for a page */
    TBED_VECTOR(struct waiting_string) waiting; /* their content is not there yet */
};

/* The new id; for a string without content that can be read, TBED_ID_INVALID. */
uint32_t tbed_id_map(struct strings_out *strings, struct id_map *source, uint32_t id);

/* Was this reserved id asked for? */
bool tbed_id_map_has(const struct id_map *source, uint32_t id);

/* Stores a text of the new trace's own. */
uint32_t tbed_strings_out_text(struct strings_out *strings, const char *text, uint32_t nbytes);

/* Stores the content of all strings so far. Call it often: pages are kept until then. */
void tbed_strings_out_settle(struct strings_out *strings);

/* The same, and stores the last page. */
void tbed_strings_out_close(struct strings_out *strings);

void tbed_strings_out_free(struct strings_out *strings);
void tbed_id_map_free(struct id_map *source);

#endif
