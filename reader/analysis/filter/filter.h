/*
 * The inside of a filter: what it asks of spans and events, and how a walk over blocks keeps to its window.
 *
 * A NULL filter takes everything.
 *
 * SPDX-License-Identifier: MIT
 */
#ifndef TRACEBED_FILTER_STATE_H
#define TRACEBED_FILTER_STATE_H

#include "reader/analysis/shared/number_map.h"

#include <pthread.h>
#include <regex.h>
#include <tracebed/analysis.h>

/* The time of spans with a label of 'inside', by stream, in order; they may touch, but do not overlap. */
struct filter_range {
    uint64_t begin, end; /* inclusive */
};

struct filter_ranges {
    struct filter_range *items;
    size_t count, room;
};

#define FILTER_SEEN_MAX 256

struct filter_texts {
    char **items;
    size_t *nbytes;
    bool *found; /* was there a label like it? */
    size_t count;
    char *seen[FILTER_SEEN_MAX]; /* labels that were compared, to suggest one of them */
    size_t seen_count;
};

struct filter_patterns {
    regex_t *items;
    size_t count;
};

struct tbed_filter {
    const struct tbed_reader *reader;
    uint64_t begin, end; /* the window: [begin, end) */
    bool has_end;
    uint64_t minimum;
    uint32_t *streams; /* sorted */
    size_t stream_count;
    bool has_streams;
    bool asks_for_off_cpu; /* these are streams of kind OFF_CPU, and no others */
    struct filter_patterns names, excluded;
    struct filter_texts categories, inside;
    tbed_name_function name;
    void *name_context;
    uint8_t **leaves; /* what is known of ids, atomic; see filter_ids.c */
    pthread_mutex_t lock;
    bool is_out_of_memory;        /* atomic; what was taken is unusable */
    struct filter_ranges *ranges; /* of each stream that has any */
    size_t ranges_count;
    struct number_map ranges_of; /* by stream */
    bool has_ranges;             /* they have been found: the condition applies */
    bool has_unnested;           /* atomic; there are spans that need not nest */
};

/* What a filter asks of an id. */
enum filter_question {
    FILTER_NAME,     /* does the label match? */
    FILTER_CATEGORY, /* is it one of the categories? */
    FILTER_INSIDE,   /* is the label one of 'inside'? */
};

/* No memory: false, and 'is_out_of_memory'. */
bool tbed_filter_ask(const struct tbed_filter *filter, enum filter_question question, uint32_t id);

bool tbed_filter_has_stream(const struct tbed_filter *filter, uint32_t stream);

bool tbed_filter_is_off_cpu(const struct tbed_reader *reader, uint32_t stream);

/*
 * Whether a stream counts in sums. When a thread was off its processor is known from a stream beside the thread's own (kind
 * OFF_CPU), whose spans would count this time twice, and as the program's. So it counts only if nothing else is asked for.
 */
bool tbed_filter_sums_stream(const struct tbed_filter *filter, const struct tbed_reader *reader,
                             uint32_t stream);

/* Whether an event without a label counts. */
bool tbed_filter_takes_point(const struct tbed_filter *filter, uint32_t stream, uint64_t tick);

/* Are there conditions on labels, categories or durations, which do not apply to allocations? */
bool tbed_filter_has_labels(const struct tbed_filter *filter);

/* Whether an event counts that is not the begin or end of a span. */
bool tbed_filter_takes_event(const struct tbed_filter *filter, const struct tbed_event *event);

/*
 * Whether a span counts, whose ticks are cut to the window. '*is_cut_ret': it goes on beyond the end. A span that ends before
 * it begins is taken as one without duration at its end.
 */
bool tbed_filter_takes_span(const struct tbed_filter *filter, uint32_t stream, uint32_t id, uint32_t category,
                            uint64_t *begin_tick, uint64_t *end_tick, bool *is_cut_ret);

/* What is known when a span begins. */
enum filter_begin {
    FILTER_BEGIN_OUT,
    FILTER_BEGIN_IN,
    FILTER_BEGIN_LONG, /* it counts if it takes at least 'minimum' */
    FILTER_BEGIN_END,  /* whether it counts depends on its end */
};
enum filter_begin tbed_filter_takes_begin(const struct tbed_filter *filter,
                                          const struct tbed_assembled *span);

/* Whether a span whose begin is not known counts, which ended at 'tick'. */
bool tbed_filter_takes_unknown(const struct tbed_filter *filter, uint32_t stream, uint32_t id, uint64_t tick);

/* Cuts the span to the window; the rest is as above. False: nothing of it is in the window. */
bool tbed_filter_cut(const struct tbed_filter *filter, uint64_t *begin_tick, uint64_t *end_tick,
                     bool *is_cut_ret);

bool tbed_filter_has_tick(const struct tbed_filter *filter, uint64_t tick);

/* The window, or the time of the trace where the filter sets no limit; at least one tick. */
void tbed_filter_window(const struct tbed_filter *filter, const struct tbed_reader *reader,
                        uint64_t *begin_tick_ret, uint64_t *end_tick_ret);

/*
 * Like tbed_stream_blocks(): the blocks that may have anything in the window. Of the spans that are open there, the first of
 * them tells those that it lists as open. No other block needs to be read.
 */
void tbed_filter_blocks(const struct tbed_filter *filter, const struct tbed_reader *reader, uint32_t stream,
                        size_t *first_ret, size_t *count_ret);

/* Their sequences: from 'first' up to before 'end'. */
void tbed_filter_sequences(const struct tbed_filter *filter, const struct tbed_reader *reader,
                           uint32_t stream, uint64_t *first_ret, uint64_t *end_ret);

/* The numbers of these blocks of all streams that count in sums, in order; the caller frees them. NULL: no memory. */
size_t *tbed_filter_list_blocks(const struct tbed_filter *filter, const struct tbed_reader *reader,
                                size_t *count_ret);

/* Is block 'index' the last of these, although 'next' follows it in the stream? */
bool tbed_filter_is_last(const struct tbed_filter *filter, const struct tbed_reader *reader, size_t index,
                         const struct tbed_block *next);

/* Cuts the first and last tick of a trace to the window. */
void tbed_filter_times(const struct tbed_filter *filter, struct tbed_trace_info *info);

/* Lets a merge skip blocks without events in the window, which may still list open spans. */
void tbed_filter_limit_merge(const struct tbed_filter *filter, struct tbed_merge *merge);

/* Did the writer take the ticks from a clock, so that they do not go back in a stream? */
bool tbed_filter_has_clock(const struct tbed_filter *filter);

/* Are there conditions on time and streams only? */
bool tbed_filter_is_window(const struct tbed_filter *filter);

/* Must be asked after all that the filter was used for. */
static inline bool tbed_filter_has_failed(const struct tbed_filter *filter)
{
    return filter != NULL && __atomic_load_n(&filter->is_out_of_memory, __ATOMIC_RELAXED);
}

/* Makes 'ranges' sorted and disjoint. */
void tbed_filter_ranges_join(struct filter_ranges *ranges);

#endif
