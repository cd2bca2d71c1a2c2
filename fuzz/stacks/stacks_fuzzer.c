/*
 * Computes time by stack for any trace. The parts of a stack must add up to its total, one thread must compute the same
 * as three, and the stacks of a label must add up to the label's time in the statistics. If only some paths are kept, counts
 * and times still add up to the same.
 *
 * A byte of options, the number of a stream, and how many paths are kept follow the last complete page.
 *
 * Mutator: trace
 * Seeds: spec/golden/valid spec/golden/invalid
 *
 * SPDX-License-Identifier: MIT
 */
#include <string.h>
#include <tracebed/analysis.h>

#include "fuzz/support/choices.h"
#include "fuzz/support/fuzz.h"

#define LABEL_NBYTES_MAX 65535u
#define NAME_NBYTES_MAX  4096u /* names of code locations are cut off */

enum { PER_THREAD = 1, ONE_STREAM = 2, OWN_ROOT = 4, OWN_NAMES = 8, PREPARED = 16 };

static struct tbed_stacks_options options;
static uint32_t stream;

/* ---- Options ---- */

static size_t own_name(void *context, uint32_t id, char *buffer, size_t buffer_nbytes)
{
    REQUIRE(context == &options);
    return (size_t)snprintf(buffer, buffer_nbytes, "place %u", id % 4);
}

static void prepare(void *context, const uint32_t *ids, size_t count)
{
    REQUIRE(context == &options && ids != NULL && count > 0);
}

static void choose(unsigned choices, unsigned number)
{
    stream = number;
    options = (struct tbed_stacks_options){.size = sizeof options, .per_thread = choices & PER_THREAD};
    if (choices & ONE_STREAM) {
        options.streams = &stream;
        options.stream_count = 1;
    }
    if (choices & OWN_ROOT)
        options.root = "own root";
    if (choices & OWN_NAMES)
        options.name = own_name;
    if (choices & PREPARED)
        options.prepare = prepare;
    options.name_context = &options;
}

/* ---- Rows ---- */

static void check_row(const struct tbed_stacks *stacks, size_t index, const struct tbed_stack_row *row)
{
    const struct tbed_stack_row *parent = row->parent < index ? tbed_stacks_row(stacks, row->parent) : NULL;
    if (row->depth == 0)
        REQUIRE(row->parent == SIZE_MAX);
    else
        REQUIRE(parent != NULL && parent->depth + 1 == row->depth && row->total_ticks <= parent->total_ticks);
    REQUIRE(row->self_ticks <= row->total_ticks && row->open_count <= row->count);
    REQUIRE(row->label_nbytes <= LABEL_NBYTES_MAX && row->label[row->label_nbytes] == 0);
}

/* Returns true if no sum overflows. */
static bool check_rows(const struct tbed_stacks *stacks)
{
    const struct tbed_stack_row *row;
    uint64_t self = 0, roots = 0, spans = 0;
    bool too_large = false;
    for (size_t i = 0; (row = tbed_stacks_row(stacks, i)) != NULL; i++) {
        check_row(stacks, i, row);
        too_large |= __builtin_add_overflow(self, row->self_ticks, &self);
        too_large |= row->depth == 0 && __builtin_add_overflow(roots, row->total_ticks, &roots);
        too_large |= __builtin_add_overflow(spans, row->span_ticks, &spans);
        too_large |= row->total_ticks == UINT64_MAX || row->span_ticks > INT64_MAX;
    }
    REQUIRE(too_large || self == roots);
    return !too_large;
}

static void compare_threads(const struct tbed_stacks *one, const struct tbed_stacks *three)
{
    struct tbed_stacks_totals totals, others;
    const struct tbed_stack_row *row, *other;
    tbed_stacks_totals(one, &totals);
    tbed_stacks_totals(three, &others);
    REQUIRE(memcmp(&totals, &others, sizeof totals) == 0);
    for (size_t i = 0; (row = tbed_stacks_row(one, i)) != NULL; i++) {
        other = tbed_stacks_row(three, i);
        REQUIRE(other != NULL && strcmp(row->label, other->label) == 0 && row->parent == other->parent);
        REQUIRE(row->count == other->count && row->self_ticks == other->self_ticks && row->id == other->id);
    }
}

/* ---- Labels, in stacks and in statistics ---- */

struct label {
    uint64_t count, ticks, signed_self;
};

/* Returns the index of the label's row in the statistics, which are sorted, or SIZE_MAX if there is none. */
static size_t find_span(const struct tbed_statistics *statistics, size_t count, const char *label)
{
    size_t low = 0, high = count;
    while (low < high) {
        size_t middle = low + (high - low) / 2;
        int order = strcmp(tbed_statistics_span(statistics, middle)->name, label);
        if (order == 0)
            return middle;
        if (order < 0)
            low = middle + 1;
        else
            high = middle;
    }
    return SIZE_MAX;
}

