/*
 * Windows: against an oracle that makes the parts of a list of spans with one width of columns after the other; also
 * where each allocation fails in turn.
 *
 * Link with: -Wl,--wrap=malloc,--wrap=calloc,--wrap=realloc
 *
 * SPDX-License-Identifier: MIT
 */
#include "reader/tests/analysis/window_memory.h"

/* What is asked for. */
struct question {
    struct tbed_reader *reader;
    struct tbed_filter_options which;
    struct tbed_filter *filter;
    struct tbed_window_options options;
    uint64_t resolution;
    uint64_t begin, end; /* the window */
};

struct oracle {
    struct drawn_list drawn;
    struct tbed_window_part *parts;
    size_t part_count;
};

/* ---- The oracle ---- */

static uint64_t ticks_of(const struct question *question, const struct listed *span)
{
    return span->end / question->resolution * question->resolution -
           span->begin / question->resolution * question->resolution;
}

/* The parts of one stream and one depth. */
static void make_row(struct oracle *oracle, const struct question *question, uint32_t stream, uint32_t depth,
                     uint64_t column)
{
    struct tbed_window_part *last = NULL; /* what short spans are joined to */
    for (size_t i = 0; i < oracle->drawn.count; i++) {
        const struct listed *span = &oracle->drawn.items[i].span;
        if (span->stream != stream || oracle->drawn.items[i].depth != depth)
            continue;
        bool is_long = span->end - span->begin >= column;
        uint64_t ticks = ticks_of(question, span);
        if (is_long || last == NULL ||
            (last->begin_tick - question->begin) / column != (span->begin - question->begin) / column) {
            struct tbed_window_part *part = &oracle->parts[oracle->part_count++];
            *part = (struct tbed_window_part){.begin_tick = span->begin,
                                              .end_tick = span->end,
                                              .count = 1,
                                              .ticks = ticks,
                                              .longest_ticks = ticks,
                                              .id = span->id,
                                              .stream = span->stream,
                                              .depth = depth,
                                              .open_count = span->is_open};
            last = is_long ? NULL : part;
            continue;
        }
        last->begin_tick = span->begin < last->begin_tick ? span->begin : last->begin_tick;
        last->end_tick = span->end > last->end_tick ? span->end : last->end_tick;
        last->count++;
        last->ticks += ticks;
        last->open_count += span->is_open;
        last->id = ticks > last->longest_ticks ? span->id : last->id;
        last->longest_ticks = ticks > last->longest_ticks ? ticks : last->longest_ticks;
    }
}

static int compare_parts(const void *left, const void *right)
{
    const struct tbed_window_part *a = left, *b = right;
    const uint64_t keys[][2] = {
        {a->stream, b->stream},     {a->depth, b->depth}, {a->begin_tick, b->begin_tick},
        {a->end_tick, b->end_tick}, {a->id, b->id},       {a->count, b->count}};
    for (size_t i = 0; i < sizeof keys / sizeof keys[0]; i++)
        if (keys[i][0] != keys[i][1])
            return keys[i][0] < keys[i][1] ? -1 : 1;
    return 0;
}

static void make_parts(struct oracle *oracle, const struct question *question, uint64_t column)
{
    oracle->part_count = 0;
    for (uint32_t stream = 1; stream <= STREAMS; stream++)
        for (uint32_t depth = 0; depth < DRAWN_DEPTHS; depth++)
            make_row(oracle, question, stream, depth, column);
    qsort(oracle->parts, oracle->part_count, sizeof *oracle->parts, compare_parts);
}

/* ---- Asking ---- */

static void expect_part(const struct tbed_window_part *found, const struct tbed_window_part *expected)
{
    assert_non_null(found);
    assert_int_equal(found->stream, expected->stream);
    assert_int_equal(found->depth, expected->depth);
    assert_int_equal(found->begin_tick, expected->begin_tick);
    assert_int_equal(found->end_tick, expected->end_tick);
    assert_int_equal(found->count, expected->count);
    assert_int_equal(found->ticks, expected->ticks);
    assert_int_equal(found->longest_ticks, expected->longest_ticks);
    assert_int_equal(found->id, expected->id);
    assert_int_equal(found->open_count, expected->open_count);
    assert_int_equal(found->sample_count, 0);
}

