/*
 * The statistics against an oracle that is slow and obvious: a cursor a stream, with one plain stack.
 *
 * The analysis reads blocks in any order, each by itself, on several threads. What can go wrong is at the
 * seams: a span that begins in one block and ends in another, time between the last event of a block and the
 * first of the next, recursion deeper than a block stores, a block that is missing. So the traces are random
 * trees over many small blocks, and every figure must be the oracle's, with any number of threads.
 *
 * SPDX-License-Identifier: MIT
 */
#include "reader/tests/analysis/analysis_fixture.h"

#include <tracebed/analysis.h>

#define ID_COUNT 64u

/* ---- The oracle ---- */

struct oracle_row {
    uint64_t count, total, self, open;
    uint64_t *durations;
};

struct oracle {
    struct oracle_row rows[ID_COUNT];
    uint64_t event_count;
};

static void oracle_end(struct oracle *oracle, uint32_t id, uint64_t ticks)
{
    struct oracle_row *row = &oracle->rows[id];
    row->durations = realloc(row->durations, (row->count + 1) * sizeof *row->durations);
    assert_non_null(row->durations);
    row->durations[row->count++] = ticks;
    row->total += ticks;
}

/* A span ends: its time is subtracted from its parent's. */
static void oracle_pop(struct oracle *oracle, struct fixture_span *stack, uint32_t *depth, uint64_t tick)
{
    uint64_t ticks = tick - stack[--*depth].tick;
    oracle_end(oracle, stack[*depth].id, ticks);
    oracle->rows[stack[*depth].id].self += ticks;
    if (*depth > 0)
        oracle->rows[stack[*depth - 1].id].self -= ticks;
}

static void oracle_stream(struct oracle *oracle, struct tbed_reader *reader, uint32_t stream)
{
    static struct fixture_span stack[FIXTURE_DEPTH];
    struct tbed_cursor *cursor;
    struct tbed_event event;
    uint32_t depth = 0;
    uint64_t last = 0;
    assert_int_equal(tbed_cursor_open(reader, stream, &cursor), TBED_OK);
    while (tbed_cursor_next(cursor, &event) == TBED_OK) {
        last = event.tick;
        oracle->event_count++;
        if (event.type == TBED_EVENT_BEGIN)
            stack[depth++] = (struct fixture_span){event.tick, event.id};
        else if (event.type == TBED_EVENT_END)
            oracle_pop(oracle, stack, &depth, event.tick);
    }
    while (depth > 0) {
        oracle->rows[stack[depth - 1].id].open++;
        oracle_pop(oracle, stack, &depth, last);
    }
    tbed_cursor_close(cursor);
}

static int compare_u64(const void *left, const void *right)
{
    uint64_t a = *(const uint64_t *)left, b = *(const uint64_t *)right;
    return a < b ? -1 : a > b;
}

static void oracle_run(struct oracle *oracle, struct tbed_reader *reader)
{
    memset(oracle, 0, sizeof *oracle);
    for (uint32_t stream = 1; stream <= FIXTURE_STREAMS; stream++)
        oracle_stream(oracle, reader, stream);
    for (uint32_t id = 0; id < ID_COUNT; id++)
        if (oracle->rows[id].count > 0)
            qsort(oracle->rows[id].durations, oracle->rows[id].count, sizeof(uint64_t), compare_u64);
}

static void oracle_free(struct oracle *oracle)
{
    for (uint32_t id = 0; id < ID_COUNT; id++)
        free(oracle->rows[id].durations);
}

/* ---- Comparing ---- */

static void expect_percentile(const struct oracle_row *expected, double fraction, uint64_t found)
{
    volatile double wanted = (double)expected->count * fraction; /* a register may have more bits */
    uint64_t rank = (uint64_t)wanted;
    rank += (double)rank < wanted || rank == 0;
    double exact = (double)expected->durations[rank - 1];
    double off = exact > (double)found ? exact - (double)found : (double)found - exact;
    assert_true(off <= exact * 0.01);
}

