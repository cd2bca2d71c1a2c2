/*
 * The worked examples of spec/format.md, section 13, read out of that page and decoded. What the page shows
 * and what the code does cannot drift apart.
 *
 * SPDX-License-Identifier: MIT
 */
#include "format/argument.h"
#include "format/block.h"
#include "format/checksum.h"
#include "format/event.h"
#include "format/file/header.h"
#include "format/record.h"
#include "format/string.h"

#include <setjmp.h>
#include <stdarg.h>
#include <stdio.h>

#include <cmocka.h>

struct example {
    _Alignas(8) uint8_t bytes[512];
    size_t nbytes;
};

static int hex_digit(int c)
{
    if (c >= '0' && c <= '9')
        return c - '0';
    return c >= 'A' && c <= 'F' ? c - 'A' + 10 : -1;
}

/* The bytes of the block fenced by "```hex NAME". Tests run in the project's root. */
static struct example example_read(const char *name)
{
    struct example example = {.nbytes = 0};
    char fence[64], line[512];
    bool inside = false;
    FILE *page = fopen("spec/format.md", "r");
    assert_non_null(page);
    snprintf(fence, sizeof fence, "```hex %s\n", name);
    while (fgets(line, sizeof line, page) != NULL) {
        if (strcmp(line, fence) == 0) {
            inside = true;
            continue;
        }
        if (inside && line[0] == '`')
            break;
        for (size_t i = 0; inside && hex_digit(line[i]) >= 0; i += line[i + 2] == ' ' ? 3 : 2)
            example.bytes[example.nbytes++] = (uint8_t)(hex_digit(line[i]) * 16 + hex_digit(line[i + 1]));
    }
    fclose(page);
    assert_true(example.nbytes > 0);
    return example;
}

static uint64_t word(const struct example *example, size_t index)
{
    return tbed_word_load(example->bytes + index * 8);
}

static void string_example_has_three_components(void **state)
{
    struct example example = example_read("string");
    struct tbed_content_component component;
    uint32_t at = 0;
    (void)state;
    assert_int_equal(tbed_content_next(example.bytes, (uint32_t)example.nbytes, &at, &component), TBED_OK);
    assert_int_equal(component.nbytes, 3);
    assert_int_equal(tbed_content_next(example.bytes, (uint32_t)example.nbytes, &at, &component), TBED_OK);
    assert_true(component.is_reference);
    assert_int_equal(component.id, 42);
    assert_int_equal(tbed_content_next(example.bytes, (uint32_t)example.nbytes, &at, &component), TBED_OK);
    assert_memory_equal(component.text, "def", 3);
    assert_int_equal(tbed_content_next(example.bytes, (uint32_t)example.nbytes, &at, &component), TBED_END);
}

static void entry_example_has_its_hash(void **state)
{
    struct example example = example_read("entry");
    uint64_t head = word(&example, 0);
    (void)state;
    assert_int_equal(tbed_string_head_check(head, example.nbytes), TBED_OK);
    assert_int_equal(tbed_string_head_nbytes(head), 3);
    assert_int_equal(tbed_string_head_hash(head), tbed_string_hash("hi\xFF", 3));
    assert_int_equal(tbed_string_entry_nbytes(3), example.nbytes);
}

static void expect_word(const char *name, uint32_t tag, uint32_t id, uint64_t delta)
{
    struct example example = example_read(name);
    size_t nwords;
    assert_int_equal(word(&example, 0), tbed_event_make(tag, id, delta));
    assert_int_equal(tbed_event_tag(word(&example, 0)), tag);
    assert_int_equal(tbed_event_id(word(&example, 0)), id);
    assert_int_equal(tbed_event_delta(word(&example, 0)), delta);
    const uint64_t *at = (const uint64_t *)example.bytes;
    assert_int_equal(tbed_event_check(tbed_word_load(at), at, at + example.nbytes / 8, &nwords), TBED_OK);
    assert_int_equal(nwords * 8, example.nbytes);
}

