/*
 * The list of all spans; see span_list.h.
 *
 * SPDX-License-Identifier: MIT
 */
#include "reader/tests/analysis/span_list.h"

struct listed listed_of(const struct tbed_step *step)
{
    const struct tbed_assembled *span = step->span;
    struct listed item = {.begin = span->begin_tick,
                          .end = span->end_tick,
                          .id = span->id,
                          .stream = span->stream,
                          .is_open = step->kind == TBED_STEP_OPEN,
                          .is_unknown = step->kind == TBED_STEP_UNKNOWN};
    item.begin = item.begin > item.end ? item.end : item.begin;
    if (item.is_unknown)
        item.begin = item.end = step->event != NULL ? step->event->tick : span->end_tick;
    return item;
}

void list_spans(struct list *list, struct tbed_reader *reader)
{
    struct tbed_assembler *assembler;
    struct tbed_step step;
    size_t room = 0;
    *list = (struct list){0};
    assert_int_equal(tbed_assembler_open(reader, NULL, 0, &assembler), TBED_OK);
    while (tbed_assembler_next(assembler, &step) == TBED_OK) {
        if (step.kind == TBED_STEP_BEGIN || step.kind == TBED_STEP_EVENT)
            continue;
        if (list->count == room)
            list->items = realloc(list->items, (room = room * 2 + 64) * sizeof *list->items);
        assert_non_null(list->items);
        list->items[list->count++] = listed_of(&step);
    }
    tbed_assembler_close(assembler);
}

static int compare_listed(const void *left, const void *right)
{
    const struct listed *a = left, *b = right;
    if (a->stream != b->stream)
        return a->stream < b->stream ? -1 : 1;
    if (a->end != b->end)
        return a->end < b->end ? -1 : 1;
    if (a->begin != b->begin)
        return a->begin < b->begin ? -1 : 1;
    if (a->id != b->id)
        return a->id < b->id ? -1 : 1;
    return (a->is_open + 2 * a->is_unknown) - (b->is_open + 2 * b->is_unknown);
}

void expect_same_spans(struct list *left, const struct list *right)
{
    struct listed *sorted = malloc((right->count + 1) * sizeof *sorted);
    assert_non_null(sorted);
    assert_int_equal(left->count, right->count);
    if (right->count > 0)
        memcpy(sorted, right->items, right->count * sizeof *sorted);
    if (left->count > 1) {
        qsort(left->items, left->count, sizeof *sorted, compare_listed);
        qsort(sorted, left->count, sizeof *sorted, compare_listed);
    }
    for (size_t i = 0; i < left->count; i++)
        assert_int_equal(compare_listed(&left->items[i], &sorted[i]), 0);
    free(sorted);
}

/* Backwards, with a stack. */
static void find_parents_in(struct list *list, uint32_t stream)
{
    size_t *stack = calloc(list->count + 1, sizeof *stack), depth = 0;
    assert_non_null(stack);
    for (size_t i = list->count; i-- > 0;) {
        const struct listed *item = &list->items[i];
        if (item->stream != stream || item->is_unknown)
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

void find_parents(struct list *list)
{
    for (uint32_t stream = 1; stream <= STREAMS; stream++)
        find_parents_in(list, stream);
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

void expect_listed(const struct list *list, const struct tbed_statistics *statistics, uint32_t id)
{
    static const struct tbed_span_row none;
    const struct tbed_span_row *row = row_of(statistics, id);
    uint64_t count = 0, open = 0, total = 0, self = 0, unknown = 0;
    row = row != NULL ? row : &none;
    for (size_t i = 0; i < list->count; i++) {
        const struct listed *item = &list->items[i];
        if (item->id != id)
            continue;
        unknown += item->is_unknown;
        if (item->is_unknown)
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
    assert_int_equal(row->unknown_count, unknown);
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

void expect_same(const struct tbed_statistics *left, const struct tbed_statistics *right)
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

void expect_stacks(const struct tbed_statistics *statistics, struct tbed_reader *reader,
                   const struct tbed_stacks_options *options)
{
    struct tbed_stacks *stacks;
    const struct tbed_stack_row *row;
    const struct tbed_span_row *span;
    assert_int_equal(tbed_stacks_make(reader, options, &stacks), TBED_OK);
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
