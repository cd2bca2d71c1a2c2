/*
 * Divides the time of any trace into parts, and groups its spans by each key. Added up over the parts, and over the rows of
 * each key, the figures are those of the statistics by label; one thread computes the same as three.
 *
 * The number of parts, less one, follows the last complete page.
 *
 * Mutator: trace
 * Seeds: spec/golden/valid fuzz/statistics/corpus
 *
 * SPDX-License-Identifier: MIT
 */
#include <string.h>
#include <tracebed/timeline.h>

#include "fuzz/support/choices.h"
#include "fuzz/support/fuzz.h"

/* ---- Timelines ---- */

static struct tbed_timeline *make_timeline(struct tbed_reader *reader, uint32_t parts, unsigned threads)
{
    struct tbed_analysis_options options = {
        .size = sizeof options, .moment_count = parts, .thread_count = threads};
    struct tbed_timeline *timeline;
    REQUIRE(tbed_timeline_make(reader, &options, &timeline) == TBED_OK);
    REQUIRE(tbed_timeline_part_count(timeline) == parts);
    return timeline;
}

static void compare_timelines(const struct tbed_timeline *one, const struct tbed_timeline *three,
                              size_t parts)
{
    const struct tbed_timeline_row *row, *same;
    const struct tbed_timeline_counter *counter, *as;
    size_t nbytes = parts * sizeof(struct tbed_timeline_spans);
    REQUIRE(memcmp(tbed_timeline_all(one), tbed_timeline_all(three), nbytes) == 0);
    for (size_t i = 0; (row = tbed_timeline_span(one, i)) != NULL; i++) {
        same = tbed_timeline_span(three, i);
        REQUIRE(same != NULL && same->id == row->id && strcmp(same->name, row->name) == 0);
        REQUIRE(memcmp(row->parts, same->parts, nbytes) == 0);
    }
    for (size_t i = 0; (counter = tbed_timeline_counter_get(one, i)) != NULL; i++) {
        as = tbed_timeline_counter_get(three, i);
        REQUIRE(as != NULL && as->id == counter->id && as->process == counter->process &&
                strcmp(as->name, counter->name) == 0);
        REQUIRE(memcmp(counter->parts, as->parts, parts * sizeof *counter->parts) == 0);
    }
}

/* The next row of the statistics that has spans with a known begin: others have no time. */
static const struct tbed_span_row *next_timed(const struct tbed_statistics *statistics, size_t *at)
{
    const struct tbed_span_row *row;
    while ((row = tbed_statistics_span(statistics, *at)) != NULL && row->count == 0)
        ++*at;
    ++*at;
    return row;
}

static void check_timeline(const struct tbed_timeline *timeline, const struct tbed_statistics *statistics,
                           size_t parts)
{
    const struct tbed_timeline_row *row;
    struct tbed_statistics_totals totals;
    uint64_t all = 0;
    size_t at = 0;
    tbed_statistics_totals(statistics, &totals);
    for (size_t part = 0; part < parts; part++) {
        all += tbed_timeline_all(timeline)[part].count;
        REQUIRE(tbed_timeline_tick(timeline, part) <= tbed_timeline_tick(timeline, part + 1));
    }
    REQUIRE(all == totals.span_count);
    for (size_t i = 0; (row = tbed_timeline_span(timeline, i)) != NULL; i++) {
        const struct tbed_span_row *span = next_timed(statistics, &at);
        uint64_t count = 0, ticks = 0;
        for (size_t part = 0; part < parts; part++) {
            count += row->parts[part].count;
            ticks += row->parts[part].ticks; /* both wrap */
        }
        REQUIRE(span != NULL && strcmp(span->name, row->name) == 0);
        REQUIRE(span->count == count && span->total_ticks == ticks);
    }
    REQUIRE(next_timed(statistics, &at) == NULL);
}

