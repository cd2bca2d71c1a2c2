/*
 * The durations that statistics keep: all spans are in them, the percentiles of the rows follow from them, and a
 * comparison has them too.
 *
 * SPDX-License-Identifier: MIT
 */
#include "reader/tests/analysis/random_trace.h"

#include <tracebed/analysis.h>
#include <tracebed/compare.h>

static struct tbed_statistics *make(struct tbed_reader *reader, unsigned threads, bool keep)
{
    struct tbed_analysis_options options = {
        .size = sizeof options, .thread_count = threads, .keep_durations = keep};
    struct tbed_statistics *statistics = NULL;
    assert_int_equal(tbed_statistics_make(reader, &options, &statistics), TBED_OK);
    return statistics;
}

/* The duration that a part of all spans are at or below. */
static uint64_t percentile(struct tbed_durations durations, uint64_t all, unsigned per_mille)
{
    uint64_t seen = 0;
    for (size_t i = 0; i < durations.count; i++)
        if ((seen += durations.counts[i].count) * 1000 >= all * per_mille)
            return durations.counts[i].ticks;
    return UINT64_MAX;
}

static uint64_t within(uint64_t ticks, const struct tbed_span_row *row)
{
    return ticks < row->min_ticks ? row->min_ticks : ticks > row->max_ticks ? row->max_ticks : ticks;
}

static void check_row(const struct tbed_statistics *statistics, size_t index)
{
    const struct tbed_span_row *row = tbed_statistics_span(statistics, index);
    struct tbed_durations durations = tbed_statistics_durations(statistics, index);
    uint64_t count = 0;
    for (size_t i = 0; i < durations.count; i++) {
        count += durations.counts[i].count;
        assert_true(durations.counts[i].count > 0);
        assert_true(i == 0 || durations.counts[i - 1].ticks < durations.counts[i].ticks);
    }
    assert_int_equal(count, row->count);
    if (count == 0)
        return;
    assert_int_equal(within(percentile(durations, count, 500), row), row->p50_ticks);
    assert_int_equal(within(percentile(durations, count, 990), row), row->p99_ticks);
}

static void durations_have_all_spans_and_their_percentiles(void **state)
{
    (void)state;
    for (unsigned odd = 0; odd < ODD_COUNT; odd++) {
        struct fixture *f = random_trace(odd, 40, odd % 2 == 0, odd + 1);
        struct tbed_reader *reader = fixture_open(f);
        struct tbed_statistics *one = make(reader, 1, true), *two = make(reader, 2, true);
        size_t count = 0;
        for (; tbed_statistics_span(one, count) != NULL; count++) {
            struct tbed_durations a = tbed_statistics_durations(one, count);
            struct tbed_durations b = tbed_statistics_durations(two, count);
            check_row(one, count);
            assert_int_equal(a.count, b.count);
            assert_int_equal(memcmp(a.counts, b.counts, a.count * sizeof *a.counts), 0);
        }
        assert_true(count > 3);
        assert_int_equal(tbed_statistics_durations(one, count).count, 0);
        tbed_statistics_close(one);
        tbed_statistics_close(two);
        tbed_reader_close(reader);
        fixture_free(f);
    }
}

static void comparison_has_the_durations_of_each_run(void **state)
{
    struct fixture *f = random_trace(ODD_NOTHING, 40, false, 1), *g = random_trace(ODD_NOTHING, 40, false, 2);
    struct tbed_reader *reader = fixture_open(f), *other = fixture_open(g);
    struct tbed_statistics *kept = make(reader, 1, true), *not_kept = make(other, 1, false);
    struct tbed_comparison *comparison = NULL;
    struct tbed_comparison_row row;
    size_t count = 0;
    (void)state;
    assert_int_equal(tbed_comparison_open(&comparison), TBED_OK);
    assert_int_equal(tbed_comparison_add(comparison, kept, NULL), TBED_OK);
    assert_int_equal(tbed_comparison_add(comparison, not_kept, NULL), TBED_OK);
    for (size_t i = 0; tbed_comparison_row(comparison, i, &row); i++) {
        struct tbed_durations durations = tbed_comparison_durations(comparison, i, 0);
        for (size_t k = 0; k < durations.count; k++)
            count += durations.counts[k].count;
        assert_int_equal(tbed_comparison_durations(comparison, i, 1).count, 0);
        assert_int_equal(tbed_comparison_durations(comparison, i, 2).count, 0);
    }
    struct tbed_statistics_totals totals;
    tbed_statistics_totals(kept, &totals);
    assert_int_equal(count, totals.span_count);
    assert_int_equal(tbed_comparison_durations(comparison, 1000, 0).count, 0);
    tbed_comparison_close(comparison);
    tbed_statistics_close(kept);
    tbed_statistics_close(not_kept);
    tbed_reader_close(reader);
    tbed_reader_close(other);
    fixture_free(f);
    fixture_free(g);
}

static void durations_of_any_source_are_copied(void **state)
{
    const struct tbed_duration_count counts[] = {{10, 3}, {20, 1}};
    const struct tbed_durations durations = {counts, 2};
    const struct tbed_span_row row = {.name = "a", .name_nbytes = 1, .self_ticks = 50};
    struct tbed_comparison_run run = {.rows = &row, .row_count = 1, .durations = &durations};
    struct tbed_comparison *comparison = NULL;
    (void)state;
    assert_int_equal(tbed_comparison_open(&comparison), TBED_OK);
    assert_int_equal(tbed_comparison_add_run(comparison, &run), TBED_OK);
    struct tbed_durations found = tbed_comparison_durations(comparison, 0, 0);
    assert_int_equal(found.count, 2);
    assert_ptr_not_equal(found.counts, counts);
    assert_int_equal(found.counts[1].ticks, 20);
    assert_int_equal(found.counts[0].count, 3);
    tbed_comparison_close(comparison);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(durations_have_all_spans_and_their_percentiles),
        cmocka_unit_test(comparison_has_the_durations_of_each_run),
        cmocka_unit_test(durations_of_any_source_are_copied),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
