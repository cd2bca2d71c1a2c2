/*
 * The help of 'tracebed tui': wrapped to the width of the terminal, and scrolled if it is too long for it.
 *
 * SPDX-License-Identifier: MIT
 */
#include "reader/tools/tui/tui.h"

#include <stdlib.h>
#include <string.h>

#define KEYS_WIDTH   21 /* of the column with the keys */
#define KEYS_INDENT  4 /* of what a key does, below the key, where the terminal has no room for two columns */
#define TWO_COLUMNS  60 /* as wide a terminal has it */
#define TITLE        "Keys of tracebed tui"
#define HOW_TO_LEAVE "Any key goes back."
#define HOW_TO_MOVE  "Up Down: scroll; other keys: back"

static const struct help_line {
    const char *keys, *what;
} help_lines[] = {
    {"Up Down, k j", "move by a row; PageUp and PageDown by a screen"},
    {"Home End, g G", "first and last row"},
    {"Right, l", "expand the row, then go to the first row below it"},
    {"Left, h", "collapse the row, then go to the row above it"},
    {"Enter, Space", "expand or collapse the row"},
    {"+ -", "expand or collapse the row and all rows below it"},
    {"s", "sort by the next of total, self, count, name"},
    {"/", "search for a part of a name"},
    {"n N", "next and previous match"},
    {"Ctrl-L", "draw the screen again"},
    {"q", "quit"},
};

/* Lines of the help as they come; those on the screen are drawn. */
struct help {
    const struct tui *tui;
    struct tbed_text *text; /* the line that is made */
    size_t count;           /* of the lines before it */
    size_t top, page;       /* the first that is drawn, and how many are */
};

static void end_line(struct help *help)
{
    if (help->count >= help->top && help->count - help->top < help->page)
        tui_put_line(help->tui, help->count - help->top, help->text, help->count == 0 ? TUI_BOLD : TUI_PLAIN);
    help->text->nbytes = 0;
    help->count++;
}

static void fill_to(struct help *help, size_t column)
{
    while (help->text->nbytes < column && !help->text->is_out_of_memory)
        tbed_text_put(help->text, " ", 1);
}

/* The words from this column on, in as many lines as they need. All are ASCII. */
static void put_words(struct help *help, const char *words, size_t column)
{
    fill_to(help, column);
    for (bool is_first = true; *words != '\0'; is_first = false) {
        size_t nbytes = strcspn(words, " ");
        if (!is_first && help->text->nbytes + 1 + nbytes > help->tui->width) {
            end_line(help);
            fill_to(help, column);
        } else if (!is_first) {
            tbed_text_put(help->text, " ", 1);
        }
        tbed_text_put(help->text, words, nbytes);
        words += nbytes + (words[nbytes] == ' ');
    }
    end_line(help);
}

static void put_help(struct help *help)
{
    bool has_columns = help->tui->width >= TWO_COLUMNS;
    put_words(help, TITLE, 0);
    end_line(help);
    for (size_t i = 0; i < sizeof help_lines / sizeof help_lines[0]; i++) {
        tbed_text_puts(help->text, help_lines[i].keys);
        if (!has_columns)
            end_line(help);
        put_words(help, help_lines[i].what, has_columns ? KEYS_WIDTH : KEYS_INDENT);
    }
    end_line(help);
}

void tui_help_draw(struct tui *tui)
{
    struct tbed_text text = {0};
    struct help all = {.tui = tui, .text = &text};
    put_help(&all);
    size_t last = tui->height > 0 ? tui->height - 1 : 0; /* the line that says how to go on */
    tui->help_top_max = all.count > last ? all.count - last : 0;
    if (tui->help_top > tui->help_top_max)
        tui->help_top = tui->help_top_max;
    struct help shown = {.tui = tui, .text = &text, .top = tui->help_top, .page = last};
    put_help(&shown);
    for (size_t line = shown.count; line < last; line++)
        tui_put_line(tui, line, &text, TUI_PLAIN);
    bool scrolls = tui->help_top_max > 0;
    tbed_text_puts(&text, scrolls ? HOW_TO_MOVE : HOW_TO_LEAVE);
    tui_put_line(tui, last, &text, scrolls ? TUI_REVERSE : TUI_PLAIN);
    free(text.bytes);
}

void tui_help_press(struct tui *tui, enum tui_key key)
{
    size_t page = tui->height > 2 ? tui->height - 2 : 1, top = tui->help_top, most = tui->help_top_max;
    bool stays = key == TUI_KEY_OTHER || key == TUI_KEY_REDRAW;
    bool moves = key == TUI_KEY_UP || key == TUI_KEY_DOWN || key == TUI_KEY_PAGE_UP ||
                 key == TUI_KEY_PAGE_DOWN || key == TUI_KEY_HOME || key == TUI_KEY_END;
    tui->shows_help = stays || (moves && most > 0);
    if (key == TUI_KEY_UP || key == TUI_KEY_PAGE_UP) {
        size_t step = key == TUI_KEY_UP ? 1 : page;
        tui->help_top = top > step ? top - step : 0;
    } else if (key == TUI_KEY_DOWN || key == TUI_KEY_PAGE_DOWN) {
        tui->help_top = top + (key == TUI_KEY_DOWN ? 1 : page); /* as far as there is more: tui_help_draw() */
    } else if (moves) {
        tui->help_top = key == TUI_KEY_HOME ? 0 : most;
    }
}
