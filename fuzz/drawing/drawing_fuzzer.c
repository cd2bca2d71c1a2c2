/*
 * What to draw of a window of any trace, of all spans or of some: every span is in a part, parts are within the window
 * and in their order, there are not too many, and one thread computes the same as three. A sketch of an intact trace that
 * does not contradict itself claims nothing that the exact window does not have.
 *
 * fuzz/support/conditions.h says what the bytes behind the last whole page mean; the number of columns and that of parts
 * depend on the size of the input.
 *
 * Mutator: trace
 * Seeds: spec/golden/valid fuzz/filter/corpus
 *
 * SPDX-License-Identifier: MIT
 */
#include <string.h>
#include <tracebed/window.h>

#include "fuzz/support/conditions.h"
#include "fuzz/support/fuzz.h"
#include "fuzz/support/orderly.h"

/* What the parts add up to. */
struct sums {
    uint64_t count, ticks, open_count, longest_ticks;
};

/* As far as there are numbers. */
static uint64_t plus(uint64_t one, uint64_t other)
{
    uint64_t sum;
    return __builtin_add_overflow(one, other, &sum) ? UINT64_MAX : sum;
}

static struct sums sum_spans(struct tbed_reader *reader, const struct tbed_filter *filter,
                             uint64_t resolution)
{
    struct tbed_assembler *assembler;
    struct tbed_step step;
    struct sums sums = {0};
    REQUIRE(tbed_assembler_open_filtered(reader, NULL, 0, filter, &assembler) == TBED_OK);
    while (tbed_assembler_next(assembler, &step) == TBED_OK) {
        if (step.kind != TBED_STEP_END && step.kind != TBED_STEP_OPEN)
            continue;
        uint64_t begin = step.span->begin_tick, end = step.span->end_tick;
        begin = begin < end ? begin : end;
        uint64_t ticks = end - end % resolution - (begin - begin % resolution);
        sums.count++;
        sums.ticks = plus(sums.ticks, ticks);
        sums.open_count += step.kind == TBED_STEP_OPEN;
        sums.longest_ticks = ticks > sums.longest_ticks ? ticks : sums.longest_ticks;
    }
    tbed_assembler_close(assembler);
    return sums;
}

static void check_part(const struct tbed_window_part *part, const struct tbed_window_part *before,
                       const struct tbed_window_info *info)
{
    REQUIRE(part->begin_tick <= part->end_tick && part->open_count <= part->count + part->sample_count);
    REQUIRE(part->count > 0 || part->sample_count > 0);
    REQUIRE(part->sample_count == 0 || !info->is_exact);
    REQUIRE(part->longest_ticks <= part->ticks);
    REQUIRE(part->count != 1 || part->longest_ticks == part->ticks);
    if (before == NULL || before->stream != part->stream)
        return;
    REQUIRE(before->depth < part->depth ||
            (before->depth == part->depth && before->begin_tick <= part->begin_tick));
    bool is_long = part->count == 1 && part->end_tick - part->begin_tick >= info->column_ticks;
    REQUIRE(part->count == 1 || !is_long);
}

static struct sums sum_parts(const struct tbed_window *window, const struct tbed_window_info *info,
                             size_t *count_ret)
{
    const struct tbed_window_part *part, *before = NULL;
    struct sums sums = {0};
    for (*count_ret = 0; (part = tbed_window_part(window, *count_ret)) != NULL; ++*count_ret, before = part) {
        check_part(part, before, info);
        sums.count += part->count;
        sums.ticks = plus(sums.ticks, part->ticks);
        sums.open_count += part->open_count;
        sums.longest_ticks =
            part->longest_ticks > sums.longest_ticks ? part->longest_ticks : sums.longest_ticks;
    }
    return sums;
}

static struct tbed_window *make(struct tbed_reader *reader, struct tbed_window_options options,
                                unsigned threads)
{
    struct tbed_window *window;
    options.size = sizeof options;
    options.thread_count = threads;
    REQUIRE(tbed_window_make(reader, &options, &window) == TBED_OK);
    return window;
}

static bool is_intact(struct tbed_reader *reader, struct tbed_trace_info *info)
{
    bool is_good = tbed_reader_verify(reader) == TBED_OK;
    tbed_reader_info(reader, info);
    return is_good && info->shut && info->tick_decrease_count == 0 && info->ring_page_count == 0;
}

/* The part of the exact window, of spans that are all at least a column long, that the part of a sketch is one of. */
static bool is_real(const struct tbed_window *exact, const struct tbed_window_part *part,
                    uint64_t column_ticks)
{
    const struct tbed_window_part *real;
    for (size_t i = 0; (real = tbed_window_part(exact, i)) != NULL; i++)
        if (real->stream == part->stream && real->depth == part->depth && real->id == part->id &&
            real->begin_tick == part->begin_tick && real->end_tick >= part->end_tick &&
            real->end_tick - part->end_tick <= (part->sample_count > 0 ? column_ticks : 0))
            return true;
    return false;
}

