/*
 * Out of memory: each allocation of the library fails in turn, once. The call must report it, nothing may leak (a
 * sanitizer checks), and a reader that could not be refreshed must be unchanged.
 *
 * The linker redirects the library's allocations to this file (--wrap); other allocations are unaffected.
 *
 * Link with: -Wl,--wrap=malloc,--wrap=calloc,--wrap=realloc
 *
 * SPDX-License-Identifier: MIT
 */
#include "reader/tests/core/failing_memory.h"
#include "reader/tests/core/trace_builder.h"

#include <setjmp.h>
#include <stdarg.h>
#include <stdlib.h>

#include <cmocka.h>

/* Makes a trace that makes every part of the index and of the metadata grow. */
static struct trace busy_trace(void)
{
    struct trace trace = trace_make(45);
    struct trace_block strings = trace_block_begin(&trace, 1, TBED_BLOCK_STRINGS, 1, 0);
    struct trace_block records = trace_block_begin(&trace, 2, TBED_BLOCK_RECORDS, 1, 0);
    uint32_t id = trace_string(&strings, "text");
    for (uint32_t i = 0; i < 3; i++) {
        trace_bind(&records, i * 2, 1, id);
        trace_unit(&records, 1000 + i * 50, 50, id, 0x1000);
        trace_record(&records, TBED_RECORD_LINES, (uint32_t[]){1000, 1, 1, 2}, 4);
        trace_record(&records, TBED_RECORD_LOAD, (uint32_t[]){1, 1000, 0, 0, 0, 0, 0, 0}, 8);
        trace_record(&records, TBED_RECORD_PROCESS, (uint32_t[]){1 + i, 2, 3, id, 5, 0, 0, 0}, 8);
        trace_record(&records, TBED_RECORD_STREAM, (uint32_t[]){2 + i, 1, 1, 5, id, 0, 0, 0}, 8);
        trace_record(&records, TBED_RECORD_NAME, (uint32_t[]){2 + i, id, 0, 0}, 4);
        trace_record(&records, TBED_RECORD_COUNTER, (uint32_t[]){i, id, 0, 0}, 4);
        trace_record(&records, TBED_RECORD_END, (uint32_t[]){2 + i, 0, 0, 0}, 4);
    }
    trace_record(&records, TBED_RECORD_BIND_LIST, (uint32_t[]){1, 0, 6, 5}, 4);
    trace_record(&records, TBED_RECORD_STACKS, (uint32_t[]){2000, 1, 1000, TBED_ID_INVALID}, 4);
    trace_record(&records, TBED_RECORD_FRAMES, (uint32_t[]){1000, 1, id, id, 7, 0}, 6);
    trace_seal(&strings);
    trace_seal(&records);
    for (uint32_t page = 3; page < 40; page++) {
        struct trace_block events = trace_block_begin(&trace, page, TBED_BLOCK_EVENTS, page, 0);
        trace_event(&events, TBED_TAG_INSTANT, id, page);
        if (page % 7 == 0)
            events.bytes[16] = 0; /* stream 0: damage */
        trace_seal(&events);
    }
    trace_cells_page(&trace, 40, 1, 0, 1);
    trace_directory(&trace);
    return trace;
}

static void open_that_has_no_memory_says_so(void **state)
{
    struct trace trace = busy_trace();
    struct tbed_reader *reader = NULL;
    struct tbed_error error;
    int failed = 0;
    (void)state;
    for (;; failed++) {
        calls_left = failed;
        enum tbed_status status = tbed_reader_open_memory(trace.bytes, trace.nbytes, NULL, &reader, &error);
        bool was_reached = calls_left < 0;
        calls_left = -1;
        if (status == TBED_OK) { /* without memory, damage is only counted */
            assert_int_equal(tbed_damage_count(reader), 5);
            tbed_reader_close(reader);
        } else {
            assert_int_equal(status, TBED_ERR_MEMORY);
            assert_int_equal(error.status, TBED_ERR_MEMORY);
            assert_true(was_reached);
        }
        if (!was_reached)
            break;
    }
    assert_true(failed > 25);
    trace_free(&trace);
}

static void verify_fails_if_damage_cannot_be_listed(void **state)
{
    struct trace trace = trace_make(3);
    struct trace_block events = trace_block_begin(&trace, 1, TBED_BLOCK_EVENTS, 1, 0);
    struct tbed_reader *reader;
    bool was_reached = true;
    (void)state;
    trace_event(&events, TBED_TAG_EXTENDED, 1, 1); /* ends with the block */
    trace_seal(&events);
    trace_directory(&trace);
    for (int failed = 0; was_reached; failed++) {
        assert_int_equal(tbed_reader_open_memory(trace.bytes, trace.nbytes, NULL, &reader, NULL), TBED_OK);
        assert_int_equal(tbed_damage_count(reader), 0);
        calls_left = failed;
        enum tbed_status status = tbed_reader_verify(reader);
        was_reached = calls_left < 0;
        calls_left = -1;
        assert_int_equal(status, TBED_ERR_EVENT_LENGTH);
        assert_int_equal(tbed_reader_verify(reader), TBED_ERR_EVENT_LENGTH);
        tbed_reader_close(reader);
    }
    trace_free(&trace);
}

