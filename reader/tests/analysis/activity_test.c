/*
 * Activity of threads: against an oracle that marks each tick; also where each allocation fails in turn.
 *
 * Link with: -Wl,--wrap=malloc,--wrap=calloc,--wrap=realloc
 *
 * SPDX-License-Identifier: MIT
 */
#include "reader/tests/analysis/span_list.h"
#include "reader/tests/core/failing_memory.h"

#include <math.h>
#include <tracebed/activity.h>

enum { TICKS = 40000 };

/* The spans and times of one stream, by the filter's assembler; ticks are steps of the resolution. */
struct marks {
    bool busy[TICKS];
    bool split[TICKS]; /* a span without duration divides the gap here */
    uint64_t first, last, span_count;
    uint64_t gaps[TICKS];
    size_t gap_count;
};

/* What is asked for. */
struct question {
    struct tbed_reader *reader;
    struct tbed_filter_options which;
    struct tbed_filter *filter;
    uint64_t resolution;
    unsigned threads;
};

static void mark(struct marks *marks, const struct listed *span, uint64_t resolution)
{
    uint64_t begin = span->begin - span->begin % resolution, end = span->end - span->end % resolution;
    assert_true(end < TICKS);
    marks->span_count++;
    marks->split[end] = marks->split[begin] = true;
    for (uint64_t tick = begin; tick < end; tick++)
        marks->busy[tick] = true;
    marks->first = begin < marks->first ? begin : marks->first;
    marks->last = end > marks->last ? end : marks->last;
}

static int compare_ticks(const void *left, const void *right)
{
    uint64_t a = *(const uint64_t *)left, b = *(const uint64_t *)right;
    return a < b ? -1 : a > b;
}

/* Within half a bucket of the histogram, and not above the longest. */
static void expect_percentile(uint64_t found, const struct marks *marks, double fraction)
{
    size_t rank = (size_t)ceil((double)marks->gap_count * fraction);
    if (marks->gap_count == 0) {
        assert_int_equal(found, 0);
        return;
    }
    double expected = (double)marks->gaps[rank > 0 ? rank - 1 : 0];
    assert_true(fabs((double)found - expected) <= expected / 128);
    assert_true(found <= marks->gaps[marks->gap_count - 1]);
}

/* Sorts the gaps. */
static void expect_gaps(const struct tbed_activity_row *row, struct marks *marks)
{
    qsort(marks->gaps, marks->gap_count, sizeof *marks->gaps, compare_ticks);
    assert_int_equal(row->gap_count, marks->gap_count);
    expect_percentile(row->p50_gap_ticks, marks, 0.5);
    expect_percentile(row->p90_gap_ticks, marks, 0.9);
    expect_percentile(row->p99_gap_ticks, marks, 0.99);
}

