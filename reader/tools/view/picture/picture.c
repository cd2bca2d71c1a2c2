/*
 * A picture from the traces to the file; see picture.h.
 *
 * SPDX-License-Identifier: MIT
 */
#include "reader/tools/view/picture/picture.h"

#include "reader/exchange/shared/new_file.h"
#include "reader/tools/view/picture/draw.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#define TRACKS_MAX 1024 /* of a trace: no picture has room for more */

/* ---- Drawing ---- */

static void draw_row(const struct picture *picture, const struct picture_panel *panel, const struct row *row)
{
    if (row->kind == ROW_TRACK)
        draw_track(picture, panel, row);
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
        draw_legend(picture, panel);
    }
}

/* ---- The file ---- */

static int write_to_output(struct canvas *canvas)
{
    fflush(stdout);
    if (canvas_write(canvas, STDOUT_FILENO))
        return -1;
    if (errno != EPIPE)
        tool_complain("standard output: %s", errno != 0 ? strerror(errno) : "no memory");
    return TOOL_TROUBLE;
}

static unsigned mode_of(const struct view *view)
{
    struct tbed_reader **readers = tool_realloc(NULL, view->trace_count * sizeof(struct tbed_reader *));
    for (size_t i = 0; i < view->trace_count; i++)
        readers[i] = view->traces[i].reader;
    unsigned mode = tbed_new_file_mode_of_readers(readers, view->trace_count);
    free(readers);
    return mode;
}

static int write_file(struct canvas *canvas, struct new_file *file, const char *path)
{
    struct tbed_error error = {.status = TBED_ERR_WRITE, .offset = UINT64_MAX};
    bool is_written = canvas_write(canvas, file->fd);
    error.system_errno = errno;
    if (is_written && tbed_new_file_commit(file, &error) == TBED_OK)
        return -1;
    if (!is_written)
        tbed_new_file_abandon(file);
    tool_complain_output(path, &error);
    return TOOL_TROUBLE;
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

static int make(struct view *view, struct picture *picture, struct new_file *file)
{
    picture->canvas = canvas_open();
    int exit = picture->canvas != NULL ? read_panels(picture, view) : TOOL_TROUBLE;
    if (exit >= 0) {
        if (file != NULL)
            tbed_new_file_abandon(file);
        return exit;
    }
    canvas_begin(picture->canvas, (unsigned)picture->options->width, (unsigned)picture->height);
    draw(picture);
    return file == NULL ? write_to_output(picture->canvas)
                        : write_file(picture->canvas, file, picture->options->path);
}

int picture_make(struct view *view, const struct picture_options *options)
{
    struct picture picture = {
        .options = options, .filter = &view->filter, .looks = looks_of_theme(options->is_dark)};
    struct new_file file;
    struct tbed_error error;
    bool is_file = strcmp(options->path, "-") != 0;
    if (is_file &&
        tbed_new_file_open(options->path, options->overwrite, mode_of(view), &file, &error) != TBED_OK) {
        tool_complain_output(options->path, &error);
        return TOOL_TROUBLE;
    }
    picture.panels = calloc(view->trace_count, sizeof *picture.panels);
    if (picture.panels == NULL)
        tool_out_of_memory();
    int exit = make(view, &picture, is_file ? &file : NULL);
    canvas_close(picture.canvas);
    rows_close(&picture);
    return exit;
}
