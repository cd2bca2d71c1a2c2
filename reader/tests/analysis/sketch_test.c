/*
 * Windows from headers: against all spans of random traces. What a sketch says is true of the exact window, and every
 * span that can be seen and that a header stores is in it.
 *
 * Link with: -Wl,--wrap=malloc,--wrap=calloc,--wrap=realloc
 *
 * SPDX-License-Identifier: MIT
 */
#include "reader/tests/analysis/window_memory.h"

enum { BLOCKS_MAX = 8192 };

/* A trace, and its blocks as their headers show them. */
struct subject {
    struct fixture *fixture;
    struct tbed_reader *reader;
    struct tbed_block blocks[BLOCKS_MAX];
    size_t block_count;
};

/* A sketch, and what is true of its window. */
struct answer {
    const struct subject *subject;
    struct drawn_list real;
    struct tbed_window *window;
    struct tbed_window_info info;
    uint64_t column_ticks; /* before they became wider */
};

/* ---- What must hold ---- */

static bool is_part_of(const struct tbed_window_part *part, const struct drawn *real)
{
    return real->span.stream == part->stream && real->depth == part->depth;
}

static const struct drawn *find_real(const struct answer *answer, const struct tbed_window_part *part)
{
    for (size_t i = 0; i < answer->real.count; i++) {
        const struct drawn *real = &answer->real.items[i];
        if (is_part_of(part, real) && real->span.begin == part->begin_tick && real->span.id == part->id &&
            (part->sample_count > 0 ? real->span.end >= part->end_tick : real->span.end == part->end_tick))
            return real;
    }
    return NULL;
}

static void expect_span(const struct answer *answer, const struct tbed_window_part *part)
{
    const struct drawn *real = find_real(answer, part);
    assert_non_null(real);
    assert_in_range(real->span.end - part->end_tick, 0, part->sample_count > 0 ? answer->column_ticks : 0);
    assert_int_equal(part->ticks, part->end_tick - part->begin_tick);
    assert_int_equal(part->longest_ticks, part->ticks);
    assert_true(part->open_count <= real->span.is_open);
    assert_true(part->sample_count == 0 || part->ticks >= answer->info.column_ticks);
}

/* The spans of the part's depth have at least its time between its ends, and begin and end there. */
static void expect_filling(const struct answer *answer, const struct tbed_window_part *part)
{
    uint64_t busy = 0, longest = 0;
    bool begins = false, ends = false;
    for (size_t i = 0; i < answer->real.count; i++) {
        const struct drawn *real = &answer->real.items[i];
        uint64_t begin = real->span.begin, end = real->span.end;
        if (!is_part_of(part, real) || end < part->begin_tick || begin > part->end_tick)
            continue;
        begins |= begin <= part->begin_tick;
        ends |= end >= part->end_tick;
        begin = begin > part->begin_tick ? begin : part->begin_tick;
        end = end < part->end_tick ? end : part->end_tick;
        busy += end - begin;
        longest = end - begin > longest ? end - begin : longest;
    }
    assert_in_range(part->ticks, 0, busy);
    assert_in_range(part->longest_ticks, 0, longest);
    assert_true(begins && ends);
}

static bool is_stored(const struct subject *subject, const struct drawn *real, uint64_t begin)
{
    for (size_t i = 0; i < subject->block_count; i++) {
        const struct tbed_block *block = &subject->blocks[i];
        uint64_t stored_begin;
        uint32_t id;
        for (uint32_t k = 0; block->stream == real->span.stream && k < block->stored_count; k++) {
            tbed_block_open_span(block, k, &stored_begin, &id);
            if (id == real->span.id && block->first_tick > real->span.begin && stored_begin <= begin &&
                (stored_begin == real->span.begin || real->span.begin == begin) &&
                block->first_tick <= real->span.end)
                return true;
        }
    }
    return false;
}

static bool is_shown(const struct answer *answer, const struct drawn *real)
{
    const struct tbed_window_part *part;
    for (size_t i = 0; (part = tbed_window_part(answer->window, i)) != NULL; i++)
        if (part->count == 1 && is_part_of(part, real) && part->begin_tick == real->span.begin &&
            part->id == real->span.id)
            return true;
    return false;
}

