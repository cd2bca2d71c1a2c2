/*
 * The walk over everything that an export writes: trace by trace, thread by thread, in the order of the assembler's steps, and
 * at the end of each trace the live memory of its processes. What all formats count is counted here.
 *
 * SPDX-License-Identifier: MIT
 */
#ifndef TRACEBED_EXCHANGE_EXPORT_WALK_H
#define TRACEBED_EXCHANGE_EXPORT_WALK_H

#include "reader/exchange/events/export_names.h"
#include "reader/exchange/events/export_start.h"
#include "reader/exchange/events/export_threads.h"
#include "reader/exchange/shared/exchange_format.h"

#include <tracebed/analysis.h>

struct export_walk {
    const struct export_job *job;
    struct export_out *out; /* the walk gives out what comes together there; NULL: the format does */
    int64_t realtime_ns;    /* the wall clock at time 0, if 'has_realtime' */
    bool has_realtime;

    /* Of the current trace: */
    size_t trace;
    struct tbed_reader *reader;
    const struct tbed_filter *filter; /* NULL: everything */
    int64_t shift_ns;
    struct export_threads threads;
    struct export_names names;
    struct tbed_text message;

    const struct export_thread *thread; /* the current one; NULL for live memory */
    uint64_t allocation_count;          /* of the trace */
    struct export_pids taken;
    bool is_over; /* the format has no memory, or has failed to write */
};

/* What a format does. */
struct export_visitor {
    void (*open_trace)(void *context);
    void (*open_thread)(void *context);
    void (*step)(void *context, const struct tbed_step *step);
    void (*close_thread)(void *context);
    bool takes_allocations; /* 'step' writes allocation events, and there is no 'live' */
    /* Bytes live in a process; 0: streams without one. */
    void (*live)(void *context, uint64_t pid, int64_t ns, uint64_t nbytes);
    void (*close_trace)(void *context); /* may be NULL */
    void *context;
};

/* 'walk' has its first two members. Errors: ERR_MEMORY, ERR_CANCELLED; the error of the job is filled. */
enum tbed_status tbed_export_walk(struct export_walk *walk, const struct export_visitor *visitor);

void tbed_export_note(const struct export_walk *walk, enum tbed_export_note note, uint64_t count);

/* The time since the start of the first trace, never negative; counts what is earlier. */
int64_t tbed_export_time(const struct export_walk *walk, uint64_t tick);

struct export_span {
    int64_t begin, end; /* of an inverted span, both are its end */
    bool is_open, is_inverted;
    bool is_aside; /* it leaves its stack before or after its end */
};

/* For END and OPEN. */
struct export_span tbed_export_span(const struct export_walk *walk, const struct tbed_step *step);

/* The name of an id, valid until the next call. */
const struct export_name *tbed_export_name_of(struct export_walk *walk, uint32_t id);

/* The complete text of an id, valid until the next call. */
const char *tbed_export_text_of(struct export_walk *walk, uint32_t id, size_t *nbytes_ret);

/* The text of a message, valid until the next call. */
const struct tbed_text *tbed_export_message_of(struct export_walk *walk, const struct tbed_event *event);

/* "error" */
const char *tbed_export_severity(uint32_t severity);

/* The name of a process, as tbed_export_text_of(); for a profile of rustc, the crate. */
const char *tbed_export_process_name(struct export_walk *walk, size_t process, size_t *nbytes_ret);

#endif
