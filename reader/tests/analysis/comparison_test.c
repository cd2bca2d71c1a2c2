/*
 * Profiles side by side, against an oracle that is slow and obvious.
 *
 * The comparison merges sorted lists, and stores runs by numbers that later runs do not change. What can go wrong is
 * a label that comes and goes, one that is a prefix of another, or one that contains a zero. So runs of random rows
 * are added, and everything is compared with the plain table that they were made from. The spread is checked with
 * different formulas: pairs of values for the variance, counting for the median.
 *
 * SPDX-License-Identifier: MIT
 */
#define _GNU_SOURCE 1
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>

#include <math.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <tracebed/compare.h>
#include <tracebed/writer.h>
#include <unistd.h>

static uint32_t next_random(uint64_t *state)
{
    *state ^= *state << 13;
    *state ^= *state >> 7;
    *state ^= *state << 17;
    return (uint32_t)(*state >> 16);
}

#define ROW(label, self, time, calls)                                                                        \
    {                                                                                                        \
        .name = (label), .name_nbytes = strlen(label), .self_ticks = (self), .time_ticks = (time),           \
        .invocation_count = (calls)                                                                          \
    }

static struct tbed_comparison *open_comparison(void)
{
    struct tbed_comparison *comparison = NULL;
    assert_int_equal(tbed_comparison_open(&comparison), TBED_OK);
    return comparison;
}

static void add(struct tbed_comparison *comparison, const struct tbed_span_row *rows, size_t count,
                uint64_t total)
{
    struct tbed_comparison_run run = {.rows = rows, .row_count = count, .total = total};
    assert_int_equal(tbed_comparison_add_run(comparison, &run), TBED_OK);
}

/* ---- Made by hand ---- */

static void rows_of_two_runs_stand_side_by_side(void **state)
{
    const struct tbed_span_row before[] = {ROW("load", 10, 15, 1), ROW("parse", 5, 5, 2)};
    const struct tbed_span_row after[] = {ROW("link", 7, 7, 1), ROW("parse", 0, 1, 3)};
    struct tbed_comparison *comparison = open_comparison();
    struct tbed_comparison_row row;
    (void)state;
    add(comparison, before, 2, 20);
    add(comparison, after, 2, 8);
    assert_int_equal(tbed_comparison_run_count(comparison), 2);
    assert_int_equal(tbed_comparison_total(comparison, 0), 20);
    assert_int_equal(tbed_comparison_total(comparison, 1), 8);
    assert_int_equal(tbed_comparison_total(comparison, 2), 0);
    assert_true(tbed_comparison_row(comparison, 0, &row));
    assert_string_equal(row.label, "link");
    assert_int_equal(row.run_count, 1);
    assert_false(tbed_comparison_figures(comparison, 0, 0).present);
    assert_true(tbed_comparison_figures(comparison, 0, 1).present);
    assert_true(tbed_comparison_row(comparison, 1, &row));
    assert_string_equal(row.label, "load");
    assert_int_equal(tbed_comparison_figures(comparison, 1, 0).of[TBED_FIGURE_TIME], 15);
    assert_false(tbed_comparison_figures(comparison, 1, 1).present);
    assert_true(tbed_comparison_row(comparison, 2, &row));
    assert_string_equal(row.label, "parse");
    assert_int_equal(row.run_count, 2);
    assert_int_equal(tbed_comparison_figures(comparison, 2, 1).of[TBED_FIGURE_INVOCATIONS], 3);
    assert_false(tbed_comparison_row(comparison, 3, &row));
    assert_false(tbed_comparison_figures(comparison, 3, 0).present);
    assert_false(tbed_comparison_figures(comparison, 2, 2).present);
    tbed_comparison_close(comparison);
}

