/*
 * Imports of Chrome trace events in JSON. Declarations shared by its files: the document (chrome_document.c), one event of
 * it (chrome_event.c) and its members (chrome_fields.c).
 *
 * SPDX-License-Identifier: MIT
 */
#ifndef TRACEBED_EXCHANGE_CHROME_IMPORT_H
#define TRACEBED_EXCHANGE_CHROME_IMPORT_H

#include "reader/core/base/text.h"
#include "reader/exchange/foreign/event_import.h"
#include "reader/exchange/foreign/foreign_input.h"
#include "reader/exchange/foreign/json_in.h"

#define CHROME_LAST_NMAX 32 /* of a pid or tid that is remembered */

struct chrome_series { /* of a counter; the one that has its name */
    uint64_t key;      /* tbed_hashmap_key32() of the counter's name */
    uint32_t unit;     /* what the series is called; TBED_ID_INVALID: none has the counter's name */
};

struct chrome_import {
    struct event_import events;
    struct foreign_input input;
    struct tbed_text metadata; /* members of an object */
    struct tbed_text
        scratch; /* texts of the current event, without escapes; does not move while there are any */
    TBED_HASHMAP(struct chrome_series) series;

    /* The track of the event before: mostly it is the next one's. */
    char last_pid[CHROME_LAST_NMAX], last_tid[CHROME_LAST_NMAX];
    size_t last_pid_nbytes, last_tid_nbytes;
    uint32_t last_track;

    /* The begin of a span that is written beside its thread, by our own export: its end comes next. At most one row. */
    struct event_rows beside;
};

/* ---- Members of an event ---- */

/* Those that matter. A type of NULL: there is none. */
struct chrome_fields {
    struct json_value name, phase, category, ts, dur, pid, tid, id, id2, scope, args;
};

void tbed_chrome_fields_read(const struct json_value *object, struct chrome_fields *fields);

/* The member of an object; a type of NULL: there is none. */
struct json_value tbed_chrome_member(const struct json_value *object, const char *name);

struct chrome_piece {
    const char *text;
    size_t nbytes;
};

/* A string without escapes, until the next event; other values verbatim. */
struct chrome_piece tbed_chrome_text(struct chrome_import *chrome, const struct json_value *value);
uint32_t tbed_chrome_intern(struct chrome_import *chrome, const struct json_value *value);

/* A number, or a string that contains one. */
bool tbed_chrome_number(const struct json_value *value, struct json_value *number);

/* Microseconds, rounded to nanoseconds once. */
bool tbed_chrome_ns(const struct json_value *value, int64_t *ns);

/* A pid, tid or id as a key; and as a number if it is one that fits, otherwise 0. */
uint64_t tbed_chrome_key(const struct json_value *value, uint32_t *number_ret);

/* What begin and end of an asynchronous span or a flow have in common besides their name. */
uint64_t tbed_chrome_async_key(const struct chrome_fields *fields, bool is_flow);

/* An argument without its name, of a number, true or false. False: the value is none of these. */
bool tbed_chrome_scalar(const struct json_value *value, struct tbed_argument *argument);

/* ---- Events ---- */

/* Takes an event, an object of correct JSON. False: it is none. */
bool tbed_chrome_take_event(struct chrome_import *chrome, const struct json_value *object);

/* ---- The registry; see exchange_format.h ---- */

/* Whether these first bytes of a file are of such a document, perhaps compressed. */
bool tbed_chrome_has_start(const char *start, size_t nbytes);
enum tbed_status tbed_chrome_import(const void *source, int fd, struct tbed_import_report *report,
                                    struct tbed_error *error_ret);

#endif