static void expect_window(const struct question *question)
{
    struct oracle oracle = {.parts = calloc(DRAWN_MAX, sizeof *oracle.parts)};
    uint64_t ticks = question->end - question->begin, columns = question->options.column_count;
    uint64_t column = question->options.column_ticks;
    if (column == 0)
        column = (ticks + columns - 1) / columns;
    size_t part_max = question->options.part_max;
    struct tbed_window_info info;
    struct tbed_window *window;
    drawn_list_make(&oracle.drawn, question->reader, question->filter, question->options.depth_count);
    make_parts(&oracle, question, column);
    while (part_max > 0 && oracle.part_count > part_max && column <= ticks / 2) {
        column *= 2;
        make_parts(&oracle, question, column);
    }
    assert_int_equal(tbed_window_make(question->reader, &question->options, &window), TBED_OK);
    tbed_window_info(window, &info);
    assert_int_equal(info.begin_tick, question->begin);
    assert_int_equal(info.end_tick, question->end);
    assert_int_equal(info.column_ticks, column);
    assert_true(info.is_exact && info.header_count == 0);
    assert_int_equal(info.span_count, oracle.drawn.count);
    assert_int_equal(info.deeper_count, oracle.drawn.deeper_count);
    assert_int_equal(info.unknown_count, oracle.drawn.unknown_count);
    for (size_t i = 0; i < oracle.part_count; i++)
        expect_part(tbed_window_part(window, i), &oracle.parts[i]);
    assert_null(tbed_window_part(window, oracle.part_count));
    tbed_window_close(window);
    free(oracle.drawn.items);
    free(oracle.parts);
}

static void ask_of(struct fixture *f, struct tbed_filter_options which, struct tbed_window_options options)
{
    struct question question = {.reader = fixture_open(f), .which = which, .options = options};
    struct tbed_trace_info info;
    tbed_reader_info(question.reader, &info);
    question.which.size = sizeof question.which;
    question.options.size = sizeof question.options;
    question.resolution = f->resolution_ns > 0 ? f->resolution_ns : 1;
    question.begin = which.begin_tick > 0 ? which.begin_tick : info.first_tick;
    question.end = which.end_tick > 0 ? which.end_tick : info.last_tick;
    assert_int_equal(tbed_filter_make(question.reader, &question.which, &question.filter, NULL), TBED_OK);
    question.options.filter = question.filter;
    expect_window(&question);
    tbed_filter_close(question.filter);
    tbed_reader_close(question.reader);
    fixture_free(f);
}

static void run(unsigned odd, uint32_t depth, bool loses)
{
    static const uint32_t columns[] = {1, 7, 60, 1000, 60000};
    for (uint64_t seed = 1; seed <= 10; seed++)
        ask_of(random_trace(odd, depth, loses, seed), (struct tbed_filter_options){0},
               (struct tbed_window_options){.thread_count = (unsigned)(seed % 3 + 1),
                                            .column_count = columns[seed % 5],
                                            .depth_count = seed % 4 == 0 ? 2 : 0,
                                            .part_max = seed % 2 == 0 ? 40 * seed : 0});
}

/* ---- Tests ---- */

static void parts_are_those_of_the_oracle(void **state)
{
    (void)state;
    for (unsigned odd = 0; odd < ODD_COUNT; odd++) {
        run(odd, 1, false);
        run(odd, 12, false);
    }
}

static void parts_are_found_where_blocks_are_missing(void **state)
{
    (void)state;
    run(ODD_NOTHING, 5, true);
    run(ODD_UNKNOWN, 5, true);
}

static void a_window_has_the_parts_that_reach_into_it(void **state)
{
    const char *const names[] = {"[135]"};
    const uint32_t streams[] = {2};
    uint64_t random = 1;
    (void)state;
    for (uint64_t seed = 1; seed <= 60; seed++) {
        random = random * 6364136223846793005u + 1442695040888963407u;
        uint64_t begin = 1 + (random >> 33) % 9000, length = 1 + (random >> 13) % (seed % 2 ? 100 : 9000);
        ask_of(random_trace((unsigned)(seed % ODD_COUNT), 8, false, seed),
               (struct tbed_filter_options){.names = names,
                                            .name_count = seed % 5 == 0,
                                            .streams = seed % 7 == 0 ? streams : NULL,
                                            .stream_count = seed % 7 == 0,
                                            .begin_tick = begin,
                                            .end_tick = begin + length},
               (struct tbed_window_options){
                   .thread_count = 2, .column_count = (uint32_t)(1 + seed * 13), .part_max = seed % 3 * 20});
    }
}

/*
 * Blocks are short, so each stream is read in many pieces at a time. What is around a piece is guessed, and wrong where
 * spans do not nest, ticks go back, blocks are missing or spans are deeper than a block stores.
 */
static void streams_are_read_in_pieces(void **state)
{
    uint64_t random = 1;
    (void)state;
    for (uint64_t seed = 1; seed <= 100; seed++) {
        uint32_t depth = seed % 5 == 0 ? 100 : (uint32_t)(1 + seed % 13);
        struct fixture *f = random_trace_in_blocks((unsigned)(seed % ODD_COUNT), depth, seed % 3 == 0,
                                                   (uint32_t)(5 + seed % 40), seed);
        f->has_clock = true;
        f->left_open |= seed % 4 == 0;
        random = random * 6364136223846793005u + 1442695040888963407u;
        uint64_t begin = 1 + (random >> 33) % 9000;
        bool is_part = seed % 2 == 0;
        ask_of(f,
               (struct tbed_filter_options){.begin_tick = is_part ? begin : 0,
                                            .end_tick = is_part ? begin + 4000 : 0},
               (struct tbed_window_options){.thread_count = (unsigned)(1 + seed % 3),
                                            .column_count = (uint32_t)(1 + seed * 13),
                                            .part_max = seed % 3 * 20});
    }
}

