/*
 * tracebed/follow.h: what a running program is doing, from a trace that is being written.
 *
 * SPDX-License-Identifier: MIT
 */
#ifndef TRACEBED_FOLLOW_H
#define TRACEBED_FOLLOW_H

#include <tracebed/reader.h>

#ifdef __cplusplus
extern "C" {
#endif

/*
 * Follows a trace: each update reads what was recorded since the one before, and says what happened meanwhile. Each thread
 * is joined at its newest block, so opening costs the same however long the trace is, and so does memory: it grows with
 * the number of labels and of threads.
 *
 *     struct tbed_follow *follow;
 *     status = tbed_follow_open(reader, &follow);
 *     while (... wait for a second ..., (status = tbed_follow_update(follow, &error)) == TBED_OK)
 *         ... tbed_follow_thread(follow, i), tbed_follow_label(follow, i) ...
 *     tbed_follow_close(follow);
 *
 * Units:   ticks of the trace's clock.
 * Threads: one at a time.
 */
struct tbed_follow;

/* Since the update before. */
struct tbed_follow_totals {
    uint64_t event_count;
    uint64_t span_count; /* spans that ended */
    uint64_t now_tick;   /* the highest of all events so far */
    uint64_t ticks;      /* how far it moved; 0 after tbed_follow_open() */
};

/* A span that is open. */
struct tbed_follow_span {
    uint32_t id;
    uint64_t begin_tick;
};

/*
 * A thread. Of its open spans only the innermost are known, see spec/format.md, section 4.2. A span that stays open takes time
 * until 'now_tick'.
 */
struct tbed_follow_thread {
    uint32_t stream;
    bool has_ended;
    uint64_t event_count, span_count; /* since the update before */
    uint64_t busy_ticks;              /* since the update before, within any span */
    uint64_t last_tick;               /* of its newest event; 0: none yet */
    size_t open_count;
    const struct tbed_follow_span *open; /* the outermost first; valid until the next update */
};

/* Spans of one label since the update before, over all threads. */
struct tbed_follow_label {
    uint32_t id;    /* of the label's text; of one of its names if the trace has no such string */
    uint64_t count; /* spans that ended */
    uint64_t
        self_ticks; /* not in a nested span. A span recorded as a whole has its duration, which also counts for the
                            span around it. */
};

/* Joins the threads that there are, at their newest blocks. Errors: ERR_MEMORY. */
enum tbed_status tbed_follow_open(struct tbed_reader *reader, struct tbed_follow **follow_ret);

/*
 * The same, but each thread is joined where it was at 'begin_tick', so the first figures are those of the time since then,
 * as later ones are of the time since the update before. Costs as much as reading the events since then.
 */
enum tbed_status tbed_follow_open_at(struct tbed_reader *reader, uint64_t begin_tick,
                                     struct tbed_follow **follow_ret);

/* Refreshes the reader and reads on. Errors: those of tbed_reader_refresh(), ERR_MEMORY. */
enum tbed_status tbed_follow_update(struct tbed_follow *follow, struct tbed_error *error_ret);
void tbed_follow_close(struct tbed_follow *follow);

void tbed_follow_totals_sized(const struct tbed_follow *follow, struct tbed_follow_totals *totals_ret,
                              size_t totals_nbytes);
static inline void tbed_follow_totals(const struct tbed_follow *follow, struct tbed_follow_totals *totals_ret)
{
    tbed_follow_totals_sized(follow, totals_ret, sizeof *totals_ret);
}

/* Threads in order of their streams; labels in order of self time, the longest first. NULL past the last. */
const struct tbed_follow_thread *tbed_follow_thread(const struct tbed_follow *follow, size_t index);
const struct tbed_follow_label *tbed_follow_label(const struct tbed_follow *follow, size_t index);

/*
 * A tick from which on there are at least 'count' events, at most TBED_FOLLOW_NEWEST_MAX, or all that were read: where to
 * begin with a merge that shows the newest ones.
 */
#define TBED_FOLLOW_NEWEST_MAX 64
uint64_t tbed_follow_newest_tick(const struct tbed_follow *follow, size_t count);

#ifdef __cplusplus
}
#endif

#endif
