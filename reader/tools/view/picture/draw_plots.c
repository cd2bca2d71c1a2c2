/*
 * Counters, and memory in use, against time: a band from the least to the greatest value of each part of the time, and the mean
 * as a line. A value holds until the next.
 *
 * SPDX-License-Identifier: MIT
 */
#include "reader/tools/shared/tool.h"
#include "reader/tools/view/picture/draw.h"

#include <math.h>
#include <stdio.h>
#include <string.h>

#define PLOT_PAD          4.0
#define BELOW             0.22 /* opacity of what is below a value, */
#define BAND              0.45 /* and of what is between the least and the greatest */
#define NUMBER_LENGTH_MAX 15   /* 999,999,999,999 */

struct point {
    uint64_t tick; /* where it begins; the next point is its end */
    double least, mean, most;
};

struct plot {
    const struct picture *picture;
    const struct picture_panel *panel;
    const struct row *row;
    double low, high; /* of the scale */
    double y;         /* of the previous mean */
    bool has_begun;
};

static void widen(struct plot *plot, double least, double most)
{
    if (isfinite(least))
        plot->low = fmin(plot->low, least);
    if (isfinite(most))
        plot->high = fmax(plot->high, most);
}

static double y_of(const struct plot *plot, double value)
{
    double room = plot->row->height - 2 * PLOT_PAD - 1;
    double share = plot->high > plot->low ? (value - plot->low) / (plot->high - plot->low) : 0;
    share = share >= 0 ? fmin(share, 1) : 0; /* NaN becomes 0 */
    return plot->row->y + PLOT_PAD + room * (1 - share);
}

static void draw_point(struct plot *plot, const struct point *point, uint64_t end_tick, bool has_value)
{
    struct canvas *canvas = plot->picture->canvas;
    uint32_t color = plot->picture->looks.plot;
    double x = rows_x(plot->picture, plot->panel, point->tick);
    double end = rows_x(plot->picture, plot->panel, end_tick);
    double base = y_of(plot, plot->low > 0 ? plot->low : fmin(0, plot->high));
    double y = has_value ? y_of(plot, point->mean) : plot->y;
    if (!has_value && !plot->has_begun)
        return;
    double top = fmin(y, base);
    canvas_fill(canvas, x, top, end - x, fabs(base - y), color, BELOW);
    if (has_value) {
        double most = y_of(plot, point->most);
        canvas_fill(canvas, x, most, end - x, y_of(plot, point->least) - most, color, BAND);
    }
    plot->y = y;
    plot->has_begun = true;
}

static void draw_scale(const struct plot *plot, const char *low, const char *high)
{
    const struct picture *picture = plot->picture;
    const struct row *row = plot->row;
    double room = picture->width - 8;
    canvas_text(picture->canvas, picture->left + 4, row->y + PLOT_PAD + 6, room, CANVAS_SMALL, high,
                picture->looks.faint);
    canvas_text(picture->canvas, picture->left + 4, row->y + row->height - PLOT_PAD - 7, room, CANVAS_SMALL,
                low, picture->looks.faint);
}

/* ---- Counters ---- */

static void line_through_values(const struct plot *plot)
{
    const struct tbed_timeline *timeline = plot->panel->panel.timeline;
    size_t count = tbed_timeline_part_count(timeline);
    double y = 0;
    bool has_begun = false;
    for (size_t i = 0; i < count; i++) {
        const struct tbed_timeline_values *values = &plot->row->counter->parts[i];
        if (values->count > 0)
            y = y_of(plot, values->mean);
        has_begun |= values->count > 0;
        if (!has_begun)
            continue;
        canvas_line_to(plot->picture->canvas,
                       rows_x(plot->picture, plot->panel, tbed_timeline_tick(timeline, i)), y);
        canvas_line_to(plot->picture->canvas,
                       rows_x(plot->picture, plot->panel, tbed_timeline_tick(timeline, i + 1)), y);
    }
    canvas_line_end(plot->picture->canvas, 1.25, plot->picture->looks.plot);
}

static bool is_in_bytes(const struct plot *plot)
{
    const struct tbed_reader *reader = plot->panel->panel.trace->reader;
    uint32_t unit = tbed_counter_unit(reader, plot->row->counter->id);
    char text[8] = "";
    return unit != TBED_ID_INVALID && tbed_id_text(reader, unit, TBED_NAME_ALL, text, sizeof text) == 5 &&
           strcmp(text, "bytes") == 0;
}

static void format_value(const struct plot *plot, double value, char text[48])
{
    if (value >= 0 && is_in_bytes(plot))
        tool_format_bytes(text, value);
    else
        tool_format_number(text, value, NUMBER_LENGTH_MAX);
}

void draw_counter(const struct picture *picture, const struct picture_panel *panel, const struct row *row)
{
    const struct tbed_timeline *timeline = panel->panel.timeline;
    struct plot plot = {.picture = picture, .panel = panel, .row = row};
    char low[48], high[48];
    size_t count = tbed_timeline_part_count(timeline);
    for (size_t i = 0; i < count; i++)
        if (row->counter->parts[i].count > 0)
            widen(&plot, row->counter->parts[i].min, row->counter->parts[i].max);
    canvas_clip(picture->canvas, picture->left, row->y, picture->width, row->height);
    for (size_t i = 0; i < count; i++) {
        const struct tbed_timeline_values *values = &row->counter->parts[i];
        struct point point = {tbed_timeline_tick(timeline, i), values->min, values->mean, values->max};
        draw_point(&plot, &point, tbed_timeline_tick(timeline, i + 1), values->count > 0);
    }
    line_through_values(&plot);
    format_value(&plot, plot.low, low);
    format_value(&plot, plot.high, high);
    draw_scale(&plot, low, high);
    canvas_unclip(picture->canvas);
}

/* ---- Memory ---- */

void draw_memory(const struct picture *picture, const struct picture_panel *panel, const struct row *row)
{
    const struct tbed_allocation_moment *moment, *next;
    const struct tbed_allocations *allocations = panel->panel.allocations;
    struct plot plot = {.picture = picture, .panel = panel, .row = row};
    char high[32];
    for (size_t i = 0; (moment = tbed_allocations_moment(allocations, i)) != NULL; i++)
        widen(&plot, 0, (double)moment->peak_nbytes);
    canvas_clip(picture->canvas, picture->left, row->y, picture->width, row->height);
    for (size_t i = 0; (moment = tbed_allocations_moment(allocations, i)) != NULL; i++) {
        next = tbed_allocations_moment(allocations, i + 1);
        uint64_t end = next != NULL ? next->tick : panel->panel.end_tick;
        struct point point = {moment->tick, (double)moment->least_nbytes, (double)moment->mean_nbytes,
                              (double)moment->peak_nbytes};
        draw_point(&plot, &point, end, true);
        canvas_line_to(picture->canvas, rows_x(picture, panel, moment->tick), plot.y);
        canvas_line_to(picture->canvas, rows_x(picture, panel, end), plot.y);
    }
    canvas_line_end(picture->canvas, 1.25, picture->looks.plot);
    draw_scale(&plot, "0 B", tool_format_bytes(high, plot.high));
    canvas_unclip(picture->canvas);
}
