/*
 * The analyses on more threads than there are processors, for ThreadSanitizer to watch: the same figures
 * every time.
 *
 * SPDX-License-Identifier: MIT
 */
#include "reader/tests/analysis/analysis_fixture.h"

#include <stdio.h>
#include <tracebed/analysis.h>

/* Spans, counters, asynchronous spans and allocations on all streams, two to a process; one family. */
static struct fixture *make_busy_trace(void)
{
    struct fixture *f = fixture_new(4096);
    uint64_t random = 12345, tick = 0;
    for (uint32_t stream = 1; stream <= FIXTURE_STREAMS; stream++)
        fixture_stream_record(f, stream, 1 + (stream - 1) / 2);
    for (uint32_t process = 1; process <= FIXTURE_STREAMS / 2; process++)
        fixture_fork(f, process, 100 + process, process / 2, 10000 * process);
    for (uint32_t i = 0; i < 30000; i++) {
        uint32_t dice = fixture_random(&random), stream = 1 + dice % FIXTURE_STREAMS;
        uint64_t key = dice % 37;
        tick += 1 + dice % 5;
        if (dice % 7 == 0)
            fixture_counter(f, stream, tick, 200 + dice % 3, dice % 1000);
        else if (dice % 7 == 1)
            fixture_extended(f, stream, tick, 300, dice % 2 ? TBED_EXT_ASYNC_BEGIN : TBED_EXT_ASYNC_END, 0,
                             &key, 1);
        else if (dice % 7 == 2)
            fixture_alloc(f, stream, tick, dice % 11, 16 * (1 + key), dice % 500);
        else if (dice % 7 == 3)
            fixture_release(f, stream, tick, 16 * (1 + key));
        else if (f->streams[stream].depth < 200 && (dice >> 20) % 2 == 0)
            fixture_begin(f, stream, tick, 100 + (dice >> 8) % 50);
        else if (f->streams[stream].depth > 0)
            fixture_end(f, stream, tick, false);
    }
    return f;
}

/* The rows differ in where their names are, and in nothing else. */
static void expect_same_rows(const struct tbed_span_row *a, const struct tbed_span_row *b)
{
    assert_true((a == NULL) == (b == NULL));
    if (a == NULL)
        return;
    struct tbed_span_row x = *a, y = *b;
    assert_string_equal(x.name, y.name);
    x.name = y.name = NULL;
    assert_memory_equal(&x, &y, sizeof x);
}

static void expect_same(const struct tbed_statistics *a, const struct tbed_statistics *b)
{
    struct tbed_statistics_totals x, y;
    tbed_statistics_totals(a, &x);
    tbed_statistics_totals(b, &y);
    assert_memory_equal(&x, &y, sizeof x);
    for (size_t i = 0; i < 100; i++) {
        expect_same_rows(tbed_statistics_span(a, i), tbed_statistics_span(b, i));
        expect_same_rows(tbed_statistics_async(a, i), tbed_statistics_async(b, i));
    }
    for (size_t i = 0; i < 3; i++) {
        const struct tbed_counter_row *c = tbed_statistics_counter(a, i), *d = tbed_statistics_counter(b, i);
        assert_int_equal(c->count, d->count);
        assert_true(c->last == d->last && c->min == d->min && c->max == d->max);
    }
}

static void statistics_do_not_depend_on_threads(void **state)
{
    struct fixture *f = make_busy_trace();
    struct tbed_reader *reader = fixture_open(f);
    struct tbed_analysis_options options = {.size = sizeof options, .thread_count = 1};
    struct tbed_statistics *one = NULL;
    (void)state;
    assert_int_equal(tbed_statistics_make(reader, &options, &one), TBED_OK);
    for (options.thread_count = 2; options.thread_count <= 9; options.thread_count++) {
        struct tbed_statistics *many = NULL;
        assert_int_equal(tbed_statistics_make(reader, &options, &many), TBED_OK);
        expect_same(one, many);
        tbed_statistics_close(many);
    }
    tbed_statistics_close(one);
    tbed_reader_close(reader);
    fixture_free(f);
}

static void allocations_do_not_depend_on_threads(void **state)
{
    struct fixture *f = make_busy_trace();
    struct tbed_reader *reader = fixture_open(f);
    struct tbed_analysis_options options = {.size = sizeof options, .thread_count = 1};
    struct tbed_allocations *one = NULL, *many = NULL;
    (void)state;
    assert_int_equal(tbed_allocations_make(reader, &options, &one), TBED_OK);
    options.thread_count = 4;
    assert_int_equal(tbed_allocations_make(reader, &options, &many), TBED_OK);
    for (size_t i = 0; i < 4; i++)
        assert_memory_equal(tbed_allocations_process(one, i), tbed_allocations_process(many, i),
                            sizeof(struct tbed_allocation_process));
    for (size_t i = 0; i < 11; i++)
        assert_memory_equal(&tbed_allocations_site(one, i)->sums, &tbed_allocations_site(many, i)->sums,
                            sizeof(struct tbed_allocation_sums));
    tbed_allocations_close(one);
    tbed_allocations_close(many);
    tbed_reader_close(reader);
    fixture_free(f);
}

/* Random spans over all streams, of 200 names in 40 labels. */
static struct fixture *make_spans(void)
{
    struct fixture *f = fixture_new(4096);
    uint64_t random = 777, tick = 100;
    uint32_t names[200];
    for (uint32_t i = 0; i < 200; i++) {
        char text[32];
        snprintf(text, sizeof text, "label %u\x1e%u", i % 40, i);
        names[i] = fixture_string(f, text);
    }
    for (uint32_t i = 0; i < 20000; i++) {
        uint32_t dice = fixture_random(&random);
        uint64_t begin = (tick += dice % 3) - dice % 90;
        fixture_extended(f, 1 + dice % FIXTURE_STREAMS, tick, names[(dice >> 8) % 200], TBED_EXT_SPAN, 0,
                         &begin, 1);
    }
    return f;
}

static void stacks_do_not_depend_on_threads(void **state)
{
    struct fixture *f = make_spans();
    struct tbed_reader *reader = fixture_open(f);
    struct tbed_stacks_options options = {.size = sizeof options, .thread_count = 1};
    struct tbed_stacks *one = NULL;
    const struct tbed_stack_row *row;
    (void)state;
    assert_int_equal(tbed_stacks_make(reader, &options, &one), TBED_OK);
    for (options.thread_count = 2; options.thread_count <= 8; options.thread_count += 3) {
        struct tbed_stacks *many = NULL;
        struct tbed_stacks_totals x, y;
        size_t count = 0;
        assert_int_equal(tbed_stacks_make(reader, &options, &many), TBED_OK);
        tbed_stacks_totals(one, &x);
        tbed_stacks_totals(many, &y);
        assert_memory_equal(&x, &y, sizeof x);
        for (; (row = tbed_stacks_row(one, count)) != NULL; count++) {
            struct tbed_stack_row a = *row, b = *tbed_stacks_row(many, count);
            assert_string_equal(a.label, b.label);
            a.label = b.label = NULL;
            assert_memory_equal(&a, &b, sizeof a);
        }
        assert_null(tbed_stacks_row(many, count));
        assert_true(count > 1000);
        tbed_stacks_close(many);
    }
    tbed_stacks_close(one);
    tbed_reader_close(reader);
    fixture_free(f);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(statistics_do_not_depend_on_threads),
        cmocka_unit_test(allocations_do_not_depend_on_threads),
        cmocka_unit_test(stacks_do_not_depend_on_threads),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
