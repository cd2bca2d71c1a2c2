/*
 * The headings of the rows, on the left.
 *
 * SPDX-License-Identifier: MIT
 */
#include "reader/tools/view/canvas/texts.h"
#include "reader/tools/view/picture/draw.h"

#include <stdio.h>
#include <string.h>

#define FIRST_LINE  12.0 /* its middle below the top of a row */
#define SECOND_LINE 26.0
#define TWO_LINES   34.0 /* rows as high as this have room for two */
#define TEXT_GAP    6.0

/* The name of an id, or another text if it has none. */
static void name_of(const struct picture_panel *panel, uint32_t id, const char *other,
                    char shown[TEXTS_NBYTES])
{
    char name[TEXTS_NAME_NBYTES + 5];
    if (id == TBED_ID_INVALID) {
        texts_visible(shown, other, strlen(other));
        return;
    }
    size_t nbytes = tbed_id_text(panel->panel.trace->reader, id, TBED_NAME_ALL, name, sizeof name);
    texts_visible(shown, name, nbytes < sizeof name ? nbytes : sizeof name - 1);
}

/* A name, and behind it, or below it, what is less important. */
static void draw_head(const struct picture *picture, const struct row *row, double x, enum canvas_font font,
                      const char *name, const char *detail, const char *below)
{
    double room = picture->left - x - TEXT_GAP;
    double detail_width =
        *detail != '\0' ? canvas_text_width(picture->canvas, CANVAS_SMALL, detail) + TEXT_GAP : 0;
    double name_room = room - detail_width > room / 2 ? room - detail_width : room / 2;
    double width =
        canvas_text(picture->canvas, x, row->y + FIRST_LINE, name_room, font, name, picture->looks.text);
    if (room - width - TEXT_GAP > 0)
        canvas_text(picture->canvas, x + width + TEXT_GAP, row->y + FIRST_LINE, room - width - TEXT_GAP,
                    CANVAS_SMALL, detail, picture->looks.faint);
    if (row->height >= TWO_LINES)
        canvas_text(picture->canvas, x, row->y + SECOND_LINE, room, CANVAS_SMALL, below,
                    picture->looks.faint);
}

static void draw_process_head(const struct picture *picture, const struct picture_panel *panel,
                              const struct row *row)
{
    char name[TEXTS_NBYTES], detail[32] = "";
    name_of(panel, row->process.name_id, "process", name);
    if (row->process.pid != 0)
        snprintf(detail, sizeof detail, "pid %u", row->process.pid);
    canvas_fill(picture->canvas, 0, row->y, picture->left + picture->width, row->height,
                picture->looks.sunken, 1);
    draw_head(picture, row, ROWS_PAD, CANVAS_BOLD, name, detail, "");
}

static void draw_track_head(const struct picture *picture, const struct picture_panel *panel,
                            const struct row *row)
{
    const struct tbed_stream_info *info = &row->track->info;
    bool is_thread = info->kind != TBED_STREAM_TRACK && info->tid != 0;
    char name[TEXTS_NBYTES], detail[32] = "", below[64] = "";
    name_of(panel, info->name_id,
            is_thread                         ? "thread"
            : info->kind == TBED_STREAM_TRACK ? "track"
                                              : "stream",
            name);
    if (is_thread)
        snprintf(detail, sizeof detail, "%u", info->tid);
    else if (info->name_id == TBED_ID_INVALID)
        snprintf(detail, sizeof detail, "%u", info->stream);
    if (row->depths < row->track->depth_count)
        snprintf(below, sizeof below, "%u of %u depths", row->depths, row->track->depth_count);
    draw_head(picture, row, ROWS_PAD + 10, CANVAS_USUAL, name, detail, below);
}

/* The process that has the counter, if there are several, and the counter's unit. */
static void owner_and_unit(const struct picture_panel *panel, const struct tbed_timeline_counter *counter,
                           char shown[2 * TEXTS_NBYTES + 16])
{
    const struct tbed_reader *reader = panel->panel.trace->reader;
    struct tbed_process_info process;
    char owner[TEXTS_NBYTES] = "", pid[16] = "", unit[TEXTS_NBYTES];
    for (size_t i = 0; tbed_process_get(reader, 1, &process) && tbed_process_get(reader, i, &process); i++)
        if (process.stream == counter->process) {
            name_of(panel, process.name_id, "process", owner);
            if (process.pid != 0)
                snprintf(pid, sizeof pid, " %u", process.pid);
        }
    name_of(panel, tbed_counter_unit(reader, counter->id), "", unit);
    snprintf(shown, 2 * TEXTS_NBYTES + 16, "%s%s%s%s", owner, pid,
             *owner != '\0' && *unit != '\0' ? ", " : "", unit);
}

static void draw_plot_head(const struct picture *picture, const struct picture_panel *panel,
                           const struct row *row)
{
    char name[TEXTS_NBYTES] = "Memory in use", below[2 * TEXTS_NBYTES + 16] = "bytes, all processes";
    if (row->kind == ROW_COUNTER) {
        texts_visible(name, row->counter->name, row->counter->name_nbytes);
        owner_and_unit(panel, row->counter, below);
    }
    draw_head(picture, row, ROWS_PAD, CANVAS_USUAL, name, "", below);
}

static void draw_async_head(const struct picture *picture, const struct picture_panel *panel,
                            const struct row *row)
{
    char below[64] = "";
    if (row->depths < panel->panel.async.row_count)
        snprintf(below, sizeof below, "%u of %u rows", row->depths, panel->panel.async.row_count);
    draw_head(picture, row, ROWS_PAD, CANVAS_USUAL, "Asynchronous spans", "", below);
}

void draw_heads(const struct picture *picture, const struct picture_panel *panel)
{
    canvas_fill(picture->canvas, 0, panel->rows_y, picture->left - 1, panel->rows_end - panel->rows_y,
                picture->looks.raised, 1);
    for (size_t i = 0; i < panel->rows.count; i++) {
        const struct row *row = &panel->rows.items[i];
        if (row->is_left_out)
            continue;
        if (row->kind == ROW_PROCESS)
            draw_process_head(picture, panel, row);
        else if (row->kind == ROW_TRACK)
            draw_track_head(picture, panel, row);
        else if (row->kind == ROW_ASYNC)
            draw_async_head(picture, panel, row);
        else
            draw_plot_head(picture, panel, row);
        canvas_fill(picture->canvas, 0, row->y + row->height - 1, picture->left + picture->width, 1,
                    picture->looks.line, 1);
    }
    canvas_fill(picture->canvas, picture->left - 1, panel->ruler_y, 1, panel->rows_end - panel->ruler_y,
                picture->looks.line, 1);
}
