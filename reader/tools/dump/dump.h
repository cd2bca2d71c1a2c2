/*
 * Shared by the files of 'tracebed dump': dump_verb.c selects events, dump_batches.c has them formatted on all cores, by
 * dump_text.c and dump_json.c.
 *
 * SPDX-License-Identifier: MIT
 */
#ifndef TRACEBED_DUMP_H
#define TRACEBED_DUMP_H

#include "reader/tools/filter/tool_filter.h"

#include "reader/tools/shared/tool_places.h"

struct dump_batches;

struct dump_label {
    uint32_t stream;
    char *text;
    size_t nbytes;
};

struct dump {
    struct tbed_reader *reader;
    const char *path;
    bool json, by_stream, absolute, indent, no_symbols;
    struct tbed_trace_info info;

    struct tool_filter filter;
    struct streams all;          /* nothing was asked for, so all are chosen */
    const struct streams *shown; /* those of the filter, or all */
    uint64_t left;               /* events left to print */

    struct dump_label *labels; /* one per chosen stream; their texts are padded */
    struct dump_label unknown_label;
    size_t time_width;

    struct tool_places places;
    unsigned jobs;
    struct dump_batches *batches;

    /* Each thread has a copy of all this, with its own: */
    struct tbed_json out;
    struct tool_buffer line, name; /* scratch */
    size_t label_last;             /* the last one found; successive events are often from one stream */
};

/* ---- Batches of events ---- */

void dump_batches_open(struct dump *dump);
void dump_batches_add(struct dump *dump, const struct tbed_event *event, uint32_t depth);
void dump_batches_close(struct dump *dump); /* when everything has been printed */

/* ---- Formats ---- */

void dump_text_prepare(struct dump *dump);
void dump_text_event(struct dump *dump, const struct tbed_event *event, uint32_t depth);
void dump_text_free(struct dump *dump);

/* All string entries, then all bindings; see spec/format.md, section 14. */
void dump_json_strings(struct dump *dump);
void dump_json_filter(struct dump *dump); /* the options that choose a part of the trace */
/* The gaps of a flight recorder. */
void dump_json_gaps(struct dump *dump);
void dump_json_event(struct dump *dump, const struct tbed_event *event);

#endif
