/*
 * The rules of labels, in a profile of measureme, in its import, and in stacks, which must all agree.
 *
 * SPDX-License-Identifier: MIT
 */
#include "reader/tests/tools/tool_run.h"

#include "reader/tests/measureme/profile_build.h"

#include <tracebed/analysis.h>
#include <tracebed/exchange.h>

#define METADATA "{ \"start_time\": 1700000000000000000, \"process_id\": 42, \"cmd\": \"rustc x.rs \" }"
#define END      "\x1E"

/* ---- One event and its label ---- */

static struct profile start(void)
{
    struct profile profile = profile_start(9);
    profile_metadata(&profile, METADATA);
    return profile;
}

static void expect_row(const struct tbed_statistics *profile, size_t index, const char *label)
{
    const struct tbed_span_row *row = tbed_statistics_span(profile, index);
    assert_non_null(row);
    assert_string_equal(row->name, label);
    assert_int_equal(row->name_nbytes, strlen(label));
}

static void expect_stack(struct tbed_reader *reader, const char *label)
{
    struct tbed_stacks *stacks;
    size_t index = 1;
    assert_int_equal(tbed_stacks_make(reader, NULL, &stacks), TBED_OK);
    const struct tbed_stack_row *row;
    while ((row = tbed_stacks_row(stacks, index)) != NULL && strcmp(row->label, label) != 0)
        index++;
    assert_non_null(row);
    tbed_stacks_close(stacks);
}

/* Expects these labels of the profile's events, in the order of their bytes. Ends the profile. */
static void expect_labels(struct profile *profile, const char *const *labels, size_t count, bool counts)
{
    const char *path = in_folder("labels.mm_profdata");
    struct profile_bytes file = profile_file(profile);
    struct tbed_statistics *own, *trace;
    struct tbed_reader *reader = NULL;
    struct tbed_import_report report;
    struct tbed_error error = {0};
    write_whole(path, file.bytes, file.nbytes);
    free(file.bytes);
    assert_int_equal(tbed_statistics_make_foreign(path, NULL, &own, &error), TBED_OK);
    assert_int_equal(tbed_import_open(path, &reader, &report, &error), TBED_OK);
    assert_int_equal(tbed_statistics_make(reader, NULL, &trace), TBED_OK);
    for (size_t i = 0; i < count; i++) {
        expect_row(own, i, labels[i]);
        expect_row(trace, i, labels[i]);
        expect_stack(reader, labels[i]);
    }
    assert_null(tbed_statistics_span(own, count));
    assert_null(tbed_statistics_span(trace, count));
    assert_int_equal(tbed_statistics_unit(own) != NULL, counts);
    assert_int_equal(tbed_statistics_unit(trace) != NULL, counts);
    tbed_statistics_close(own);
    tbed_statistics_close(trace);
    tbed_reader_close(reader);
    profile_end(profile);
}

static void expect_label(struct profile *profile, uint64_t id, const char *label)
{
    profile_event(profile, 0, id, 1, 10, 20);
    expect_labels(profile, &label, 1, false);
}

/* ---- References ---- */

static uint64_t add_pair(struct profile *profile, uint64_t first, uint64_t second, const char *text)
{
    uint64_t id = profile_here(profile);
    profile_reference(profile, first);
    if (second != 0)
        profile_reference(profile, second);
    profile_text(profile, text);
    profile_terminate(profile);
    return id;
}

static void a_label_begins_with_a_reference_and_goes_on(void **state)
{
    static const char *const labels[] = {"a", "ab", "ab!", "a~"};
    (void)state;
    struct profile profile = start();
    uint64_t a = profile_string(&profile, "a"), b = profile_string(&profile, "b");
    uint64_t ids[] = {add_pair(&profile, a, b, "!"), add_pair(&profile, a, b, END "x"),
                      add_pair(&profile, a, 0, "~" END "x"), add_pair(&profile, a, 0, END "x"),
                      add_pair(&profile, a, 0, "")};
    for (size_t i = 0; i < sizeof ids / sizeof *ids; i++)
        profile_event(&profile, 0, ids[i], 1, 10 * i, 10 * i + 5);
    expect_labels(&profile, labels, 4, false);
}

