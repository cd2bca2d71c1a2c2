/*
 * The statistics of any trace: figures of a row are consistent with each other, rows are sorted, and one thread counts
 * the same as two.
 *
 * Mutator: trace
 * Seeds: spec/golden/valid
 *
 * SPDX-License-Identifier: MIT
 */
#include <string.h>
#include <tracebed/analysis.h>

#include "fuzz/support/fuzz.h"

struct sums {
    uint64_t spans, open, unknown;
};

static int compare_names(const struct tbed_span_row *a, const struct tbed_span_row *b)
{
    size_t common = a->name_nbytes < b->name_nbytes ? a->name_nbytes : b->name_nbytes;
    int order = memcmp(a->name, b->name, common);
    return order != 0 ? order : (a->name_nbytes > b->name_nbytes) - (a->name_nbytes < b->name_nbytes);
}

static void check_row(const struct tbed_span_row *row)
{
    const uint64_t rising[] = {row->min_ticks, row->p50_ticks,  row->p90_ticks,
                               row->p99_ticks, row->p999_ticks, row->max_ticks};
    REQUIRE(row->name[row->name_nbytes] == 0);
    REQUIRE(row->open_count <= row->count && row->invocation_count <= row->count);
    REQUIRE(row->count > 0 || row->total_ticks == 0);
    for (size_t i = 1; i < sizeof rising / sizeof rising[0]; i++)
        REQUIRE(rising[i - 1] <= rising[i]);
    unsigned __int128 most = (unsigned __int128)row->count * row->max_ticks;
    if (most <= UINT64_MAX) /* otherwise the sums wrap */
        REQUIRE(row->total_ticks <= most && row->max_ticks <= row->total_ticks &&
                row->time_ticks <= row->total_ticks);
}

static struct sums check_spans(const struct tbed_statistics *statistics)
{
    struct sums sums = {0};
    const struct tbed_span_row *row, *before = NULL;
    for (size_t i = 0; (row = tbed_statistics_span(statistics, i)) != NULL; i++) {
        check_row(row);
        REQUIRE(before == NULL || compare_names(before, row) < 0);
        before = row;
        sums.spans += row->count;
        sums.open += row->open_count;
        sums.unknown += row->unknown_count;
    }
    return sums;
}

static void check_others(const struct tbed_statistics *statistics,
                         const struct tbed_statistics_totals *totals)
{
    const struct tbed_instant_row *instant;
    const struct tbed_message_row *message;
    uint64_t instants = 0, messages = 0;
    for (size_t i = 0; (instant = tbed_statistics_instant(statistics, i)) != NULL; i++)
        instants += instant->count;
    for (size_t i = 0; (message = tbed_statistics_message(statistics, i)) != NULL; i++) {
        uint64_t by_severity = 0;
        for (size_t j = 0; j < sizeof message->severity_counts / sizeof message->severity_counts[0]; j++)
            by_severity += message->severity_counts[j];
        REQUIRE(by_severity == message->count);
        messages += message->count;
    }
    REQUIRE(instants == totals->instant_count && messages == totals->message_count);
    for (size_t i = 0; tbed_statistics_async(statistics, i) != NULL; i++)
        check_row(tbed_statistics_async(statistics, i));
    for (size_t i = 0; tbed_statistics_counter(statistics, i) != NULL; i++)
        REQUIRE(tbed_statistics_counter(statistics, i)->count > 0);
}

static struct tbed_statistics *make(struct tbed_reader *reader, unsigned thread_count)
{
    struct tbed_analysis_options options = {.size = sizeof options, .thread_count = thread_count};
    struct tbed_statistics *statistics;
    REQUIRE(tbed_statistics_make(reader, &options, &statistics) == TBED_OK);
    return statistics;
}

/* Every row, field by field: the rows have padding. */
static void compare_threads(const struct tbed_statistics *one, const struct tbed_statistics *two)
{
    const struct tbed_span_row *row, *other;
    for (size_t i = 0; (row = tbed_statistics_span(one, i)) != NULL; i++) {
        other = tbed_statistics_span(two, i);
        REQUIRE(other != NULL && compare_names(row, other) == 0 && row->count == other->count);
        REQUIRE(row->total_ticks == other->total_ticks && row->self_ticks == other->self_ticks);
        REQUIRE(row->p50_ticks == other->p50_ticks && row->p999_ticks == other->p999_ticks);
        REQUIRE(row->cache_hits == other->cache_hits && row->cache_misses == other->cache_misses);
    }
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t nbytes)
{
    struct tbed_statistics_totals totals, others;
    struct tbed_reader *reader = open_input(data, nbytes);
    if (reader == NULL)
        return 0;
    struct tbed_statistics *one = make(reader, 1), *two = make(reader, 2);
    tbed_statistics_totals(one, &totals);
    tbed_statistics_totals(two, &others);
    REQUIRE(memcmp(&totals, &others, sizeof totals) == 0);
    struct sums sums = check_spans(one);
    REQUIRE(sums.spans == totals.span_count && sums.open == totals.open_span_count);
    REQUIRE(sums.unknown == totals.unknown_begin_count);
    check_others(one, &totals);
    compare_threads(one, two);
    tbed_statistics_close(two);
    tbed_statistics_close(one);
    tbed_reader_close(reader);
    return 0;
}
