/*
 * The rows of 'tracebed tui': their order, and which of them are visible. A step takes time by the depth of the tree, never
 * by the number of rows, so that large trees are as quick as small ones.
 *
 * SPDX-License-Identifier: MIT
 */
#define _GNU_SOURCE 1
#include "reader/tools/shared/tool.h"
#include "reader/tools/tui/tui.h"

#include <stdlib.h>
#include <string.h>

/* ---- Order ---- */

/* Moves to the first child, or else to the next sibling of the nearest row that has one, without recursion. */
static void number_rows(struct tui_rows *rows, const struct row_links *links)
{
    size_t count = rows->count, at = links->first[count], position = 0;
    while (at != count) {
        rows->order[position] = at;
        rows->position[at] = position++;
        if (links->first[at] != count) {
            at = links->first[at];
            continue;
        }
        while (at != count && links->next[at] == count) {
            rows->after[rows->position[at]] = position;
            at = row_links_parent(links, tbed_stacks_row(rows->stacks, at));
        }
        if (at != count) {
            rows->after[rows->position[at]] = position;
            at = links->next[at];
        }
    }
}

void tui_rows_sort(struct tui_rows *rows, enum row_order order)
{
    struct row_links links = row_links_make(rows->stacks, order);
    number_rows(rows, &links);
    row_links_free(&links);
}

void tui_rows_make(struct tui_rows *rows, const struct tbed_stacks *stacks)
{
    *rows = (struct tui_rows){.stacks = stacks};
    while (tbed_stacks_row(stacks, rows->count) != NULL)
        rows->count++;
    rows->order = tool_realloc(NULL, (rows->count + 1) * sizeof *rows->order);
    rows->position = tool_realloc(NULL, (rows->count + 1) * sizeof *rows->position);
    rows->after = tool_realloc(NULL, (rows->count + 1) * sizeof *rows->after);
    rows->is_open = tool_realloc(NULL, (rows->count + 1) * sizeof *rows->is_open);
    memset(rows->is_open, 0, (rows->count + 1) * sizeof *rows->is_open);
    tui_rows_sort(rows, ROWS_BY_TOTAL);
}

void tui_rows_free(struct tui_rows *rows)
{
    free(rows->order);
    free(rows->position);
    free(rows->after);
    free(rows->is_open);
}

/* ---- One row ---- */

const struct tbed_stack_row *tui_row(const struct tui_rows *rows, size_t position)
{
    return tbed_stacks_row(rows->stacks, rows->order[position]);
}

bool tui_row_has_children(const struct tui_rows *rows, size_t position)
{
    return rows->after[position] > position + 1;
}

bool tui_row_is_open(const struct tui_rows *rows, size_t position)
{
    return rows->is_open[rows->order[position]];
}

size_t tui_row_parent(const struct tui_rows *rows, size_t position)
{
    size_t parent = tui_row(rows, position)->parent;
    return parent != SIZE_MAX ? rows->position[parent] : rows->count;
}

size_t tui_row_next(const struct tui_rows *rows, size_t position)
{
    size_t next = tui_row_is_open(rows, position) ? position + 1 : rows->after[position];
    return next < rows->count ? next : position;
}

/* The visible row that shows this one or hides it. */
static size_t visible_for(const struct tui_rows *rows, size_t position)
{
    size_t visible = position, above = tui_row_parent(rows, position);
    for (; above != rows->count; above = tui_row_parent(rows, above))
        if (!tui_row_is_open(rows, above))
            visible = above;
    return visible;
}

size_t tui_row_previous(const struct tui_rows *rows, size_t position)
{
    return position > 0 ? visible_for(rows, position - 1) : position;
}

size_t tui_row_last(const struct tui_rows *rows)
{
    return visible_for(rows, rows->count - 1);
}

void tui_row_open(struct tui_rows *rows, size_t position, bool is_open)
{
    if (tui_row_has_children(rows, position))
        rows->is_open[rows->order[position]] = is_open;
}

void tui_row_open_all(struct tui_rows *rows, size_t position, bool is_open)
{
    for (size_t i = position; i < rows->after[position]; i++)
        tui_row_open(rows, i, is_open);
}

void tui_row_reveal(struct tui_rows *rows, size_t position)
{
    size_t above = tui_row_parent(rows, position);
    for (; above != rows->count; above = tui_row_parent(rows, above))
        tui_row_open(rows, above, true);
}
