/*
 * The symbol reader's process: its requests and its answers.
 *
 * Debug files are read by libraries that may crash on hostile ones, so a separate process reads them. It is forked
 * for the first request, has nothing but a socket to its parent, and answers one request after another. Its answers
 * are checked like a file.
 *
 * SPDX-License-Identifier: MIT
 */
#ifndef TRACEBED_SYMBOL_WORKER_H
#define TRACEBED_SYMBOL_WORKER_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#define SYMBOL_TEXT_MAX   65535u /* longer names are cut */
#define SYMBOL_FRAMES_MAX 64u    /* at one address */

enum symbol_want {
    SYMBOL_WANT_FRAMES = 1,     /* files and lines too, not only the symbol */
    SYMBOL_WANT_INLINES = 2,    /* inlined functions as frames of their own */
    SYMBOL_WANT_DEMANGLE = 4,   /* demangle names of C++ and Rust */
    SYMBOL_WANT_LIST = 8,       /* all functions, instead of places */
    SYMBOL_WANT_ARGUMENTS = 16, /* with LIST and FRAMES: what is known about their arguments */
};

struct symbol_request { /* followed by the texts, then the program counters in ascending order */
    uint32_t wants;     /* enum symbol_want */
    uint32_t path_nbytes, build_id_nbytes, debug_path_nbytes;
    uint64_t pc_count;
};

/* Sent before debug information is opened, so that a crash can be reported with the file's name. */
struct symbol_files_reply { /* then the path of the debug file */
    uint32_t state;         /* enum tbed_symbols_state */
    uint32_t has_debug;
    uint64_t path_nbytes; /* 0: there is none */
};

struct symbol_reply { /* then, for each program counter: */
    uint64_t nbytes;
};

struct symbol_reply_place { /* then the symbol's name and its function's, then the frames */
    uint64_t offset;        /* in the symbol */
    uint32_t symbol_nbytes; /* 0: there is none */
    uint32_t function_nbytes;
    uint64_t frame_count;
};

struct symbol_reply_frame { /* then the names */
    uint32_t line;
    uint16_t function_nbytes, file_nbytes;
};

/*
 * Then four texts, each terminated: the symbol, its demangled name without and with arguments, and its file, which may be
 * empty; and the description of its arguments (writer/capture/launch/launch_arguments.h).
 */
struct symbol_reply_function {
    uint64_t start, nbytes;
    uint32_t line;
    uint32_t arguments_nbytes; /* 0: nothing is known */
};

/* Answers requests from 'fd' until it is closed. */
_Noreturn void tbed_symbol_worker_run(int fd, const char *debug_directories);

/* For tests: called in the worker's process before each request is answered. */
extern void (*tbed_symbol_worker_hook)(const char *path);

/* For tests: frees the module cache of a worker in this process, which must have ended or be waiting for a request. */
void tbed_symbol_worker_forget(void);

/* symbol_jail.c: permanently gives up everything that reading files does not need. */
void tbed_symbol_jail_enter(void);

/* symbol_jail.c: closes all descriptors from 'first' on, or ends the process. */
void tbed_symbol_jail_close(int first);

/* symbol_jail.c: limits the processor time of the next request. */
void tbed_symbol_jail_limit_time(unsigned seconds);

#endif
