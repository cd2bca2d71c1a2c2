/*
 * Statistics read a stream with a fast loop as long as it contains only begins and ends, and with the general code
 * otherwise. Random traces, with everything that distinguishes the two, are analysed both ways, by stacks, and with a
 * plain list of the assembler's spans: all figures must agree.
 *
 * SPDX-License-Identifier: MIT
 */
#include "reader/analysis/trace/trace_worker.h"
#include "reader/tests/analysis/span_list.h"

#include <tracebed/analysis.h>

static void expect_agreement(struct fixture *f, unsigned threads)
{
    struct tbed_reader *reader = fixture_open(f);
    struct tbed_analysis_options options = {.size = sizeof options, .thread_count = threads};
    struct tbed_statistics *fast, *general;
    struct list list;
    list_spans(&list, reader);
    find_parents(&list);
    assert_int_equal(tbed_stat_make_trace(reader, &options, false, &fast), TBED_OK);
    assert_int_equal(tbed_stat_make_trace(reader, &options, true, &general), TBED_OK);
    expect_same(fast, general);
    for (uint32_t id = 1; id <= IDS; id++)
        expect_listed(&list, general, id);
    expect_stacks(general, reader, NULL);
    tbed_statistics_close(fast);
    tbed_statistics_close(general);
    free(list.items);
    tbed_reader_close(reader);
    fixture_free(f);
}

static void run(unsigned odd, uint32_t depth_max, bool loses)
{
    for (uint64_t seed = 1; seed <= 8; seed++)
        expect_agreement(random_trace(odd, depth_max, loses, seed), (unsigned)(seed % 3 + 1));
}

/* Of a part of the time, of which most blocks are all in it. */
static void expect_agreement_within(struct tbed_reader *reader, uint64_t begin, uint64_t end,
                                    unsigned threads)
{
    struct tbed_filter_options which = {.size = sizeof which, .begin_tick = begin, .end_tick = end};
    struct tbed_filter *filter;
    struct tbed_statistics *fast, *general;
    assert_int_equal(tbed_filter_make(reader, &which, &filter, NULL), TBED_OK);
    struct tbed_analysis_options options = {
        .size = sizeof options, .thread_count = threads, .filter = filter};
    assert_int_equal(tbed_stat_make_trace(reader, &options, false, &fast), TBED_OK);
    assert_int_equal(tbed_stat_make_trace(reader, &options, true, &general), TBED_OK);
    expect_same(fast, general);
    tbed_statistics_close(fast);
    tbed_statistics_close(general);
    tbed_filter_close(filter);
}

static void windows_agree(void **state)
{
    (void)state;
    for (uint64_t seed = 1; seed <= 3 * ODD_COUNT; seed++) {
        struct fixture *f =
            random_trace((unsigned)(seed % ODD_COUNT), seed % 4 == 0 ? 200 : 40, seed % 3 == 0, seed);
        struct tbed_reader *reader = fixture_open(f);
        struct tbed_trace_info info;
        tbed_reader_info(reader, &info);
        uint64_t ticks = info.last_tick - info.first_tick;
        for (uint64_t i = 0; i < 6; i++) {
            uint64_t begin = info.first_tick + ticks / 5 * (i % 3) + seed,
                     end = info.last_tick - ticks / 7 * (i / 2);
            expect_agreement_within(reader, begin, end, (unsigned)(seed % 3 + 1));
        }
        tbed_reader_close(reader);
        fixture_free(f);
    }
}

static void begins_and_ends_agree(void **state)
{
    (void)state;
    run(ODD_NOTHING, 40, false);
}

static void blocks_that_are_missing_agree(void **state)
{
    (void)state;
    run(ODD_NOTHING, 40, true);
}

static void spans_deeper_than_a_block_stores_agree(void **state)
{
    (void)state;
    run(ODD_NOTHING, 200, false);
}

static void deep_spans_with_missing_blocks_agree(void **state)
{
    (void)state;
    run(ODD_NOTHING, 200, true);
}

static void streams_that_turn_out_to_be_different_agree(void **state)
{
    (void)state;
    for (unsigned odd = ODD_WHOLE; odd < ODD_COUNT; odd++)
        run(odd, 40, false);
}

static void different_streams_with_missing_blocks_agree(void **state)
{
    (void)state;
    for (unsigned odd = ODD_WHOLE; odd < ODD_COUNT; odd++)
        run(odd, 40, true);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(begins_and_ends_agree),
        cmocka_unit_test(windows_agree),
        cmocka_unit_test(blocks_that_are_missing_agree),
        cmocka_unit_test(spans_deeper_than_a_block_stores_agree),
        cmocka_unit_test(deep_spans_with_missing_blocks_agree),
        cmocka_unit_test(streams_that_turn_out_to_be_different_agree),
        cmocka_unit_test(different_streams_with_missing_blocks_agree),
    };
    return cmocka_run_group_tests_name("statistics_ways", tests, NULL, NULL);
}
