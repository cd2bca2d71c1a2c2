/*
 * Events: every word and record as returned by a cursor, the stack and depth at block starts, and the event checks of
 *         section 12, each of which costs only the rest of its block.
 *
 * SPDX-License-Identifier: MIT
 */
#include "reader/tests/core/trace_builder.h"

#include <setjmp.h>
#include <stdarg.h>

#include <cmocka.h>

/* One event block of stream 1 that the test fills, and one after it with a single instant of id 99. */
struct pair {
    struct trace trace;
    struct trace_block block;
    struct tbed_reader *reader;
    struct tbed_event events[16];
    size_t count;
};

static void pair_make(struct pair *pair)
{
    pair->trace = trace_make(3);
    pair->block = trace_block_begin(&pair->trace, 1, TBED_BLOCK_EVENTS, 1, 0);
    struct trace_block after = trace_block_begin(&pair->trace, 2, TBED_BLOCK_EVENTS, 1, 1);
    trace_event(&after, TBED_TAG_INSTANT, 99, 0);
    trace_seal(&after);
}

static void pair_read(struct pair *pair)
{
    trace_seal(&pair->block);
    trace_shut(&pair->trace);
    pair->reader = trace_open(&pair->trace);
    pair->count = trace_events(pair->reader, 1, pair->events, 16);
}

static void pair_close(struct pair *pair)
{
    tbed_reader_close(pair->reader);
    trace_free(&pair->trace);
}

/* Returns the only event of the test's block, decoded. */
static const struct tbed_event *the_event(const struct pair *pair)
{
    assert_int_equal(pair->count, 2);
    assert_int_equal(pair->events[1].id, 99);
    assert_int_equal(tbed_damage_count(pair->reader), 0);
    return &pair->events[0];
}

static void single_words_are_begin_end_and_instant(void **state)
{
    struct pair pair;
    (void)state;
    pair_make(&pair);
    trace_event(&pair.block, TBED_TAG_BEGIN, 5, 1);
    trace_event(&pair.block, TBED_TAG_INSTANT, TBED_ID_MAX, 2);
    trace_event(&pair.block, TBED_TAG_END, 5, 0x7FFFFFFF);
    pair_read(&pair);
    assert_int_equal(pair.count, 4);
    assert_int_equal(pair.events[0].type, TBED_EVENT_BEGIN);
    assert_int_equal(pair.events[0].stream, 1);
    assert_int_equal(pair.events[0].id, 5);
    assert_int_equal(pair.events[0].tick, 1001);
    assert_int_equal(pair.events[0].offset, 4096 + 64);
    assert_false(pair.events[0].extended);
    assert_int_equal(pair.events[1].type, TBED_EVENT_INSTANT);
    assert_int_equal(pair.events[1].id, TBED_ID_MAX);
    assert_int_equal(pair.events[2].type, TBED_EVENT_END);
    assert_int_equal(pair.events[2].tick, 1000 + UINT64_C(0x7FFFFFFF));
    pair_close(&pair);
}

static void time_words_move_the_base(void **state)
{
    struct pair pair;
    (void)state;
    pair_make(&pair);
    trace_word(&pair.block, tbed_event_make(TBED_TAG_TIME, 3, 0));
    trace_word(&pair.block, tbed_event_make(TBED_TAG_TIME, TBED_ID_MAX, 0));
    trace_event(&pair.block, TBED_TAG_INSTANT, 1, 4);
    pair_read(&pair);
    assert_int_equal(the_event(&pair)->tick, 1004 + ((UINT64_C(3) + TBED_ID_MAX) << 31));
    pair_close(&pair);
}

