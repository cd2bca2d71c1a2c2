/*
 * Single spans are found in their order, as in a sorted list of all spans, whatever the number of threads.
 *
 * SPDX-License-Identifier: MIT
 */
#include "reader/tests/analysis/span_list.h"

#include <tracebed/calls.h>

static enum tbed_calls_order order;
static uint64_t nearest_tick;

static uint64_t distance(const struct listed *span)
{
    if (span->begin > nearest_tick)
        return span->begin - nearest_tick;
    return span->end < nearest_tick ? nearest_tick - span->end : 0;
}

static int compare(const void *left, const void *right)
{
    const struct listed *a = left, *b = right;
    uint64_t x = a->end - a->begin, y = b->end - b->begin, near = distance(a), far = distance(b);
    if (order == TBED_CALLS_NEAREST && near != far)
        return near < far ? -1 : 1;
    if (order >= TBED_CALLS_BEFORE && a->begin != b->begin)
        return (a->begin > b->begin) == (order == TBED_CALLS_BEFORE) ? -1 : 1;
    if (x != y)
        return (x > y) == (order == TBED_CALLS_SLOWEST) ? -1 : 1;
    if (a->begin != b->begin)
        return a->begin < b->begin ? -1 : 1;
    if (a->stream != b->stream)
        return a->stream < b->stream ? -1 : 1;
    if (a->end != b->end)
        return a->end < b->end ? -1 : 1;
    if (a->id != b->id)
        return a->id < b->id ? -1 : 1;
    return a->is_open - b->is_open;
}

/* 'list' are those that the order takes, of 'all'. */
static void expect_calls(struct tbed_reader *reader, const struct list *list, size_t all, size_t count,
                         unsigned threads)
{
    struct tbed_calls_options options = {
        .size = sizeof options, .thread_count = threads, .order = order, .tick = nearest_tick};
    struct tbed_call *calls = calloc(count + 1, sizeof *calls);
    size_t found = 0;
    uint64_t total = 0;
    assert_non_null(calls);
    assert_int_equal(tbed_calls_find(reader, &options, calls, count, &found, &total), TBED_OK);
    assert_int_equal(total, all);
    assert_int_equal(found, count < list->count ? count : list->count);
    for (size_t i = 0; i < found; i++) {
        assert_int_equal(calls[i].begin_tick, list->items[i].begin);
        assert_int_equal(calls[i].end_tick, list->items[i].end);
        assert_int_equal(calls[i].ticks, list->items[i].end - list->items[i].begin);
        assert_int_equal(calls[i].stream, list->items[i].stream);
        assert_int_equal(calls[i].id, list->items[i].id);
        assert_int_equal(calls[i].is_open, list->items[i].is_open);
    }
    free(calls);
}

static void expect_order(struct tbed_reader *reader, const struct list *all, uint64_t tick)
{
    static const size_t counts[] = {0, 1, 7, 100, 100000};
    struct list list = {calloc(all->count + 1, sizeof *list.items), 0};
    assert_non_null(list.items);
    nearest_tick = tick;
    for (size_t i = 0; i < all->count; i++) {
        bool is_before = all->items[i].begin < tick;
        if (order < TBED_CALLS_BEFORE || is_before == (order == TBED_CALLS_BEFORE))
            list.items[list.count++] = all->items[i];
    }
    qsort(list.items, list.count, sizeof *list.items, compare);
    for (size_t i = 0; i < sizeof counts / sizeof counts[0]; i++)
        expect_calls(reader, &list, all->count, counts[i], (unsigned)(i % 3 + 1));
    free(list.items);
}

