/*
 * Strings that are walked, streamed, measured and compared without expanding them.
 *
 * The hostile tables are measureme's: 19 bytes a level double what a string comes to, so that 760 bytes are 2^40
 * leaves; reserved ids make cycles and long chains. Each has to be answered within 10 ms by every call.
 *
 * SPDX-License-Identifier: MIT
 */
#include "format/tests/sanitizer.h"
#include "reader/tests/strings/string_table.h"

#include <stdlib.h>

#define ANSWER_SECONDS (TEST_IS_SANITIZED ? 0.100 : 0.010)

/* Of this thread's own time: others may use the machine as well. */
static double seconds_used(void)
{
    struct timespec now;
    clock_gettime(CLOCK_THREAD_CPUTIME_ID, &now);
    return (double)now.tv_sec + 1e-9 * (double)now.tv_nsec;
}

static void expect_fast(double begin)
{
    assert_true(seconds_used() - begin < ANSWER_SECONDS);
}

static void expect_status(enum tbed_status found, enum tbed_status wanted)
{
    assert_string_equal(tbed_status_name(found), tbed_status_name(wanted));
}

/* ---- The nested walk ---- */

static void put_node(char *out, size_t room, const struct tbed_string_node *node)
{
    size_t used = strlen(out);
    switch (node->step) {
    case TBED_STRING_ENTER:
        snprintf(out + used, room - used, "%u{%c%x ", node->depth, "ebl"[node->meaning], node -> id & 0xFFFF);
        break;
    case TBED_STRING_TEXT:
        snprintf(out + used, room - used, "'%.*s'%u ", (int)node->nbytes, node->text, node->depth);
        break;
    case TBED_STRING_TROUBLE:
        snprintf(out + used, room - used, "?%.*s %s ", (int)node->nbytes, node->text,
                 tbed_status_name(node->status));
        break;
    case TBED_STRING_LEAVE:
        snprintf(out + used, room - used, "}%u ", node->depth);
    }
}

static enum tbed_status walk(const struct table *table, uint32_t id, const struct tbed_string_budget *budget,
                             char *out, size_t room)
{
    struct tbed_string_walk *walk;
    struct tbed_string_node node;
    enum tbed_status status, again;
    out[0] = '\0';
    assert_int_equal(tbed_string_walk_open(table->reader, id, budget, &walk), TBED_OK);
    while ((status = tbed_string_walk_next(walk, &node)) == TBED_OK)
        put_node(out, room, &node);
    again = tbed_string_walk_next(walk, &node);
    assert_int_equal(again, status);
    tbed_string_walk_close(walk);
    return status;
}

static void walk_goes_depth_first_and_tells_depths(void **state)
{
    char out[400];
    struct table table;
    (void)state;
    table_make(&table);
    uint32_t b = trace_string(&table.strings, "b"); /* 8 */
    trace_bind(&table.records, 42, 1, b);
    trace_unit(&table.records, 1000, 10, b, 0x10);
    /* "a", 42, "c", location 1000, 7 that means nothing */
    uint32_t id = trace_content(&table.strings,
                                "a\x80\0\0\x2A"
                                "c\x80\0\x03\xE8\x80\0\0\x07\xFF",
                                15);
    table_open(&table);
    assert_int_equal(walk(&table, id, NULL, out, sizeof out), TBED_END);
    assert_string_equal(out, "0{ea 'a'1 1{b2a 2{e8 'b'3 }2 }1 'c'1 1{l3e8 2{e8 'b'3 }2 '+0x10'2 }1 "
                             "?<id 7> STRING_UNBOUND }0 ");
    table_close(&table);
}