static void pairs_are_alloc_free_and_counter(void **state)
{
    struct pair pair;
    (void)state;
    pair_make(&pair);
    trace_event(&pair.block, TBED_TAG_PAIR, 1000, 9);
    trace_word(&pair.block, UINT64_C(0x10030AAAAAAAB260)); /* the example of section 13 */
    trace_event(&pair.block, TBED_TAG_PAIR, 1, 10);
    trace_word(&pair.block, UINT64_C(2) << 60 | 0x555555559300);
    trace_event(&pair.block, TBED_TAG_PAIR, 1, 11);
    trace_word(&pair.block, UINT64_C(3) << 60 | UINT64_C(0x0FFFFFFFFFFFFFFE));
    pair_read(&pair);
    assert_int_equal(pair.count, 4);
    assert_int_equal(pair.events[0].type, TBED_EVENT_ALLOC);
    assert_int_equal(pair.events[0].of.alloc.address, 0x555555559300);
    assert_int_equal(pair.events[0].of.alloc.size, 24);
    assert_int_equal(pair.events[1].type, TBED_EVENT_FREE);
    assert_int_equal(pair.events[1].of.alloc.address, 0x555555559300);
    assert_int_equal(pair.events[2].type, TBED_EVENT_COUNTER);
    assert_int_equal(pair.events[2].counter_value.type, TBED_ARG_I64);
    assert_int_equal(pair.events[2].counter_value.value.i64, -2);
    assert_int_equal(pair.events[2].argument_count, 0);
    pair_close(&pair);
}

/* Stores an extended record of 'type' with the fixed words 11, 22, 33, … and reads it. */
static const struct tbed_event *read_extended(struct pair *pair, uint32_t type, uint32_t fixed_nwords,
                                              uint32_t aux)
{
    static const uint64_t words[] = {11, 22, 33, 44};
    pair_make(pair);
    trace_extended(&pair->block, 7, 5, (struct tbed_extended_head){type, 0, 1 + fixed_nwords, aux}, words);
    pair_read(pair);
    const struct tbed_event *event = the_event(pair);
    assert_true(event->extended);
    assert_int_equal(event->id, 7);
    assert_int_equal(event->tick, 1005);
    assert_int_equal(event->argument_count, 0);
    return event;
}

static void extended_begin_end_and_instant_are_read(void **state)
{
    struct pair pair;
    (void)state;
    assert_int_equal(read_extended(&pair, TBED_EXT_BEGIN, 0, 0)->type, TBED_EVENT_BEGIN);
    pair_close(&pair);
    const struct tbed_event *event = read_extended(&pair, TBED_EXT_END, 1, 0);
    assert_int_equal(event->type, TBED_EVENT_END);
    assert_int_equal(event->of.end.begin_tick, 11);
    pair_close(&pair);
    assert_int_equal(read_extended(&pair, TBED_EXT_INSTANT, 0, 0)->type, TBED_EVENT_INSTANT);
    pair_close(&pair);
}

static void leave_is_an_end_that_knows_when_its_span_ends(void **state)
{
    struct pair pair;
    (void)state;
    const struct tbed_event *event = read_extended(&pair, TBED_EXT_LEAVE, 2, 0);
    assert_int_equal(event->type, TBED_EVENT_END);
    assert_true(event->of.end.leaves);
    assert_int_equal(event->of.end.begin_tick, 11);
    assert_int_equal(event->of.end.end_tick, 22);
    pair_close(&pair);
    event = read_extended(&pair, TBED_EXT_END, 1, 0);
    assert_false(event->of.end.leaves);
    assert_int_equal(event->of.end.end_tick, 1005);
    pair_close(&pair);
}

static void the_flag_of_a_context_is_no_severity(void **state)
{
    static const uint32_t types[] = {TBED_EXT_MESSAGE, TBED_EXT_PACKED_MESSAGE};
    struct pair pair;
    (void)state;
    for (size_t i = 0; i < 2; i++) {
        const struct tbed_event *event = read_extended(&pair, types[i], 0, TBED_MESSAGE_CONTEXT | 3);
        assert_true(event->of.message.has_context);
        assert_int_equal(event->of.message.severity, 3);
        pair_close(&pair);
        event = read_extended(&pair, types[i], 0, 7);
        assert_false(event->of.message.has_context);
        assert_int_equal(event->of.message.severity, 7);
        pair_close(&pair);
    }
}

