/*
 * Spans end where they should: after a jump out of them, and in fibers that are suspended inside them.
 *
 * SPDX-License-Identifier: MIT
 */
#include "writer/tests/support.h"

#include <setjmp.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <ucontext.h>

/* Begins and ends as letters: "ab" "BA" for two nested spans. Each name has one letter. */
static void spell(struct tbed_reader *reader, const char *stream, char *text)
{
    size_t count;
    struct tbed_event *events = test_events(reader, test_stream_named(reader, stream), &count);
    assert_true(count < 64);
    for (size_t i = 0; i < count; i++) {
        char name[8];
        size_t nbytes;
        assert_int_equal(tbed_string_resolve(reader, events[i].id, name, sizeof name, &nbytes), TBED_OK);
        assert_true(i == 0 || events[i].tick >= events[i - 1].tick);
        text[i] = events[i].type == TBED_EVENT_END ? (char)(name[0] - 'a' + 'A') : name[0];
    }
    text[count] = 0;
    free(events);
}

static void assert_stream(struct tbed_reader *reader, const char *stream, const char *expected)
{
    char text[64];
    spell(reader, stream, text);
    assert_string_equal(text, expected);
}

/* ---- Jumps ---- */

static jmp_buf target;

static void jump(void)
{
    TBED_BEGIN("b");
    TBED_SPAN("c");
    longjmp(target, 1);
}

static void call_and_jump(void)
{
    TBED_SPAN("b");
    jump();
}

static void a_jump_ends_the_spans_that_it_leaves(void **state)
{
    (void)state;
    const char *path = test_path("jump.tbed");
    assert_int_equal(tbed_start(path, NULL), TBED_OK);
    tbed_thread_name_set("jumps");
    {
        TBED_SPAN("a");
        volatile uint32_t depth = TBED_DEPTH();
        assert_int_equal(depth, 1);
        if (setjmp(target) == 0)
            call_and_jump();
        assert_int_equal(TBED_DEPTH(), 4);
        TBED_END_TO(depth);
        assert_int_equal(TBED_DEPTH(), 1);
        TBED_END_TO(depth); /* nothing is above */
        TBED_SPAN("d");
    }
    tbed_stop();
    struct tbed_reader *reader = test_reader_open(path, true);
    assert_stream(reader, "jumps", "abbcCBBdDA");
    assert_int_equal(test_drop_count(reader), 0);
    tbed_reader_close(reader);
}

static void without_a_trace_depths_are_0(void **state)
{
    (void)state;
    assert_int_equal(TBED_DEPTH(), 0);
    TBED_END_TO(0);
    struct tbed_recorder *none = tbed_recorder_open(NULL, NULL);
    assert_int_equal(tbed_span_depth(none), 0);
    tbed_span_end_to(none, 0);
}

/* More spans than a block stores, and than the recorder knows: all ends are there, with their begins. */
static void deep_spans_end_across_pages(void **state)
{
    (void)state;
    const uint32_t deep = 3000;
    const char *path = test_path("deep.tbed");
    const struct tbed_writer_options options = {.page_nbytes = 4096};
    struct tbed_writer *writer = test_writer_open(path, &options);
    struct tbed_recorder *recorder = tbed_recorder_open(writer, "deep");
    uint32_t id = tbed_string_intern(writer, "a", 1);
    for (uint32_t i = 0; i < deep; i++)
        tbed_span_begin(recorder, id);
    assert_int_equal(tbed_span_depth(recorder), deep);
    tbed_span_end_to(recorder, 7);
    assert_int_equal(tbed_span_depth(recorder), 7);
    tbed_span_end_to(recorder, 0);
    tbed_writer_close(writer);
    struct tbed_reader *reader = test_reader_open(path, true);
    size_t count;
    struct tbed_event *events = test_events(reader, test_stream_named(reader, "deep"), &count);
    assert_int_equal(count, 2 * deep);
    for (size_t i = 0; i < count; i++) {
        assert_int_equal(events[i].type, i < deep ? TBED_EVENT_BEGIN : TBED_EVENT_END);
        assert_int_equal(events[i].id, id);
        assert_true(i == 0 || events[i].tick >= events[i - 1].tick);
    }
    free(events);
    tbed_reader_close(reader);
}

