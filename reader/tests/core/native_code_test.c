/*
 * tbed_native_code_find(): each native place that an event, an argument or a stack refers to, once and in order.
 *
 * SPDX-License-Identifier: MIT
 */
#include "reader/tests/core/trace_builder.h"

#include <setjmp.h>
#include <stdarg.h>
#include <stdlib.h>

#include <cmocka.h>

enum { NATIVE = 1000, BYTECODE = 5000, STACKS = 8000, BOUND = 9000, COUNT = 900 };

static struct trace trace;
static struct trace_block records, events;

static void begin(uint32_t kind)
{
    trace = trace_make_paged(4, 1 << 16);
    struct trace_block strings = trace_block_begin(&trace, 1, TBED_BLOCK_STRINGS, 1, 0);
    records = trace_block_begin(&trace, 2, TBED_BLOCK_RECORDS, 1, 0);
    events = trace_block_begin(&trace, 3, TBED_BLOCK_EVENTS, 2, 0);
    uint32_t name = trace_string(&strings, "libc.so");
    uint32_t native[] = {NATIVE, 2000, kind, 0, name, TBED_ID_INVALID, 0, 0, 0, 0};
    uint32_t bytecode[] = {BYTECODE, 2000, TBED_UNIT_BYTECODE, 0, name, TBED_ID_INVALID, 0, 0, 0, 0};
    trace_record(&records, TBED_RECORD_UNIT, native, 10);
    trace_record(&records, TBED_RECORD_UNIT, bytecode, 10);
    trace_seal(&strings);
}

static void expect_found(const uint32_t *expected, size_t expected_count)
{
    uint32_t *ids = NULL;
    size_t count = 77;
    trace_seal(&records);
    trace_seal(&events);
    struct tbed_reader *reader = trace_open(&trace);
    assert_int_equal(tbed_native_code_find(reader, &ids, &count), TBED_OK);
    assert_int_equal(count, expected_count);
    if (expected_count > 0)
        assert_memory_equal(ids, expected, count * sizeof *ids);
    else
        assert_null(ids);
    free(ids);
    tbed_reader_close(reader);
    trace_free(&trace);
}

static void all_places_are_found_once_and_in_order(void **state)
{
    static uint32_t expected[COUNT];
    (void)state;
    begin(TBED_UNIT_NATIVE);
    for (uint32_t i = 0; i < COUNT; i++) {
        expected[i] = NATIVE + 2 * i;
        trace_event(&events, TBED_TAG_INSTANT, NATIVE + 2 * (i * 7 % COUNT), i);
        trace_event(&events, TBED_TAG_INSTANT, NATIVE + 2 * (i * 11 % COUNT), i);
        trace_event(&events, TBED_TAG_INSTANT, BYTECODE + i, i);
        trace_event(&events, TBED_TAG_INSTANT, i, i);
    }
    expect_found(expected, COUNT);
}

static void arguments_and_stacks_count(void **state)
{
    static const uint32_t expected[] = {NATIVE + 1, NATIVE + 2, NATIVE + 3, NATIVE + 5, NATIVE + 1999};
    (void)state;
    begin(TBED_UNIT_NATIVE);
    /* 8000 is in 1002, called from nowhere; 8001 is in 1003, called from 8000 */
    trace_record(&records, TBED_RECORD_STACKS,
                 (uint32_t[]){STACKS, 2, NATIVE + 2, TBED_ID_INVALID, NATIVE + 3, STACKS}, 6);
    trace_bind(&records, BOUND, 1, NATIVE + 1999);
    trace_event(&events, TBED_TAG_INSTANT, STACKS + 1, 1);
    trace_event(&events, TBED_TAG_INSTANT, BOUND, 1);
    struct tbed_extended_head head = {.type = TBED_EXT_INSTANT, .argument_count = 4, .nwords = 9};
    trace_extended(&events, NATIVE + 1, 1, head, NULL);
    uint64_t id = NATIVE + 5, not_id = NATIVE + 6, too_high = (UINT64_C(1) << 32) + NATIVE + 7,
             none = TBED_ID_MAX;
    trace_argument(&events, TBED_ARG_ID, TBED_ID_INVALID, &id, 8);
    trace_argument(&events, TBED_ARG_U64, TBED_ID_INVALID, &not_id, 8);
    trace_argument(&events, TBED_ARG_ID, TBED_ID_INVALID, &too_high, 8);
    trace_argument(&events, TBED_ARG_ID, TBED_ID_INVALID, &none, 8);
    expect_found(expected, 5);
}

static void a_trace_without_native_code_is_not_read(void **state)
{
    (void)state;
    begin(TBED_UNIT_BYTECODE);
    trace_event(&events, TBED_TAG_INSTANT, NATIVE, 1);
    expect_found(NULL, 0);
    begin(TBED_UNIT_NATIVE);
    trace_event(&events, TBED_TAG_INSTANT, NATIVE + 2000, 1);
    expect_found(NULL, 0);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(all_places_are_found_once_and_in_order),
        cmocka_unit_test(arguments_and_stacks_count),
        cmocka_unit_test(a_trace_without_native_code_is_not_read),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
