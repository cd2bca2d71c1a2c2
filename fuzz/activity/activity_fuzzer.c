/*
 * When the threads of any trace were busy, of all spans or of some: busy and idle time add up, one thread computes the
 * same as three, and in an intact trace the time in which any span is open is what the list of all spans says.
 *
 * fuzz/support/conditions.h says what the bytes behind the last whole page mean.
 *
 * Mutator: trace
 * Seeds: spec/golden/valid fuzz/filter/corpus
 *
 * SPDX-License-Identifier: MIT
 */
#include <string.h>
#include <tracebed/activity.h>

#include "fuzz/support/conditions.h"
#include "fuzz/support/fuzz.h"

struct interval {
    uint64_t begin, end;
};

/* ---- The list of spans ---- */

static int compare_intervals(const void *left, const void *right)
{
    const struct interval *a = left, *b = right;
    return a->begin != b->begin ? (a->begin < b->begin ? -1 : 1) : 0;
}

/* Lists the spans of a stream. Returns their number. */
static size_t list_spans(struct tbed_reader *reader, const struct tbed_filter *filter, uint32_t stream,
                         struct interval **spans_ret)
{
    struct tbed_assembler *assembler;
    struct tbed_step step;
    size_t count = 0, capacity = 0;
    REQUIRE(tbed_assembler_open_filtered(reader, &stream, 1, filter, &assembler) == TBED_OK);
    while (tbed_assembler_next(assembler, &step) == TBED_OK) {
        if (step.kind != TBED_STEP_END && step.kind != TBED_STEP_OPEN)
            continue;
        if (count == capacity) {
            capacity = 2 * capacity + 16;
            *spans_ret = realloc(*spans_ret, capacity * sizeof **spans_ret);
            REQUIRE(*spans_ret != NULL);
        }
        uint64_t begin = step.span->begin_tick, end = step.span->end_tick;
        (*spans_ret)[count++] = (struct interval){begin < end ? begin : end, end};
    }
    tbed_assembler_close(assembler);
    return count;
}

static void compare_with_list(struct tbed_reader *reader, const struct tbed_filter *filter,
                              const struct tbed_activity_row *row)
{
    struct interval *spans = NULL;
    size_t count = list_spans(reader, filter, row->stream, &spans);
    uint64_t busy = 0, covered_to = 0;
    if (count > 0)
        qsort(spans, count, sizeof *spans, compare_intervals);
    for (size_t i = 0; i < count; i++) {
        uint64_t from = spans[i].begin > covered_to ? spans[i].begin : covered_to;
        busy += spans[i].end > from ? spans[i].end - from : 0;
        covered_to = spans[i].end > covered_to ? spans[i].end : covered_to;
    }
    REQUIRE(row->span_count == count && row->busy_ticks == busy);
    free(spans);
}

/* ---- Rows ---- */

static void check_row(const struct tbed_activity_row *row, uint64_t resolution)
{
    uint64_t step = resolution > 0 ? resolution : 1;
    uint64_t first = row->first_tick - row->first_tick % step, last = row->last_tick - row->last_tick % step;
    REQUIRE(row->first_tick <= row->last_tick);
    REQUIRE(row->busy_ticks + row->idle_ticks >= last - first);
    REQUIRE(row->longest_gap_ticks <= row->idle_ticks && row->gap_count <= row->span_count + 1);
    REQUIRE((row->gap_count == 0) == (row->idle_ticks == 0));
    REQUIRE(row->p50_gap_ticks <= row->p90_gap_ticks && row->p90_gap_ticks <= row->p99_gap_ticks);
    REQUIRE(row->p99_gap_ticks <= row->longest_gap_ticks);
}

/* Is everything known of all spans, and are they in the order of time? */
static bool is_intact(struct tbed_reader *reader, struct tbed_trace_info *info)
{
    bool is_good = tbed_reader_verify(reader) == TBED_OK;
    tbed_reader_info(reader, info);
    return is_good && info->shut && info->tick_decrease_count == 0 && info->ring_page_count == 0 &&
           info->resolution_ticks <= 1;
}

static struct tbed_activity *make(struct tbed_reader *reader, const struct tbed_filter *filter,
                                  unsigned threads)
{
    struct tbed_activity_options options = {
        .size = sizeof options, .thread_count = threads, .filter = filter};
    struct tbed_activity *activity;
    REQUIRE(tbed_activity_make(reader, &options, &activity) == TBED_OK);
    return activity;
}

static void check(struct tbed_reader *reader, const struct tbed_filter *filter)
{
    struct tbed_activity *one = make(reader, filter, 1), *three = make(reader, filter, 3);
    const struct tbed_activity_row *row, *same;
    struct tbed_trace_info info;
    bool is_known = is_intact(reader, &info);
    size_t count = 0;
    for (; (row = tbed_activity_get(one, count)) != NULL; count++) {
        same = tbed_activity_get(three, count);
        const size_t at = offsetof(struct tbed_activity_row, first_tick); /* behind the padding */
        REQUIRE(same != NULL && row->stream == same->stream);
        REQUIRE(memcmp((const char *)row + at, (const char *)same + at, sizeof *row - at) == 0);
        check_row(row, info.resolution_ticks);
        if (is_known)
            compare_with_list(reader, filter, row);
    }
    REQUIRE(tbed_activity_get(three, count) == NULL);
    tbed_activity_close(one);
    tbed_activity_close(three);
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t nbytes)
{
    struct tbed_activity_options none = {.size = 0};
    struct tbed_analysis_options options = {.size = sizeof options, .thread_count = 1};
    struct tbed_activity *refused = NULL;
    struct tbed_statistics *all;
    struct tbed_reader *reader = open_input(data, nbytes);
    if (reader == NULL)
        return 0;
    REQUIRE(tbed_activity_make(reader, &none, &refused) == TBED_ERR_ARGUMENT && refused == NULL);
    tbed_activity_close(NULL);
    REQUIRE(tbed_statistics_make(reader, &options, &all) == TBED_OK);
    struct conditions conditions = choose_conditions(reader, all, data, nbytes);
    struct tbed_filter *filter = filter_of_conditions(reader, &conditions);
    check(reader, NULL);
    check(reader, filter);
    tbed_filter_close(filter);
    tbed_statistics_close(all);
    tbed_reader_close(reader);
    return 0;
}
