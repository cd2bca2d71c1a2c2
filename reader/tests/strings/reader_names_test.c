/*
 * Names that the reader keeps, and the labels and arguments of event ids.
 *
 * SPDX-License-Identifier: MIT
 */
#include "reader/tests/strings/string_table.h"

#include <stdlib.h>

static void expect_name(const struct tbed_reader *reader, uint32_t id, enum tbed_status status,
                        const char *text)
{
    struct tbed_name name;
    assert_string_equal(tbed_status_name(tbed_name_get(reader, id, &name)), tbed_status_name(status));
    assert_string_equal(name.text, text);
    assert_int_equal(name.nbytes, strlen(text));
    assert_int_equal(name.id, id);
}

static void name_is_resolved_once(void **state)
{
    struct table table;
    struct tbed_name first, second;
    (void)state;
    table_make(&table);
    uint32_t a = trace_string(&table.strings, "a");
    uint32_t aa = trace_references(&table.strings, (uint32_t[]){a, a}, 2);
    table_open(&table);
    assert_int_equal(tbed_name_get(table.reader, aa, &first), TBED_OK);
    assert_string_equal(first.text, "aa");
    assert_int_equal(tbed_name_get(table.reader, aa, &second), TBED_OK);
    assert_ptr_equal(first.text, second.text);
    expect_name(table.reader, 0, TBED_ERR_STRING_UNBOUND, "<id 0>");
    expect_name(table.reader, TBED_ID_INVALID, TBED_ERR_STRING_ID, "<no id>");
    table_close(&table);
}

static void many_names_are_kept_apart(void **state)
{
    enum { COUNT = 20000 };
    struct table table;
    char text[16];
    uint32_t *ids = calloc(COUNT, sizeof *ids);
    const char **texts = calloc(COUNT, sizeof *texts);
    struct tbed_name name;
    (void)state;
    table_make_large(&table);
    for (int i = 0; i < COUNT; i++) {
        snprintf(text, sizeof text, "name %d", i);
        ids[i] = trace_string(&table.strings, text);
    }
    table_open(&table);
    for (int pass = 0; pass < 2; pass++)
        for (int i = 0; i < COUNT; i++) {
            assert_int_equal(tbed_name_get(table.reader, ids[i], &name), TBED_OK);
            snprintf(text, sizeof text, "name %d", i);
            assert_string_equal(name.text, text);
            if (pass == 0)
                texts[i] = name.text;
            assert_ptr_equal(name.text, texts[i]);
        }
    table_close(&table);
    free(ids);
    free(texts);
}

/* Names are made in a buffer of some size first: the lengths around it. */
static void names_of_all_lengths_are_whole(void **state)
{
    static char texts[9][1030];
    uint32_t ids[9];
    struct table table;
    (void)state;
    table.trace = trace_make_paged(3, 1 << 16);
    table.strings = trace_block_begin(&table.trace, 1, TBED_BLOCK_STRINGS, 1, 0);
    table.records = trace_block_begin(&table.trace, 2, TBED_BLOCK_RECORDS, 1, 0);
    for (int i = 0; i < 9; i++) {
        memset(texts[i], 'a' + i, (size_t)1020 + i);
        ids[i] = trace_string(&table.strings, texts[i]);
    }
    table_open(&table);
    for (int i = 0; i < 9; i++)
        expect_name(table.reader, ids[i], TBED_OK, texts[i]);
    table_close(&table);
}

static void late_binding_replaces_a_stand_in(void **state)
{
    struct trace trace = trace_make(3);
    struct trace_block strings = trace_block_begin(&trace, 1, TBED_BLOCK_STRINGS, 1, 0);
    struct trace_block records = trace_block_begin(&trace, 2, TBED_BLOCK_RECORDS, 1, 0);
    struct tbed_name before, after, settled, again;
    uint32_t a = trace_string(&strings, "a"), b = trace_string(&strings, "b");
    uint32_t seven = 7, id = trace_references(&strings, (uint32_t[]){a, 7}, 2);
    (void)state;
    struct tbed_reader *reader = trace_open(&trace);
    assert_int_equal(tbed_name_get(reader, a, &settled), TBED_OK);
    assert_int_equal(tbed_name_get(reader, id, &before), TBED_ERR_STRING_UNBOUND);
    assert_string_equal(before.text, "a<id 7>");
    assert_int_equal(tbed_event_label(reader, id, &after), TBED_ERR_STRING_UNBOUND);
    trace_bind(&records, seven, 1, b);
    expect_name(reader, id, TBED_ERR_STRING_UNBOUND, "a<id 7>"); /* it was not looked at again */
    assert_int_equal(tbed_reader_refresh(reader, NULL), TBED_OK);
    expect_name(reader, id, TBED_OK, "ab");
    assert_int_equal(tbed_event_label(reader, id, &after), TBED_OK);
    assert_memory_equal(after.text, "ab", 2);
    assert_string_equal(before.text, "a<id 7>"); /* still there */
    trace_bind(&records, seven, 1, a);           /* bound again: what resolved changes too */
    assert_int_equal(tbed_reader_refresh(reader, NULL), TBED_OK);
    expect_name(reader, id, TBED_OK, "aa");
    assert_int_equal(tbed_name_get(reader, id, &before), TBED_OK);
    assert_int_equal(tbed_reader_refresh(reader, NULL), TBED_OK);
    assert_int_equal(tbed_name_get(reader, id, &after), TBED_OK);
    assert_ptr_equal(before.text, after.text); /* nothing new: nothing kept twice */
    assert_int_equal(tbed_name_get(reader, a, &again), TBED_OK);
    assert_ptr_equal(settled.text, again.text);
    tbed_reader_close(reader);
    trace_free(&trace);
}