static void whole_spans_are_no_part_of_the_stack(void **state)
{
    struct pair pair;
    (void)state;
    const struct tbed_event *event = read_extended(&pair, TBED_EXT_SPAN, 1, 42);
    assert_int_equal(event->type, TBED_EVENT_SPAN);
    assert_int_equal(event->of.span.begin_tick, 11);
    assert_int_equal(event->category, 42);
    struct tbed_cursor *cursor;
    struct tbed_event same;
    assert_int_equal(tbed_cursor_open(pair.reader, event->stream, &cursor), TBED_OK);
    assert_int_equal(tbed_cursor_next(cursor, &same), TBED_OK);
    assert_int_equal(tbed_cursor_depth(cursor), 0);
    tbed_cursor_close(cursor);
    pair_close(&pair);
}

/* 0, INVALID and values that are not ids mean no category. END and the other types have none, whatever their aux. */
static void categories_are_read_where_there_are_any(void **state)
{
    static const uint32_t types[] = {TBED_EXT_BEGIN, TBED_EXT_INSTANT, TBED_EXT_SPAN};
    static const uint32_t none[] = {0, TBED_ID_INVALID, TBED_ID_MAX + 1, UINT32_MAX};
    struct pair pair;
    (void)state;
    for (size_t i = 0; i < 3; i++) {
        uint32_t fixed = types[i] == TBED_EXT_SPAN;
        assert_int_equal(read_extended(&pair, types[i], fixed, TBED_ID_MAX)->category, TBED_ID_MAX);
        pair_close(&pair);
        for (size_t k = 0; k < 4; k++) {
            assert_int_equal(read_extended(&pair, types[i], fixed, none[k])->category, TBED_ID_INVALID);
            pair_close(&pair);
        }
    }
    assert_int_equal(read_extended(&pair, TBED_EXT_END, 1, 42)->category, TBED_ID_INVALID);
    pair_close(&pair);
    assert_int_equal(read_extended(&pair, TBED_EXT_MESSAGE, 0, 1)->category, TBED_ID_INVALID);
    pair_close(&pair);
}

static void extended_memory_records_are_read(void **state)
{
    struct pair pair;
    (void)state;
    const struct tbed_event *event = read_extended(&pair, TBED_EXT_ALLOC, 2, TBED_FUNCTION_CALLOC);
    assert_int_equal(event->type, TBED_EVENT_ALLOC);
    assert_int_equal(event->of.alloc.address, 11);
    assert_int_equal(event->of.alloc.size, 22);
    assert_int_equal(event->of.alloc.function, TBED_FUNCTION_CALLOC);
    pair_close(&pair);
    event = read_extended(&pair, TBED_EXT_FREE, 1, TBED_FUNCTION_NEW);
    assert_int_equal(event->type, TBED_EVENT_FREE);
    assert_int_equal(event->of.alloc.address, 11);
    assert_int_equal(event->of.alloc.size, 0);
    assert_int_equal(event->of.alloc.function, TBED_FUNCTION_NEW);
    pair_close(&pair);
    event = read_extended(&pair, TBED_EXT_RESIZE, 2, 0);
    assert_int_equal(event->type, TBED_EVENT_RESIZE);
    assert_int_equal(event->of.alloc.address, 11);
    assert_int_equal(event->of.alloc.size, 22);
    pair_close(&pair);
    event = read_extended(&pair, TBED_EXT_REALLOC, 4, 0);
    assert_int_equal(event->type, TBED_EVENT_REALLOC);
    assert_int_equal(event->of.realloc.old_address, 11);
    assert_int_equal(event->of.realloc.address, 22);
    assert_int_equal(event->of.realloc.size, 33);
    assert_int_equal(event->of.realloc.begin_tick, 44);
    pair_close(&pair);
}