/* A row of the statistics is the sum of the processes that have a counter of its name. */
static void check_counters(const struct tbed_timeline *timeline, const struct tbed_statistics *statistics,
                           size_t parts)
{
    const struct tbed_timeline_counter *counter, *before = NULL;
    const struct tbed_counter_row *row = NULL;
    uint64_t count = 0;
    size_t row_count = 0;
    for (size_t i = 0; (counter = tbed_timeline_counter_get(timeline, i)) != NULL; before = counter, i++) {
        if (before == NULL || strcmp(before->name, counter->name) != 0) {
            REQUIRE(row == NULL || row->count == count);
            row = tbed_statistics_counter(statistics, row_count++);
            count = 0;
        } else {
            REQUIRE(before->process < counter->process);
        }
        REQUIRE(row != NULL && strcmp(row->name, counter->name) == 0);
        for (size_t part = 0; part < parts; part++)
            count += counter->parts[part].count;
    }
    REQUIRE(row == NULL || row->count == count);
    REQUIRE(tbed_statistics_counter(statistics, row_count) == NULL);
}

/* ---- Keys ---- */

struct sums {
    uint64_t count, total, open, unknown, instants;
};

static struct sums sum(const struct tbed_statistics *statistics)
{
    struct sums sums = {0};
    const struct tbed_span_row *row, *before = NULL;
    const struct tbed_instant_row *instant;
    for (size_t i = 0; (row = tbed_statistics_span(statistics, i)) != NULL; before = row, i++) {
        REQUIRE(before == NULL || strcmp(before->name, row->name) != 0);
        REQUIRE(row->name[row->name_nbytes] == 0);
        sums.count += row->count;
        sums.total += row->total_ticks;
        sums.open += row->open_count;
        sums.unknown += row->unknown_count;
    }
    for (size_t i = 0; (instant = tbed_statistics_instant(statistics, i)) != NULL; i++)
        sums.instants += instant->count;
    return sums;
}

/* Of the trace by this key. False: its times are too many. */
static bool sum_by(struct tbed_reader *reader, enum tbed_row_key key, uint64_t width, unsigned threads,
                   struct sums *sums)
{
    struct tbed_analysis_options options = {
        .size = sizeof options, .by = key, .by_ticks = width, .thread_count = threads};
    struct tbed_statistics *statistics;
    enum tbed_status status = tbed_statistics_make(reader, &options, &statistics);
    REQUIRE(status == TBED_OK || (status == TBED_ERR_ARGUMENT && key == TBED_BY_TIME));
    if (status != TBED_OK)
        return false;
    *sums = sum(statistics);
    tbed_statistics_close(statistics);
    return true;
}

static void check_keys(struct tbed_reader *reader, const struct tbed_statistics *statistics, uint32_t parts)
{
    struct sums wanted = sum(statistics), found;
    struct tbed_trace_info info;
    struct tbed_analysis_options unknown = {.size = sizeof unknown, .by = TBED_BY_TIME + 1};
    struct tbed_statistics *none;
    tbed_reader_info(reader, &info);
    for (unsigned key = TBED_BY_LABEL; key <= TBED_BY_TIME; key++)
        for (unsigned threads = 1; threads <= 3; threads += 2)
            if (sum_by(reader, key, (info.last_tick - info.first_tick) / parts + 1, threads, &found))
                REQUIRE(memcmp(&found, &wanted, sizeof found) == 0);
    REQUIRE(!sum_by(reader, TBED_BY_TIME, 0, 1, &found));
    REQUIRE(tbed_statistics_make(reader, &unknown, &none) == TBED_ERR_ARGUMENT);
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t nbytes)
{
    struct tbed_reader *reader = open_input(data, nbytes);
    uint32_t parts = choice_at(data, nbytes, 0) + 1;
    struct tbed_statistics *statistics;
    if (reader == NULL)
        return 0;
    REQUIRE(tbed_statistics_make(reader, NULL, &statistics) == TBED_OK);
    struct tbed_timeline *one = make_timeline(reader, parts, 1), *three = make_timeline(reader, parts, 3);
    check_timeline(one, statistics, parts);
    check_counters(one, statistics, parts);
    compare_timelines(one, three, parts);
    check_keys(reader, statistics, parts);
    REQUIRE(tbed_clock_step(reader) >= 1);
    tbed_timeline_close(one);
    tbed_timeline_close(three);
    tbed_timeline_close(NULL);
    tbed_statistics_close(statistics);
    tbed_reader_close(reader);
    return 0;
}
