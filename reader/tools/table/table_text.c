/*
 * Tables for people: figures with units to the right, names to the left. On a terminal, and nowhere else, a name that does
 * not fit into the line is shortened in the middle; if names would be too short to read, the last figures are left out, unless
 * the user chose the columns.
 *
 * SPDX-License-Identifier: MIT
 */
#define _GNU_SOURCE 1
#include "reader/tools/table/table.h"

#include <stdlib.h>
#include <string.h>

#define COLUMN_WIDTH 11
#define NAME_GOOD    32 /* columns that a longer name should have; figures give way to it */
#define LAST_MAX     48 /* and with remarks: long ones are rare, and may go on in the next line */

struct layout {
    const struct table *table;
    const struct table_column *columns[TABLE_KEYS_MAX];
    size_t widths[TABLE_KEYS_MAX]; /* of texts that are not last */
    size_t count;
    const struct table_column *left_out[TABLE_KEYS_MAX];
    size_t left_out_count;
    size_t terminal; /* columns; 0: no terminal */
    struct tool_buffer cell, notes;
};

/* ---- Cells ---- */

static double ns_of(const struct table_clock *clock, double ticks)
{
    return clock->reader == NULL ? ticks : ticks * tbed_tick_span_to_ns(clock->reader, 1000000) / 1e6;
}

static void format_ticks(const struct table_clock *clock, char buffer[32], double ticks)
{
    if (clock->is_time)
        tool_format_time(buffer, ns_of(clock, ticks), clock->resolution_ns);
    else
        tool_format_count(buffer, (uint64_t)ticks);
}

bool table_is_below_step(const struct table_clock *clock, uint64_t ticks)
{
    return clock->is_time && clock->step_ticks > 1 && ticks < clock->step_ticks;
}

const char *table_format_duration(const struct table_clock *clock, char buffer[40], uint64_t ticks,
                                  double exact)
{
    bool is_short = table_is_below_step(clock, ticks);
    buffer[0] = '<';
    format_ticks(clock, buffer + is_short, is_short ? (double)clock->step_ticks : exact);
    return buffer;
}

void table_put_step(const struct table_clock *clock)
{
    char step[32];
    format_ticks(clock, step, (double)clock->step_ticks);
    printf("The clock has steps of %s; shorter times were not measured.\n", step);
}

static size_t width_of(const struct table_column *column)
{
    return column->width > 0 ? column->width : COLUMN_WIDTH;
}

static void format_figure(const struct table *table, const struct table_column *column,
                          const struct table_value *value, char buffer[48])
{
    switch (column->unit) {
    case TABLE_TICKS:
        format_ticks(table->clock, buffer, value->number);
        break;
    case TABLE_DURATION:
        table_format_duration(table->clock, buffer, value->whole, value->number);
        break;
    case TABLE_BYTES:
        tool_format_bytes(buffer, value->number);
        break;
    case TABLE_PERCENT:
        snprintf(buffer, 48, "%.1f %%", value->number);
        break;
    case TABLE_NUMBER:
        tool_format_number(buffer, value->number, width_of(column) - 1);
        break;
    default:
        tool_format_count(buffer, value->whole);
    }
}

/* Fills 'cell' with the text of a cell; 'empty' stands for what is not known. */
static void fill_cell(struct layout *layout, const struct table_column *column, const void *row,
                      const char *empty)
{
    char buffer[48];
    layout->cell.nbytes = 0;
    if (column->show != NULL) {
        column->show(layout->table, row, &layout->cell);
        return;
    }
    struct table_value value = column->get(layout->table, row);
    if (value.is_unknown) {
        tool_append(&layout->cell, empty, strlen(empty));
    } else if (column->unit == TABLE_TEXT) {
        tool_append(&layout->cell, value.text, value.nbytes);
    } else {
        format_figure(layout->table, column, &value, buffer);
        tool_append(&layout->cell, buffer, strlen(buffer));
    }
}

/* ---- Columns ---- */

static const char *title_of(const struct layout *layout, const struct table_column *column)
{
    if (layout->table->name_title != NULL && strcmp(column->key, "name") == 0)
        return layout->table->name_title;
    return column->title != NULL ? column->title : column->key;
}

static bool is_last(const struct layout *layout, size_t at)
{
    return at + 1 == layout->count;
}

static void measure(struct layout *layout)
{
    for (size_t k = 0; k + 1 < layout->count; k++) {
        const struct table_column *column = layout->columns[k];
        if (column->unit != TABLE_TEXT)
            continue;
        layout->widths[k] = strlen(title_of(layout, column));
        for (size_t i = 0; i < layout->table->shown; i++) {
            fill_cell(layout, column, layout->table->rows[i], "-");
            size_t width = tool_text_width(layout->cell.bytes, layout->cell.nbytes);
            layout->widths[k] = width > layout->widths[k] ? width : layout->widths[k];
        }
    }
}

