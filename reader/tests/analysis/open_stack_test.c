/*
 * Which span an END ends, and what is known of it: the stack's word against that of the event.
 *
 * SPDX-License-Identifier: MIT
 */
#include "reader/analysis/assembly/open_stack.h"

#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>

enum { OUTER = 1, INNER = 2, OTHER = 3, CATEGORY = 5 };

/* Spans that began at 10 and 20. */
static void open_two(struct open_stack *stack)
{
    *stack = (struct open_stack){0};
    assert_true(tbed_open_stack_reserve(stack, 2));
    struct tbed_assembled span;
    struct tbed_event event = {.type = TBED_EVENT_BEGIN, .tick = 10, .id = OUTER, .category = CATEGORY};
    assert_int_equal(tbed_open_stack_take(stack, &event, &span), TBED_STEP_BEGIN);
    event.tick = 20;
    event.id = INNER;
    assert_int_equal(tbed_open_stack_take(stack, &event, &span), TBED_STEP_BEGIN);
}

static struct tbed_event end_at(uint64_t tick, uint64_t begin_tick, uint32_t id)
{
    struct tbed_event event = {.type = TBED_EVENT_END, .tick = tick, .id = id};
    event.of.end.begin_tick = begin_tick;
    return event;
}

static void expect_end(struct open_stack *stack, struct tbed_event event, uint64_t begin_tick, uint32_t id,
                       uint32_t category)
{
    struct tbed_assembled span;
    assert_int_equal(tbed_open_stack_take(stack, &event, &span), TBED_STEP_END);
    assert_int_equal(span.begin_tick, begin_tick);
    assert_int_equal(span.end_tick, event.tick);
    assert_int_equal(span.id, id);
    assert_int_equal(span.category, category);
}

static void end_that_agrees_has_what_the_begin_said(void **state)
{
    struct open_stack stack;
    (void)state;
    open_two(&stack);
    expect_end(&stack, end_at(30, 20, OTHER), 20, INNER, CATEGORY);
    assert_int_equal(stack.count, 1);
    tbed_open_stack_free(&stack);
}

static void end_without_a_begin_takes_it_from_the_stack(void **state)
{
    struct open_stack stack;
    (void)state;
    open_two(&stack);
    expect_end(&stack, end_at(30, 0, OTHER), 20, INNER, CATEGORY);
    expect_end(&stack, end_at(40, 0, OTHER), 10, OUTER, CATEGORY);
    tbed_open_stack_free(&stack);
}

static void end_that_contradicts_the_stack_counts(void **state)
{
    struct open_stack stack;
    (void)state;
    open_two(&stack);
    expect_end(&stack, end_at(30, 15, OTHER), 15, OTHER, TBED_ID_INVALID);
    assert_int_equal(stack.count, 1); /* it has ended the innermost nevertheless */
    expect_end(&stack, end_at(40, 10, OUTER), 10, OUTER, CATEGORY);
    tbed_open_stack_free(&stack);
}

static void end_without_any_begin_has_an_unknown_one(void **state)
{
    struct open_stack stack = {.deep = 1};
    struct tbed_assembled span;
    struct tbed_event event = end_at(30, 0, OTHER);
    (void)state;
    assert_int_equal(tbed_open_stack_take(&stack, &event, &span), TBED_STEP_UNKNOWN);
    assert_int_equal(stack.deep, 0);
    assert_int_equal(tbed_open_stack_take(&stack, &event, &span), TBED_STEP_UNKNOWN);
    assert_int_equal(stack.deep, 0);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(end_that_agrees_has_what_the_begin_said),
        cmocka_unit_test(end_without_a_begin_takes_it_from_the_stack),
        cmocka_unit_test(end_that_contradicts_the_stack_counts),
        cmocka_unit_test(end_without_any_begin_has_an_unknown_one),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
