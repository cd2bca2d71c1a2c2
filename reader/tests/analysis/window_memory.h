/*
 * Windows where memory runs out. Include it in one file of a test that is linked as failing_memory.h says.
 *
 * SPDX-License-Identifier: MIT
 */
#ifndef TRACEBED_WINDOW_MEMORY_H
#define TRACEBED_WINDOW_MEMORY_H

#include "reader/tests/analysis/drawn_spans.h"
#include "reader/tests/core/failing_memory.h"

static size_t count_parts(const struct tbed_window *window)
{
    size_t count = 0;
    while (tbed_window_part(window, count) != NULL)
        count++;
    return count;
}

/* Lets each allocation fail in turn: there is either no window, or the whole one. */
static void need_all_or_nothing(struct tbed_reader *reader, const struct tbed_window_options *options)
{
    struct tbed_window *window;
    size_t part_count = 0;
    bool was_reached = true;
    for (int failed = -1; was_reached; failed++) {
        calls_left = failed;
        enum tbed_status status = tbed_window_make(reader, options, &window);
        was_reached = calls_left < 0;
        calls_left = -1;
        assert_true(status == TBED_OK || (failed >= 0 && was_reached && status == TBED_ERR_MEMORY));
        if (status != TBED_OK)
            continue;
        part_count = failed < 0 ? count_parts(window) : part_count;
        assert_int_equal(count_parts(window), part_count);
        tbed_window_close(window);
    }
    assert_true(part_count > 0);
}

#endif
