/*
 * Strings: components, references, bindings, locations, and their checks in section 12.
 *
 * The hostile ones come from measureme, whose decoder had no budgets: a few hundred bytes of entries that
 * refer to the one before twice expand to 2^40 leaves; reserved ids that are bound late make cycles.
 *
 * SPDX-License-Identifier: MIT
 */
#include "reader/tests/strings/string_table.h"

static void text_is_found_by_its_id(void **state)
{
    struct table table;
    (void)state;
    table_make(&table);
    uint32_t hello = trace_string(&table.strings, "hello"),
             umlaut = trace_string(&table.strings, "gr\xC3\xBC\xC3\x9F");
    uint32_t empty = trace_string(&table.strings, "");
    table_open(&table);
    expect_text(&table, hello, TBED_OK, "hello");
    expect_text(&table, umlaut, TBED_OK, "gr\xC3\xBC\xC3\x9F");
    expect_text(&table, empty, TBED_OK, "");
    assert_int_equal(tbed_reader_verify(table.reader), TBED_OK);
    table_close(&table);
}

static void components_are_text_and_references(void **state)
{
    /* the example of section 13: "abc", id 42, "def" */
    static const uint8_t content[] = {'a', 'b', 'c', 0x80, 0, 0, 0x2A, 'd', 'e', 'f', 0xFF};
    struct table table;
    struct tbed_string_component component;
    uint32_t at = 0;
    (void)state;
    table_make(&table);
    uint32_t id = trace_content(&table.strings, content, sizeof content);
    trace_bind(&table.records, 42, 1, trace_string(&table.strings, "-42-"));
    table_open(&table);
    expect_text(&table, id, TBED_OK, "abc-42-def");
    assert_int_equal(tbed_string_component_next(table.reader, id, &at, &component), TBED_OK);
    assert_false(component.is_reference);
    assert_int_equal(component.nbytes, 3);
    assert_memory_equal(component.text, "abc", 3);
    assert_int_equal(tbed_string_component_next(table.reader, id, &at, &component), TBED_OK);
    assert_true(component.is_reference);
    assert_int_equal(component.id, 42);
    assert_int_equal(tbed_string_component_next(table.reader, id, &at, &component), TBED_OK);
    assert_memory_equal(component.text, "def", 3);
    assert_int_equal(tbed_string_component_next(table.reader, id, &at, &component), TBED_END);
    table_close(&table);
}

static void terminator_inside_a_reference_does_not_end_the_string(void **state)
{
    static const uint8_t content[] = {0x80, 0xFF, 0xFF, 0xFF, '!', 0xFF};
    struct table table;
    (void)state;
    table_make(&table);
    uint32_t id = trace_content(&table.strings, content, sizeof content);
    trace_bind(&table.records, 0xFFFFFF, 1, trace_string(&table.strings, "found"));
    table_open(&table);
    expect_text(&table, id, TBED_OK, "found!");
    table_close(&table);
}

static void short_buffer_is_terminated_and_told_the_whole_length(void **state)
{
    struct table table;
    char buffer[4] = "xxx";
    size_t nbytes;
    (void)state;
    table_make(&table);
    uint32_t id = trace_string(&table.strings, "hello");
    uint32_t twice = trace_references(&table.strings, (uint32_t[]){id, id}, 2);
    table_open(&table);
    assert_int_equal(tbed_string_resolve(table.reader, id, buffer, 4, &nbytes), TBED_OK);
    assert_string_equal(buffer, "hel");
    assert_int_equal(nbytes, 5);
    assert_int_equal(tbed_string_resolve(table.reader, twice, buffer, 1, &nbytes), TBED_OK);
    assert_string_equal(buffer, "");
    assert_int_equal(nbytes, 10);
    assert_int_equal(tbed_string_resolve(table.reader, twice, NULL, 0, &nbytes), TBED_OK);
    assert_int_equal(nbytes, 10);
    assert_int_equal(tbed_string_resolve(table.reader, 7, NULL, 0, NULL), TBED_ERR_STRING_UNBOUND);
    table_close(&table);
}

