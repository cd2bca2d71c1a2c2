/*
 * Options that are in force without being typed: those of the user's file of options, and of TRACEBED_OPTIONS.
 *
 * SPDX-License-Identifier: MIT
 */
#ifndef TRACEBED_DEFAULTS_H
#define TRACEBED_DEFAULTS_H

#include <stdbool.h>
#include <stddef.h>

struct defaults_option {
    const char *command; /* "": all commands */
    const char *text;    /* "--limit=20" */
    const char *source;  /* the path of the file, or the name of the variable */
    unsigned line;       /* of the file; 0: the variable */
};

/* Reads them all. Returns NULL, or what is wrong, valid until the next call. */
const char *defaults_load(bool (*is_command)(const char *name));

/* What was wrong when they were read; NULL: nothing. */
const char *defaults_problem(void);

/* The path of the file, whether it exists or not; NULL: the user has no home. */
const char *defaults_path(void);

/* The index-th; NULL if there are not so many. */
const struct defaults_option *defaults_get(size_t index);
/* The same of those that apply to a command. */
const struct defaults_option *defaults_of(const char *command, size_t index);

/* The arguments with the command's defaults behind the first; '*argc' becomes their count. The caller frees the array. */
char **defaults_insert(const char *command, int *argc, char **argv);

/* "FILE, line 3" or the name of the variable, for messages; valid until the next call. */
const char *defaults_place(const struct defaults_option *option);

#endif
