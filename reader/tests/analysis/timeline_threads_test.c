/*
 * Timelines of a small trace, counted by hand; and timelines and rows by key on more threads than there are processors, for
 * ThreadSanitizer to watch.
 *
 * SPDX-License-Identifier: MIT
 */
#include "reader/tests/analysis/analysis_fixture.h"

#include <tracebed/timeline.h>

#define PARTS 4u

static const struct tbed_timeline_row *row_of(const struct tbed_timeline *timeline, const char *name)
{
    const struct tbed_timeline_row *row;
    for (size_t i = 0; (row = tbed_timeline_span(timeline, i)) != NULL; i++)
        if (strcmp(row->name, name) == 0)
            return row;
    fail_msg("no row '%s'", name);
    return NULL;
}

static void expect_parts(const struct tbed_timeline_spans *found, const uint64_t expected[PARTS][2])
{
    for (size_t i = 0; i < PARTS; i++) {
        assert_int_equal(found[i].count, expected[i][0]);
        assert_int_equal(found[i].ticks, expected[i][1]);
    }
}

/* From 1000 to 2000, so that parts begin at 1000, 1251, 1502 and 1753. */
static struct fixture *make_small_trace(void)
{
    struct fixture *f = fixture_new(4096);
    uint32_t outer = fixture_string(f, "outer"), inner = fixture_string(f, "inner"),
             load = fixture_string(f, "load");
    f->has_clock = true;
    fixture_stream_record(f, 1, 1);
    fixture_stream_record(f, 2, 1);
    fixture_stream_record(f, 3, 3); /* another process, which has a counter of the same name */
    fixture_begin(f, 1, 1000, outer);
    fixture_begin(f, 1, 1100, inner);
    fixture_end(f, 1, 1200, false);
    fixture_counter(f, 1, 1300, load, 5);
    fixture_counter(f, 1, 1350, load, 10);
    fixture_end(f, 1, 1400, false);
    fixture_begin(f, 2, 1600, outer);
    fixture_end(f, 2, 1800, false);
    fixture_counter(f, 1, 2000, load, 7);
    fixture_counter(f, 3, 1800, load, 100);
    return f;
}

static void spans_are_cut_at_the_bounds_of_parts(void **state)
{
    static const uint64_t outer[PARTS][2] = {{1, 251}, {0, 149}, {1, 153}, {0, 47}},
                          inner[PARTS][2] = {{1, 100}, {0, 0}, {0, 0}, {0, 0}},
                          all[PARTS][2] = {{2, 251}, {0, 149}, {1, 153}, {0, 47}};
    struct fixture *f = make_small_trace();
    struct tbed_reader *reader = fixture_open(f);
    struct tbed_analysis_options options = {.size = sizeof options, .moment_count = PARTS};
    struct tbed_timeline *timeline = NULL;
    (void)state;
    assert_int_equal(tbed_timeline_make(reader, &options, &timeline), TBED_OK);
    assert_int_equal(tbed_timeline_part_count(timeline), PARTS);
    assert_int_equal(tbed_timeline_tick(timeline, 0), 1000);
    assert_int_equal(tbed_timeline_tick(timeline, 3), 1753);
    expect_parts(row_of(timeline, "outer")->parts, outer);
    expect_parts(row_of(timeline, "inner")->parts, inner);
    expect_parts(tbed_timeline_all(timeline), all);
    assert_null(tbed_timeline_span(timeline, 2));
    const struct tbed_timeline_counter *load = tbed_timeline_counter_get(timeline, 0);
    assert_string_equal(load->name, "load");
    assert_int_equal(load->parts[0].count, 0);
    assert_int_equal(load->parts[1].count, 2);
    assert_true(load->parts[1].min == 5 && load->parts[1].mean == 7.5 && load->parts[1].max == 10);
    assert_true(load->parts[3].count == 1 && load->parts[3].mean == 7 && load->process == 1);
    const struct tbed_timeline_counter *other = tbed_timeline_counter_get(timeline, 1);
    assert_string_equal(other->name, "load");
    assert_true(other->process == 3 && other->parts[3].count == 1 && other->parts[3].mean == 100);
    assert_null(tbed_timeline_counter_get(timeline, 2));
    tbed_timeline_close(timeline);
    tbed_reader_close(reader);
    fixture_free(f);
}

