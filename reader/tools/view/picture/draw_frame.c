/*
 * Around the rows: the title, the ruler, the legend.
 *
 * SPDX-License-Identifier: MIT
 */
#include "reader/tools/view/canvas/texts.h"
#include "reader/tools/view/picture/draw.h"

#include <math.h>
#include <stdio.h>
#include <string.h>

#define STEP_WIDTH  110.0 /* the least distance of two marks of the ruler */
#define DIGITS_MAX  1e6   /* marks that need more are shown as what is added to the first */
#define FACT_GAP    14.0
#define SWATCH      11.0
#define FACT_NBYTES 128

/* ---- The title ---- */

struct line {
    const struct picture *picture;
    double x, middle;
};

static void put_fact(struct line *line, const char *text, uint32_t color)
{
    const struct picture *picture = line->picture;
    double room = (double)picture->options->width - ROWS_PAD - line->x;
    if (*text != '\0' && room > 0)
        line->x +=
            canvas_text(picture->canvas, line->x, line->middle, room, CANVAS_USUAL, text, color) + FACT_GAP;
}

static void put_count(struct line *line, uint64_t count, const char *one, const char *several, uint32_t color)
{
    char number[32], text[FACT_NBYTES];
    snprintf(text, sizeof text, "%s %s", tool_format_count(number, count), count == 1 ? one : several);
    put_fact(line, text, color);
}

static void put_time(struct line *line, const struct panel *panel)
{
    char begin[TEXTS_TIME_NBYTES], end[TEXTS_TIME_NBYTES], length[32], all[32], text[2 * TEXTS_NBYTES],
        unit[TEXTS_NBYTES];
    const struct tbed_reader *reader = panel->trace->reader;
    double step = fmax(panel_time(panel, panel->end_tick - panel->begin_tick) / 1000, 1e-3);
    uint64_t first = panel->info.first_tick;
    texts_moment(begin, panel_time(panel, panel->begin_tick - first), step,
                 panel_time(panel, panel->end_tick - first), panel->is_time);
    texts_moment(end, panel_time(panel, panel->end_tick - first), step,
                 panel_time(panel, panel->end_tick - first), panel->is_time);
    tool_format_ticks(length, reader, &panel->info, panel->end_tick - panel->begin_tick);
    tool_format_ticks(all, reader, &panel->info, panel->info.last_tick - first);
    texts_visible(unit, panel->info.clock_unit,
                  strnlen(panel->info.clock_unit, sizeof panel->info.clock_unit));
    const char *space = panel->is_time ? "" : " ", *shown_unit = panel->is_time ? "" : unit;
    if (panel->is_whole_time)
        snprintf(text, sizeof text, "%s%s%s", length, space, shown_unit);
    else
        snprintf(text, sizeof text, "%s to %s: %s of %s%s%s", begin, end, length, all, space, shown_unit);
    put_fact(line, text, line->picture->looks.text);
}

/* What does not belong into a trace. */
static void put_problems(struct line *line, const struct panel *panel)
{
    uint32_t color = line->picture->looks.bad;
    uint64_t dropped = tool_drops_total(panel->info.drops), damage = tool_damage_count(panel->trace->reader);
    if (dropped > 0)
        put_count(line, dropped, "event dropped", "events dropped", color);
    if (damage > 0)
        put_count(line, damage, "damaged place", "damaged places", color);
    if (panel->window_info.unknown_count > 0)
        put_count(line, panel->window_info.unknown_count, "span of unknown begin", "spans of unknown begin",
                  color);
    if (panel->trace->format == NULL && !panel->info.shut && !panel->trace->is_written)
        put_fact(line, "not closed: its writer was killed", line->picture->looks.warn);
}

static void put_words(char *text, size_t room, const char *what, const struct tool_filter_list *list)
{
    for (size_t i = 0; i < list->count; i++) {
        size_t used = strlen(text);
        snprintf(text + used, room - used, "%s%s%s", used > 0 ? " · " : "", what, list->items[i]);
    }
}