static void plain_text_is_a_pointer_into_the_map(void **state)
{
    struct table table;
    const char *text;
    size_t nbytes;
    (void)state;
    table_make(&table);
    uint32_t hello = trace_string(&table.strings, "hello"), empty = trace_string(&table.strings, "");
    uint32_t composed = trace_references(&table.strings, &hello, 1);
    trace_bind(&table.records, 3, 1, hello);
    table_open(&table);
    assert_int_equal(tbed_string_text(table.reader, hello, &text, &nbytes), TBED_OK);
    assert_ptr_equal(text, table.trace.bytes + 4096 + 64 + 8);
    assert_int_equal(nbytes, 5);
    assert_int_equal(tbed_string_text(table.reader, 3, &text, &nbytes), TBED_OK);
    assert_int_equal(nbytes, 5);
    assert_int_equal(tbed_string_text(table.reader, empty, &text, &nbytes), TBED_OK);
    assert_int_equal(nbytes, 0);
    assert_int_equal(tbed_string_text(table.reader, composed, &text, &nbytes), TBED_ERR_ARGUMENT);
    assert_int_equal(tbed_string_text(table.reader, 4, &text, &nbytes), TBED_ERR_STRING_UNBOUND);
    table_close(&table);
}

static void entries_are_listed_in_order_of_their_ids(void **state)
{
    struct trace trace = trace_make(4);
    struct trace_block second = trace_block_begin(&trace, 1, TBED_BLOCK_STRINGS, 1, 1);
    struct trace_block first = trace_block_begin(&trace, 2, TBED_BLOCK_STRINGS, 1, 0);
    uint32_t wanted[4], id = 0, count = 0;
    (void)state;
    wanted[0] = trace_string(&first, "a");
    wanted[1] = trace_string(&first, "longer than a word");
    wanted[2] = trace_string(&second, "c");
    trace_cells_page(&trace, 3, 9, 0, 7);
    struct trace_block cell = trace_cell_begin(&trace, 3, 5, TBED_BLOCK_STRINGS, 9, 0);
    cell.trace = &trace;
    wanted[3] = trace_string(&cell, "d");
    struct tbed_reader *reader = trace_open(&trace); /* none of them is sealed */
    while (tbed_string_next(reader, &id))
        assert_int_equal(id, wanted[count++]);
    assert_int_equal(count, 4);
    id = 0;
    assert_int_equal(tbed_damage_count(reader), 0);
    tbed_reader_close(reader);
    trace_free(&trace);
}

static void file_without_strings_lists_none(void **state)
{
    struct trace trace = trace_make(1);
    uint32_t id = 0;
    (void)state;
    struct tbed_reader *reader = trace_open(&trace);
    assert_false(tbed_string_next(reader, &id));
    tbed_reader_close(reader);
    trace_free(&trace);
}

/* ---- Meanings of reserved ids ---- */

static void last_binding_in_file_order_counts(void **state)
{
    struct table table;
    (void)state;
    table_make(&table);
    uint32_t a = trace_string(&table.strings, "a"), b = trace_string(&table.strings, "b");
    uint32_t c = trace_string(&table.strings, "c");
    trace_bind(&table.records, 100, 50, a); /* 100 … 149 */
    trace_bind(&table.records, 120, 10, b); /* inside the first */
    trace_bind(&table.records, 90, 12, c);  /* over its start */
    trace_record(&table.records, TBED_RECORD_BIND_LIST, (uint32_t[]){2, 0, 125, a, 149, c}, 6);
    table_open(&table);
    expect_text(&table, 89, TBED_ERR_STRING_UNBOUND, "<id 89>");
    expect_text(&table, 90, TBED_OK, "c");
    expect_text(&table, 101, TBED_OK, "c");
    expect_text(&table, 102, TBED_OK, "a");
    expect_text(&table, 119, TBED_OK, "a");
    expect_text(&table, 120, TBED_OK, "b");
    expect_text(&table, 125, TBED_OK, "a");
    expect_text(&table, 126, TBED_OK, "b");
    expect_text(&table, 130, TBED_OK, "a");
    expect_text(&table, 149, TBED_OK, "c");
    expect_text(&table, 150, TBED_ERR_STRING_UNBOUND, "<id 150>");
    table_close(&table);
}