static void refresh_that_has_no_memory_changes_nothing(void **state)
{
    struct trace trace = busy_trace();
    struct tbed_error error;
    (void)state;
    bool was_reached = true;
    for (int failed = 0; was_reached; failed++) {
        uint8_t *page = trace.bytes + (size_t)trace_page(&trace, 41) * 4096;
        memset(page, 0, 4096);
        struct tbed_reader *reader = trace_open(&trace);
        assert_int_equal(trace_events(reader, 0, NULL, 0), 32);
        struct trace_block events = trace_block_begin(&trace, 41, TBED_BLOCK_EVENTS, 41, 0);
        trace_event(&events, TBED_TAG_INSTANT, 1, 1);
        calls_left = failed;
        enum tbed_status status = tbed_reader_refresh(reader, &error);
        was_reached = calls_left < 0;
        calls_left = -1;
        assert_int_equal(status, was_reached ? TBED_ERR_MEMORY : TBED_OK);
        assert_int_equal(trace_events(reader, 0, NULL, 0), was_reached ? 32 : 33);
        assert_int_equal(tbed_reader_refresh(reader, &error), TBED_OK);
        assert_int_equal(trace_events(reader, 0, NULL, 0), 33);
        tbed_reader_close(reader);
    }
    trace_free(&trace);
}

static void merge_and_cursor_that_have_no_memory_say_so(void **state)
{
    struct trace trace = busy_trace();
    struct tbed_reader *reader = trace_open(&trace);
    struct tbed_merge *merge = NULL;
    struct tbed_cursor *cursor = NULL;
    const uint32_t streams[] = {3, 4};
    int failed = 0;
    (void)state;
    for (;; failed++) {
        calls_left = failed;
        enum tbed_status status = tbed_merge_open(reader, failed % 2 == 0 ? NULL : streams, 2, &merge);
        bool was_reached = calls_left < 0;
        calls_left = -1;
        assert_int_equal(status, was_reached ? TBED_ERR_MEMORY : TBED_OK);
        if (!was_reached)
            break;
    }
    assert_true(failed > 3);
    tbed_merge_close(merge);
    calls_left = 0;
    assert_int_equal(tbed_cursor_open(reader, 1, &cursor), TBED_ERR_MEMORY);
    tbed_reader_close(reader);
    trace_free(&trace);
}

/* A cursor in a flight recorder that is being written reads from a copy of the block. */
static void cursor_without_memory_for_its_copy_skips_nothing(void **state)
{
    struct tbed_reader *reader;
    struct tbed_cursor *cursor;
    struct tbed_merge *merge;
    struct tbed_event event;
    int count = 0;
    (void)state;
    assert_int_equal(tbed_reader_open("spec/golden/valid/taken.tbed", NULL, &reader, NULL), TBED_OK);
    assert_int_equal(tbed_cursor_open(reader, 2, &cursor), TBED_OK);
    calls_left = 0;
    assert_int_equal(tbed_cursor_next(cursor, &event), TBED_ERR_MEMORY);
    for (bool was_reached = true; was_reached;) {
        calls_left = count++;
        enum tbed_status status = tbed_merge_open(reader, NULL, 0, &merge);
        was_reached = calls_left < 0;
        calls_left = -1;
        assert_int_equal(status, was_reached ? TBED_ERR_MEMORY : TBED_OK);
    }
    tbed_merge_close(merge);
    calls_left = 0;
    assert_int_equal(tbed_reader_verify(reader), TBED_ERR_MEMORY);
    calls_left = -1;
    count = 0;
    while (tbed_cursor_next(cursor, &event) == TBED_OK)
        count++;
    assert_int_equal(count, 3);
    tbed_cursor_close(cursor);
    tbed_reader_close(reader);
}

static void parts_end_when_memory_runs_out(void **state)
{
    struct trace trace = trace_make(3);
    struct trace_block strings = trace_block_begin(&trace, 1, TBED_BLOCK_STRINGS, 1, 0);
    uint32_t text = trace_string(&strings, "text"), argument = trace_string(&strings, "\x1E"
                                                                                      "argument");
    uint32_t id = trace_references(&strings, (uint32_t[]){text, text, argument}, 3);
    struct tbed_event_parts *parts;
    struct tbed_name part = {.text = "untouched"};
    (void)state;
    trace_seal(&strings);
    trace_directory(&trace);
    struct tbed_reader *reader = trace_open(&trace);
    assert_int_equal(tbed_event_parts_open(reader, id, NULL, &parts), TBED_OK);
    calls_left = 0;
    assert_int_equal(tbed_event_parts_next(parts, &part), TBED_ERR_MEMORY);
    assert_int_equal(calls_left, -1);
    assert_int_equal(tbed_event_parts_next(parts, &part), TBED_ERR_MEMORY);
    assert_string_equal(part.text, "untouched");
    tbed_event_parts_close(parts);
    tbed_reader_close(reader);
    trace_free(&trace);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(open_that_has_no_memory_says_so),
        cmocka_unit_test(verify_fails_if_damage_cannot_be_listed),
        cmocka_unit_test(refresh_that_has_no_memory_changes_nothing),
        cmocka_unit_test(merge_and_cursor_that_have_no_memory_say_so),
        cmocka_unit_test(cursor_without_memory_for_its_copy_skips_nothing),
        cmocka_unit_test(parts_end_when_memory_runs_out),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