static bool is_long_enough(const struct answer *answer, const struct drawn *real)
{
    return real->span.end - real->span.begin >= 2 * answer->info.column_ticks;
}

static void expect_true(const struct answer *answer)
{
    const struct tbed_window_part *part;
    for (size_t i = 0; (part = tbed_window_part(answer->window, i)) != NULL; i++) {
        assert_true(part->count == 1 || (part->sample_count > 0) == (part->count == 0));
        if (part->count == 1)
            expect_span(answer, part);
        else
            expect_filling(answer, part);
    }
}

static void expect_complete(const struct answer *answer, uint64_t begin)
{
    for (size_t i = 0; i < answer->real.count; i++) {
        const struct drawn *real = &answer->real.items[i];
        if (is_long_enough(answer, real) && is_stored(answer->subject, real, begin))
            assert_true(is_shown(answer, real));
    }
}

/* ---- Subjects ---- */

static void subject_make(struct subject *subject, struct fixture *fixture)
{
    *subject = (struct subject){.fixture = fixture, .reader = fixture_open(fixture)};
    assert_true(tbed_event_block_count(subject->reader) <= BLOCKS_MAX);
    for (size_t i = 0; i < tbed_event_block_count(subject->reader); i++)
        if (tbed_event_block_get(subject->reader, i, &subject->blocks[subject->block_count]) == TBED_OK)
            subject->block_count++;
}

static void subject_free(struct subject *subject)
{
    tbed_reader_close(subject->reader);
    fixture_free(subject->fixture);
}

static struct tbed_window *make(const struct subject *subject, struct tbed_window_options options)
{
    struct tbed_window *window = NULL;
    options.size = sizeof options;
    assert_int_equal(tbed_window_make(subject->reader, &options, &window), TBED_OK);
    return window;
}

static void expect_same_window(const struct tbed_window *one, const struct tbed_window *other)
{
    const struct tbed_window_part *part, *same;
    struct tbed_window_info info, other_info;
    size_t i = 0;
    tbed_window_info(one, &info);
    tbed_window_info(other, &other_info);
    assert_memory_equal(&info, &other_info, sizeof info);
    for (; (part = tbed_window_part(one, i)) != NULL; i++) {
        same = tbed_window_part(other, i);
        assert_non_null(same);
        assert_memory_equal(part, same, sizeof *part);
    }
    assert_null(tbed_window_part(other, i));
}

/* 'is_complete': no span is ever too deep to be stored. Returns whether it was a sketch. */
static bool ask(const struct subject *subject, uint64_t begin, uint64_t end,
                struct tbed_window_options options, bool is_complete)
{
    struct tbed_filter_options which = {.size = sizeof which, .begin_tick = begin, .end_tick = end};
    struct answer answer = {.subject = subject};
    struct tbed_filter *filter = NULL;
    assert_int_equal(tbed_filter_make(subject->reader, &which, &filter, NULL), TBED_OK);
    options.filter = filter;
    options.thread_count = 1;
    answer.window = make(subject, options);
    options.thread_count = 3;
    struct tbed_window *again = make(subject, options);
    expect_same_window(answer.window, again);
    tbed_window_info(answer.window, &answer.info);
    uint64_t ticks = answer.info.end_tick - answer.info.begin_tick;
    answer.column_ticks = (ticks + options.column_count - 1) / options.column_count;
    drawn_list_make(&answer.real, subject->reader, filter, options.depth_count);
    if (!answer.info.is_exact)
        expect_true(&answer);
    if (!answer.info.is_exact && is_complete)
        expect_complete(&answer, begin);
    free(answer.real.items);
    tbed_window_close(answer.window);
    tbed_window_close(again);
    tbed_filter_close(filter);
    return !answer.info.is_exact;
}