static void each_figure_has_its_place(void **state)
{
    const struct tbed_span_row row = {.name = "x",
                                      .name_nbytes = 1,
                                      .self_ticks = 1,
                                      .time_ticks = 2,
                                      .invocation_count = 3,
                                      .cache_misses = 4,
                                      .cache_hits = 5,
                                      .blocked_ticks = 6,
                                      .load_ticks = 7,
                                      .hashing_ticks = 8,
                                      .p50_ticks = 9};
    static const enum tbed_figure figures[] = {
        TBED_FIGURE_SELF,    TBED_FIGURE_TIME, TBED_FIGURE_INVOCATIONS, TBED_FIGURE_MISSES, TBED_FIGURE_HITS,
        TBED_FIGURE_BLOCKED, TBED_FIGURE_LOAD, TBED_FIGURE_HASHING,     TBED_FIGURE_P50};
    struct tbed_comparison *comparison = open_comparison();
    (void)state;
    add(comparison, &row, 1, 0);
    for (size_t i = 0; i < TBED_FIGURE_COUNT; i++) {
        assert_int_equal(tbed_comparison_figures(comparison, 0, 0).of[figures[i]], i + 1);
        assert_int_equal(tbed_figure_is_time(figures[i]), i < 2 || i > 4);
    }
    tbed_comparison_close(comparison);
}

static void artifacts_are_rows_of_their_own(void **state)
{
    const struct tbed_artifact_row before[] = {{"object", 6, 2, 100}},
                                   after[] = {{"index", 5, 1, 7}, {"object", 6, 1, UINT64_MAX}};
    struct tbed_comparison *comparison = open_comparison();
    struct tbed_comparison_row row;
    (void)state;
    assert_int_equal(tbed_comparison_add_run(
                         comparison, &(struct tbed_comparison_run){.artifacts = before, .artifact_count = 1}),
                     TBED_OK);
    assert_int_equal(tbed_comparison_add_run(
                         comparison, &(struct tbed_comparison_run){.artifacts = after, .artifact_count = 2}),
                     TBED_OK);
    assert_false(tbed_comparison_row(comparison, 0, &row));
    assert_true(tbed_comparison_artifact(comparison, 1, &row));
    assert_string_equal(row.label, "object");
    assert_int_equal(row.run_count, 2);
    assert_int_equal(tbed_comparison_size(comparison, 0, 0), 0);
    assert_int_equal(tbed_comparison_size(comparison, 0, 1), 7);
    assert_int_equal(tbed_comparison_size(comparison, 1, 0), 100);
    assert_true(tbed_comparison_size(comparison, 1, 1) == UINT64_MAX);
    assert_false(tbed_comparison_artifact(comparison, 2, &row));
    tbed_comparison_close(comparison);
}

/* Refused entirely: neither the run nor any of its labels is added. */
static void rows_out_of_order_are_refused(void **state)
{
    const struct tbed_span_row twice[] = {ROW("a", 1, 1, 1), ROW("a", 1, 1, 1)};
    const struct tbed_span_row falling[] = {ROW("new", 1, 1, 1), ROW("b", 1, 1, 1)};
    const struct tbed_span_row fine[] = {ROW("b", 1, 1, 1)};
    const struct tbed_artifact_row artifacts[] = {{"b", 1, 1, 1}, {"a", 1, 1, 1}};
    const struct tbed_comparison_run runs[] = {
        {.rows = twice, .row_count = 2},
        {.rows = falling, .row_count = 2},
        {.rows = fine, .row_count = 1, .artifacts = artifacts, .artifact_count = 2}};
    struct tbed_comparison *comparison = open_comparison();
    struct tbed_comparison_row row;
    (void)state;
    for (size_t i = 0; i < 3; i++)
        assert_int_equal(tbed_comparison_add_run(comparison, &runs[i]), TBED_ERR_ARGUMENT);
    assert_int_equal(tbed_comparison_run_count(comparison), 0);
    assert_false(tbed_comparison_row(comparison, 0, &row));
    assert_false(tbed_comparison_artifact(comparison, 0, &row));
    tbed_comparison_close(comparison);
}

