/*
 * Statistics read a stream with a fast loop as long as it contains only begins and ends, and with the general code
 * otherwise. Random traces, with everything that distinguishes the two, are analysed both ways, by stacks, and with a
 * plain list of the assembler's spans: all figures must agree.
 *
 * SPDX-License-Identifier: MIT
 */
#include "format/argument.h"
#include "reader/analysis/trace/trace_worker.h"
#include "reader/tests/analysis/analysis_fixture.h"

#include <stdio.h>
#include <tracebed/analysis.h>

#define IDS     12u
#define STREAMS 3u

/* ---- Random traces ---- */

enum { ODD_NOTHING, ODD_WHOLE, ODD_BACK, ODD_UNKNOWN, ODD_LEAVE, ODD_CATEGORY, ODD_COUNTER, ODD_COUNT };

/* A COUNTER of each type of number in turn. */
static void odd_counter(struct fixture *f, uint32_t stream, uint64_t tick, uint32_t id, uint64_t *random)
{
    uint32_t type = TBED_ARG_U64 + fixture_random(random) % 3;
    double number = (double)(fixture_random(random) % 1000) - 500;
    uint64_t words[3] = {
        tbed_extended_head_make(
            (struct tbed_extended_head){.type = TBED_EXT_COUNTER, .argument_count = 1, .nwords = 3}),
        tbed_argument_head_make((struct tbed_argument_head){.type = type, .nbytes = 8, .name_id = 1}),
        (uint64_t)(int64_t)number,
    };
    if (type == TBED_ARG_F64)
        memcpy(&words[2], &number, sizeof number);
    fixture_event(f, stream, tick, TBED_TAG_EXTENDED, id, words, 3);
}

static void odd_event(struct fixture *f, uint32_t stream, uint64_t tick, unsigned odd, uint32_t id,
                      uint64_t *random)
{
    uint64_t begin = tick - fixture_random(random) % 200;
    switch (odd) {
    case ODD_WHOLE:
        fixture_extended(f, stream, tick, id, TBED_EXT_SPAN, 0, &begin, 1);
        break;
    case ODD_UNKNOWN:
        if (f->streams[stream].depth == 0)
            fixture_event(f, stream, tick, TBED_TAG_END, id, NULL, 0);
        break;
    case ODD_LEAVE:
        if (f->streams[stream].depth > 0 && f->streams[stream].begun > 0) {
            uint64_t ends[2] = {0, fixture_random(random) % 2 ? tick + 50 : 0};
            f->streams[stream].depth--;
            f->streams[stream].begun--;
            fixture_extended(f, stream, tick, id, TBED_EXT_LEAVE, 0, ends, 2);
        }
        break;
    case ODD_CATEGORY:
        fixture_instant(f, stream, tick, id);
        break;
    case ODD_COUNTER:
        odd_counter(f, stream, tick, id, random);
        break;
    default:
        break;
    }
}

/* Of 100 events. Where a stream may get deeper than a block stores, its depth rises and falls in long waves. */
static uint32_t begin_share(uint32_t depth_max, uint32_t event)
{
    if (depth_max <= 64)
        return 48;
    return event / 400 % 2 == 0 ? 75 : 25;
}

/* 'odd' happens now and then, late enough for the fast loop to have begun. */
static void random_stream(struct fixture *f, uint32_t stream, unsigned odd, uint32_t depth_max,
                          uint64_t *random)
{
    uint64_t tick = 1000;
    for (uint32_t i = 0; i < 4000; i++) {
        uint32_t dice = fixture_random(random) % 100, id = 1 + fixture_random(random) % IDS;
        struct fixture_stream *s = &f->streams[stream];
        tick += fixture_random(random) % 7;
        if (odd == ODD_BACK && i > 1500 && dice == 0 && s->page != 0 && tick > s->base + 20)
            tick -= 20;
        if (i > 1500 && dice == 1)
            odd_event(f, stream, tick, odd, id, random);
        else if (s->depth < depth_max && (dice < begin_share(depth_max, i) || s->depth == 0))
            fixture_begin(f, stream, tick, id);
        else if (dice < 95 && s->depth > 0)
            fixture_end(f, stream, tick, false);
        else
            fixture_instant(f, stream, tick, id);
    }
}

/* Some blocks in the middle are lost. */
static void lose_blocks(struct fixture *f, uint64_t *random)
{
    for (size_t page = 2; page + 1 < f->page_count; page++)
        if (fixture_random(random) % 6 == 0)
            memset(fixture_page(f, page), 0, f->page_nbytes);
}

/* ---- The list of all spans ---- */

