/*
 * Parts of time, windows and marks, while memory runs out: each must return an error or say the same as with enough memory.
 *
 * The plan follows the last complete page of the trace; see fuzz/support/failing.h.
 *
 * Mutator: trace
 * Seeds: spec/golden/valid fuzz/parts_memory/corpus
 *
 * SPDX-License-Identifier: MIT
 */
#include <tracebed/timeline.h>
#include <tracebed/window.h>

#include "fuzz/support/failing.h"
#include "fuzz/support/fuzz.h"

static uint64_t use_timeline(struct tbed_reader *reader)
{
    struct tbed_analysis_options options = {.size = sizeof options, .thread_count = 2, .moment_count = 3};
    struct tbed_timeline *timeline;
    const struct tbed_timeline_row *row;
    uint64_t seen = 0;
    enum tbed_status status = tbed_timeline_make(reader, &options, &timeline);
    REQUIRE(status == TBED_OK || status == TBED_ERR_MEMORY);
    if (status != TBED_OK)
        return FAILING_NO_MEMORY;
    for (size_t i = 0; (row = tbed_timeline_span(timeline, i)) != NULL; i++)
        seen = failing_mix(seen, row->name_nbytes);
    tbed_timeline_close(timeline);
    return seen;
}

static uint64_t use_one(struct tbed_reader *reader, uint64_t exact_block_max)
{
    struct tbed_window_options options = {.size = sizeof options,
                                          .thread_count = 1,
                                          .column_count = 20,
                                          .depth_count = 2,
                                          .part_max = 7,
                                          .exact_block_max = exact_block_max};
    const struct tbed_window_part *part;
    struct tbed_window *window;
    uint64_t seen = 0;
    enum tbed_status status = tbed_window_make(reader, &options, &window);
    REQUIRE(status == TBED_OK || status == TBED_ERR_MEMORY);
    if (status != TBED_OK)
        return FAILING_NO_MEMORY;
    for (size_t i = 0; (part = tbed_window_part(window, i)) != NULL; i++)
        seen = failing_mix(failing_mix(seen, part->count), part->ticks);
    tbed_window_close(window);
    return seen;
}

static uint64_t use_window(struct tbed_reader *reader)
{
    uint64_t seen = use_one(reader, 0),
             of_sketch = seen != FAILING_NO_MEMORY ? use_one(reader, 1) : FAILING_NO_MEMORY;
    return of_sketch != FAILING_NO_MEMORY ? failing_mix(seen, of_sketch) : FAILING_NO_MEMORY;
}

static uint64_t use_marks(struct tbed_reader *reader)
{
    struct tbed_marks_options options = {
        .size = sizeof options, .thread_count = 2, .column_count = 20, .mark_max = 7};
    const struct tbed_mark_row *mark;
    struct tbed_mark_counter counter;
    struct tbed_marks *marks;
    uint64_t seen = 0;
    enum tbed_status status = tbed_marks_make(reader, &options, &marks);
    REQUIRE(status == TBED_OK || status == TBED_ERR_MEMORY);
    if (status != TBED_OK)
        return FAILING_NO_MEMORY;
    for (size_t i = 0; (mark = tbed_marks_get(marks, i)) != NULL; i++)
        seen = failing_mix(failing_mix(seen, mark->count), mark->kind);
    for (size_t i = 0; tbed_marks_counter(marks, i, &counter); i++)
        seen = failing_mix(failing_mix(seen, counter.id), counter.columns[0].count);
    tbed_marks_close(marks);
    return seen;
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t nbytes)
{
    failing_use_trace(data, nbytes, use_timeline);
    failing_use_trace(data, nbytes, use_window);
    failing_use_trace(data, nbytes, use_marks);
    return 0;
}