/* What was asked for on the command line, as far as the title does not say it. */
static void draw_filter(const struct picture *picture, const struct panel *panel, double middle)
{
    const struct tool_filter *filter = picture->filter;
    struct line line = {picture, ROWS_PAD, middle};
    char text[TEXTS_NAME_NBYTES + 56] = "", shown[TEXTS_NBYTES], minimum[32];
    for (size_t i = 0; i < filter->streams.word_count; i++) {
        size_t used = strlen(text);
        snprintf(text + used, sizeof text - used, "%s%s %s", used > 0 ? " · " : "",
                 filter->streams.words[i].is_process ? "process" : "thread", filter->streams.words[i].text);
    }
    for (size_t i = 0; i < filter->streams.numbers.count; i++) {
        size_t used = strlen(text);
        snprintf(text + used, sizeof text - used, "%sstream %u", used > 0 ? " · " : "",
                 filter->streams.numbers.numbers[i]);
    }
    put_words(text, sizeof text, "name ", &filter->names);
    put_words(text, sizeof text, "not ", &filter->excluded);
    put_words(text, sizeof text, "category ", &filter->categories);
    put_words(text, sizeof text, "inside ", &filter->inside);
    if (filter->minimum.kind != FILTER_TIME_NONE) {
        size_t used = strlen(text);
        tool_format_ticks(minimum, panel->trace->reader, &panel->info, panel->asked.minimum_ticks);
        snprintf(text + used, sizeof text - used, "%sat least %s", used > 0 ? " · " : "", minimum);
    }
    put_fact(&line, "Only", picture->looks.faint);
    line.x -= FACT_GAP / 2;
    texts_visible(shown, text, strlen(text));
    put_fact(&line, shown, picture->looks.text);
}

void draw_title(const struct picture *picture, const struct picture_panel *panel)
{
    char name[TEXTS_NBYTES];
    const char *path = tool_path(panel->panel.trace->path), *slash = strrchr(path, '/');
    struct line line = {picture, ROWS_PAD, panel->y + ROWS_TITLE_HEIGHT / 2 + 1};
    path = slash != NULL && slash[1] != '\0' ? slash + 1 : path;
    texts_visible(name, path, strlen(path));
    line.x += canvas_text(picture->canvas, line.x, line.middle, (double)picture->options->width / 3,
                          CANVAS_TITLE, name, picture->looks.text) +
              FACT_GAP;
    put_time(&line, &panel->panel);
    put_count(&line, panel->panel.window_info.span_count + panel->panel.window_info.deeper_count, "span",
              "spans", picture->looks.text);
    put_problems(&line, &panel->panel);
    if (rows_have_filter(picture))
        draw_filter(picture, &panel->panel, panel->y + ROWS_TITLE_HEIGHT + ROWS_LINE_HEIGHT / 2 - 3);
}

/* ---- The ruler ---- */

void draw_ruler(const struct picture *picture, const struct picture_panel *panel)
{
    const struct panel *data = &panel->panel;
    double begin = panel_time(data, data->begin_tick - data->info.first_tick);
    double length = panel_time(data, data->end_tick - data->begin_tick);
    double step = texts_step(fmax(length / panel->width * STEP_WIDTH, data->is_time ? 1e-3 : 1));
    double end = picture->left + panel->width, base = panel->ruler_y + ROWS_RULER_HEIGHT;
    double origin = begin / step > DIGITS_MAX ? begin : 0;
    canvas_fill(picture->canvas, 0, panel->ruler_y, (double)picture->options->width, 1, picture->looks.line,
                1);
    canvas_fill(picture->canvas, 0, base - 1, (double)picture->options->width, 1, picture->looks.line, 1);
    for (double index = ceil((begin - origin) / step - 1e-9); index * step <= begin - origin + length;
         index++) {
        char label[TEXTS_TIME_NBYTES + 1] = "+";
        double x = floor(picture->left + (index * step - (begin - origin)) / length * panel->width);
        canvas_fill(picture->canvas, x, base - 8, 1, 7, picture->looks.line_strong, 1);
        canvas_fill(picture->canvas, x, base, 1, panel->rows_end - base, picture->looks.line, 0.6);
        texts_moment(label + 1, index * step, step, begin - origin + length, data->is_time);
        const char *text = origin > 0 ? label : label + 1;
        if (x + 4 + canvas_text_width(picture->canvas, CANVAS_SMALL, text) < fmax(end, x + 5))
            canvas_text(picture->canvas, x + 4, base - 14, picture->width, CANVAS_SMALL, text,
                        picture->looks.faint);
    }
    if (origin > 0) {
        char label[TEXTS_TIME_NBYTES + 8] = "from ";
        texts_moment(label + 5, origin, step, origin, data->is_time);
        canvas_text(picture->canvas, ROWS_PAD, base - 14, picture->left - ROWS_PAD - 4, CANVAS_SMALL, label,
                    picture->looks.accent);
    }
}

