/*
 * Shared by the files of speedscope's profiles.
 *
 * SPDX-License-Identifier: MIT
 */
#ifndef TRACEBED_EXCHANGE_SPEEDSCOPE_H
#define TRACEBED_EXCHANGE_SPEEDSCOPE_H

#include "reader/exchange/speedscope/span_spool.h"
#include "reader/exchange/stacks/stack_sums.h"

struct speedscope_id {
    uint64_t key;    /* tbed_hashmap_key32() */
    uint64_t number; /* of its frame, from 1 */
};

struct speedscope_open { /* a span that goes on around those that are read */
    int64_t begin, end;
    uint32_t frame;
};

struct speedscope {
    const struct export_job *job;
    struct export_out *out;
    struct stack_sums sums;
    struct frame_table frames;
    bool needs_comma;
    bool is_out_of_memory;

    /* of one trace */
    struct tbed_reader *reader;
    struct tbed_trace_info info;
    TBED_HASHMAP(struct speedscope_id) ids; /* the frames of ids */

    /* of one thread: its spans; those for the next profile beside; the events of a profile, from the last to the first */
    struct span_spool spans, beside, events;
    TBED_VECTOR(struct speedscope_open) stack;
    int64_t earliest; /* of the events so far */
};

static inline bool tbed_speedscope_is_over(const struct speedscope *speedscope)
{
    return speedscope->is_out_of_memory || speedscope->spans.has_failed || speedscope->beside.has_failed ||
           speedscope->events.has_failed || !tbed_export_out_spill(speedscope->out);
}

/* "{"type":"evented","name":"…","unit":"nanoseconds" */
void tbed_speedscope_open_profile(struct speedscope *speedscope, const char *type, const char *name,
                                  size_t name_nbytes, const char *unit);

/* The process of this number. False: there is none. */
bool tbed_speedscope_process(struct tbed_reader *reader, uint32_t number,
                             struct tbed_process_info *process_ret);

/* Writes the profiles of a stream that has spans. */
enum tbed_status tbed_speedscope_stream(struct speedscope *speedscope, const struct tbed_stream_info *stream,
                                        const struct tbed_filter *filter);

enum tbed_status tbed_export_speedscope(const struct export_job *job, struct export_out *out);

#endif
