/*
 * Analyses a trace while memory runs out. Each analysis must either return an error or compute the same as with enough
 * memory. With one thread, names come from the target; with three, from the library, which also names code locations.
 *
 * The plan follows the last complete page of the trace; see fuzz/support/failing.h.
 *
 * Mutator: trace
 * Seeds: spec/golden/valid
 *
 * SPDX-License-Identifier: MIT
 */
#include <string.h>
#include <tracebed/activity.h>
#include <tracebed/compare.h>
#include <tracebed/flows.h>

#include "fuzz/support/failing.h"
#include "fuzz/support/fuzz.h"

typedef uint64_t analyse(struct tbed_reader *reader, unsigned thread_count);

static bool has_own_names;

static uint64_t mix_text(uint64_t seen, const char *text)
{
    for (; *text != '\0'; text++)
        seen = failing_mix(seen, (uint8_t)*text);
    return seen;
}

/* ---- Analyses ---- */

static uint64_t mix_span(uint64_t seen, const struct tbed_span_row *row)
{
    seen = failing_mix(mix_text(seen, row->name), row->count);
    seen = failing_mix(failing_mix(seen, row->self_ticks), row->p90_ticks);
    return failing_mix(failing_mix(seen, row->open_count), row->cache_hits);
}

static uint64_t mix_statistics(const struct tbed_statistics *statistics)
{
    struct tbed_statistics_totals totals;
    uint64_t seen = 0;
    tbed_statistics_totals(statistics, &totals);
    seen = failing_mix(failing_mix(seen, totals.span_count), totals.bad_block_count);
    for (size_t i = 0; tbed_statistics_span(statistics, i) != NULL; i++)
        seen = mix_span(seen, tbed_statistics_span(statistics, i));
    for (size_t i = 0; tbed_statistics_async(statistics, i) != NULL; i++)
        seen = mix_span(seen, tbed_statistics_async(statistics, i));
    for (size_t i = 0; tbed_statistics_counter(statistics, i) != NULL; i++)
        seen = failing_mix(seen, tbed_statistics_counter(statistics, i)->count);
    for (size_t i = 0; tbed_statistics_message(statistics, i) != NULL; i++)
        seen = mix_text(seen, tbed_statistics_message(statistics, i)->name);
    for (size_t i = 0; tbed_statistics_artifact(statistics, i) != NULL; i++)
        seen = failing_mix(seen, tbed_statistics_artifact(statistics, i)->value);
    return seen;
}

static size_t own_name(void *context, uint32_t id, char *buffer, size_t buffer_nbytes)
{
    (void)context;
    return (size_t)snprintf(buffer, buffer_nbytes, "place %u", id);
}

static size_t group(void *context, char *name, size_t nbytes, size_t room)
{
    (void)context;
    return nbytes > 0 ? nbytes - 1 : (size_t)snprintf(name, room, "empty");
}

static uint64_t use_statistics(struct tbed_reader *reader, unsigned thread_count)
{
    struct tbed_analysis_options options = {.size = sizeof options,
                                            .thread_count = thread_count,
                                            .name = has_own_names ? own_name : NULL,
                                            .group = has_own_names ? NULL : group};
    struct tbed_statistics *statistics;
    enum tbed_status status = tbed_statistics_make(reader, &options, &statistics);
    REQUIRE(status == TBED_OK || status == TBED_ERR_MEMORY);
    if (status != TBED_OK)
        return FAILING_NO_MEMORY;
    uint64_t seen = mix_statistics(statistics);
    tbed_statistics_close(statistics);
    return seen;
}

static uint64_t use_stacks(struct tbed_reader *reader, unsigned thread_count)
{
    struct tbed_stacks_options options = {.size = sizeof options,
                                          .thread_count = thread_count,
                                          .per_thread = thread_count > 1,
                                          .root = thread_count > 1 ? "root" : NULL,
                                          .name = has_own_names ? own_name : NULL,
                                          .path_count_max = thread_count > 1};
    struct tbed_stacks_totals totals;
    const struct tbed_stack_row *row;
    struct tbed_stacks *stacks;
    uint64_t seen = 0;
    enum tbed_status status = tbed_stacks_make(reader, &options, &stacks);
    REQUIRE(status == TBED_OK || status == TBED_ERR_MEMORY);
    if (status != TBED_OK)
        return FAILING_NO_MEMORY;
    tbed_stacks_totals(stacks, &totals);
    seen = failing_mix(failing_mix(totals.span_count, totals.unknown_count), totals.overlap_count);
    for (size_t i = 0; (row = tbed_stacks_row(stacks, i)) != NULL; i++)
        seen = failing_mix(failing_mix(mix_text(seen, row->label), row->count), row->self_ticks);
    tbed_stacks_close(stacks);
    return seen;
}