static void changes_stop_at_64_bits(void **state)
{
    (void)state;
    assert_true(tbed_figure_change(5, 3) == -2);
    assert_true(tbed_figure_change(3, 5) == 2);
    assert_true(tbed_figure_change(7, 7) == 0);
    assert_true(tbed_figure_change(0, INT64_MAX) == INT64_MAX);
    assert_true(tbed_figure_change(0, UINT64_MAX) == INT64_MAX);
    assert_true(tbed_figure_change(INT64_MAX, 0) == -INT64_MAX);
    assert_true(tbed_figure_change(UINT64_MAX, 0) == INT64_MIN);
}

/* ---- From traces ---- */

/* One span, of 30 ticks. 'rate' is how many there are in a second; 0: they count 'unit'. */
static struct tbed_reader *open_trace(uint64_t rate, const char *unit)
{
    struct tbed_writer_options options = {.size = sizeof options,
                                          .no_helper = true,
                                          .given_ticks = true,
                                          .given_ticks_per_second = rate,
                                          .user_clock_unit = unit};
    struct tbed_writer *writer = NULL;
    struct tbed_reader *reader = NULL;
    int fd = memfd_create("trace", MFD_CLOEXEC);
    assert_true(fd >= 0);
    assert_int_equal(tbed_writer_open_fd(fd, &options, &writer, NULL), TBED_OK);
    struct tbed_given_event event = {.type = TBED_GIVEN_SPAN,
                                     .id = tbed_string_intern(writer, "x", 1),
                                     .category = TBED_ID_INVALID,
                                     .begin_tick = 100,
                                     .tick = 130};
    tbed_event_record_given(tbed_recorder_open(writer, "main"), &event);
    tbed_writer_close(writer);
    assert_int_equal(tbed_reader_open_fd(fd, NULL, &reader, NULL), TBED_OK);
    close(fd);
    return reader;
}

static enum tbed_status add_trace(struct tbed_comparison *comparison, uint64_t rate, const char *unit)
{
    struct tbed_analysis_options options = {.size = sizeof options, .thread_count = 1};
    struct tbed_reader *reader = open_trace(rate, unit);
    struct tbed_statistics *profile = NULL;
    assert_int_equal(tbed_statistics_make(reader, &options, &profile), TBED_OK);
    enum tbed_status status = tbed_comparison_add(comparison, profile, reader);
    tbed_statistics_close(profile);
    tbed_reader_close(reader);
    return status;
}

static void ticks_become_nanoseconds(void **state)
{
    struct tbed_comparison *comparison = open_comparison();
    (void)state;
    assert_int_equal(add_trace(comparison, 1000000000, NULL), TBED_OK);
    assert_int_equal(add_trace(comparison, 10000000, NULL), TBED_OK);
    assert_int_equal(add_trace(comparison, 7000, NULL), TBED_OK);
    assert_int_equal(tbed_comparison_figures(comparison, 0, 0).of[TBED_FIGURE_SELF], 30);
    assert_int_equal(tbed_comparison_figures(comparison, 0, 1).of[TBED_FIGURE_SELF], 3000);
    assert_int_equal(tbed_comparison_figures(comparison, 0, 1).of[TBED_FIGURE_TIME], 3000);
    assert_int_equal(tbed_comparison_total(comparison, 1), 3000);
    assert_int_equal(tbed_comparison_figures(comparison, 0, 2).of[TBED_FIGURE_TIME], 4285714);
    assert_int_equal(tbed_comparison_figures(comparison, 0, 2).of[TBED_FIGURE_INVOCATIONS], 1);
    tbed_comparison_close(comparison);
}

static void other_units_are_refused(void **state)
{
    struct tbed_comparison *comparison = open_comparison();
    (void)state;
    assert_int_equal(add_trace(comparison, 0, "steps"), TBED_OK);
    assert_int_equal(add_trace(comparison, 1000000000, NULL), TBED_ERR_ARGUMENT);
    assert_int_equal(add_trace(comparison, 0, "cycles"), TBED_ERR_ARGUMENT);
    assert_int_equal(add_trace(comparison, 0, "steps"), TBED_OK);
    assert_int_equal(tbed_comparison_run_count(comparison), 2);
    assert_int_equal(tbed_comparison_figures(comparison, 0, 1).of[TBED_FIGURE_SELF], 30);
    tbed_comparison_close(comparison);
}