static void expect_row(const struct oracle_row *expected, const struct tbed_span_row *row)
{
    assert_int_equal(row->count, expected->count);
    assert_int_equal(row->total_ticks, expected->total);
    assert_int_equal(row->self_ticks, expected->self);
    assert_int_equal(row->open_count, expected->open);
    assert_int_equal(row->unknown_count, 0);
    if (row->count == 0)
        return;
    assert_int_equal(row->min_ticks, expected->durations[0]);
    assert_int_equal(row->max_ticks, expected->durations[expected->count - 1]);
    expect_percentile(expected, 0.5, row->p50_ticks);
    expect_percentile(expected, 0.9, row->p90_ticks);
    expect_percentile(expected, 0.99, row->p99_ticks);
    expect_percentile(expected, 0.999, row->p999_ticks);
}

static struct tbed_statistics *analyse(struct tbed_reader *reader, unsigned threads)
{
    struct tbed_analysis_options options = {.size = sizeof options, .thread_count = threads};
    struct tbed_statistics *statistics = NULL;
    assert_int_equal(tbed_statistics_make(reader, &options, &statistics), TBED_OK);
    return statistics;
}

static void expect_oracle(struct tbed_reader *reader, const struct oracle *oracle, unsigned threads)
{
    struct tbed_statistics *statistics = analyse(reader, threads);
    struct tbed_statistics_totals totals;
    const struct tbed_span_row *row;
    size_t expected_rows = 0, rows = 0;
    for (; (row = tbed_statistics_span(statistics, rows)) != NULL; rows++) {
        assert_true(row->id < ID_COUNT);
        expect_row(&oracle->rows[row->id], row);
    }
    for (uint32_t id = 0; id < ID_COUNT; id++)
        expected_rows += oracle->rows[id].count > 0;
    assert_int_equal(rows, expected_rows);
    tbed_statistics_totals(statistics, &totals);
    assert_int_equal(totals.event_count, oracle->event_count);
    assert_int_equal(totals.unnamed_open_count + totals.bad_block_count + totals.decrease_count, 0);
    tbed_statistics_close(statistics);
}

static void expect_agreement(struct fixture *f)
{
    static const unsigned threads[] = {1, 2, 5};
    struct tbed_reader *reader = fixture_open(f);
    struct oracle oracle;
    oracle_run(&oracle, reader);
    for (size_t i = 0; i < 3; i++)
        expect_oracle(reader, &oracle, threads[i]);
    assert_int_equal(tbed_damage_count(reader), 0);
    oracle_free(&oracle);
    tbed_reader_close(reader);
    fixture_free(f);
}

/* ---- Random traces ---- */

/* 'lean' of 16 events that may begin one do; time goes in small steps, now and then in one past 31 bits. */
static void random_stream(struct fixture *f, uint32_t stream, uint64_t seed, uint32_t events,
                          uint32_t max_depth, uint32_t lean)
{
    uint64_t random = seed * 0x9E3779B97F4A7C15u + stream;
    uint64_t tick = f->streams[stream].last_tick + 1000 * stream;
    for (uint32_t i = 0; i < events; i++) {
        uint32_t dice = fixture_random(&random);
        uint32_t depth = f->streams[stream].depth;
        tick += dice % 4096 == 0 ? UINT64_C(7000000000) : dice % 512 == 0 ? dice : dice % 97;
        if (dice % 13 == 0)
            fixture_instant(f, stream, tick, ID_COUNT + dice % 3);
        else if (dice % 41 == 0)
            fixture_counter(f, stream, tick, ID_COUNT + 4, dice);
        else if (depth == 0 || (depth < max_depth && (dice >> 16) % 16 < lean))
            fixture_begin(f, stream, tick, (dice >> 8) % ID_COUNT);
        else
            fixture_end(f, stream, tick, dice % 11 == 0);
    }
}

static void random_trees_agree_with_a_plain_stack(void **state)
{
    (void)state;
    for (uint64_t seed = 1; seed <= 20; seed++) {
        struct fixture *f = fixture_new(4096);
        for (uint32_t stream = 1; stream <= 5; stream++)
            random_stream(f, stream, seed, 4000, 40, 8);
        expect_agreement(f);
    }
}

/* A page of 4,096 bytes stores 64 spans; the recursion goes ten times as deep, and up and down in waves. */
static void deep_recursion_agrees_with_a_plain_stack(void **state)
{
    (void)state;
    for (uint64_t seed = 1; seed <= 10; seed++) {
        struct fixture *f = fixture_new(4096);
        for (uint32_t stream = 1; stream <= 3; stream++)
            for (uint32_t wave = 0; wave < 4; wave++) {
                random_stream(f, stream, seed + wave, 3000, 700, 13);
                random_stream(f, stream, seed + wave, 2500 + 300 * wave, 700, 4);
            }
        expect_agreement(f);
    }
}