static uint64_t use_allocations(struct tbed_reader *reader, unsigned thread_count)
{
    struct tbed_analysis_options options = {.size = sizeof options,
                                            .thread_count = thread_count,
                                            .moment_count = thread_count - 1,
                                            .name = has_own_names ? own_name : NULL};
    struct tbed_allocation_sums sums;
    struct tbed_allocations *allocations;
    uint64_t seen = 0;
    enum tbed_status status = tbed_allocations_make(reader, &options, &allocations);
    REQUIRE(status == TBED_OK || status == TBED_ERR_MEMORY);
    if (status != TBED_OK)
        return FAILING_NO_MEMORY;
    tbed_allocations_totals(allocations, &sums);
    seen = failing_mix(failing_mix(sums.count, sums.freed_count), sums.peak_nbytes);
    for (size_t i = 0; tbed_allocations_process(allocations, i) != NULL; i++)
        seen = failing_mix(seen, tbed_allocations_process(allocations, i)->inherited_free_count);
    for (size_t i = 0; tbed_allocations_site(allocations, i) != NULL; i++)
        seen = mix_text(seen, tbed_allocations_site(allocations, i)->name);
    tbed_allocations_close(allocations);
    return seen;
}

static uint64_t use_assembler(struct tbed_reader *reader, unsigned thread_count)
{
    struct tbed_assembler *assembler;
    struct tbed_step step;
    uint64_t seen = 0;
    enum tbed_status status;
    if (thread_count > 1)
        return 0;
    if (tbed_assembler_open(reader, NULL, 0, &assembler) != TBED_OK)
        return FAILING_NO_MEMORY;
    while ((status = tbed_assembler_next(assembler, &step)) == TBED_OK)
        seen = failing_mix(failing_mix(seen, (uint64_t)step.kind),
                           step.span != NULL ? step.span->begin_tick : step.event->tick);
    REQUIRE(status == TBED_END || status == TBED_ERR_MEMORY);
    tbed_assembler_close(assembler);
    return status == TBED_END ? seen : FAILING_NO_MEMORY;
}

static uint64_t use_activity(struct tbed_reader *reader, unsigned thread_count)
{
    struct tbed_activity_options options = {.size = sizeof options, .thread_count = thread_count};
    const struct tbed_activity_row *row;
    struct tbed_activity *activity;
    uint64_t seen = 0;
    enum tbed_status status = tbed_activity_make(reader, &options, &activity);
    REQUIRE(status == TBED_OK || status == TBED_ERR_MEMORY);
    if (status != TBED_OK)
        return FAILING_NO_MEMORY;
    for (size_t i = 0; (row = tbed_activity_get(activity, i)) != NULL; i++)
        seen = failing_mix(failing_mix(failing_mix(seen, row->busy_ticks), row->p90_gap_ticks),
                           row->longest_gap_tick);
    tbed_activity_close(activity);
    return seen;
}

static uint64_t use_flows(struct tbed_reader *reader, unsigned thread_count)
{
    struct tbed_flows_options options = {.size = sizeof options,
                                         .thread_count = thread_count,
                                         .slowest_count = 3,
                                         .name = has_own_names ? own_name : NULL};
    const struct tbed_flow_row *row;
    const struct tbed_flow *flow;
    struct tbed_flows *flows;
    uint64_t seen = 0;
    enum tbed_status status = tbed_flows_make(reader, &options, &flows);
    REQUIRE(status == TBED_OK || status == TBED_ERR_MEMORY);
    if (status != TBED_OK)
        return FAILING_NO_MEMORY;
    for (size_t i = 0; (row = tbed_flows_row(flows, i)) != NULL; i++)
        seen = failing_mix(failing_mix(mix_text(seen, row->name), row->running_ticks), row->part_count);
    for (size_t i = 0; (flow = tbed_flows_slowest(flows, i)) != NULL; i++)
        seen = failing_mix(failing_mix(seen, flow->ticks), flow->stretch_count);
    tbed_flows_close(flows);
    return seen;
}