/* Against the obvious way: ask every binding, the last first. */
static void bindings_agree_with_the_slow_way(void **state)
{
    enum { BINDINGS = 120, IDS = 200 };
    struct table table;
    uint32_t slow[IDS + 64] = {0}, names[BINDINGS];
    char name[16];
    (void)state;
    for (unsigned seed = 1; seed < 60; seed++) {
        uint32_t random = seed * 2654435761u;
        table_make(&table);
        memset(slow, 0, sizeof slow);
        for (uint32_t i = 0; i < BINDINGS; i++) {
            snprintf(name, sizeof name, "%u", i);
            names[i] = trace_string(&table.strings, name);
            random = random * 1664525u + 1013904223u;
            uint32_t first = (random >> 8) % IDS, count = (random >> 20) % 64;
            trace_bind(&table.records, first, count, names[i]);
            for (uint32_t id = first; id < first + count; id++)
                slow[id] = i + 1;
        }
        table_open(&table);
        for (uint32_t id = 0; id < IDS + 64; id++) {
            snprintf(name, sizeof name, slow[id] == 0 ? "<id %u>" : "%u", slow[id] == 0 ? id : slow[id] - 1);
            expect_text(&table, id, slow[id] == 0 ? TBED_ERR_STRING_UNBOUND : TBED_OK, name);
        }
        table_close(&table);
    }
}

/* Lists of all shapes: ascending, with gaps, in no order, with an id twice; alone and over each other. */
static void lists_of_bindings_agree_with_the_slow_way(void **state)
{
    enum { RECORDS = 12, PAIRS = 60, IDS = 1200, FAR = 1 << 21 };
    static uint32_t slow[IDS];
    (void)state;
    for (uint32_t seed = 1; seed < 150; seed++) {
        struct table table;
        struct tbed_binding_info info;
        uint32_t random = seed * 2654435761u, fields[2 + 2 * PAIRS], count = 0, bound, far_name;
        char name[16];
        table_make_large(&table);
        memset(slow, 0, sizeof slow);
        for (uint32_t i = 0; i < RECORDS; i++) {
            uint32_t pairs = (random >> 8) % (PAIRS + 1), id = (random >> 20) % (seed % 2 == 0 ? 400 : 40);
            random = random * 1664525u + 1013904223u;
            uint32_t shape = (random >> 12) % 4;
            for (uint32_t j = 0; j < pairs; j++) {
                snprintf(name, sizeof name, "%u", count + j);
                fields[2 + 2 * j] = id;
                fields[3 + 2 * j] = trace_string(&table.strings, name);
                slow[id] = count + j + 1;
                random = random * 1664525u + 1013904223u;
                id = shape == 0 ? id + 1 : shape == 1 ? id + 1 + (random >> 16) % 8 : (random >> 16) % 700;
            }
            fields[0] = pairs, fields[1] = 0;
            trace_record(&table.records, TBED_RECORD_BIND_LIST, fields, 2 + 2 * pairs);
            count += pairs;
        }
        trace_bind(&table.records, TBED_ID_METADATA, 1, far_name = trace_string(&table.strings, "far"));
        trace_bind(&table.records, FAR, 2, far_name);
        table_open(&table);
        for (uint32_t id = 0; id < IDS; id++) {
            bool is_bound = tbed_id_binding(table.reader, id, &bound);
            assert_int_equal(is_bound, slow[id] != 0);
            if (!is_bound)
                continue;
            snprintf(name, sizeof name, "%u", slow[id] - 1);
            expect_text(&table, bound, TBED_OK, name);
        }
        assert_true(tbed_id_binding(table.reader, TBED_ID_METADATA, &bound) && bound == far_name);
        assert_true(tbed_id_binding(table.reader, FAR + 1, &bound) && bound == far_name);
        assert_false(tbed_id_binding(table.reader, FAR - 1, &bound));
        assert_false(tbed_id_binding(table.reader, FAR + 2, &bound));
        for (uint32_t i = 0; i < count; i++) { /* one by one, in file order */
            assert_true(tbed_binding_get(table.reader, i, &info));
            assert_int_equal(info.id_count, 1);
            snprintf(name, sizeof name, "%u", i);
            expect_text(&table, info.string_id, TBED_OK, name);
        }
        assert_true(tbed_binding_get(table.reader, count + 1, &info));
        assert_true(info.first_id == FAR && info.id_count == 2);
        assert_false(tbed_binding_get(table.reader, count + 2, &info));
        table_close(&table);
    }
}