static void event_examples_are_whole_events(void **state)
{
    (void)state;
    expect_word("event begin", TBED_TAG_BEGIN, 0x20000008, 5);
    expect_word("event end", TBED_TAG_END, 0x20000008, 7);
    expect_word("event time", TBED_TAG_TIME, 3, 0);
    expect_word("event alloc", TBED_TAG_PAIR, 1000, 9);
    expect_word("event instant", TBED_TAG_EXTENDED, 16, 1);
    expect_word("event counter", TBED_TAG_PAIR, 16, 11);
    expect_word("event extended end", TBED_TAG_EXTENDED, 0x20000008, 20);
    expect_word("event span", TBED_TAG_EXTENDED, 0x20000008, 20);
    expect_word("event packed message", TBED_TAG_EXTENDED, 0x20000008, 4);
    expect_word("event packed text", TBED_TAG_EXTENDED, 0x20000008, 5);
}

static void payloads_of_the_event_examples_are_decoded(void **state)
{
    struct example alloc = example_read("event alloc"), counter = example_read("event counter");
    struct example instant = example_read("event instant"), end = example_read("event extended end");
    struct tbed_argument argument;
    (void)state;
    assert_int_equal(tbed_pair_subtype(word(&alloc, 1)), TBED_PAIR_ALLOC);
    assert_int_equal(tbed_pair_alloc_address(word(&alloc, 1)), 0x555555559300);
    assert_int_equal(tbed_pair_alloc_nbytes(word(&alloc, 1)), 24);
    assert_int_equal(tbed_pair_counter_value(word(&counter, 1)), -1);
    struct tbed_extended_head head = tbed_extended_head_load(word(&instant, 1));
    assert_int_equal(head.type, TBED_EXT_INSTANT);
    assert_int_equal(head.argument_count, 1);
    tbed_argument_take((const uint64_t *)instant.bytes + 2, &argument);
    assert_int_equal(argument.type, TBED_ARG_U64);
    assert_int_equal(argument.name_id, TBED_ID_INVALID);
    assert_int_equal(argument.value.u64, 7);
    assert_int_equal(tbed_event_time_ticks(tbed_event_make(TBED_TAG_TIME, 3, 0)), UINT64_C(3) << 31);
    assert_int_equal(word(&end, 2), 5);
    struct example span = example_read("event span");
    head = tbed_extended_head_load(word(&span, 1));
    assert_int_equal(head.type, TBED_EXT_SPAN);
    assert_int_equal(head.nwords, 1 + tbed_extended_fixed_nwords(TBED_EXT_SPAN));
    assert_int_equal(head.aux, 0x20000008);
    assert_int_equal(word(&span, 2), 3);
}

static void values_of_the_packed_examples_are_decoded(void **state)
{
    struct example numbers = example_read("event packed message"), text = example_read("event packed text");
    struct example begin = example_read("event packed begin");
    struct tbed_argument argument;
    (void)state;
    struct tbed_extended_head head = tbed_extended_head_load(word(&numbers, 1));
    assert_int_equal(head.type, TBED_EXT_PACKED_MESSAGE);
    assert_int_equal(tbed_packed_low_bits(head.aux), TBED_SEVERITY_INFORMATION);
    assert_int_equal(tbed_packed_types(head.aux), 0xAA);
    const uint8_t *at = tbed_packed_take(numbers.bytes + 16, TBED_PACKED_I32, &argument);
    assert_int_equal(argument.type, TBED_ARG_I64);
    assert_int_equal(argument.value.i64, -1);
    assert_int_equal(argument.name_id, TBED_ID_INVALID);
    at = tbed_packed_take(at, TBED_PACKED_I32, &argument);
    assert_int_equal(argument.value.i64, 7);
    assert_ptr_equal(at, numbers.bytes + numbers.nbytes);
    at = tbed_packed_take(text.bytes + 24, TBED_ARG_TEXT, &argument);
    assert_int_equal(argument.nbytes, 5);
    assert_memory_equal(argument.value.text, "hello", 5);
    assert_ptr_equal(at, text.bytes + text.nbytes - 7);
    head = tbed_extended_head_load(word(&begin, 1));
    assert_int_equal(head.type, TBED_EXT_PACKED_BEGIN);
    assert_int_equal(head.aux, 0);
    assert_int_equal(tbed_packed_fixed_types(word(&begin, 2)), 0x7A);
    assert_int_equal(tbed_packed_fixed_names(word(&begin, 2)), 16);
    at = tbed_packed_take(begin.bytes + 24, TBED_PACKED_I32, &argument);
    assert_int_equal(argument.value.i64, -1);
    at = tbed_packed_take(at, TBED_ARG_TEXT, &argument);
    assert_memory_equal(argument.value.text, "hi", 2);
    assert_ptr_equal(at, begin.bytes + begin.nbytes - 6);
}