/* ---- The legend ---- */

static void draw_label(const struct picture *picture, const struct picture_panel *panel,
                       const struct tbed_span_row *row, double x, double y, double width)
{
    char name[TEXTS_NBYTES], figure[32], text[FACT_NBYTES];
    struct tbed_name label = {.text = row->name, .nbytes = row->name_nbytes};
    double share = panel->self_ticks > 0 ? 100.0 * (double)row->self_ticks / (double)panel->self_ticks : 0;
    texts_visible(name, label.text, label.nbytes);
    tool_format_ticks(figure, panel->panel.trace->reader, &panel->panel.info, row->self_ticks);
    snprintf(text, sizeof text, "%s  %.1f %%", figure, share);
    double figure_width = canvas_text_width(picture->canvas, CANVAS_SMALL, text);
    double room = width - SWATCH - 6 - figure_width - 2 * FACT_GAP, middle = y + ROWS_LINE_HEIGHT / 2;
    canvas_fill(picture->canvas, x, floor(middle - SWATCH / 2), SWATCH, SWATCH,
                draw_color(picture, &label).fill, 1);
    double wide =
        canvas_text(picture->canvas, x + SWATCH + 6, middle, room, CANVAS_USUAL, name, picture->looks.text);
    canvas_text(picture->canvas, x + SWATCH + 6 + wide + FACT_GAP / 2, middle, figure_width + 1, CANVAS_SMALL,
                text, picture->looks.faint);
}

static void put_hidden(struct line *line, const struct picture_panel *panel)
{
    const struct panel *data = &panel->panel;
    uint32_t color = line->picture->looks.warn;
    uint64_t deeper = rows_deeper_count(panel), tracks = panel->track_left_out + data->hidden_count;
    if (deeper > 0)
        put_count(line, deeper, "deeper span is not drawn", "deeper spans are not drawn", color);
    if (tracks > 0)
        put_count(line, tracks, "track with the least time in spans left out",
                  "tracks with the least time in spans left out", color);
    if (panel_flows_hidden(data) > 0)
        put_count(
            line, panel_flows_hidden(data),
            "flow or asynchronous span is not drawn: its begin or end is missing, or there are too many",
            "flows or asynchronous spans are not drawn: their begin or end is missing, or there are too many",
            color);
    if (panel->plot_left_out > 0)
        put_count(line, panel->plot_left_out, "plot left out", "plots left out", color);
    if (panel->constant_count > 0)
        put_count(line, panel->constant_count, "counter with values at one time only is not drawn",
                  "counters with values at one time only are not drawn", line->picture->looks.faint);
    if (data->hides_allocations)
        put_fact(line, "memory left out: it has no labels or durations", color);
    if (data->idle_count > 0)
        put_count(line, data->idle_count, "track with nothing to draw", "tracks with nothing to draw",
                  line->picture->looks.faint);
}

void draw_legend(const struct picture *picture, const struct picture_panel *panel)
{
    size_t columns = rows_legend_columns(picture), lines = (panel->legend_count + columns - 1) / columns;
    double width = ((double)picture->options->width - 2 * ROWS_PAD) / (double)columns;
    struct line line = {picture, ROWS_PAD, panel->legend_y + ROWS_LINE_HEIGHT / 2};
    put_fact(&line, panel->legend_count > 0 ? "Most self time" : "No spans", picture->looks.faint);
    put_hidden(&line, panel);
    for (size_t i = 0; i < panel->legend_count; i++)
        draw_label(picture, panel, panel->legend[i], ROWS_PAD + width * (double)(i / lines),
                   panel->legend_y + ROWS_LINE_HEIGHT * (double)(1 + i % lines), width);
}
