/*
 * Runs commands of the program in this process.
 *
 * SPDX-License-Identifier: MIT
 */
#ifndef TRACEBED_FUZZ_TOOL_RUN_H
#define TRACEBED_FUZZ_TOOL_RUN_H

#include <stddef.h>
#include <stdint.h>

/* What a command wrote to standard output; valid until the next run. */
struct tool_output {
    int status;
    const char *text;
    size_t nbytes;
};

/*
 * Runs "tracebed ARGUMENT...", up to a NULL, in a folder of its own in memory, with nothing as its standard input. What
 * it writes to standard error is lost. Not for 'record', which starts programs.
 */
struct tool_output tool_run(const char *const *arguments);

/*
 * The same with defaults of options: 'variable' is TRACEBED_OPTIONS, 'file' the user's file of options; NULL: there is
 * none.
 */
struct tool_output tool_run_with_defaults(const char *const *arguments, const char *variable,
                                          const char *file);

/* Runs "tracebed --complete ARGUMENT...", in a child, because it ends the process. */
struct tool_output tool_complete_run(const char *const *arguments);

/* Puts a file into that folder. */
void tool_file_put(const char *name, const void *bytes, size_t nbytes);

/*
 * Puts samples there: the traces "a" and "b" of the same events, "a" as a profile "p" and as a log "l", packed as "k", a trace
 * "r" with something of most kinds, one with the clock of the machine "n", suppressions of leaks "s" and "v", and a script of SQL "q".
 */
void tool_samples_put(void);

#endif
