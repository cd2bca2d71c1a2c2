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

/* The parameters that choose a part of a trace. */
#define ANSWER_PART "f b e streams n* x* inside* category* minimum"

struct answer_part {
    uint64_t begin_tick, end_tick; /* [begin, end) */
    uint32_t *streams;             /* NULL: all */
    size_t stream_count;
    struct tbed_filter *filter;
};

/* Reads them and makes the filter. False: 'status_ret' is the answer's. Close the part in any case. */
bool answer_part_open(struct answer *answer, struct answer_part *part, enum answer_status *status_ret);
void answer_part_close(struct answer_part *part);

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

/* Writes the name of an id, at most 200 bytes of it; or null. */
void answer_name(struct answer *answer, const char *key, uint32_t id);

#endif
