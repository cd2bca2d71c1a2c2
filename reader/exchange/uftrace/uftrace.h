/*
 * Declarations shared by the import of uftrace's data directory.
 *
 * The folder has 'info' (a header and lines of text), 'task.txt' (sessions, threads, forks, loaded libraries), for each
 * thread TID.dat (records), for each session sid-SID.map (as in /proc/PID/maps), and for each module NAME.sym (addresses
 * and names) and NAME.dbg (the arguments of functions). All numbers in TID.dat are little-endian.
 *
 * SPDX-License-Identifier: MIT
 */
#ifndef TRACEBED_EXCHANGE_UFTRACE_H
#define TRACEBED_EXCHANGE_UFTRACE_H

#include "reader/core/base/vector.h"
#include "reader/exchange/shared/import_trace.h"
#include "reader/exchange/shared/mapped_file.h"

#define UFTRACE_PATH_NBYTES 4096
#define UFTRACE_NAME_NBYTES 256 /* of a file in the folder */

/* A piece of a mapped file. */
struct uftrace_text {
    const char *at;
    size_t nbytes;
};

struct uftrace_symbol {
    uint64_t address, nbytes;
    struct uftrace_text name;
    uint32_t id;                     /* of the string; 0: not stored yet */
    struct uftrace_text entry, exit; /* specifications of arguments, from the .dbg file */
};

struct uftrace_module {
    struct uftrace_text path;
    struct mapped_file symbol_file, debug_file;
    TBED_VECTOR(struct uftrace_symbol) symbols; /* by address */
};

struct uftrace_mapping {
    uint64_t start, end, time;
    uint32_t module;
};

struct uftrace_session {
    struct uftrace_text sid, program;
    uint32_t pid;
    uint64_t time;
    struct mapped_file map_file;
    TBED_VECTOR(struct uftrace_mapping) mappings;
};

struct uftrace_task {
    uint32_t tid, pid;
    uint32_t parent; /* the pid of the process that it was forked from; 0: none */
    bool has_file;
};

struct uftrace {
    char path[UFTRACE_PATH_NBYTES];
    struct mapped_file info_file, task_file;
    uint32_t version;
    bool is_32_bit, has_auto_arguments;
    struct uftrace_text argument_specs, return_specs, auto_argument_specs, auto_return_specs;
    struct uftrace_text command, program, date;
    uint64_t nbytes; /* of all files that were read */
    TBED_VECTOR(struct uftrace_task) tasks;
    TBED_VECTOR(struct uftrace_session) sessions;
    TBED_VECTOR(struct uftrace_module) modules;
    struct tbed_import_report *report;
    bool is_out_of_memory;
};

static inline uint32_t uftrace_load_u32(const uint8_t *at)
{
    return (uint32_t)at[0] | (uint32_t)at[1] << 8 | (uint32_t)at[2] << 16 | (uint32_t)at[3] << 24;
}

static inline uint64_t uftrace_load_u64(const uint8_t *at)
{
    return uftrace_load_u32(at) | (uint64_t)uftrace_load_u32(at + 4) << 32;
}

/* ---- uftrace_files.c ---- */

/* Maps a file of the folder; an empty one if it cannot be read. False: it cannot. */
bool tbed_uftrace_map(struct uftrace *folder, const char *name, struct mapped_file *file_ret);

/* Takes the next line, without its end, off the text. False: there are no more. */
bool tbed_uftrace_line(struct uftrace_text *text, struct uftrace_text *line_ret);

/* ---- uftrace_folder.c ---- */

/* Reads everything but the records. */
void tbed_uftrace_read(struct uftrace *folder);
void tbed_uftrace_free(struct uftrace *folder);

/* ---- uftrace_symbols.c ---- */

/* Reads the mappings of a session, and the symbols of its modules. */
void tbed_uftrace_map_session(struct uftrace *folder, struct uftrace_session *session);
void tbed_uftrace_load_library(struct uftrace *folder, struct uftrace_session *session,
                               const struct uftrace_text *path, uint64_t base, uint64_t time);

/* The function at an address of a process at a time; NULL: unknown. */
struct uftrace_symbol *tbed_uftrace_symbol(struct uftrace *folder, const struct uftrace_task *task,
                                           uint64_t time, uint64_t address);

/* ---- uftrace_arguments.c ---- */

#define UFTRACE_ARGUMENTS_MAX 16

struct uftrace_arguments {
    struct tbed_argument items[UFTRACE_ARGUMENTS_MAX];
    size_t count;
    char bytes[UFTRACE_ARGUMENTS_MAX]; /* of arguments that are a character */
};

/*
 * Reads the arguments (or the returned value) of a function that lie at 'at' by the specification 'which', of which
 * there are UFTRACE_SPEC_COUNT. Returns their length, padded; 0: there is no such specification, or it does not fit.
 */
#define UFTRACE_SPEC_COUNT 3
size_t tbed_uftrace_arguments(struct uftrace *folder, struct import_trace *trace,
                              const struct uftrace_symbol *symbol, bool is_exit, unsigned which,
                              const uint8_t *at, size_t left, struct uftrace_arguments *arguments_ret);

/* ---- uftrace_records.c ---- */

/* The time of the first record of a thread's file; UINT64_MAX: none. */
uint64_t tbed_uftrace_first_time(const struct mapped_file *file);

/* Imports the records of a thread. */
void tbed_uftrace_import_task(struct uftrace *folder, struct import_trace *trace,
                              const struct uftrace_task *task, const struct mapped_file *file,
                              const char *name, uint64_t first_time);

#endif