static void a_label_ends_in_whatever_string(void **state)
{
    (void)state;
    struct profile profile = start();
    uint64_t inner = profile_string(&profile, "in" END "ner");
    expect_label(&profile, add_pair(&profile, inner, inner, "out"), "in");
}

static void what_means_nothing_is_unknown(void **state)
{
    static const char *const labels[] = {"<unknown>", "<unknown>!"};
    (void)state;
    struct profile profile = start();
    profile_event(&profile, 0, add_pair(&profile, 77, 0, "!"), 1, 0, 5);
    profile_event(&profile, 0, add_pair(&profile, 77, 0, END), 1, 10, 15);
    profile_event(&profile, 0, 78, 1, 20, 25);
    expect_labels(&profile, labels, 2, false);
}

static void where_nothing_has_a_meaning_ids_are_numbers(void **state)
{
    static const char *const labels[] = {"<id 78>", "<unknown>"};
    (void)state;
    struct profile profile = profile_start(9);
    profile_event(&profile, 0, 78, 1, 0, 5);
    profile_event(&profile, 0, PROFILE_METADATA + 1, 1, 10, 15); /* INVALID */
    expect_labels(&profile, labels, 2, false);
    profile = profile_start(9);
    profile_event(&profile, 0, 78, 1, 0, 5);
    profile_event(&profile, 0, PROFILE_METADATA + 1, 1, 10, 15);
    profile_text(&profile, "cut"); /* is no string either */
    expect_labels(&profile, labels, 2, false);
}

/* ---- Limits ---- */

static void a_circle_has_no_label(void **state)
{
    (void)state;
    struct profile profile = start();
    uint64_t second = profile_here(&profile) + 10;
    uint64_t first = add_pair(&profile, second, 0, "");
    assert_int_equal(add_pair(&profile, first, 0, ""), second);
    expect_label(&profile, first, "<cycle>");
}

/* Adds strings that each refer to the one before; the last is 'count' deep. */
static uint64_t add_chain(struct profile *profile, size_t count)
{
    uint64_t id = profile_string(profile, "x");
    for (size_t i = 1; i < count; i++)
        id = add_pair(profile, id, 0, END "y");
    return id;
}

static void what_is_too_deep_does_not_depend_on_who_was_met(void **state)
{
    static const char *const labels[] = {"<too deep>", "x"};
    (void)state;
    struct profile profile = start();
    expect_label(&profile, add_chain(&profile, 64), "x");
    profile = start();
    expect_label(&profile, add_chain(&profile, 65), "<too deep>");
    profile = start();
    uint64_t last = add_chain(&profile, 80);
    size_t nbytes = 1 + 9 + 2 + 1; /* reference, text, end */
    for (uint64_t i = 0; i < 79; i++)
        profile_event(&profile, 0, last - (nbytes - 1) * (i % 2 == 0 ? i : 78 - i), 1, 10 * i, 10 * i + 5);
    expect_labels(&profile, labels, 2, false);
}

static uint64_t add_many(struct profile *profile, uint64_t id, size_t count)
{
    uint64_t all = profile_here(profile);
    for (size_t i = 0; i < count; i++)
        profile_reference(profile, id);
    profile_terminate(profile);
    return all;
}

/*
 * Adds "x", composed of 4,093 components and 'more' empty ones, in strings short enough that a trace does not split
 * them.
 */
static uint64_t add_components(struct profile *profile, size_t more)
{
    uint64_t empty = profile_string(profile, ""), x = profile_string(profile, "x");
    uint64_t large = add_many(profile, empty, 1021), small = add_many(profile, empty, more);
    uint64_t four = add_many(profile, large, 4);
    return add_pair(profile, add_pair(profile, x, four, ""), small, "");
}

static void components_are_counted_to_the_labels_end(void **state)
{
    (void)state;
    struct profile profile = start();
    expect_label(&profile, add_components(&profile, 3), "x");
    profile = start();
    expect_label(&profile, add_components(&profile, 4), "<too many components>");
    uint64_t empty;
    profile = start();
    empty = profile_string(&profile, "");
    uint64_t behind =
        add_pair(&profile, profile_string(&profile, "x" END), add_many(&profile, empty, 9999), "");
    expect_label(&profile, behind, "x");
    profile = start();
    uint64_t id = profile_string(&profile, "boom");
    for (int i = 0; i < 40; i++)
        id = add_pair(&profile, id, id, "");
    expect_label(&profile, id, "<too many components>");
}