static void header_example_passes_all_but_its_size(void **state)
{
    struct example example = example_read("header");
    struct tbed_header_fields fields;
    struct tbed_error error;
    static _Alignas(8) uint8_t page[65536];
    (void)state;
    memcpy(page, example.bytes, example.nbytes);
    assert_int_equal(tbed_header_check(page, 4096, &fields, &error), TBED_ERR_HEADER_CUT);
    assert_int_equal(tbed_header_check(page, sizeof page, &fields, &error), TBED_OK);
    assert_int_equal(fields.file_id, 0x0123456789ABCDEF);
    assert_int_equal(fields.ticks_per_second, 2500000000);
    assert_int_equal(fields.anchor_ticks, 1000000);
    assert_int_equal(fields.anchor_realtime_ns, INT64_C(1795000000) * 1000000000);
    assert_int_equal(fields.anchor_monotonic_ns, UINT64_C(86400) * 1000000000);
}

static void record_cell_example_is_a_good_block(void **state)
{
    struct example example = example_read("record cell");
    struct tbed_block_fields fields = tbed_block_load(example.bytes);
    struct tbed_block_scan scan;
    struct tbed_block_place place = {
        .file_id = 0x0123456789ABCDEF,
        .page_nbytes = 65536,
        .page = 1,
        .cell = 1,
        .nbytes = 512,
        .next_stream = 2,
    };
    uint32_t field;
    uint64_t detail;
    (void)state;
    assert_int_equal(tbed_block_header_check(&fields, &place, &field, &detail), TBED_OK);
    assert_int_equal(fields.first_tick, 1000500);
    assert_int_equal(tbed_block_content_check(example.bytes, &fields, 512, false), TBED_OK);
    assert_int_equal(tbed_block_scan(example.bytes, 512, TBED_BLOCK_RECORDS, &scan), TBED_OK);
    assert_int_equal(scan.end_nbytes, fields.used_nbytes);
    assert_int_equal(tbed_record_check(example.bytes + 64, word(&example, 8), &detail), TBED_OK);
    assert_int_equal(tbed_record_head_type(word(&example, 8)), TBED_RECORD_BIND);
}

static void expect_record(const char *name, enum tbed_record_type type)
{
    struct example example = example_read(name);
    uint64_t detail;
    assert_int_equal(tbed_record_head_type(word(&example, 0)), type);
    assert_int_equal(tbed_record_head_check(word(&example, 0), example.nbytes), TBED_OK);
    assert_int_equal(tbed_record_head_check(word(&example, 0), example.nbytes - 8), TBED_ERR_RECORD_LENGTH);
    assert_int_equal(tbed_record_check(example.bytes, word(&example, 0), &detail), TBED_OK);
}

static void record_examples_are_good_records(void **state)
{
    (void)state;
    expect_record("unit", TBED_RECORD_UNIT);
    expect_record("stacks", TBED_RECORD_STACKS);
    expect_record("frames", TBED_RECORD_FRAMES);
    expect_record("types", TBED_RECORD_TYPES);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(string_example_has_three_components),
        cmocka_unit_test(entry_example_has_its_hash),
        cmocka_unit_test(event_examples_are_whole_events),
        cmocka_unit_test(payloads_of_the_event_examples_are_decoded),
        cmocka_unit_test(values_of_the_packed_examples_are_decoded),
        cmocka_unit_test(header_example_passes_all_but_its_size),
        cmocka_unit_test(record_cell_example_is_a_good_block),
        cmocka_unit_test(record_examples_are_good_records),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