static void name_that_is_too_long_is_not_kept(void **state)
{
    struct table table;
    struct tbed_name name = {0};
    char text[1025];
    (void)state;
    memset(text, 'x', 1024);
    text[1024] = '\0';
    table_make(&table);
    uint32_t id = trace_string(&table.strings, text);
    for (int i = 0; i < 6; i++)
        id = trace_references(&table.strings, (uint32_t[]){id, id}, 2);
    uint32_t longer =
        trace_references(&table.strings, (uint32_t[]){id, trace_string(&table.strings, "y")}, 2);
    table_open(&table);
    assert_int_equal(tbed_name_get(table.reader, id, &name), TBED_OK); /* 64 KiB exactly */
    assert_int_equal(name.nbytes, TBED_NAME_NBYTES_MAX);
    assert_int_equal(strlen(name.text), TBED_NAME_NBYTES_MAX);
    name = (struct tbed_name){0};
    assert_int_equal(tbed_name_get(table.reader, longer, &name), TBED_ERR_CACHE_FULL);
    assert_null(name.text);
    assert_int_equal(tbed_event_label(table.reader, id, &name),
                     TBED_ERR_STRING_BYTES); /* one byte less is fine */
    assert_string_equal(name.text, "<too long>");
    table_close(&table);
}

/* 4,096 names of 64 KiB are all there is room for: a hostile table of a few hundred KiB asks for more. */
static void names_are_kept_up_to_a_bound(void **state)
{
    enum { COUNT = 5000 };
    struct table table;
    struct tbed_name name;
    char text[1025], number[8];
    size_t kept_nbytes = 0;
    uint32_t *ids = calloc(COUNT, sizeof *ids);
    (void)state;
    memset(text, 'x', 1024);
    text[1024] = '\0';
    table_make_large(&table);
    uint32_t kib = trace_string(&table.strings, text), half = kib;
    for (int i = 0; i < 5; i++)
        half = trace_references(&table.strings, (uint32_t[]){half, half}, 2);
    uint32_t most[32] = {half};
    for (int i = 1; i < 32; i++) /* 32 + 31 KiB and a number of 5 bytes */
        most[i] = kib;
    uint32_t body = trace_references(&table.strings, most, 32);
    for (int i = 0; i < COUNT; i++) {
        snprintf(number, sizeof number, "%05d", i);
        ids[i] =
            trace_references(&table.strings, (uint32_t[]){body, trace_string(&table.strings, number)}, 2);
    }
    table_open(&table);
    for (int i = 0; i < COUNT; i++) {
        enum tbed_status status = tbed_name_get(table.reader, ids[i], &name);
        assert_true(status == TBED_OK || status == TBED_ERR_CACHE_FULL);
        kept_nbytes += status == TBED_OK ? name.nbytes : 0;
    }
    assert_true(kept_nbytes <= TBED_NAMES_NBYTES_MAX && kept_nbytes > TBED_NAMES_NBYTES_MAX / 10 * 9);
    assert_int_equal(tbed_name_get(table.reader, ids[0], &name), TBED_OK); /* those that are kept stay */
    assert_int_equal(tbed_name_get(table.reader, ids[COUNT - 1], &name), TBED_ERR_CACHE_FULL);
    table_close(&table);
    free(ids);
}

/* ---- Labels and arguments ---- */

static void expect_label(const struct table *table, uint32_t id, enum tbed_status status, const char *text,
                         uint32_t label_id)
{
    struct tbed_name label;
    assert_string_equal(tbed_status_name(tbed_event_label(table->reader, id, &label)),
                        tbed_status_name(status));
    assert_int_equal(label.nbytes, strlen(text));
    assert_memory_equal(label.text, text, strlen(text));
    assert_int_equal(label.id, label_id);
}

/* An entry of a reference and a text. */
static uint32_t put_event_id(struct table *table, uint32_t label, const char *text)
{
    uint8_t content[64];
    size_t nbytes = strlen(text);
    for (int i = 0; i < 4; i++)
        content[i] = (uint8_t)((label | 0x80000000u) >> (24 - i * 8));
    memcpy(content + 4, text, nbytes);
    content[4 + nbytes] = 0xFF;
    return trace_content(&table->strings, content, (uint32_t)nbytes + 5);
}

