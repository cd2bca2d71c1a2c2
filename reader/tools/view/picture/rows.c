/*
 * The layout of a picture; see rows.h. If there is not enough room, depths become lower, then fewer are drawn, then tracks with
 * the least time in spans are left out.
 *
 * SPDX-License-Identifier: MIT
 */
#include "reader/tools/view/picture/rows.h"

#include <math.h>
#include <stdlib.h>

#define SPAN_HEIGHT         18.0
#define SPAN_HEIGHT_COMPACT 14.0
#define PROCESS_HEIGHT      22.0
#define PLOT_HEIGHT         52.0
#define STRIP               9.0
#define TRACK_PAD           5.0
#define PLOT_SHARE          0.4 /* of the room */

/* ---- From left to right ---- */

void rows_set_width(struct picture *picture)
{
    double width = (double)picture->options->width, most = 0;
    picture->left = floor(fmax(110, fmin(240, 0.16 * width)));
    picture->width = width - picture->left - ROWS_PAD;
    bool is_shared = true; /* one scale for all of them */
    for (size_t i = 0; i < picture->panel_count; i++) {
        struct panel *panel = &picture->panels[i].panel;
        most = fmax(most, panel_time(panel, panel->end_tick - panel->begin_tick));
        is_shared &= panel->is_time;
    }
    for (size_t i = 0; i < picture->panel_count; i++) {
        struct panel *panel = &picture->panels[i].panel;
        double time = panel_time(panel, panel->end_tick - panel->begin_tick);
        double share = is_shared && most > 0 ? time / most : 1;
        picture->panels[i].width = fmax(1, floor(picture->width * share));
    }
}

double rows_x(const struct picture *picture, const struct picture_panel *panel, uint64_t tick)
{
    uint64_t begin = panel->panel.begin_tick, end = panel->panel.end_tick;
    double share = tick <= begin ? 0 : tick >= end ? 1 : (double)(tick - begin) / (double)(end - begin);
    return picture->left + share * panel->width;
}

size_t rows_legend_columns(const struct picture *picture)
{
    double width = (double)picture->options->width - 2 * ROWS_PAD;
    size_t columns = (size_t)(width / ROWS_LEGEND_WIDTH);
    return columns < 1 ? 1 : columns > 5 ? 5 : columns;
}

bool rows_have_filter(const struct picture *picture)
{
    const struct tool_filter *filter = picture->filter;
    return streams_are_asked_for(&filter->streams) || tool_filter_asks_for_labels(filter) ||
           filter->inside.count > 0;
}

/* ---- Rows ---- */

static bool add_row(struct picture_panel *panel, struct row row)
{
    struct row *added = TBED_VECTOR_PUSH(&panel->rows);
    if (added != NULL)
        *added = row;
    return added != NULL;
}

/* By process; those whose process is not known come last. */
static int compare_tracks(const void *left, const void *right)
{
    const struct panel_track *a = left, *b = right;
    uint32_t one = a->info.process - 1, other = b->info.process - 1;
    if (one != other)
        return one < other ? -1 : 1;
    return a->info.stream < b->info.stream ? -1 : a->info.stream > b->info.stream;
}

static bool add_process(struct picture_panel *panel, uint32_t number, size_t *at)
{
    struct tbed_process_info process;
    while (tbed_process_get(panel->panel.trace->reader, *at, &process) && process.stream < number)
        ++*at;
    if (number == 0 || !tbed_process_get(panel->panel.trace->reader, *at, &process) ||
        process.stream != number)
        return true;
    return add_row(panel, (struct row){.kind = ROW_PROCESS, .process = process});
}

static bool add_tracks(struct picture_panel *panel)
{
    struct panel_track *tracks = panel->panel.tracks.items;
    size_t count = panel->panel.tracks.count, at = 0;
    bool is_fine = true;
    if (count > 1)
        qsort(tracks, count, sizeof *tracks, compare_tracks);
    for (size_t i = 0; i < count && is_fine; i++) {
        if (i == 0 || tracks[i].info.process != tracks[i - 1].info.process)
            is_fine = add_process(panel, tracks[i].info.process, &at);
        is_fine = is_fine && add_row(panel, (struct row){.kind = ROW_TRACK, .track = &tracks[i]});
    }
    return is_fine;
}

/* A total at the end, say, which makes no plot. */
static bool has_one_moment(const struct tbed_timeline *timeline, const struct tbed_timeline_counter *counter)
{
    size_t count = 0;
    for (size_t i = 0; i < tbed_timeline_part_count(timeline) && count < 2; i++)
        count += counter->parts[i].count > 0;
    return count < 2;
}