static void spans_that_end_with_nothing_else_between_take_all_time(void **state)
{
    struct fixture *f = fixture_new(4096);
    (void)state;
    /* 600 begins fill more than a page, then ends only: the later blocks begin with spans they do not store. */
    for (uint32_t i = 0; i < 600; i++)
        fixture_begin(f, 1, 1 + 10 * i, i % ID_COUNT);
    for (uint32_t i = 0; i < 600; i++)
        fixture_end(f, 1, 10000 + 3 * i, true);
    expect_agreement(f);
}

static void open_spans_deeper_than_a_block_are_named(void **state)
{
    struct fixture *f = fixture_new(4096);
    (void)state;
    for (uint32_t i = 0; i < 1500; i++)
        fixture_begin(f, 1, 1 + i, i % ID_COUNT);
    for (uint32_t i = 0; i < 100; i++)
        fixture_end(f, 1, 2000 + i, false);
    expect_agreement(f);
}

static void large_blocks_agree(void **state)
{
    struct fixture *f = fixture_new(65536);
    (void)state;
    for (uint32_t stream = 1; stream <= 3; stream++)
        random_stream(f, stream, 77, 60000, 1200, 8);
    expect_agreement(f);
}

/* ---- Unusual traces ---- */

static const struct tbed_span_row *row_of(struct tbed_statistics *statistics, uint32_t id)
{
    const struct tbed_span_row *row;
    for (size_t i = 0; (row = tbed_statistics_span(statistics, i)) != NULL; i++)
        if (row->id == id)
            return row;
    return NULL;
}

static void ends_without_a_begin_are_counted_apart(void **state)
{
    struct fixture *f = fixture_new(4096);
    uint64_t unknown = 0, known = 40;
    (void)state;
    fixture_event(f, 1, 100, TBED_TAG_END, 7, NULL, 0);
    fixture_extended(f, 1, 120, 8, TBED_EXT_END, 0, &unknown, 1);
    fixture_extended(f, 1, 140, 9, TBED_EXT_END, 0, &known, 1);
    fixture_event(f, 1, 150, TBED_TAG_END, TBED_ID_INVALID, NULL, 0);
    struct tbed_reader *reader = fixture_open(f);
    struct tbed_statistics *statistics = analyse(reader, 2);
    assert_int_equal(row_of(statistics, 7)->unknown_count, 1);
    assert_int_equal(row_of(statistics, 7)->count, 0);
    assert_int_equal(row_of(statistics, 8)->unknown_count, 1);
    assert_int_equal(row_of(statistics, 9)->unknown_count, 0);
    assert_int_equal(row_of(statistics, 9)->count, 1);
    assert_int_equal(row_of(statistics, 9)->total_ticks, 100);
    assert_int_equal(row_of(statistics, 9)->self_ticks, 100);
    assert_int_equal(row_of(statistics, TBED_ID_INVALID)->unknown_count, 1);
    assert_string_equal(row_of(statistics, TBED_ID_INVALID)->name, "<unknown>");
    tbed_statistics_close(statistics);
    tbed_reader_close(reader);
    fixture_free(f);
}

static void ticks_that_decrease_pass_no_time(void **state)
{
    struct fixture *f = fixture_new(4096);
    (void)state;
    fixture_event(f, 1, 0, TBED_TAG_INSTANT, 1, NULL, 0);
    fixture_begin(f, 1, 500, 7);
    fixture_end(f, 1, 400, false);
    struct tbed_reader *reader = fixture_open(f);
    struct tbed_statistics *statistics = analyse(reader, 1);
    struct tbed_statistics_totals totals;
    tbed_statistics_totals(statistics, &totals);
    assert_int_equal(totals.decrease_count, 1);
    assert_int_equal(row_of(statistics, 7)->count, 1);
    assert_int_equal(row_of(statistics, 7)->total_ticks, 0);
    assert_int_equal(row_of(statistics, 7)->self_ticks, 0);
    tbed_statistics_close(statistics);
    tbed_reader_close(reader);
    fixture_free(f);
}

