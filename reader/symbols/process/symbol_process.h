/*
 * The parent's side of the symbol reader's process: starting it, asking it, reaping it.
 *
 * SPDX-License-Identifier: MIT
 */
#ifndef TRACEBED_SYMBOL_PROCESS_H
#define TRACEBED_SYMBOL_PROCESS_H

#include "reader/symbols/process/symbol_worker.h"

#include <sys/types.h>

struct symbol_process {
    pid_t pid; /* 0: not running */
    int fd;
    uint64_t answered_count;
    const char *debug_directories;
    unsigned timeout_ms; /* for one request */
};

struct symbol_question {
    uint32_t wants;
    const char *path;
    const uint8_t *build_id;
    size_t build_id_nbytes;
    const char *debug_path; /* NULL: none */
    const uint64_t *pcs;
    size_t pc_count;
};

struct symbol_answer { /* start with zeros; free 'debug_path' and 'bytes' */
    bool has_files;    /* the three fields below are known */
    uint32_t state;
    bool has_debug;
    char *debug_path; /* may be the module's own; NULL: none */
    char *bytes;      /* the places */
    size_t nbytes;
};

#define SYMBOL_TROUBLE_NBYTES 128

/*
 * Sends a request and reads the answer. False: the process has died, and 'trouble' says why, for example "its reader
 * was killed by signal 11 (Segmentation fault)". What it had reported about the files by then is in '*answer'. The
 * next request starts another process.
 */
bool tbed_symbol_process_ask(struct symbol_process *process, const struct symbol_question *question,
                             struct symbol_answer *answer, char trouble[SYMBOL_TROUBLE_NBYTES]);

void tbed_symbol_process_end(struct symbol_process *process);

#endif
