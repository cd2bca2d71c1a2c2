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

struct ranked {
    const struct tbed_stack_row *row;
    uint64_t figure; /* what is sorted by, largest first */
    size_t index;
};

static uint64_t figure_of(const struct tbed_stack_row *row, enum tui_sort sort)
{
    switch (sort) {
    case TUI_BY_SELF:
        return row->self_ticks;
    case TUI_BY_COUNT:
        return row->count;
    default:
        return row->total_ticks;
    }
}

/* What comes first is last, because each row is put before its siblings. Equal rows are in the order of 'tracebed tree'. */
static int by_figure(const void *a, const void *b)
{
    const struct ranked *left = a, *right = b;
    if (left->figure != right->figure)
        return left->figure < right->figure ? -1 : 1;
    return left->index > right->index ? -1 : left->index < right->index;
}

static int by_name(const void *a, const void *b)
{
    const struct ranked *left = a, *right = b;
    int difference = strcmp(right->row->label, left->row->label);
    return difference != 0 ? difference : by_figure(a, b);
}

/* By index: the first child and the next sibling. Roots are children of the row after the last. */
struct links {
    size_t *first, *next;
};

static size_t parent_index(const struct tui_rows *rows, size_t index)
{
    size_t parent = tbed_stacks_row(rows->stacks, index)->parent;
    return parent != SIZE_MAX ? parent : rows->count;
}

static void link_rows(const struct tui_rows *rows, enum tui_sort sort, struct links links)
{
    struct ranked *ranked = tool_realloc(NULL, (rows->count + 1) * sizeof *ranked);
    for (size_t i = 0; i < rows->count; i++) {
        const struct tbed_stack_row *row = tbed_stacks_row(rows->stacks, i);
        ranked[i] = (struct ranked){row, figure_of(row, sort), i};
    }
    qsort(ranked, rows->count, sizeof *ranked, sort == TUI_BY_NAME ? by_name : by_figure);
    for (size_t i = 0; i <= rows->count; i++)
        links.first[i] = rows->count;
    for (size_t i = 0; i < rows->count; i++) {
        size_t parent = parent_index(rows, ranked[i].index);
        links.next[ranked[i].index] = links.first[parent];
        links.first[parent] = ranked[i].index;
    }
    free(ranked);
}

/* Moves to the first child, or else to the next sibling of the nearest row that has one, without recursion. */
static void number_rows(struct tui_rows *rows, struct links links)
{
    size_t count = rows->count, at = links.first[count], position = 0;
    while (at != count) {
        rows->order[position] = at;
        rows->position[at] = position++;
        if (links.first[at] != count) {
            at = links.first[at];
            continue;
        }
        while (at != count && links.next[at] == count) {
            rows->after[rows->position[at]] = position;
            at = parent_index(rows, at);
        }
        if (at != count) {
            rows->after[rows->position[at]] = position;
            at = links.next[at];
        }
    }
}

void tui_rows_sort(struct tui_rows *rows, enum tui_sort sort)
{
    struct links links = {.first = tool_realloc(NULL, (rows->count + 1) * sizeof(size_t)),
                          .next = tool_realloc(NULL, (rows->count + 1) * sizeof(size_t))};
    link_rows(rows, sort, links);
    number_rows(rows, links);
    free(links.first);
    free(links.next);
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
    tui_rows_sort(rows, TUI_BY_TOTAL);
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
    size_t parent = parent_index(rows, rows->order[position]);
    return parent != rows->count ? rows->position[parent] : rows->count;
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
