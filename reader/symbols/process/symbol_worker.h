/*
 * The symbol reader's process: what it is asked, and what it answers.
 *
 * Debug files are read by libraries that may crash on hostile ones, so a process of its own reads them. It is forked
 * when the first module is asked for, has no more than a socket to its parent, and answers one request after another.
 * What it says is checked like a file.
 *
 * SPDX-License-Identifier: MIT
 */
#ifndef TRACEBED_SYMBOL_WORKER_H
#define TRACEBED_SYMBOL_WORKER_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#define SYMBOL_TEXT_MAX   65535u /* a longer name is cut */
#define SYMBOL_FRAMES_MAX 64u    /* at one address */

enum symbol_want {
    SYMBOL_WANT_FRAMES = 1,   /* files and lines too, not the symbol alone */
    SYMBOL_WANT_INLINES = 2,  /* inlined functions as frames of their own */
    SYMBOL_WANT_DEMANGLE = 4, /* names of C++ and Rust as their sources have them */
};

struct symbol_request { /* then the texts, then the program counters, rising */
    uint32_t wants;     /* enum symbol_want */
    uint32_t path_nbytes, build_id_nbytes, debug_path_nbytes;
    uint64_t pc_count;
};

/* Sent before debug information is opened, so that a death can be told with the file's name. */
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

/* Answers what comes in at 'fd' until that is closed. */
_Noreturn void tbed_symbol_worker_run(int fd, const char *debug_directories);

/* For tests: called in the worker's process before each request is answered. */
extern void (*tbed_symbol_worker_hook)(const char *path);

/* symbol_jail.c: gives up what a reader of files does not need, for good. */
void tbed_symbol_jail_enter(void);

/* symbol_jail.c: so much processor time for the next request. */
void tbed_symbol_jail_limit_time(unsigned seconds);

#endif
