/*
 * The order of a tree's rows: each row's first child and next sibling.
 *
 * SPDX-License-Identifier: MIT
 */
#ifndef TRACEBED_ROW_LINKS_H
#define TRACEBED_ROW_LINKS_H

#include <tracebed/analysis.h>

enum row_order { ROWS_BY_TOTAL, ROWS_BY_SELF, ROWS_BY_COUNT, ROWS_BY_NAME, ROW_ORDER_COUNT };

/* By index; 'count' is "none". Roots are children of the row after the last. */
struct row_links {
    size_t *first, *next;
    size_t count;
};

/* Figures fall, names rise; rows with equal figures keep the order that they have. */
struct row_links row_links_make(const struct tbed_stacks *stacks, enum row_order order);
void row_links_free(struct row_links *links);

/* The index of the row's parent, or 'count'. */
size_t row_links_parent(const struct row_links *links, const struct tbed_stack_row *row);

/* What a row is, unless it is of a span: the outermost are not functions. NULL: it is of a span, or "<no process>". */
static inline const char *row_kind(const struct tbed_stack_row *row, bool per_thread)
{
    bool says_itself = row->label_nbytes > 0 && row->label[0] == '<';
    return says_itself ? NULL : row->depth == 0 ? "process" : row->depth == 1 && per_thread ? "thread" : NULL;
}

#endif
