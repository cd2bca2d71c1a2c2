/*
 * The assembler's rules, one trace for each: every span that begins ends exactly once, even if its end is missing.
 *
 * SPDX-License-Identifier: MIT
 */
#include "reader/tests/analysis/analysis_fixture.h"

#include <stdio.h>
#include <tracebed/analysis.h>

/* The steps as text: "(" begins, ")" ends, "!" is left open, "?" has no known begin, "." is any other event. */
static void expect_steps(struct fixture *f, const char *expected)
{
    static const char marks[] = {[TBED_STEP_BEGIN] = '(',
                                 [TBED_STEP_END] = ')',
                                 [TBED_STEP_OPEN] = '!',
                                 [TBED_STEP_UNKNOWN] = '?',
                                 [TBED_STEP_EVENT] = '.'};
    char text[4096];
    size_t used = 0;
    struct tbed_reader *reader = fixture_open(f);
    struct tbed_assembler *assembler;
    struct tbed_step step;
    enum tbed_status status;
    assert_int_equal(tbed_assembler_open(reader, NULL, 0, &assembler), TBED_OK);
    while ((status = tbed_assembler_next(assembler, &step)) == TBED_OK && used < sizeof text - 64) {
        used += (size_t)sprintf(text + used, "%s%c", used > 0 ? " " : "", marks[step.kind]);
        if (step.kind != TBED_STEP_EVENT)
            used += (size_t)sprintf(text + used, "%u", step.span->id);
        if (step.kind == TBED_STEP_END || step.kind == TBED_STEP_OPEN)
            used += (size_t)sprintf(text + used, ":%u-%u", (unsigned)step.span->begin_tick,
                                    (unsigned)step.span->end_tick);
    }
    assert_int_equal(status, TBED_END);
    assert_string_equal(text, expected);
    tbed_assembler_close(assembler);
    tbed_reader_close(reader);
    fixture_free(f);
}

static void span_ends_with_its_end(void **state)
{
    (void)state;
    struct fixture *f = fixture_new(4096);
    fixture_begin(f, 1, 10, 1);
    fixture_begin(f, 1, 20, 2);
    fixture_instant(f, 1, 25, 9);
    fixture_end(f, 1, 30, false);
    fixture_begin_block(f, 1, 35);
    fixture_end(f, 1, 40, false);
    expect_steps(f, "(1 (2 . )2:20-30 )1:10-40");
}

static void whole_span_is_an_end(void **state)
{
    (void)state;
    uint64_t begin = 5;
    struct fixture *f = fixture_new(4096);
    fixture_begin(f, 1, 10, 1);
    fixture_extended(f, 1, 20, 2, TBED_EXT_SPAN, 0, &begin, 1);
    fixture_end(f, 1, 30, false);
    expect_steps(f, "(1 )2:5-20 )1:10-30");
}

static void span_that_never_ended_lasts_until_the_last_tick_of_its_stream(void **state)
{
    (void)state;
    struct fixture *f = fixture_new(4096);
    fixture_begin(f, 1, 10, 1);
    fixture_begin(f, 1, 20, 2);
    fixture_instant(f, 1, 30, 9);
    fixture_instant(f, 2, 50, 9);
    expect_steps(f, "(1 (2 . . !2:20-30 !1:10-30");
}

static void end_without_begin_is_unknown(void **state)
{
    (void)state;
    struct fixture *f = fixture_new(4096);
    fixture_event(f, 1, 10, TBED_TAG_END, 7, NULL, 0);
    fixture_begin(f, 1, 20, 1);
    fixture_end(f, 1, 30, false);
    expect_steps(f, "?7 (1 )1:20-30");
}

static void begin_before_the_first_block_is_taken_from_its_stack(void **state)
{
    (void)state;
    struct fixture *f = fixture_new(4096);
    f->left_open = true; /* nothing may be missing in a file that was closed */
    fixture_begin(f, 1, 10, 1);
    size_t lost = f->streams[1].page;
    fixture_begin_block(f, 1, 20);
    fixture_end(f, 1, 30, false);
    memset(fixture_page(f, lost), 0, f->page_nbytes);
    expect_steps(f, ")1:10-30");
}

