/*
 * The state of a statistics worker that reads a trace.
 *
 * SPDX-License-Identifier: MIT
 */
#ifndef TRACEBED_TRACE_WORKER_H
#define TRACEBED_TRACE_WORKER_H

#include "reader/analysis/assembly/block_spans.h"
#include "reader/analysis/off_cpu/off_cpu.h"
#include "reader/analysis/statistics/span_walk.h"
#include "reader/analysis/sums/ended.h"
#include "reader/analysis/trace/row_keys.h"

/* A span that is open in the regular loop. */
struct regular_frame {
    uint64_t begin_tick;
    uint64_t self; /* ticks for which it was the innermost one; used by one of the loops */
    uint32_t id, row;
};

struct trace_source {
    struct tbed_reader *reader;
    struct tbed_analysis_options options;
    struct row_keys keys;
    struct argument_sets arguments;
    uint32_t *passages;  /* struct look_back */
    uint8_t *is_general; /* by the number of a stream's first block; atomic */
    struct off_cpu off_cpu;
    bool must_repeat; /* atomic: a stream that was taken as regular turned out not to be */
    size_t *blocks;   /* the numbers of those that are read: the chunks */
    size_t block_count;
};

#define TRACE_STRING_BLOCKS 16u

struct trace_worker {
    struct stat_worker *worker;
    const struct trace_source *source;
    size_t index; /* of the block */
    struct block_spans spans;
    struct regular_frame *frames; /* [0] stands for everything around the known spans */
    size_t frame_room;
    struct stat_ended ended[STAT_ENDED_MAX]; /* not yet added to their cells */
    size_t ended_count;
    uint8_t next_tags[4096]; /* regular_loops.c: a guess at which loop is the faster one */
    uint32_t look_stream;
    uint32_t look_count;
    bool is_predictable;
    struct number_map argument_numbers;
    struct stable_block stable;                     /* holds a regular block */
    struct tbed_block strings[TRACE_STRING_BLOCKS]; /* the string blocks of earlier lookups, by their page */
};

/* How many spans a forked child goes on with that its parent began; counted in the first block of its stream. */
static inline uint64_t trace_inherited_count(const struct tbed_block *block)
{
    uint64_t count = 0;
    if (block->sequence != 0)
        return 0;
    for (uint32_t i = 0; i < block->stored_count; i++)
        count += tbed_block_span_is_inherited(block, i);
    return count;
}

/* The number of arguments; the worker's memory may have run out. */
uint32_t tbed_stat_arguments_number(struct trace_worker *trace, const struct tbed_arguments *arguments,
                                    uint32_t count);

/* Takes an event that neither begins nor ends a span; 'word' is its position in the block. */
void tbed_stat_take_other(struct trace_worker *trace, const struct tbed_event *event, uint32_t stream,
                          size_t word);

/* The same, in a recount of cache hits. */
void tbed_stat_recount_other(struct trace_worker *trace, const struct tbed_event *event, uint32_t stream,
                             size_t word);

/*
 * Takes the block if it is regular: only begins and ends of spans that nest by the stack, ticks that do not
 * decrease, and no category that counts. False: it is not, and the sums already taken from it are unusable.
 */
bool tbed_stat_take_regular(struct trace_worker *trace, size_t index);

/* tbed_statistics_make() for its test: 'all_general' takes every stream in the general way. */
enum tbed_status tbed_stat_make_trace(struct tbed_reader *reader, const struct tbed_analysis_options *options,
                                      bool all_general, struct tbed_statistics **statistics_ret);

/* Judging by its first events, is the block regular? */
bool tbed_stat_looks_regular(const struct tbed_block *block);

#endif