/* ---- Random runs against a plain table ---- */

#define LABEL_COUNT 60u
#define RUN_COUNT   12u

struct table {
    struct {
        char text[8];
        size_t nbytes;
    } labels[LABEL_COUNT];
    struct tbed_figures cells[LABEL_COUNT][RUN_COUNT];
};

static int compare_bytes(const char *left, size_t left_nbytes, const char *right, size_t right_nbytes)
{
    for (size_t i = 0; i < left_nbytes && i < right_nbytes; i++)
        if (left[i] != right[i])
            return (uint8_t)left[i] < (uint8_t)right[i] ? -1 : 1;
    return left_nbytes < right_nbytes ? -1 : left_nbytes > right_nbytes;
}

/* Few different bytes, so that labels begin with each other: zeros and bytes above 7F among them. */
static void make_labels(struct table *table, uint64_t *random)
{
    static const char bytes[] = {'a', 'b', 0, (char)0xFF};
    for (size_t i = 0; i < LABEL_COUNT;) {
        bool is_new = true;
        size_t nbytes = table->labels[i].nbytes = next_random(random) % 6;
        for (size_t j = 0; j < nbytes; j++)
            table->labels[i].text[j] = bytes[next_random(random) % 4];
        for (size_t j = 0; j < i; j++)
            is_new &= compare_bytes(table->labels[i].text, nbytes, table->labels[j].text,
                                    table->labels[j].nbytes) != 0;
        i += is_new;
    }
}

static int compare_rows(const void *left, const void *right)
{
    const struct tbed_span_row *a = left, *b = right;
    return compare_bytes(a->name, a->name_nbytes, b->name, b->name_nbytes);
}

static void add_random(struct tbed_comparison *comparison, struct table *table, size_t run, uint64_t *random)
{
    struct tbed_span_row rows[LABEL_COUNT];
    size_t count = 0;
    for (size_t i = 0; i < LABEL_COUNT; i++) {
        if (next_random(random) % 3 == 0)
            continue;
        struct tbed_figures *cell = &table->cells[i][run];
        cell->present = true;
        for (size_t figure = 0; figure < TBED_FIGURE_COUNT; figure++)
            cell->of[figure] = next_random(random) % 4 == 0 ? 0 : next_random(random);
        rows[count++] = (struct tbed_span_row){.name = table->labels[i].text,
                                               .name_nbytes = table->labels[i].nbytes,
                                               .self_ticks = cell->of[TBED_FIGURE_SELF],
                                               .time_ticks = cell->of[TBED_FIGURE_TIME],
                                               .invocation_count = cell->of[TBED_FIGURE_INVOCATIONS],
                                               .cache_misses = cell->of[TBED_FIGURE_MISSES],
                                               .cache_hits = cell->of[TBED_FIGURE_HITS],
                                               .blocked_ticks = cell->of[TBED_FIGURE_BLOCKED],
                                               .load_ticks = cell->of[TBED_FIGURE_LOAD],
                                               .hashing_ticks = cell->of[TBED_FIGURE_HASHING],
                                               .p50_ticks = cell->of[TBED_FIGURE_P50]};
    }
    qsort(rows, count, sizeof rows[0], compare_rows);
    add(comparison, rows, count, run * 7);
}

