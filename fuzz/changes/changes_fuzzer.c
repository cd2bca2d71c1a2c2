/*
 * Compares any trace with itself and with a part of itself: by paths, calls, positions, and as two sets of runs. Against
 * itself nothing may differ; against a part, each path of the part is in the whole.
 *
 * Two bytes after the last complete page choose the part and the options.
 *
 * Mutator: trace
 * Seeds: spec/golden/valid spec/golden/invalid
 *
 * SPDX-License-Identifier: MIT
 */
#include <string.h>
#include <tracebed/analysis.h>
#include <tracebed/compare.h>

#include "fuzz/support/choices.h"
#include "fuzz/support/differences.h"
#include "fuzz/support/fuzz.h"

/* ---- Paths ---- */

static struct tbed_stacks *make_stacks(struct tbed_reader *reader, uint32_t stream, unsigned choices)
{
    struct tbed_stacks_options options = {
        .size = sizeof options, .thread_count = 1, .per_thread = choices & 16};
    struct tbed_stacks *stacks = NULL;
    options.streams = stream != 0 ? &stream : NULL;
    options.stream_count = stream != 0;
    REQUIRE(tbed_stacks_make(reader, &options, &stacks) == TBED_OK);
    return stacks;
}

static size_t count_stacks(const struct tbed_stacks *stacks)
{
    size_t count = 0;
    while (tbed_stacks_row(stacks, count) != NULL)
        count++;
    return count;
}

static void compare_paths(struct tbed_reader *reader, const struct tbed_stacks *before,
                          const struct tbed_stacks *after, bool is_same)
{
    struct tbed_stack_differences *differences = NULL;
    const struct tbed_stack_difference *row;
    size_t befores = 0, afters = 0;
    REQUIRE(tbed_stack_differences_make(before, reader, after, reader, &differences) == TBED_OK);
    for (size_t i = 0; (row = tbed_stack_differences_row(differences, i)) != NULL; i++) {
        const struct tbed_stack_difference *parent =
            row->depth > 0 ? tbed_stack_differences_row(differences, row->parent) : NULL;
        REQUIRE(row->depth == 0 ? row->parent == SIZE_MAX
                                : row->parent < i && parent->depth + 1 == row->depth);
        REQUIRE(parent == NULL || ((!row->before.present || parent->before.present) &&
                                   (!row->after.present || parent->after.present)));
        REQUIRE(row->before.present || row->after.present);
        REQUIRE(!is_same || (row->before.present && row->after.present &&
                             row->before.self == row->after.self && row->before.count == row->after.count));
        REQUIRE(row->label[row->label_nbytes] == 0);
        befores += row->before.present;
        afters += row->after.present;
    }
    REQUIRE(befores == count_stacks(before) && afters == count_stacks(after));
    tbed_stack_differences_close(differences);
}

/* ---- Positions ---- */

static void check_positions(const struct tbed_positions *positions, bool is_same)
{
    struct tbed_position position;
    for (size_t i = 0; i < tbed_positions_thread_count(positions); i++) {
        size_t count = tbed_positions_count(positions, i);
        for (size_t k = 0; k < count; k++) {
            REQUIRE(tbed_positions_get(positions, i, k, &position));
            REQUIRE(position.from != TBED_POINT_NONE && position.to != TBED_POINT_NONE);
            REQUIRE(position.from_label != NULL && position.to_label != NULL && position.min <= position.max);
            REQUIRE(!is_same || (position.min == position.max && position.variance <= 0));
            REQUIRE(position.variance >= 0);
        }
        REQUIRE(!tbed_positions_get(positions, i, count, &position));
    }
    REQUIRE(!tbed_positions_get(positions, tbed_positions_thread_count(positions), 0, &position));
}

static void compare_positions(struct tbed_reader *reader, const struct tbed_filter *filter)
{
    struct tbed_stacks_options part = {.size = sizeof part, .filter = filter}, none = {.size = 0};
    struct tbed_positions *positions = NULL;
    REQUIRE(tbed_positions_open(&positions) == TBED_OK);
    REQUIRE(tbed_positions_add(positions, reader, &none) == TBED_ERR_ARGUMENT);
    REQUIRE(tbed_positions_add(positions, reader, NULL) == TBED_OK);
    REQUIRE(tbed_positions_add(positions, reader, NULL) == TBED_OK);
    REQUIRE(!tbed_positions_divergence(positions, 0)->differs);
    REQUIRE(!tbed_positions_divergence(positions, 1)->differs);
    check_positions(positions, true);
    REQUIRE(tbed_positions_add(positions, reader, &part) == TBED_OK);
    check_positions(positions, false);
    REQUIRE(tbed_positions_divergence(positions, 3) == NULL);
    tbed_positions_close(positions);
}

/* ---- Runs ---- */

static void add_run(struct tbed_comparison *comparison, struct tbed_reader *reader,
                    const struct tbed_filter *filter)
{
    struct tbed_analysis_options options = {
        .size = sizeof options, .thread_count = 1, .filter = filter, .keep_durations = true};
    struct tbed_statistics *statistics = NULL;
    REQUIRE(tbed_statistics_make(reader, &options, &statistics) == TBED_OK);
    REQUIRE(tbed_comparison_add(comparison, statistics, reader) == TBED_OK);
    tbed_statistics_close(statistics);
}

static void compare_runs(struct tbed_reader *reader, const struct tbed_filter *filter, unsigned choices)
{
    struct tbed_comparison *comparison = NULL;
    REQUIRE(tbed_comparison_open(&comparison) == TBED_OK);
    for (unsigned run = 0; run < 4; run++)
        add_run(comparison, reader, run < 2 ? NULL : filter);
    check_differences(comparison, 2, choices & 32 ? TBED_FIGURE_TIME : TBED_FIGURE_SELF, choices);
    check_call_differences(comparison, 0, 1, choices, true);
    check_call_differences(comparison, 0, 2, choices, false);
    tbed_comparison_close(comparison);
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t nbytes)
{
    struct tbed_reader *reader = open_input(data, nbytes);
    if (reader == NULL)
        return 0;
    uint32_t stream = choice_at(data, nbytes, 0);
    unsigned choices = choice_at(data, nbytes, 1);
    struct tbed_filter_options options = {.size = sizeof options,
                                          .streams = &stream,
                                          .stream_count = stream != 0,
                                          .minimum_ticks = choices >> 6};
    struct tbed_filter *filter = NULL;
    REQUIRE(tbed_filter_make(reader, &options, &filter, NULL) == TBED_OK);
    struct tbed_stacks *whole = make_stacks(reader, 0, choices), *part = make_stacks(reader, stream, choices);
    compare_paths(reader, whole, whole, true);
    compare_paths(reader, whole, part, false);
    tbed_stacks_close(whole);
    tbed_stacks_close(part);
    compare_positions(reader, filter);
    compare_runs(reader, filter, choices);
    tbed_filter_close(filter);
    tbed_reader_close(reader);
    return 0;
}
