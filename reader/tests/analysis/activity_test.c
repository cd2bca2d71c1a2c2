/*
 * Activity of threads: against an oracle that marks each tick.
 *
 * SPDX-License-Identifier: MIT
 */
#include "reader/tests/analysis/span_list.h"

#include <tracebed/activity.h>

enum { TICKS = 40000 };

/* The spans and times of one stream, by the filter's assembler. */
struct marks {
    bool busy[TICKS];
    bool split[TICKS]; /* a span without duration divides the gap here */
    uint64_t first, last, span_count;
};

static void mark(struct marks *marks, const struct listed *span)
{
    assert_true(span->end < TICKS);
    marks->span_count++;
    marks->split[span->end] = marks->split[span->begin] = true;
    for (uint64_t tick = span->begin; tick < span->end; tick++)
        marks->busy[tick] = true;
    marks->first = span->begin < marks->first ? span->begin : marks->first;
    marks->last = span->end > marks->last ? span->end : marks->last;
}

static void expect_row(const struct tbed_activity_row *row, const struct marks *marks)
{
    uint64_t busy = 0, idle = 0, count = 0, longest = 0, at = 0, gap = 0;
    for (uint64_t tick = marks->first; tick <= marks->last; tick++) {
        bool ends = tick == marks->last || marks->busy[tick] || marks->split[tick];
        if (gap > 0 && ends) {
            count++;
            if (gap > longest) {
                longest = gap;
                at = tick - gap;
            }
            gap = 0;
        }
        if (tick == marks->last)
            break;
        busy += marks->busy[tick];
        idle += !marks->busy[tick];
        gap += !marks->busy[tick];
    }
    assert_int_equal(row->span_count, marks->span_count);
    assert_int_equal(row->busy_ticks, busy);
    assert_int_equal(row->idle_ticks, idle);
    assert_int_equal(row->gap_count, count);
    assert_int_equal(row->longest_gap_ticks, longest);
    assert_int_equal(row->longest_gap_tick, at);
    assert_true(row->p50_gap_ticks <= row->p90_gap_ticks && row->p99_gap_ticks <= longest);
}

static void list_marks(struct marks *marks, struct tbed_reader *reader, const struct tbed_filter *filter,
                       uint32_t stream)
{
    struct tbed_assembler *assembler;
    struct tbed_step step;
    assert_int_equal(tbed_assembler_open_filtered(reader, &stream, 1, filter, &assembler), TBED_OK);
    while (tbed_assembler_next(assembler, &step) == TBED_OK)
        if (step.kind == TBED_STEP_END || step.kind == TBED_STEP_OPEN) {
            struct listed span = listed_of(&step);
            mark(marks, &span);
        }
    tbed_assembler_close(assembler);
}

static void expect_activity(struct tbed_reader *reader, const struct tbed_filter *filter, unsigned threads)
{
    struct tbed_activity_options options = {
        .size = sizeof options, .thread_count = threads, .filter = filter};
    struct tbed_activity *activity;
    const struct tbed_activity_row *row;
    size_t count = 0;
    assert_int_equal(tbed_activity_make(reader, &options, &activity), TBED_OK);
    for (; (row = tbed_activity_get(activity, count)) != NULL; count++) {
        struct marks *marks = calloc(1, sizeof *marks);
        assert_non_null(marks);
        marks->first = row->first_tick;
        marks->last = row->last_tick;
        list_marks(marks, reader, filter, row->stream);
        expect_row(row, marks);
        free(marks);
    }
    assert_int_equal(count, STREAMS);
    tbed_activity_close(activity);
}

static void run(unsigned odd, uint32_t depth, bool loses)
{
    for (uint64_t seed = 1; seed <= 6; seed++) {
        struct fixture *f = random_trace(odd, depth, loses, seed);
        struct tbed_reader *reader = fixture_open(f);
        expect_activity(reader, NULL, (unsigned)(seed % 3 + 1));
        tbed_reader_close(reader);
        fixture_free(f);
    }
}

static void busy_and_idle_time_and_gaps_are_found(void **state)
{
    (void)state;
    run(ODD_NOTHING, 1, false);
    run(ODD_NOTHING, 3, false);
    run(ODD_WHOLE, 1, false);
}

static void gaps_are_found_where_blocks_are_missing(void **state)
{
    (void)state;
    run(ODD_NOTHING, 1, true);
}

static void a_filter_leaves_gaps(void **state)
{
    const char *const names[] = {"[135]"};
    (void)state;
    for (uint64_t seed = 1; seed <= 8; seed++) {
        struct fixture *f = random_trace(ODD_NOTHING, 3, false, seed);
        struct tbed_reader *reader = fixture_open(f);
        struct tbed_filter_options which = {.size = sizeof which, .names = names, .name_count = seed % 2};
        struct tbed_filter *filter;
        which.begin_tick = seed % 3 == 0 ? 2000 : 0;
        which.end_tick = seed % 4 == 0 ? 9000 : 0;
        assert_int_equal(tbed_filter_make(reader, &which, &filter, NULL), TBED_OK);
        expect_activity(reader, filter, (unsigned)(seed % 3 + 1));
        tbed_filter_close(filter);
        tbed_reader_close(reader);
        fixture_free(f);
    }
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(busy_and_idle_time_and_gaps_are_found),
        cmocka_unit_test(gaps_are_found_where_blocks_are_missing),
        cmocka_unit_test(a_filter_leaves_gaps),
    };
    return cmocka_run_group_tests_name("activity", tests, NULL, NULL);
}