static void binding_may_lead_to_a_binding(void **state)
{
    struct table table;
    const char *text;
    size_t nbytes;
    (void)state;
    table_make(&table);
    uint32_t a = trace_string(&table.strings, "a");
    trace_bind(&table.records, 5, 1, 6);
    trace_bind(&table.records, 6, 1, a);
    trace_bind(&table.records, 7, 1, 8); /* bound to what has no meaning */
    trace_bind(&table.records, 9, 1, 10);
    trace_bind(&table.records, 10, 1, 9);
    for (uint32_t id = 100; id < 164; id++) /* 64 bindings, beside the string */
        trace_bind(&table.records, id, 1, id == 163 ? a : id + 1);
    trace_bind(&table.records, 99, 1, 100);
    table_open(&table);
    expect_text(&table, 5, TBED_OK, "a");
    assert_int_equal(tbed_string_text(table.reader, 5, &text, &nbytes), TBED_OK);
    expect_text(&table, 7, TBED_ERR_STRING_UNBOUND, "<id 8>");
    expect_text(&table, 9, TBED_ERR_STRING_CYCLE, "<cycle>");
    assert_int_equal(tbed_string_text(table.reader, 9, &text, &nbytes), TBED_ERR_STRING_CYCLE);
    expect_text(&table, 100, TBED_OK, "a");
    expect_text(&table, 99, TBED_ERR_STRING_DEPTH, "<too deep>");
    table_close(&table);
}

static void metadata_is_bound_like_a_reserved_id(void **state)
{
    struct table table;
    (void)state;
    table_make(&table);
    trace_bind(&table.records, TBED_ID_METADATA, 1, trace_string(&table.strings, "{}"));
    table_open(&table);
    expect_text(&table, TBED_ID_METADATA, TBED_OK, "{}");
    assert_int_equal(tbed_reader_verify(table.reader), TBED_OK);
    table_close(&table);
}

static void location_is_its_units_name_and_pc(void **state)
{
    struct table table;
    (void)state;
    table_make(&table);
    trace_unit(&table.records, 1000, 100, trace_string(&table.strings, "libc.so"), 0x2000); /* pc shift 2 */
    table_open(&table);
    expect_text(&table, 1000, TBED_OK, "libc.so+0x2000");
    expect_text(&table, 1099, TBED_OK, "libc.so+0x218c");
    expect_text(&table, 1100, TBED_ERR_STRING_UNBOUND, "<id 1100>");
    expect_text(&table, 999, TBED_ERR_STRING_UNBOUND, "<id 999>");
    table_close(&table);
}

static void invalid_id_has_a_stand_in(void **state)
{
    struct table table;
    (void)state;
    table_make(&table);
    table_open(&table);
    expect_text(&table, TBED_ID_INVALID, TBED_ERR_STRING_ID, "<no id>");
    table_close(&table);
}

/* ---- Checks of section 12 ---- */

static void damage_met_by_reading_components_is_told_with_its_id(void **state)
{
    struct table table;
    struct tbed_string_component component;
    struct tbed_damage damage;
    uint32_t at = 0;
    (void)state;
    table_make(&table);
    trace_string(&table.strings, "before");
    uint32_t offset = table.strings.at, id = trace_content(&table.strings, "ab\xC3", 3);
    trace_bind(&table.records, 5, 1, id);
    table_open(&table);
    assert_int_equal(tbed_string_component_next(table.reader, 5, &at, &component), TBED_ERR_STRING_END);
    assert_int_equal(tbed_damage_count(table.reader), 1);
    assert_true(tbed_damage_get(table.reader, 0, &damage));
    assert_int_equal(damage.status, TBED_ERR_STRING_END);
    assert_int_equal(damage.offset, 4096 + offset);
    assert_true(damage.page == 1 && damage.cell == 0 && damage.detail == id);
    at = 4;
    assert_int_equal(tbed_string_component_next(table.reader, id, &at, &component), TBED_ERR_ARGUMENT);
    table_close(&table);
}

