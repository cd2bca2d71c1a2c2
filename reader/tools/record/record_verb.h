/*
 * What the files of 'tracebed record' share.
 *
 * SPDX-License-Identifier: MIT
 */
#ifndef TRACEBED_RECORD_VERB_H
#define TRACEBED_RECORD_VERB_H

#include <limits.h>

#include "reader/tools/shared/tool.h"

#define RECORD_NOT_EXECUTABLE 126 /* exit codes as env(1) and the shells have them */
#define RECORD_NOT_FOUND      127

/* ---- record_program.c: what will be started, and whether the recorder can be loaded into it ---- */

enum record_verdict {
    RECORD_FINE,
    RECORD_MISSING,     /* no such file */
    RECORD_NOT_ALLOWED, /* a directory, or not executable */
    RECORD_STATIC,      /* no dynamic loader runs in it */
    RECORD_OTHER_MACHINE,
};

struct record_program {
    char path[PATH_MAX]; /* of the file that decided: an interpreter, if the program is a script */
    bool is_script;
    bool is_privileged; /* setuid, setgid or with capabilities that we do not have: the loader refuses us */
};
enum record_verdict record_program_check(const char *name, struct record_program *program_ret);

/* ---- record_run.c ---- */

/* The library to preload, by name; false: not found, or its path cannot be told to the loader (complained). */
#define RECORD_ALLOCATIONS_LIBRARY "libtracebed-preload.so"
#define RECORD_FUNCTIONS_LIBRARY   "libtracebed-functions.so"
bool record_library_find(const char *name, char path_ret[PATH_MAX]);
/* Removes what the above had to make; programs that are started from then on are not recorded any more. */
void record_library_forget(void);

/* Sets what the library reads, for whatever is started from here on. */
void record_environment_set(const char *library, const char *trace);

/* Starts the program and waits for it. False: it could not be started, '*errno_ret' says why. */
bool record_program_run(char **argv, int *wait_status_ret, int *errno_ret);

/* ---- record_allocations.c ---- */

struct record_allocations {
    bool light, mappings;
    unsigned frame_count; /* of stacks; 0: the caller only */
    bool by_frame_pointer;
};

/* The argument of --stacks; NULL: none was given. False: it is not one. */
bool record_stacks_parse(const char *text, struct record_allocations *allocations);
void record_allocations_set(const struct record_allocations *allocations);

/* ---- record_limits.c: how much is kept ---- */

struct record_limits {
    uint64_t max_nbytes;  /* 0: the library's own */
    uint64_t ring_nbytes; /* 0: everything is kept */
};

/* "1G", "64M", "500K", bytes. False: none (complained). */
bool record_size_parse(const char *option, const char *text, uint64_t *nbytes_ret);
/* False: they do not fit together (complained). */
bool record_limits_check(const struct record_limits *limits);
/* The variable is that of the recorder. */
void record_limits_environment_set(const struct record_limits *limits, const char *name);

/* ---- record_series.c: --rotate ---- */

struct record_series { /* one of the first two, or neither: it is one file */
    uint64_t nbytes, interval_ns;
    uint64_t keep; /* closed files; 0: all */
};

/* "64M", "60s", "64M,10". False: none (complained). */
bool record_series_parse(const char *text, struct record_series *series_ret);
bool record_series_is_wanted(const struct record_series *series);
/* The variable is that of the recorder. */
void record_series_environment_set(const struct record_series *series, const char *name);
/* The other files of a series, and those of its program's other processes, in any order; the count. */
size_t record_series_for_each(const char *path, void (*act)(const char *path));

/* ---- record_functions.c: what --functions has ---- */

struct record_functions {
    bool is_wanted;
    char *filter;   /* a pattern a line, '!' before one that leaves out; NULL: all */
    uint32_t depth; /* 0: any */
};

/* One more pattern; the options --filter and --exclude. */
void record_functions_add(struct record_functions *functions, const char *pattern, bool leaves_out);
/* False: the options do not fit together, or are none (complained). */
bool record_functions_depth(struct record_functions *functions, const char *text);
bool record_functions_check(const struct record_functions *functions);
/* Says so if the program calls no hooks by itself. */
void record_functions_warn(const char *name, const char *path);
void record_functions_environment_set(const struct record_functions *functions);

/* ---- record_ruby.c: Ruby programs, by the extension instead of the preloaded library ---- */

struct record_ruby {
    const char *allocations; /* "light", "full" or "none" */
    bool calls;
};
/* "full,calls", NULL: the default. False: it has a word that means nothing. */
bool record_ruby_parse(const char *text, struct record_ruby *ruby_ret);
/* The folder with the extension; false: not found (complained). */
bool record_ruby_find(char path_ret[PATH_MAX]);
void record_ruby_environment_set(const struct record_ruby *ruby, const char *folder, const char *trace);

/* ---- record_summary.c: what has become of the trace ---- */

/* Seals the trace, or all of a series, and tells on standard error what there is to tell; all of it if 'verbose'. */
void record_finish(const char *path, bool is_series, bool verbose);

#endif