static bool add_async(struct picture_panel *panel)
{
    return panel->panel.async.spans.count == 0 || add_row(panel, (struct row){.kind = ROW_ASYNC});
}

static bool add_plots(struct picture_panel *panel)
{
    const struct tbed_timeline_counter *counter;
    if (panel->panel.allocations != NULL && !add_row(panel, (struct row){.kind = ROW_MEMORY}))
        return false;
    for (size_t i = 0; panel->panel.timeline != NULL &&
                       (counter = tbed_timeline_counter_get(panel->panel.timeline, i)) != NULL;
         i++) {
        bool is_constant = has_one_moment(panel->panel.timeline, counter);
        panel->constant_count += is_constant;
        if (!is_constant && !add_row(panel, (struct row){.kind = ROW_COUNTER, .counter = counter}))
            return false;
    }
    return true;
}

static void find_legend(struct picture_panel *panel)
{
    const struct tbed_span_row *row;
    for (size_t i = 0; (row = tbed_statistics_span(panel->panel.statistics, i)) != NULL; i++) {
        size_t at = panel->legend_count;
        panel->self_ticks += row->self_ticks < UINT64_MAX - panel->self_ticks ? row->self_ticks : 0;
        while (at > 0 && panel->legend[at - 1]->self_ticks < row->self_ticks)
            at--;
        if (at == ROWS_LEGEND_MAX || row->count == 0)
            continue;
        panel->legend_count += panel->legend_count < ROWS_LEGEND_MAX;
        for (size_t k = panel->legend_count - 1; k > at; k--)
            panel->legend[k] = panel->legend[k - 1];
        panel->legend[at] = row;
    }
}

/* ---- Heights ---- */

static double height_of(const struct picture *picture, const struct row *row)
{
    if (row->is_left_out)
        return 0;
    if (row->kind == ROW_PROCESS)
        return PROCESS_HEIGHT;
    if (row->kind != ROW_TRACK && row->kind != ROW_ASYNC)
        return PLOT_HEIGHT;
    uint32_t depths = row->depths > 0 ? row->depths : 1;
    double strip = row->kind == ROW_TRACK ? picture->strip : TRACK_PAD - 1;
    return strip + depths * picture->span_height + TRACK_PAD;
}

static double frame_height(const struct picture *picture, const struct picture_panel *panel)
{
    size_t columns = rows_legend_columns(picture);
    size_t lines = (panel->legend_count + columns - 1) / columns;
    return ROWS_TITLE_HEIGHT + (rows_have_filter(picture) ? ROWS_LINE_HEIGHT : 0) + ROWS_RULER_HEIGHT +
           ROWS_PAD / 2.0 + ROWS_LINE_HEIGHT * (double)(lines + 1) + ROWS_PAD / 2.0;
}

/* Sets the depths to at most 'most', and returns the height of all. */
static double set_depths(struct picture *picture, uint32_t most)
{
    double height = 0;
    for (size_t i = 0; i < picture->panel_count; i++) {
        struct picture_panel *panel = &picture->panels[i];
        height += frame_height(picture, panel);
        for (size_t k = 0; k < panel->rows.count; k++) {
            struct row *row = &panel->rows.items[k];
            uint32_t depth_count = row->kind == ROW_TRACK   ? row->track->depth_count
                                   : row->kind == ROW_ASYNC ? panel->panel.async.row_count
                                                            : 0;
            row->depths = depth_count < most ? depth_count : most;
            height += height_of(picture, row);
        }
    }
    return height;
}

/* Leaves out what has the least time; a process without tracks is left out with its last one. Returns false if only one is left. */
static bool leave_out_track(struct picture *picture)
{
    struct row *least = NULL;
    struct picture_panel *least_panel = NULL;
    size_t left = 0;
    for (size_t i = 0; i < picture->panel_count; i++) {
        struct picture_panel *panel = &picture->panels[i];
        for (size_t k = 0; k < panel->rows.count; k++) {
            struct row *row = &panel->rows.items[k];
            if (row->kind != ROW_TRACK || row->is_left_out)
                continue;
            left++;
            if (least == NULL || row->track->busy_ticks <= least->track->busy_ticks) {
                least = row;
                least_panel = panel;
            }
        }
    }
    if (left < 2)
        return false;
    least->is_left_out = true;
    least_panel->track_left_out++;
    return true;
}

static void leave_out_processes(struct picture_panel *panel)
{
    struct row *process = NULL;
    for (size_t k = 0; k < panel->rows.count; k++) {
        struct row *row = &panel->rows.items[k];
        if (row->kind == ROW_PROCESS)
            process = row;
        if (row->kind == ROW_PROCESS)
            row->is_left_out = true;
        else if (row->kind == ROW_TRACK && !row->is_left_out && process != NULL &&
                 row->track->info.process == process->process.stream)
            process->is_left_out = false;
    }
}