static void bytes_are_counted(void **state)
{
    char *text = malloc(65537);
    (void)state;
    assert_non_null(text);
    memset(text, 'x', 65536);
    text[65536] = '\0';
    struct profile profile = start();
    expect_label(&profile, profile_string(&profile, text), "<too long>");
    text[65535] = '\0';
    profile = start();
    expect_label(&profile, profile_string(&profile, text), text);
    free(text);
}

/* ---- Damage ---- */

static void what_is_damaged_behind_its_label_keeps_it(void **state)
{
    static const char *const behind[] = {"\xF0\x9F!", END "\xC0", "x\xF1"};
    (void)state;
    for (size_t i = 0; i < 3; i++) {
        struct profile profile = start();
        uint64_t a = profile_string(&profile, "a");
        uint64_t id = add_pair(&profile, a, 0, END), other = add_pair(&profile, a, 0, "b" END);
        profile.streams[1].nbytes--; /* the text replaces its end */
        profile_text(&profile, behind[i]);
        profile_terminate(&profile);
        profile_event(&profile, 0, id, 1, 0, 5);
        profile_event(&profile, 0, other, 1, 10, 15);
        expect_labels(&profile, (const char *const[]){"a", "ab"}, 2, false);
    }
}

static void a_damaged_string_is_unknown_even_if_it_refers_to_itself(void **state)
{
    (void)state;
    struct profile profile = start();
    uint64_t id = profile_here(&profile);
    assert_int_equal(add_pair(&profile, id, 0, "\xC0"), id);
    expect_label(&profile, id, "<unknown>");
    profile = start();
    id = profile_here(&profile);
    assert_int_equal(add_pair(&profile, id, 0, "\xC0"), id);
    expect_label(&profile, add_pair(&profile, id, 0, "!" END), "<unknown>!");
}

static void what_is_damaged_before_its_end_is_unknown(void **state)
{
    (void)state;
    struct profile profile = start();
    uint64_t whole = profile_string(&profile, "in" END "ner");
    uint64_t id = add_pair(&profile, whole, 0, "b\xC0" END); /* the label would end in front of the damage */
    expect_label(&profile, add_pair(&profile, id, 0, "!" END), "<unknown>!");
    profile = start();
    uint64_t cut = profile_here(&profile);
    profile_text(&profile, "cut");
    expect_label(&profile, cut, "<unknown>");
}

/* ---- Metadata ---- */

static void metadata_cut_in_its_counter_counts_in_both(void **state)
{
    static const char *const texts[] = {
        "{ \"cmd\": \"a b \", \"counter\": { \"name\": \"instr",
        "{ \"cmd\": \"a b \", \"counter\": { ",
        "{ \"cmd\": \"a b \", \"counter\": { \"name\": \"instructions\", ",
    };
    static const bool counts[] = {false, false, true};
    (void)state;
    for (size_t i = 0; i < 3; i++) {
        struct profile profile = profile_start(9);
        uint64_t label = profile_string(&profile, "a"), metadata = profile_here(&profile);
        profile_bind(&profile, PROFILE_METADATA, metadata);
        profile_text(&profile, texts[i]);
        profile_event(&profile, 0, label, 1, 10, 20);
        expect_labels(&profile, (const char *const[]){"a"}, 1, counts[i]);
    }
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(a_label_begins_with_a_reference_and_goes_on),
        cmocka_unit_test(a_label_ends_in_whatever_string),
        cmocka_unit_test(what_means_nothing_is_unknown),
        cmocka_unit_test(where_nothing_has_a_meaning_ids_are_numbers),
        cmocka_unit_test(a_circle_has_no_label),
        cmocka_unit_test(what_is_too_deep_does_not_depend_on_who_was_met),
        cmocka_unit_test(components_are_counted_to_the_labels_end),
        cmocka_unit_test(bytes_are_counted),
        cmocka_unit_test(what_is_damaged_behind_its_label_keeps_it),
        cmocka_unit_test(what_is_damaged_before_its_end_is_unknown),
        cmocka_unit_test(a_damaged_string_is_unknown_even_if_it_refers_to_itself),
        cmocka_unit_test(metadata_cut_in_its_counter_counts_in_both),
    };
    return cmocka_run_group_tests(tests, make_folder, remove_folder);
}