static void walk_passes_over_what_is_skipped(void **state)
{
    struct table table;
    struct tbed_string_walk *walk;
    struct tbed_string_node node;
    (void)state;
    table_make(&table);
    uint32_t a = trace_string(&table.strings, "a");
    uint32_t inner = trace_references(&table.strings, (uint32_t[]){a, a}, 2);
    uint32_t id = trace_references(&table.strings, (uint32_t[]){inner, a}, 2);
    table_open(&table);
    assert_int_equal(tbed_string_walk_open(table.reader, id, NULL, &walk), TBED_OK);
    tbed_string_walk_skip(walk); /* nothing is open yet */
    assert_int_equal(tbed_string_walk_next(walk, &node), TBED_OK);
    assert_int_equal(tbed_string_walk_next(walk, &node), TBED_OK);
    assert_int_equal(node.id, inner);
    tbed_string_walk_skip(walk);
    assert_int_equal(tbed_string_walk_next(walk, &node), TBED_OK);
    assert_int_equal(node.step, TBED_STRING_LEAVE);
    assert_int_equal(node.id, inner);
    assert_int_equal(tbed_string_walk_next(walk, &node), TBED_OK);
    assert_int_equal(node.id, a);
    tbed_string_walk_close(walk);
    table_close(&table);
}

static void walk_shows_cycles_and_depth_in_their_place(void **state)
{
    char out[400];
    struct table table;
    struct tbed_string_budget budget = {.size = sizeof budget, .depth = 1};
    uint32_t one = 1;
    (void)state;
    table_make(&table);
    uint32_t cycle = trace_content(&table.strings, "a\x80\0\0\x01z\xFF", 7);
    trace_bind(&table.records, 1, 1, cycle);
    uint32_t deep = trace_references(&table.strings, &one, 1);
    table_open(&table);
    assert_int_equal(walk(&table, cycle, NULL, out, sizeof out), TBED_END);
    assert_string_equal(out, "0{e8 'a'1 1{b1 ?<cycle> STRING_CYCLE }1 'z'1 }0 ");
    assert_int_equal(walk(&table, deep, &budget, out, sizeof out), TBED_END);
    assert_string_equal(out, "0{ea 1{b1 ?<too deep> STRING_DEPTH }1 }0 ");
    table_close(&table);
}

static void each_budget_of_a_walk_has_its_status(void **state)
{
    char out[400];
    struct table table;
    struct tbed_string_budget budget = {.size = sizeof budget};
    (void)state;
    table_make(&table);
    uint32_t a = trace_string(&table.strings, "abc");
    uint32_t id = trace_references(&table.strings, (uint32_t[]){a, a}, 2); /* 4 components, 6 bytes */
    table_open(&table);
    budget.component_count = 4, budget.nbytes = 6, budget.depth = 2;
    expect_status(walk(&table, id, &budget, out, sizeof out), TBED_END);
    budget.component_count = 3;
    expect_status(walk(&table, id, &budget, out, sizeof out), TBED_ERR_STRING_COMPONENTS);
    budget.component_count = 4, budget.nbytes = 5;
    expect_status(walk(&table, id, &budget, out, sizeof out), TBED_ERR_STRING_BYTES);
    table_close(&table);
}

static void impossible_budget_is_refused(void **state)
{
    struct table table;
    struct tbed_string_walk *walk = NULL;
    struct tbed_event_parts *parts = NULL;
    struct tbed_string_budget deep = {.size = sizeof deep, .depth = 65}, small = {.size = sizeof(size_t) / 2};
    uint64_t nbytes;
    bool equal;
    (void)state;
    table_make(&table);
    uint32_t a = trace_string(&table.strings, "a");
    table_open(&table);
    expect_status(tbed_string_walk_open(table.reader, a, &deep, &walk), TBED_ERR_ARGUMENT);
    expect_status(tbed_event_parts_open(table.reader, a, &small, &parts), TBED_ERR_ARGUMENT);
    expect_status(tbed_string_length(table.reader, a, &deep, &nbytes), TBED_ERR_ARGUMENT);
    expect_status(tbed_string_equals(table.reader, a, a, &small, &equal), TBED_ERR_ARGUMENT);
    expect_status(tbed_string_equals_text(table.reader, a, "a", 1, &deep, &equal), TBED_ERR_ARGUMENT);
    assert_null(walk);
    assert_null(parts);
    table_close(&table);
}

/* ---- Streams ---- */

