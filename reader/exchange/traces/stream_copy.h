/*
 * Copies the steps of one stream, as the assembler shows them, into event blocks of a new trace.
 *
 * SPDX-License-Identifier: MIT
 */
#ifndef TRACEBED_STREAM_COPY_H
#define TRACEBED_STREAM_COPY_H

#include "reader/core/file/reader_state.h"
#include "reader/exchange/traces/out/block_out.h"
#include "reader/exchange/traces/out/id_map.h"

#include <tracebed/analysis.h>

/* One source of a new trace. */
struct copy_source {
    struct tbed_reader *reader;
    const struct tbed_filter *filter; /* NULL: everything */
    struct id_map ids;
    uint32_t first_stream; /* what is added to its numbers of streams */
    /* The new tick of a tick; NULL: ticks stay. */
    uint64_t (*tick)(const struct copy_source *source, uint64_t tick);
    int64_t shift_ns; /* for 'tick' */
};

static inline uint64_t tbed_copy_tick(const struct copy_source *source, uint64_t tick)
{
    return source->tick != NULL ? source->tick(source, tick) : tick;
}

struct initial_span {
    struct tbed_assembled span;
    size_t depth;
    bool is_inherited;
};

struct pending_span {
    uint64_t end_tick;
    bool is_open; /* it never ended */
};

struct stream_copy {
    struct copy_source *source;
    struct strings_out *strings;
    struct block_out out;
    uint64_t last_tick;                       /* the stream lasts until then */
    TBED_VECTOR(struct initial_span) initial; /* open at the start, the innermost first */
    struct tbed_lease lease;                  /* of their arguments */
    /* Spans without a known begin that could not be copied; spans that never ended, and end before a gap now. */
    uint64_t unknown_count, closed_count;
    TBED_VECTOR(struct pending_span) pending; /* no event ends them; the innermost first */
};

/* Errors: ERR_MEMORY; others are in the file. */
enum tbed_status tbed_stream_copy(struct stream_copy *copy, uint32_t stream);

#endif