static void extended_keys_gaps_and_messages_are_read(void **state)
{
    static const struct {
        uint32_t type;
        enum tbed_event_type wanted;
    } keyed[] = {
        {TBED_EXT_ASYNC_BEGIN, TBED_EVENT_ASYNC_BEGIN}, {TBED_EXT_ASYNC_END, TBED_EVENT_ASYNC_END},
        {TBED_EXT_FLOW_BEGIN, TBED_EVENT_FLOW_BEGIN},   {TBED_EXT_FLOW_STEP, TBED_EVENT_FLOW_STEP},
        {TBED_EXT_FLOW_END, TBED_EVENT_FLOW_END},
    };
    struct pair pair;
    (void)state;
    for (size_t i = 0; i < sizeof keyed / sizeof keyed[0]; i++) {
        const struct tbed_event *event = read_extended(&pair, keyed[i].type, 1, 0);
        assert_int_equal(event->type, keyed[i].wanted);
        assert_int_equal(event->of.async.key, 11);
        pair_close(&pair);
    }
    const struct tbed_event *event = read_extended(&pair, TBED_EXT_GAP, 1, TBED_DROP_SIZE_LIMIT);
    assert_int_equal(event->type, TBED_EVENT_GAP);
    assert_int_equal(event->of.gap.count, 11);
    assert_int_equal(event->of.gap.cause, TBED_DROP_SIZE_LIMIT);
    pair_close(&pair);
    event = read_extended(&pair, TBED_EXT_MESSAGE, 0, TBED_SEVERITY_WARNING);
    assert_int_equal(event->type, TBED_EVENT_MESSAGE);
    assert_int_equal(event->of.message.severity, TBED_SEVERITY_WARNING);
    pair_close(&pair);
}

static void arguments_of_every_type_are_read(void **state)
{
    struct pair pair;
    struct tbed_argument argument;
    uint64_t number = 42;
    double half = 0.5;
    (void)state;
    pair_make(&pair);
    /* five scalars of 2 words, "hi" of 2, 9 bytes of 3, an unknown type of no bytes of 1 */
    trace_extended(&pair.block, 7, 5, (struct tbed_extended_head){TBED_EXT_INSTANT, 8, 1 + 16, 0}, NULL);
    trace_argument(&pair.block, TBED_ARG_U64, 3, &number, 8);
    trace_argument(&pair.block, TBED_ARG_I64, 3, &number, 8);
    trace_argument(&pair.block, TBED_ARG_F64, 3, &half, 8);
    trace_argument(&pair.block, TBED_ARG_BOOL, 3, &number, 8);
    trace_argument(&pair.block, TBED_ARG_ID, 3, &number, 8);
    trace_argument(&pair.block, TBED_ARG_TEXT, TBED_ID_INVALID, "hi", 2);
    trace_argument(&pair.block, TBED_ARG_BYTES, 3, "123456789", 9);
    trace_argument(&pair.block, 200, 3, "", 0);
    pair_read(&pair);
    const struct tbed_event *event = the_event(&pair);
    struct tbed_arguments at = event->arguments;
    assert_int_equal(event->argument_count, 8);
    tbed_argument_next(&at, &argument);
    assert_int_equal(argument.value.u64, 42);
    assert_int_equal(argument.name_id, 3);
    tbed_argument_next(&at, &argument);
    assert_int_equal(argument.value.i64, 42);
    tbed_argument_next(&at, &argument);
    assert_true(argument.value.f64 == 0.5);
    tbed_argument_next(&at, &argument);
    tbed_argument_next(&at, &argument);
    assert_int_equal(argument.type, TBED_ARG_ID);
    assert_int_equal(argument.value.id, 42);
    tbed_argument_next(&at, &argument);
    assert_int_equal(argument.nbytes, 2);
    assert_memory_equal(argument.value.text, "hi", 2);
    assert_int_equal(argument.name_id, TBED_ID_INVALID);
    tbed_argument_next(&at, &argument);
    assert_int_equal(argument.nbytes, 9);
    tbed_argument_next(&at, &argument);
    assert_int_equal(argument.type, 200);
    assert_int_equal(argument.nbytes, 0);
    pair_close(&pair);
}