/* The columns that the last text should have at least, with the remarks behind it. */
static size_t last_wanted(struct layout *layout)
{
    const struct table *table = layout->table;
    const struct table_column *column = layout->columns[layout->count - 1];
    size_t name = TOOL_NAME_MIN, notes = 0;
    for (size_t i = 0; i < table->shown; i++) {
        fill_cell(layout, column, table->rows[i], "-");
        size_t width = tool_text_width(layout->cell.bytes, layout->cell.nbytes);
        name = width > name ? width : name;
        layout->notes.nbytes = 0;
        if (table->notes != NULL)
            table->notes(table, table->rows[i], &layout->notes);
        width = tool_text_width(layout->notes.bytes, layout->notes.nbytes);
        notes = width > notes ? width : notes;
    }
    size_t width = notes + (name < NAME_GOOD ? name : NAME_GOOD);
    return width < LAST_MAX ? width : LAST_MAX;
}

static size_t wanted_width(struct layout *layout)
{
    size_t width = 0;
    for (size_t k = 0; k < layout->count; k++) {
        if (layout->columns[k]->unit != TABLE_TEXT)
            width += width_of(layout->columns[k]);
        else if (is_last(layout, k))
            width += 2 + last_wanted(layout);
        else
            width += 2 + (layout->widths[k] < NAME_GOOD ? layout->widths[k] : NAME_GOOD);
    }
    return width;
}

static void leave_out(struct layout *layout, size_t at)
{
    layout->left_out[layout->left_out_count++] = layout->columns[at];
    layout->count--;
    for (size_t k = at; k < layout->count; k++) {
        layout->columns[k] = layout->columns[k + 1];
        layout->widths[k] = layout->widths[k + 1];
    }
}

/* Leaves out figures from the right, but the first. Columns are in the order of what matters most. */
static void leave_out_figures(struct layout *layout)
{
    size_t width = layout->terminal > 0 ? wanted_width(layout) : 0;
    for (size_t k = layout->count; k-- > 1 && width > layout->terminal;) {
        if (layout->columns[k]->unit == TABLE_TEXT)
            continue;
        width -= width_of(layout->columns[k]);
        leave_out(layout, k);
    }
}

/* Text columns that are too wide for a terminal share what the figures leave. */
static void fit(struct layout *layout)
{
    size_t figures = 0, texts = 0;
    for (size_t k = 0; k < layout->count; k++) {
        texts += layout->columns[k]->unit == TABLE_TEXT;
        figures += layout->columns[k]->unit == TABLE_TEXT ? 2 : width_of(layout->columns[k]);
    }
    if (layout->terminal == 0 || texts == 0)
        return;
    size_t each = layout->terminal > figures ? (layout->terminal - figures) / texts : 0;
    each = each < TOOL_NAME_MIN ? TOOL_NAME_MIN : each;
    for (size_t k = 0; k + 1 < layout->count; k++)
        layout->widths[k] = layout->widths[k] > each ? each : layout->widths[k];
}

static void open_layout(struct layout *layout, const struct table *table, const struct table_keys *columns)
{
    *layout = (struct layout){.table = table, .terminal = tool_terminal_width()};
    layout->count = table_choose(table, columns, table->text_columns, layout->columns);
    measure(layout);
    if (columns->count == 0)
        leave_out_figures(layout);
    fit(layout);
}

static void close_layout(struct layout *layout)
{
    free(layout->cell.bytes);
    free(layout->notes.bytes);
}

/* ---- Lines ---- */

static void put_padding(size_t width, size_t used)
{
    while (used++ < width)
        putchar(' ');
}

static void put_heading(const struct layout *layout)
{
    printf("\n%s", tool_bold());
    for (size_t k = 0; k < layout->count; k++) {
        const char *title = title_of(layout, layout->columns[k]);
        if (layout->columns[k]->unit != TABLE_TEXT) {
            printf("%*s", (int)width_of(layout->columns[k]), title);
            continue;
        }
        printf("  %s", title);
        if (!is_last(layout, k))
            put_padding(layout->widths[k], strlen(title));
    }
    printf("%s\n", tool_plain());
}