/* The highest id that may be bound, of a location, and what follows it. */
static void the_highest_reserved_id_is_like_any_other(void **state)
{
    enum { HIGHEST = TBED_ID_MAX_RESERVED };
    struct table table;
    struct tbed_location location;
    uint32_t bound;
    (void)state;
    table_make(&table);
    uint32_t a = trace_string(&table.strings, "a");
    trace_unit(&table.records, HIGHEST - 1, 2, a, 0x10);
    trace_bind(&table.records, 5, 1, HIGHEST);
    trace_record(&table.records, TBED_RECORD_FRAMES, (uint32_t[]){HIGHEST, 1, a, a, 7, 0}, 6);
    table_open(&table);
    for (int i = 0; i < 2; i++) {
        assert_true(tbed_location_resolve(table.reader, i == 0 ? HIGHEST : 5, &location));
        assert_int_equal(location.id, HIGHEST);
        assert_true(location.has_unit && location.pc == 0x14);
        assert_true(location.source == TBED_FRAMES_GIVEN && location.frame_count == 1);
    }
    assert_true(tbed_id_binding(table.reader, 5, &bound) && bound == HIGHEST);
    expect_text(&table, HIGHEST, TBED_OK, "a+0x14");
    expect_text(&table, HIGHEST - 1, TBED_OK, "a+0x10");
    expect_text(&table, TBED_ID_METADATA, TBED_ERR_STRING_UNBOUND, "<id 536870912>");
    assert_int_equal(tbed_reader_verify(table.reader), TBED_OK);
    table_close(&table);
}

static void id_outside_the_string_pages_is_refused(void **state)
{
    struct table table;
    (void)state;
    table_make(&table);
    uint32_t id = trace_string(&table.strings, "x");
    table_open(&table);
    expect_text(&table, id + 512, TBED_ERR_STRING_ID, "<dangling id 536871432>");   /* the next string page */
    expect_text(&table, 0x20000002, TBED_ERR_STRING_ID, "<dangling id 536870914>"); /* the block's header */
    expect_text(&table, id + 2, TBED_ERR_STRING_ID, "<dangling id 536870922>");     /* past used */
    expect_text(&table, UINT32_MAX, TBED_ERR_STRING_ID, "<dangling id 4294967295>");
    table_close(&table);
}

static void id_of_no_entrys_start_is_refused_by_its_hash(void **state)
{
    struct table table;
    (void)state;
    table_make(&table);
    /* its text, taken for an entry, has the length 1 and the rest of the text as its hash */
    uint32_t id = trace_content(&table.strings, "\x01\x00\x00\x00hash12345678\xFF", 17);
    table_open(&table);
    expect_text(&table, id + 1, TBED_ERR_STRING_HASH, "<damaged id 536870921>");
    assert_int_equal(tbed_damage_count(table.reader), 0); /* it is the caller's mistake, not damage */
    table_close(&table);
}

static void expect_entry_damage(const uint8_t *content, uint32_t nbytes, enum tbed_status status)
{
    struct table table;
    struct tbed_damage damage;
    table_make(&table);
    trace_string(&table.strings, "before");
    uint32_t at = table.strings.at;
    uint32_t id = trace_content(&table.strings, content, nbytes);
    uint32_t after = trace_string(&table.strings, "after");
    table_open(&table);
    assert_string_equal(tbed_status_name(tbed_reader_verify(table.reader)), tbed_status_name(status));
    assert_int_equal(tbed_damage_count(table.reader), 1);
    assert_true(tbed_damage_get(table.reader, 0, &damage));
    assert_int_equal(damage.offset, 4096 + at);
    char stand_in[64];
    snprintf(stand_in, sizeof stand_in,
             status == TBED_ERR_STRING_END ? "<unterminated id %u>" : "<not UTF-8: id %u>", id);
    expect_text(&table, id, status, stand_in);
    expect_text(&table, after, TBED_OK, "after");
    table_close(&table);
}
#define EXPECT_ENTRY_DAMAGE(content, status)                                                                 \
    expect_entry_damage((const uint8_t *)content, sizeof content - 1, status)

