/*
 * Marks: against an oracle that puts the events of a trace into columns one by one.
 *
 * SPDX-License-Identifier: MIT
 */
#include "reader/tests/analysis/random_trace.h"

#include <float.h>
#include <math.h>
#include <tracebed/window.h>

#define EVENTS_MAX 20000

struct question {
    struct tbed_reader *reader;
    uint64_t begin, end; /* the window */
    uint32_t columns;
    size_t mark_max;
};

struct oracle {
    struct tbed_event events[EVENTS_MAX];
    size_t event_count;
    struct tbed_mark_row marks[EVENTS_MAX];
    size_t mark_count;
};

/* ---- The oracle ---- */

static int kind_of(const struct tbed_event *event)
{
    if (event->type == TBED_EVENT_GAP)
        return TBED_MARK_DROP;
    if (event->type == TBED_EVENT_INSTANT)
        return TBED_MARK_INSTANT;
    if (event->type != TBED_EVENT_MESSAGE)
        return -1;
    return event->of.message.severity == TBED_SEVERITY_ERROR     ? TBED_MARK_ERROR
           : event->of.message.severity == TBED_SEVERITY_WARNING ? TBED_MARK_WARNING
                                                                 : TBED_MARK_MESSAGE;
}

static void list_events(struct oracle *oracle, const struct question *question)
{
    struct tbed_stream_info stream;
    struct tbed_event event;
    oracle->event_count = 0;
    for (size_t i = 0; tbed_stream_get(question->reader, i, &stream); i++) {
        struct tbed_cursor *cursor;
        assert_int_equal(tbed_cursor_open(question->reader, stream.stream, &cursor), TBED_OK);
        while (tbed_cursor_next(cursor, &event) == TBED_OK) {
            if (event.tick < question->begin || event.tick >= question->end)
                continue;
            assert_true(oracle->event_count < EVENTS_MAX);
            oracle->events[oracle->event_count++] = event;
        }
        tbed_cursor_close(cursor);
    }
}

/* Adds the mark of a stream, column and kind, if there is any event in it. */
static void add_mark(struct oracle *oracle, const struct question *question, uint32_t stream, uint64_t column,
                     uint64_t column_ticks, int kind)
{
    struct tbed_mark_row mark = {.stream = stream, .kind = (enum tbed_mark_kind)kind};
    for (size_t i = 0; i < oracle->event_count; i++) {
        const struct tbed_event *event = &oracle->events[i];
        if (event->stream != stream || kind_of(event) != kind ||
            (event->tick - question->begin) / column_ticks != column)
            continue;
        if (mark.count == 0 || event->tick < mark.first_tick) {
            mark.first_tick = event->tick;
            mark.id = kind == TBED_MARK_DROP ? TBED_ID_INVALID : event->id;
        }
        mark.last_tick = event->tick > mark.last_tick ? event->tick : mark.last_tick;
        mark.count += kind == TBED_MARK_DROP ? event->of.gap.count : 1;
    }
    if (mark.count > 0)
        oracle->marks[oracle->mark_count++] = mark;
}

static void make_marks(struct oracle *oracle, const struct question *question, uint64_t column_ticks)
{
    struct tbed_stream_info stream;
    oracle->mark_count = 0;
    for (size_t i = 0; tbed_stream_get(question->reader, i, &stream); i++)
        for (uint64_t column = 0; column <= (question->end - question->begin) / column_ticks; column++)
            for (int kind = 0; kind < (int)TBED_MARK_KIND_COUNT; kind++)
                add_mark(oracle, question, stream.stream, column, column_ticks, kind);
}

/* Widens the columns until there are not too many marks. Returns their width. */
static uint64_t make_oracle(struct oracle *oracle, const struct question *question)
{
    uint64_t ticks = question->end - question->begin;
    uint64_t column_ticks = (ticks + question->columns - 1) / question->columns;
    make_marks(oracle, question, column_ticks);
    while (question->mark_max != 0 && oracle->mark_count > question->mark_max && column_ticks <= ticks / 2) {
        column_ticks *= 2;
        make_marks(oracle, question, column_ticks);
    }
    return column_ticks;
}

/* ---- What is found ---- */

