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
 * Ownership: parts are valid until the window is closed, and marks until they are. Neither needs its reader any more.
 * Threads:   any number of threads may share a window, or marks; nothing changes them.
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
    uint64_t
        column_ticks; /* if not 0, columns are as wide, however many that makes; 'column_count' is ignored */
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

/* ---- Marks: instants, messages, drops and counters ---- */

/*
 * Of each stream, the events of one kind in a column are a mark together; of each counter, the values in a column are one
 * value.
 *
 * A window may have more blocks of events than can be read while somebody waits. Then some of them are read, spread evenly,
 * and the result is a sample, which tbed_marks_info() says.
 */

#define TBED_MARKS_COLUMNS_MAX  65536u
#define TBED_MARKS_COUNTERS_MAX 256u

struct tbed_marks_options {
    size_t size;           /* sizeof(struct tbed_marks_options) */
    unsigned thread_count; /* 0: one per processor */
    const struct tbed_filter
        *filter;           /* which events, and the window; NULL: all of them, and all of the time */
    uint32_t column_count; /* from 1 to TBED_MARKS_COLUMNS_MAX */
    /* If there are more marks, their columns become twice as wide until there are not, or one is left; 0: no limit. */
    size_t mark_max;
    size_t block_max; /* about as many blocks are read at most; 0: all */
    /* If this becomes true, the call returns with ERR_CANCELLED soon; atomic; NULL: never. */
    const bool *is_cancelled;
};

enum tbed_mark_kind {
    TBED_MARK_INSTANT,
    TBED_MARK_MESSAGE, /* of another severity than the next two */
    TBED_MARK_WARNING,
    TBED_MARK_ERROR,
    TBED_MARK_DROP, /* events were dropped here */
};
#define TBED_MARK_KIND_COUNT 5u

struct tbed_mark_row {
    uint32_t stream;
    enum tbed_mark_kind kind;
    uint64_t first_tick, last_tick;
    uint64_t count; /* of events; for DROP, of dropped ones; at most UINT64_MAX */
    uint32_t id;    /* of the first event; INVALID: it has none */
};

struct tbed_mark_values {
    uint64_t count; /* 0: the others are 0, too */
    double min, mean, max;
};

struct tbed_mark_counter {
    uint32_t id;
    uint32_t process; /* the number of the process that set it; 0: the thread has no STREAM record */
    const struct tbed_mark_values *columns; /* 'column_count' of the info */
};

struct tbed_marks_info {
    uint64_t begin_tick, end_tick; /* the window */
    uint64_t column_ticks;         /* of marks; the last column may be shorter */
    uint64_t counter_column_ticks; /* of counters */
    size_t counter_column_count;
    uint64_t block_count, read_count; /* event blocks in the window, and how many of them were read */
    uint64_t bad_block_count;         /* of these, damaged ones */
    uint64_t counters_left_out;       /* events of more than TBED_MARKS_COUNTERS_MAX counters of processes */
};

struct tbed_marks;

/*
 * tbed_marks_make() reads the event blocks that reach into the window. The result does not depend on the number of threads,
 * except for which counters are left out.
 *
 * Memory grows with the number of columns, with 'mark_max', and with the number of counters.
 *
 * Ownership: '*marks_ret' is the caller's; free it with tbed_marks_close(). It is untouched on failure. The options need not
 *            outlive the call.
 * Errors:    ERR_MEMORY, ERR_ARGUMENT, ERR_CANCELLED. Damage is not an error: everything readable is read, and the rest is
 *            added to the damage list.
 */
enum tbed_status tbed_marks_make(struct tbed_reader *reader, const struct tbed_marks_options *options,
                                 struct tbed_marks **marks_ret);
void tbed_marks_close(struct tbed_marks *marks); /* NULL is allowed */

/* The marks, by stream (in the order of tbed_stream_get()), then by column, then by kind; NULL past the last. */
const struct tbed_mark_row *tbed_marks_get(const struct tbed_marks *marks, size_t index);

/* The counters of each process, in order of their ids, then by process. False past the last. */
bool tbed_marks_counter_sized(const struct tbed_marks *marks, size_t index,
                              struct tbed_mark_counter *counter_ret, size_t counter_nbytes);
static inline bool tbed_marks_counter(const struct tbed_marks *marks, size_t index,
                                      struct tbed_mark_counter *counter_ret)
{
    return tbed_marks_counter_sized(marks, index, counter_ret, sizeof *counter_ret);
}

void tbed_marks_info_sized(const struct tbed_marks *marks, struct tbed_marks_info *info_ret,
                           size_t info_nbytes);
static inline void tbed_marks_info(const struct tbed_marks *marks, struct tbed_marks_info *info_ret)
{
    tbed_marks_info_sized(marks, info_ret, sizeof *info_ret);
}

#ifdef __cplusplus
}
#endif
#endif
