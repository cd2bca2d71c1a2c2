/*
 * Ticks to time: the piecewise linear map of section 8.3.
 *
 * SPDX-License-Identifier: MIT
 */
#include "format/file/header.h"
#include "reader/tests/core/trace_builder.h"

#include <setjmp.h>
#include <stdarg.h>

#include <cmocka.h>

/* The builder's header: 10^9 ticks a second, anchor at tick 1000, 1000 ns monotonic, 5 s of real time. */
static struct trace_block start(struct trace *trace)
{
    *trace = trace_make(3);
    /* The first tick is 1000. */
    struct trace_block events = trace_block_begin(trace, 2, TBED_BLOCK_EVENTS, 1, 0);
    trace_seal(&events);
    return trace_block_begin(trace, 1, TBED_BLOCK_RECORDS, 1, 0);
}

static void add_anchor(struct trace_block *block, uint64_t ticks, int64_t realtime_ns, uint64_t monotonic_ns)
{
    uint32_t fields[] = {(uint32_t)ticks,        (uint32_t)(ticks >> 32),
                         (uint32_t)realtime_ns,  (uint32_t)((uint64_t)realtime_ns >> 32),
                         (uint32_t)monotonic_ns, (uint32_t)(monotonic_ns >> 32)};
    trace_record(block, TBED_RECORD_ANCHOR, fields, 6);
}

static int64_t realtime(struct tbed_reader *reader, uint64_t tick)
{
    int64_t ns = 0;
    assert_int_equal(tbed_ticks_to_realtime_ns(reader, tick, &ns), TBED_OK);
    return ns;
}

static void one_anchor_goes_on_with_the_headers_rate(void **state)
{
    struct trace trace;
    (void)state;
    start(&trace);
    trace_header(&trace)->ticks_per_second = tbed_le64_make(3000000000);
    trace_header_mend(&trace);
    struct tbed_reader *reader = trace_open(&trace);
    assert_int_equal(tbed_ticks_to_ns(reader, 1000), 0);
    assert_int_equal(tbed_ticks_to_ns(reader, 1003), 1);
    assert_int_equal(tbed_ticks_to_ns(reader, 1000 + UINT64_C(3000000000)), 1000000000);
    assert_int_equal(tbed_ticks_to_ns(reader, 997), -1);
    assert_int_equal(realtime(reader, 1300), 5000000100);
    assert_true(tbed_tick_span_to_ns(reader, 3) == 1.0);
    tbed_reader_close(reader);
    trace_free(&trace);
}

static void anchors_make_a_piecewise_linear_map(void **state)
{
    struct trace trace;
    struct trace_block block = start(&trace);
    (void)state;
    /* from 1000: twice as fast as in the header, then half as fast; the records are in another order */
    add_anchor(&block, 500001000, 5000000000 + 1400000000, 1000 + 1400000000);
    add_anchor(&block, 200001000, 5000000000 + 400000000, 1000 + 400000000);
    struct tbed_reader *reader = trace_open(&trace);
    assert_int_equal(tbed_ticks_to_ns(reader, 1000), 0);
    assert_int_equal(tbed_ticks_to_ns(reader, 1500), 1000);
    assert_int_equal(tbed_ticks_to_ns(reader, 200001000), 400000000);
    assert_int_equal(tbed_ticks_to_ns(reader, 200001003), 400000010);
    assert_int_equal(tbed_ticks_to_ns(reader, 500001000), 1400000000);
    assert_int_equal(tbed_ticks_to_ns(reader, 500001003), 1400000010); /* goes on as the last two went */
    assert_int_equal(tbed_ticks_to_ns(reader, 0), -2000);              /* and as the first two */
    assert_int_equal(realtime(reader, 500001003), 6400000010);
    assert_true(tbed_tick_span_to_ns(reader, 50) == 140.0); /* from the first to the last anchor */
    tbed_reader_close(reader);
    trace_free(&trace);
}