static uint64_t ticks_of_row(const struct tbed_window *window, uint32_t stream, uint32_t depth)
{
    const struct tbed_window_part *part;
    uint64_t sum = 0;
    for (size_t i = 0; (part = tbed_window_part(window, i)) != NULL; i++)
        if (part->stream == stream && part->depth == depth)
            sum = plus(sum, part->ticks);
    return sum;
}

/* 'column_ticks' is the width of columns before there were too many parts. */
static void check_claims(struct tbed_reader *reader, struct tbed_window_options options,
                         const struct tbed_window *sketch, uint64_t column_ticks)
{
    const struct tbed_window_part *part, *before = NULL;
    struct tbed_window_info info;
    options.exact_block_max = options.part_max = 0;
    options.column_count = TBED_WINDOW_COLUMNS_MAX;
    struct tbed_window *exact = make(reader, options, 1);
    tbed_window_info(exact, &info);
    REQUIRE(info.is_exact);
    for (size_t i = 0; (part = tbed_window_part(sketch, i)) != NULL; i++, before = part) {
        if (before == NULL || before->stream != part->stream || before->depth != part->depth)
            REQUIRE(ticks_of_row(sketch, part->stream, part->depth) <=
                    ticks_of_row(exact, part->stream, part->depth));
        if (part->count == 1 && part->end_tick > part->begin_tick && info.column_ticks == 1)
            REQUIRE(is_real(exact, part, column_ticks));
    }
    tbed_window_close(exact);
}

static uint64_t first_column_ticks(const struct tbed_window_info *info, uint32_t column_count)
{
    uint64_t ticks = info->end_tick - info->begin_tick;
    return ticks / column_count + (ticks % column_count != 0);
}

static void check(struct tbed_reader *reader, struct tbed_window_options options)
{
    struct tbed_window *one = make(reader, options, 1), *three = make(reader, options, 3);
    const struct tbed_window_part *part, *same;
    struct tbed_window_info info, other;
    struct tbed_trace_info trace;
    size_t count, same_count = 0;
    tbed_window_info(one, &info);
    tbed_window_info(three, &other);
    REQUIRE(memcmp(&info, &other, sizeof info) == 0);
    struct sums parts = sum_parts(one, &info, &count);
    for (; (part = tbed_window_part(one, same_count)) != NULL; same_count++) {
        same = tbed_window_part(three, same_count);
        REQUIRE(same != NULL && memcmp(part, same, sizeof *part) == 0);
    }
    REQUIRE(tbed_window_part(three, count) == NULL && parts.count == info.span_count);
    REQUIRE(options.part_max == 0 || count <= options.part_max ||
            info.column_ticks > (info.end_tick - info.begin_tick) / 2);
    REQUIRE(info.is_exact || options.exact_block_max > 0);
    bool is_good = is_intact(reader, &trace);
    if (!info.is_exact && is_good && is_orderly(reader))
        check_claims(reader, options, one, first_column_ticks(&info, options.column_count));
    if (info.is_exact && is_good && options.depth_count == 0) {
        uint64_t resolution = trace.resolution_ticks > 0 ? trace.resolution_ticks : 1;
        struct sums spans = sum_spans(reader, options.filter, resolution);
        REQUIRE(memcmp(&parts, &spans, sizeof parts) == 0);
    }
    tbed_window_close(one);
    tbed_window_close(three);
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t nbytes)
{
    struct tbed_window_options none = {.size = 0};
    struct tbed_analysis_options options = {.size = sizeof options, .thread_count = 1};
    struct tbed_window *refused = NULL;
    struct tbed_statistics *all;
    struct tbed_reader *reader = open_input(data, nbytes);
    if (reader == NULL)
        return 0;
    REQUIRE(tbed_window_make(reader, &none, &refused) == TBED_ERR_ARGUMENT && refused == NULL);
    tbed_window_close(NULL);
    REQUIRE(tbed_statistics_make(reader, &options, &all) == TBED_OK);
    struct conditions conditions = choose_conditions(reader, all, data, nbytes);
    struct tbed_filter *filter = filter_of_conditions(reader, &conditions);
    uint32_t columns = (uint32_t)(1 + nbytes * 7 % 3000);
    check(reader, (struct tbed_window_options){.column_count = columns});
    check(reader, (struct tbed_window_options){
                      .column_count = columns, .depth_count = 3, .part_max = 1 + nbytes % 64});
    check(reader,
          (struct tbed_window_options){.column_count = columns, .part_max = nbytes % 100, .filter = filter});
    check(reader, (struct tbed_window_options){.column_count = columns, .exact_block_max = 1 + nbytes % 2});
    check(reader, (struct tbed_window_options){.column_count = 1 + columns % 30,
                                               .depth_count = nbytes % 5,
                                               .part_max = nbytes % 100,
                                               .filter = filter,
                                               .exact_block_max = 1});
    tbed_filter_close(filter);
    tbed_statistics_close(all);
    tbed_reader_close(reader);
    return 0;
}