static void content_that_does_not_end_with_its_terminator_is_refused(void **state)
{
    (void)state;
    EXPECT_ENTRY_DAMAGE("abc", TBED_ERR_STRING_END);
    EXPECT_ENTRY_DAMAGE("a\xFF\xFF", TBED_ERR_STRING_END);
    EXPECT_ENTRY_DAMAGE("a\x80\x00\x00\xFF", TBED_ERR_STRING_END); /* a reference of three bytes */
    EXPECT_ENTRY_DAMAGE("\x80\x00\x00\x01", TBED_ERR_STRING_END);
    EXPECT_ENTRY_DAMAGE("a\xC3\xFF", TBED_ERR_STRING_END); /* a code point that takes the terminator */
}

static void content_that_is_not_utf8_is_refused(void **state)
{
    (void)state;
    EXPECT_ENTRY_DAMAGE("a\xC3(\xFF", TBED_ERR_STRING_UTF8);
    EXPECT_ENTRY_DAMAGE("\xFE\xFF", TBED_ERR_STRING_UTF8);
    EXPECT_ENTRY_DAMAGE("\xC0\x80\xFF", TBED_ERR_STRING_UTF8);         /* overlong */
    EXPECT_ENTRY_DAMAGE("\xED\xA0\x80\xFF", TBED_ERR_STRING_UTF8);     /* a surrogate */
    EXPECT_ENTRY_DAMAGE("\xF4\x90\x80\x80\xFF", TBED_ERR_STRING_UTF8); /* above U+10FFFF */
}

static void reference_to_an_id_without_a_meaning_shows_in_the_text(void **state)
{
    struct table table;
    (void)state;
    table_make(&table);
    uint32_t id = trace_content(&table.strings, "a\x80\x00\x00\x05z\xFF", 7);
    table_open(&table);
    expect_text(&table, id, TBED_ERR_STRING_UNBOUND, "a<id 5>z");
    assert_int_equal(tbed_reader_verify(table.reader), TBED_OK); /* it may never get one */
    table_close(&table);
}

static void entry_past_the_end_of_the_block_is_refused(void **state)
{
    struct table table;
    (void)state;
    table_make(&table);
    trace_string(&table.strings, "x");
    uint32_t at = table.strings.at;
    uint32_t id = trace_string(&table.strings, "yyyy");
    /* 'used' ends after 8. */
    ((struct tbed_disk_string *)(table.strings.bytes + at))->nbytes = tbed_le32_make(9);
    table_open(&table);
    expect_text(&table, id, TBED_ERR_STRING_LENGTH, "<damaged id 536870922>");
    assert_int_equal(tbed_reader_verify(table.reader), TBED_ERR_STRING_LENGTH);
    table_close(&table);
}

static void huge_entry_length_is_refused(void **state)
{
    struct table table;
    (void)state;
    table_make(&table);
    uint32_t id = trace_string(&table.strings, "x");
    ((struct tbed_disk_string *)(table.strings.bytes + 64))->nbytes = tbed_le32_make(UINT32_MAX);
    table_open(&table);
    expect_text(&table, id, TBED_ERR_STRING_LENGTH, "<damaged id 536870920>");
    table_close(&table);
}

static void zero_word_before_the_end_of_a_sealed_string_block_is_refused(void **state)
{
    struct table table;
    (void)state;
    table_make(&table);
    trace_string(&table.strings, "x");
    table.strings.at += 8;
    trace_string(&table.strings, "y");
    table_open(&table);
    assert_int_equal(tbed_reader_verify(table.reader), TBED_ERR_STRING_LENGTH);
    assert_int_equal(tbed_damage_count(table.reader), 1);
    table_close(&table);
}

static void entry_with_a_wrong_hash_is_told(void **state)
{
    struct table table;
    (void)state;
    table_make(&table);
    uint32_t id = trace_string(&table.strings, "x");
    table.strings.bytes[64 + 8] = 'y';
    table_open(&table); /* seals it as it is */
    expect_text(&table, id, TBED_ERR_STRING_HASH, "<damaged id 536870920>");
    struct tbed_string_component component;
    uint32_t at = 0;
    assert_int_equal(tbed_string_component_next(table.reader, id, &at, &component), TBED_ERR_STRING_HASH);
    assert_int_equal(tbed_reader_verify(table.reader), TBED_ERR_STRING_HASH);
    struct tbed_damage damage;
    assert_true(tbed_damage_get(table.reader, 0, &damage));
    assert_true(damage.offset == 4096 + 64 && damage.page == 1 && damage.cell == 0 && damage.detail == 0);
    table_close(&table);
}

