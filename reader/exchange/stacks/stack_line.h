/*
 * The lines of folded stacks, for 'tracebed flame --folded' and for exports: the labels of a path, joined by ';'.
 *
 * SPDX-License-Identifier: MIT
 */
#ifndef TRACEBED_STACK_LINE_H
#define TRACEBED_STACK_LINE_H

#include "reader/core/base/text.h"
#include "reader/core/base/vector.h"

#include <tracebed/analysis.h>

struct stack_line {           /* zeroed: empty */
    struct tbed_text text;    /* the path of the latest row */
    TBED_VECTOR(size_t) ends; /* where the label of each depth ends */
    bool has_no_root;         /* it is that of a process of which nothing is known */
};

/* Whether it is the root of a process of which nothing is known, as in a trace of samples. It is no frame. */
static inline bool tbed_stack_row_is_nameless(const struct tbed_stack_row *row)
{
    static const char name[] = "<unnamed process>";
    return row->depth == 0 && row->id == TBED_ID_INVALID && row->label_nbytes == sizeof name - 1 &&
           memcmp(row->label, name, sizeof name - 1) == 0;
}

/*
 * Makes the path to a row. Rows come in their order, so that each follows its parent. In a label ';', controls of all kinds and
 * bytes that are not UTF-8 are written as \xHH. A path does not begin with a nameless root, unless it is all there is. False:
 * no memory.
 */
bool tbed_stack_line_turn(struct stack_line *line, const struct tbed_stack_row *row);

void tbed_stack_line_free(struct stack_line *line);

#endif
