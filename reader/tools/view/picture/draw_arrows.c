/*
 * Flows as arrows between tracks.
 *
 * SPDX-License-Identifier: MIT
 */
#include "reader/tools/view/picture/draw.h"

#include <math.h>

#define BEND_MIN   14.0
#define BEND_MAX   90.0
#define BEND_STEPS 16
#define LINE_WIDTH 1.25
#define HEAD       4.0

struct spot {
    double x, y;
};

static const struct row *row_of(const struct picture_panel *panel, uint32_t stream)
{
    for (size_t i = 0; i < panel->rows.count; i++) {
        const struct row *row = &panel->rows.items[i];
        if (row->kind == ROW_TRACK && !row->is_left_out && row->track->info.stream == stream)
            return row;
    }
    return NULL;
}

/* The middle of the outermost spans. False: the track is not drawn. */
static bool find_spot(const struct picture *picture, const struct picture_panel *panel,
                      const struct tbed_flow_point *point, struct spot *spot_ret)
{
    const struct row *row = row_of(panel, point->stream);
    if (row != NULL)
        *spot_ret = (struct spot){rows_x(picture, panel, point->tick),
                                  row->y + picture->strip + picture->span_height / 2};
    return row != NULL;
}

/* A cubic curve that leaves and arrives horizontally, as lines. */
static void draw_curve(const struct picture *picture, struct spot from, struct spot to)
{
    double bend = fmax(BEND_MIN, fmin(BEND_MAX, fabs(to.x - from.x) / 2));
    for (int i = 0; i <= BEND_STEPS; i++) {
        double t = i / (double)BEND_STEPS, s = 1 - t;
        canvas_line_to(picture->canvas,
                       s * s * s * from.x + 3 * s * s * t * (from.x + bend) + 3 * s * t * t * (to.x - bend) +
                           t * t * t * to.x,
                       (s * s * s + 3 * s * s * t) * from.y + (3 * s * t * t + t * t * t) * to.y);
    }
    canvas_line_end(picture->canvas, LINE_WIDTH, picture->looks.accent);
    canvas_line_to(picture->canvas, to.x - 1.5 * HEAD, to.y - HEAD);
    canvas_line_to(picture->canvas, to.x, to.y);
    canvas_line_to(picture->canvas, to.x - 1.5 * HEAD, to.y + HEAD);
    canvas_line_end(picture->canvas, LINE_WIDTH, picture->looks.accent);
}

static void draw_flow(const struct picture *picture, const struct picture_panel *panel,
                      const struct tbed_flow *flow)
{
    for (size_t i = 1; i < flow->point_count; i++) {
        struct spot from, to;
        if (find_spot(picture, panel, &flow->points[i - 1], &from) &&
            find_spot(picture, panel, &flow->points[i], &to))
            draw_curve(picture, from, to);
    }
}

void draw_arrows(const struct picture *picture, const struct picture_panel *panel)
{
    const struct panel *data = &panel->panel;
    const struct tbed_flow *flow;
    size_t index = 0;
    if (data->flows == NULL)
        return;
    canvas_clip(picture->canvas, picture->left, panel->rows_y, panel->width, panel->rows_end - panel->rows_y);
    while ((flow = flow_rows_next(data->flows, data->begin_tick, data->end_tick, &index)) != NULL)
        if (!flow->is_async)
            draw_flow(picture, panel, flow);
    canvas_unclip(picture->canvas);
}