static void expect_row(const struct tbed_activity_row *row, struct marks *marks)
{
    uint64_t busy = 0, idle = 0, longest = 0, at = 0, gap = 0;
    for (uint64_t tick = marks->first; tick <= marks->last; tick++) {
        bool ends = tick == marks->last || marks->busy[tick] || marks->split[tick];
        if (gap > 0 && ends) {
            marks->gaps[marks->gap_count++] = gap;
            at = gap > longest ? tick - gap : at;
            longest = gap > longest ? gap : longest;
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
    assert_int_equal(row->longest_gap_ticks, longest);
    assert_int_equal(row->longest_gap_tick, at);
    expect_gaps(row, marks);
}

static void list_marks(struct marks *marks, const struct question *question, uint32_t stream)
{
    struct tbed_assembler *assembler;
    struct tbed_step step;
    assert_int_equal(tbed_assembler_open_filtered(question->reader, &stream, 1, question->filter, &assembler),
                     TBED_OK);
    while (tbed_assembler_next(assembler, &step) == TBED_OK)
        if (step.kind == TBED_STEP_END || step.kind == TBED_STEP_OPEN) {
            struct listed span = listed_of(&step);
            mark(marks, &span, question->resolution);
        }
    tbed_assembler_close(assembler);
}

/* The times of the stream's events, cut to the window. False: none are in it. */
static bool find_times(const struct question *question, uint32_t stream, uint64_t *first, uint64_t *last)
{
    const struct tbed_filter_options *which = &question->which;
    struct tbed_cursor *cursor;
    struct tbed_event event;
    *first = UINT64_MAX;
    *last = 0;
    if (which->stream_count > 0 && which->streams[0] != stream)
        return false;
    assert_int_equal(tbed_cursor_open(question->reader, stream, &cursor), TBED_OK);
    while (tbed_cursor_next(cursor, &event) == TBED_OK) {
        *first = event.tick < *first ? event.tick : *first;
        *last = event.tick > *last ? event.tick : *last;
    }
    tbed_cursor_close(cursor);
    if (*first > *last || *last < which->begin_tick || (which->end_tick > 0 && *first >= which->end_tick))
        return false;
    *first = *first > which->begin_tick ? *first : which->begin_tick;
    *last = which->end_tick > 0 && *last >= which->end_tick ? which->end_tick - 1 : *last;
    return true;
}

static void expect_activity(const struct question *question)
{
    struct tbed_activity_options options = {
        .size = sizeof options, .thread_count = question->threads, .filter = question->filter};
    struct tbed_activity *activity;
    uint64_t first, last;
    size_t count = 0;
    assert_int_equal(tbed_activity_make(question->reader, &options, &activity), TBED_OK);
    for (uint32_t stream = 1; stream <= STREAMS; stream++) {
        if (!find_times(question, stream, &first, &last))
            continue;
        const struct tbed_activity_row *row = tbed_activity_get(activity, count++);
        struct marks *marks = calloc(1, sizeof *marks);
        assert_true(row != NULL && marks != NULL);
        assert_int_equal(row->stream, stream);
        assert_int_equal(row->first_tick, first);
        assert_int_equal(row->last_tick, last);
        marks->first = first - first % question->resolution;
        marks->last = last - last % question->resolution;
        list_marks(marks, question, stream);
        expect_row(row, marks);
        free(marks);
    }
    assert_null(tbed_activity_get(activity, count));
    tbed_activity_close(activity);
}

static void ask(struct fixture *f, struct tbed_filter_options which, unsigned threads)
{
    struct question question = {
        .reader = fixture_open(f), .which = which, .resolution = 1, .threads = threads};
    question.which.size = sizeof question.which;
    question.resolution = f->resolution_ns > 0 ? f->resolution_ns : 1;
    assert_int_equal(tbed_filter_make(question.reader, &question.which, &question.filter, NULL), TBED_OK);
    expect_activity(&question);
    tbed_filter_close(question.filter);
    tbed_reader_close(question.reader);
    fixture_free(f);
}

static void run(unsigned odd, uint32_t depth, bool loses)
{
    for (uint64_t seed = 1; seed <= 6; seed++)
        ask(random_trace(odd, depth, loses, seed), (struct tbed_filter_options){0}, (unsigned)(seed % 3 + 1));
}

static void busy_and_idle_time_and_gaps_are_found(void **state)
{
    (void)state;
    for (unsigned odd = 0; odd < ODD_COUNT; odd++) {
        run(odd, 1, false);
        run(odd, 3, false);
    }
}

static void gaps_are_found_where_blocks_are_missing(void **state)
{
    (void)state;
    run(ODD_NOTHING, 1, true);
    run(ODD_UNKNOWN, 2, true);
}

static void a_filter_leaves_gaps(void **state)
{
    const char *const names[] = {"[135]"};
    const uint32_t streams[] = {2};
    (void)state;
    for (uint64_t seed = 1; seed <= 12; seed++)
        ask(random_trace(seed % 2 ? ODD_NOTHING : ODD_WHOLE, 3, false, seed),
            (struct tbed_filter_options){.names = names,
                                         .name_count = seed % 2,
                                         .streams = seed % 5 == 0 ? streams : NULL,
                                         .stream_count = seed % 5 == 0,
                                         .begin_tick = seed % 3 == 0 ? 2000 : 0,
                                         .end_tick = seed % 4 == 0 ? 9000 : 0},
            (unsigned)(seed % 3 + 1));
}

/* Each stream has events at other times: from 100, 200 and 300 on, for 50 ticks. */
static struct fixture *make_streams(void)
{
    struct fixture *f = fixture_new(4096);
    for (uint32_t stream = 1; stream <= STREAMS; stream++) {
        fixture_begin(f, stream, 100 * stream, 1);
        fixture_end(f, stream, 100 * stream + 20, false);
        fixture_instant(f, stream, 100 * stream + 50, 1);
    }
    return f;
}

static void streams_without_events_in_the_window_have_no_row(void **state)
{
    (void)state;
    for (uint64_t begin = 90; begin <= 360; begin += 5)
        for (uint64_t end = begin + 1; end <= 370; end += 6)
            ask(make_streams(), (struct tbed_filter_options){.begin_tick = begin, .end_tick = end}, 1);
    struct fixture *f = make_streams();
    fixture_stream_record(f, 5, 1); /* a stream without any event */
    ask(f, (struct tbed_filter_options){0}, 1);
}

static void times_are_rounded_to_the_resolution_of_the_clock(void **state)
{
    const char *const names[] = {"[135]"};
    (void)state;
    for (uint64_t seed = 1; seed <= 6; seed++) {
        struct fixture *f = random_trace(ODD_WHOLE, 2, false, seed);
        f->resolution_ns = 10;
        ask(f,
            (struct tbed_filter_options){
                .begin_tick = seed % 2 ? 2003 : 0, .names = names, .name_count = seed % 3 == 0},
            2);
    }
    for (uint64_t first = 101; first < 120; first++) {
        struct fixture *f = fixture_new(4096);
        f->resolution_ns = 10;
        fixture_instant(f, 1, first, 1);
        fixture_begin(f, 1, first + 25, 1);
        fixture_end(f, 1, first + 37, false);
        ask(f, (struct tbed_filter_options){0}, 1);
    }
}

/* The middle of a bucket of the histogram may be. */
static void no_percentile_is_above_the_longest_gap(void **state)
{
    (void)state;
    for (uint64_t gap = 100; gap < 5000; gap += 37) {
        struct fixture *f = fixture_new(4096);
        fixture_begin(f, 1, 10, 1);
        fixture_end(f, 1, 20, false);
        fixture_instant(f, 1, 20 + gap, 1);
        ask(f, (struct tbed_filter_options){0}, 1);
    }
}

static void what_runs_out_of_memory_is_not_taken_for_a_result(void **state)
{
    const char *const names[] = {"[135]"};
    struct tbed_filter_options which = {.size = sizeof which, .names = names, .name_count = 1};
    struct fixture *f = random_trace(ODD_NOTHING, 3, false, 1);
    struct tbed_reader *reader = fixture_open(f);
    struct tbed_activity *activity;
    uint64_t busy = 0;
    bool was_reached = true;
    (void)state;
    for (int failed = -1; was_reached; failed++) {
        struct tbed_activity_options options = {.size = sizeof options, .thread_count = 1};
        struct tbed_filter *filter;
        assert_int_equal(tbed_filter_make(reader, &which, &filter, NULL), TBED_OK);
        options.filter = filter;
        calls_left = failed;
        enum tbed_status status = tbed_activity_make(reader, &options, &activity);
        was_reached = calls_left < 0;
        calls_left = -1;
        assert_true(status == TBED_OK || (failed >= 0 && was_reached && status == TBED_ERR_MEMORY));
        if (status == TBED_OK) {
            const struct tbed_activity_row *row = tbed_activity_get(activity, 0);
            busy = failed < 0 ? row->busy_ticks : busy;
            assert_int_equal(row->busy_ticks, busy);
            tbed_activity_close(activity);
        }
        tbed_filter_close(filter);
    }
    assert_true(busy > 0);
    tbed_reader_close(reader);
    fixture_free(f);
}

static void options_of_a_later_version_are_refused(void **state)
{
    struct {
        struct tbed_activity_options known;
        uint64_t more;
    } options = {.known.size = sizeof options, .more = 1};
    struct fixture *f = make_streams();
    struct tbed_reader *reader = fixture_open(f);
    struct tbed_activity *activity = NULL;
    (void)state;
    assert_int_equal(tbed_activity_make(reader, &options.known, &activity), TBED_ERR_ARGUMENT);
    assert_null(activity);
    tbed_reader_close(reader);
    fixture_free(f);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(busy_and_idle_time_and_gaps_are_found),
        cmocka_unit_test(gaps_are_found_where_blocks_are_missing),
        cmocka_unit_test(a_filter_leaves_gaps),
        cmocka_unit_test(streams_without_events_in_the_window_have_no_row),
        cmocka_unit_test(times_are_rounded_to_the_resolution_of_the_clock),
        cmocka_unit_test(no_percentile_is_above_the_longest_gap),
        cmocka_unit_test(what_runs_out_of_memory_is_not_taken_for_a_result),
        cmocka_unit_test(options_of_a_later_version_are_refused),
    };
    return cmocka_run_group_tests_name("activity", tests, NULL, NULL);
}