static void check_row(const struct tbed_comparison *comparison, const struct table *table, size_t index,
                      size_t run_count)
{
    struct tbed_comparison_row row, last;
    size_t label = 0, present = 0;
    assert_true(tbed_comparison_row(comparison, index, &row));
    assert_int_equal(row.label[row.label_nbytes], 0);
    if (index > 0) {
        assert_true(tbed_comparison_row(comparison, index - 1, &last));
        assert_true(compare_bytes(last.label, last.label_nbytes, row.label, row.label_nbytes) < 0);
    }
    while (compare_bytes(row.label, row.label_nbytes, table->labels[label].text,
                         table->labels[label].nbytes) != 0)
        assert_true(++label < LABEL_COUNT);
    for (size_t run = 0; run < run_count; run++) {
        struct tbed_figures figures = tbed_comparison_figures(comparison, index, run);
        assert_int_equal(figures.present, table->cells[label][run].present);
        assert_memory_equal(figures.of, table->cells[label][run].of, sizeof figures.of);
        present += figures.present;
    }
    assert_int_equal(row.run_count, present);
}

static size_t labels_seen(const struct table *table)
{
    size_t count = 0;
    for (size_t i = 0; i < LABEL_COUNT; i++) {
        bool seen = false;
        for (size_t run = 0; run < RUN_COUNT; run++)
            seen |= table->cells[i][run].present;
        count += seen;
    }
    return count;
}

static void random_runs_are_found_again(void **state)
{
    uint64_t random = 20261121;
    (void)state;
    for (unsigned round = 0; round < 50; round++) {
        struct table *table = calloc(1, sizeof *table);
        struct tbed_comparison *comparison = open_comparison();
        struct tbed_comparison_row row;
        assert_non_null(table);
        make_labels(table, &random);
        for (size_t run = 0; run < RUN_COUNT; run++) {
            add_random(comparison, table, run, &random);
            size_t count = labels_seen(table);
            for (size_t i = 0; i < count; i++)
                check_row(comparison, table, i, run + 1);
            assert_false(tbed_comparison_row(comparison, count, &row));
            assert_int_equal(tbed_comparison_total(comparison, run), run * 7);
        }
        tbed_comparison_close(comparison);
        free(table);
    }
}

/* ---- Spread ---- */

/* The middle one by counting; of two, the mean. */
static double slow_median(const double *values, size_t count)
{
    double sum = 0;
    for (size_t wanted = (count - 1) / 2; wanted <= count / 2; wanted++)
        for (size_t i = 0; i < count; i++) {
            size_t below = 0, equal = 0;
            for (size_t j = 0; j < count; j++) {
                below += values[j] < values[i];
                equal += values[j] == values[i] && j < i;
            }
            if (below + equal == wanted)
                sum += values[i];
        }
    return count % 2 != 0 ? sum : sum / 2;
}

static double slow_variance(const uint64_t *values, size_t count)
{
    long double sum = 0;
    for (size_t i = 0; i < count; i++)
        for (size_t j = 0; j < i; j++) {
            long double difference = (long double)values[i] - (long double)values[j];
            sum += difference * difference;
        }
    return count < 2 ? 0 : (double)(sum / (long double)count / (long double)(count - 1));
}

static double slow_distance(const double *values, size_t count, double median)
{
    double away[64], sum = 0;
    if (count < TBED_OUTLIER_RUNS_MIN)
        return INFINITY;
    for (size_t i = 0; i < count; i++)
        sum += away[i] = fabs(values[i] - median);
    double middle = slow_median(away, count);
    return middle > 0 ? 3.5 * 1.482602218505602 * middle : 3.5 * 1.2533141373155 * sum / (double)count;
}

static void assert_close(double value, double expected)
{
    if (!(value == expected || fabs(value - expected) <= 1e-9 * fabs(expected)))
        fail_msg("%.17g instead of %.17g", value, expected);
}

