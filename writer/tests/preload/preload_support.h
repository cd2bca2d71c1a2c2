/*
 * What the tests of the preloaded recorder share: programs run with and without it, and the comparison of a
 * helper's own log with its trace.
 *
 * SPDX-License-Identifier: MIT
 */
#ifndef TRACEBED_PRELOAD_SUPPORT_H
#define TRACEBED_PRELOAD_SUPPORT_H

#include "writer/tests/preload/preload_log.h"
#include "writer/tests/support.h"

/* Programs that are built without sanitisers, as the library is. The path is absolute. */
const char *preload_path(const char *name);

struct preload_command {
    const char *const *argv;
    const char *trace;     /* NULL: not recorded */
    void (*prepare)(void); /* in the child, before exec; NULL: nothing */
    const char *variable;  /* one more of the environment: "NAME=value" */
};

struct preload_outcome {
    int status;   /* as waitpid() has it */
    char *output; /* both streams; the caller's to free() */
    size_t nbytes;
};

struct preload_outcome preload_run(const struct preload_command *command);

/* Runs 'argv' twice, and fails the test unless output and status are the same. The trace is new, and sealed. */
void preload_run_both(const char *const *argv, const char *trace, void (*prepare)(void));

/* Fails the test unless the trace can be sealed, and is intact then. The reader is the caller's. */
struct tbed_reader *preload_open(const char *trace);

enum preload_comparison {
    PRELOAD_EXACT,      /* every call is there, in each thread's order */
    PRELOAD_SEQUENTIAL, /* the same, but by process: one thread at a time, streams are shared */
    PRELOAD_DROPPED,    /* what is missing in each thread is what is counted as dropped */
};

/* Fails the test unless the trace has what the log has, and nothing else from the helper's wrappers. */
void preload_compare(struct tbed_reader *reader, const char *log, enum preload_comparison comparison);

/* Opens a helper's log; the caller's to munmap(), sizeof(struct log_file). */
struct log_file *preload_log_open(const char *log);

#endif
