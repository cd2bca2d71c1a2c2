/*
 * What the answers have in common. An answer reads the parameters of a request and writes an object of JSON.
 *
 * SPDX-License-Identifier: MIT
 */
#ifndef TRACEBED_VIEW_ANSWER_H
#define TRACEBED_VIEW_ANSWER_H

#include "reader/tools/view/view.h"

#include "reader/core/base/vector.h"

#include <tracebed/filter.h>

enum answer_status {
    ANSWER_OK = 200,
    ANSWER_BAD = 400, /* the request is wrong */
    ANSWER_NONE = 404,
    ANSWER_CANCELLED = 409,
    ANSWER_FAILED = 500,
};

struct answer {
    struct view *view;
    struct request *request;  /* its 'problem' says why there is no answer */
    const bool *is_cancelled; /* atomic: nobody waits for the answer any more */
    struct view_trace *trace; /* that of the parameter f; its lock is held */
    struct tbed_trace_info info;
    uint64_t end_tick; /* after the last */
    struct tbed_json json;
    struct tbed_text text;
    TBED_VECTOR(uint32_t) ids; /* that need names */
};

/* Takes the lock of a trace, and gives it back. */
void answer_use_trace(struct answer *answer, struct view_trace *trace);
void answer_leave_trace(struct answer *answer);

/* The parameters that choose a part of a trace; and, where names do not, the calls of one label. */
#define ANSWER_PART  "f b e streams n* x* inside* category* minimum"
#define ANSWER_CALLS "f b e streams inside* category* minimum label id"

struct answer_part {
    uint64_t begin_tick, end_tick; /* [begin, end) */
    uint32_t *streams;             /* NULL: all */
    size_t stream_count;
    char *label; /* of 'label' or 'id', terminated; NULL: neither was given */
    size_t label_nbytes;
    char *pattern; /* that matches it */
    struct tbed_filter *filter;
};

/* Reads them and makes the filter. False: 'status_ret' is the answer's. Close the part in any case. */
bool answer_part_open(struct answer *answer, struct answer_part *part, enum answer_status *status_ret);
/* The same with time and streams only; and with other names for b and e. */
bool answer_part_open_plain(struct answer *answer, struct answer_part *part, enum answer_status *status_ret);
struct answer_part_kind {
    const char *begin_name, *end_name;
    bool is_plain;
    const char *pattern; /* that names must match instead of those of n; NULL: none */
};
bool answer_part_open_as(struct answer *answer, struct answer_part *part, const struct answer_part_kind *kind,
                         enum answer_status *status_ret);
void answer_part_close(struct answer_part *part);

/* The label of an id, in memory of its own, terminated; NULL: no memory. */
char *answer_label(struct answer *answer, uint32_t id, size_t *nbytes_ret);

/* An expression that only this text matches, or that matches it anywhere; the caller frees it. NULL: no memory. */
char *answer_pattern(const char *text, size_t nbytes, bool is_anywhere);

/* The status of an answer that a call of the library did not give. */
enum answer_status answer_fail(struct answer *answer, enum tbed_status status);
/* The same with a sentence. */
enum answer_status answer_refuse(struct answer *answer, enum answer_status status, const char *why);

/* A point in time, in ticks since the first tick of the trace. */
void answer_tick(struct answer *answer, const char *key, uint64_t tick);
uint64_t answer_since(const struct answer *answer, uint64_t tick);

/* Notes that an id needs a name; "names" has all that were noted. Returns the id. */
uint32_t answer_note(struct answer *answer, uint32_t id);
void answer_names(struct answer *answer);

/* Writes a text, at most 200 bytes of it. */
void answer_text(struct answer *answer, const char *key, const char *text, size_t nbytes);

/* Writes "unit", that of a counter. */
void answer_unit(struct answer *answer, uint32_t id);

/* Writes "function", "file", "line" and "module". */
void answer_place(struct answer *answer, uint32_t id);

/* Writes the name of an id, at most 200 bytes of it; or null. */
void answer_name(struct answer *answer, const char *key, uint32_t id);

#endif
