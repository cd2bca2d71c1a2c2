/*
 * `tracebed view --html`: the page with the data inside it, in one file that needs neither a server nor the trace.
 *
 * What is stored of a trace: its spans from a length on, one by one, and shorter ones joined, as tbed_window_make() joins
 * them; the answers of the server about all of the time; and its other events, if there is room. The scripts that answer
 * from this are in page/inside.
 *
 * SPDX-License-Identifier: MIT
 */
#ifndef TRACEBED_VIEW_HTML_H
#define TRACEBED_VIEW_HTML_H

#include "reader/tools/view/answers/answer.h"

#define HTML_DURATIONS    65
#define HTML_NBYTES_USUAL (UINT64_C(20) << 20)
#define HTML_NBYTES_MIN   (UINT64_C(512) << 10)
#define HTML_NBYTES_MAX   (UINT64_C(1) << 30)

struct html_options {
    const char *path; /* "-": standard output */
    bool overwrite;
    uint64_t nbytes; /* the file has at most so many */
};

/* Returns -1, or the exit status after a complaint. */
int html_make(struct view *view, const struct html_options *options);

/* ---- Its parts ---- */

/* The category that spans of an id have, if one was seen. */
struct html_category {
    uint32_t id, category;
};

/* What is taken from a trace. */
struct html_trace {
    struct answer answer; /* has the trace; the texts of 'facts' are written with it */
    struct request request;
    struct answer_part part;   /* what the command line asked for */
    size_t number;             /* of the file */
    TBED_VECTOR(uint32_t) ids; /* that need names */
    TBED_VECTOR(struct html_category) categories;
    uint64_t counts[HTML_DURATIONS]; /* of all spans, and of those that take at least 2^(i - 1) ticks */
    uint64_t column_ticks, room;     /* of the spans that were made last; 0: none yet */
};

/* False: 'why_ret' says why not. */
bool html_trace_open(struct html_trace *trace, struct view *view, size_t number, const char **why_ret);
void html_trace_close(struct html_trace *trace);

/* Notes that an id needs a name. */
void html_trace_note(struct html_trace *trace, uint32_t id);

/* The spans, compressed. */
struct html_spans {
    struct tbed_text packed;
    uint64_t column_ticks; /* shorter ones are joined if they begin in one column; 1: none is */
    uint64_t span_count, single_count, unknown_count;
    size_t part_count;
    uint32_t *ids; /* that need names */
    size_t id_count;
};
void html_spans_free(struct html_spans *spans);

/* Counts them all, by duration; before the next. */
enum tbed_status html_spans_count(struct html_trace *trace);

/* Makes as much detail as fits into 'room' bytes. */
enum tbed_status html_spans_make(struct html_trace *trace, uint64_t room, struct html_spans *spans_ret);

/* Events that are not spans, and the arguments of spans, each as the inside of a flat array of JSON. */
struct html_list {
    struct tbed_text text;
    uint64_t count;
    bool is_cut; /* there was not enough room; it is empty */
};
struct html_events {
    struct html_list marks, counters, arguments;
    uint32_t flows[30]; /* their ids */
    size_t flow_count;
    bool is_too_large; /* nothing was read */
};

/* Reads them; each list has at most 'room' bytes. */
enum tbed_status html_events_read(struct html_trace *trace, uint64_t room, struct html_events *events_ret);
void html_events_free(struct html_events *events);

/* Everything else, with the events: an object. */
void html_facts_put(struct html_trace *trace, const struct html_events *events, struct tbed_text *to);

/* The names of all ids that were noted: an object. */
void html_names_put(struct html_trace *trace, struct tbed_text *to);

/* Appends 'bytes', compressed (raw deflate). */
void html_deflate(struct tbed_text *to, const char *bytes, size_t nbytes);
/* Appends them in base64, or their SHA-256 in base64. */
void html_base64(struct tbed_text *to, const void *bytes, size_t nbytes);
void html_digest(struct tbed_text *to, const char *bytes, size_t nbytes);

/* Appends the page up to where the data belongs, and what follows it. */
void html_page_begin(struct tbed_text *to);
void html_page_end(struct tbed_text *to);

#endif
