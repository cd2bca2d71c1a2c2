/*
 * The spans of a track, its marks, and where events are missing; and asynchronous spans. A span begins and ends at whole pixels, with a gap to the next
 * if it is wide enough; a filling, which stands for several, is lighter the less of it is busy.
 *
 * SPDX-License-Identifier: MIT
 */
#include "reader/tools/view/canvas/texts.h"
#include "reader/tools/view/picture/draw.h"

#include <math.h>

#define LABEL_ROOM_MIN  20.0
#define LABEL_PAD       4.0
#define GAPPED_WIDTH    4.0 /* spans as wide as this have a gap to the next */
#define FILLING_LEAST   0.25
#define MISSING_TINT    0.16
#define MISSING_STRIPES 0.8

struct place {
    double x, y, width, height;
};

/* ---- Spans ---- */

/* 'top' is that of depth 0. */
static struct place place_of(const struct picture *picture, const struct picture_panel *panel,
                             const struct tbed_window_part *part, double top)
{
    double x = floor(rows_x(picture, panel, part->begin_tick) + 1e-6);
    double end = floor(rows_x(picture, panel, part->end_tick) + 1e-6);
    double most = picture->left + panel->width;
    x = fmin(x, most - 1);
    return (struct place){.x = x,
                          .y = top + part->depth * picture->span_height,
                          .width = fmax(1, fmin(end, most) - x),
                          .height = picture->span_height - 1};
}

struct looks_color draw_color(const struct picture *picture, const struct tbed_name *label)
{
    char name[TEXTS_NAME_NBYTES + 4];
    size_t cut = texts_cut(label->text, label->nbytes);
    if (cut == label->nbytes)
        return looks_of_label(&picture->looks, label->text, label->nbytes);
    for (size_t i = 0; i < cut; i++)
        name[i] = label->text[i];
    name[cut] = '\xE2'; /* an ellipsis */
    name[cut + 1] = '\x80';
    name[cut + 2] = '\xA6';
    return looks_of_label(&picture->looks, name, cut + 3);
}

static void draw_label(const struct picture *picture, const struct place *place,
                       const struct tbed_name *label)
{
    char shown[TEXTS_NBYTES];
    double room = place->width - 2 * LABEL_PAD;
    if (room < LABEL_ROOM_MIN)
        return;
    texts_visible(shown, label->text, label->nbytes);
    canvas_clip(picture->canvas, place->x, place->y, place->width, place->height);
    canvas_text(picture->canvas, place->x + LABEL_PAD, place->y + place->height / 2, room,
                picture->span_height < 16 ? CANVAS_SMALL : CANVAS_USUAL, shown, picture->looks.label);
    canvas_unclip(picture->canvas);
}

static void draw_part(const struct picture *picture, const struct picture_panel *panel,
                      const struct tbed_window_part *part, double top)
{
    struct place place = place_of(picture, panel, part, top);
    struct tbed_name label = panel_label(&panel->panel, part->id);
    struct looks_color color = draw_color(picture, &label);
    if (part->count == 1) {
        place.width -= place.width >= GAPPED_WIDTH ? 1 : 0;
        canvas_fill(picture->canvas, place.x, place.y, place.width, place.height, color.fill, 1);
        draw_label(picture, &place, &label);
        return;
    }
    uint64_t ticks = part->end_tick - part->begin_tick;
    double density = ticks == 0 ? 1 : fmin(1, (double)part->ticks / (double)ticks);
    canvas_fill(picture->canvas, place.x, place.y, place.width, place.height, color.joined,
                FILLING_LEAST + (1 - FILLING_LEAST) * density);
}

static void draw_parts(const struct picture *picture, const struct picture_panel *panel,
                       const struct row *row)
{
    for (size_t i = 0; i < row->track->part_count; i++) {
        const struct tbed_window_part *part =
            tbed_window_part(panel->panel.window, row->track->first_part + i);
        if (part->depth < row->depths)
            draw_part(picture, panel, part, row->y + picture->strip);
    }
}

void draw_async(const struct picture *picture, const struct picture_panel *panel, const struct row *row)
{
    const struct panel *data = &panel->panel;
    canvas_clip(picture->canvas, picture->left, row->y, picture->width, row->height);
    for (size_t i = 0; i < data->async.spans.count; i++) {
        const struct flow_row_span *span = &data->async.spans.items[i];
        uint64_t begin = span->flow->begin_tick, end = begin + span->flow->ticks;
        struct tbed_window_part part = {.begin_tick = begin > data->begin_tick ? begin : data->begin_tick,
                                        .end_tick = end,
                                        .ticks = span->flow->ticks,
                                        .count = 1,
                                        .depth = span->row,
                                        .id = span->flow->id};
        if (span->row < row->depths)
            draw_part(picture, panel, &part, row->y + 1);
    }
    canvas_unclip(picture->canvas);
}

/* ---- Where events are missing ---- */

/* Below the spans, whose colors stay what they are. */
static void draw_gaps(const struct picture *picture, const struct picture_panel *panel, const struct row *row)
{
    for (size_t i = 0; i < row->track->gaps.count; i++) {
        const struct panel_gap *gap = &row->track->gaps.items[i];
        uint32_t color = gap->is_overwritten ? picture->looks.faint : picture->looks.bad;
        double x = floor(rows_x(picture, panel, gap->begin_tick));
        double end = ceil(rows_x(picture, panel, gap->end_tick));
        double width = fmax(2, end - x);
        canvas_fill(picture->canvas, x, row->y, width, row->height - 1, color, MISSING_TINT);
        canvas_hatch(picture->canvas, x, row->y, width, picture->strip - 1, color, MISSING_STRIPES);
        canvas_hatch(picture->canvas, x, row->y + row->height - 5, width, 4, color, MISSING_STRIPES);
    }
}

/* ---- Messages and instants ---- */

static void draw_marks(const struct picture *picture, const struct picture_panel *panel,
                       const struct row *row)
{
    const struct looks *looks = &picture->looks;
    const uint32_t colors[PANEL_MARK_COUNT] = {looks->faint, looks->accent, looks->warn, looks->bad};
    double scale = panel->width / panel->panel.column_count;
    for (int kind = 0; row->track->marks != NULL && kind < PANEL_MARK_COUNT; kind++)
        for (uint32_t column = 0; column < panel->panel.column_count; column++) {
            uint8_t count = row->track->marks[column * PANEL_MARK_COUNT + kind];
            double x = picture->left + (column + 0.5) * scale, half = kind == PANEL_INSTANT ? 3 : 4;
            if (count > 0)
                canvas_mark(picture->canvas, x, row->y + 1, half, picture->strip - 2, colors[kind]);
            if (count > 1)
                canvas_fill(picture->canvas, x - half, row->y + 1, 2 * half, 2, colors[kind], 1);
        }
}

void draw_track(const struct picture *picture, const struct picture_panel *panel, const struct row *row)
{
    canvas_clip(picture->canvas, picture->left, row->y, picture->width, row->height);
    draw_gaps(picture, panel, row);
    draw_parts(picture, panel, row);
    draw_marks(picture, panel, row);
    canvas_unclip(picture->canvas);
}
