/*
 * Stacks with more paths than are kept: memory is bounded, every span still counts once, times add up, paths that take
 * most of the time are still there, and the number of threads changes nothing.
 *
 * Each stream repeats "main", with one long "work" and many short spans in random places, whose paths are nearly all
 * different.
 *
 * SPDX-License-Identifier: MIT
 */
#include "reader/tests/analysis/analysis_fixture.h"

#include <tracebed/analysis.h>

enum { STREAMS = 3, ROUNDS = 40, CHILDREN = 400, MAIN_ID = 1, WORK_ID = 2, FIRST_ID = 10, IDS = 30 };

struct made {
    struct fixture *fixture;
    uint32_t stream;
    uint64_t now, random;
    uint64_t span_count;
};

static uint64_t next_random(struct made *made)
{
    made->random = made->random * 6364136223846793005u + 1442695040888963407u;
    return made->random >> 33;
}

static void end_span(struct made *made, uint64_t begin_tick, uint32_t id)
{
    made->now++;
    fixture_extended(made->fixture, made->stream, made->now, id, TBED_EXT_SPAN, 0, &begin_tick, 1);
    made->span_count++;
}

/* A short span with one or two in it, down to a depth of six. */
static void make_short(struct made *made, unsigned depth)
{
    uint64_t begin_tick = ++made->now;
    uint32_t id = FIRST_ID + (uint32_t)(next_random(made) % IDS);
    for (unsigned i = 0; depth < 6 && i < 1 + next_random(made) % 2; i++)
        make_short(made, depth + 1);
    end_span(made, begin_tick, id);
}

static void make_stream(struct made *made)
{
    for (int round = 0; round < ROUNDS; round++) {
        uint64_t begin_tick = ++made->now, work_tick = ++made->now;
        made->now += 1000000;
        end_span(made, work_tick, WORK_ID);
        for (int i = 0; i < CHILDREN; i++)
            make_short(made, 1);
        end_span(made, begin_tick, MAIN_ID);
    }
}

static struct tbed_stacks *analyse(struct tbed_reader *reader, unsigned thread_count, uint64_t path_count_max)
{
    const struct tbed_stacks_options options = {
        .size = sizeof options, .thread_count = thread_count, .path_count_max = path_count_max};
    struct tbed_stacks *stacks = NULL;
    assert_int_equal(tbed_stacks_make(reader, &options, &stacks), TBED_OK);
    return stacks;
}

static void assert_same_rows(const struct tbed_stacks *one, const struct tbed_stacks *many)
{
    const struct tbed_stack_row *a, *b;
    for (size_t i = 0;; i++) {
        a = tbed_stacks_row(one, i);
        b = tbed_stacks_row(many, i);
        assert_int_equal(a == NULL, b == NULL);
        if (a == NULL)
            return;
        assert_string_equal(a->label, b->label);
        assert_int_equal(a->parent, b->parent);
        assert_int_equal(a->count, b->count);
        assert_int_equal(a->span_ticks, b->span_ticks);
        assert_int_equal(a->self_ticks, b->self_ticks);
        assert_int_equal(a->open_count, b->open_count);
    }
}

/* The figures of all rows. */
struct sums {
    size_t rows;
    uint64_t count, other_count, self_ticks;
};

static struct sums add_up(const struct tbed_stacks *stacks)
{
    const struct tbed_stack_row *row;
    struct sums sums = {0};
    for (; (row = tbed_stacks_row(stacks, sums.rows)) != NULL; sums.rows++) {
        sums.self_ticks += row->self_ticks;
        sums.count += row->depth > 0 ? row->count : 0;
        sums.other_count += strcmp(row->label, "<other>") == 0 ? row->count : 0;
        assert_true(strcmp(row->label, "<other>") != 0 || row->depth > 0);
    }
    return sums;
}

static const struct tbed_stack_row *find_row(const struct tbed_stacks *stacks, const char *label,
                                             uint32_t depth)
{
    const struct tbed_stack_row *row;
    for (size_t i = 0; (row = tbed_stacks_row(stacks, i)) != NULL; i++)
        if (row->depth == depth && strcmp(row->label, label) == 0)
            return row;
    fail_msg("no row %s", label);
    return NULL;
}

static void the_shortest_of_too_many_paths_become_one(void **state)
{
    struct fixture *fixture = fixture_new(4096);
    struct tbed_stacks_totals all_totals, totals;
    uint64_t span_count = 0;
    (void)state;
    for (uint32_t stream = 1; stream <= STREAMS; stream++) {
        struct made made = {.fixture = fixture, .stream = stream, .random = stream};
        make_stream(&made);
        span_count += made.span_count;
    }
    struct tbed_reader *reader = fixture_open(fixture);
    struct tbed_stacks *all = analyse(reader, 1, 100000000), *few = analyse(reader, 1, STREAMS * 8192);
    tbed_stacks_totals(all, &all_totals);
    tbed_stacks_totals(few, &totals);
    struct sums all_sums = add_up(all), sums = add_up(few);
    assert_int_equal(all_totals.folded_count, 0);
    assert_int_equal(all_totals.span_count, span_count);
    assert_int_equal(totals.span_count, span_count);
    assert_int_equal(sums.count, span_count);
    assert_int_equal(sums.self_ticks, all_sums.self_ticks);
    assert_int_equal(sums.other_count, totals.folded_count);
    assert_true(all_sums.rows > 100000);
    assert_in_range(sums.rows, 1000, 30000);
    const struct tbed_stack_row *work = find_row(few, "<id 2>", 2);
    assert_int_equal(work->count, STREAMS * ROUNDS);
    assert_int_equal(work->span_ticks, find_row(all, "<id 2>", 2)->span_ticks);
    for (unsigned threads = 2; threads <= 4; threads++) {
        struct tbed_stacks *many = analyse(reader, threads, STREAMS * 8192);
        assert_same_rows(few, many);
        tbed_stacks_close(many);
    }
    tbed_stacks_close(all);
    tbed_stacks_close(few);
    tbed_reader_close(reader);
    fixture_free(fixture);
}

int main(void)
{
    const struct CMUnitTest tests[] = {cmocka_unit_test(the_shortest_of_too_many_paths_become_one)};
    return cmocka_run_group_tests(tests, NULL, NULL);
}