static void durations_are_rounded_to_the_resolution_of_the_clock(void **state)
{
    (void)state;
    for (uint64_t seed = 1; seed <= 6; seed++) {
        struct fixture *f = random_trace(ODD_WHOLE, 4, false, seed);
        f->resolution_ns = 10;
        ask_of(f, (struct tbed_filter_options){0},
               (struct tbed_window_options){.thread_count = 2, .column_count = 30});
    }
}

static struct fixture *make_pairs(void)
{
    struct fixture *f = fixture_new(4096);
    for (uint64_t tick = 100; tick < 10100; tick += 10) {
        fixture_begin(f, 1, tick, 1);
        fixture_end(f, 1, tick + 5, false);
    }
    return f;
}

static void few_parts_are_wanted_of_many_spans(void **state)
{
    (void)state;
    for (size_t part_max = 1; part_max < 1500; part_max += part_max / 3 + 1)
        ask_of(make_pairs(), (struct tbed_filter_options){0},
               (struct tbed_window_options){.thread_count = 1, .column_count = 20000, .part_max = part_max});
}

static void columns_can_be_as_narrow_as_wanted(void **state)
{
    (void)state;
    for (uint64_t ticks = 1; ticks < 1000000; ticks *= 7)
        ask_of(make_pairs(), (struct tbed_filter_options){0},
               (struct tbed_window_options){
                   .thread_count = 2, .column_ticks = ticks, .part_max = ticks % 2 * 100});
}

static void a_cancelled_window_has_no_result(void **state)
{
    bool is_cancelled = true;
    struct tbed_window_options options = {
        .size = sizeof options, .column_count = 10, .is_cancelled = &is_cancelled};
    struct fixture *f = make_pairs();
    struct tbed_reader *reader = fixture_open(f);
    struct tbed_window *window = NULL;
    (void)state;
    assert_int_equal(tbed_window_make(reader, &options, &window), TBED_ERR_CANCELLED);
    assert_null(window);
    is_cancelled = false;
    assert_int_equal(tbed_window_make(reader, &options, &window), TBED_OK);
    tbed_window_close(window);
    tbed_reader_close(reader);
    fixture_free(f);
}

static void what_runs_out_of_memory_is_not_taken_for_a_result(void **state)
{
    struct tbed_window_options options = {
        .size = sizeof options, .thread_count = 1, .column_count = 500, .part_max = 100};
    struct fixture *f = random_trace(ODD_NOTHING, 3, false, 1);
    struct tbed_reader *reader = fixture_open(f);
    (void)state;
    need_all_or_nothing(reader, &options);
    tbed_reader_close(reader);
    fixture_free(f);
}

static void wrong_options_are_refused(void **state)
{
    struct {
        struct tbed_window_options known;
        uint64_t more;
    } later = {.known = {.size = sizeof later, .column_count = 10}, .more = 1};
    struct tbed_window_options none = {.size = sizeof none};
    struct tbed_window_options many = {.size = sizeof many, .column_count = TBED_WINDOW_COLUMNS_MAX + 1};
    struct fixture *f = make_pairs();
    struct tbed_reader *reader = fixture_open(f);
    struct tbed_window *window = NULL;
    (void)state;
    assert_int_equal(tbed_window_make(reader, &later.known, &window), TBED_ERR_ARGUMENT);
    assert_int_equal(tbed_window_make(reader, &none, &window), TBED_ERR_ARGUMENT);
    assert_int_equal(tbed_window_make(reader, &many, &window), TBED_ERR_ARGUMENT);
    assert_null(window);
    tbed_reader_close(reader);
    fixture_free(f);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(parts_are_those_of_the_oracle),
        cmocka_unit_test(parts_are_found_where_blocks_are_missing),
        cmocka_unit_test(a_window_has_the_parts_that_reach_into_it),
        cmocka_unit_test(streams_are_read_in_pieces),
        cmocka_unit_test(durations_are_rounded_to_the_resolution_of_the_clock),
        cmocka_unit_test(few_parts_are_wanted_of_many_spans),
        cmocka_unit_test(columns_can_be_as_narrow_as_wanted),
        cmocka_unit_test(a_cancelled_window_has_no_result),
        cmocka_unit_test(what_runs_out_of_memory_is_not_taken_for_a_result),
        cmocka_unit_test(wrong_options_are_refused),
    };
    return cmocka_run_group_tests_name("window", tests, NULL, NULL);
}