/* The second of three blocks is damaged: its events are gone, the span around them all is not. */
static void a_damaged_block_costs_itself_only(void **state)
{
    struct fixture *f = fixture_new(4096);
    uint32_t events = 0;
    size_t second = 0;
    (void)state;
    fixture_begin(f, 1, 5, 1);
    for (; f->streams[1].sequence < 3 || f->streams[1].used < 1000; events++) {
        fixture_instant(f, 1, 10 + events, 2);
        if (f->streams[1].sequence == 2)
            second = f->streams[1].page;
    }
    fixture_end(f, 1, 1000005, false);
    fixture_page(f, second)[2000] ^= 1; /* it is sealed by now */
    struct tbed_reader *reader = fixture_open(f);
    struct tbed_statistics *statistics = analyse(reader, 2);
    struct tbed_statistics_totals totals;
    const struct tbed_span_row *row = row_of(statistics, 1);
    tbed_statistics_totals(statistics, &totals);
    assert_int_equal(totals.bad_block_count, 1);
    assert_int_equal(totals.block_count, 2);
    assert_true(tbed_damage_count(reader) > 0);
    assert_int_equal(row->count, 1);
    assert_int_equal(row->total_ticks, 1000000);
    assert_int_equal(row->self_ticks, 1000000);
    assert_true(tbed_statistics_instant(statistics, 0)->count < events);
    tbed_statistics_close(statistics);
    tbed_reader_close(reader);
    fixture_free(f);
}

/* An unknown tag word 0 in the middle: the events before it count. */
static void a_damaged_word_ends_its_block(void **state)
{
    struct fixture *f = fixture_new(4096);
    (void)state;
    fixture_instant(f, 1, 10, 1);
    fixture_event(f, 1, 20, 0, 5, NULL, 0);
    fixture_instant(f, 1, 30, 1);
    struct tbed_reader *reader = fixture_open(f);
    struct tbed_statistics *statistics = analyse(reader, 1);
    struct tbed_statistics_totals totals;
    struct tbed_damage damage;
    tbed_statistics_totals(statistics, &totals);
    assert_int_equal(totals.instant_count, 1);
    assert_int_equal(totals.damaged_block_count, 1);
    assert_true(tbed_damage_get(reader, 0, &damage));
    assert_int_equal(damage.status, TBED_ERR_EVENT_TAG);
    assert_int_equal(damage.offset, 4096 + 64 + 8);
    tbed_statistics_close(statistics);
    tbed_reader_close(reader);
    fixture_free(f);
}

static void blocks_that_were_never_sealed_are_read(void **state)
{
    struct fixture *f = fixture_new(4096);
    (void)state;
    f->left_open = true;
    random_stream(f, 1, 5, 3000, 30, 8);
    random_stream(f, 2, 6, 3000, 30, 8);
    expect_agreement(f);
}

static void a_ring_that_is_written_is_read_from_copies(void **state)
{
    struct fixture *f = fixture_new(4096);
    (void)state;
    f->ring = true;
    random_stream(f, 1, 5, 3000, 90, 8);
    random_stream(f, 2, 6, 3000, 30, 8);
    expect_agreement(f);
}

/* ---- Names, and what is not a span ---- */

static void ids_with_one_text_are_one_row(void **state)
{
    struct fixture *f = fixture_new(4096);
    (void)state;
    uint32_t first = fixture_string(f, "load"), other = fixture_string(f, "save"),
             second = fixture_string(f, "load");
    fixture_begin(f, 1, 0, first);
    fixture_end(f, 1, 10, false);
    fixture_begin(f, 2, 0, second);
    fixture_end(f, 2, 30, false);
    fixture_begin(f, 2, 50, other);
    fixture_end(f, 2, 51, false);
    fixture_counter(f, 2, 60, first, 5);
    fixture_counter(f, 2, 61, second, -7);
    struct tbed_reader *reader = fixture_open(f);
    struct tbed_statistics *statistics = analyse(reader, 2);
    const struct tbed_span_row *row = tbed_statistics_span(statistics, 0);
    const struct tbed_counter_row *counter = tbed_statistics_counter(statistics, 0);
    assert_string_equal(row->name, "load");
    assert_int_equal(row->id, first);
    assert_int_equal(row->count, 2);
    assert_int_equal(row->total_ticks, 40);
    assert_int_equal(row->min_ticks, 10);
    assert_int_equal(row->max_ticks, 30);
    assert_string_equal(tbed_statistics_span(statistics, 1)->name, "save");
    assert_null(tbed_statistics_span(statistics, 2));
    assert_int_equal(counter->count, 2);
    assert_true(counter->last == -7 && counter->min == -7 && counter->max == 5);
    assert_null(tbed_statistics_counter(statistics, 1));
    tbed_statistics_close(statistics);
    tbed_reader_close(reader);
    fixture_free(f);
}

