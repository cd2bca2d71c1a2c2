/*
 * Each function that records an event, at the limits of what its short form can hold: exactly what was given comes back,
 * and the event takes exactly the words that spec/format.md, section 6, gives it.
 *
 * SPDX-License-Identifier: MIT
 */
#include "writer/tests/support.h"

#include <stdlib.h>
#include <string.h>

enum { EVENTS_MAX = 200 };

static struct {
    uint32_t nwords;
    struct tbed_event event;
} expected[EVENTS_MAX];
static size_t expected_count;

/* What the call before it must have recorded. */
#define IS(nwords_, type_, id_, ...)                                                                         \
    (assert_true(expected_count < EVENTS_MAX), expected[expected_count].nwords = (nwords_),                  \
     expected[expected_count++].event =                                                                      \
         (struct tbed_event){.type = TBED_EVENT_##type_, .id = (id_), __VA_ARGS__})

#define I64(n)                                                                                               \
    {                                                                                                        \
        .type = TBED_ARG_I64, .name_id = TBED_ID_INVALID, .value.i64 = (n)                                   \
    }
#define U64(n)                                                                                               \
    {                                                                                                        \
        .type = TBED_ARG_U64, .name_id = TBED_ID_INVALID, .value.u64 = (n)                                   \
    }
#define F64(n)                                                                                               \
    {                                                                                                        \
        .type = TBED_ARG_F64, .name_id = TBED_ID_INVALID, .value.f64 = (n)                                   \
    }

static void record_counters(struct tbed_recorder *recorder)
{
    static const int64_t limit = INT64_C(1) << 59;
    static const int64_t short_ones[] = {0, 1, -1, limit - 1, -limit},
                         long_ones[] = {limit, -limit - 1, INT64_MAX, INT64_MIN};
    for (size_t i = 0; i < 5; i++) {
        tbed_counter_record_i64(recorder, 7, short_ones[i]);
        IS(2, COUNTER, 7, .counter_value = I64(short_ones[i]));
    }
    for (size_t i = 0; i < 4; i++) {
        tbed_counter_record_i64(recorder, 7, long_ones[i]);
        IS(4, COUNTER, 7, .extended = true, .counter_value = I64(long_ones[i]));
    }
    tbed_counter_record_f64(recorder, 8, -0.25);
    IS(4, COUNTER, 8, .extended = true, .counter_value = F64(-0.25));
    const struct tbed_argument u64 = U64(UINT64_MAX), i64 = I64(-1), f64 = F64(2.5),
                               id = {.type = TBED_ARG_ID};
    const struct tbed_argument pointer = {.type = TBED_ARG_POINTER}, none = {.type = 0};
    tbed_counter_record_category(recorder, 9, 5, &u64);
    IS(4, COUNTER, 9, .category = 5, .extended = true, .counter_value = u64);
    tbed_counter_record_category(recorder, 9, TBED_ID_INVALID, &i64);
    IS(4, COUNTER, 9, .extended = true, .counter_value = i64);
    tbed_counter_record_category(recorder, 9, TBED_ID_MAX, &f64);
    IS(4, COUNTER, 9, .category = TBED_ID_MAX, .extended = true, .counter_value = f64);
    tbed_counter_record_category(recorder, 9, 5, &id); /* no numbers: dropped */
    tbed_counter_record_category(recorder, 9, 5, &pointer);
    tbed_counter_record_category(recorder, 9, 5, &none);
}

static void record_allocations(struct tbed_recorder *recorder)
{
    static const struct {
        uint64_t address, size;
        uint32_t function;
        bool is_short;
    } cases[] = {
        {8, 0, TBED_FUNCTION_MALLOC, true},
        {8, 32767, TBED_FUNCTION_MALLOC, true},
        {8, 32768, TBED_FUNCTION_MALLOC, false},
        {UINT64_C(0xFFFFFFFFFFF8), 32767, TBED_FUNCTION_MALLOC, true},
        {UINT64_C(0x1000000000000), 1, TBED_FUNCTION_MALLOC, false},
        {0, 0, TBED_FUNCTION_MALLOC, false},
        {12, 1, TBED_FUNCTION_MALLOC, false},
        {9, 1, TBED_FUNCTION_MALLOC, false},
        {16, 1, TBED_FUNCTION_CALLOC, false},
        {16, 1, TBED_FUNCTION_MMAP, false},
        {UINT64_MAX, UINT64_MAX, TBED_FUNCTION_MMAP, false},
    };
    for (size_t i = 0; i < sizeof cases / sizeof cases[0]; i++) {
        tbed_alloc_record(recorder, 9, (enum tbed_alloc_function)cases[i].function, cases[i].address,
                          cases[i].size);
        IS(cases[i].is_short ? 2 : 4, ALLOC, 9, .extended = !cases[i].is_short,
           .of.alloc = {cases[i].address, cases[i].size, cases[i].is_short ? 0 : cases[i].function});
    }
    tbed_alloc_record(recorder, 9, TBED_FUNCTION_UNKNOWN, 16, 1);
    IS(2, ALLOC, 9, .of.alloc = {16, 1, 0});
    static const uint64_t addresses[] = {0, 1, 8, (UINT64_C(1) << 60) - 1, UINT64_C(1) << 60, UINT64_MAX};
    for (size_t i = 0; i < 6; i++) {
        bool is_short = i < 4;
        tbed_free_record(recorder, 10, TBED_FUNCTION_MALLOC, addresses[i]);
        IS(is_short ? 2 : 3, FREE, 10, .extended = !is_short,
           .of.alloc = {addresses[i], 0, is_short ? 0 : TBED_FUNCTION_MALLOC});
        tbed_free_record(recorder, 10, TBED_FUNCTION_MMAP, addresses[i]);
        IS(3, FREE, 10, .extended = true, .of.alloc = {addresses[i], 0, TBED_FUNCTION_MMAP});
    }
    tbed_free_record(recorder, 10, TBED_FUNCTION_UNKNOWN, 16);
    IS(2, FREE, 10, .of.alloc = {16, 0, 0});
    tbed_realloc_record(recorder, 11, 1, 2, 3, 4);
    IS(6, REALLOC, 11, .extended = true, .of.realloc = {1, 2, 3, 4});
    tbed_remap_record(recorder, 12, 1, 5, 2, 3, 4);
    IS(8, REALLOC, 12, .extended = true, .of.realloc = {1, 2, 3, 4}, .argument_count = 1);
    tbed_unmap_record(recorder, 13, 4096, 8192);
    IS(5, FREE, 13, .extended = true, .of.alloc = {4096, 0, TBED_FUNCTION_MMAP}, .argument_count = 1);
    static const uint64_t bits[3] = {1, 2, 3};
    for (size_t count = 0; count <= 3; count++) {
        tbed_free_slots_record(recorder, 14, 4096, 40, bits, count);
        IS(3 + 2 + 1 + (uint32_t)count, FREE, 14, .extended = true, .of.alloc = {4096, 0, 0},
           .argument_count = 2);
    }
}

static void record_keys_and_messages(struct tbed_recorder *recorder)
{
    tbed_async_begin(recorder, 20, UINT64_MAX);
    IS(3, ASYNC_BEGIN, 20, .extended = true, .of.async.key = UINT64_MAX);
    tbed_async_end(recorder, 20, 0);
    IS(3, ASYNC_END, 20, .extended = true, .of.async.key = 0);
    tbed_flow_record(recorder, TBED_EXT_FLOW_BEGIN, 21, 1);
    IS(3, FLOW_BEGIN, 21, .extended = true, .of.async.key = 1);
    tbed_flow_record(recorder, TBED_EXT_FLOW_STEP, 21, 2);
    IS(3, FLOW_STEP, 21, .extended = true, .of.async.key = 2);
    tbed_flow_record(recorder, TBED_EXT_FLOW_END, 21, 3);
    IS(3, FLOW_END, 21, .extended = true, .of.async.key = 3);
    tbed_flow_record(recorder, TBED_EXT_END, 21, 3); /* nothing */
    for (uint32_t nbytes = 0; nbytes <= 17; nbytes++) {
        tbed_message_record(recorder, TBED_SEVERITY_WARNING, "seventeen letters", nbytes);
        IS(3 + (nbytes + 7) / 8, MESSAGE, TBED_ID_INVALID, .extended = true,
           .of.message.severity = TBED_SEVERITY_WARNING, .argument_count = 1);
    }
    const struct tbed_argument arguments[] = {U64(1), F64(2), I64(-3)};
    for (size_t count = 0; count <= 3; count++) {
        tbed_message_record_args(recorder, TBED_SEVERITY_ERROR, 22, arguments, count);
        IS(2 + 2 * (uint32_t)count, MESSAGE, 22, .extended = true, .of.message.severity = TBED_SEVERITY_ERROR,
           .argument_count = (uint32_t)count);
        tbed_instant_record_args(recorder, 23, arguments, count);
        IS(2 + 2 * (uint32_t)count, INSTANT, 23, .extended = true, .argument_count = (uint32_t)count);
        tbed_instant_record_category(recorder, 24, 6, arguments, count);
        IS(2 + 2 * (uint32_t)count, INSTANT, 24, .category = 6, .extended = true,
           .argument_count = (uint32_t)count);
    }
    tbed_instant_record(recorder, TBED_ID_MAX);
    IS(1, INSTANT, TBED_ID_MAX, .extended = false);
}

static void record_spans(struct tbed_recorder *recorder)
{
    const struct tbed_argument arguments[] = {U64(1), F64(2)};
    tbed_span_begin(recorder, 30);
    IS(1, BEGIN, 30, .extended = false);
    tbed_span_begin_category(recorder, 31, 7, arguments, 2);
    IS(6, BEGIN, 31, .category = 7, .extended = true, .argument_count = 2);
    tbed_span_begin_args(recorder, 32, arguments, 1);
    IS(4, BEGIN, 32, .extended = true, .argument_count = 1);
    tbed_span_end_args(recorder, arguments, 1);
    IS(5, END, 32, .extended = true, .argument_count = 1);
    tbed_span_end(recorder);
    IS(1, END, 31, .extended = false);
    tbed_span_end_args(recorder, NULL, 0);
    IS(3, END, 30, .extended = true);
}

static void assert_same_payload(const struct tbed_event *found, const struct tbed_event *wanted)
{
    switch (wanted->type) {
    case TBED_EVENT_COUNTER:
        assert_int_equal(found->counter_value.type, wanted->counter_value.type);
        assert_int_equal(found->counter_value.value.u64, wanted->counter_value.value.u64);
        break;
    case TBED_EVENT_ALLOC:
    case TBED_EVENT_FREE:
        assert_int_equal(found->of.alloc.address, wanted->of.alloc.address);
        assert_int_equal(found->of.alloc.size, wanted->of.alloc.size);
        if (found->extended)
            assert_int_equal(found->of.alloc.function, wanted->of.alloc.function);
        break;
    case TBED_EVENT_REALLOC:
        assert_memory_equal(&found->of.realloc, &wanted->of.realloc, sizeof wanted->of.realloc);
        break;
    case TBED_EVENT_MESSAGE:
        assert_int_equal(found->of.message.severity, wanted->of.message.severity);
        break;
    case TBED_EVENT_BEGIN:
    case TBED_EVENT_END:
    case TBED_EVENT_INSTANT:
        break;
    default:
        assert_int_equal(found->of.async.key, wanted->of.async.key);
    }
}

static void what_is_recorded_comes_back_in_its_words(void **state)
{
    (void)state;
    const char *path = test_path("words.tbed");
    struct tbed_writer *writer = test_writer_open(path, NULL);
    struct tbed_recorder *recorder = tbed_recorder_open(writer, "main");
    record_counters(recorder);
    record_allocations(recorder);
    record_keys_and_messages(recorder);
    record_spans(recorder);
    tbed_instant_record(recorder, 99);
    IS(1, INSTANT, 99, .extended = false);
    assert_int_equal(tbed_writer_drop_count(writer, TBED_DROP_TOO_LARGE), 3);
    tbed_writer_close(writer);

    struct tbed_reader *reader = test_reader_open(path, true);
    size_t count;
    struct tbed_event *events = test_events(reader, test_stream_named(reader, "main"), &count);
    size_t at = 0, block_count = 1;
    for (size_t i = 0; i < count; i++) {
        if (events[i].type == TBED_EVENT_GAP) { /* the first in a new block; it counts what was no number */
            assert_true(events[i].of.gap.count == 3 && events[i].of.gap.cause == TBED_DROP_TOO_LARGE);
            continue;
        }
        const struct tbed_event *wanted = &expected[at].event;
        assert_true(at < expected_count);
        assert_int_equal(events[i].type, wanted->type);
        assert_int_equal(events[i].id, wanted->id);
        assert_int_equal(events[i].category, wanted->category != 0 ? wanted->category : TBED_ID_INVALID);
        assert_int_equal(events[i].extended, wanted->extended);
        assert_int_equal(events[i].argument_count, wanted->argument_count);
        assert_same_payload(&events[i], wanted);
        uint64_t end = events[i].offset + 8 * expected[at].nwords;
        if (i + 1 < count && events[i + 1].offset != end) { /* it is the first in another block */
            block_count++;
            assert_in_range(events[i + 1].offset % 1024, 64, 64 + 16 * 2);
        }
        at++;
    }
    assert_int_equal(at, expected_count);
    assert_int_equal(block_count, 3); /* cells */
    free(events);
    tbed_reader_close(reader);
}

/* Records of all sizes up to the largest: the last one that fits in a page, and what no page or record can hold. */
static void a_record_may_fill_a_block_and_no_more(void **state)
{
    static char text[70000];
    struct tbed_writer_options options = {.size = sizeof options, .page_nbytes = 4096};
    const char *path = test_path("sizes.tbed");
    (void)state;
    memset(text, 'x', sizeof text);
    struct tbed_writer *writer = test_writer_open(path, &options);
    struct tbed_recorder *recorder = tbed_recorder_open(writer, "main");
    size_t fitting = 0;
    for (uint32_t nbytes = 3800; nbytes < 4100; nbytes += 8) {
        uint64_t before = tbed_writer_drop_count(writer, TBED_DROP_TOO_LARGE);
        tbed_message_record(recorder, TBED_SEVERITY_NONE, text, nbytes);
        bool is_dropped = tbed_writer_drop_count(writer, TBED_DROP_TOO_LARGE) > before;
        /* The header, the record's words, and room to end. */
        assert_true(is_dropped == (nbytes > 4096 - 64 - 24 - 24));
        fitting += !is_dropped;
    }
    tbed_message_record(recorder, TBED_SEVERITY_NONE, text, SIZE_MAX);
    const struct tbed_argument argument = U64(1);
    struct tbed_argument many[256];
    for (size_t i = 0; i < 256; i++)
        many[i] = argument;
    uint64_t before = tbed_writer_drop_count(writer, TBED_DROP_TOO_LARGE);
    tbed_instant_record_args(recorder, 1, many, 256);
    assert_int_equal(tbed_writer_drop_count(writer, TBED_DROP_TOO_LARGE), before + 1);
    for (size_t i = 0; i < 8; i++) /* together 2^32 words */
        many[i] = (struct tbed_argument){
            .type = TBED_ARG_TEXT, .name_id = TBED_ID_INVALID, .nbytes = UINT32_MAX - 7, .value.text = text};
    tbed_instant_record_args(recorder, 1, many, 8);
    assert_int_equal(tbed_writer_drop_count(writer, TBED_DROP_TOO_LARGE), before + 2);
    tbed_writer_close(writer);
    struct tbed_reader *reader = test_reader_open(path, true);
    size_t count, messages = 0;
    struct tbed_event *events = test_events(reader, test_stream_named(reader, "main"), &count);
    for (size_t i = 0; i < count; i++)
        messages += events[i].type == TBED_EVENT_MESSAGE;
    assert_int_equal(messages, fitting);
    free(events);
    tbed_reader_close(reader);
}

static void a_record_has_255_arguments_at_most(void **state)
{
    struct tbed_argument many[256];
    const struct tbed_argument argument = U64(1);
    const char *path = test_path("many.tbed");
    (void)state;
    for (size_t i = 0; i < 256; i++)
        many[i] = argument;
    struct tbed_writer *writer = test_writer_open(path, NULL);
    struct tbed_recorder *recorder = tbed_recorder_open(writer, "main");
    tbed_instant_record_args(recorder, 1, many, 254);
    tbed_instant_record_args(recorder, 1, many, 255);
    tbed_instant_record_args(recorder, 1, many, 256);
    assert_int_equal(tbed_writer_drop_count(writer, TBED_DROP_TOO_LARGE), 1);
    tbed_writer_close(writer);
    struct tbed_reader *reader = test_reader_open(path, true);
    size_t count;
    struct tbed_event *events = test_events(reader, test_stream_named(reader, "main"), &count);
    assert_true(count >= 2 && events[0].argument_count == 254 && events[1].argument_count == 255);
    free(events);
    tbed_reader_close(reader);
}

/* The values of a macro, whose texts have almost 4 GiB each: together 4 bytes more than a multiple of 4 GiB. */
static void texts_of_a_macro_do_not_add_up_to_a_short_one(void **state)
{
    const struct tbed_argument value = {
        .type = TBED_ARG_TEXT, .nbytes = UINT32_MAX - 1, .value.text = "much shorter"};
    uint64_t kinds = tbed_kinds_join(tbed_kind_of(value, 0), tbed_kind_of(value, 1));
    uint64_t slots[TBED_SLOTS_MAX];
    const char *path = test_path("macro.tbed");
    (void)state;
    tbed_slots_put(tbed_slots_put(slots, value), value);
    assert_int_equal(tbed_start(path, NULL), TBED_OK);
    TBED_INSTANT("first");
    tbed_slots_record(TBED_ID_INVALID, tbed_message_head(TBED_SEVERITY_ERROR, kinds), 0, false, kinds, slots);
    assert_int_equal(tbed_writer_drop_count(tbed_default_writer(), TBED_DROP_TOO_LARGE), 1);
    tbed_stop();
    struct tbed_reader *reader = test_reader_open(path, true);
    assert_int_equal(test_drop_count(reader), 1);
    tbed_reader_close(reader);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(what_is_recorded_comes_back_in_its_words),
        cmocka_unit_test(a_record_may_fill_a_block_and_no_more),
        cmocka_unit_test(a_record_has_255_arguments_at_most),
        cmocka_unit_test(texts_of_a_macro_do_not_add_up_to_a_short_one),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
