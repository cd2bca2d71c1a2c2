/*
 * Shared by the files of 'tracebed record'.
 *
 * SPDX-License-Identifier: MIT
 */
#ifndef TRACEBED_RECORD_VERB_H
#define TRACEBED_RECORD_VERB_H

#include <limits.h>

#include "reader/tools/plan/plan.h"
#include "reader/tools/shared/tool.h"
#include "writer/capture/launch/launch.h"

#define RECORD_NOT_STARTED    125 /* the program succeeded, but not its recorder; as env(1) has it */
#define RECORD_NOT_EXECUTABLE 126 /* exit codes as env(1) and the shells have them */
#define RECORD_NOT_FOUND      127

/* ---- record_run.c ---- */

/* Finds the library to preload. False, with a complaint, if it is missing or its path cannot be preloaded. */
#define RECORD_ALLOCATIONS_LIBRARY "libtracebed-preload.so"
#define RECORD_FUNCTIONS_LIBRARY   "libtracebed-functions.so"
bool record_library_find(const char *name, char path_ret[PATH_MAX]);
/* Removes the link made by the above, if any; programs started later are not recorded. */
void record_library_forget(void);

/* Sets the environment that the library reads; without a trace, it records nothing. */
void record_environment_set(const char *library, const char *trace);

/*
 * Starts the program and waits for it. 'switches_ret': NULL, or where to put the switches of its threads. False if it could
 * not be started; '*errno_ret' has the reason, or 0 after a complaint.
 */
struct record_switches;
bool record_program_run(char **argv, struct record_switches **switches_ret, int *wait_status_ret,
                        int *errno_ret);

/* ---- record_switches.c: --off-cpu ---- */

/* Follows the program, which has not been executed yet. NULL, with a complaint: the kernel does not let us. */
struct record_switches *record_switches_open(pid_t pid);
/* Takes what the kernel tells until the program has ended. */
void record_switches_follow(struct record_switches *switches, pid_t pid);
/* Adds the switches to the trace, which is sealed. False after a complaint. */
bool record_switches_add(struct record_switches *switches, const char *path);
void record_switches_close(struct record_switches *switches); /* NULL is allowed */
/* Does the kernel allow it? Returns 0, or an errno; '*remedy_ret' is what to do then, or untouched. */
int record_switches_try(const char **remedy_ret);

/* ---- record_allocations.c ---- */

struct record_allocations {
    bool light, mappings;
    unsigned frame_count; /* of stacks; 0: the caller only */
    bool by_frame_pointer;
};

/* Parses the argument of --stacks, or NULL if it has none. False if it is invalid. */
bool record_stacks_parse(const char *text, struct record_allocations *allocations);
void record_allocations_set(const struct record_allocations *allocations);

/* ---- record_limits.c: --max-size and --ring ---- */

struct record_limits {
    uint64_t max_nbytes;  /* 0: the library's own */
    uint64_t ring_nbytes; /* 0: everything is kept */
};

/* Parses "1G", "64M", "500K" or a number of bytes. False, with a complaint, if it is invalid. */
bool record_size_parse(const char *option, const char *text, uint64_t *nbytes_ret);
/* False, with a complaint, if the limits contradict each other. */
bool record_limits_check(const struct record_limits *limits);
/* 'name' is the variable that the recorder reads. */
void record_limits_environment_set(const struct record_limits *limits, const char *name);

/* ---- record_series.c: --rotate ---- */

struct record_series { /* at most one of the first two is set; neither: a single file */
    uint64_t nbytes, interval_ns;
    uint64_t keep; /* closed files; 0: all */
};

/* Parses "64M", "60s" or "64M,10". False, with a complaint, if it is invalid. */
bool record_series_parse(const char *text, struct record_series *series_ret);
bool record_series_is_wanted(const struct record_series *series);
/* 'name' is the variable that the recorder reads. */
void record_series_environment_set(const struct record_series *series, const char *name);
/* Calls 'act' for each closed file of the series, and for those of other processes, in any order; returns the count. */
size_t record_series_for_each(const char *path, void (*act)(const char *path, void *context), void *context);

/* ---- record_old.c: a trace that is there already ---- */

/*
 * Moves the trace at 'path', if there is one, to PATH.old, which is replaced, and says so; also the files of its series.
 * '*old_ret' is that name, which the caller frees; NULL: there was none. False, with a complaint, if it must not be moved.
 */
