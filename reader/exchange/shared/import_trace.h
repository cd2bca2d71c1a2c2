/*
 * A trace that is made from a file of another tool: its processes and threads, events with their ticks, strings, and what
 * the report says about them. For formats whose spans begin and end in separate events.
 *
 * SPDX-License-Identifier: MIT
 */
#ifndef TRACEBED_EXCHANGE_IMPORT_TRACE_H
#define TRACEBED_EXCHANGE_IMPORT_TRACE_H

#include "reader/core/base/hashmap.h"

#include <tracebed/exchange.h>
#include <tracebed/writer.h>

#define IMPORT_THREADS_MAX 65536u
#define IMPORT_FIRST_TICK  1u /* a span begun at tick 0 could not be told from one whose begin is unknown */

struct import_thread {
    uint64_t key;
    struct tbed_recorder *recorder;
    uint64_t last_tick;
    uint64_t depth;
    uint32_t pid, tid;
};

struct import_process {
    uint64_t key;    /* tbed_hashmap_key32() of the pid */
    uint32_t number; /* 0: the writer's own */
};

struct import_trace {
    struct tbed_writer *writer;
    struct tbed_import_report *report;
    TBED_HASHMAP(struct import_process) processes;
    TBED_HASHMAP(struct import_thread) threads;
    uint32_t last_string; /* ids of strings rise */
    bool is_out_of_memory;
};

/* How the trace begins. */
struct import_start {
    uint32_t pid;        /* of the first process; 0: unknown */
    const char *name;    /* its name; not NULL */
    int64_t realtime_ns; /* CLOCK_REALTIME at tick 0; 0: unknown */
    const char *unit;    /* what ticks count, at most 16 bytes; NULL: they are nanoseconds */
};

/* Begins a trace in 'fd', a new file. Close it in any case. Errors: those of tbed_writer_open_fd(). */
enum tbed_status tbed_import_trace_open(struct import_trace *trace, int fd, const struct import_start *start,
                                        struct tbed_import_report *report, struct tbed_error *error_ret);

/*
 * Ends it. 'status' is that of the work so far; it is returned unless it is OK and something else went wrong. Fills the
 * error in either case.
 */
enum tbed_status tbed_import_trace_close(struct import_trace *trace, enum tbed_status status,
                                         struct tbed_error *error_ret);

/* Describes another process, which may be the first again: then nothing happens. 'parent' is a pid; 0: unknown. */
void tbed_import_process(struct import_trace *trace, uint32_t pid, const char *name, uint32_t parent);

/*
 * The thread, new if it is not known yet; its process gets an empty name if it was not described. 'name' may be NULL.
 * Valid until the next call. NULL: there are too many, or no memory; the trace knows which.
 */
struct import_thread *tbed_import_thread(struct import_trace *trace, uint32_t pid, uint32_t tid,
                                         const char *name);

/* The id of a text; TBED_ID_INVALID for an empty one. */
uint32_t tbed_import_string(struct import_trace *trace, const char *text, size_t nbytes);

/*
 * Records the event and counts it by its type. An END without a BEGIN on its thread is counted and left out. 'thread' may
 * be NULL: then the event is counted as one of too many threads.
 */
void tbed_import_event(struct import_trace *trace, struct import_thread *thread,
                       const struct tbed_given_event *event);

/* ---- The report ---- */

void tbed_import_damaged(struct tbed_import_report *report, enum tbed_status status, uint32_t file,
                         uint64_t offset, uint64_t detail);

/* The index of a file's name in the report, for damage in a folder. */
uint32_t tbed_import_file(struct tbed_import_report *report, const char *name);

/* An argument that is a text. */
static inline struct tbed_argument tbed_import_text(uint32_t name_id, const char *text, size_t nbytes)
{
    return (struct tbed_argument){
        .type = TBED_ARG_TEXT, .name_id = name_id, .nbytes = (uint32_t)nbytes, .value.text = text};
}

#endif