struct stream {
    char text[64];
    size_t nbytes, pieces, pieces_max;
    const char *first;
};

static bool take(void *context, const char *text, size_t nbytes)
{
    struct stream *stream = context;
    assert_true(nbytes > 0);
    if (stream->pieces == 0)
        stream->first = text;
    memcpy(stream->text + stream->nbytes, text, nbytes);
    stream->nbytes += nbytes;
    return ++stream->pieces != stream->pieces_max;
}

static void stream_gives_pieces_of_the_map(void **state)
{
    struct table table;
    struct stream stream = {.pieces_max = 100};
    const char *direct;
    size_t nbytes;
    (void)state;
    table_make(&table);
    uint32_t a = trace_string(&table.strings, "abc"), empty = trace_string(&table.strings, "");
    uint32_t id = trace_references(&table.strings, (uint32_t[]){a, empty, 5, a}, 4);
    table_open(&table);
    expect_status(tbed_string_stream(table.reader, id, NULL, take, &stream), TBED_ERR_STRING_UNBOUND);
    assert_int_equal(stream.pieces, 3);
    assert_memory_equal(stream.text, "abc<id 5>abc", 12);
    assert_int_equal(tbed_string_text(table.reader, a, &direct, &nbytes), TBED_OK);
    assert_ptr_equal(stream.first, direct);
    stream = (struct stream){.pieces_max = 1};
    expect_status(tbed_string_stream(table.reader, id, NULL, take, &stream), TBED_END);
    assert_int_equal(stream.pieces, 1);
    table_close(&table);
}

static bool count_bytes(void *context, const char *text, size_t nbytes)
{
    (void)text;
    *(uint64_t *)context += nbytes;
    return true;
}

static void stream_has_no_limit_but_the_budget(void **state)
{
    char text[1001];
    struct table table;
    struct tbed_string_budget budget = {.size = sizeof budget, .nbytes = (uint64_t)1000 << 15};
    uint64_t nbytes = 0;
    (void)state;
    memset(text, 'x', 1000);
    text[1000] = '\0';
    table_make(&table);
    uint32_t id = trace_string(&table.strings, text);
    for (int i = 0; i < 15; i++)
        id = trace_references(&table.strings, (uint32_t[]){id, id}, 2);
    table_open(&table);
    expect_status(tbed_string_stream(table.reader, id, NULL, count_bytes, &nbytes), TBED_ERR_STRING_BYTES);
    assert_int_equal(nbytes, strlen("<too long>"));
    nbytes = 0;
    expect_status(tbed_string_stream(table.reader, id, &budget, count_bytes, &nbytes), TBED_OK);
    assert_int_equal(nbytes, budget.nbytes);
    budget.nbytes--;
    expect_status(tbed_string_stream(table.reader, id, &budget, count_bytes, &nbytes), TBED_ERR_STRING_BYTES);
    table_close(&table);
}

/* ---- Equality ---- */

static void expect_equal(const struct table *table, uint32_t a, uint32_t b, enum tbed_status status,
                         bool wanted)
{
    bool equal = !wanted;
    expect_status(tbed_string_equals(table->reader, a, b, NULL, &equal), status);
    assert_int_equal(equal, wanted);
    equal = !wanted;
    expect_status(tbed_string_equals(table->reader, b, a, NULL, &equal), status);
    assert_int_equal(equal, wanted);
}

static void expect_equals_text(const struct table *table, uint32_t id, const char *text,
                               enum tbed_status status, bool wanted)
{
    bool equal = !wanted;
    expect_status(tbed_string_equals_text(table->reader, id, text, strlen(text), NULL, &equal), status);
    assert_int_equal(equal, wanted);
}

