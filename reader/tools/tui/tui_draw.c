/*
 * Makes the lines of the screen of 'tracebed tui': a head, the rows, the figures of the selected row, and its path. Only
 * the rows on the screen are made.
 *
 * SPDX-License-Identifier: MIT
 */
#define _GNU_SOURCE 1
#include "reader/tools/shared/tool.h"
#include "reader/tools/tui/tui.h"

#include <stdlib.h>
#include <string.h>

#define NAME_WIDTH_MIN 24  /* figures that leave less are not shown */
#define HOT_PART       0.1 /* rows with that much of all time in themselves stand out */

size_t tui_page(const struct tui *tui)
{
    return tui->height > 4 ? tui->height - 3 : 1;
}

void tui_put_line(const struct tui *tui, size_t line, struct tbed_text *text, enum tui_look look)
{
    struct tbed_text padded = {0};
    tool_put_column(&padded, text->bytes, text->nbytes, tui->width);
    if (line < tui->height)
        tui_terminal_put(line, padded.bytes, padded.nbytes, look);
    free(padded.bytes);
    text->nbytes = 0;
}

/* ---- Columns ---- */

static const struct column {
    const char *head;
    int width; /* with the space before it */
} columns[] = {{"total", 10}, {"of all", 9}, {"self", 11}, {"count", 11}};
#define COLUMN_COUNT (sizeof columns / sizeof columns[0])

/* How many columns there is room for, and the width of what is left. */
static size_t count_columns(const struct tui *tui, size_t *left_ret)
{
    size_t left = tui->width, count = 0;
    while (count < COLUMN_COUNT && left >= (size_t)columns[count].width + NAME_WIDTH_MIN)
        left -= (size_t)columns[count++].width;
    *left_ret = left;
    return count;
}

static void put_figure(struct tbed_text *text, const char *figure, int width)
{
    char column[64];
    int nbytes = snprintf(column, sizeof column, "%*s", width, figure);
    tbed_text_put(text, column, nbytes > 0 ? (size_t)nbytes : 0);
}

static void draw_head(const struct tui *tui, struct tbed_text *text)
{
    static const char *const sorts[ROW_ORDER_COUNT] = {"total", "self", "count", "name"};
    size_t left, count = count_columns(tui, &left);
    for (size_t i = 0; i < count; i++)
        put_figure(text, columns[i].head, columns[i].width);
    tbed_text_puts(text, "  span, by ");
    tbed_text_puts(text, sorts[tui->order]);
    if (tool_filter_is_given(&tui->filter))
        tbed_text_puts(text, " (only a part of the trace)");
    tui_put_line(tui, 0, text, TUI_BOLD);
}

/* ---- Rows ---- */

/* What the row's part is a part of: the time of its process or thread, as in 'tracebed tree'. */
static uint64_t root_ticks(const struct tui *tui, size_t position)
{
    uint32_t root_depth = tui->options.per_thread ? 1 : 0;
    while (tui_row(&tui->rows, position)->depth > root_depth)
        position = tui_row_parent(&tui->rows, position);
    return tui_row(&tui->rows, position)->total_ticks;
}

static double part_of(uint64_t ticks, uint64_t all)
{
    return all > 0 ? (double)ticks / (double)all : 0;
}

static void put_figures(const struct tui *tui, struct tbed_text *text, const struct tbed_stack_row *row,
                        uint64_t root, size_t count)
{
    char total[32], part[32], self[32], calls[32];
    snprintf(part, sizeof part, "%.1f %%", 100 * part_of(row->total_ticks, root));
    const char *const figures[COLUMN_COUNT] = {
        tool_format_ticks(total, tui->reader, &tui->info, row->span_ticks), part,
        tool_format_ticks(self, tui->reader, &tui->info, row->self_ticks),
        tool_format_count(calls, row->count)};
    for (size_t i = 0; i < count; i++)
        put_figure(text, figures[i], columns[i].width);
}

/* The tree is shifted to the left so far that the selected row's indentation does not take more than a quarter. */
static size_t indent_of(const struct tui *tui, const struct tbed_stack_row *row, size_t width)
{
    size_t deepest = 2 * (size_t)tui_row(&tui->rows, tui->selected)->depth, indent = 2 * (size_t)row->depth;
    size_t shift = deepest > width / 4 ? deepest - width / 4 : 0;
    return indent > shift ? indent - shift : 0;
}