static void counter_value_is_taken_from_the_arguments(void **state)
{
    struct pair pair;
    double value = -1.5;
    uint64_t more = 3;
    struct tbed_argument argument;
    (void)state;
    pair_make(&pair);
    trace_extended(&pair.block, 7, 5, (struct tbed_extended_head){TBED_EXT_COUNTER, 2, 5, 0}, NULL);
    trace_argument(&pair.block, TBED_ARG_F64, TBED_ID_INVALID, &value, 8);
    trace_argument(&pair.block, TBED_ARG_U64, 8, &more, 8);
    pair_read(&pair);
    const struct tbed_event *event = the_event(&pair);
    assert_int_equal(event->type, TBED_EVENT_COUNTER);
    assert_int_equal(event->counter_value.type, TBED_ARG_F64);
    assert_true(event->counter_value.value.f64 == -1.5);
    assert_int_equal(event->argument_count, 1);
    struct tbed_arguments at = event->arguments;
    tbed_argument_next(&at, &argument);
    assert_int_equal(argument.name_id, 8);
    pair_close(&pair);
}

static void what_is_unknown_is_skipped_and_told_by_number(void **state)
{
    static const uint64_t words[] = {1, 2};
    struct tbed_trace_info info;
    struct pair pair;
    (void)state;
    pair_make(&pair);
    trace_event(&pair.block, 7, 1, 1);
    trace_event(&pair.block, TBED_TAG_PAIR, 1, 2);
    trace_word(&pair.block, UINT64_C(9) << 60);
    trace_extended(&pair.block, 1, 3, (struct tbed_extended_head){60, 200, 3, 0}, words);
    trace_extended(&pair.block, 1, 4, (struct tbed_extended_head){200, 0, 1, 0}, words);
    pair_read(&pair);
    assert_int_equal(pair.count, 5);
    static const uint32_t tags[] = {7, 9 * 256 + 5, 60 * 256 + 6, 200 * 256 + 6}, nwords[] = {1, 2, 4, 2};
    for (size_t i = 0; i < 4; i++) {
        assert_int_equal(pair.events[i].type, TBED_EVENT_UNKNOWN);
        assert_int_equal(pair.events[i].of.unknown.tag, tags[i]);
        assert_int_equal(pair.events[i].of.unknown.nwords, nwords[i]);
    }
    assert_int_equal(tbed_reader_verify(pair.reader), TBED_OK);
    tbed_reader_info(pair.reader, &info);
    assert_int_equal(info.unknown_event_count, 3); /* the application's own types are not unknown */
    pair_close(&pair);
}

/* ---- Depth ---- */

static void depth_follows_begins_and_ends_and_each_blocks_start(void **state)
{
    struct trace trace = trace_make(3);
    struct trace_block first = trace_block_begin(&trace, 1, TBED_BLOCK_EVENTS, 1, 0);
    struct trace_block second = trace_events_begin_deep(&trace, 2, 1, 1, 5);
    struct tbed_cursor *cursor;
    struct tbed_event event;
    static const uint32_t depths[] = {0, 1, 2, 4, 5};
    (void)state;
    trace_event(&first, TBED_TAG_END, 1, 1); /* without a begin */
    trace_event(&first, TBED_TAG_BEGIN, 1, 2);
    trace_extended(&first, 1, 3, (struct tbed_extended_head){TBED_EXT_BEGIN, 0, 1, 0}, NULL);
    trace_event(&second, TBED_TAG_END, 1, 1); /* one of the 5 spans that are open according to the block */
    trace_event(&second, TBED_TAG_BEGIN, 1, 1);
    trace_seal(&first);
    trace_seal(&second);
    struct tbed_reader *reader = trace_open(&trace);
    assert_int_equal(tbed_cursor_open(reader, 1, &cursor), TBED_OK);
    for (size_t i = 0; i < 5; i++) {
        assert_int_equal(tbed_cursor_next(cursor, &event), TBED_OK);
        assert_int_equal(tbed_cursor_depth(cursor), depths[i]);
    }
    tbed_cursor_close(cursor);
    tbed_reader_close(reader);
    trace_free(&trace);
}

/* ---- Checks of section 12 ---- */