static size_t long_name(void *context, uint32_t id, char *buffer, size_t buffer_nbytes)
{
    size_t nbytes = *(const size_t *)context;
    for (size_t i = 0; i < nbytes && i + 1 < buffer_nbytes; i++)
        buffer[i] = (char)('a' + id % 26);
    if (buffer_nbytes > 0)
        buffer[nbytes < buffer_nbytes ? nbytes : buffer_nbytes - 1] = '\0';
    return nbytes;
}

static void the_caller_names_the_rows(void **state)
{
    struct fixture *f = fixture_new(4096);
    size_t nbytes = 100000;
    (void)state;
    fixture_record(f, TBED_RECORD_UNIT,
                   (uint32_t[]){26, 52, TBED_UNIT_NATIVE, 0, fixture_string(f, "module"), 0, 0, 0, 0, 0}, 10);
    for (uint32_t id = 26; id < 78; id++)
        fixture_instant(f, 1, id, id);
    struct tbed_reader *reader = fixture_open(f);
    struct tbed_analysis_options options = {
        .size = sizeof options, .name = long_name, .name_context = &nbytes};
    struct tbed_statistics *statistics = NULL;
    assert_int_equal(tbed_statistics_make(reader, &options, &statistics), TBED_OK);
    const struct tbed_instant_row *row;
    size_t rows = 0;
    for (; (row = tbed_statistics_instant(statistics, rows)) != NULL; rows++) {
        assert_int_equal(row->count, 2);
        assert_int_equal(row->name_nbytes, nbytes);
        assert_int_equal(strlen(row->name), nbytes);
        assert_int_equal(row->name[nbytes - 1], 'a' + rows);
    }
    assert_int_equal(rows, 26);
    tbed_statistics_close(statistics);
    tbed_reader_close(reader);
    fixture_free(f);
}

static void async_spans_match_across_streams(void **state)
{
    struct fixture *f = fixture_new(4096);
    uint64_t a = 1, b = 2;
    (void)state;
    fixture_extended(f, 1, 10, 3, TBED_EXT_ASYNC_BEGIN, 0, &a, 1);
    fixture_extended(f, 1, 20, 3, TBED_EXT_ASYNC_BEGIN, 0, &b, 1);
    fixture_extended(f, 2, 25, 3, TBED_EXT_ASYNC_BEGIN, 0, &b, 1); /* again: the newest ends first */
    fixture_extended(f, 2, 30, 3, TBED_EXT_ASYNC_END, 0, &b, 1);
    fixture_extended(f, 2, 70, 3, TBED_EXT_ASYNC_END, 0, &a, 1);
    fixture_extended(f, 2, 80, 4, TBED_EXT_ASYNC_END, 0, &a, 1); /* another id: never begun */
    struct tbed_reader *reader = fixture_open(f);
    struct tbed_statistics *statistics = analyse(reader, 2);
    const struct tbed_span_row *row = tbed_statistics_async(statistics, 0);
    assert_int_equal(row->id, 3);
    assert_int_equal(row->count, 3); /* the open one until its stream's last tick, which is its own */
    assert_int_equal(row->total_ticks, 65);
    assert_int_equal(row->min_ticks, 0);
    assert_int_equal(row->max_ticks, 60);
    assert_int_equal(row->open_count, 1);
    row = tbed_statistics_async(statistics, 1);
    assert_int_equal(row->id, 4);
    assert_int_equal(row->unknown_count, 1);
    assert_null(tbed_statistics_async(statistics, 2));
    tbed_statistics_close(statistics);
    tbed_reader_close(reader);
    fixture_free(f);
}

