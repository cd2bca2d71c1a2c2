/*
 * Histograms of durations by themselves, and the spans that are added to them together.
 *
 * SPDX-License-Identifier: MIT
 */
#include "reader/tests/analysis/analysis_fixture.h"

#include "reader/analysis/sums/ended.h"

static void a_bucket_is_within_one_percent_of_its_values(void **state)
{
    uint64_t random = 7;
    (void)state;
    for (uint32_t i = 0; i < 20000; i++) {
        struct tbed_histograms all = {.slabs = NULL};
        struct tbed_histogram histogram = {.counts = NULL};
        uint64_t value = ((uint64_t)fixture_random(&random) << 32 | fixture_random(&random)) >> (i % 64);
        assert_true(tbed_histogram_add(&all, &histogram, value));
        double found = (double)tbed_histogram_percentile(&histogram, 1, 0.5);
        double off = found > (double)value ? found - (double)value : (double)value - found;
        assert_true(off <= (double)value * 0.01);
        if (value < 128)
            assert_true(found == (double)value);
        tbed_histogram_free(&all, &histogram);
        tbed_histograms_close(&all);
    }
}

/* Asks for every bucket's count through percentiles: the value at each rank. */
static void expect_counts(const struct tbed_histogram *histogram, const uint64_t *counts, uint64_t total)
{
    uint64_t rank = 0;
    for (unsigned bucket = 0; bucket < TBED_HISTOGRAM_BUCKETS; bucket++) {
        if (counts[bucket] == 0)
            continue;
        double first = ((double)rank + 0.5) / (double)total;
        double last = ((double)(rank + counts[bucket]) - 0.5) / (double)total;
        assert_int_equal(tbed_histogram_bucket(tbed_histogram_percentile(histogram, total, first)), bucket);
        assert_int_equal(tbed_histogram_bucket(tbed_histogram_percentile(histogram, total, last)), bucket);
        rank += counts[bucket];
    }
    assert_int_equal(rank, total);
}

/* Lists, tables, and tables that were lists, with values of few and of many octaves. */
static void a_histogram_of_any_size_has_all_counts(void **state)
{
    static const unsigned sizes[] = {1, 2, 3, 7, 15, 100, 500, 1500, 4095, 4096, 4097, 20000};
    struct tbed_histograms all = {.slabs = NULL};
    uint64_t random = 3;
    (void)state;
    for (unsigned i = 0; i < 4 * sizeof sizes / sizeof *sizes; i++) {
        static uint64_t counts[TBED_HISTOGRAM_BUCKETS];
        struct tbed_histogram halves[2] = {{.counts = NULL}, {.counts = NULL}};
        unsigned size = sizes[i / 4];
        memset(counts, 0, sizeof counts);
        for (unsigned k = 0; k < size; k++) {
            uint64_t value = (uint64_t)fixture_random(&random) << 32 | fixture_random(&random);
            value >>= i % 4 == 0 ? 60 : i % 4 == 1 ? 40 + k % 8 : k % 64;
            counts[tbed_histogram_bucket(value)]++;
            assert_true(tbed_histogram_add(&all, &halves[i % 4 == 3 ? k % 2 : 0], value));
        }
        assert_true(tbed_histogram_merge(&all, &halves[0], &halves[1]));
        expect_counts(&halves[0], counts, size);
        tbed_histogram_free(&all, &halves[0]);
        tbed_histogram_free(&all, &halves[1]);
    }
    tbed_histograms_close(&all);
}

static void counts_above_32_bits_are_kept(void **state)
{
    static uint64_t counts[TBED_HISTOGRAM_BUCKETS];
    struct tbed_histograms all = {.slabs = NULL}, others = {.slabs = NULL};
    struct tbed_histogram histogram = {.counts = NULL}, other = {.counts = NULL};
    (void)state;
    assert_true(tbed_histogram_count(&all, &histogram, 100, UINT32_MAX));
    assert_true(tbed_histogram_add(&all, &histogram, 100)); /* carried */
    assert_true(tbed_histogram_add(&all, &histogram, 100));
    assert_true(tbed_histogram_add(&all, &histogram, 5));
    assert_true(tbed_histogram_count(&others, &other, 7, 3));
    assert_true(tbed_histogram_count(&others, &other, 100, UINT64_C(5) << 32));
    assert_true(tbed_histogram_count(&others, &other, 300, UINT64_C(1) << 33));
    tbed_histograms_take(&all, &others);
    assert_true(tbed_histogram_merge(&all, &histogram, &other));
    counts[5] = 1;
    counts[7] = 3;
    counts[100] = (UINT64_C(6) << 32) + 1;
    counts[300] = UINT64_C(1) << 33;
    expect_counts(&histogram, counts, counts[5] + counts[7] + counts[100] + counts[300]);
    tbed_histogram_free(&all, &histogram);
    tbed_histogram_free(&all, &other);
    tbed_histograms_close(&all);
}

/* New buckets, and one that leaves its 32 bits, while others wait to be counted. */
static void spans_added_together_are_all_counted(void **state)
{
    static uint64_t counts[TBED_HISTOGRAM_BUCKETS];
    static struct stat_ended ended[STAT_ENDED_MAX];
    struct stat_cells cells = {.has_histograms = true};
    uint64_t random = 11, total = UINT32_MAX - 20, self = 0;
    (void)state;
    assert_true(tbed_stat_grow_cells(&cells, 5));
    assert_true(tbed_histogram_count(&cells.histograms, &stat_cell(&cells, 5)->histogram, 40, total));
    counts[40] = total;
    for (size_t i = 0; i < STAT_ENDED_MAX; i++) {
        uint64_t ticks = fixture_random(&random) % 3 == 0 ? 40 : fixture_random(&random) >> (31 - i / 64);
        ended[i] = (struct stat_ended){ticks, i, 5 - i % 2};
        if (i % 2 == 0) {
            counts[tbed_histogram_bucket(ticks)]++;
            total++;
            self += i;
        }
    }
    assert_true(counts[40] > UINT32_MAX);
    tbed_stat_add_ended(&cells, ended, STAT_ENDED_MAX);
    expect_counts(&stat_cell(&cells, 5)->histogram, counts, total);
    assert_int_equal(stat_cell(&cells, 5)->count, STAT_ENDED_MAX / 2);
    assert_int_equal(stat_cell(&cells, 5)->self, self);
    assert_int_equal(stat_cell(&cells, 4)->count, STAT_ENDED_MAX / 2);
    assert_false(cells.is_out_of_memory);
    tbed_stat_cells_free(&cells);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(a_bucket_is_within_one_percent_of_its_values),
        cmocka_unit_test(a_histogram_of_any_size_has_all_counts),
        cmocka_unit_test(counts_above_32_bits_are_kept),
        cmocka_unit_test(spans_added_together_are_all_counted),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