static void equality_is_of_texts_not_of_components(void **state)
{
    struct table table;
    (void)state;
    table_make(&table);
    uint32_t ab = trace_string(&table.strings, "ab"), c = trace_string(&table.strings, "c");
    uint32_t a = trace_string(&table.strings, "a"), bc = trace_string(&table.strings, "bc");
    uint32_t bd = trace_string(&table.strings, "bd"), empty = trace_string(&table.strings, "");
    uint32_t ab_c = trace_references(&table.strings, (uint32_t[]){ab, c}, 2);
    uint32_t a_bc = trace_references(&table.strings, (uint32_t[]){empty, a, bc, empty}, 4);
    uint32_t a_bd = trace_references(&table.strings, (uint32_t[]){a, bd}, 2);
    trace_bind(&table.records, 5, 1, a_bc);
    uint32_t troubled = trace_references(&table.strings, (uint32_t[]){a, 6}, 2);
    table_open(&table);
    expect_equal(&table, ab_c, a_bc, TBED_OK, true);
    expect_equal(&table, ab_c, 5, TBED_OK, true);
    expect_equal(&table, ab_c, a_bd, TBED_OK, false);
    expect_equal(&table, ab_c, ab, TBED_OK, false);
    expect_equal(&table, empty, empty, TBED_OK, true);
    expect_equal(&table, troubled, ab, TBED_ERR_STRING_UNBOUND, false);
    expect_equals_text(&table, a_bc, "abc", TBED_OK, true);
    expect_equals_text(&table, a_bc, "abd", TBED_OK, false);
    expect_equals_text(&table, a_bc, "abcd", TBED_OK, false);
    expect_equals_text(&table, empty, "", TBED_OK, true);
    expect_equals_text(&table, troubled, "a<id 6>", TBED_ERR_STRING_UNBOUND, false);
    table_close(&table);
}

/* ---- Hostile tables ---- */

/* 'levels' of entries that refer to the one before twice: 8 + 2 × 4 + 1 bytes each, in 24. */
static uint32_t put_doubled(struct table *table, uint32_t id, int levels)
{
    for (int i = 0; i < levels; i++)
        id = trace_references(&table->strings, (uint32_t[]){id, id}, 2);
    return id;
}

static void doubled_string_is_answered_at_once(void **state)
{
    struct table table;
    struct tbed_name name;
    struct tbed_string_walk *walk;
    struct tbed_string_node node;
    uint64_t nbytes = 0;
    (void)state;
    table_make(&table);
    uint32_t x = trace_string(&table.strings, "x"), y = trace_string(&table.strings, "y");
    uint32_t before = table.strings.at;
    uint32_t id = put_doubled(&table, x, 40);
    assert_int_equal(table.strings.at - before, 40 * 24); /* 9 bytes of content each, 360 in all */
    uint32_t same = put_doubled(&table, trace_string(&table.strings, "x"), 40);
    uint32_t other = put_doubled(&table, y, 40), wrapped = trace_references(&table.strings, &id, 1);
    table_open(&table);
    double begin = seconds_used();
    expect_text(&table, id, TBED_ERR_STRING_COMPONENTS, "<too many components>");
    expect_status(tbed_string_length(table.reader, id, NULL, &nbytes), TBED_OK);
    assert_true(nbytes == UINT64_C(1) << 40);
    expect_equal(&table, id, id, TBED_OK, true);
    expect_equal(&table, id, same, TBED_OK, true);
    expect_equal(&table, id, other, TBED_OK, false);
    expect_equal(&table, id, wrapped, TBED_OK, true); /* they meet one level down */
    expect_equals_text(&table, id, "xx", TBED_OK, false);
    expect_status(tbed_name_get(table.reader, id, &name), TBED_ERR_STRING_COMPONENTS);
    assert_string_equal(name.text, "<too many components>");
    expect_fast(begin);
    begin =
        seconds_used(); /* a walk is as long as its caller lets it be: a step is what must not take long */
    assert_int_equal(tbed_string_walk_open(table.reader, id, NULL, &walk), TBED_OK);
    for (int i = 0; i < 1000; i++)
        assert_int_equal(tbed_string_walk_next(walk, &node), TBED_OK);
    tbed_string_walk_close(walk);
    expect_fast(begin);
    table_close(&table);
}