struct listed {
    uint64_t begin, end, children;
    uint32_t id, stream;
    bool is_open;
};

struct list {
    struct listed *items;
    size_t count;
    uint64_t unknown[IDS + 1];
};

static void list_spans(struct list *list, struct tbed_reader *reader)
{
    struct tbed_assembler *assembler;
    struct tbed_step step;
    size_t room = 0;
    *list = (struct list){0};
    assert_int_equal(tbed_assembler_open(reader, NULL, 0, &assembler), TBED_OK);
    while (tbed_assembler_next(assembler, &step) == TBED_OK) {
        if (step.kind == TBED_STEP_UNKNOWN)
            list->unknown[step.span->id]++;
        if (step.kind != TBED_STEP_END && step.kind != TBED_STEP_OPEN)
            continue;
        if (list->count == room)
            list->items = realloc(list->items, (room = room * 2 + 64) * sizeof *list->items);
        assert_non_null(list->items);
        struct listed *item = &list->items[list->count++];
        *item = (struct listed){step.span->begin_tick, step.span->end_tick, 0,
                                step.span->id,         step.span->stream,   step.kind == TBED_STEP_OPEN};
        item->begin = item->begin > item->end ? item->end : item->begin;
    }
    tbed_assembler_close(assembler);
}

/* As the header describes it: backwards, with a stack. */
static void find_parents(struct list *list, uint32_t stream)
{
    size_t *stack = calloc(list->count + 1, sizeof *stack), depth = 0;
    assert_non_null(stack);
    for (size_t i = list->count; i-- > 0;) {
        const struct listed *item = &list->items[i];
        if (item->stream != stream)
            continue;
        while (depth > 0 && !(list->items[stack[depth - 1]].begin <= item->begin &&
                              item->end <= list->items[stack[depth - 1]].end))
            depth--;
        if (depth > 0)
            list->items[stack[depth - 1]].children += item->end - item->begin;
        stack[depth++] = i;
    }
    free(stack);
}

/* ---- Comparing ---- */

static const struct tbed_span_row *row_of(const struct tbed_statistics *statistics, uint32_t id)
{
    const struct tbed_span_row *row;
    for (size_t i = 0; (row = tbed_statistics_span(statistics, i)) != NULL; i++)
        if (row->id == id)
            return row;
    return NULL;
}

static void expect_listed(const struct list *list, const struct tbed_statistics *statistics, uint32_t id)
{
    static const struct tbed_span_row none;
    const struct tbed_span_row *row = row_of(statistics, id);
    uint64_t count = 0, open = 0, total = 0, self = 0;
    row = row != NULL ? row : &none;
    for (size_t i = 0; i < list->count; i++) {
        const struct listed *item = &list->items[i];
        if (item->id != id)
            continue;
        count++;
        open += item->is_open;
        total += item->end - item->begin;
        self += item->end - item->begin - item->children;
    }
    assert_int_equal(row->count, count);
    assert_int_equal(row->open_count, open);
    assert_int_equal(row->total_ticks, total);
    assert_int_equal(row->self_ticks, self > INT64_MAX ? 0 : self);
    assert_int_equal(row->unknown_count, list->unknown[id]);
}

static void expect_same_row(const struct tbed_span_row *a, const struct tbed_span_row *b)
{
    assert_int_equal(a->id, b->id);
    assert_int_equal(a->count, b->count);
    assert_int_equal(a->total_ticks, b->total_ticks);
    assert_int_equal(a->self_ticks, b->self_ticks);
    assert_int_equal(a->open_count, b->open_count);
    assert_int_equal(a->unknown_count, b->unknown_count);
    assert_int_equal(a->min_ticks, b->min_ticks);
    assert_int_equal(a->max_ticks, b->max_ticks);
    assert_int_equal(a->p50_ticks, b->p50_ticks);
    assert_int_equal(a->p999_ticks, b->p999_ticks);
}

static void expect_same_counters(const struct tbed_statistics *left, const struct tbed_statistics *right)
{
    const struct tbed_counter_row *a, *b;
    for (size_t i = 0; (a = tbed_statistics_counter(left, i)) != NULL; i++) {
        b = tbed_statistics_counter(right, i);
        assert_non_null(b);
        assert_int_equal(a->id, b->id);
        assert_int_equal(a->count, b->count);
        assert_true(a->last == b->last && a->min == b->min && a->max == b->max);
    }
}

