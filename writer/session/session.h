/*
 * What the files of the process's writer share. Nothing here is public.
 *
 * SPDX-License-Identifier: MIT
 */
#ifndef TRACEBED_WRITER_SESSION_H
#define TRACEBED_WRITER_SESSION_H

#include <stdbool.h>

#include "tracebed/trace.h"

#define TBED_RULE_COUNT_MAX     64
#define TBED_PATTERN_NBYTES_MAX 63

/* What was said about categories, in order. */
struct tbed_category_rule {
    char pattern[TBED_PATTERN_NBYTES_MAX + 1];
    bool on;
};

struct tbed_session {
    struct tbed_writer *writer; /* NULL: nothing is recorded */
    uint32_t generation;        /* of the latest start */
    uint32_t thread_count;      /* threads with a recorder, or that had one, and are alive */
    struct tbed_category *categories;
    size_t rule_count;
    struct tbed_category_rule rules[TBED_RULE_COUNT_MAX];
};

/*
 * The session, locked; NULL when the calling thread has it locked already (a signal handler), or there is no memory for
 * the lock. The lock is one that a forked child finds free.
 */
struct tbed_session *tbed_session_lock(void);
void tbed_session_unlock(void);

/* Gives all categories the generation, or 0, by the rules. The session is locked. */
void tbed_categories_switch(struct tbed_session *session);

enum tbed_start {
    TBED_START_AS_TOLD,  /* the options say everything */
    TBED_START_REPLACES, /* see tbed_start_file() */
    TBED_START_JOINS,
};

/* tbed_start() with the reason of a failure. */
enum tbed_status tbed_session_start(const char *path, const struct tbed_writer_options *options,
                                    enum tbed_start start, struct tbed_error *error);
#endif
