/*
 * The order of a tree's rows; see row_links.h.
 *
 * SPDX-License-Identifier: MIT
 */
#include "reader/tools/tree/row_links.h"

#include "reader/tools/shared/tool.h"

#include <stdlib.h>
#include <string.h>

struct ranked {
    const struct tbed_stack_row *row;
    uint64_t figure; /* what is sorted by, largest first */
    size_t index;
};

static uint64_t figure_of(const struct tbed_stack_row *row, enum row_order order)
{
    switch (order) {
    case ROWS_BY_SELF:
        return row->self_ticks;
    case ROWS_BY_COUNT:
        return row->count;
    default:
        return row->total_ticks;
    }
}

/* What comes first is last, because each row is put before its siblings. */
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

size_t row_links_parent(const struct row_links *links, const struct tbed_stack_row *row)
{
    return row->parent != SIZE_MAX ? row->parent : links->count;
}

struct row_links row_links_make(const struct tbed_stacks *stacks, enum row_order order)
{
    struct row_links links = {.count = 0};
    while (tbed_stacks_row(stacks, links.count) != NULL)
        links.count++;
    links.first = tool_realloc(NULL, (links.count + 1) * sizeof *links.first);
    links.next = tool_realloc(NULL, (links.count + 1) * sizeof *links.next);
    struct ranked *ranked = tool_realloc(NULL, (links.count + 1) * sizeof *ranked);
    for (size_t i = 0; i < links.count; i++) {
        const struct tbed_stack_row *row = tbed_stacks_row(stacks, i);
        ranked[i] = (struct ranked){row, figure_of(row, order), i};
    }
    qsort(ranked, links.count, sizeof *ranked, order == ROWS_BY_NAME ? by_name : by_figure);
    for (size_t i = 0; i <= links.count; i++)
        links.first[i] = links.count;
    for (size_t i = 0; i < links.count; i++) {
        size_t parent = row_links_parent(&links, ranked[i].row);
        links.next[ranked[i].index] = links.first[parent];
        links.first[parent] = ranked[i].index;
    }
    free(ranked);
    return links;
}

void row_links_free(struct row_links *links)
{
    free(links->first);
    free(links->next);
}