/* ---- Comparisons of one run with itself ---- */

enum { RUNS = 9 };

static uint64_t mix_comparison(const struct tbed_comparison *comparison)
{
    struct tbed_comparison_row row;
    uint64_t seen = tbed_comparison_run_count(comparison);
    for (size_t i = 0; tbed_comparison_row(comparison, i, &row); i++) {
        seen = failing_mix(mix_text(seen, row.label), row.run_count);
        seen = failing_mix(seen, tbed_comparison_figures(comparison, i, RUNS - 1).of[TBED_FIGURE_SELF]);
    }
    for (size_t i = 0; tbed_comparison_artifact(comparison, i, &row); i++)
        seen = failing_mix(mix_text(seen, row.label), tbed_comparison_size(comparison, i, 0));
    return seen;
}

/* What differs between the first two runs and the others, and between the calls of two. */
static uint64_t mix_differences(const struct tbed_comparison *comparison, uint64_t seen)
{
    struct tbed_difference_options options = {.size = sizeof options, .before_count = 2};
    struct tbed_call_difference_options call_options = {.size = sizeof call_options, .after_run = 1};
    struct tbed_differences *differences;
    struct tbed_call_differences *calls;
    if (tbed_differences_make(comparison, &options, &differences) != TBED_OK)
        return FAILING_NO_MEMORY;
    seen = failing_mix(seen, tbed_differences_tested_count(differences));
    tbed_differences_close(differences);
    if (tbed_call_differences_make(comparison, &call_options, &calls) != TBED_OK)
        return FAILING_NO_MEMORY;
    seen = failing_mix(seen, tbed_call_differences_tested_count(calls));
    tbed_call_differences_close(calls);
    return seen;
}

/* A run that could not be added must leave the comparison unchanged. */
static uint64_t use_comparison(struct tbed_reader *reader, unsigned thread_count)
{
    struct tbed_analysis_options options = {
        .size = sizeof options, .thread_count = 1, .name = own_name, .keep_durations = true};
    struct tbed_statistics *statistics;
    struct tbed_comparison *comparison;
    if (thread_count > 1 || tbed_statistics_make(reader, &options, &statistics) != TBED_OK)
        return FAILING_NO_MEMORY;
    uint64_t seen = FAILING_NO_MEMORY;
    if (tbed_comparison_open(&comparison) == TBED_OK) {
        enum tbed_status status = TBED_OK;
        size_t run = 0;
        while (run < RUNS && (status = tbed_comparison_add(comparison, statistics, reader)) == TBED_OK)
            run++;
        REQUIRE(tbed_comparison_run_count(comparison) == run);
        seen = mix_comparison(comparison);
        seen = run == RUNS ? mix_differences(comparison, seen) : FAILING_NO_MEMORY;
        tbed_comparison_close(comparison);
    }
    tbed_statistics_close(statistics);
    return seen;
}

/* ---- Several files as one ---- */

static enum tbed_status add_part(struct tbed_statistics *sum, struct tbed_reader *reader)
{
    struct tbed_analysis_options options = {
        .size = sizeof options, .thread_count = 1, .keep_durations = true};
    struct tbed_statistics *part;
    enum tbed_status status = tbed_statistics_make(reader, &options, &part);
    if (status != TBED_OK)
        return status;
    status = tbed_statistics_sum_add(sum, part, reader);
    tbed_statistics_close(part);
    return status;
}

/* The same trace twice. */
static uint64_t use_sum(struct tbed_reader *reader, unsigned thread_count)
{
    struct tbed_statistics *sum;
    if (thread_count > 1 || tbed_statistics_sum_open(&sum) != TBED_OK)
        return FAILING_NO_MEMORY;
    enum tbed_status status = TBED_OK;
    for (int i = 0; i < 2 && status == TBED_OK; i++)
        status = add_part(sum, reader);
    if (status == TBED_OK)
        status = tbed_statistics_sum_end(sum);
    REQUIRE(status == TBED_OK || status == TBED_ERR_MEMORY);
    uint64_t seen = status == TBED_OK ? mix_statistics(sum) : FAILING_NO_MEMORY;
    tbed_statistics_close(sum);
    return seen;
}