bool record_old_move(const char *path, char **old_ret);
/* Moves it back, because nothing was recorded. 'old' may be NULL. */
void record_old_move_back(const char *path, const char *old);
/* Keeps other recordings from moving the new trace until the descriptor is closed; -1: it could not be opened. */
int record_old_hold(const char *path);

/* ---- record_pack.c: --pack ---- */

struct record_packing {
    int stop_fd;
    int helper;
};

/* Starts a process that packs the closed files of the series at 'path'; the trace need not exist. */
void record_packing_start(struct record_packing *packing, const char *path);
/* Ends it, when it is done with the file at hand. */
void record_packing_stop(const struct record_packing *packing);
/* Packs what is left, once all files are sealed. */
void record_packing_finish(const char *path);

/* ---- record_functions.c: --functions ---- */

struct record_functions {
    bool is_wanted;
    uint32_t depth;      /* 0: any */
    uint64_t minimum_ns; /* 0: any duration */
    struct plan_rules rules;
    struct plan_rules arguments; /* whose arguments are recorded */
    const char *libcalls; /* the modules whose calls of library functions are; "": the program; NULL: none */
    struct plan_server server;
};

/* Adds the pattern of a --filter or --exclude option. False, with a complaint, if it is invalid. */
bool record_functions_add(struct record_functions *functions, const char *pattern, bool leaves_out);
/* The modules of --libcalls, or NULL for the program. False, with a complaint, if this machine does not have it. */
bool record_functions_set_libcalls(struct record_functions *functions, const char *pattern);
/* Adds the pattern of --args, or NULL if it has none. False, with a complaint, if it is invalid. */
bool record_functions_add_arguments(struct record_functions *functions, const char *pattern);
/* False, with a complaint, if an option is invalid or they contradict each other. */
bool record_functions_depth(struct record_functions *functions, const char *text);
bool record_functions_minimum(struct record_functions *functions, const char *text);
bool record_functions_check(const struct record_functions *functions);
/* Warns if the program itself calls no hooks. False, with a complaint, if it cannot be recorded as requested. */
bool record_functions_accept(const struct record_functions *functions, const char *name, const char *path);
/*
 * Around the program: sets its environment and answers its processes. The second is false, with a complaint, if a pattern
 * matched nothing; 'result' is the status to exit with.
 */
bool record_functions_begin(struct record_functions *functions);
bool record_functions_end(struct record_functions *functions, int result);
void record_functions_free(struct record_functions *functions);

/* ---- record_ruby.c: Ruby programs, recorded by the extension instead of the preloaded library ---- */

struct record_ruby {
    const char *allocations; /* "light", "full" or "none" */
    unsigned stack_depth;    /* 0: locations only */
    bool calls;
    char *patterns;      /* of calls, one per line, "!" in front of those left out; NULL: all calls */
    uint32_t call_depth; /* 0: any */
    uint64_t minimum_ns; /* of calls; 0: any */
    int notes_fd;        /* what the program's processes say about their calls; -1: nothing */
};
/* Parses a list such as "full,calls", or NULL for the default. Returns NULL, or what is wrong. */
const char *record_ruby_parse(const char *text, struct record_ruby *ruby_ret);
/* Takes --filter, --exclude, --depth and --minimum-duration over. False, with a complaint, if an option does not apply. */
bool record_ruby_take_functions(struct record_ruby *ruby, struct record_functions *functions);
/* Finds the directory of the extension. False, with a complaint, if there is none. */
bool record_ruby_find(char path_ret[PATH_MAX]);
/* Has a library preloaded that sees Ruby started without that environment; without it, nobody does. */
void record_ruby_watch(void);
/* Also opens the notes. */
void record_ruby_environment_set(struct record_ruby *ruby, const char *folder, const char *trace);

/* ---- record_ruby_notes.c ---- */

/* Makes a file for notes, and sets the environment. -1: there is none. */
int record_ruby_notes_open(void);
/*
 * Prints what was left out, and the patterns that matched nothing. False if one of those that choose did. Frees what is in
 * 'ruby'.
 */
bool record_ruby_end(struct record_ruby *ruby, const char *path, bool is_run);

/* ---- record_summary.c: sealing and reporting ---- */

/*
 * Seals the trace, or every file of a series, and reports problems on standard error; also a summary if 'verbose'. False
 * if nothing was recorded because no recorder could start.
 */
bool record_finish(const char *path, bool is_series, bool is_ruby, const struct launch_notes *notes,
                   bool verbose);

/* ---- record_notes.c ---- */

/* Prints what could not be recorded. True if a recorder was loaded and could not start. */
bool record_notes_tell(const char *path, const struct launch_notes *notes);

#endif
