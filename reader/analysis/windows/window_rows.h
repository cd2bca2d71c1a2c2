/*
 * The parts of a window of one stream: spans are put in as they are met, and short ones joined by column.
 *
 * Of each depth, spans come in the order of a walk from the end of the stream to its start. Whatever the width of the
 * columns was when they were put in, widening them gives what would have been found with wide columns from the start.
 *
 * SPDX-License-Identifier: MIT
 */
#ifndef TRACEBED_WINDOW_ROWS_H
#define TRACEBED_WINDOW_ROWS_H

#include "reader/core/base/vector.h"

#include <tracebed/window.h>

struct window_rows {
    uint64_t begin_tick, column_ticks;
    TBED_VECTOR(struct tbed_window_part) parts; /* complete */
    TBED_VECTOR(struct tbed_window_part)
    open; /* of each depth: what short spans were joined last; 'count' 0: nothing */
    bool is_out_of_memory;
};

/* Puts in a span, or a part of narrower columns. */
void tbed_window_rows_add(struct window_rows *rows, const struct tbed_window_part *part);

/* Makes columns 'column_ticks' wide, a multiple of what they were. */
void tbed_window_rows_widen(struct window_rows *rows, uint64_t column_ticks);

/* Completes all parts; nothing can be joined to them any more, except by widening. */
void tbed_window_rows_finish(struct window_rows *rows);

void tbed_window_rows_free(struct window_rows *rows);

#endif
