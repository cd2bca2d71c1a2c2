/*
 * What a helper program of the preload tests keeps of its own calls: a file, mapped and shared, in which
 * every call is an entry, in order of time for each thread. It survives exec, fork and SIGKILL, and needs no
 * descriptor.
 *
 * The helper's calls go through functions of their own, 'wrappers', so that the test knows where each came
 * from.
 *
 * SPDX-License-Identifier: MIT
 */
#ifndef TRACEBED_PRELOAD_LOG_H
#define TRACEBED_PRELOAD_LOG_H

#include <stdint.h>

#define LOG_ENTRY_COUNT_MAX   2000000u
#define LOG_WRAPPER_COUNT_MAX 64u
#define LOG_WRAPPER_NBYTES    2048u /* none is longer */

enum log_call { LOG_ALLOC, LOG_FREE, LOG_REALLOC };

struct log_wrapper {
    char module[32];  /* base name of the file it is in */
    uint64_t address; /* as the ELF file has it */
};

struct log_entry {
    uint32_t pid, tid;
    uint8_t call;        /* enum log_call */
    uint8_t function;    /* enum tbed_alloc_function */
    uint8_t wrapper;     /* index */
    uint8_t is_complete; /* atomic; stored last */
    uint64_t address;    /* 0: it failed */
    uint64_t old_address, nbytes;
};

struct log_file {
    uint64_t entry_count;   /* atomic */
    uint64_t wrapper_count; /* atomic */
    uint64_t result;        /* anything that a mode reports */
    uint64_t handler;       /* 1 + the wrapper that is a signal handler; 0: there is none */
    struct log_wrapper wrappers[LOG_WRAPPER_COUNT_MAX];
    struct log_entry entries[LOG_ENTRY_COUNT_MAX];
};

#endif