static void draw_row(const struct tui *tui, size_t line, struct tbed_text *text, size_t position)
{
    const struct tbed_stack_row *row = tui_row(&tui->rows, position);
    size_t left, count = count_columns(tui, &left);
    uint64_t root = root_ticks(tui, position);
    bool is_open = tui_row_is_open(&tui->rows, position);
    put_figures(tui, text, row, root, count);
    size_t indent = indent_of(tui, row, left);
    for (size_t i = 0; i < indent && i < left; i++)
        tbed_text_put(text, " ", 1);
    tbed_text_puts(text, !tui_row_has_children(&tui->rows, position) ? "   " : is_open ? " - " : " + ");
    tbed_text_put(text, row->label, row->label_nbytes);
    const char *kind = row_kind(row, tui->options.per_thread);
    if (kind != NULL) {
        tbed_text_puts(text, "  [");
        tbed_text_puts(text, kind);
        tbed_text_puts(text, "]");
    }
    if (row->open_count > 0) {
        tbed_text_puts(text, "  [");
        tbed_text_u64(text, row->open_count);
        tbed_text_puts(text, " never ended]");
    }
    enum tui_look look = part_of(row->self_ticks, root) >= HOT_PART ? TUI_HOT : TUI_PLAIN;
    tui_put_line(tui, line, text, position == tui->selected ? TUI_REVERSE : look);
}

static void draw_rows(const struct tui *tui, struct tbed_text *text)
{
    size_t at = tui->top, page = tui_page(tui), line = 1;
    for (bool is_over = false; line <= page && !is_over; line++) {
        size_t next = tui_row_next(&tui->rows, at);
        draw_row(tui, line, text, at);
        is_over = next == at;
        at = next;
    }
    for (; line <= page; line++)
        tui_put_line(tui, line, text, TUI_PLAIN);
}

/* ---- The selected row ---- */

static void draw_figures(const struct tui *tui, struct tbed_text *text)
{
    const struct tbed_stack_row *row = tui_row(&tui->rows, tui->selected);
    size_t above = tui_row_parent(&tui->rows, tui->selected);
    char ticks[32], part[64];
    tbed_text_puts(text, "total ");
    tbed_text_puts(text, tool_format_ticks(ticks, tui->reader, &tui->info, row->span_ticks));
    snprintf(part, sizeof part, ", %.1f %% of all",
             100 * part_of(row->total_ticks, root_ticks(tui, tui->selected)));
    tbed_text_puts(text, part);
    if (above != tui->rows.count) {
        uint64_t all = tui_row(&tui->rows, above)->total_ticks;
        snprintf(part, sizeof part, ", %.1f %% of the row above", 100 * part_of(row->total_ticks, all));
        tbed_text_puts(text, part);
    }
    tbed_text_puts(text, "; self ");
    tbed_text_puts(text, tool_format_ticks(ticks, tui->reader, &tui->info, row->self_ticks));
    tbed_text_puts(text, "; count ");
    tbed_text_puts(text, tool_format_count(ticks, row->count));
    if (row->count > 0) {
        tbed_text_puts(text, "; mean ");
        tbed_text_puts(text, tool_format_ticks(ticks, tui->reader, &tui->info, row->span_ticks / row->count));
    }
    tui_put_line(tui, tui->height - 2, text, TUI_REVERSE);
}

/* The innermost names that fit, after an ellipsis if that is not all. */
static void put_path(const struct tui *tui, struct tbed_text *text)
{
    size_t from = tui->selected, width = 0, depth = 0, room = tui->width > 8 ? tui->width - 8 : 0, *path;
    path = calloc(tui_row(&tui->rows, from)->depth + 1, sizeof *path);
    for (; path != NULL && from != tui->rows.count; from = tui_row_parent(&tui->rows, from)) {
        const struct tbed_stack_row *row = tui_row(&tui->rows, from);
        width += tool_text_width(row->label, row->label_nbytes) + strlen(" > ");
        if (depth > 0 && width > room)
            break;
        path[depth++] = from;
    }
    if (from != tui->rows.count)
        tbed_text_puts(text, "… > ");
    while (depth-- > 0) {
        const struct tbed_stack_row *row = tui_row(&tui->rows, path[depth]);
        tbed_text_put(text, row->label, row->label_nbytes);
        tbed_text_puts(text, depth > 0 ? " > " : "");
    }
    free(path);
}

static void draw_last(const struct tui *tui, struct tbed_text *text)
{
    if (tui->is_typing) {
        tbed_text_puts(text, "/");
        tbed_text_puts(text, tui->typed);
    } else if (tui->message != NULL) {
        tbed_text_puts(text, tui->message);
    } else {
        put_path(tui, text);
    }
    tui_put_line(tui, tui->height - 1, text, tui->message != NULL ? TUI_BOLD : TUI_PLAIN);
}

void tui_draw(struct tui *tui)
{
    struct tbed_text text = {0};
    if (tui->height > 4) {
        draw_head(tui, &text);
        draw_rows(tui, &text);
        draw_figures(tui, &text);
        draw_last(tui, &text);
    } else {
        draw_row(tui, 0, &text, tui->selected);
        for (size_t i = 1; i < tui->height; i++)
            tui_put_line(tui, i, &text, TUI_PLAIN);
        if (tui->is_typing || tui->message != NULL)
            draw_last(tui, &text);
    }
    free(text.bytes);
}