static void anchors_that_are_too_near_do_not_give_the_rate(void **state)
{
    struct trace trace;
    struct trace_block block = start(&trace);
    (void)state;
    add_anchor(&block, 1100, 5000000300, 1300); /* 300 ns for 100 ticks, 0.3 µs apart */
    struct tbed_reader *reader = trace_open(&trace);
    assert_int_equal(tbed_ticks_to_ns(reader, 1050), 50);
    assert_int_equal(tbed_ticks_to_ns(reader, 1200), 200);
    assert_int_equal(tbed_ticks_to_ns(reader, 900), -100);
    assert_true(tbed_tick_span_to_ns(reader, 50) == 50.0);
    tbed_reader_close(reader);
    trace_free(&trace);
}

/* Positions and durations then agree: what is noise of the clocks' readings is in neither. */
static void a_short_trace_has_one_rate(void **state)
{
    struct trace trace;
    struct trace_block block = start(&trace);
    (void)state;
    for (uint64_t ms = 1; ms < 100; ms++) /* each is off by another microsecond */
        add_anchor(&block, 1000 + ms * 1000000, 5000000000 + (int64_t)(ms * 1001000),
                   1000 + ms * 1001000 - ms % 3);
    add_anchor(&block, 100001000, 5200000000, 200001000);
    struct tbed_reader *reader = trace_open(&trace);
    for (uint64_t tick = 0; tick <= 200000000; tick += 999983)
        assert_int_equal(tbed_ticks_to_ns(reader, 1000 + tick), (int64_t)tick * 2);
    assert_true(tbed_tick_span_to_ns(reader, 50) == 100.0);
    tbed_reader_close(reader);
    trace_free(&trace);
}

static void anchors_near_their_neighbours_are_not_used(void **state)
{
    struct trace trace;
    struct trace_block block = start(&trace);
    (void)state;
    add_anchor(&block, 100001000, 5200000000, 200001000);
    add_anchor(&block, 150001000, 5900000000, 200001000 + 99999999);
    add_anchor(&block, 160001000, 5900000000, 400001000 - 99999999);
    add_anchor(&block, 300001000, 5400000000, 400001000);
    struct tbed_reader *reader = trace_open(&trace);
    assert_int_equal(tbed_ticks_to_ns(reader, 50001000), 100000000);
    assert_int_equal(tbed_ticks_to_ns(reader, 100001000), 200000000);
    assert_int_equal(tbed_ticks_to_ns(reader, 150001000), 250000000);
    assert_int_equal(tbed_ticks_to_ns(reader, 160001000), 260000000);
    assert_int_equal(realtime(reader, 300001000), 5400000000);
    tbed_reader_close(reader);
    trace_free(&trace);
}

/* Until there is an event, times count from the header's anchor; then from the first event, whatever comes later. */
static void times_count_from_the_first_event_when_there_is_one(void **state)
{
    struct trace trace = trace_make(4);
    (void)state;
    struct trace_block records = trace_block_begin(&trace, 1, TBED_BLOCK_RECORDS, 1, 0);
    trace_seal(&records);
    memset(trace.bytes + (size_t)trace_page(&trace, 2) * 4096, 0, 8192);
    struct tbed_reader *reader = trace_open(&trace);
    assert_int_equal(tbed_ticks_to_ns(reader, 1000), 0);
    assert_int_equal(tbed_ticks_to_ns(reader, 1700), 700);
    struct trace_block events = trace_block_begin(&trace, 2, TBED_BLOCK_EVENTS, 1, 0);
    trace_block_header(&events)->first_tick = tbed_le64_make(1500);
    trace_event(&events, TBED_TAG_INSTANT, 1, 7);
    assert_int_equal(tbed_reader_refresh(reader, NULL), TBED_OK);
    assert_int_equal(tbed_ticks_to_ns(reader, 1500), 0);
    assert_int_equal(tbed_ticks_to_ns(reader, 1700), 200);
    struct trace_block earlier = trace_block_begin(&trace, 3, TBED_BLOCK_EVENTS, 2, 0);
    trace_event(&earlier, TBED_TAG_INSTANT, 1, 7);
    assert_int_equal(tbed_reader_refresh(reader, NULL), TBED_OK);
    assert_int_equal(tbed_ticks_to_ns(reader, 1700), 200); /* times that were shown stay as they were */
    tbed_reader_close(reader);
    trace_free(&trace);
}