/* Many at a time, and keys used again: the table grows, and closes its holes. */
static void many_async_spans_match(void **state)
{
    struct fixture *f = fixture_new(4096);
    uint64_t random = 99, tick = 0, total = 0, ended = 0;
    static uint64_t begun[1024];
    (void)state;
    memset(begun, 0, sizeof begun);
    for (uint32_t i = 0; i < 20000; i++) {
        uint32_t dice = fixture_random(&random);
        uint64_t key = dice % 1024;
        tick += 1 + dice % 3;
        fixture_extended(f, 1 + (dice >> 12) % 4, tick, 5,
                         begun[key] ? TBED_EXT_ASYNC_END : TBED_EXT_ASYNC_BEGIN, 0, &key, 1);
        total += begun[key] ? tick - begun[key] : 0;
        ended += begun[key] != 0;
        begun[key] = begun[key] ? 0 : tick;
    }
    struct tbed_reader *reader = fixture_open(f);
    struct tbed_statistics *statistics = analyse(reader, 2);
    const struct tbed_span_row *row = tbed_statistics_async(statistics, 0);
    assert_int_equal(row->count, 20000 - ended);
    assert_true(row->total_ticks >= total);
    assert_int_equal(row->open_count, 20000 - 2 * ended);
    assert_int_equal(row->unknown_count, 0);
    tbed_statistics_close(statistics);
    tbed_reader_close(reader);
    fixture_free(f);
}

static void gaps_and_messages_are_counted(void **state)
{
    struct fixture *f = fixture_new(4096);
    uint64_t dropped = 12;
    (void)state;
    fixture_extended(f, 1, 10, TBED_ID_INVALID, TBED_EXT_GAP, TBED_DROP_DISK_FULL, &dropped, 1);
    fixture_extended(f, 1, 20, TBED_ID_INVALID, TBED_EXT_GAP, 99, &dropped, 1);
    fixture_extended(f, 1, 30, 6, TBED_EXT_MESSAGE, TBED_SEVERITY_ERROR, NULL, 0);
    fixture_extended(f, 1, 40, TBED_ID_INVALID, TBED_EXT_MESSAGE, 77, NULL, 0);
    fixture_event(f, 1, 50, 7, 6, NULL, 0);
    struct tbed_reader *reader = fixture_open(f);
    struct tbed_statistics *statistics = analyse(reader, 1);
    struct tbed_statistics_totals totals;
    tbed_statistics_totals(statistics, &totals);
    assert_int_equal(totals.gap_count, 2);
    assert_int_equal(totals.gap_drops[TBED_DROP_DISK_FULL], 12);
    assert_int_equal(totals.gap_drops[TBED_DROP_CAUSE_COUNT - 1], 12);
    assert_int_equal(totals.unknown_count, 1);
    assert_int_equal(totals.message_count, 2);
    assert_int_equal(tbed_statistics_message(statistics, 0)->severity_counts[TBED_SEVERITY_ERROR], 1);
    assert_string_equal(tbed_statistics_message(statistics, 1)->name, "<inline text>");
    assert_int_equal(tbed_statistics_message(statistics, 1)->severity_counts[TBED_SEVERITY_NONE], 1);
    tbed_statistics_close(statistics);
    tbed_reader_close(reader);
    fixture_free(f);
}

/*
 * Of 70 spans a block stores 64. The six outermost are open when a block is missing: after it 1 still is, and in place of
 * the others, at their depths, are spans that began in the gap.
 */
static void spans_deeper_than_a_block_that_end_in_a_gap_never_end(void **state)
{
    (void)state;
    struct fixture *f = fixture_new(4096);
    f->left_open = true; /* nothing may be missing in a file that was closed */
    for (uint32_t i = 0; i < 70; i++)
        fixture_begin(f, 1, 100 + i, i + 1);
    fixture_begin_block(f, 1, 200);
    fixture_instant(f, 1, 210, 99);
    fixture_begin_block(f, 1, 220);
    size_t lost = f->streams[1].page;
    for (uint32_t i = 0; i < 69; i++)
        fixture_end(f, 1, 230 + i, false);
    for (uint32_t i = 0; i < 7; i++)
        fixture_begin(f, 1, 300 + i, 80 + i);
    fixture_begin_block(f, 1, 400);
    for (uint32_t i = 0; i < 8; i++)
        fixture_end(f, 1, 410 + i, false);
    memset(fixture_page(f, lost), 0, f->page_nbytes);
    struct tbed_reader *reader = fixture_open(f);
    struct tbed_statistics *statistics = analyse(reader, 1);
    assert_int_equal(row_of(statistics, 1)->open_count, 0);
    assert_int_equal(row_of(statistics, 1)->total_ticks, 417 - 100);
    for (uint32_t i = 1; i < 70; i++) {
        const struct tbed_span_row *row = row_of(statistics, i + 1);
        assert_non_null(row);
        assert_int_equal(row->open_count, 1);
        assert_int_equal(row->total_ticks, 210 - (100 + i));
    }
    tbed_statistics_close(statistics);
    tbed_reader_close(reader);
    fixture_free(f);
}

