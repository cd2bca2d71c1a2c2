/*
 * Labels of artificial strings, just at each limit and just beyond it, and the flags of a label. labels_test.c tests
 * that traces and profiles agree.
 *
 * SPDX-License-Identifier: MIT
 */
#include "reader/core/names/label.h"

#include <setjmp.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include <cmocka.h>

enum { STRINGS = 100, INVALID = 99 };

/* String 'id' has 'count' parts: the given ones, of which the last is repeated. Then 'status'. */
static struct {
    bool is_there;
    size_t count, given;
    struct tbed_label_component parts[4];
    enum tbed_status status;
} strings[STRINGS];

struct place {
    uint64_t id;
    size_t at;
};

static enum tbed_status walk_start(const void *context, uint64_t id, struct tbed_label_walk *walk)
{
    assert_ptr_equal(context, strings);
    *(struct place *)(void *)walk = (struct place){id, 0};
    return id < STRINGS && strings[id].is_there ? TBED_OK : TBED_ERR_STRING_UNBOUND;
}

static enum tbed_status walk_next(struct tbed_label_walk *walk, struct tbed_label_component *component_ret)
{
    struct place *place = (struct place *)(void *)walk;
    size_t at = place->at++, last = strings[place->id].given - 1;
    if (at >= strings[place->id].count)
        return strings[place->id].status != TBED_OK ? strings[place->id].status : TBED_END;
    *component_ret = strings[place->id].parts[at < last ? at : last];
    return TBED_OK;
}

static struct tbed_label_strings source = {
    .context = strings, .invalid_id = INVALID, .walk_start = walk_start, .walk_next = walk_next};

static void add(uint64_t id, const char *text)
{
    size_t at = strings[id].given++;
    strings[id].is_there = true;
    strings[id].count = strings[id].given;
    strings[id].parts[at] = (struct tbed_label_component){.text = text, .nbytes = strlen(text)};
}

static void refer(uint64_t id, uint64_t to)
{
    add(id, "");
    strings[id].parts[strings[id].given - 1] = (struct tbed_label_component){.is_reference = true, .id = to};
}

static void forget(void)
{
    memset(strings, 0, sizeof strings);
    source.has_no_strings = false;
}

static struct tbed_label label;

static void expect(uint64_t id, enum tbed_status status, const char *text)
{
    assert_true(tbed_label_make(&source, id, &label));
    assert_string_equal(label.text, text);
    assert_int_equal(label.nbytes, strlen(text));
    assert_true(label.room > label.nbytes);
    assert_string_equal(tbed_status_name(label.status), tbed_status_name(status));
}

static void a_label_is_64_strings_deep_at_most(void **state)
{
    (void)state;
    for (uint64_t depth = 1; depth <= 66; depth++) {
        forget();
        for (uint64_t id = 1; id < depth; id++)
            refer(id, id + 1);
        add(depth, "deep");
        expect(1, depth <= 64 ? TBED_OK : TBED_ERR_STRING_DEPTH, depth <= 64 ? "deep" : "<too deep>");
        assert_int_equal(label.lends, depth < 64); /* one more string fits around it */
        assert_false(label.is_unknown);
        assert_int_equal(label.lowest_id, 1);
    }
}

static void a_label_has_4096_components_at_most(void **state)
{
    static char text[5000];
    (void)state;
    forget();
    add(1, "a");
    for (size_t count = 4092; count <= 4098; count++) {
        strings[1].count = count;
        memset(text, 'a', count);
        text[count] = '\0';
        bool fits = count <= 4096;
        expect(1, fits ? TBED_OK : TBED_ERR_STRING_COMPONENTS, fits ? text : "<too many components>");
        assert_int_equal(label.lends, count + 2 <= 4096);
    }
}

static void a_label_has_65535_bytes_at_most(void **state)
{
    static char text[65540], rest[70000];
    (void)state;
    for (size_t nbytes = 65533; nbytes <= 65538; nbytes++)
        for (size_t parts = 1; parts <= 3; parts++) {
            memset(text, 'b', nbytes);
            text[nbytes] = '\0';
            forget();
            add(1, text);
            strings[1].parts[0].nbytes = nbytes - (parts - 1);
            for (size_t i = 1; i < parts; i++)
                add(1, "b");
            bool fits = nbytes <= 65535;
            expect(1, fits ? TBED_OK : TBED_ERR_STRING_BYTES, fits ? text : "<too long>");
        }
    memset(rest, 'c', sizeof rest - 1);
    forget();
    add(1, "short\x1E"); /* components after the label are not counted */
    add(1, rest);
    expect(1, TBED_OK, "short");
    assert_true(label.lends);
}