/* ---- Fibers ---- */

struct fiber {
    struct tbed_track track;
    ucontext_t context;
    char stack[65536];
};

static struct fiber fibers[2] = {{.track = TBED_TRACK("one")}, {.track = TBED_TRACK("two")}};
static ucontext_t scheduler;

static void yield(struct fiber *fiber)
{
    swapcontext(&fiber->context, &scheduler);
}

static void resume(struct fiber *fiber)
{
    tbed_fiber_enter(&fiber->track);
    swapcontext(&scheduler, &fiber->context);
    tbed_fiber_enter(NULL);
}

static void work(int index)
{
    struct fiber *fiber = &fibers[index];
    TBED_SPAN("f");
    yield(fiber);
    {
        TBED_SPAN("g");
        yield(fiber);
    }
    yield(fiber);
}

static void prepare(int index)
{
    struct fiber *fiber = &fibers[index];
    getcontext(&fiber->context);
    fiber->context.uc_stack.ss_sp = fiber->stack;
    fiber->context.uc_stack.ss_size = sizeof fiber->stack;
    fiber->context.uc_link = &scheduler;
    makecontext(&fiber->context, (void (*)(void))work, 1, index);
}

static void spans_of_fibers_stay_open_across_switches(void **state)
{
    (void)state;
    for (int round = 0; round < 2; round++) { /* the second trace finds the tracks of the first */
        const char *path = test_path("fibers.tbed");
        assert_int_equal(tbed_start(path, NULL), TBED_OK);
        tbed_thread_name_set("main");
        prepare(0);
        prepare(1);
        {
            TBED_SPAN("m");
            for (int step = 0; step < 4; step++)
                for (int i = 0; i < 2; i++) {
                    TBED_SPAN("r");
                    resume(&fibers[i]);
                }
        }
        tbed_stop();
        struct tbed_reader *reader = test_reader_open(path, true);
        assert_stream(reader, "one", "fgGF");
        assert_stream(reader, "two", "fgGF");
        assert_stream(reader, "main", "mrRrRrRrRrRrRrRrRM");
        tbed_reader_close(reader);
    }
}

/* A trace that is stopped and started while a fiber runs: the thread is back in its own stream. */
static void a_new_trace_begins_in_the_threads_own_stream(void **state)
{
    (void)state;
    const char *path = test_path("restarted.tbed");
    assert_int_equal(tbed_start(test_path("first.tbed"), NULL), TBED_OK);
    tbed_fiber_enter(&fibers[0].track);
    TBED_INSTANT("f");
    tbed_stop();
    tbed_fiber_enter(NULL); /* does nothing */
    assert_int_equal(tbed_start(path, NULL), TBED_OK);
    tbed_thread_name_set("main");
    TBED_INSTANT("m");
    tbed_fiber_enter(&fibers[0].track);
    TBED_INSTANT("f");
    tbed_fiber_enter(NULL);
    TBED_INSTANT("n");
    tbed_stop();
    struct tbed_reader *reader = test_reader_open(path, true);
    assert_stream(reader, "main", "mn");
    assert_stream(reader, "one", "f");
    tbed_reader_close(reader);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(without_a_trace_depths_are_0),
        cmocka_unit_test(a_jump_ends_the_spans_that_it_leaves),
        cmocka_unit_test(deep_spans_end_across_pages),
        cmocka_unit_test(spans_of_fibers_stay_open_across_switches),
        cmocka_unit_test(a_new_trace_begins_in_the_threads_own_stream),
    };
    return cmocka_run_group_tests_name("session_unwind", tests, NULL, NULL);
}
