/*
 * A panel: what a picture shows of one trace. The data are read here; where they are drawn is rows.h's.
 *
 * SPDX-License-Identifier: MIT
 */
#ifndef TRACEBED_VIEW_PANEL_H
#define TRACEBED_VIEW_PANEL_H

#include "reader/core/base/vector.h"
#include "reader/tools/view/flow_rows.h"
#include "reader/tools/view/view.h"

#include <tracebed/analysis.h>
#include <tracebed/flows.h>
#include <tracebed/timeline.h>
#include <tracebed/window.h>

/* Where events of a stream are missing. */
struct panel_gap {
    uint32_t stream;
    uint64_t begin_tick, end_tick;
    bool is_overwritten; /* by a flight recorder, as intended; otherwise dropped, damaged or lost */
};

enum panel_mark { PANEL_INSTANT, PANEL_MESSAGE, PANEL_WARNING, PANEL_ERROR, PANEL_MARK_COUNT };

/* A stream. */
struct panel_track {
    struct tbed_stream_info info;
    size_t first_part, part_count; /* of the window */
    uint32_t depth_count;          /* of these parts */
    uint64_t busy_ticks;           /* of the outermost spans */
    uint8_t *marks;                /* of each column and kind: 0, 1, 2 for several; NULL: none */
    TBED_VECTOR(struct panel_gap) gaps;
};

struct panel {
    struct view_trace *trace;
    unsigned jobs;
    struct tbed_trace_info info;
    bool is_time;                    /* the clock measures time */
    struct tbed_filter *filter;      /* NULL: everything */
    bool is_whole_time;              /* neither begin nor end was asked for */
    struct tool_filter_window asked; /* what the filter was made of */
    uint64_t begin_tick, end_tick;
    uint32_t column_count;
    struct tbed_window *window;
    struct tbed_window_info window_info;
    struct tbed_statistics *statistics;
    struct tbed_statistics_totals totals;
    struct tbed_timeline *timeline;         /* NULL: no counters */
    struct tbed_allocations *allocations;   /* NULL: none */
    bool hides_allocations;                 /* because the filter does not apply to them */
    struct tbed_flows *flows;               /* NULL: none */
    struct flow_rows async;                 /* asynchronous spans of 'flows' */
    TBED_VECTOR(struct panel_track) tracks; /* with event blocks, in order of their numbers */
    size_t idle_count;   /* tracks without anything in the window, which are not among them */
    size_t hidden_count; /* tracks with the least time in spans, of too many */
};

/* The window of the panel. Returns -1, or the exit status after a complaint. */
int panel_open(struct panel *panel, struct view *view, struct view_trace *trace);

/*
 * Reads what is drawn in this many columns, spans of lower depths, and at most so many tracks. Returns -1, or the exit status
 * after a complaint.
 */
int panel_read(struct panel *panel, uint32_t column_count, uint32_t depth_count, size_t track_max);

void panel_close(struct panel *panel);

/* A number of ticks in ns, or that number. */
double panel_time(const struct panel *panel, uint64_t ticks);

/* The label of an id, not terminated; one of 64 KiB or more is "<too long>", as in a report. */
struct tbed_name panel_label(const struct panel *panel, uint32_t id);

/* Of flows and asynchronous spans, those that are not drawn: they have no begin or no end in the window, or are too many. */
uint64_t panel_flows_hidden(const struct panel *panel);

/* Marks and gaps of the tracks, and where blocks are missing. False: no memory. */
bool panel_read_marks(struct panel *panel);

#endif