/* ---- Two traces ---- */

/* The paths of a trace, compared with those of its first stream. */
static uint64_t use_paths(struct tbed_reader *reader, unsigned thread_count)
{
    const uint32_t stream = 1;
    struct tbed_stacks_options options = {
        .size = sizeof options, .thread_count = thread_count, .name = own_name};
    struct tbed_stacks *whole = NULL, *part = NULL;
    struct tbed_stack_differences *differences = NULL;
    uint64_t seen = FAILING_NO_MEMORY;
    enum tbed_status status = tbed_stacks_make(reader, &options, &whole);
    options.streams = &stream;
    options.stream_count = 1;
    if (status == TBED_OK)
        status = tbed_stacks_make(reader, &options, &part);
    if (status == TBED_OK)
        status = tbed_stack_differences_make(whole, reader, part, reader, &differences);
    for (size_t i = 0; status == TBED_OK; i++) {
        const struct tbed_stack_difference *row = tbed_stack_differences_row(differences, i);
        if (row == NULL)
            break;
        seen = failing_mix(mix_text(seen, row->label), row->before.self - row->after.self);
    }
    tbed_stack_differences_close(differences);
    tbed_stacks_close(whole);
    tbed_stacks_close(part);
    return seen;
}

static uint64_t use_positions(struct tbed_reader *reader, unsigned thread_count)
{
    struct tbed_stacks_options options = {.size = sizeof options, .name = own_name};
    struct tbed_positions *positions = NULL;
    struct tbed_position position;
    uint64_t seen = FAILING_NO_MEMORY;
    enum tbed_status status = tbed_positions_open(&positions);
    for (unsigned run = 0; run < thread_count && status == TBED_OK; run++)
        status = tbed_positions_add(positions, reader, &options);
    for (size_t i = 0; status == TBED_OK && i < tbed_positions_thread_count(positions); i++)
        for (size_t k = 0; tbed_positions_get(positions, i, k, &position); k++)
            seen = failing_mix(mix_text(seen, position.to_label), position.max);
    tbed_positions_close(positions);
    return seen;
}

/* ---- The plan ---- */

struct use {
    const uint8_t *data;
    size_t nbytes;
    analyse *analyse;
    unsigned thread_count;
    uint64_t expected;
};

/* If a cursor has no memory to copy a block of a flight recorder, it skips the block as if it had been overwritten. */
static bool may_skip(struct tbed_reader *reader)
{
    struct tbed_trace_info info;
    tbed_reader_info(reader, &info);
    return info.ring_page_count != 0;
}

static void analyse_once(void *context)
{
    const struct use *use = context;
    struct tbed_reader *reader = open_input(use->data, use->nbytes);
    REQUIRE(reader != NULL);
    failing_start();
    uint64_t seen = use->analyse(reader, use->thread_count);
    failing_stop();
    REQUIRE(seen == use->expected ||
            (failing_count() > 0 && (seen == FAILING_NO_MEMORY || may_skip(reader))));
    REQUIRE(use->analyse(reader, use->thread_count) == use->expected);
    tbed_reader_close(reader);
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t nbytes)
{
    static analyse *const analyses[] = {use_statistics, use_stacks,   use_allocations, use_assembler,
                                        use_activity,   use_flows,    use_comparison,  use_sum,
                                        use_paths,      use_positions};
    struct failing_plan plan = failing_plan_cut(data, &nbytes);
    struct tbed_reader *reader = open_input(data, nbytes);
    if (reader == NULL)
        return 0;
    tbed_reader_close(reader);
    for (size_t i = 0; i < 2 * sizeof analyses / sizeof analyses[0]; i++) {
        struct use use = {
            .data = data, .nbytes = nbytes, .analyse = analyses[i / 2], .thread_count = i % 2 == 0 ? 1 : 3};
        has_own_names = use.thread_count == 1;
        reader = open_input(data, nbytes);
        use.expected = use.analyse(reader, use.thread_count);
        tbed_reader_close(reader);
        failing_run(&plan, analyse_once, &use);
    }
    return 0;
}
