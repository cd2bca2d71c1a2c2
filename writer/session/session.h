/*
 * The state of the process's session. Nothing here is public.
 *
 * SPDX-License-Identifier: MIT
 */
#ifndef TRACEBED_WRITER_SESSION_H
#define TRACEBED_WRITER_SESSION_H

#include <stdbool.h>

#include "tracebed/trace.h"

#define TBED_RULE_COUNT_MAX      64
#define TBED_PATTERN_NBYTES_MAX  63
#define TBED_FUNCTION_NBYTES_MAX 255

/* A pattern that enables or disables categories. The latest that matches counts. */
struct tbed_category_rule {
    char pattern[TBED_PATTERN_NBYTES_MAX + 1];
    bool on;
};

struct tbed_session {
    struct tbed_writer *writer; /* NULL: no trace is running */
    uint32_t generation;        /* of the latest start */
    uint32_t thread_count;      /* living threads that have or had a recorder */
    bool yields; /* the trace is that of 'tracebed record': the program may start one of its own */
    struct tbed_category *categories;
    size_t rule_count;
    struct tbed_category_rule rules[TBED_RULE_COUNT_MAX];
};

/*
 * Locks the session and returns it. Returns NULL if the calling thread already holds the lock (in a signal handler), or
 * if there is no memory for the lock. In a forked child the lock is free.
 */
struct tbed_session *tbed_session_lock(void);
void tbed_session_unlock(void);

/* Sets every category to the generation or to 0, according to the rules. The session must be locked. */
void tbed_categories_switch(struct tbed_session *session);

enum tbed_start {
    TBED_START_BY_OPTIONS, /* the options decide */
    TBED_START_REPLACES,   /* see tbed_start_file() */
    TBED_START_JOINS,
    TBED_START_RECORDED, /* see tbed_recorded_open() */
};

/*
 * Returns the name of a function with its classes and namespaces, without types, from __func__ or __PRETTY_FUNCTION__:
 * 'text' itself, or the name in 'room', which has TBED_FUNCTION_NBYTES_MAX + 1 bytes; longer names are cut.
 */
const char *tbed_function_name(const char *text, char *room);

/* tbed_start() that returns the cause of a failure. */
enum tbed_status tbed_session_start(const char *path, const struct tbed_writer_options *options,
                                    enum tbed_start start, struct tbed_error *error);
#endif
