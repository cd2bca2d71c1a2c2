/*
 * The scan of one block of a regular stream: what its slow half (regular.c) and its loops (regular_loops.c) have in common.
 *
 * SPDX-License-Identifier: MIT
 */
#ifndef TRACEBED_REGULAR_H
#define TRACEBED_REGULAR_H

#include "format/event.h"
#include "reader/analysis/trace/trace_worker.h"

/* The position of the scan in its block. */
struct scan {
    struct trace_worker *trace;
    struct stat_worker *worker;
    const struct tbed_block *block;
    const uint64_t *at, *end;
    uint64_t base;
    uint64_t previous; /* tick of the previous event */
    uint64_t hull_begin, hull_end;
    struct regular_frame *top;
    const struct tbed_filter *filter; /* a window; NULL: none, or all of the block is in it */
    uint64_t cut_tick; /* in the latter case, its begin, to which earlier begins of spans are cut; or 0 */
    bool is_irregular;

    /*
     * Self time is found in one of two ways, with the same result for a block. Either the end of a span adds its ticks to it
     * and takes them from the span around it; or each begin or end adds the time since the one before, 'mark', to the span
     * that was innermost, in its frame.
     */
    bool by_time;
    uint64_t mark;
    size_t stop_count; /* of the loop that does so */
};

/* Makes room for the id's cell and returns its row. If there is no memory, row 0, which is never read. */
static inline uint32_t scan_row(struct stat_worker *worker, uint32_t id)
{
    uint32_t row = stat_row(worker, id), cell = stat_cell_index(row & STAT_ROW_MAX, STAT_OTHER);
    worker->totals.unnamed_count += row >> 31;
    return tbed_stat_grow_cells(&worker->cells, cell) ? cell : 0;
}

static inline struct stat_cell *scan_cell(const struct scan *scan, const struct regular_frame *frame)
{
    return &scan->worker->cells.of_kind[STAT_OTHER][frame->row];
}

/* Whether the tick counts. */
static inline bool scan_has_tick(const struct scan *scan, uint64_t tick)
{
    return scan->filter == NULL || tbed_filter_has_tick(scan->filter, tick);
}

/* Begins a span, or ends the innermost one; the latter returns whether it counts and does not go on beyond the window. */
void tbed_scan_begin(struct scan *scan, uint32_t id, uint64_t tick);
bool tbed_scan_end(struct scan *scan, uint64_t tick);

/* To be called before the first word. */
void tbed_scan_start(struct scan *scan);

/*
 * Takes begins, ends of known spans, instants and allocations, up to the block's end or the first other word. Returns that
 * word, with 'at' pointing to it, or 0 at the block's end.
 */
uint64_t tbed_scan_run(struct scan *scan);

/* To be called after the last word: adds what was collected, and goes back to self time by ends. */
void tbed_scan_stop(struct scan *scan);

#endif