static double number_of(const struct tbed_argument *value)
{
    return value->type == TBED_ARG_F64   ? value->value.f64
           : value->type == TBED_ARG_I64 ? (double)value->value.i64
                                         : (double)value->value.u64;
}

static uint32_t process_of(const struct tbed_reader *reader, uint32_t number)
{
    struct tbed_stream_info stream;
    for (size_t i = 0; tbed_stream_get(reader, i, &stream); i++)
        if (stream.stream == number)
            return stream.process;
    return 0;
}

/*
 * The test and the product may add in different orders, and some machines add with more bits. Two such sums of n values differ
 * by less than n epsilons of the sum of their magnitudes, and so the means differ a little.
 */
static void expect_column(const struct oracle *oracle, const struct question *question,
                          const struct tbed_mark_counter *counter, uint64_t column, uint64_t column_ticks,
                          const struct tbed_mark_values *found)
{
    struct tbed_mark_values expected = {0};
    double sum = 0, magnitude = 0;
    for (size_t i = 0; i < oracle->event_count; i++) {
        const struct tbed_event *event = &oracle->events[i];
        if (event->type != TBED_EVENT_COUNTER || event->id != counter->id ||
            process_of(question->reader, event->stream) != counter->process ||
            (event->tick - question->begin) / column_ticks != column)
            continue;
        double value = number_of(&event->counter_value);
        expected.min = expected.count == 0 || value < expected.min ? value : expected.min;
        expected.max = expected.count == 0 || value > expected.max ? value : expected.max;
        expected.count++;
        sum += value;
        magnitude += fabs(value);
    }
    assert_int_equal(found->count, expected.count);
    assert_true(found->min == expected.min && found->max == expected.max);
    double mean = expected.count > 0 ? sum / (double)expected.count : 0;
    assert_true(fabs(found->mean - mean) <= DBL_EPSILON * magnitude);
}

static void expect_counters(const struct oracle *oracle, const struct question *question,
                            const struct tbed_marks *marks, const struct tbed_marks_info *info)
{
    struct tbed_mark_counter counter;
    uint64_t count = 0, expected = 0;
    for (size_t i = 0; tbed_marks_counter(marks, i, &counter); i++)
        for (size_t column = 0; column < info->counter_column_count; column++) {
            expect_column(oracle, question, &counter, column, info->counter_column_ticks,
                          &counter.columns[column]);
            count += counter.columns[column].count;
        }
    for (size_t i = 0; i < oracle->event_count; i++)
        expected += oracle->events[i].type == TBED_EVENT_COUNTER;
    assert_int_equal(count, expected);
    assert_int_equal(info->counters_left_out, 0);
}

static struct tbed_filter *window_filter(const struct question *question)
{
    struct tbed_filter_options which = {
        .size = sizeof which, .begin_tick = question->begin, .end_tick = question->end};
    struct tbed_filter *filter;
    assert_int_equal(tbed_filter_make(question->reader, &which, &filter, NULL), TBED_OK);
    return filter;
}

static void expect_marks(const struct oracle *oracle, const struct question *question, uint64_t column_ticks,
                         unsigned threads)
{
    struct tbed_filter *filter = window_filter(question);
    struct tbed_marks_options options = {.size = sizeof options,
                                         .thread_count = threads,
                                         .filter = filter,
                                         .column_count = question->columns,
                                         .mark_max = question->mark_max};
    struct tbed_marks *marks;
    struct tbed_marks_info info;
    assert_int_equal(tbed_marks_make(question->reader, &options, &marks), TBED_OK);
    tbed_marks_info(marks, &info);
    assert_int_equal(info.column_ticks, column_ticks);
    assert_int_equal(info.read_count, info.block_count);
    for (size_t i = 0; i < oracle->mark_count; i++) {
        const struct tbed_mark_row *found = tbed_marks_get(marks, i), *expected = &oracle->marks[i];
        assert_non_null(found);
        assert_int_equal(found->stream, expected->stream);
        assert_int_equal(found->kind, expected->kind);
        assert_int_equal(found->first_tick, expected->first_tick);
        assert_int_equal(found->last_tick, expected->last_tick);
        assert_int_equal(found->count, expected->count);
        assert_int_equal(found->id, expected->id);
    }
    assert_null(tbed_marks_get(marks, oracle->mark_count));
    expect_counters(oracle, question, marks, &info);
    tbed_marks_close(marks);
    tbed_filter_close(filter);
}