/* Expects that the words stored after a good BEGIN are damage with 'status', located at their first word. */
static void expect_damage(struct pair *pair, enum tbed_status status, uint32_t at)
{
    struct tbed_damage damage;
    pair_read(pair);
    assert_int_equal(pair->count, 2);
    assert_int_equal(pair->events[0].type, TBED_EVENT_BEGIN);
    assert_int_equal(pair->events[1].id, 99);
    assert_int_equal(tbed_damage_count(pair->reader), 1);
    assert_true(tbed_damage_get(pair->reader, 0, &damage));
    assert_string_equal(tbed_status_name(damage.status), tbed_status_name(status));
    assert_int_equal(damage.offset, 4096 + at);
    assert_int_equal(tbed_reader_verify(pair->reader), status);
    assert_int_equal(tbed_damage_count(pair->reader), 1);
    pair_close(pair);
}

static void start_damage(struct pair *pair)
{
    pair_make(pair);
    trace_event(&pair->block, TBED_TAG_BEGIN, 1, 1);
}

static void tag_0_that_is_not_the_zero_word_is_refused(void **state)
{
    struct pair pair;
    (void)state;
    start_damage(&pair);
    trace_word(&pair.block, 1);
    trace_event(&pair.block, TBED_TAG_END, 1, 3); /* skipped with the rest */
    expect_damage(&pair, TBED_ERR_EVENT_TAG, 72);
}

static void time_word_with_a_delta_is_refused(void **state)
{
    struct pair pair;
    (void)state;
    start_damage(&pair);
    trace_word(&pair.block, tbed_event_make(TBED_TAG_TIME, 1, 1));
    expect_damage(&pair, TBED_ERR_EVENT_TIME, 72);
}

static void time_word_that_moves_nothing_is_refused(void **state)
{
    struct pair pair;
    (void)state;
    start_damage(&pair);
    trace_word(&pair.block, tbed_event_make(TBED_TAG_TIME, 0, 0));
    expect_damage(&pair, TBED_ERR_EVENT_TIME, 72);
}

static void pair_that_is_cut_is_refused(void **state)
{
    struct pair pair;
    (void)state;
    start_damage(&pair);
    trace_event(&pair.block, TBED_TAG_PAIR, 1, 2);
    expect_damage(&pair, TBED_ERR_EVENT_LENGTH, 72);
}

static void extended_record_without_its_second_word_is_refused(void **state)
{
    struct pair pair;
    (void)state;
    start_damage(&pair);
    trace_event(&pair.block, TBED_TAG_EXTENDED, 1, 2);
    expect_damage(&pair, TBED_ERR_EVENT_LENGTH, 72);
}

static void extended_record_past_the_end_is_refused(void **state)
{
    struct pair pair;
    (void)state;
    start_damage(&pair);
    trace_extended(&pair.block, 1, 2, (struct tbed_extended_head){200, 0, 65535, 0}, NULL);
    expect_damage(&pair, TBED_ERR_EVENT_LENGTH, 72);
}

static void extended_record_of_no_words_is_refused(void **state)
{
    struct pair pair;
    (void)state;
    start_damage(&pair);
    trace_extended(&pair.block, 1, 2, (struct tbed_extended_head){200, 0, 0, 0}, NULL);
    expect_damage(&pair, TBED_ERR_EVENT_LENGTH, 72);
}

static void expect_argument_damage(struct tbed_extended_head head, const uint64_t *words)
{
    struct pair pair;
    start_damage(&pair);
    trace_extended(&pair.block, 1, 2, head, words);
    expect_damage(&pair, TBED_ERR_EVENT_ARGUMENT, 72);
}

static void arguments_that_do_not_fill_the_record_are_refused(void **state)
{
    static const uint64_t u64[] = {0x0000000100000801, 7, 0, 0}; /* U64, 8 bytes, name 1 */
    static const uint64_t short_u64[] = {0x0000000100000401, 7}; /* U64 of 4 bytes */
    static const uint64_t wide_name[] = {0x4000000000000801, 7}; /* a bit above the 30 of an id */
    static const uint64_t long_text[] = {0x00000001FFFFFF07, 7}; /* TEXT of 16 MiB */
    (void)state;
    expect_argument_damage((struct tbed_extended_head){TBED_EXT_INSTANT, 0, 3, 0},
                           u64); /* words that belong to no argument */
    expect_argument_damage((struct tbed_extended_head){TBED_EXT_INSTANT, 1, 4, 0}, u64); /* one too many */
    expect_argument_damage((struct tbed_extended_head){TBED_EXT_INSTANT, 1, 2, 0},
                           u64); /* a value is missing */
    expect_argument_damage((struct tbed_extended_head){TBED_EXT_INSTANT, 1, 1, 0}, u64); /* all is missing */
    expect_argument_damage((struct tbed_extended_head){TBED_EXT_INSTANT, 1, 3, 0}, short_u64);
    expect_argument_damage((struct tbed_extended_head){TBED_EXT_INSTANT, 1, 3, 0}, wide_name);
    expect_argument_damage((struct tbed_extended_head){TBED_EXT_INSTANT, 1, 3, 0}, long_text);
    expect_argument_damage((struct tbed_extended_head){TBED_EXT_COUNTER, 0, 1, 0}, u64); /* no value */
    expect_argument_damage((struct tbed_extended_head){TBED_EXT_REALLOC, 0, 4, 0},
                           u64); /* a fixed word short */
}

