/*
 * Parents, depths and self times of spans, by the rule of statistics ("Nesting" in <tracebed/analysis.h>).
 *
 * That rule needs each stream from its last span to its first. A first pass over the streams keeps what blocks need of others:
 * which spans of later blocks are around their end, and the final self time of each such span. After that, any block can be read
 * alone, in any order. Memory grows with the spans that are not within a block.
 *
 * SPDX-License-Identifier: MIT
 */
#ifndef TRACEBED_TABLES_NESTING_H
#define TRACEBED_TABLES_NESTING_H

#include "reader/analysis/assembly/block_spans.h"
#include "reader/core/records/metadata.h"

struct nesting;

struct nesting_options {
    struct tbed_reader *reader;
    const struct tbed_filter *filter;
    const bool *is_cancelled;
    unsigned thread_count;
    uint64_t resolution; /* of ticks */
    uint32_t *passages;  /* struct look_back */
    const uint32_t *streams;
    size_t stream_count;
};

/* Makes the first pass. Errors: ERR_MEMORY, ERR_CANCELLED. */
enum tbed_status tbed_nesting_make(const struct nesting_options *options, struct nesting **nesting_ret);
void tbed_nesting_free(struct nesting *nesting); /* NULL is allowed */

/* Of a span. */
struct nested {
    uint64_t parent; /* its id; 0: none */
    uint32_t depth;
    int64_t self_ns; /* none for a span whose begin is unknown */
};

/* The work space of a thread; zeroed: empty. */
struct nesting_space {
    struct nesting_frame *frames;
    size_t room;
    struct tbed_tick_line line;
};
void tbed_nesting_space_free(struct nesting_space *space);

/* The id of a block's first span; that of the next is one higher. */
static inline uint64_t nesting_first_id(const struct tbed_block *block)
{
    /* There is at most one span for each word, and besides only some that are deeper than the block lists. */
    return block->offset / 4 + 1;
}

/* Fills an element for each of the items, which are those of block 'index'. False: no memory. */
bool tbed_nesting_block(const struct nesting *nesting, struct nesting_space *space, size_t index,
                        uint64_t first_id, const struct block_span *items, size_t count,
                        struct nested *nested_ret);

/* The time from one moment to a later one; the difference of two extremes is clamped. */
static inline int64_t nesting_ns_between(int64_t from, int64_t to)
{
    int64_t ns;
    return __builtin_sub_overflow(to, from, &ns) ? INT64_MAX : ns;
}

/* How long a span takes in nanoseconds. */
static inline int64_t nesting_duration(const struct tbed_reader *reader, struct tbed_tick_line *line,
                                       uint64_t resolution, uint64_t begin, uint64_t end)
{
    if (__builtin_expect(resolution > 1, 0)) {
        begin -= begin % resolution;
        end -= end % resolution;
    }
    if (begin >= end)
        return 0;
    return nesting_ns_between(tbed_tick_line_ns(reader, line, begin), tbed_tick_line_ns(reader, line, end));
}

#endif
