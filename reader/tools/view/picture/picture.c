/*
 * A picture from the traces to the file; see picture.h.
 *
 * SPDX-License-Identifier: MIT
 */
#include "reader/tools/view/picture/picture.h"

#include "reader/tools/view/output.h"
#include "reader/tools/view/picture/draw.h"

#include <stdlib.h>

#define TRACKS_MAX 1024 /* of a trace: no picture has room for more */

/* ---- Drawing ---- */

static void draw_row(const struct picture *picture, const struct picture_panel *panel, const struct row *row)
{
    if (row->kind == ROW_TRACK)
        draw_track(picture, panel, row);
    else if (row->kind == ROW_ASYNC)
        draw_async(picture, panel, row);
    else if (row->kind == ROW_COUNTER)
        draw_counter(picture, panel, row);
    else if (row->kind == ROW_MEMORY)
        draw_memory(picture, panel, row);
}

static void draw(const struct picture *picture)
{
    canvas_fill(picture->canvas, 0, 0, (double)picture->options->width, picture->height, picture->looks.back,
                1);
    for (size_t i = 0; i < picture->panel_count; i++) {
        const struct picture_panel *panel = &picture->panels[i];
        draw_title(picture, panel);
        draw_ruler(picture, panel);
        draw_heads(picture, panel);
        for (size_t k = 0; k < panel->rows.count; k++)
            if (!panel->rows.items[k].is_left_out)
                draw_row(picture, panel, &panel->rows.items[k]);
        draw_arrows(picture, panel);
        draw_legend(picture, panel);
    }
}

/* ---- All of it ---- */

static int read_panels(struct picture *picture, struct view *view)
{
    int exit = -1;
    for (size_t i = 0; i < view->trace_count && exit < 0; i++) {
        exit = panel_open(&picture->panels[i].panel, view, &view->traces[i]);
        picture->panel_count++;
    }
    if (exit < 0)
        rows_set_width(picture);
    for (size_t i = 0; i < view->trace_count && exit < 0; i++)
        exit = panel_read(&picture->panels[i].panel, (uint32_t)picture->panels[i].width,
                          (uint32_t)picture->options->depth, TRACKS_MAX);
    if (exit < 0 && !rows_place(picture))
        tool_out_of_memory();
    return exit;
}

static bool write_picture(void *context, int fd)
{
    return canvas_write(context, fd);
}

static int make(struct view *view, struct picture *picture, struct view_output *output)
{
    picture->canvas = canvas_open();
    int exit = picture->canvas != NULL ? read_panels(picture, view) : TOOL_TROUBLE;
    if (exit >= 0) {
        view_output_abandon(output);
        return exit;
    }
    canvas_begin(picture->canvas, (unsigned)picture->options->width, (unsigned)picture->height);
    draw(picture);
    for (size_t i = 0; i < picture->panel_count; i++)
        tool_filter_tell_missed(picture->panels[i].panel.filter, picture->panels[i].panel.trace->path);
    return view_output_write(output, write_picture, picture->canvas);
}

int picture_make(struct view *view, const struct picture_options *options)
{
    struct picture picture = {
        .options = options, .filter = &view->filter, .looks = looks_of_theme(options->is_dark)};
    struct view_output output;
    if (!view_output_open(&output, view, options->path, options->overwrite))
        return TOOL_TROUBLE;
    picture.panels = calloc(view->trace_count, sizeof *picture.panels);
    if (picture.panels == NULL)
        tool_out_of_memory();
    int exit = make(view, &picture, &output);
    canvas_close(picture.canvas);
    rows_close(&picture);
    return exit;
}
