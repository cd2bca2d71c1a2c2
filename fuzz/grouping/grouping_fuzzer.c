/*
 * Statistics of any trace by each key: the same spans and the same time as by label, with one thread as with three. What is
 * in rows without a name of their own is in some row, too.
 *
 * Behind the last whole page of the trace are two bytes: the key, and how many parts of time there are.
 *
 * Mutator: trace
 * Seeds: spec/golden/valid fuzz/statistics/corpus
 *
 * SPDX-License-Identifier: MIT
 */
#include <string.h>
#include <tracebed/analysis.h>

#include "fuzz/support/choices.h"
#include "fuzz/support/fuzz.h"

struct sums {
    uint64_t spans, open, total, time, instants;
};

static struct tbed_statistics *make(struct tbed_reader *reader, enum tbed_row_key by, uint64_t by_ticks,
                                    unsigned threads)
{
    struct tbed_analysis_options options = {
        .size = sizeof options, .thread_count = threads, .by = by, .by_ticks = by_ticks};
    struct tbed_statistics *statistics;
    REQUIRE(tbed_statistics_make(reader, &options, &statistics) == TBED_OK);
    return statistics;
}

static struct sums sum_up(const struct tbed_statistics *statistics)
{
    const struct tbed_span_row *span;
    const struct tbed_instant_row *instant;
    struct sums sums = {0};
    for (size_t i = 0; (span = tbed_statistics_span(statistics, i)) != NULL; i++) {
        REQUIRE(span->name[span->name_nbytes] == 0 && span->open_count <= span->count);
        sums.spans += span->count;
        sums.open += span->open_count;
        sums.total += span->total_ticks;
        sums.time += span->time_ticks;
    }
    for (size_t i = 0; (instant = tbed_statistics_instant(statistics, i)) != NULL; i++)
        sums.instants += instant->count;
    return sums;
}

static void compare_rows(const struct tbed_statistics *one, const struct tbed_statistics *three)
{
    const struct tbed_span_row *a, *b;
    for (size_t i = 0; (a = tbed_statistics_span(one, i)) != NULL; i++) {
        b = tbed_statistics_span(three, i);
        REQUIRE(b != NULL && a->name_nbytes == b->name_nbytes &&
                memcmp(a->name, b->name, a->name_nbytes) == 0);
        REQUIRE(a->count == b->count && a->self_ticks == b->self_ticks && a->total_ticks == b->total_ticks);
        REQUIRE(a->p50_ticks == b->p50_ticks && a->part == b->part);
    }
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t nbytes)
{
    struct tbed_reader *reader = open_input(data, nbytes);
    struct tbed_trace_info info;
    if (reader == NULL)
        return 0;
    enum tbed_row_key by = TBED_BY_ARGUMENTS + choice_at(data, nbytes, 0) % TBED_BY_TIME;
    tbed_reader_info(reader, &info);
    uint64_t ticks = info.last_tick > info.first_tick ? info.last_tick - info.first_tick : 0;
    uint64_t by_ticks = by == TBED_BY_TIME ? ticks / (1 + choice_at(data, nbytes, 1)) + 1 : 0;
    struct tbed_statistics *labels = make(reader, TBED_BY_LABEL, 0, 1);
    struct tbed_statistics *one = make(reader, by, by_ticks, 1), *three = make(reader, by, by_ticks, 3);
    struct sums expected = sum_up(labels), found = sum_up(one);
    REQUIRE(found.spans == expected.spans && found.open == expected.open && found.total == expected.total);
    REQUIRE(found.instants == expected.instants);
    compare_rows(one, three);
    tbed_statistics_close(labels);
    tbed_statistics_close(one);
    tbed_statistics_close(three);
    tbed_reader_close(reader);
    return 0;
}