/* ---- Cases ---- */

static void ask(struct oracle *oracle, struct tbed_reader *reader, uint64_t seed)
{
    static const uint32_t columns[] = {1, 7, 200};
    static const size_t most[] = {0, 10, 60};
    struct tbed_trace_info info;
    tbed_reader_info(reader, &info);
    for (size_t i = 0; i < 9; i++) {
        struct question question = {
            .reader = reader,
            .begin = info.first_tick + (i % 3) * (info.last_tick - info.first_tick) / 4,
            .end = info.last_tick + 1 - (i % 2) * (info.last_tick - info.first_tick) / 3,
            .columns = columns[i % 3],
            .mark_max = most[i / 3]};
        list_events(oracle, &question);
        uint64_t column_ticks = make_oracle(oracle, &question);
        assert_true(oracle->mark_count > 0);
        expect_marks(oracle, &question, column_ticks, (unsigned)((i + seed) % 4 + 1));
    }
}

static void marks_are_those_of_all_events(void **state)
{
    static const unsigned odds[] = {ODD_NOTHING, ODD_COUNTER, ODD_CATEGORY};
    struct oracle *oracle = calloc(1, sizeof *oracle);
    (void)state;
    assert_non_null(oracle);
    for (uint64_t seed = 1; seed <= 6; seed++) {
        struct fixture *f = random_trace(odds[seed % 3], 40, false, seed);
        for (uint32_t stream = 1; seed % 2 == 0 && stream <= FIXTURE_STREAMS; stream++)
            fixture_stream_record(f, stream, 1 + stream % 2); /* two processes that have the same counters */
        struct tbed_reader *reader = fixture_open(f);
        ask(oracle, reader, seed);
        tbed_reader_close(reader);
        fixture_free(f);
    }
    free(oracle);
}

static void a_sample_says_that_it_is_one(void **state)
{
    struct fixture *f = random_trace(ODD_COUNTER, 40, false, 3);
    struct tbed_reader *reader = fixture_open(f);
    struct tbed_marks_options options = {.size = sizeof options, .column_count = 50};
    struct tbed_marks_info all, some;
    struct tbed_marks *marks;
    (void)state;
    assert_int_equal(tbed_marks_make(reader, &options, &marks), TBED_OK);
    tbed_marks_info(marks, &all);
    tbed_marks_close(marks);
    options.block_max = all.block_count / 2;
    assert_int_equal(tbed_marks_make(reader, &options, &marks), TBED_OK);
    tbed_marks_info(marks, &some);
    tbed_marks_close(marks);
    assert_int_equal(some.block_count, all.block_count);
    assert_true(some.read_count > 0 && some.read_count <= options.block_max);
    tbed_reader_close(reader);
    fixture_free(f);
}

static void what_cannot_be_asked_is_refused(void **state)
{
    struct fixture *f = random_trace(ODD_NOTHING, 10, false, 1);
    struct tbed_reader *reader = fixture_open(f);
    struct tbed_marks_options options = {.size = sizeof options};
    struct tbed_marks *marks = NULL;
    bool is_cancelled = true;
    (void)state;
    assert_int_equal(tbed_marks_make(reader, &options, &marks), TBED_ERR_ARGUMENT);
    options.column_count = TBED_MARKS_COLUMNS_MAX + 1;
    assert_int_equal(tbed_marks_make(reader, &options, &marks), TBED_ERR_ARGUMENT);
    options.column_count = 1;
    options.is_cancelled = &is_cancelled;
    assert_int_equal(tbed_marks_make(reader, &options, &marks), TBED_ERR_CANCELLED);
    assert_null(marks);
    tbed_marks_close(NULL);
    tbed_reader_close(reader);
    fixture_free(f);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(marks_are_those_of_all_events),
        cmocka_unit_test(a_sample_says_that_it_is_one),
        cmocka_unit_test(what_cannot_be_asked_is_refused),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