/* 1 goes on over the gap; 2 and 3 end in it, or somewhere; 4 begins in it. */
static void gap_leaves_open_what_the_next_block_does_not_list(void **state)
{
    (void)state;
    struct fixture *f = fixture_new(4096);
    f->left_open = true;
    fixture_begin(f, 1, 10, 1);
    fixture_begin(f, 1, 20, 2);
    fixture_begin(f, 1, 30, 3);
    fixture_instant(f, 1, 35, 9);
    fixture_begin_block(f, 1, 40);
    size_t lost = f->streams[1].page;
    fixture_end(f, 1, 50, false);
    fixture_end(f, 1, 60, false);
    fixture_begin(f, 1, 70, 4);
    fixture_begin_block(f, 1, 80);
    fixture_end(f, 1, 90, false);
    fixture_end(f, 1, 100, false);
    memset(fixture_page(f, lost), 0, f->page_nbytes);
    expect_steps(f, "(1 (2 (3 . !3:30-35 !2:20-35 )4:70-90 )1:10-100");
}

/* The same name at the same depth, but a different call. */
static void gap_tells_spans_apart_by_their_begins(void **state)
{
    (void)state;
    struct fixture *f = fixture_new(4096);
    f->left_open = true;
    fixture_begin(f, 1, 10, 1);
    fixture_begin_block(f, 1, 20);
    size_t lost = f->streams[1].page;
    fixture_end(f, 1, 30, false);
    fixture_begin(f, 1, 40, 1);
    fixture_begin_block(f, 1, 50);
    fixture_end(f, 1, 60, false);
    memset(fixture_page(f, lost), 0, f->page_nbytes);
    expect_steps(f, "(1 !1:10-10 )1:40-60");
}

/* A block of 4 KiB stores 64. */
static void deep_spans_are_known_as_far_as_their_begins_were_read(void **state)
{
    (void)state;
    struct fixture *f = fixture_new(4096);
    for (uint32_t i = 0; i < 70; i++)
        fixture_begin(f, 1, 100 + i, i + 1);
    fixture_begin_block(f, 1, 200);
    for (uint32_t i = 0; i < 70; i++)
        fixture_end(f, 1, 300 + i, false);
    struct tbed_reader *reader = fixture_open(f);
    struct tbed_assembler *assembler;
    struct tbed_step step;
    uint32_t ends = 0;
    assert_int_equal(tbed_assembler_open(reader, NULL, 0, &assembler), TBED_OK);
    while (tbed_assembler_next(assembler, &step) == TBED_OK) {
        if (step.kind == TBED_STEP_BEGIN)
            continue;
        assert_int_equal(step.kind, TBED_STEP_END);
        assert_true(step.span->was_begun);
        assert_int_equal(step.span->id, 70 - ends);
        assert_int_equal(step.span->begin_tick, 169 - ends);
        assert_int_equal(step.depth, 69 - ends);
        ends++;
    }
    assert_int_equal(ends, 70);
    tbed_assembler_close(assembler);
    tbed_reader_close(reader);
    fixture_free(f);
}

/* Of 66 spans the block after the gap stores 64; the ends of the other two contain their begins. */
static void deep_spans_of_a_gap_are_known_from_their_ends(void **state)
{
    (void)state;
    char expected[4096];
    size_t used = 0;
    struct fixture *f = fixture_new(4096);
    f->left_open = true;
    for (unsigned i = 0; i < 66; i++) {
        fixture_begin(f, 1, 100 + i, i + 1);
        used += (size_t)sprintf(expected + used, "(%u ", i + 1);
    }
    fixture_begin_block(f, 1, 200);
    size_t lost = f->streams[1].page;
    fixture_begin_block(f, 1, 300);
    for (unsigned i = 66; i-- > 0;) {
        fixture_end(f, 1, 400 - i, false);
        used += (size_t)sprintf(expected + used, ")%u:%u-%u%s", i + 1, 100 + i, 400 - i, i > 0 ? " " : "");
    }
    memset(fixture_page(f, lost), 0, f->page_nbytes);
    expect_steps(f, expected);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(span_ends_with_its_end),
        cmocka_unit_test(whole_span_is_an_end),
        cmocka_unit_test(span_that_never_ended_lasts_until_the_last_tick_of_its_stream),
        cmocka_unit_test(end_without_begin_is_unknown),
        cmocka_unit_test(begin_before_the_first_block_is_taken_from_its_stack),
        cmocka_unit_test(gap_leaves_open_what_the_next_block_does_not_list),
        cmocka_unit_test(gap_tells_spans_apart_by_their_begins),
        cmocka_unit_test(deep_spans_are_known_as_far_as_their_begins_were_read),
        cmocka_unit_test(deep_spans_of_a_gap_are_known_from_their_ends),
    };
    return cmocka_run_group_tests_name("assembler", tests, NULL, NULL);
}