/* measureme's own: each level is a text and two references, with 19 bytes; here the text is one byte of it. */
static void tree_of_19_bytes_a_level_is_answered_at_once(void **state)
{
    struct table table;
    uint64_t nbytes = 0;
    (void)state;
    table_make(&table);
    uint32_t id = trace_string(&table.strings, "x");
    for (int i = 0; i < 40; i++) {
        uint8_t content[19] = "0123456789";
        for (int j = 0; j < 8; j++)
            content[10 + j] = (uint8_t)((id | 0x80000000u) >> (24 - j % 4 * 8));
        content[18] = 0xFF;
        id = trace_content(&table.strings, content, sizeof content);
    }
    table_open(&table);
    double begin = seconds_used();
    expect_text(&table, id, TBED_ERR_STRING_COMPONENTS, "<too many components>");
    expect_status(tbed_string_length(table.reader, id, NULL, &nbytes), TBED_OK);
    assert_true(nbytes == (UINT64_C(1) << 40) + 10 * ((UINT64_C(1) << 40) - 1));
    expect_equal(&table, id, id, TBED_OK, true);
    expect_fast(begin);
    table_close(&table);
}

static void empty_leaves_cost_nothing(void **state)
{
    struct table table;
    struct tbed_name name;
    uint64_t nbytes = 1;
    (void)state;
    table_make(&table);
    uint32_t id = put_doubled(&table, trace_string(&table.strings, ""), 40);
    uint32_t other = put_doubled(&table, trace_string(&table.strings, ""), 40);
    table_open(&table);
    double begin = seconds_used();
    expect_text(&table, id, TBED_ERR_STRING_COMPONENTS, "<too many components>");
    expect_status(tbed_string_length(table.reader, id, NULL, &nbytes), TBED_OK);
    assert_int_equal(nbytes, 0);
    expect_equal(&table, id, other, TBED_OK, true);
    expect_equals_text(&table, id, "", TBED_OK, true);
    expect_status(tbed_event_label(table.reader, id, &name), TBED_ERR_STRING_COMPONENTS);
    expect_fast(begin);
    table_close(&table);
}

static void length_saturates(void **state)
{
    struct table table;
    uint64_t nbytes = 0;
    (void)state;
    table_make(&table);
    uint32_t id = trace_string(&table.strings, "xx");
    for (int i = 0; i < 21; i++) /* 8^21 = 2^63 */
        id = trace_references(&table.strings, (uint32_t[]){id, id, id, id, id, id, id, id}, 8);
    uint32_t x = trace_string(&table.strings, "x");
    uint32_t half = put_doubled(&table, x, 63);
    table_open(&table);
    expect_status(tbed_string_length(table.reader, id, NULL, &nbytes), TBED_ERR_STRING_BYTES);
    assert_true(nbytes == UINT64_MAX);
    expect_status(tbed_string_length(table.reader, half, NULL, &nbytes), TBED_OK);
    assert_true(nbytes == UINT64_C(1) << 63);
    table_close(&table);
}

static void chain_of_10000_bindings_is_answered_at_once(void **state)
{
    enum { COUNT = 10000, PAGE = 1 << 20 };
    struct table table;
    struct tbed_name name;
    uint64_t nbytes;
    (void)state;
    table.trace = trace_make_paged(3, PAGE);
    table.strings = trace_block_begin(&table.trace, 1, TBED_BLOCK_STRINGS, 1, 0);
    table.records = trace_block_begin(&table.trace, 2, TBED_BLOCK_RECORDS, 1, 0);
    uint32_t x = trace_string(&table.strings, "x");
    for (uint32_t i = 0; i < COUNT; i++)
        trace_bind(&table.records, 1 + i, 1, i + 1 < COUNT ? 2 + i : x);
    for (uint32_t i = 0; i < COUNT; i++) /* a ring of as many */
        trace_bind(&table.records, 20001 + i, 1, 20001 + (i + 1) % COUNT);
    table_open(&table);
    double begin = seconds_used();
    for (uint32_t first = 1; first <= 20001; first += 20000) {
        expect_text(&table, first, TBED_ERR_STRING_DEPTH, "<too deep>");
        expect_status(tbed_string_length(table.reader, first, NULL, &nbytes), TBED_ERR_STRING_DEPTH);
        expect_equal(&table, first, x, TBED_ERR_STRING_DEPTH, false);
        expect_status(tbed_event_label(table.reader, first, &name), TBED_ERR_STRING_DEPTH);
    }
    expect_fast(begin);
    expect_text(&table, COUNT - 63, TBED_OK, "x"); /* 64 bindings and the string */
    table_close(&table);
}

