/*
 * A part of any trace: statistics, stacks, single calls and the assembler agree on what a filter takes, with one thread as
 * with three; and in an intact trace it is what a list of all spans says.
 *
 * fuzz/support/conditions.h says what the bytes behind the last whole page mean.
 *
 * Mutator: trace
 * Seeds: spec/golden/valid fuzz/statistics/corpus
 *
 * SPDX-License-Identifier: MIT
 */
#include <string.h>
#include <tracebed/analysis.h>
#include <tracebed/calls.h>

#include "fuzz/support/conditions.h"
#include "fuzz/support/fuzz.h"

/* ---- What the filter takes ---- */

struct taken {
    uint64_t spans, open, unknown, ticks, begins;
};

static void add_span(struct taken *taken, const struct tbed_step *step)
{
    const struct tbed_assembled *span = step->span;
    taken->spans += step->kind == TBED_STEP_END || step->kind == TBED_STEP_OPEN;
    taken->open += step->kind == TBED_STEP_OPEN;
    taken->unknown += step->kind == TBED_STEP_UNKNOWN;
    taken->begins += step->kind == TBED_STEP_BEGIN;
    if (step->kind != TBED_STEP_UNKNOWN && step->kind != TBED_STEP_BEGIN && span->end_tick > span->begin_tick)
        taken->ticks += span->end_tick - span->begin_tick;
}

static struct taken take_steps(struct tbed_reader *reader, const struct tbed_filter *filter)
{
    struct tbed_assembler *assembler;
    struct tbed_step step;
    struct taken taken = {0};
    enum tbed_status status;
    REQUIRE(tbed_assembler_open_filtered(reader, NULL, 0, filter, &assembler) == TBED_OK);
    while ((status = tbed_assembler_next(assembler, &step)) == TBED_OK)
        if (step.span != NULL)
            add_span(&taken, &step);
    REQUIRE(status == TBED_END && tbed_assembler_next(assembler, &step) == TBED_END);
    tbed_assembler_close(assembler);
    return taken;
}

/* Cuts the span to the window. False: it does not count, as far as times and streams tell. */
static bool cut(const struct conditions *c, struct tbed_assembled *span, bool *is_cut)
{
    uint64_t end = c->end != 0 ? c->end : UINT64_MAX;
    *is_cut = c->end != 0 && span->end_tick > end;
    if (span->begin_tick >= span->end_tick) {
        span->begin_tick = span->end_tick;
        if (span->end_tick < c->begin || (c->end != 0 && span->end_tick >= end))
            return false;
    } else if (span->end_tick <= c->begin || (c->end != 0 && span->begin_tick >= end)) {
        return false;
    }
    span->begin_tick = span->begin_tick > c->begin ? span->begin_tick : c->begin;
    span->end_tick = *is_cut ? end : span->end_tick;
    if (span->begin_tick > span->end_tick)
        span->begin_tick = span->end_tick;
    return (c->stream == 0 || span->stream == c->stream) && span->end_tick - span->begin_tick >= c->minimum;
}

/* The same from the list of all spans, without conditions on labels. */
static struct taken take_listed(struct tbed_reader *reader, const struct conditions *c)
{
    struct tbed_assembler *assembler;
    struct tbed_step step;
    struct taken taken = {0};
    bool is_cut;
    REQUIRE(tbed_assembler_open(reader, NULL, 0, &assembler) == TBED_OK);
    while (tbed_assembler_next(assembler, &step) == TBED_OK) {
        if (step.kind != TBED_STEP_END && step.kind != TBED_STEP_OPEN)
            continue;
        struct tbed_assembled span = *step.span;
        if (!cut(c, &span, &is_cut))
            continue;
        step.span = &span;
        step.kind = is_cut ? TBED_STEP_END : step.kind;
        add_span(&taken, &step);
    }
    tbed_assembler_close(assembler);
    return taken;
}

/* ---- Comparing ---- */

static struct tbed_statistics *make(struct tbed_reader *reader, const struct tbed_filter *filter,
                                    unsigned threads)
{
    struct tbed_analysis_options options = {
        .size = sizeof options, .thread_count = threads, .filter = filter};
    struct tbed_statistics *statistics;
    REQUIRE(tbed_statistics_make(reader, &options, &statistics) == TBED_OK);
    return statistics;
}

static uint64_t ticks_of(const struct tbed_statistics *statistics)
{
    uint64_t ticks = 0;
    for (size_t i = 0; tbed_statistics_span(statistics, i) != NULL; i++)
        ticks += tbed_statistics_span(statistics, i)->total_ticks;
    return ticks;
}

static void check_stacks(struct tbed_reader *reader, const struct tbed_filter *filter, uint64_t span_count)
{
    struct tbed_stacks_options options = {.size = sizeof options, .thread_count = 1, .filter = filter};
    struct tbed_stacks_totals totals;
    struct tbed_stacks *stacks;
    REQUIRE(tbed_stacks_make(reader, &options, &stacks) == TBED_OK);
    tbed_stacks_totals(stacks, &totals);
    REQUIRE(totals.span_count == span_count);
    tbed_stacks_close(stacks);
}

