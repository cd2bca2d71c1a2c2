/*
 * Thousands of spans that leave in the order in which they began, each with all later ones inside it: the assembler, which
 * remembers spans from block to block, forgets the outer ones and still tells what each block tells on its own.
 *
 * SPDX-License-Identifier: MIT
 */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdlib.h>
#include <tracebed/analysis.h>
#include <tracebed/recorder.h>
#include <unistd.h>

#include <cmocka.h>

#define SPANS   5000u
#define NESTED  600u /* the innermost, which end as spans do */
#define LEAVING (SPANS - NESTED)

static struct tbed_reader *make(char *path)
{
    static uint64_t begins[SPANS];
    struct tbed_writer_options options = {
        .size = sizeof options, .overwrite = true, .no_helper = true, .page_nbytes = 4096};
    struct tbed_writer *writer;
    struct tbed_reader *reader;
    assert_int_equal(tbed_writer_open(path, &options, &writer, NULL), TBED_OK);
    struct tbed_recorder *recorder = tbed_recorder_open(writer, "main");
    for (uint32_t i = 0; i < SPANS; i++) {
        tbed_span_begin(recorder, i + 1);
        begins[i] = tbed_kept_of(recorder)->top[-1].begin_tick;
    }
    for (uint32_t i = 0; i < LEAVING; i++)
        tbed_span_end_of(recorder, i + 1, begins[i]);
    for (uint32_t i = 0; i < NESTED; i++)
        tbed_span_end(recorder);
    tbed_writer_close(writer);
    assert_int_equal(tbed_reader_open(path, NULL, &reader, NULL), TBED_OK);
    return reader;
}

/* The id and the depth of the span that ends as number 'at'. */
static void expect_end(const struct tbed_step *step, uint32_t at)
{
    bool leaves = at < LEAVING;
    assert_int_equal(step->kind, TBED_STEP_END);
    assert_int_equal(step->span->id, leaves ? at + 1 : SPANS - (at - LEAVING));
    assert_int_equal(step->depth, leaves ? 0 : SPANS - at - 1);
}

static void spans_that_leave_outermost_first_are_all_known(void **state)
{
    (void)state;
    char path[] = "/tmp/deep-leaves-XXXXXX";
    close(mkstemp(path));
    struct tbed_reader *reader = make(path);
    struct tbed_assembler *assembler;
    struct tbed_step step;
    assert_int_equal(tbed_assembler_open(reader, NULL, 0, &assembler), TBED_OK);
    for (uint32_t i = 0; i < 2 * SPANS; i++) {
        assert_int_equal(tbed_assembler_next(assembler, &step), TBED_OK);
        if (i < SPANS)
            assert_int_equal(step.depth, i);
        else
            expect_end(&step, i - SPANS);
    }
    assert_int_equal(tbed_assembler_next(assembler, &step), TBED_END);
    tbed_assembler_close(assembler);
    tbed_reader_close(reader);
    unlink(path);
}

int main(void)
{
    const struct CMUnitTest tests[] = {cmocka_unit_test(spans_that_leave_outermost_first_are_all_known)};
    return cmocka_run_group_tests(tests, NULL, NULL);
}
