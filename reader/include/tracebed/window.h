/*
 * tracebed/window.h: what to draw of a window of time.
 *
 * A window is divided into columns. A span that is at least a column long is a part of its own. Shorter ones are
 * joined: of a stream, those of one depth that begin in the same column are a part together, as long as no longer span
 * of that depth ends between them. So the number of parts depends on the size of the picture, not on that of the trace.
 *
 * Depths are those of the tree of calls: 0 for a span that no other span of its stream contains (see "Nesting" in
 * analysis.h).
 *
 * A window of very many blocks takes seconds. A sketch of it takes milliseconds: it is made from the headers of blocks,
 * about one for each column and stream, which say which spans are open at the start of the block and when they began.
 * Everything in a sketch is true, and the rest is missing:
 *
 *   - A span that is at least two columns long, and that goes on from one block to the next, is a part of its own. Its
 *     begin and its depth are exact; its end may be up to a column too early.
 *   - The parts of narrower ones are samples. Their number is not known, so 'count' is 0; 'ticks' is the time for which it
 *     is certain that a span of that depth was open.
 *   - Blocks that are much wider than a column are read, at most an eighth of 'exact_block_max', and their parts are exact,
 *     also where spans begin and end in one block.
 *   - Spans so deep that blocks do not store them (see tbed_block_open_span()) are missing.
 *   - Checksums of blocks of which only the header is read are not verified.
 *
 * Headers say this only where ticks do not go back. A sketch is made of traces whose ticks the writer took from a clock, not
 * of imports, and only if the filter has no conditions but time and streams; otherwise the window is exact. So is a stream
 * whose blocks prove that the clock stepped back.
 *
 * Units:     ticks, as in analysis.h.
 * Ownership: parts are valid until the window is closed. It does not need its reader any more.
 * Threads:   any number of threads may share a window; nothing changes it.
 *
 * SPDX-License-Identifier: MIT
 */
#ifndef TRACEBED_WINDOW_H
#define TRACEBED_WINDOW_H

#include <tracebed/filter.h>

#ifdef __cplusplus
extern "C" {
#endif

#define TBED_WINDOW_COLUMNS_MAX 65536u

struct tbed_window_options {
    size_t size;           /* sizeof(struct tbed_window_options) */
    unsigned thread_count; /* 0: one per processor */
    const struct tbed_filter
        *filter;           /* which spans, and the window; NULL: all of them, and all of the time */
    uint32_t column_count; /* from 1 to TBED_WINDOW_COLUMNS_MAX */
    uint32_t depth_count;  /* spans of lower depths are drawn; 0: all */
    /* If there are more parts, columns become twice as wide until there are not, or one is left; 0: no limit. */
    size_t part_max;
    /* If this becomes true, the call returns with ERR_CANCELLED soon; atomic; NULL: never. */
    const bool *is_cancelled;
    /* If more event blocks than this reach into the window, it is a sketch if it can be; 0: it is exact. */
    uint64_t exact_block_max;
};

/* A span, or several joined. All times are cut to the window. */
struct tbed_window_part {
    uint64_t begin_tick, end_tick; /* from the first begin to the last end */
    uint64_t count;                /* 1: a span; 0: samples, of a sketch */
    uint64_t ticks;                /* of all of them together; at most UINT64_MAX */
    uint64_t longest_ticks;        /* that of the longest, the last of equal ones */
    uint32_t id;                   /* its id */
    uint32_t stream, depth;
    uint32_t open_count; /* how many never ended */
    uint64_t
        sample_count; /* of a sketch: how many spans of the part are known from headers; 0: it is exact */
};

struct tbed_window_info {
    uint64_t begin_tick, end_tick; /* the window */
    uint64_t column_ticks;         /* its columns; the last one may be shorter */
    uint64_t span_count;           /* of all parts; in a sketch, there may be any number more */
    uint64_t deeper_count;         /* spans that are too deep to be drawn; the same */
    uint64_t unknown_count;        /* spans whose begin is not known, which have no time; the same */
    uint64_t block_count;          /* event blocks that were read */
    uint64_t bad_block_count;      /* of these, damaged ones */
    uint64_t header_count;         /* event blocks of which the header was read, for a sketch */
    bool is_exact;                 /* it is not a sketch */
};

struct tbed_window;

/*
 * tbed_window_make() reads the event blocks that reach into the window, or for a sketch some of their headers. The result
 * does not depend on the number of threads.
 *
 * Memory grows with the number of columns, with 'part_max', and with the spans that are open at one time.
 *
 * Ownership: '*window_ret' is the caller's; free it with tbed_window_close(). It is untouched on failure. The options
 *            need not outlive the call.
 * Errors:    ERR_MEMORY, ERR_ARGUMENT, ERR_CANCELLED. Damage is not an error: everything readable is read, and the rest
 *            is added to the damage list.
 */
enum tbed_status tbed_window_make(struct tbed_reader *reader, const struct tbed_window_options *options,
                                  struct tbed_window **window_ret);
void tbed_window_close(struct tbed_window *window); /* NULL is allowed */

/* The parts, by stream (in the order of tbed_stream_get()), depth, begin and end; NULL past the last. */
const struct tbed_window_part *tbed_window_part(const struct tbed_window *window, size_t index);

void tbed_window_info_sized(const struct tbed_window *window, struct tbed_window_info *info_ret,
                            size_t info_nbytes);
static inline void tbed_window_info(const struct tbed_window *window, struct tbed_window_info *info_ret)
{
    tbed_window_info_sized(window, info_ret, sizeof *info_ret);
}

#ifdef __cplusplus
}
#endif
#endif