static void wrong_options_are_refused(void **state)
{
    struct fixture *f = make_small_trace();
    struct tbed_reader *reader = fixture_open(f);
    struct tbed_analysis_options options = {.size = sizeof options};
    struct tbed_timeline *timeline = NULL;
    (void)state;
    assert_int_equal(tbed_timeline_make(reader, &options, &timeline), TBED_ERR_ARGUMENT);
    options.moment_count = 65537;
    assert_int_equal(tbed_timeline_make(reader, &options, &timeline), TBED_ERR_ARGUMENT);
    options.moment_count = 65536;
    options.by = TBED_BY_THREAD;
    assert_int_equal(tbed_timeline_make(reader, &options, &timeline), TBED_ERR_ARGUMENT);
    assert_null(timeline);
    options.by = TBED_BY_LABEL;
    assert_int_equal(tbed_timeline_make(reader, &options, &timeline), TBED_OK);
    tbed_timeline_close(timeline);
    tbed_reader_close(reader);
    fixture_free(f);
}

/* ---- Threads ---- */

static struct fixture *make_busy_trace(void)
{
    struct fixture *f = fixture_new(4096);
    uint64_t random = 99, tick = 1;
    for (uint32_t stream = 1; stream <= FIXTURE_STREAMS; stream++)
        fixture_stream_record(f, stream, 1 + stream % 3);
    for (uint32_t i = 0; i < 20000; i++) {
        uint32_t dice = fixture_random(&random), stream = 1 + dice % FIXTURE_STREAMS;
        tick += 1 + dice % 5;
        if (dice % 7 == 0)
            fixture_counter(f, stream, tick, 200 + dice % 3, dice % 1000);
        else if (f->streams[stream].depth < 50 && (dice >> 20) % 2 == 0)
            fixture_begin(f, stream, tick, 100 + (dice >> 8) % 50);
        else if (f->streams[stream].depth > 0)
            fixture_end(f, stream, tick, false);
    }
    return f;
}

static void timelines_do_not_depend_on_threads(void **state)
{
    struct fixture *f = make_busy_trace();
    struct tbed_reader *reader = fixture_open(f);
    struct tbed_analysis_options options = {.size = sizeof options, .moment_count = 50, .thread_count = 1};
    struct tbed_timeline *one = NULL, *many = NULL;
    const struct tbed_timeline_row *row;
    const struct tbed_timeline_counter *counter;
    (void)state;
    assert_int_equal(tbed_timeline_make(reader, &options, &one), TBED_OK);
    for (options.thread_count = 2; options.thread_count <= 9; options.thread_count++) {
        assert_int_equal(tbed_timeline_make(reader, &options, &many), TBED_OK);
        assert_memory_equal(tbed_timeline_all(one), tbed_timeline_all(many),
                            50 * sizeof *tbed_timeline_all(one));
        for (size_t i = 0; (row = tbed_timeline_span(one, i)) != NULL; i++)
            assert_memory_equal(row->parts, tbed_timeline_span(many, i)->parts, 50 * sizeof *row->parts);
        for (size_t i = 0; (counter = tbed_timeline_counter_get(one, i)) != NULL; i++)
            assert_memory_equal(counter->parts, tbed_timeline_counter_get(many, i)->parts,
                                50 * sizeof *counter->parts);
        tbed_timeline_close(many);
    }
    tbed_timeline_close(one);
    tbed_reader_close(reader);
    fixture_free(f);
}

/* The same sums by each key, on any number of threads. */
static void keys_have_the_sums_of_labels(void **state)
{
    struct fixture *f = make_busy_trace();
    struct tbed_reader *reader = fixture_open(f);
    struct tbed_analysis_options options = {.size = sizeof options, .by_ticks = 700};
    uint64_t wanted[3] = {0};
    (void)state;
    for (unsigned key = TBED_BY_LABEL; key <= TBED_BY_TIME; key++)
        for (options.thread_count = 1; options.thread_count <= 5; options.thread_count += 2) {
            struct tbed_statistics *statistics = NULL;
            const struct tbed_span_row *row;
            uint64_t sums[3] = {0};
            options.by = key;
            assert_int_equal(tbed_statistics_make(reader, &options, &statistics), TBED_OK);
            for (size_t i = 0; (row = tbed_statistics_span(statistics, i)) != NULL; i++) {
                sums[0] += row->count;
                sums[1] += row->total_ticks;
                sums[2] += row->self_ticks;
            }
            if (key == TBED_BY_LABEL)
                memcpy(wanted, sums, sizeof wanted);
            assert_true(sums[0] > 0 && sums[2] > 0);
            assert_memory_equal(sums, wanted, sizeof sums);
            tbed_statistics_close(statistics);
        }
    tbed_reader_close(reader);
    fixture_free(f);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(spans_are_cut_at_the_bounds_of_parts),
        cmocka_unit_test(wrong_options_are_refused),
        cmocka_unit_test(timelines_do_not_depend_on_threads),
        cmocka_unit_test(keys_have_the_sums_of_labels),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