static void compare_labels(const struct tbed_statistics *statistics, const struct tbed_stacks *stacks)
{
    const struct tbed_stack_row *row;
    size_t count = 0;
    while (tbed_statistics_span(statistics, count) != NULL)
        count++;
    struct label *labels = calloc(count + 1, sizeof *labels);
    REQUIRE(labels != NULL);
    for (size_t i = 0; (row = tbed_stacks_row(stacks, i)) != NULL; i++) {
        if (row->depth <= options.per_thread)
            continue;
        size_t index = find_span(statistics, count, row->label);
        REQUIRE(index != SIZE_MAX || row->label_nbytes == NAME_NBYTES_MAX - 1);
        struct label *label = &labels[index != SIZE_MAX ? index : count];
        label->count += row->count;
        label->ticks += row->span_ticks;
        label->signed_self += (uint64_t)row->signed_self_ticks;
    }
    for (size_t i = 0; i < count && labels[count].count == 0; i++) {
        const struct tbed_span_row *span = tbed_statistics_span(statistics, i);
        REQUIRE(labels[i].count == span->count && labels[i].ticks == span->total_ticks);
        REQUIRE(span->self_ticks == (labels[i].signed_self > INT64_MAX ? 0 : labels[i].signed_self));
    }
    free(labels);
}

static void compare_statistics(struct tbed_reader *reader, const struct tbed_stacks *stacks)
{
    struct tbed_analysis_options other = {.size = sizeof other,
                                          .thread_count = 1,
                                          .name = options.name,
                                          .name_context = &options,
                                          .skip_percentiles = true};
    struct tbed_stacks_totals totals;
    struct tbed_statistics_totals statistics_totals;
    struct tbed_statistics *statistics;
    tbed_stacks_totals(stacks, &totals);
    REQUIRE(tbed_statistics_make(reader, &other, &statistics) == TBED_OK);
    tbed_statistics_totals(statistics, &statistics_totals);
    REQUIRE(totals.span_count == statistics_totals.span_count);
    REQUIRE(totals.unknown_count == statistics_totals.unknown_begin_count);
    REQUIRE(totals.inverted_count == statistics_totals.inverted_count);
    REQUIRE(totals.open_count == statistics_totals.open_span_count);
    if (totals.deep_count == 0)
        compare_labels(statistics, stacks);
    tbed_statistics_close(statistics);
}

/* ---- Some of the paths ---- */

static struct tbed_stacks *make(struct tbed_reader *reader, unsigned thread_count)
{
    struct tbed_stacks *stacks;
    options.thread_count = thread_count;
    REQUIRE(tbed_stacks_make(reader, &options, &stacks) == TBED_OK);
    return stacks;
}

struct sums {
    uint64_t count, open, self, roots;
};

static struct sums sum_up(const struct tbed_stacks *stacks)
{
    const struct tbed_stack_row *row;
    struct sums sums = {0};
    for (size_t i = 0; (row = tbed_stacks_row(stacks, i)) != NULL; i++) {
        sums.count += row->count;
        sums.open += row->open_count;
        sums.self += row->self_ticks;
        sums.roots += row->depth == 0 ? row->total_ticks : 0;
    }
    return sums;
}

/* What has been pruned is in rows "<other>", so that nothing is missing. */
static void compare_pruned(struct tbed_reader *reader, const struct tbed_stacks *whole, bool fits)
{
    struct tbed_stacks_totals totals, others;
    struct tbed_stacks *pruned = make(reader, 1), *same = make(reader, 3);
    struct sums sums = sum_up(pruned), expected = sum_up(whole);
    tbed_stacks_totals(whole, &totals);
    tbed_stacks_totals(pruned, &others);
    REQUIRE(others.folded_count <= others.span_count && totals.folded_count == 0);
    REQUIRE(others.span_count == totals.span_count && others.open_count == totals.open_count);
    REQUIRE(others.stream_count == totals.stream_count && others.unknown_count == totals.unknown_count);
    REQUIRE(sums.count == expected.count && sums.open == expected.open);
    bool is_nested = totals.overlap_count == 0 && totals.negative_count == 0;
    REQUIRE(!fits || !is_nested || (sums.roots == expected.roots && sums.self == expected.self));
    compare_threads(pruned, same);
    tbed_stacks_close(pruned);
    tbed_stacks_close(same);
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t nbytes)
{
    struct tbed_reader *reader = open_input(data, nbytes);
    if (reader == NULL)
        return 0;
    choose(choice_at(data, nbytes, 0), choice_at(data, nbytes, 1));
    struct tbed_stacks *one = make(reader, 1), *three = make(reader, 3);
    bool fits = check_rows(one);
    compare_threads(one, three);
    struct tbed_stacks_options none = {.size = 0};
    struct tbed_stacks *refused = NULL;
    REQUIRE(tbed_stacks_make(reader, &none, &refused) == TBED_ERR_ARGUMENT && refused == NULL);
    tbed_stacks_close(NULL);
    if (fits && options.streams == NULL)
        compare_statistics(reader, one);
    options.path_count_max = choice_at(data, nbytes, 2) + 1;
    compare_pruned(reader, one, fits);
    tbed_stacks_close(three);
    tbed_stacks_close(one);
    tbed_reader_close(reader);
    return 0;
}
