/*
 * A trace compared with itself: by call, by stack and by position, nothing differs. Compared with a part of it, the stacks
 * of either side add up to what each side has.
 *
 * A byte behind the last whole page of the trace says where the part begins, in 255ths of the time.
 *
 * Mutator: trace
 * Seeds: spec/golden/valid fuzz/statistics/corpus
 *
 * SPDX-License-Identifier: MIT
 */
#include <math.h>
#include <tracebed/compare.h>

#include "fuzz/support/choices.h"
#include "fuzz/support/fuzz.h"

static struct tbed_stacks *stacks_of(struct tbed_reader *reader, const struct tbed_filter *filter)
{
    struct tbed_stacks_options options = {.size = sizeof options, .thread_count = 1, .filter = filter};
    struct tbed_stacks *stacks;
    REQUIRE(tbed_stacks_make(reader, &options, &stacks) == TBED_OK);
    return stacks;
}

static void compare_calls(struct tbed_reader *reader)
{
    struct tbed_analysis_options options = {
        .size = sizeof options, .thread_count = 1, .keep_durations = true};
    struct tbed_call_difference_options asked = {.size = sizeof asked, .before_run = 0, .after_run = 1};
    const struct tbed_call_difference *row;
    struct tbed_statistics *statistics;
    struct tbed_comparison *comparison;
    struct tbed_call_differences *differences;
    REQUIRE(tbed_statistics_make(reader, &options, &statistics) == TBED_OK);
    REQUIRE(tbed_comparison_open(&comparison) == TBED_OK);
    for (int run = 0; run < 2; run++)
        REQUIRE(tbed_comparison_add(comparison, statistics, reader) == TBED_OK);
    REQUIRE(tbed_call_differences_make(comparison, &asked, &differences) == TBED_OK);
    size_t tested = 0;
    for (size_t i = 0; (row = tbed_call_differences_row(differences, i)) != NULL; i++) {
        REQUIRE(!row->is_marked && row->before.count == row->after.count && row->p >= 0 &&
                row->p_corrected <= 1);
        REQUIRE(!row->is_tested || (fabs(row->effect) < 0.1 && fabs(row->change) < 0.02));
        tested += row->is_tested;
    }
    REQUIRE(tested == tbed_call_differences_tested_count(differences));
    tbed_call_differences_close(differences);
    tbed_comparison_close(comparison);
    tbed_statistics_close(statistics);
}

static void compare_stacks(struct tbed_reader *reader, const struct tbed_stacks *before,
                           const struct tbed_stacks *after, bool are_equal)
{
    const struct tbed_stack_difference *row;
    const struct tbed_stack_row *stack;
    struct tbed_stack_differences *differences;
    uint64_t counts[2] = {0, 0};
    REQUIRE(tbed_stack_differences_make(before, reader, after, reader, &differences) == TBED_OK);
    for (size_t i = 0; (row = tbed_stack_differences_row(differences, i)) != NULL; i++) {
        REQUIRE(row->label[row->label_nbytes] == 0 && (row->before.present || row->after.present));
        REQUIRE((row->depth == 0) == (row->parent == SIZE_MAX) && (row->depth == 0 || row->parent < i));
        REQUIRE(!are_equal ||
                (row->before.count == row->after.count && row->before.total == row->after.total));
        counts[0] += row->before.count;
        counts[1] += row->after.count;
    }
    for (size_t i = 0; (stack = tbed_stacks_row(before, i)) != NULL; i++)
        counts[0] -= stack->count;
    for (size_t i = 0; (stack = tbed_stacks_row(after, i)) != NULL; i++)
        counts[1] -= stack->count;
    REQUIRE(counts[0] == 0 && counts[1] == 0);
    tbed_stack_differences_close(differences);
}

static void compare_positions(struct tbed_reader *reader)
{
    struct tbed_stacks_options options = {.size = sizeof options, .thread_count = 1};
    struct tbed_positions *positions;
    struct tbed_position position;
    REQUIRE(tbed_positions_open(&positions) == TBED_OK);
    for (int run = 0; run < 2; run++)
        REQUIRE(tbed_positions_add(positions, reader, &options) == TBED_OK);
    REQUIRE(!tbed_positions_divergence(positions, 1)->differs &&
            tbed_positions_divergence(positions, 2) == NULL);
    for (size_t thread = 0; thread < tbed_positions_thread_count(positions); thread++) {
        size_t count = tbed_positions_count(positions, thread);
        for (size_t i = 0; i < count; i++) {
            REQUIRE(tbed_positions_get(positions, thread, i, &position));
            REQUIRE(position.min == position.max && position.variance == 0 &&
                    position.from != TBED_POINT_NONE);
        }
        REQUIRE(!tbed_positions_get(positions, thread, count, &position));
    }
    tbed_positions_close(positions);
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t nbytes)
{
    char problem[TBED_FILTER_PROBLEM_NBYTES];
    struct tbed_filter_options options = {.size = sizeof options};
    struct tbed_trace_info info;
    struct tbed_filter *filter;
    struct tbed_reader *reader = open_input(data, nbytes);
    if (reader == NULL)
        return 0;
    tbed_reader_info(reader, &info);
    options.begin_tick =
        info.first_tick + (info.last_tick - info.first_tick) / 255 * choice_at(data, nbytes, 0);
    REQUIRE(tbed_filter_make(reader, &options, &filter, problem) == TBED_OK);
    struct tbed_stacks *whole = stacks_of(reader, NULL), *part = stacks_of(reader, filter);
    compare_stacks(reader, whole, whole, true);
    compare_stacks(reader, whole, part, false);
    compare_stacks(reader, part, whole, false);
    compare_calls(reader);
    compare_positions(reader);
    tbed_stacks_close(whole);
    tbed_stacks_close(part);
    tbed_filter_close(filter);
    tbed_reader_close(reader);
    return 0;
}