/* ---- Budgets ---- */

static void string_of_2_to_the_40_leaves_is_refused_at_once(void **state)
{
    struct table table;
    (void)state;
    table_make(&table);
    uint32_t id = trace_string(&table.strings, "x");
    for (int i = 0; i < 40; i++) /* each is the one before, twice */
        id = trace_references(&table.strings, (uint32_t[]){id, id}, 2);
    table_open(&table);
    double begin = seconds();
    expect_text(&table, id, TBED_ERR_STRING_COMPONENTS, "<too many components>");
    assert_true(seconds() - begin < 0.010 * 10); /* 10 ms; ten times that under a sanitizer */
    table_close(&table);
}

static void string_at_the_budget_of_components_resolves(void **state)
{
    struct table table;
    size_t nbytes;
    (void)state;
    table_make(&table);
    uint32_t id = trace_string(&table.strings, "x");
    for (int i = 0; i < 18; i++)
        id = trace_references(&table.strings, (uint32_t[]){id, id}, 2);
    uint32_t next = trace_references(&table.strings, (uint32_t[]){id, id}, 2);
    table_open(&table);
    /* 18 levels: 2^18 texts, 2^19 - 2 references. 19 levels: 2^19 + 2^20 - 2 in all, too many */
    assert_int_equal(tbed_string_resolve(table.reader, id, NULL, 0, &nbytes), TBED_OK);
    assert_int_equal(nbytes, 1 << 18);
    assert_int_equal(tbed_string_resolve(table.reader, next, NULL, 0, &nbytes), TBED_ERR_STRING_COMPONENTS);
    table_close(&table);
}

static void string_of_too_many_bytes_is_refused(void **state)
{
    char text[1001];
    struct table table;
    (void)state;
    memset(text, 'x', 1000);
    text[1000] = '\0';
    table_make(&table);
    uint32_t id = trace_string(&table.strings, text);
    for (int i = 0; i < 15; i++) /* 32,768 × 1,000 > 2^24 */
        id = trace_references(&table.strings, (uint32_t[]){id, id}, 2);
    table_open(&table);
    expect_text(&table, id, TBED_ERR_STRING_BYTES, "<too long>");
    table_close(&table);
}

static void nesting_of_64_resolves_and_of_65_does_not(void **state)
{
    struct table table;
    (void)state;
    table_make(&table);
    uint32_t id = trace_string(&table.strings, "x");
    for (int i = 0; i < 63; i++)
        id = trace_references(&table.strings, &id, 1);
    uint32_t deeper = trace_references(&table.strings, &id, 1);
    /* The second reference is resolved from its measure. */
    uint32_t both = trace_references(&table.strings, (uint32_t[]){id, id}, 2);
    table_open(&table);
    expect_text(&table, id, TBED_OK, "x");
    expect_text(&table, deeper, TBED_ERR_STRING_DEPTH, "<too deep>");
    expect_text(&table, both, TBED_ERR_STRING_DEPTH, "<too deep>");
    table_close(&table);
}

/* What was measured by way of what was measured before is as deep as if it had been walked. */
static void depth_is_the_same_however_it_is_measured(void **state)
{
    struct table table;
    (void)state;
    table_make(&table);
    uint32_t known = trace_string(&table.strings, "x");
    for (int i = 0; i < 59; i++)
        known = trace_references(&table.strings, &known, 1); /* 60 ids deep */
    uint32_t upon = trace_references(&table.strings, &known, 1), chain = upon;
    for (int i = 0; i < 2; i++)
        chain = trace_references(&table.strings, &chain, 1);
    uint32_t allowed = trace_references(&table.strings, (uint32_t[]){known, upon, chain}, 3); /* 64 */
    uint32_t longer = trace_references(&table.strings, &chain, 1);
    uint32_t refused = trace_references(&table.strings, (uint32_t[]){known, upon, longer}, 3);
    table_open(&table);
    expect_text(&table, allowed, TBED_OK, "xxx");
    expect_text(&table, refused, TBED_ERR_STRING_DEPTH, "<too deep>");
    table_close(&table);
}