/* Ids whose low bits are the same, asked for in turn: a memory that forgets would measure them again and again. */
static void no_arrangement_of_ids_makes_it_forget(void **state)
{
    enum { LEVELS = 60, APART = 2048 };
    struct table table;
    uint64_t nbytes;
    (void)state;
    table_make_large(&table);
    char filler[APART];
    uint32_t a = trace_string(&table.strings, "x"), b = a;
    for (int i = 0; i < LEVELS; i++) { /* two ids a level, each of the two of the level below, in turn */
        uint32_t pair[2];
        for (int j = 0; j < 2; j++) {
            pair[j] = trace_references(&table.strings, (uint32_t[]){a, b, a, b}, 4);
            memset(filler, 'f', sizeof filler);
            filler[APART - 8 - 24 - 8 - 1] = '\0';
            trace_string(&table.strings, filler);
        }
        a = pair[0], b = pair[1];
    }
    table_open(&table);
    double begin = seconds_used();
    expect_text(&table, a, TBED_ERR_STRING_COMPONENTS, "<too many components>");
    expect_status(tbed_string_length(table.reader, a, NULL, &nbytes), TBED_ERR_STRING_BYTES); /* 4^60 */
    expect_fast(begin);
    table_close(&table);
}

/* One long text referred to very often: its checks are made once for it, not once a reference. */
static void long_leaf_is_measured_once(void **state)
{
    enum { NBYTES = 500000, REFERENCES = 60000 };
    struct table table;
    uint64_t nbytes;
    (void)state;
    table_make_large(&table);
    char *text = calloc(1, NBYTES + 1);
    uint32_t *ids = calloc(REFERENCES, sizeof *ids);
    memset(text, 'x', NBYTES);
    uint32_t leaf = trace_string(&table.strings, text);
    for (int i = 0; i < REFERENCES; i++)
        ids[i] = leaf;
    uint32_t id = trace_references(&table.strings, ids, REFERENCES);
    table_open(&table);
    expect_status(tbed_string_length(table.reader, id, NULL, &nbytes), TBED_OK);
    double begin = seconds_used();
    expect_status(tbed_string_length(table.reader, id, NULL, &nbytes), TBED_OK);
    assert_true(nbytes == (uint64_t)NBYTES * REFERENCES);
    expect_fast(begin);
    expect_text(&table, id, TBED_ERR_STRING_BYTES, "<too long>");
    table_close(&table);
    free(text);
    free(ids);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(walk_goes_depth_first_and_tells_depths),
        cmocka_unit_test(walk_passes_over_what_is_skipped),
        cmocka_unit_test(walk_shows_cycles_and_depth_in_their_place),
        cmocka_unit_test(each_budget_of_a_walk_has_its_status),
        cmocka_unit_test(impossible_budget_is_refused),
        cmocka_unit_test(stream_gives_pieces_of_the_map),
        cmocka_unit_test(stream_has_no_limit_but_the_budget),
        cmocka_unit_test(equality_is_of_texts_not_of_components),
        cmocka_unit_test(doubled_string_is_answered_at_once),
        cmocka_unit_test(tree_of_19_bytes_a_level_is_answered_at_once),
        cmocka_unit_test(empty_leaves_cost_nothing),
        cmocka_unit_test(length_saturates),
        cmocka_unit_test(chain_of_10000_bindings_is_answered_at_once),
        cmocka_unit_test(no_arrangement_of_ids_makes_it_forget),
        cmocka_unit_test(long_leaf_is_measured_once),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