/* Windows from the whole trace to a few ticks. */
static size_t ask_often(const struct subject *subject, size_t count, uint64_t seed, bool is_complete)
{
    uint64_t random = seed * 0x9E3779B97F4A7C15u;
    static const uint32_t column_max[] = {8, 60, 900};
    struct tbed_trace_info info;
    size_t sketch_count = 0;
    tbed_reader_info(subject->reader, &info);
    for (size_t i = 0; i < count; i++) {
        uint64_t all = info.last_tick - info.first_tick, length = all >> fixture_random(&random) % 7;
        uint64_t begin = info.first_tick + fixture_random(&random) % (all - length + 1);
        bool is_all = i == 0;
        sketch_count +=
            ask(subject, is_all ? 0 : begin, is_all ? 0 : begin + length + 1,
                (struct tbed_window_options){.column_count = 1 + fixture_random(&random) % column_max[i % 3],
                                             .depth_count = i % 4 == 0 ? 4 : 0,
                                             .part_max = i % 5 == 0 ? 60 : 0,
                                             .exact_block_max = 1 + fixture_random(&random) % 9},
                is_complete);
    }
    return sketch_count;
}

static struct fixture *with_clock(struct fixture *fixture)
{
    fixture->has_clock = true;
    return fixture;
}

/* ---- Tests ---- */

static const uint32_t block_events[] = {0, 100, 7, 30};
static const unsigned clock_odds[] = {ODD_NOTHING, ODD_UNKNOWN, ODD_CATEGORY, ODD_COUNTER, ODD_EXTENDED};

static void what_a_sketch_says_is_true_and_complete(void **state)
{
    struct subject subject;
    size_t sketch_count = 0;
    (void)state;
    for (uint64_t seed = 1; seed <= 40; seed++) {
        uint32_t depth = seed % 3 == 0 ? 1 : seed % 3 == 1 ? 5 : 14;
        struct fixture *fixture = with_clock(
            random_trace_in_blocks(clock_odds[seed % 5], depth, false, block_events[seed % 4], seed));
        fixture->left_open = seed % 4 == 0; /* killed */
        subject_make(&subject, fixture);
        sketch_count += ask_often(&subject, 30, seed, true);
        subject_free(&subject);
    }
    assert_true(sketch_count > 600);
}

static void a_sketch_is_true_where_blocks_are_missing(void **state)
{
    struct subject subject;
    size_t sketch_count = 0;
    (void)state;
    for (uint64_t seed = 1; seed <= 15; seed++) {
        subject_make(&subject, with_clock(random_trace_in_blocks(clock_odds[seed % 5], 12, true,
                                                                 block_events[seed % 4], seed)));
        sketch_count += ask_often(&subject, 20, seed, true);
        subject_free(&subject);
    }
    assert_true(sketch_count > 150);
}

static void a_sketch_is_true_where_spans_are_deeper_than_blocks_store(void **state)
{
    struct subject subject;
    size_t sketch_count = 0;
    (void)state;
    for (uint64_t seed = 1; seed <= 8; seed++) {
        subject_make(&subject, with_clock(random_trace_in_blocks(ODD_NOTHING, 100, false,
                                                                 block_events[seed % 4], seed)));
        sketch_count += ask_often(&subject, 20, seed, false);
        subject_free(&subject);
    }
    assert_true(sketch_count > 80);
}

/* A flight recorder that is still written, whose blocks may be reused while they are read. */
static void a_sketch_of_a_ring_is_true(void **state)
{
    struct subject subject;
    size_t sketch_count = 0;
    (void)state;
    for (uint64_t seed = 1; seed <= 8; seed++) {
        struct fixture *fixture =
            with_clock(random_trace_in_blocks(ODD_NOTHING, 8, false, block_events[seed % 4], seed));
        fixture->ring = true;
        subject_make(&subject, fixture);
        sketch_count += ask_often(&subject, 15, seed, true);
        subject_free(&subject);
    }
    assert_true(sketch_count > 80);
}

