/*
 * The merge and the seek, against the obvious way: repeatedly take the event with the lowest tick from all streams
 * or, at a tie, the one of the lowest stream.
 *
 * SPDX-License-Identifier: MIT
 */
#include "reader/tests/core/trace_builder.h"

#include <setjmp.h>
#include <stdarg.h>
#include <stdlib.h>

#include <cmocka.h>

enum { STREAMS = 9, BLOCKS = 3, EVENTS_MAX = 4096 };

static uint32_t next_random(uint32_t *random)
{
    *random = *random * 1664525u + 1013904223u;
    return *random >> 10;
}

/* Streams with a random number of blocks of random events; ticks often tie, and sometimes go back. */
static struct trace random_trace(uint32_t seed)
{
    struct trace trace = trace_make(1 + STREAMS * BLOCKS);
    uint32_t page = 1, random = seed * 2654435761u;
    for (uint32_t stream = 1; stream <= STREAMS; stream++) {
        uint32_t block_count = next_random(&random) % (BLOCKS + 1);
        uint64_t tick = next_random(&random) % 50;
        for (uint32_t i = 0; i < block_count; i++) {
            struct trace_block block = trace_block_begin(&trace, page++, TBED_BLOCK_EVENTS, stream, i);
            uint64_t first_tick = tick, last_tick = tick;
            trace_block_header(&block)->first_tick = tbed_le64_make(first_tick);
            for (uint32_t n = next_random(&random) % 60; n > 0; n--) {
                trace_event(&block, TBED_TAG_INSTANT, next_random(&random) % 1000, tick - first_tick);
                last_tick = tick > last_tick ? tick : last_tick;
                tick += next_random(&random) % 4;
                if (next_random(&random) % 16 == 0 && tick > first_tick)
                    tick--;
            }
            block.last_tick = last_tick;
            if (next_random(&random) % 4 != 0 || i + 1 < block_count)
                trace_seal(&block);
        }
    }
    trace_header(&trace)->page_count = tbed_le64_make(page);
    return trace;
}

/* The slow way. */
static size_t merge_slowly(struct tbed_reader *reader, struct tbed_event *events)
{
    static struct tbed_event of[STREAMS][EVENTS_MAX];
    size_t counts[STREAMS], next[STREAMS] = {0}, total = 0;
    for (uint32_t i = 0; i < STREAMS; i++)
        counts[i] = trace_events(reader, i + 1, of[i], EVENTS_MAX);
    for (;;) {
        uint32_t best = STREAMS;
        for (uint32_t i = 0; i < STREAMS; i++)
            if (next[i] < counts[i] && (best == STREAMS || of[i][next[i]].tick < of[best][next[best]].tick))
                best = i;
        if (best == STREAMS)
            return total;
        events[total++] = of[best][next[best]++];
    }
}

static void merge_agrees_with_the_slow_way(void **state)
{
    static struct tbed_event slow[EVENTS_MAX], fast[EVENTS_MAX];
    (void)state;
    for (uint32_t seed = 0; seed < 200; seed++) {
        struct trace trace = random_trace(seed);
        struct tbed_reader *reader = trace_open(&trace);
        size_t count = merge_slowly(reader, slow);
        assert_int_equal(trace_events(reader, 0, fast, EVENTS_MAX), count);
        for (size_t i = 0; i < count; i++) {
            assert_int_equal(fast[i].stream, slow[i].stream);
            assert_int_equal(fast[i].offset, slow[i].offset);
        }
        assert_int_equal(tbed_damage_count(reader), 0);
        tbed_reader_close(reader);
        trace_free(&trace);
    }
}

/* After a seek, nothing at or after the tick is missing, and the events are a suffix of the stream. */
static void seek_loses_nothing_at_or_after_its_tick(void **state)
{
    static struct tbed_event all[EVENTS_MAX];
    struct trace trace = trace_make(9);
    struct tbed_event event;
    struct tbed_cursor *cursor;
    (void)state;
    for (uint32_t i = 0; i < 8; i++) { /* ticks rise by 1 every third event, over block borders too */
        struct trace_block block = trace_block_begin(&trace, 8 - i, TBED_BLOCK_EVENTS, 1, i);
        trace_block_header(&block)->first_tick = tbed_le64_make(i * 7 / 3);
        for (uint32_t n = 0; n < 7; n++)
            trace_event(&block, TBED_TAG_INSTANT, 1, (i * 7 + n) / 3 - i * 7 / 3);
        trace_seal(&block);
    }
    struct tbed_reader *reader = trace_open(&trace);
    size_t count = trace_events(reader, 1, all, EVENTS_MAX);
    assert_int_equal(count, 56);
    assert_int_equal(tbed_cursor_open(reader, 1, &cursor), TBED_OK);
    for (uint64_t tick = 0; tick < 25; tick++) {
        size_t first = 0, left = 0;
        uint64_t first_offset = 0;
        while (first < count && all[first].tick < tick)
            first++;
        tbed_cursor_seek(cursor, tick);
        for (; tbed_cursor_next(cursor, &event) == TBED_OK; left++)
            first_offset = left == 0 ? event.offset : first_offset;
        assert_true(left >= count - first);
        assert_true(left <= count - first + 14); /* no more than the blocks that may hold the tick */
        assert_int_equal(first_offset, all[count - left].offset);
    }
    tbed_cursor_close(cursor);
    tbed_reader_close(reader);
    trace_free(&trace);
}