static void check_allocations(struct tbed_reader *reader, const struct tbed_filter *filter,
                              const struct conditions *c)
{
    struct tbed_analysis_options options = {
        .size = sizeof options, .thread_count = 1, .filter = filter, .moment_count = 3};
    struct tbed_allocations *allocations = NULL;
    bool has_labels = c->name != NULL || c->exclude != NULL || c->category != NULL || c->minimum > 0;
    enum tbed_status status = tbed_allocations_make(reader, &options, &allocations);
    REQUIRE(status == (has_labels ? TBED_ERR_ARGUMENT : TBED_OK));
    tbed_allocations_close(allocations);
}

/* The slowest call takes as long as the maximum of all rows. */
static void check_calls(struct tbed_reader *reader, const struct tbed_filter *filter,
                        const struct tbed_statistics *statistics, uint64_t span_count)
{
    struct tbed_calls_options options = {.size = sizeof options, .thread_count = 2, .filter = filter};
    struct tbed_call calls[5];
    uint64_t total, max = 0;
    size_t found;
    for (size_t i = 0; tbed_statistics_span(statistics, i) != NULL; i++)
        if (tbed_statistics_span(statistics, i)->max_ticks > max)
            max = tbed_statistics_span(statistics, i)->max_ticks;
    REQUIRE(tbed_calls_find(reader, &options, calls, 5, &found, &total) == TBED_OK);
    REQUIRE(total == span_count && found == (total < 5 ? total : 5));
    REQUIRE(found == 0 || calls[0].ticks == max);
    for (size_t i = 1; i < found; i++)
        REQUIRE(calls[i].ticks <= calls[i - 1].ticks);
    for (options.order = TBED_CALLS_FASTEST; options.order <= TBED_CALLS_NEAREST; options.order++)
        REQUIRE(tbed_calls_find(reader, &options, calls, 5, NULL, &total) == TBED_OK && total == span_count);
}

/* All spans are in some range of durations, and their times add up to that of all rows. */
static void check_durations(struct tbed_reader *reader, const struct tbed_filter *filter,
                            const struct tbed_statistics *statistics, uint64_t span_count)
{
    static const uint64_t bounds[] = {0, 1, 10, 1000, UINT64_C(1) << 40};
    enum { COUNT = sizeof bounds / sizeof bounds[0] };
    uint64_t counts[COUNT], ticks[COUNT], all = 0, all_ticks = 0;
    for (unsigned threads = 1; threads <= 3; threads += 2, all = all_ticks = 0) {
        struct tbed_calls_options options = {
            .size = sizeof options, .thread_count = threads, .filter = filter};
        REQUIRE(tbed_calls_count(reader, &options, bounds, COUNT, counts, ticks) == TBED_OK);
        bool has_all = false; /* sums end at the highest number here, and begin again at 0 in statistics */
        for (size_t i = 0; i < COUNT; i++) {
            all += counts[i];
            has_all |= __builtin_add_overflow(all_ticks, ticks[i], &all_ticks) || ticks[i] == UINT64_MAX;
        }
        REQUIRE(all == span_count && (has_all || all_ticks == ticks_of(statistics)));
    }
}

/* Is everything known of all spans, so that no other part of the trace says more? */
static bool is_intact(struct tbed_reader *reader)
{
    struct tbed_trace_info info;
    bool is_good = tbed_reader_verify(reader) == TBED_OK;
    tbed_reader_info(reader, &info);
    return is_good && info.shut && info.tick_decrease_count == 0 && info.ring_page_count == 0 &&
           info.resolution_ticks <= 1; /* not shut: the last blocks may be missing, and nobody knows */
}

static void check(struct tbed_reader *reader, const struct tbed_filter *filter, const struct conditions *c)
{
    struct tbed_statistics *one = make(reader, filter, 1), *three = make(reader, filter, 3);
    struct tbed_statistics_totals totals, others;
    tbed_statistics_totals(one, &totals);
    tbed_statistics_totals(three, &others);
    REQUIRE(memcmp(&totals, &others, sizeof totals) == 0);
    REQUIRE(ticks_of(one) == ticks_of(three));
    check_stacks(reader, filter, totals.span_count);
    check_allocations(reader, filter, c);
    check_calls(reader, filter, one, totals.span_count);
    check_durations(reader, filter, one, totals.span_count);
    struct taken taken = take_steps(reader, filter);
    if (is_intact(reader)) {
        REQUIRE(taken.spans == totals.span_count && taken.open == totals.open_span_count);
        REQUIRE(taken.unknown == totals.unknown_begin_count && taken.ticks == ticks_of(one));
        REQUIRE(taken.begins <= taken.spans);
        struct taken listed = take_listed(reader, c);
        bool is_by_time = (c->kinds & (NAME | EXCLUDE | CATEGORY | INSIDE)) == 0;
        REQUIRE(!is_by_time ||
                (taken.spans == listed.spans && taken.open == listed.open && taken.ticks == listed.ticks));
    }
    tbed_statistics_close(one);
    tbed_statistics_close(three);
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t nbytes)
{
    struct tbed_reader *reader = open_input(data, nbytes);
    if (reader == NULL)
        return 0;
    struct tbed_statistics *all = make(reader, NULL, 1);
    struct conditions conditions = choose_conditions(reader, all, data, nbytes);
    struct tbed_filter *filter = filter_of_conditions(reader, &conditions);
    check(reader, filter, &conditions);
    tbed_filter_close(filter);
    tbed_statistics_close(all);
    tbed_reader_close(reader);
    return 0;
}