/* Whether a window of the whole trace is a sketch. */
static bool is_sketch(struct fixture *fixture, struct tbed_filter_options which, uint64_t exact_block_max)
{
    struct tbed_window_info info;
    struct tbed_filter *filter;
    struct subject subject;
    subject_make(&subject, fixture);
    which.size = sizeof which;
    assert_int_equal(tbed_filter_make(subject.reader, &which, &filter, NULL), TBED_OK);
    struct tbed_window *window =
        make(&subject, (struct tbed_window_options){
                           .column_count = 10, .filter = filter, .exact_block_max = exact_block_max});
    tbed_window_info(window, &info);
    assert_true(info.is_exact == (info.header_count == 0));
    tbed_window_close(window);
    tbed_filter_close(filter);
    subject_free(&subject);
    return !info.is_exact;
}

static struct fixture *make_calls(bool has_clock)
{
    struct fixture *f = random_trace_in_blocks(ODD_NOTHING, 5, false, 50, 1);
    f->has_clock = has_clock;
    return f;
}

static void what_headers_cannot_answer_is_exact(void **state)
{
    const char *const names[] = {"[135]"};
    const uint32_t streams[] = {2};
    (void)state;
    assert_true(is_sketch(make_calls(true), (struct tbed_filter_options){0}, 1));
    assert_false(is_sketch(make_calls(true), (struct tbed_filter_options){0}, 0));
    assert_false(is_sketch(make_calls(true), (struct tbed_filter_options){0}, BLOCKS_MAX));
    assert_true(
        is_sketch(make_calls(true), (struct tbed_filter_options){.streams = streams, .stream_count = 1}, 1));
    assert_true(is_sketch(make_calls(true), (struct tbed_filter_options){.begin_tick = 2000}, 1));
    assert_false(
        is_sketch(make_calls(true), (struct tbed_filter_options){.names = names, .name_count = 1}, 1));
    assert_false(is_sketch(make_calls(true), (struct tbed_filter_options){.minimum_ticks = 5}, 1));
    /* Ticks that were given to the writer may go back, and then a header does not say how long a span goes on. */
    assert_false(is_sketch(make_calls(false), (struct tbed_filter_options){0}, 1));
}

/* Blocks whose first ticks go back are all read. */
static void a_stream_whose_clock_steps_back_is_exact(void **state)
{
    struct tbed_window_info info;
    struct subject subject;
    struct fixture *f = with_clock(fixture_new(4096));
    (void)state;
    for (uint64_t i = 0; i < 40; i++) {
        fixture_begin_block(f, 1, i == 20 ? 50 : 100 * i);
        fixture_begin(f, 1, i == 20 ? 50 : 100 * i, 1);
        fixture_end(f, 1, 100 * i + 90, false);
    }
    subject_make(&subject, f);
    struct tbed_window *window =
        make(&subject, (struct tbed_window_options){.column_count = 3, .exact_block_max = 1});
    tbed_window_info(window, &info);
    assert_int_equal(info.header_count, 0);
    assert_int_equal(info.block_count, 40);
    assert_int_equal(info.span_count, 40);
    tbed_window_close(window);
    subject_free(&subject);
}

/* One thread for an hour in one span, with many short ones in it: the long span is exact, and few blocks are touched. */
static void few_headers_are_touched(void **state)
{
    const struct tbed_window_part *part;
    struct tbed_window_info info;
    struct subject subject;
    struct fixture *f = with_clock(fixture_new(4096));
    (void)state;
    fixture_begin(f, 1, 1000, 7);
    for (uint64_t i = 1; i < 4000; i++) {
        fixture_begin_block(f, 1, 1000 + 100 * i);
        fixture_begin(f, 1, 1000 + 100 * i, 1);
        fixture_end(f, 1, 1000 + 100 * i + 90, false);
    }
    fixture_end(f, 1, 500000, false);
    subject_make(&subject, f);
    struct tbed_window *window = make(
        &subject, (struct tbed_window_options){.column_count = 10, .thread_count = 1, .exact_block_max = 8});
    tbed_window_info(window, &info);
    assert_in_range(info.header_count, 10, 25);
    assert_in_range(info.block_count, 1, 2);
    part = tbed_window_part(window, 0);
    assert_int_equal(part->count, 1);
    assert_int_equal(part->id, 7);
    assert_int_equal(part->begin_tick, 1000);
    assert_int_equal(part->end_tick, 500000);
    tbed_window_close(window);
    subject_free(&subject);
}