static void time_never_goes_back_whatever_the_anchors_say(void **state)
{
    (void)state;
    for (uint32_t seed = 1; seed < 100; seed++) {
        struct trace trace;
        struct trace_block block = start(&trace);
        uint64_t random = seed * UINT64_C(0x9E3779B97F4A7C15);
        for (int i = 0; i < 20; i++) {
            random = random * UINT64_C(6364136223846793005) + 1442695040888963407u;
            add_anchor(&block, random >> (random % 50), (int64_t)random, (random * 31) >> (random % 40));
        }
        struct tbed_reader *reader = trace_open(&trace);
        int64_t before = INT64_MIN;
        for (uint64_t tick = 0; tick < 1000; tick++) {
            int64_t ns = tbed_ticks_to_ns(reader, tick * (UINT64_MAX / 1000));
            assert_true(ns >= before);
            before = ns;
        }
        tbed_reader_close(reader);
        trace_free(&trace);
    }
}

static void extreme_ticks_are_cut_not_wrapped(void **state)
{
    struct trace trace;
    (void)state;
    start(&trace);
    trace_header(&trace)->ticks_per_second = tbed_le64_make(1000); /* 2^64 ms */
    trace_header_mend(&trace);
    struct tbed_reader *reader = trace_open(&trace);
    assert_int_equal(tbed_ticks_to_ns(reader, UINT64_MAX), INT64_MAX);
    assert_int_equal(realtime(reader, UINT64_MAX), INT64_MAX);
    tbed_reader_close(reader);
    trace_free(&trace);
}

/* The product then needs 128 bits: as a signed number it would be negative. */
static void the_steepest_rate_is_cut_not_wrapped(void **state)
{
    struct trace trace;
    struct trace_block block = start(&trace);
    (void)state;
    add_anchor(&block, 1001, 5000000001, UINT64_MAX); /* 1 tick and almost 2^64 ns after the header's */
    struct tbed_reader *reader = trace_open(&trace);
    assert_true(tbed_ticks_to_ns(reader, 1000) == 0);
    assert_true(tbed_ticks_to_ns(reader, 1001) == INT64_MAX);
    assert_true(tbed_ticks_to_ns(reader, UINT64_MAX) == INT64_MAX);
    assert_true(tbed_ticks_to_ns(reader, 0) == INT64_MIN);
    tbed_reader_close(reader);
    trace_free(&trace);
}

static void clock_of_the_users_counts_ticks(void **state)
{
    struct trace trace;
    struct tbed_trace_info info;
    int64_t ns;
    (void)state;
    start(&trace);
    trace_header(&trace)->clock = tbed_le32_make(TBED_CLOCK_USER);
    trace_header(&trace)->ticks_per_second = tbed_le64_make(0);
    memcpy(trace_header(&trace)->clock_unit, "instructions", 12);
    trace_header_mend(&trace);
    struct tbed_reader *reader = trace_open(&trace);
    tbed_reader_info(reader, &info);
    assert_string_equal(info.clock_unit, "instructions");
    assert_int_equal(tbed_ticks_to_ns(reader, 1234), 234);
    assert_int_equal(tbed_ticks_to_ns(reader, 0), -1000);
    assert_true(tbed_tick_span_to_ns(reader, 5) == 5.0);
    assert_int_equal(tbed_ticks_to_realtime_ns(reader, 1, &ns), TBED_ERR_NO_TIME);
    tbed_reader_close(reader);
    trace_free(&trace);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(one_anchor_goes_on_with_the_headers_rate),
        cmocka_unit_test(anchors_make_a_piecewise_linear_map),
        cmocka_unit_test(anchors_that_are_too_near_do_not_give_the_rate),
        cmocka_unit_test(a_short_trace_has_one_rate),
        cmocka_unit_test(anchors_near_their_neighbours_are_not_used),
        cmocka_unit_test(times_count_from_the_first_event_when_there_is_one),
        cmocka_unit_test(time_never_goes_back_whatever_the_anchors_say),
        cmocka_unit_test(extreme_ticks_are_cut_not_wrapped),
        cmocka_unit_test(the_steepest_rate_is_cut_not_wrapped),
        cmocka_unit_test(clock_of_the_users_counts_ticks),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