static void expect_counts(struct tbed_reader *reader, const struct list *list, unsigned threads)
{
    static const uint64_t bounds[] = {1, 2, 10, 50, 51, 1000};
    enum { COUNT = sizeof bounds / sizeof bounds[0] };
    struct tbed_calls_options options = {.size = sizeof options, .thread_count = threads};
    uint64_t counts[COUNT], ticks[COUNT], expected[COUNT] = {0}, expected_ticks[COUNT] = {0};
    for (size_t i = 0; i < list->count; i++) {
        uint64_t duration = list->items[i].end - list->items[i].begin;
        for (size_t k = COUNT; k-- > 0;)
            if (duration >= bounds[k]) {
                expected[k]++;
                expected_ticks[k] += duration;
                break;
            }
    }
    assert_int_equal(tbed_calls_count(reader, &options, bounds, COUNT, counts, ticks), TBED_OK);
    assert_memory_equal(counts, expected, sizeof counts);
    assert_memory_equal(ticks, expected_ticks, sizeof ticks);
    assert_int_equal(tbed_calls_count(reader, &options, bounds, COUNT, counts, NULL), TBED_OK);
    assert_int_equal(tbed_calls_count(reader, &options, bounds, 0, counts, NULL), TBED_ERR_ARGUMENT);
    assert_int_equal(tbed_calls_count(reader, &options, (uint64_t[]){5, 5}, 2, counts, NULL),
                     TBED_ERR_ARGUMENT);
}

static void run(unsigned odd, uint32_t depth_max, bool loses)
{
    for (uint64_t seed = 1; seed <= 6; seed++) {
        struct fixture *f = random_trace(odd, depth_max, loses, seed);
        struct tbed_reader *reader = fixture_open(f);
        struct list list;
        size_t known = 0;
        list_spans(&list, reader);
        for (size_t i = 0; i < list.count; i++)
            if (!list.items[i].is_unknown)
                list.items[known++] = list.items[i];
        list.count = known;
        expect_counts(reader, &list, (unsigned)(seed % 3 + 1));
        for (order = TBED_CALLS_SLOWEST; order <= TBED_CALLS_AFTER; order++)
            expect_order(reader, &list, 900 + seed * 2000);
        free(list.items);
        tbed_reader_close(reader);
        fixture_free(f);
    }
}

static void calls_are_found_in_order(void **state)
{
    (void)state;
    run(ODD_NOTHING, 40, false);
    run(ODD_NOTHING, 200, false);
}

static void calls_are_found_where_blocks_are_missing(void **state)
{
    (void)state;
    run(ODD_NOTHING, 40, true);
    run(ODD_WHOLE, 40, true);
}

static void calls_of_odd_streams_are_found(void **state)
{
    (void)state;
    for (unsigned odd = ODD_WHOLE; odd < ODD_COUNT; odd++)
        run(odd, 40, false);
}

static void a_filter_chooses_among_calls(void **state)
{
    (void)state;
    struct fixture *f = random_trace(ODD_NOTHING, 40, false, 1);
    struct tbed_reader *reader = fixture_open(f);
    const char *const names[] = {"^<id 3>$"};
    struct tbed_filter_options options = {.size = sizeof options, .names = names, .name_count = 1};
    struct tbed_call calls[5];
    uint64_t total;
    struct tbed_filter *filter;
    assert_int_equal(tbed_filter_make(reader, &options, &filter, NULL), TBED_OK);
    struct tbed_calls_options which = {.size = sizeof which, .filter = filter};
    assert_int_equal(tbed_calls_find(reader, &which, calls, 5, NULL, &total), TBED_OK);
    for (size_t i = 0; i < 5; i++)
        assert_int_equal(calls[i].id, 3);
    assert_in_range(total, 100, 1000);
    which.order = (enum tbed_calls_order)9;
    assert_int_equal(tbed_calls_find(reader, &which, calls, 5, NULL, NULL), TBED_ERR_ARGUMENT);
    tbed_filter_close(filter);
    tbed_reader_close(reader);
    fixture_free(f);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(calls_are_found_in_order),
        cmocka_unit_test(calls_are_found_where_blocks_are_missing),
        cmocka_unit_test(calls_of_odd_streams_are_found),
        cmocka_unit_test(a_filter_chooses_among_calls),
    };
    return cmocka_run_group_tests_name("calls", tests, NULL, NULL);
}