/* Spans of which the writer no longer knew the begin are in no window, and count in no depth. */
static void spans_without_a_begin_are_around_nothing(void **state)
{
    const struct tbed_window_part *part;
    struct subject subject;
    struct fixture *f = with_clock(fixture_new(4096));
    (void)state;
    f->streams[1].depth = 2;
    f->streams[1].stack[1] = (struct fixture_span){0, 4};
    f->streams[1].stack[0] = (struct fixture_span){500, 3};
    fixture_begin(f, 1, 1000, 7);
    for (uint64_t i = 1; i < 40; i++)
        fixture_begin_block(f, 1, 1000 + 100 * i);
    f->left_open = true;
    subject_make(&subject, f);
    struct tbed_window *window = make(
        &subject, (struct tbed_window_options){.column_count = 10, .thread_count = 1, .exact_block_max = 8});
    for (uint32_t i = 0; i < 2; i++) {
        part = tbed_window_part(window, i);
        assert_non_null(part);
        assert_int_equal(part->depth, i);
        assert_int_equal(part->id, i == 0 ? 3 : 7);
        assert_int_equal(part->begin_tick, i == 0 ? 500 : 1000);
        assert_int_equal(part->end_tick, 4900);
        assert_int_equal(part->count, 1);
        assert_int_equal(part->open_count, 1);
        assert_int_equal(part->sample_count, 1);
    }
    assert_null(tbed_window_part(window, 2));
    tbed_window_close(window);
    subject_free(&subject);
}

/* A block whose header is damaged is no source; those around it are. */
static void a_sketch_is_true_around_damaged_headers(void **state)
{
    struct subject subject;
    (void)state;
    for (uint64_t seed = 1; seed <= 8; seed++) {
        uint64_t random = seed;
        struct fixture *f =
            with_clock(random_trace_in_blocks(ODD_NOTHING, 8, false, seed % 2 ? 30 : 7, seed));
        f->left_open = true;
        for (size_t page = 2; page < f->page_count; page++) {
            struct tbed_disk_block *block = (void *)fixture_page(f, page);
            if (fixture_random(&random) % 4 == 0)
                block->file_id = tbed_le64_make(1);
        }
        subject_make(&subject, f);
        assert_true(ask_often(&subject, 15, seed, true) > 5);
        subject_free(&subject);
    }
}

static void a_cancelled_sketch_has_no_result(void **state)
{
    bool is_cancelled = true;
    struct tbed_window *window = NULL;
    struct tbed_window_options options = {
        .size = sizeof options, .column_count = 10, .exact_block_max = 1, .is_cancelled = &is_cancelled};
    struct subject subject;
    (void)state;
    subject_make(&subject, make_calls(true));
    assert_int_equal(tbed_window_make(subject.reader, &options, &window), TBED_ERR_CANCELLED);
    assert_null(window);
    subject_free(&subject);
}

static void what_runs_out_of_memory_is_not_taken_for_a_sketch(void **state)
{
    struct tbed_window_options options = {.size = sizeof options,
                                          .thread_count = 1,
                                          .column_count = 500,
                                          .part_max = 100,
                                          .exact_block_max = 20};
    struct subject subject;
    (void)state;
    subject_make(&subject, make_calls(true));
    need_all_or_nothing(subject.reader, &options);
    subject_free(&subject);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(what_a_sketch_says_is_true_and_complete),
        cmocka_unit_test(a_sketch_is_true_where_blocks_are_missing),
        cmocka_unit_test(a_sketch_is_true_where_spans_are_deeper_than_blocks_store),
        cmocka_unit_test(a_sketch_of_a_ring_is_true),
        cmocka_unit_test(what_headers_cannot_answer_is_exact),
        cmocka_unit_test(a_stream_whose_clock_steps_back_is_exact),
        cmocka_unit_test(few_headers_are_touched),
        cmocka_unit_test(spans_without_a_begin_are_around_nothing),
        cmocka_unit_test(a_sketch_is_true_around_damaged_headers),
        cmocka_unit_test(a_cancelled_sketch_has_no_result),
        cmocka_unit_test(what_runs_out_of_memory_is_not_taken_for_a_sketch),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
