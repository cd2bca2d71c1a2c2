/*
 * A slow and obvious oracle for windows: all spans of one with their depths in the tree of calls.
 *
 * SPDX-License-Identifier: MIT
 */
#ifndef TRACEBED_DRAWN_SPANS_H
#define TRACEBED_DRAWN_SPANS_H

#include "reader/tests/analysis/span_list.h"

#include <tracebed/window.h>

enum { DRAWN_MAX = 20000, DRAWN_DEPTHS = 128 };

struct drawn {
    struct listed span; /* cut to the window */
    uint32_t depth;
};

/* Stream by stream, each from its last span to its first. */
struct drawn_list {
    struct drawn *items; /* has room for DRAWN_MAX */
    size_t count, unknown_count, deeper_count;
};

/* 'depth_count' 0: all depths. */
void drawn_list_make(struct drawn_list *list, struct tbed_reader *reader, const struct tbed_filter *filter,
                     uint32_t depth_count);

#endif
