/*
 * What 'tracebed record' tells the programs that it runs, in their environment, whichever of our libraries records them:
 * the preloaded ones, and the macros of a program that starts no trace of its own.
 *
 * SPDX-License-Identifier: MIT
 */
#ifndef TRACEBED_WRITER_RECORDED_H
#define TRACEBED_WRITER_RECORDED_H

#include <stdbool.h>

#define TBED_ENV_FILE "TRACEBED_RECORD_FILE" /* the absolute path of the trace; for the macros */
#define TBED_ENV_MAX  "TRACEBED_RECORD_MAX"  /* the limit of the file's size in bytes */
/* A series of files: "NBYTES,INTERVAL_NS,KEEP", as in the writer's options. */
#define TBED_ENV_ROTATE "TRACEBED_RECORD_ROTATE"
#define TBED_ENV_CLOCK  "TRACEBED_RECORD_CLOCK" /* of a file that is new: "tsc" or "monotonic" */
/* How many filters of system calls 'tracebed record' has. */
#define TBED_ENV_FILTERS "TRACEBED_RECORD_FILTERS"

/* ---- recorded_filters.c: processes that begin inside a sandbox ---- */

/* Sets TBED_ENV_FILTERS. */
void tbed_recorded_filters_set(void);
/* This process has more than that. Makes no system call that the loader does not make to start a program. */
bool tbed_recorded_is_confined(void);

#endif