/*
 * The same 70 spans are open over one gap, after which a block stores the inner 64, and end in a second one. Nothing is
 * known of the other six after the first.
 */
static void spans_deeper_than_a_block_are_forgotten_in_a_gap(void **state)
{
    (void)state;
    struct fixture *f = fixture_new(4096);
    size_t lost[2];
    f->left_open = true;
    for (uint32_t i = 0; i < 70; i++)
        fixture_begin(f, 1, 100 + i, i + 1);
    fixture_begin_block(f, 1, 200);
    lost[0] = f->streams[1].page;
    fixture_begin_block(f, 1, 300);
    fixture_instant(f, 1, 310, 99);
    fixture_begin_block(f, 1, 320);
    lost[1] = f->streams[1].page;
    for (uint32_t i = 0; i < 70; i++)
        fixture_end(f, 1, 330 + i, false);
    fixture_begin_block(f, 1, 500);
    fixture_instant(f, 1, 510, 99);
    for (int i = 0; i < 2; i++)
        memset(fixture_page(f, lost[i]), 0, f->page_nbytes);
    struct tbed_reader *reader = fixture_open(f);
    struct tbed_statistics *statistics = analyse(reader, 1);
    struct tbed_statistics_totals totals;
    tbed_statistics_totals(statistics, &totals);
    assert_int_equal(totals.unnamed_open_count, 6);
    for (uint32_t i = 0; i < 70; i++) {
        const struct tbed_span_row *row = row_of(statistics, i + 1);
        assert_int_equal(row != NULL, i >= 6);
        if (row == NULL)
            continue;
        assert_int_equal(row->open_count, 1);
        assert_int_equal(row->total_ticks, 310 - (100 + i));
    }
    tbed_statistics_close(statistics);
    tbed_reader_close(reader);
    fixture_free(f);
}

static void an_empty_trace_has_no_rows(void **state)
{
    struct fixture *f = fixture_new(4096);
    (void)state;
    struct tbed_reader *reader = fixture_open(f);
    struct tbed_statistics *statistics = analyse(reader, 0);
    assert_null(tbed_statistics_span(statistics, 0));
    assert_null(tbed_statistics_async(statistics, 0));
    tbed_statistics_close(statistics);
    tbed_statistics_close(NULL);
    tbed_reader_close(reader);
    fixture_free(f);
}

static void options_of_no_size_are_refused(void **state)
{
    struct fixture *f = fixture_new(4096);
    struct tbed_analysis_options options = {0};
    struct tbed_statistics *statistics = NULL;
    (void)state;
    struct tbed_reader *reader = fixture_open(f);
    assert_int_equal(tbed_statistics_make(reader, &options, &statistics), TBED_ERR_ARGUMENT);
    assert_null(statistics);
    tbed_reader_close(reader);
    fixture_free(f);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(random_trees_agree_with_a_plain_stack),
        cmocka_unit_test(deep_recursion_agrees_with_a_plain_stack),
        cmocka_unit_test(spans_that_end_with_nothing_else_between_take_all_time),
        cmocka_unit_test(open_spans_deeper_than_a_block_are_named),
        cmocka_unit_test(large_blocks_agree),
        cmocka_unit_test(ends_without_a_begin_are_counted_apart),
        cmocka_unit_test(ticks_that_decrease_pass_no_time),
        cmocka_unit_test(a_damaged_block_costs_itself_only),
        cmocka_unit_test(a_damaged_word_ends_its_block),
        cmocka_unit_test(blocks_that_were_never_sealed_are_read),
        cmocka_unit_test(a_ring_that_is_written_is_read_from_copies),
        cmocka_unit_test(ids_with_one_text_are_one_row),
        cmocka_unit_test(the_caller_names_the_rows),
        cmocka_unit_test(async_spans_match_across_streams),
        cmocka_unit_test(many_async_spans_match),
        cmocka_unit_test(gaps_and_messages_are_counted),
        cmocka_unit_test(spans_deeper_than_a_block_that_end_in_a_gap_never_end),
        cmocka_unit_test(spans_deeper_than_a_block_are_forgotten_in_a_gap),
        cmocka_unit_test(an_empty_trace_has_no_rows),
        cmocka_unit_test(options_of_no_size_are_refused),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