/* The first line of a name; the others follow below it, indented as far. */
static void put_name(const struct layout *layout, size_t used)
{
    const char *name = layout->cell.bytes, *end = name + layout->cell.nbytes, *line = NULL;
    size_t notes_width = tool_text_width(layout->notes.bytes, layout->notes.nbytes);
    if (layout->table->has_frames && layout->cell.nbytes > 0)
        line = memchr(name, '\n', layout->cell.nbytes);
    tool_print_middle(stdout, name, (size_t)((line != NULL ? line : end) - name),
                      tool_name_width(used + (line != NULL ? 0 : notes_width)));
    while (line != NULL) {
        const char *from = line + 1;
        line = memchr(from, '\n', (size_t)(end - from));
        printf("\n%*s%s", (int)used, "", tool_dim());
        tool_print_middle(stdout, from, (size_t)((line != NULL ? line : end) - from),
                          tool_name_width(used + (line != NULL ? 0 : notes_width)));
        fputs(tool_plain(), stdout);
    }
}

static void put_figure(const struct layout *layout, const struct table_column *column, const void *row)
{
    const char *color = column->color != NULL ? column->color(layout->table, row) : "";
    printf("%s%*.*s%s", color, (int)width_of(column), (int)layout->cell.nbytes, layout->cell.bytes,
           *color != '\0' ? tool_plain() : "");
}

static void put_text(struct layout *layout, size_t at, size_t used, bool is_marked)
{
    size_t width = layout->widths[at];
    fputs(is_marked ? " *" : "  ", stdout);
    if (is_last(layout, at)) {
        put_name(layout, used + 2);
        return;
    }
    size_t own = tool_text_width(layout->cell.bytes, layout->cell.nbytes);
    tool_print_middle(stdout, layout->cell.bytes, layout->cell.nbytes, layout->terminal > 0 ? width : 0);
    put_padding(width, own < width ? own : width);
}

/* 'name' replaces that of the row, if it is not NULL. */
static void put_row(struct layout *layout, const void *row, const char *empty, const char *name)
{
    size_t used = 0;
    bool is_marked = layout->table->is_marked != NULL && layout->table->is_marked(layout->table, row);
    layout->notes.nbytes = 0;
    if (layout->table->notes != NULL && name == NULL)
        layout->table->notes(layout->table, row, &layout->notes);
    for (size_t k = 0; k < layout->count; k++) {
        const struct table_column *column = layout->columns[k];
        bool is_name = strcmp(column->key, "name") == 0;
        if (is_name && name != NULL)
            layout->cell.nbytes = 0;
        if (is_name && name != NULL)
            tool_append(&layout->cell, name, strlen(name));
        else
            fill_cell(layout, column, row, empty);
        if (column->unit == TABLE_TEXT)
            put_text(layout, k, used, is_name && is_marked);
        else
            put_figure(layout, column, row);
        used += column->unit == TABLE_TEXT ? 2 + layout->widths[k] : width_of(column);
    }
    if (layout->notes.nbytes > 0) {
        fputs(tool_dim(), stdout);
        tool_print_text(stdout, layout->notes.bytes, layout->notes.nbytes, 0);
        fputs(tool_plain(), stdout);
    }
    putchar('\n');
}

static void put_left_out(const struct layout *layout)
{
    size_t count = layout->left_out_count;
    if (count == 0)
        return;
    printf("%s%*zu more column%s: ", tool_dim(), COLUMN_WIDTH, count, count == 1 ? "" : "s");
    while (count-- > 0)
        printf("%s%s", layout->left_out[count]->key, count > 0 ? "," : "");
    printf("; see --columns%s\n", tool_plain());
}

/* The length of "span" in "spans", of "process" in "processes". */
static size_t singular_nbytes(const char *plural)
{
    size_t nbytes = strlen(plural);
    bool has_es =
        nbytes > 4 && (strcmp(plural + nbytes - 4, "sses") == 0 || strcmp(plural + nbytes - 4, "ches") == 0);
    return nbytes - (has_es ? 2 : 1);
}

static void put_rest(const struct table *table)
{
    char left[32];
    size_t count = table->count - table->shown;
    if (table->shown >= table->count)
        return;
    printf("%s%*s more %.*s; --limit=%zu shows all%s\n", tool_dim(), COLUMN_WIDTH,
           tool_format_count(left, count),
           (int)(count == 1 ? singular_nbytes(table->what) : strlen(table->what)), table->what, table->count,
           tool_plain());
}

void table_print_text(const struct table *table, const struct table_keys *columns)
{
    struct layout layout;
    if (table->count == 0 || !table_is_asked_for(table, columns))
        return;
    open_layout(&layout, table, columns);
    put_heading(&layout);
    for (size_t i = 0; i < table->shown && !tool_output_failed(); i++)
        put_row(&layout, table->rows[i], "-", NULL);
    put_rest(table);
    put_left_out(&layout);
    close_layout(&layout);
}

void table_print_total(const struct table *table, const struct table_keys *columns, const void *row,
                       const char *name)
{
    struct layout layout;
    if (table->count == 0 || !table_is_asked_for(table, columns))
        return;
    open_layout(&layout, table, columns);
    put_row(&layout, row, "", name);
    close_layout(&layout);
}
