/*
 * A naming callback first receives all ids, so that it can look up many at once. In stacks, code locations get their
 * names at the end, and those with the same name become one path.
 *
 * SPDX-License-Identifier: MIT
 */
#include "reader/tests/analysis/analysis_fixture.h"

#include <stdio.h>
#include <tracebed/analysis.h>

#define FIRST   5000u
#define COUNT   500u
#define STREAMS 4u

struct naming {
    uint32_t told[COUNT], named[COUNT]; /* how often */
    size_t part_count;
    bool has_named_untold;
};

static void prepare(void *context, const uint32_t *ids, size_t count)
{
    struct naming *naming = context;
    naming->part_count++;
    for (size_t i = 0; i < count; i++)
        if (ids[i] - FIRST < COUNT)
            naming->told[ids[i] - FIRST]++;
}

/* Ten ids have one name. */
static size_t name(void *context, uint32_t id, char *buffer, size_t buffer_nbytes)
{
    struct naming *naming = context;
    if (id - FIRST < COUNT) {
        naming->has_named_untold |= naming->told[id - FIRST] == 0;
        naming->named[id - FIRST]++;
    }
    return (size_t)snprintf(buffer, buffer_nbytes, "place %u", (id - FIRST) / 10);
}

/* Spans, instants and allocations of places in code, several streams of the same ones. */
static struct tbed_reader *open_trace(struct fixture *f)
{
    uint32_t unit[] = {FIRST, COUNT, TBED_UNIT_NATIVE, 0, fixture_string(f, "module"), 0, 0, 0, 0, 0};
    fixture_record(f, TBED_RECORD_UNIT, unit, 10);
    for (uint32_t stream = 1; stream <= STREAMS; stream++)
        for (uint32_t i = 0; i < COUNT; i++) {
            uint64_t tick = 100 + 10 * (uint64_t)i;
            fixture_begin(f, stream, tick, FIRST + i);
            fixture_instant(f, stream, tick + 1, FIRST + (i + stream) % COUNT);
            fixture_alloc(f, stream, tick + 2, FIRST + i, 64 * i + stream, 1);
            fixture_end(f, stream, tick + 5, false);
        }
    return fixture_open(f);
}

static void expect_all(const struct naming *naming, uint32_t named_most)
{
    assert_true(naming->part_count > 0);
    assert_false(naming->has_named_untold);
    for (uint32_t i = 0; i < COUNT; i++) {
        assert_true(naming->told[i] > 0);
        assert_in_range(naming->named[i], 1, named_most);
    }
}

static void analyses_tell_what_they_will_ask_for(void **state)
{
    (void)state;
    struct fixture *f = fixture_new(4096);
    struct tbed_reader *reader = open_trace(f);
    struct naming naming = {0};
    struct tbed_analysis_options options = {
        .size = sizeof options, .name = name, .name_context = &naming, .prepare = prepare};
    struct tbed_statistics *statistics;
    assert_int_equal(tbed_statistics_make(reader, &options, &statistics), TBED_OK);
    expect_all(&naming, 1);
    tbed_statistics_close(statistics);
    naming = (struct naming){0};
    struct tbed_allocations *allocations;
    assert_int_equal(tbed_allocations_make(reader, &options, &allocations), TBED_OK);
    expect_all(&naming, STREAMS);
    tbed_allocations_close(allocations);
    naming = (struct naming){0};
    struct tbed_statistics *profile;
    assert_int_equal(tbed_statistics_make(reader, &options, &profile), TBED_OK);
    expect_all(&naming, 2); /* for the length, and for the text */
    tbed_statistics_close(profile);
    tbed_reader_close(reader);
    fixture_free(f);
}

static void places_of_one_name_are_one_path(void **state)
{
    (void)state;
    struct fixture *f = fixture_new(4096);
    struct tbed_reader *reader = open_trace(f);
    for (unsigned threads = 1; threads <= STREAMS; threads += STREAMS - 1) {
        struct naming naming = {0};
        struct tbed_stacks_options options = {.size = sizeof options,
                                              .thread_count = threads,
                                              .name = name,
                                              .name_context = &naming,
                                              .prepare = prepare};
        struct tbed_stacks *stacks;
        const struct tbed_stack_row *row;
        assert_int_equal(tbed_stacks_make(reader, &options, &stacks), TBED_OK);
        expect_all(&naming, 1);
        assert_int_equal(naming.part_count, 1);
        size_t count = 0;
        for (; (row = tbed_stacks_row(stacks, count)) != NULL; count++)
            if (row->depth == 1) {
                assert_int_equal(row->count, 10 * STREAMS);
                assert_int_equal(row->total_ticks, 10 * STREAMS * 5);
            }
        assert_int_equal(count, 1 + COUNT / 10);
        tbed_stacks_close(stacks);
    }
    tbed_reader_close(reader);
    fixture_free(f);
}

static size_t name_with_arguments(void *context, uint32_t id, char *buffer, size_t buffer_nbytes)
{
    (void)context;
    return (size_t)snprintf(buffer, buffer_nbytes, "place\x1E%u", id);
}

/* Also of a place in code, whose module may have any name. */
static void a_label_ends_at_the_separator_in_all_analyses(void **state)
{
    (void)state;
    struct fixture *f = fixture_new(4096);
    struct tbed_reader *reader = open_trace(f);
    struct tbed_stacks_options stacks_options = {.size = sizeof stacks_options, .name = name_with_arguments};
    struct tbed_analysis_options options = {.size = sizeof options, .name = name_with_arguments};
    struct tbed_statistics *statistics;
    struct tbed_stacks *stacks;
    assert_int_equal(tbed_stacks_make(reader, &stacks_options, &stacks), TBED_OK);
    assert_int_equal(tbed_statistics_make(reader, &options, &statistics), TBED_OK);
    assert_string_equal(tbed_statistics_span(statistics, 0)->name, "place");
    assert_string_equal(tbed_stacks_row(stacks, 1)->label, "place");
    assert_int_equal(tbed_stacks_row(stacks, 1)->count, tbed_statistics_span(statistics, 0)->count);
    assert_null(tbed_stacks_row(stacks, 2));
    tbed_statistics_close(statistics);
    tbed_stacks_close(stacks);
    tbed_reader_close(reader);
    fixture_free(f);
}

/* As before there was such an option. */
static void nobody_has_to_be_told(void **state)
{
    (void)state;
    struct fixture *f = fixture_new(4096);
    struct tbed_reader *reader = open_trace(f);
    struct naming naming = {0};
    struct tbed_analysis_options options = {.size = offsetof(struct tbed_analysis_options, prepare),
                                            .name = name,
                                            .name_context = &naming,
                                            .prepare = prepare};
    struct tbed_statistics *statistics;
    assert_int_equal(tbed_statistics_make(reader, &options, &statistics), TBED_OK);
    assert_int_equal(naming.part_count, 0);
    assert_int_equal(naming.named[0], 1);
    tbed_statistics_close(statistics);
    tbed_reader_close(reader);
    fixture_free(f);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(analyses_tell_what_they_will_ask_for),
        cmocka_unit_test(places_of_one_name_are_one_path),
        cmocka_unit_test(a_label_ends_at_the_separator_in_all_analyses),
        cmocka_unit_test(nobody_has_to_be_told),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