static void check_spread(const uint64_t *values, size_t count)
{
    double doubles[64], scratch[64];
    long double sum = 0;
    struct tbed_spread spread;
    uint64_t min = UINT64_MAX, max = 0;
    size_t outliers = 0;
    for (size_t i = 0; i < count; i++) {
        doubles[i] = (double)values[i];
        sum += (long double)values[i];
        min = values[i] < min ? values[i] : min;
        max = values[i] > max ? values[i] : max;
    }
    tbed_spread_make(values, count, scratch, &spread);
    assert_int_equal(spread.count, count);
    assert_true(spread.min == min && spread.max == max);
    assert_close(spread.mean, (double)(sum / (long double)count));
    assert_close(spread.median, slow_median(doubles, count));
    assert_close(spread.variance, slow_variance(values, count));
    double distance = slow_distance(doubles, count, spread.median);
    assert_close(spread.outlier_distance, distance);
    for (size_t i = 0; i < count; i++) {
        bool is_outlier = fabs(doubles[i] - spread.median) > spread.outlier_distance;
        assert_int_equal(tbed_spread_is_outlier(&spread, values[i]), is_outlier);
        outliers += is_outlier;
    }
    assert_int_equal(spread.outlier_count, outliers);
}

static void spread_is_that_of_other_formulas(void **state)
{
    uint64_t random = 4711, values[64];
    (void)state;
    for (unsigned round = 0; round < 3000; round++) {
        size_t count = 1 + next_random(&random) % 64;
        uint64_t base = (uint64_t)next_random(&random) << next_random(&random) % 20;
        uint32_t range = 1 + next_random(&random) % (round % 3 == 0 ? 3 : 100000);
        for (size_t i = 0; i < count; i++)
            values[i] = base + next_random(&random) % range + (next_random(&random) % 20 == 0 ? 400000 : 0);
        check_spread(values, count);
    }
}

static size_t count_outliers(const uint64_t *values, size_t count)
{
    double scratch[64];
    struct tbed_spread spread;
    tbed_spread_make(values, count, scratch, &spread);
    return spread.outlier_count;
}
#define OUTLIERS(...)                                                                                        \
    count_outliers((const uint64_t[]){__VA_ARGS__},                                                          \
                   sizeof((const uint64_t[]){__VA_ARGS__}) / sizeof(uint64_t))

static void outliers_are_what_the_rule_says(void **state)
{
    (void)state;
    assert_int_equal(OUTLIERS(100, 101, 99, 100, 150), 1);
    assert_int_equal(OUTLIERS(100, 101, 99, 102, 98), 0);
    assert_int_equal(OUTLIERS(100, 101, 99, 10, 190, 100), 2);
    /* Too few to say. */
    assert_int_equal(OUTLIERS(100, 101, 99, 100000), 0);
    assert_int_equal(OUTLIERS(1), 0);
    /* More than half agree: the mean deviation decides. */
    assert_int_equal(OUTLIERS(7, 7, 7, 7, 7, 7, 7, 8), 1);
    assert_int_equal(OUTLIERS(0, 0, 0, 0, 0, 10, 10, 10), 0);
    assert_int_equal(OUTLIERS(7, 7, 7, 7, 7, 7), 0);
    /* Sums and differences do not overflow at the limits. */
    assert_int_equal(OUTLIERS(UINT64_MAX, UINT64_MAX, UINT64_MAX, UINT64_MAX, UINT64_MAX, 0), 1);
}

static void spread_of_nothing_is_nothing(void **state)
{
    const struct tbed_spread zero = {0};
    struct tbed_spread spread;
    (void)state;
    memset(&spread, 0xAA, sizeof spread);
    tbed_spread_make(NULL, 0, NULL, &spread);
    assert_true(spread.count == zero.count && spread.mean == 0 && spread.variance == 0 && spread.max == 0);
    assert_int_equal(spread.outlier_count, 0);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(rows_of_two_runs_stand_side_by_side),
        cmocka_unit_test(each_figure_has_its_place),
        cmocka_unit_test(artifacts_are_rows_of_their_own),
        cmocka_unit_test(rows_out_of_order_are_refused),
        cmocka_unit_test(changes_stop_at_64_bits),
        cmocka_unit_test(ticks_become_nanoseconds),
        cmocka_unit_test(other_units_are_refused),
        cmocka_unit_test(random_runs_are_found_again),
        cmocka_unit_test(spread_is_that_of_other_formulas),
        cmocka_unit_test(outliers_are_what_the_rule_says),
        cmocka_unit_test(spread_of_nothing_is_nothing),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
