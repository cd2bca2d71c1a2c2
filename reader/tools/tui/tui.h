/*
 * Shared by the files of 'tracebed tui': tui_rows.c keeps the tree's rows in order, tui_keys.c says what keys do, tui_draw.c
 * makes the lines of the screen, tui_help.c those of the help, and tui_terminal.c alone knows the library that draws them.
 *
 * SPDX-License-Identifier: MIT
 */
#ifndef TRACEBED_TUI_H
#define TRACEBED_TUI_H

#include "reader/tools/filter/tool_filter.h"
#include "reader/tools/tree/row_links.h"

#include <tracebed/analysis.h>

/* ---- Rows ---- */

/*
 * All rows of the stacks, each before the rows below it, siblings in the order asked for. A row's place in it is its
 * position; the rows below it follow. A row is visible if all rows above it are open. Memory: 25 bytes a row.
 */
struct tui_rows {
    const struct tbed_stacks *stacks;
    size_t count;
    size_t *order;    /* by position: the index of a row in 'stacks' */
    size_t *position; /* by index */
    size_t *after;    /* by position: that of the first row that is not below it; 'count': none */
    bool *is_open;    /* by index */
};

void tui_rows_make(struct tui_rows *rows, const struct tbed_stacks *stacks);
void tui_rows_sort(struct tui_rows *rows, enum row_order order); /* positions change */
void tui_rows_free(struct tui_rows *rows);

const struct tbed_stack_row *tui_row(const struct tui_rows *rows, size_t position);
bool tui_row_has_children(const struct tui_rows *rows, size_t position);
bool tui_row_is_open(const struct tui_rows *rows, size_t position);
/* The position of the row above it; 'count': none. */
size_t tui_row_parent(const struct tui_rows *rows, size_t position);
/* The nearest visible rows; 'position' itself if there is none. */
size_t tui_row_next(const struct tui_rows *rows, size_t position);
size_t tui_row_previous(const struct tui_rows *rows, size_t position);
/* The last visible row. */
size_t tui_row_last(const struct tui_rows *rows);
void tui_row_open(struct tui_rows *rows, size_t position, bool is_open);
void tui_row_open_all(struct tui_rows *rows, size_t position, bool is_open); /* with all rows below it */
void tui_row_reveal(struct tui_rows *rows, size_t position);                 /* opens all rows above it */

/* ---- The screen ---- */

#define TUI_SEARCH_ROOM 256

struct tui {
    const char *path;
    struct tool_filter filter;
    struct tbed_reader *reader;
    struct tbed_trace_info info;
    struct tbed_stacks_options options;
    struct tool_places places;
    struct tbed_stacks *stacks;
    struct tui_rows rows;
    enum row_order order;
    size_t selected, top; /* positions of visible rows */
    size_t height, width; /* of the terminal */
    bool is_typing;       /* what to search for */
    bool shows_help;
    size_t help_top, help_top_max; /* its first line on the screen; 'max': 0 if all of it fits */
    bool is_over;
    char search[TUI_SEARCH_ROOM]; /* terminated */
    char typed[TUI_SEARCH_ROOM];
    const char *message; /* instead of the path; NULL: none */
};

enum tui_look { TUI_PLAIN, TUI_BOLD, TUI_HOT, TUI_REVERSE };

/* How many rows fit on the screen; at least one. */
size_t tui_page(const struct tui *tui);

/* Draws everything. Errors: none; a line for which there is no memory stays empty. */
void tui_draw(struct tui *tui);

/* Puts the text on a line of the screen, and empties it. */
void tui_put_line(const struct tui *tui, size_t line, struct tbed_text *text, enum tui_look look);

/* ---- Keys ---- */

enum tui_key {
    TUI_KEY_CHARACTER,
    TUI_KEY_UP,
    TUI_KEY_DOWN,
    TUI_KEY_LEFT,
    TUI_KEY_RIGHT,
    TUI_KEY_PAGE_UP,
    TUI_KEY_PAGE_DOWN,
    TUI_KEY_HOME,
    TUI_KEY_END,
    TUI_KEY_ENTER,
    TUI_KEY_ESCAPE,
    TUI_KEY_BACKSPACE,
    TUI_KEY_REDRAW,
    TUI_KEY_OTHER, /* also: the terminal has another size */
    TUI_KEY_GONE,  /* there is no terminal any more */
};

void tui_press(struct tui *tui, enum tui_key key, uint32_t character);

/* ---- The help ---- */

void tui_help_draw(struct tui *tui);                    /* instead of tui_draw() */
void tui_help_press(struct tui *tui, enum tui_key key); /* keys that move, or leave the help */

/* Scrolls so that the selected row is on the screen. */
void tui_scroll(struct tui *tui);

/* ---- The terminal ---- */

/* Takes the terminal; false after a complaint. */
bool tui_terminal_start(void);
void tui_terminal_end(void);
void tui_terminal_size(size_t *height_ret, size_t *width_ret);
/* Replaces a line, counted from 0, by inert text. */
void tui_terminal_put(size_t line, const char *text, size_t nbytes, enum tui_look look);
void tui_terminal_show(bool all); /* 'all': also what should be there already */
/* Waits for a key. */
enum tui_key tui_terminal_key(uint32_t *character_ret);

#endif
