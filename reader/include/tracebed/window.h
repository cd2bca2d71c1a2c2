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
};

/* A span, or several joined. All times are cut to the window. */
struct tbed_window_part {
    uint64_t begin_tick, end_tick; /* from the first begin to the last end */
    uint64_t count;                /* 1: a span */
    uint64_t ticks;                /* of all of them together; at most UINT64_MAX */
    uint64_t longest_ticks;        /* that of the longest, the last of equal ones */
    uint32_t id;                   /* its id */
    uint32_t stream, depth;
    uint32_t open_count; /* how many never ended */
};

struct tbed_window_info {
    uint64_t begin_tick, end_tick; /* the window */
    uint64_t column_ticks;         /* its columns; the last one may be shorter */
    uint64_t span_count;           /* of all parts */
    uint64_t deeper_count;         /* spans that are too deep to be drawn */
    uint64_t unknown_count;        /* spans whose begin is not known, which have no time */
    uint64_t block_count;          /* event blocks that were read */
    uint64_t bad_block_count;      /* of these, damaged ones */
};

struct tbed_window;

/*
 * tbed_window_make() reads the event blocks that reach into the window. The result does not depend on the number of
 * threads.
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