/*
 * Events in a window, by a limited merge and by examining all, compared by stream: if ticks go back, the order
 * between streams may differ. Returns how many events outside the window the merge returned.
 */
static size_t expect_window(struct tbed_merge *merge, const struct tbed_event *all, size_t count,
                            uint64_t first_tick, uint64_t last_tick)
{
    struct tbed_event event;
    size_t next[STREAMS + 1] = {0}, vain = 0, found = 0, expected = 0;
    for (size_t i = 0; i < count; i++)
        expected += all[i].tick >= first_tick && all[i].tick <= last_tick;
    tbed_merge_limit(merge, first_tick, last_tick);
    while (tbed_merge_next(merge, &event) == TBED_OK) {
        if (event.tick < first_tick || event.tick > last_tick) {
            vain++;
            continue;
        }
        size_t *at = &next[event.stream];
        while (*at < count && all[*at].offset != event.offset)
            ++*at;
        assert_true((*at)++ < count);
        found++;
    }
    assert_int_equal(found, expected);
    return vain;
}

static void a_window_loses_nothing_and_passes_blocks_over(void **state)
{
    static struct tbed_event all[EVENTS_MAX];
    size_t vain = 0, outside = 0;
    (void)state;
    for (uint32_t seed = 0; seed < 100; seed++) {
        struct trace trace = random_trace(seed);
        struct tbed_reader *reader = trace_open(&trace);
        struct tbed_merge *merge;
        size_t count = merge_slowly(reader, all);
        assert_int_equal(tbed_merge_open(reader, NULL, 0, &merge), TBED_OK);
        for (uint64_t first = 0; first < 250; first += 10) {
            vain += expect_window(merge, all, count, first, first + 4);
            for (size_t i = 0; i < count; i++)
                outside += all[i].tick < first || all[i].tick > first + 4;
        }
        assert_int_equal(expect_window(merge, all, count, 0, UINT64_MAX), 0);
        tbed_merge_close(merge);
        tbed_reader_close(reader);
        trace_free(&trace);
    }
    assert_true(vain < outside / 2);
}

/* Three blocks of ten ticks: with a window in the middle the outer ones are not even checked. */
static void blocks_outside_a_window_are_not_looked_at(void **state)
{
    (void)state;
    for (int given = 0; given < 2; given++) {
        struct trace trace = trace_make(4);
        struct tbed_event event;
        struct tbed_cursor *cursor;
        size_t count = 0;
        if (given)
            trace_header(&trace)->anchor_monotonic_ns = tbed_le64_make(0);
        trace_header_mend(&trace);
        for (uint32_t i = 0; i < 3; i++) {
            struct trace_block block = trace_block_begin(&trace, i + 1, TBED_BLOCK_EVENTS, 1, i);
            trace_block_header(&block)->first_tick = tbed_le64_make(i * 10);
            for (uint32_t n = 0; n < 10; n++)
                trace_event(&block, TBED_TAG_INSTANT, 1, n);
            trace_seal(&block);
            if (i != 1)
                trace_block_header(&block)->checksum = tbed_le64_make(1);
        }
        struct tbed_reader *reader = trace_open(&trace);
        assert_int_equal(tbed_cursor_open(reader, 1, &cursor), TBED_OK);
        tbed_cursor_limit(cursor, 10, 19);
        while (tbed_cursor_next(cursor, &event) == TBED_OK)
            assert_true(event.tick == 10 + count++);
        assert_int_equal(count, 10);
        assert_int_equal(tbed_damage_count(reader),
                         given ? 1 : 0); /* given ticks may go back behind the window */
        tbed_cursor_close(cursor);
        tbed_reader_close(reader);
        trace_free(&trace);
    }
}

static void merge_of_named_streams_gives_no_other(void **state)
{
    struct trace trace = random_trace(3);
    struct tbed_reader *reader = trace_open(&trace);
    struct tbed_merge *merge;
    struct tbed_event event;
    const uint32_t streams[] = {7, 2, 4444};
    size_t count = 0;
    (void)state;
    assert_int_equal(tbed_merge_open(reader, streams, 3, &merge), TBED_OK);
    for (; tbed_merge_next(merge, &event) == TBED_OK; count++)
        assert_true(event.stream == 7 || event.stream == 2);
    assert_int_equal(count, trace_events(reader, 7, NULL, 0) + trace_events(reader, 2, NULL, 0));
    tbed_merge_seek(merge, 0);
    size_t again = 0;
    while (tbed_merge_next(merge, &event) == TBED_OK)
        again++;
    assert_int_equal(again, count);
    tbed_merge_close(merge);
    tbed_reader_close(reader);
    trace_free(&trace);
}