static void what_has_no_meaning_has_a_stand_in(void **state)
{
    (void)state;
    forget();
    expect(7, TBED_ERR_STRING_UNBOUND, "<unknown>");
    assert_true(label.is_unknown && label.lowest_id == 7);
    add(5, "a");
    refer(5, 7);
    refer(5, 3);
    add(5, "b");
    expect(5, TBED_ERR_STRING_UNBOUND, "a<unknown><unknown>b");
    assert_true(!label.is_unknown && label.lowest_id == 3);
    source.has_no_strings = true;
    expect(5, TBED_ERR_STRING_UNBOUND, "a<id 7><id 3>b");
    expect(7, TBED_ERR_STRING_UNBOUND, "<id 7>");
    expect(INVALID, TBED_ERR_STRING_UNBOUND, "<unknown>");
    add(6, "c"); /* the partial text is dropped */
    expect(6, TBED_OK, "c");
    assert_true(!label.is_unknown && label.lends && label.lowest_id == 6);
}

static void a_circle_has_no_label(void **state)
{
    (void)state;
    forget();
    add(1, "a");
    refer(1, 2);
    refer(2, 1);
    expect(1, TBED_ERR_STRING_CYCLE, "<cycle>");
    assert_false(label.lends);
    forget();
    refer(1, 2);
    refer(1, 2);
    add(2, "twice");
    expect(1, TBED_OK, "twicetwice");
}

static void a_damaged_string_is_dropped_whole(void **state)
{
    (void)state;
    forget();
    add(1, "a");
    refer(1, 2);
    add(1, "z");
    add(2, "lost");
    strings[2].status = TBED_ERR_STRING_UTF8;
    expect(1, TBED_ERR_STRING_UTF8, "a<unknown>z");
    assert_false(label.is_unknown);
    strings[1].status = TBED_ERR_STRING_END;
    expect(1, TBED_ERR_STRING_END, "<unknown>"); /* nothing in the string is used */
    assert_true(label.is_unknown);
}

/* If a label ends in an inner string, the strings around it must be intact as far as they are examined. */
static void damage_behind_the_end_counts_up_to_the_next_divider(void **state)
{
    (void)state;
    forget();
    refer(1, 2);
    add(1, "rest");
    add(2, "label\x1E"
           "argument");
    strings[2].status = TBED_ERR_STRING_UTF8; /* after the end of its own label */
    expect(1, TBED_OK, "label");
    strings[1].status = TBED_ERR_STRING_END;
    expect(1, TBED_ERR_STRING_END, "<unknown>");
    assert_true(label.is_unknown);
    strings[1].parts[1].text = "x\x1E"; /* after its own divider as well */
    strings[1].parts[1].nbytes = 2;
    expect(1, TBED_OK, "label");
    forget(); /* the outermost string continues after the dropped one */
    refer(1, 2);
    add(1, "!");
    refer(2, 3);
    strings[2].status = TBED_ERR_STRING_HASH;
    add(3, "label\x1E");
    expect(1, TBED_ERR_STRING_HASH, "<unknown>!");
    assert_false(label.is_unknown);
}

static void a_row_shows_no_controls(void **state)
{
    static const struct {
        const char *text, *row;
    } rows[] = {
        {"", "<parse error>"},
        {"\x1F", "<parse error>"},
        {"a\x7F", "<parse error>"},
        {"\n", "<parse error>"},
        {"\x1Ez", "<parse error>"},
        {" ", " "},
        {"~", "~"},
        {"\xC3\xA9", "\xC3\xA9"},
        {"ab\x1E\n", "ab"},
    };
    (void)state;
    for (size_t i = 0; i < sizeof rows / sizeof rows[0]; i++) {
        forget();
        add(1, rows[i].text);
        assert_true(tbed_label_make_row(&source, 1, &label));
        assert_string_equal(label.text, rows[i].row);
        assert_int_equal(label.nbytes, strlen(rows[i].row));
    }
}

static int free_label(void **state)
{
    (void)state;
    free(label.text);
    return 0;
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(a_label_is_64_strings_deep_at_most),
        cmocka_unit_test(a_label_has_4096_components_at_most),
        cmocka_unit_test(a_label_has_65535_bytes_at_most),
        cmocka_unit_test(what_has_no_meaning_has_a_stand_in),
        cmocka_unit_test(a_circle_has_no_label),
        cmocka_unit_test(a_damaged_string_is_dropped_whole),
        cmocka_unit_test(damage_behind_the_end_counts_up_to_the_next_divider),
        cmocka_unit_test(a_row_shows_no_controls),
    };
    return cmocka_run_group_tests(tests, NULL, free_label);
}
