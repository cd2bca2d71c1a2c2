/*
 * Where everything is in a picture: the panels one below another, and their rows.
 *
 * SPDX-License-Identifier: MIT
 */
#ifndef TRACEBED_VIEW_ROWS_H
#define TRACEBED_VIEW_ROWS_H

#include "reader/tools/view/canvas/canvas.h"
#include "reader/tools/view/canvas/looks.h"
#include "reader/tools/view/picture/panel.h"
#include "reader/tools/view/picture/picture.h"

#define ROWS_LEGEND_MAX 10
#define ROWS_PAD        16 /* around everything */

enum row_kind { ROW_PROCESS, ROW_TRACK, ROW_ASYNC, ROW_COUNTER, ROW_MEMORY };

struct row {
    enum row_kind kind;
    bool is_left_out;
    struct tbed_process_info process; /* PROCESS */
    struct panel_track *track;        /* TRACK */
    const struct tbed_timeline_counter *counter;
    uint32_t depths; /* that are drawn */
    double y, height;
};

struct picture_panel {
    struct panel panel;
    TBED_VECTOR(struct row) rows;
    const struct tbed_span_row *legend[ROWS_LEGEND_MAX]; /* most self time first */
    size_t legend_count;
    uint64_t self_ticks;                                  /* of all labels */
    size_t track_left_out, plot_left_out, constant_count; /* the latter: counters with values at one moment */
    double width;                                         /* of its window in the picture */
    double y, ruler_y, rows_y, rows_end, legend_y, end;   /* from top to bottom */
};

struct picture {
    const struct picture_options *options;
    const struct tool_filter *filter;
    struct looks looks;
    struct canvas *canvas;
    struct picture_panel *panels;
    size_t panel_count;
    double left, width, height; /* of what is drawn against time: its left side and width; of the picture */
    double span_height, strip;  /* of a depth; of marks above the depths */
};

/* Reads the places from left to right, before the panels are read. */
void rows_set_width(struct picture *picture);

/* Makes the rows of the panels that were read, as many and as high as there is room for. False: no memory. */
bool rows_place(struct picture *picture);

void rows_close(struct picture *picture);

/* ---- For what draws ---- */

#define ROWS_TITLE_HEIGHT 34.0
#define ROWS_LINE_HEIGHT  18.0
#define ROWS_RULER_HEIGHT 26.0
#define ROWS_LEGEND_WIDTH 300.0 /* at least, of a label in the legend */

/* The place of a tick of a panel. */
double rows_x(const struct picture *picture, const struct picture_panel *panel, uint64_t tick);

size_t rows_legend_columns(const struct picture *picture);

/* Whether there is a line that says what was asked for beside the time. */
bool rows_have_filter(const struct picture *picture);

/* How many spans are deeper than what is drawn. */
uint64_t rows_deeper_count(const struct picture_panel *panel);

#endif