static void expect_same(const struct tbed_statistics *left, const struct tbed_statistics *right)
{
    struct tbed_statistics_totals a, b;
    size_t i = 0;
    tbed_statistics_totals(left, &a);
    tbed_statistics_totals(right, &b);
    for (; tbed_statistics_span(left, i) != NULL && tbed_statistics_span(right, i) != NULL; i++)
        expect_same_row(tbed_statistics_span(left, i), tbed_statistics_span(right, i));
    assert_true(tbed_statistics_span(left, i) == NULL && tbed_statistics_span(right, i) == NULL);
    expect_same_counters(left, right);
    assert_int_equal(a.counter_count, b.counter_count);
    assert_int_equal(a.event_count, b.event_count);
    assert_int_equal(a.begin_count, b.begin_count);
    assert_int_equal(a.end_count, b.end_count);
    assert_int_equal(a.instant_count, b.instant_count);
    assert_int_equal(a.span_count, b.span_count);
    assert_int_equal(a.open_span_count, b.open_span_count);
    assert_int_equal(a.unknown_begin_count, b.unknown_begin_count);
    assert_int_equal(a.span_ticks, b.span_ticks);
    assert_int_equal(a.stream_count, b.stream_count);
    assert_int_equal(a.inverted_count, b.inverted_count);
    assert_int_equal(a.block_count, b.block_count);
}

/* Summed by label. */
static void expect_stacks(const struct tbed_statistics *statistics, struct tbed_reader *reader)
{
    struct tbed_stacks *stacks;
    const struct tbed_stack_row *row;
    const struct tbed_span_row *span;
    assert_int_equal(tbed_stacks_make(reader, NULL, &stacks), TBED_OK);
    for (size_t i = 0; (span = tbed_statistics_span(statistics, i)) != NULL; i++) {
        uint64_t count = 0, open = 0, total = 0;
        int64_t self = 0;
        for (size_t k = 0; (row = tbed_stacks_row(stacks, k)) != NULL; k++)
            if (row->depth > 0 && strcmp(row->label, span->name) == 0) {
                count += row->count;
                open += row->open_count;
                total += row->span_ticks;
                self += row->signed_self_ticks;
            }
        assert_int_equal(count, span->count);
        assert_int_equal(open, span->open_count);
        assert_int_equal(total, span->total_ticks);
        assert_int_equal(self < 0 ? 0 : self, span->self_ticks);
    }
    tbed_stacks_close(stacks);
}

static void expect_agreement(struct fixture *f, unsigned threads)
{
    struct tbed_reader *reader = fixture_open(f);
    struct tbed_analysis_options options = {.size = sizeof options, .thread_count = threads};
    struct tbed_statistics *fast, *general;
    struct list list;
    list_spans(&list, reader);
    for (uint32_t stream = 1; stream <= STREAMS; stream++)
        find_parents(&list, stream);
    assert_int_equal(tbed_stat_make_trace(reader, &options, false, &fast), TBED_OK);
    assert_int_equal(tbed_stat_make_trace(reader, &options, true, &general), TBED_OK);
    expect_same(fast, general);
    for (uint32_t id = 1; id <= IDS; id++)
        expect_listed(&list, general, id);
    expect_stacks(general, reader);
    tbed_statistics_close(fast);
    tbed_statistics_close(general);
    free(list.items);
    tbed_reader_close(reader);
    fixture_free(f);
}

/* Spans that a parent has begun; a fork gives them the tick 1. */
static void inherit(struct fixture_stream *stream, uint64_t *random)
{
    stream->depth = stream->inherited = fixture_random(random) % 40;
    for (uint32_t i = 0; i < stream->depth; i++) {
        stream->stack[i].tick = 1;
        stream->stack[i].id = 1 + fixture_random(random) % IDS;
    }
}

static void run(unsigned odd, uint32_t depth_max, bool loses)
{
    for (uint64_t seed = 1; seed <= 8; seed++) {
        uint64_t random = seed * 0x9E3779B97F4A7C15u + odd;
        struct fixture *f = fixture_new(4096);
        f->left_open = loses; /* nothing may be missing in a file that was closed */
        inherit(&f->streams[1], &random);
        for (uint32_t stream = 1; stream <= STREAMS; stream++)
            random_stream(f, stream, stream == 2 ? odd : ODD_NOTHING, depth_max, &random);
        if (loses)
            lose_blocks(f, &random);
        expect_agreement(f, (unsigned)(seed % 3 + 1));
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
        cmocka_unit_test(blocks_that_are_missing_agree),
        cmocka_unit_test(spans_deeper_than_a_block_stores_agree),
        cmocka_unit_test(deep_spans_with_missing_blocks_agree),
        cmocka_unit_test(streams_that_turn_out_to_be_different_agree),
        cmocka_unit_test(different_streams_with_missing_blocks_agree),
    };
    return cmocka_run_group_tests_name("statistics_ways", tests, NULL, NULL);
}