static void string_that_contains_itself_is_refused(void **state)
{
    struct table table;
    uint32_t one = 1, two = 2;
    (void)state;
    table_make(&table);
    uint32_t to_one = trace_references(&table.strings, &one, 1);
    uint32_t to_two = trace_references(&table.strings, &two, 1);
    trace_bind(&table.records, 1, 1, to_one);                                       /* itself */
    trace_bind(&table.records, 2, 1, trace_references(&table.strings, &to_two, 1)); /* by a detour */
    table_open(&table);
    expect_text(&table, 1, TBED_ERR_STRING_CYCLE, "<cycle>");
    expect_text(&table, to_one, TBED_ERR_STRING_CYCLE, "<cycle>");
    expect_text(&table, 2, TBED_ERR_STRING_CYCLE, "<cycle>");
    expect_text(&table, to_two, TBED_ERR_STRING_CYCLE, "<cycle>");
    table_close(&table);
}

static void string_used_twice_is_no_cycle(void **state)
{
    struct table table;
    (void)state;
    table_make(&table);
    uint32_t a = trace_string(&table.strings, "a");
    uint32_t aa = trace_references(&table.strings, (uint32_t[]){a, a}, 2);
    uint32_t all = trace_references(&table.strings, (uint32_t[]){aa, a, aa}, 3);
    table_open(&table);
    expect_text(&table, all, TBED_OK, "aaaaa");
    table_close(&table);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(text_is_found_by_its_id),
        cmocka_unit_test(components_are_text_and_references),
        cmocka_unit_test(terminator_inside_a_reference_does_not_end_the_string),
        cmocka_unit_test(short_buffer_is_terminated_and_told_the_whole_length),
        cmocka_unit_test(plain_text_is_a_pointer_into_the_map),
        cmocka_unit_test(entries_are_listed_in_order_of_their_ids),
        cmocka_unit_test(file_without_strings_lists_none),
        cmocka_unit_test(last_binding_in_file_order_counts),
        cmocka_unit_test(bindings_agree_with_the_slow_way),
        cmocka_unit_test(lists_of_bindings_agree_with_the_slow_way),
        cmocka_unit_test(binding_may_lead_to_a_binding),
        cmocka_unit_test(metadata_is_bound_like_a_reserved_id),
        cmocka_unit_test(location_is_its_units_name_and_pc),
        cmocka_unit_test(invalid_id_has_a_stand_in),
        cmocka_unit_test(damage_met_by_reading_components_is_told_with_its_id),
        cmocka_unit_test(the_highest_reserved_id_is_like_any_other),
        cmocka_unit_test(id_outside_the_string_pages_is_refused),
        cmocka_unit_test(id_of_no_entrys_start_is_refused_by_its_hash),
        cmocka_unit_test(content_that_does_not_end_with_its_terminator_is_refused),
        cmocka_unit_test(content_that_is_not_utf8_is_refused),
        cmocka_unit_test(reference_to_an_id_without_a_meaning_shows_in_the_text),
        cmocka_unit_test(entry_past_the_end_of_the_block_is_refused),
        cmocka_unit_test(huge_entry_length_is_refused),
        cmocka_unit_test(zero_word_before_the_end_of_a_sealed_string_block_is_refused),
        cmocka_unit_test(entry_with_a_wrong_hash_is_told),
        cmocka_unit_test(string_of_2_to_the_40_leaves_is_refused_at_once),
        cmocka_unit_test(string_at_the_budget_of_components_resolves),
        cmocka_unit_test(string_of_too_many_bytes_is_refused),
        cmocka_unit_test(nesting_of_64_resolves_and_of_65_does_not),
        cmocka_unit_test(depth_is_the_same_however_it_is_measured),
        cmocka_unit_test(string_that_contains_itself_is_refused),
        cmocka_unit_test(string_used_twice_is_no_cycle),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