/* Plots take a part of the room at most; the last ones are left out. */
static void leave_out_plots(struct picture *picture, double room)
{
    size_t most = (size_t)fmax(1, room * PLOT_SHARE / PLOT_HEIGHT / (double)picture->panel_count);
    for (size_t i = 0; i < picture->panel_count; i++) {
        struct picture_panel *panel = &picture->panels[i];
        size_t count = 0;
        for (size_t k = 0; k < panel->rows.count; k++) {
            struct row *row = &panel->rows.items[k];
            bool is_plot = row->kind == ROW_MEMORY || row->kind == ROW_COUNTER;
            if (is_plot && ++count > most) {
                row->is_left_out = true;
                panel->plot_left_out++;
            }
        }
    }
}

static double fit(struct picture *picture, double room)
{
    uint32_t depths = (uint32_t)picture->options->depth;
    double height;
    picture->span_height = SPAN_HEIGHT;
    height = set_depths(picture, depths);
    if (height > room)
        leave_out_plots(picture, room);
    if (height > room && (height = set_depths(picture, depths)) > room) {
        picture->span_height = SPAN_HEIGHT_COMPACT;
        height = set_depths(picture, depths);
    }
    uint32_t low = 1, high = depths; /* fits, as far as known; is too much */
    while (height > room && low + 1 < high) {
        uint32_t middle = low + (high - low) / 2;
        if (set_depths(picture, middle) <= room)
            low = middle;
        else
            high = middle;
    }
    if (height > room)
        height = set_depths(picture, low);
    while (height > room && leave_out_track(picture)) {
        for (size_t i = 0; i < picture->panel_count; i++)
            leave_out_processes(&picture->panels[i]);
        height = set_depths(picture, low);
    }
    return height;
}

/* ---- From top to bottom ---- */

static double place_panel(struct picture *picture, struct picture_panel *panel, double y)
{
    size_t columns = rows_legend_columns(picture);
    panel->y = y;
    panel->ruler_y = y + ROWS_TITLE_HEIGHT + (rows_have_filter(picture) ? ROWS_LINE_HEIGHT : 0);
    panel->rows_y = y = panel->ruler_y + ROWS_RULER_HEIGHT;
    for (size_t k = 0; k < panel->rows.count; k++) {
        struct row *row = &panel->rows.items[k];
        row->y = y;
        row->height = height_of(picture, row);
        y += row->height;
    }
    panel->rows_end = y;
    panel->legend_y = y + ROWS_PAD / 2.0;
    panel->end = panel->legend_y +
                 ROWS_LINE_HEIGHT * (double)((panel->legend_count + columns - 1) / columns + 1) +
                 ROWS_PAD / 2.0;
    return panel->end;
}

static bool has_marks(const struct picture *picture)
{
    for (size_t i = 0; i < picture->panel_count; i++)
        for (size_t k = 0; k < picture->panels[i].panel.tracks.count; k++)
            if (picture->panels[i].panel.tracks.items[k].marks != NULL)
                return true;
    return false;
}

bool rows_place(struct picture *picture)
{
    double y = 0;
    for (size_t i = 0; i < picture->panel_count; i++) {
        struct picture_panel *panel = &picture->panels[i];
        if (!add_tracks(panel) || !add_async(panel) || !add_plots(panel))
            return false;
        find_legend(panel);
    }
    picture->strip = has_marks(picture) ? STRIP : TRACK_PAD - 1;
    fit(picture, (double)picture->options->height);
    for (size_t i = 0; i < picture->panel_count; i++)
        y = place_panel(picture, &picture->panels[i], y);
    picture->height = fmin(ceil(y), PICTURE_SIDE_MAX);
    return true;
}

uint64_t rows_deeper_count(const struct picture_panel *panel)
{
    uint64_t count = panel->panel.window_info.deeper_count;
    for (size_t k = 0; k < panel->rows.count; k++) {
        const struct row *row = &panel->rows.items[k];
        for (size_t i = 0; row->kind == ROW_TRACK && !row->is_left_out && i < row->track->part_count; i++) {
            const struct tbed_window_part *part =
                tbed_window_part(panel->panel.window, row->track->first_part + i);
            count += part->depth >= row->depths ? part->count : 0;
        }
    }
    return count;
}

void rows_close(struct picture *picture)
{
    for (size_t i = 0; i < picture->panel_count; i++) {
        tbed_vector_free(&picture->panels[i].rows.vector);
        panel_close(&picture->panels[i].panel);
    }
    free(picture->panels);
}
