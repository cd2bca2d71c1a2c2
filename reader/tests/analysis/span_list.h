/*
 * A slow and obvious oracle: the list of all spans as the assembler gives them, and what analyses must make of it.
 *
 * SPDX-License-Identifier: MIT
 */
#ifndef TRACEBED_SPAN_LIST_H
#define TRACEBED_SPAN_LIST_H

#include "reader/tests/analysis/random_trace.h"

#include <tracebed/analysis.h>

struct listed {
    uint64_t begin, end, children;
    uint32_t id, stream;
    bool is_open, is_unknown;
};

struct list {
    struct listed *items; /* a span whose begin is not known is an item without time */
    size_t count;
};

/* The span of a step that ends one. */
struct listed listed_of(const struct tbed_step *step);

/* Both lists have the same spans, whose order may differ. */
void expect_same_spans(struct list *left, const struct list *right);

void list_spans(struct list *list, struct tbed_reader *reader);

/* Adds up the time of children, as <tracebed/analysis.h> describes nesting. */
void find_parents(struct list *list);

/* The row of an id is what the list says. */
void expect_listed(const struct list *list, const struct tbed_statistics *statistics, uint32_t id);

void expect_same(const struct tbed_statistics *left, const struct tbed_statistics *right);

/* The stacks under these options, summed by label, are the rows of the statistics. */
void expect_stacks(const struct tbed_statistics *statistics, struct tbed_reader *reader,
                   const struct tbed_stacks_options *options);

#endif