static void zero_word_in_a_sealed_block_is_refused(void **state)
{
    struct pair pair;
    (void)state;
    start_damage(&pair);
    trace_word(&pair.block, 0);
    trace_event(&pair.block, TBED_TAG_END, 1, 3);
    expect_damage(&pair, TBED_ERR_EVENT_ZERO, 72);
}

static void stored_stack_with_a_wide_id_is_refused(void **state)
{
    struct trace trace = trace_make(2);
    struct trace_block block = trace_events_begin_deep(&trace, 1, 1, 0, 3);
    struct tbed_damage damage;
    (void)state;
    trace_event(&block, TBED_TAG_INSTANT, 1, 1);
    block.bytes[64 + 16 + 12] = 2; /* an unknown flag of the second span */
    trace_seal(&block);
    struct tbed_reader *reader = trace_open(&trace);
    assert_int_equal(trace_events(reader, 1, NULL, 0), 0);
    assert_true(tbed_damage_get(reader, 0, &damage));
    assert_int_equal(damage.status, TBED_ERR_EVENT_STACK);
    assert_int_equal(damage.offset, 4096 + 64 + 16);
    assert_int_equal(tbed_damage_count(reader), 1);
    tbed_reader_close(reader);
    trace_free(&trace);
}

static void ticks_that_decrease_are_read_and_counted(void **state)
{
    struct tbed_trace_info info;
    struct pair pair;
    (void)state;
    pair_make(&pair);
    trace_event(&pair.block, TBED_TAG_INSTANT, 1, 50);
    trace_event(&pair.block, TBED_TAG_INSTANT, 2, 40);
    pair_read(&pair);
    assert_int_equal(pair.count, 3);          /* the event of the next block is at 1000, before both */
    for (int again = 0; again < 2; again++) { /* counted anew each time */
        assert_int_equal(tbed_reader_verify(pair.reader), TBED_OK);
        tbed_reader_info(pair.reader, &info);
        assert_int_equal(info.tick_decrease_count, 2);
    }
    pair_close(&pair);
}

/* ---- Blocks that are not sealed ---- */

static void interrupted_record_is_counted_and_not_read(void **state)
{
    struct trace trace = trace_make(2);
    struct trace_block block = trace_block_begin(&trace, 1, TBED_BLOCK_EVENTS, 1, 0);
    struct tbed_trace_info info;
    (void)state;
    trace_event(&block, TBED_TAG_INSTANT, 1, 1);
    trace_word(&block, 0); /* the first word of a record, which is stored last */
    trace_word(&block, 0x00010001);
    struct tbed_reader *reader = trace_open(&trace);
    assert_int_equal(trace_events(reader, 1, NULL, 0), 1);
    assert_int_equal(tbed_reader_verify(reader), TBED_OK);
    assert_int_equal(tbed_reader_verify(reader), TBED_OK); /* counts anew */
    tbed_reader_info(reader, &info);
    assert_int_equal(info.interrupted_record_count, 1);
    assert_int_equal(info.unsealed_block_count, 1);
    assert_int_equal(info.last_tick, 1001);
    tbed_reader_close(reader);
    trace_free(&trace);
}

