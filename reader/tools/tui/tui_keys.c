/*
 * What the keys of 'tracebed tui' do.
 *
 * SPDX-License-Identifier: MIT
 */
#define _GNU_SOURCE 1
#include "reader/tools/tui/tui.h"

#include <string.h>

/* ---- Moving ---- */

static void move(struct tui *tui, size_t (*step)(const struct tui_rows *, size_t), size_t count)
{
    for (size_t i = 0; i < count; i++)
        tui->selected = step(&tui->rows, tui->selected);
}

/* If there are too few rows below to fill the screen, those above come in. */
static void fill(struct tui *tui)
{
    size_t shown = 1, at = tui->top, page = tui_page(tui);
    for (size_t next; shown < page && (next = tui_row_next(&tui->rows, at)) != at; shown++)
        at = next;
    for (; shown < page && tui->top > 0; shown++)
        tui->top = tui_row_previous(&tui->rows, tui->top);
}

void tui_scroll(struct tui *tui)
{
    size_t at = tui->selected;
    for (size_t i = 1; i < tui_page(tui) && at > tui->top; i++)
        at = tui_row_previous(&tui->rows, at);
    if (tui->top > tui->selected || at > tui->top)
        tui->top = at;
    fill(tui);
}

/* Left: closes an open row, then goes to the one above it. */
static void go_out(struct tui *tui)
{
    size_t above = tui_row_parent(&tui->rows, tui->selected);
    if (tui_row_is_open(&tui->rows, tui->selected))
        tui_row_open(&tui->rows, tui->selected, false);
    else if (above != tui->rows.count)
        tui->selected = above;
}

static void go_in(struct tui *tui)
{
    if (tui_row_is_open(&tui->rows, tui->selected))
        tui->selected = tui_row_next(&tui->rows, tui->selected);
    else
        tui_row_open(&tui->rows, tui->selected, true);
}

/* The selected row stays the same one, and the first on the screen. */
static void sort_next(struct tui *tui)
{
    size_t row = tui->rows.order[tui->selected];
    tui->order = (tui->order + 1) % ROW_ORDER_COUNT;
    tui_rows_sort(&tui->rows, tui->order);
    tui->selected = tui->rows.position[row];
    tui->top = 0;
}

/* ---- Searching ---- */

static bool matches(const struct tui *tui, size_t position)
{
    return strcasestr(tui_row(&tui->rows, position)->label, tui->search) != NULL;
}

/* Goes around the end of the tree; finds the selected row last. */
static void find(struct tui *tui, bool forward)
{
    size_t count = tui->rows.count, at = tui->selected;
    if (tui->search[0] == '\0') {
        tui->message = "Nothing to search for; type / and a part of a name";
        return;
    }
    for (size_t i = 0; i < count; i++) {
        at = forward ? (at + 1) % count : (at + count - 1) % count;
        if (!matches(tui, at))
            continue;
        if (forward ? at <= tui->selected : at >= tui->selected)
            tui->message = at == tui->selected ? "No other match" : "Searched around the end of the tree";
        tui->selected = at;
        tui_row_reveal(&tui->rows, at);
        return;
    }
    tui->message = "No match";
}

static void type(struct tui *tui, uint32_t code)
{
    char bytes[4];
    size_t nbytes = code < 0x80 ? 1 : code < 0x800 ? 2 : code < 0x10000 ? 3 : 4, end = strlen(tui->typed);
    if (code < 0x20 || code > 0x10FFFF || end + nbytes >= sizeof tui->typed)
        return;
    static const uint8_t lead[] = {0, 0, 0xC0, 0xE0, 0xF0};
    for (size_t i = nbytes; i-- > 1; code >>= 6)
        bytes[i] = (char)(0x80 | (code & 0x3F));
    bytes[0] = (char)(lead[nbytes] | code);
    memcpy(tui->typed + end, bytes, nbytes);
    tui->typed[end + nbytes] = '\0';
}

static void rub_out(struct tui *tui)
{
    size_t end = strlen(tui->typed);
    tui->is_typing = end > 0;
    while (end > 0 && ((uint8_t)tui->typed[--end] & 0xC0) == 0x80)
        ;
    tui->typed[end] = '\0';
}

/* Enter without a text repeats the last search. */
static void press_typing(struct tui *tui, enum tui_key key, uint32_t character)
{
    if (key == TUI_KEY_CHARACTER)
        type(tui, character);
    else if (key == TUI_KEY_BACKSPACE)
        rub_out(tui);
    else if (key == TUI_KEY_ESCAPE)
        tui->is_typing = false;
    else if (key == TUI_KEY_ENTER) {
        tui->is_typing = false;
        if (tui->typed[0] != '\0')
            memcpy(tui->search, tui->typed, sizeof tui->search);
        find(tui, true);
    }
}

/* ---- Keys ---- */

/* The key that a letter stands for. */
static enum tui_key key_of(uint32_t character)
{
    switch (character) {
    case 'k':
        return TUI_KEY_UP;
    case 'j':
        return TUI_KEY_DOWN;
    case 'h':
        return TUI_KEY_LEFT;
    case 'l':
        return TUI_KEY_RIGHT;
    case 'g':
        return TUI_KEY_HOME;
    case 'G':
        return TUI_KEY_END;
    case ' ':
        return TUI_KEY_ENTER;
    default:
        return TUI_KEY_OTHER;
    }
}

static void press_character(struct tui *tui, uint32_t character)
{
    switch (character) {
    case 'q':
        tui->is_over = true;
        break;
    case '+':
    case '-':
        tui_row_open_all(&tui->rows, tui->selected, character == '+');
        break;
    case 's':
        sort_next(tui);
        break;
    case '/':
        tui->is_typing = true;
        tui->typed[0] = '\0';
        break;
    case 'n':
    case 'N':
        find(tui, character == 'n');
        break;
    case '?':
        tui->shows_help = true;
        tui->help_top = 0;
        break;
    default:
        break;
    }
}

static void press_moving(struct tui *tui, enum tui_key key)
{
    switch (key) {
    case TUI_KEY_UP:
    case TUI_KEY_PAGE_UP:
        move(tui, tui_row_previous, key == TUI_KEY_UP ? 1 : tui_page(tui));
        break;
    case TUI_KEY_DOWN:
    case TUI_KEY_PAGE_DOWN:
        move(tui, tui_row_next, key == TUI_KEY_DOWN ? 1 : tui_page(tui));
        break;
    case TUI_KEY_LEFT:
        go_out(tui);
        break;
    case TUI_KEY_RIGHT:
        go_in(tui);
        break;
    case TUI_KEY_HOME:
        tui->selected = 0;
        break;
    case TUI_KEY_END:
        tui->selected = tui_row_last(&tui->rows);
        break;
    case TUI_KEY_ENTER:
        tui_row_open(&tui->rows, tui->selected, !tui_row_is_open(&tui->rows, tui->selected));
        break;
    default:
        break;
    }
}

void tui_press(struct tui *tui, enum tui_key key, uint32_t character)
{
    enum tui_key moving = key == TUI_KEY_CHARACTER ? key_of(character) : key;
    tui->message = NULL;
    if (key == TUI_KEY_GONE)
        tui->is_over = true;
    else if (tui->shows_help)
        tui_help_press(tui, moving != TUI_KEY_OTHER ? moving : key);
    else if (tui->is_typing)
        press_typing(tui, key, character);
    else if (key == TUI_KEY_CHARACTER && moving == TUI_KEY_OTHER)
        press_character(tui, character);
    else
        press_moving(tui, moving);
}