static void label_ends_at_the_first_divider(void **state)
{
    struct table table;
    struct tbed_name label;
    const char *text;
    size_t nbytes;
    (void)state;
    table_make(&table);
    uint32_t load = trace_string(&table.strings, "load"), empty = trace_string(&table.strings, "");
    uint32_t common = put_event_id(&table, load, "\x1Ex\x1Ey");
    uint32_t glued = put_event_id(&table, load, "ed\x1Ex");
    uint32_t flat = trace_string(&table.strings, "flat\x1Ex"), none = trace_string(&table.strings, "\x1Ex");
    uint32_t inside = put_event_id(&table, flat, "tail");
    uint32_t alone = trace_references(&table.strings, &load, 1);
    uint32_t nested = put_event_id(&table, alone, "\x1Ez");
    uint32_t five = put_event_id(&table, 5, "\x1Ez"), six = put_event_id(&table, 6, "\x1Ez");
    uint32_t after = put_event_id(&table, empty, "rest\x1E");
    trace_bind(&table.records, 5, 1, load);
    trace_bind(&table.records, 9, 1, common);
    table_open(&table);
    expect_label(&table, common, TBED_OK, "load", load);
    expect_label(&table, 9, TBED_OK, "load", load);
    expect_label(&table, load, TBED_OK, "load", load);
    expect_label(&table, alone, TBED_OK, "load", load);
    expect_label(&table, five, TBED_OK, "load", load);
    expect_label(&table, flat, TBED_OK, "flat", TBED_ID_INVALID);
    expect_label(&table, glued, TBED_OK, "loaded", TBED_ID_INVALID);
    expect_label(&table, nested, TBED_OK, "load", TBED_ID_INVALID);
    expect_label(&table, inside, TBED_OK, "flat", TBED_ID_INVALID);
    expect_label(&table, none, TBED_OK, "", TBED_ID_INVALID);
    expect_label(&table, empty, TBED_OK, "", empty);
    expect_label(&table, after, TBED_OK, "rest", TBED_ID_INVALID);
    expect_label(&table, six, TBED_ERR_STRING_UNBOUND, "<unknown>", TBED_ID_INVALID);
    expect_label(&table, 7, TBED_ERR_STRING_UNBOUND, "<unknown>", TBED_ID_INVALID);
    assert_int_equal(tbed_event_label(table.reader, common, &label), TBED_OK);
    assert_int_equal(tbed_string_text(table.reader, load, &text, &nbytes), TBED_OK);
    assert_ptr_equal(label.text, text);
    table_close(&table);
}

static void arguments_follow_the_label(void **state)
{
    struct table table;
    struct tbed_event_parts *parts;
    struct tbed_name part;
    (void)state;
    table_make(&table);
    uint32_t x = trace_string(&table.strings, "x"), xy = put_event_id(&table, x, "y");
    uint32_t load = trace_string(&table.strings, "load");
    uint32_t list = put_event_id(&table, load, "\x1Eone\x1E\x1E");
    uint32_t id = trace_references(&table.strings, (uint32_t[]){list, xy, 8}, 3);
    const struct {
        enum tbed_status status;
        const char *text;
    } wanted[] = {{TBED_OK, "load"}, {TBED_OK, "one"}, {TBED_OK, ""}, {TBED_ERR_STRING_UNBOUND, "xy<id 8>"}};
    table_open(&table);
    assert_int_equal(tbed_event_parts_open(table.reader, id, NULL, &parts), TBED_OK);
    for (size_t i = 0; i < sizeof wanted / sizeof wanted[0]; i++) {
        assert_int_equal(tbed_event_parts_next(parts, &part), wanted[i].status);
        assert_int_equal(part.nbytes, strlen(wanted[i].text));
        assert_memory_equal(part.text, wanted[i].text, part.nbytes);
    }
    assert_int_equal(tbed_event_parts_next(parts, &part), TBED_END);
    assert_int_equal(tbed_event_parts_next(parts, &part), TBED_END);
    tbed_event_parts_close(parts);
    table_close(&table);
}

static void last_argument_may_be_empty(void **state)
{
    struct table table;
    struct tbed_event_parts *parts;
    struct tbed_name part;
    (void)state;
    table_make(&table);
    uint32_t id = trace_string(&table.strings, "a\x1E");
    table_open(&table);
    assert_int_equal(tbed_event_parts_open(table.reader, id, NULL, &parts), TBED_OK);
    assert_int_equal(tbed_event_parts_next(parts, &part), TBED_OK);
    assert_int_equal(part.nbytes, 1);
    assert_int_equal(tbed_event_parts_next(parts, &part), TBED_OK);
    assert_int_equal(part.nbytes, 0);
    assert_int_equal(tbed_event_parts_next(parts, &part), TBED_END);
    tbed_event_parts_close(parts);
    table_close(&table);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(name_is_resolved_once),
        cmocka_unit_test(many_names_are_kept_apart),
        cmocka_unit_test(names_of_all_lengths_are_whole),
        cmocka_unit_test(late_binding_replaces_a_stand_in),
        cmocka_unit_test(name_that_is_too_long_is_not_kept),
        cmocka_unit_test(names_are_kept_up_to_a_bound),
        cmocka_unit_test(label_ends_at_the_first_divider),
        cmocka_unit_test(arguments_follow_the_label),
        cmocka_unit_test(last_argument_may_be_empty),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