static void an_interrupted_record_of_metadata_is_counted(void **state)
{
    struct trace trace = trace_make(2);
    struct trace_block block = trace_block_begin(&trace, 1, TBED_BLOCK_RECORDS, 1, 0);
    struct tbed_trace_info info;
    (void)state;
    trace_bind(&block, 100, 1, 5);
    trace_word(&block, 0);
    trace_word(&block, 200);
    struct tbed_reader *reader = trace_open(&trace);
    assert_int_equal(tbed_reader_verify(reader), TBED_OK);
    tbed_reader_info(reader, &info);
    assert_int_equal(info.interrupted_record_count, 1);
    tbed_reader_close(reader);
    trace_free(&trace);
}

static void unsealed_block_that_is_full_ends_with_itself(void **state)
{
    struct trace trace = trace_make(2);
    struct trace_block block = trace_block_begin(&trace, 1, TBED_BLOCK_EVENTS, 1, 0);
    (void)state;
    for (int i = 0; i < (4096 - 64) / 8; i++)
        trace_event(&block, TBED_TAG_INSTANT, 1, 1);
    struct tbed_reader *reader = trace_open(&trace);
    assert_int_equal(trace_events(reader, 1, NULL, 0), (4096 - 64) / 8);
    tbed_reader_close(reader);
    trace_free(&trace);
}

static void each_type_has_a_name_of_its_own(void **state)
{
    (void)state;
    for (unsigned type = 0; type < TBED_EVENT_UNKNOWN; type++)
        for (unsigned other = type + 1; other <= TBED_EVENT_UNKNOWN; other++)
            assert_string_not_equal(tbed_event_type_name((enum tbed_event_type)type),
                                    tbed_event_type_name((enum tbed_event_type)other));
    assert_string_equal(tbed_event_type_name(TBED_EVENT_FLOW_STEP), "flow_step");
    assert_string_equal(tbed_event_type_name((enum tbed_event_type)(TBED_EVENT_UNKNOWN + 1)), "unknown");
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(single_words_are_begin_end_and_instant),
        cmocka_unit_test(time_words_move_the_base),
        cmocka_unit_test(pairs_are_alloc_free_and_counter),
        cmocka_unit_test(extended_begin_end_and_instant_are_read),
        cmocka_unit_test(leave_is_an_end_that_knows_when_its_span_ends),
        cmocka_unit_test(the_flag_of_a_context_is_no_severity),
        cmocka_unit_test(whole_spans_are_no_part_of_the_stack),
        cmocka_unit_test(categories_are_read_where_there_are_any),
        cmocka_unit_test(extended_memory_records_are_read),
        cmocka_unit_test(extended_keys_gaps_and_messages_are_read),
        cmocka_unit_test(arguments_of_every_type_are_read),
        cmocka_unit_test(counter_value_is_taken_from_the_arguments),
        cmocka_unit_test(what_is_unknown_is_skipped_and_told_by_number),
        cmocka_unit_test(depth_follows_begins_and_ends_and_each_blocks_start),
        cmocka_unit_test(tag_0_that_is_not_the_zero_word_is_refused),
        cmocka_unit_test(time_word_with_a_delta_is_refused),
        cmocka_unit_test(time_word_that_moves_nothing_is_refused),
        cmocka_unit_test(pair_that_is_cut_is_refused),
        cmocka_unit_test(extended_record_without_its_second_word_is_refused),
        cmocka_unit_test(extended_record_past_the_end_is_refused),
        cmocka_unit_test(extended_record_of_no_words_is_refused),
        cmocka_unit_test(arguments_that_do_not_fill_the_record_are_refused),
        cmocka_unit_test(zero_word_in_a_sealed_block_is_refused),
        cmocka_unit_test(stored_stack_with_a_wide_id_is_refused),
        cmocka_unit_test(ticks_that_decrease_are_read_and_counted),
        cmocka_unit_test(interrupted_record_is_counted_and_not_read),
        cmocka_unit_test(an_interrupted_record_of_metadata_is_counted),
        cmocka_unit_test(unsealed_block_that_is_full_ends_with_itself),
        cmocka_unit_test(each_type_has_a_name_of_its_own),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