static void ten_thousand_streams_are_merged(void **state)
{
    enum { MANY = 10000, CELLS = 7 };
    struct trace trace = trace_make(1 + MANY / CELLS + 1);
    struct tbed_event *events = calloc(MANY + 1, sizeof *events);
    (void)state;
    assert_non_null(events);
    for (uint32_t i = 0; i < MANY; i++) {
        uint32_t page = 1 + i / CELLS, cell = 1 + i % CELLS;
        if (cell == 1)
            trace_cells_page(&trace, page, 90000, page - 1, page - 1);
        struct trace_block block =
            trace_cell_begin(&trace, page, cell, TBED_BLOCK_EVENTS, 1 + (i * 7) % MANY, 0);
        trace_event(&block, TBED_TAG_INSTANT, 1, i % 100);
        trace_seal(&block);
    }
    trace_header(&trace)->next_string_page = tbed_le64_make(100000);
    struct tbed_reader *reader = trace_open(&trace);
    assert_int_equal(trace_events(reader, 0, events, MANY + 1), MANY);
    for (size_t i = 1; i < MANY; i++)
        assert_true(events[i - 1].tick < events[i].tick ||
                    (events[i - 1].tick == events[i].tick && events[i - 1].stream < events[i].stream));
    assert_int_equal(tbed_damage_count(reader), 0);
    tbed_reader_close(reader);
    trace_free(&trace);
    free(events);
}

/* ---- A trace that grows ---- */

enum { PAGES = 14, LIVE_MAX = 200 };

struct live {
    struct trace trace;
    struct trace_block blocks[PAGES];
    uint32_t stream_count;
    uint64_t tick;
    uint64_t seen[LIVE_MAX]; /* tick << 8 | stream, of all events so far */
    size_t seen_count;
};

/* An event of each stream, the last stream first, and a new stream. */
static void grow(struct live *live)
{
    uint32_t page = live->stream_count + 1;
    memset(live->trace.bytes + (size_t)trace_page(&live->trace, page) * 4096, 0, 4096);
    live->blocks[live->stream_count++] = trace_block_begin(&live->trace, page, TBED_BLOCK_EVENTS, page, 0);
    for (uint32_t stream = live->stream_count; stream > 0; stream--) {
        trace_event(&live->blocks[stream - 1], TBED_TAG_INSTANT, stream, live->tick);
        live->seen[live->seen_count++] = (1000 + live->tick) << 8 | stream;
        live->tick += stream % 2;
    }
}

static int compare_words(const void *a, const void *b)
{
    const uint64_t *x = a, *y = b;
    return *x < *y ? -1 : *x > *y;
}

/* What is left is exactly the events from 'from' on, in order. */
static void expect_rest(struct live *live, struct tbed_merge *merge, size_t from)
{
    struct tbed_event event;
    qsort(live->seen + from, live->seen_count - from, sizeof live->seen[0], compare_words);
    for (size_t i = from; i < live->seen_count; i++) {
        assert_int_equal(tbed_merge_next(merge, &event), TBED_OK);
        assert_int_equal(event.tick << 8 | event.stream, live->seen[i]);
    }
    assert_int_equal(tbed_merge_next(merge, &event), TBED_END);
    assert_int_equal(tbed_merge_next(merge, &event), TBED_END);
}

static void each_event_comes_once_whatever_was_sought_before(void **state)
{
    (void)state;
    for (uint32_t again = 0; again < 4; again++) {
        struct live live = {.trace = trace_make(PAGES), .tick = 1};
        struct tbed_merge *merge = NULL;
        struct tbed_event event;
        grow(&live);
        struct tbed_reader *reader = trace_open(&live.trace);
        assert_int_equal(tbed_merge_open(reader, NULL, 0, &merge), TBED_OK);
        expect_rest(&live, merge, 0);
        while (live.stream_count < PAGES - 2) {
            size_t from = live.seen_count;
            if (again == 1)
                tbed_merge_seek(merge, 0);
            else if (again == 2)
                tbed_merge_limit(merge, 0, UINT64_MAX);
            else if (again == 3 && live.stream_count > 3) { /* in the middle of everything */
                tbed_merge_seek(merge, 0);
                assert_int_equal(tbed_merge_next(merge, &event), TBED_OK);
                tbed_merge_seek(merge, 0);
            }
            if (again == 1 || again == 2)
                expect_rest(&live, merge, 0);
            grow(&live);
            assert_int_equal(tbed_reader_refresh(reader, NULL), TBED_OK);
            expect_rest(&live, merge, again == 3 && live.stream_count > 4 ? 0 : from);
        }
        tbed_merge_close(merge);
        tbed_reader_close(reader);
        trace_free(&live.trace);
    }
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(merge_agrees_with_the_slow_way),
        cmocka_unit_test(seek_loses_nothing_at_or_after_its_tick),
        cmocka_unit_test(a_window_loses_nothing_and_passes_blocks_over),
        cmocka_unit_test(blocks_outside_a_window_are_not_looked_at),
        cmocka_unit_test(each_event_comes_once_whatever_was_sought_before),
        cmocka_unit_test(merge_of_named_streams_gives_no_other),
        cmocka_unit_test(ten_thousand_streams_are_merged),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
