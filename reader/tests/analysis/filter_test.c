/*
 * Filters of every kind, alone and combined, on random traces: what statistics and stacks say is what a list of all spans
 * says from which the others were taken.
 *
 * SPDX-License-Identifier: MIT
 */
#include "reader/tests/analysis/span_list.h"

#include <stdio.h>
#include <tracebed/analysis.h>

/* The same conditions as a filter's, in the form that the oracle applies. */
struct conditions {
    uint64_t begin, end, minimum; /* end 0: none */
    uint32_t stream;              /* 0: all */
    uint32_t names, excluded;     /* sets of ids; 0: not asked for */
    uint32_t inside;              /* an id; 0: none */
};

/* ---- The oracle ---- */

static bool is_in_window(const struct conditions *c, uint64_t tick)
{
    return tick >= c->begin && (c->end == 0 || tick < c->end);
}

/* Cuts the span to the window. False: nothing of it is left. */
static bool cut(const struct conditions *c, struct listed *span)
{
    uint64_t end = c->end != 0 ? c->end : UINT64_MAX;
    if (span->begin == span->end)
        return is_in_window(c, span->end);
    if (span->end <= c->begin || span->begin >= end)
        return false;
    span->is_open &= span->end <= end;
    span->begin = span->begin > c->begin ? span->begin : c->begin;
    span->end = span->end < end ? span->end : end;
    return true;
}

static bool has_name(const struct conditions *c, uint32_t id)
{
    return (c->names == 0 || c->names >> id & 1) && !(c->excluded >> id & 1);
}

/* Is every tick of the span one of a span of the id? */
static bool is_inside(const struct list *cut_spans, uint32_t id, const struct listed *span)
{
    uint64_t reached = span->begin;
    bool has_first = false, has_moved = true;
    for (; has_moved;) {
        has_moved = false;
        for (size_t i = 0; i < cut_spans->count; i++) {
            const struct listed *other = &cut_spans->items[i];
            bool is_near = other->begin <= span->begin || other->begin < reached;
            if (other->is_unknown || other->id != id || other->stream != span->stream || !is_near ||
                other->end < reached)
                continue;
            has_first = true;
            has_moved |= other->end > reached;
            reached = other->end > reached ? other->end : reached;
        }
    }
    return has_first && reached >= span->end;
}

static void keep_cut(const struct conditions *c, struct list *list)
{
    size_t count = 0;
    for (size_t i = 0; i < list->count; i++)
        if ((c->stream == 0 || list->items[i].stream == c->stream) && cut(c, &list->items[i]))
            list->items[count++] = list->items[i];
    list->count = count;
}

static void keep_matching(const struct conditions *c, struct list *list)
{
    struct list cut_spans = {.items = malloc((list->count + 1) * sizeof *list->items), .count = list->count};
    size_t count = 0;
    assert_non_null(cut_spans.items);
    memcpy(cut_spans.items, list->items, list->count * sizeof *list->items);
    for (size_t i = 0; i < list->count; i++) {
        const struct listed *span = &cut_spans.items[i];
        if (span->end - span->begin >= c->minimum && has_name(c, span->id) &&
            (c->inside == 0 || is_inside(&cut_spans, c->inside, span)))
            list->items[count++] = *span;
    }
    list->count = count;
    free(cut_spans.items);
}

/* ---- The filter ---- */

/* A name is "<id 7>". */
static const char *pattern_of(char pattern[128], uint32_t ids)
{
    size_t used = (size_t)sprintf(pattern, "^<id (0");
    for (uint32_t id = 1; id <= IDS; id++)
        if (ids >> id & 1)
            used += (size_t)sprintf(pattern + used, "|%u", id);
    strcpy(pattern + used, ")>$");
    return pattern;
}

static struct tbed_filter *filter_of(struct tbed_reader *reader, const struct conditions *c)
{
    char names[128], excluded[128], inside[32], problem[TBED_FILTER_PROBLEM_NBYTES];
    const char *const name[] = {pattern_of(names, c->names)}, *const out[] = {
                                                                  pattern_of(excluded, c->excluded)};
    const char *const around[] = {inside};
    struct tbed_filter *filter;
    sprintf(inside, "<id %u>", c->inside);
    struct tbed_filter_options options = {.size = sizeof options,
                                          .begin_tick = c->begin,
                                          .end_tick = c->end,
                                          .streams = c->stream != 0 ? &c->stream : NULL,
                                          .stream_count = 1,
                                          .names = name,
                                          .name_count = c->names != 0,
                                          .excluded_names = out,
                                          .excluded_name_count = c->excluded != 0,
                                          .minimum_ticks = c->minimum,
                                          .inside = around,
                                          .inside_count = c->inside != 0};
    assert_int_equal(tbed_filter_make(reader, &options, &filter, problem), TBED_OK);
    assert_string_equal(problem, "");
    return filter;
}

/* ---- Comparing ---- */

/* The steps of the filtered assembler are the list; each BEGIN has its end. */
static void expect_steps(struct tbed_reader *reader, const struct tbed_filter *filter,
                         const struct list *list, bool loses)
{
    struct tbed_assembler *assembler;
    struct tbed_step step;
    struct list taken = {.items = calloc(list->count + 1, sizeof *taken.items)};
    size_t begin_count = 0, begun_count = 0;
    enum tbed_status status;
    assert_non_null(taken.items);
    assert_int_equal(tbed_assembler_open_filtered(reader, NULL, 0, filter, &assembler), TBED_OK);
    while ((status = tbed_assembler_next(assembler, &step)) == TBED_OK) {
        begin_count += step.kind == TBED_STEP_BEGIN;
        if (step.kind == TBED_STEP_BEGIN || step.kind == TBED_STEP_EVENT)
            continue;
        bool is_whole = step.event != NULL && step.event->type == TBED_EVENT_SPAN;
        begun_count += step.span->was_begun && !is_whole;
        assert_true(taken.count < list->count);
        taken.items[taken.count++] = listed_of(&step);
    }
    assert_int_equal(status, TBED_END);
    assert_true(begin_count >= begun_count); /* where events are missing, some ends are never known */
    assert_true(loses || begin_count == begun_count);
    assert_int_equal(taken.count, list->count);
    expect_same_spans(&taken, list);
    tbed_assembler_close(assembler);
    free(taken.items);
}

static void expect_filtered(struct tbed_reader *reader, const struct conditions *c, bool loses)
{
    struct tbed_filter *filter = filter_of(reader, c);
    struct tbed_analysis_options options = {.size = sizeof options, .thread_count = 1, .filter = filter};
    struct tbed_stacks_options stacks = {.size = sizeof stacks, .thread_count = 2, .filter = filter};
    struct tbed_statistics *statistics, *other;
    struct list list;
    list_spans(&list, reader);
    keep_cut(c, &list);
    keep_matching(c, &list);
    find_parents(&list);
    assert_int_equal(tbed_statistics_make(reader, &options, &statistics), TBED_OK);
    options.thread_count = 3;
    assert_int_equal(tbed_statistics_make(reader, &options, &other), TBED_OK);
    expect_same(statistics, other);
    for (uint32_t id = 1; id <= IDS; id++)
        expect_listed(&list, statistics, id);
    expect_steps(reader, filter, &list, loses);
    expect_stacks(statistics, reader, &stacks);
    tbed_statistics_close(statistics);
    tbed_statistics_close(other);
    free(list.items);
    tbed_filter_close(filter);
}

static struct conditions random_conditions(uint64_t *random)
{
    uint32_t kinds = fixture_random(random) % 64;
    struct conditions c = {0};
    if (kinds & 1)
        c.begin = 900 + fixture_random(random) % 14000;
    if (kinds & 2)
        c.end = c.begin + 1 + fixture_random(random) % (fixture_random(random) % 2 ? 100 : 9000);
    if (kinds & 4)
        c.names = fixture_random(random) & ((1u << (IDS + 1)) - 2);
    if (kinds & 8)
        c.excluded = fixture_random(random) & fixture_random(random) & ((1u << (IDS + 1)) - 2);
    if (kinds & 16)
        c.minimum = fixture_random(random) % 60;
    if (kinds & 32)
        c.inside = 1 + fixture_random(random) % IDS;
    if (fixture_random(random) % 3 == 0)
        c.stream = 1 + fixture_random(random) % STREAMS;
    return c;
}

static void run(unsigned odd, uint32_t depth_max, bool loses)
{
    for (uint64_t seed = 1; seed <= 4; seed++) {
        uint64_t random = seed * 977 + odd;
        struct fixture *f = random_trace(odd, depth_max, loses, seed);
        /* Which spans begin in a gap and are too deep for a later block to list, is known from all blocks only. */
        f->has_clock = seed % 2 == 0 && odd != ODD_BACK && !(loses && depth_max > 64);
        /* Which spans begin in a gap and are too deep for a later block to list, is known from all blocks only. */
        f->has_clock = seed % 2 == 0 && odd != ODD_BACK && !(loses && depth_max > 64);
        struct tbed_reader *reader = fixture_open(f);
        for (int i = 0; i < 12; i++) {
            struct conditions conditions = random_conditions(&random);
            expect_filtered(reader, &conditions, loses);
        }
        tbed_reader_close(reader);
        fixture_free(f);
    }
}

static void filters_of_begins_and_ends_are_right(void **state)
{
    (void)state;
    run(ODD_NOTHING, 40, false);
}

static void filters_of_deep_spans_are_right(void **state)
{
    (void)state;
    run(ODD_NOTHING, 200, false);
}

static void filters_where_blocks_are_missing_are_right(void **state)
{
    (void)state;
    run(ODD_NOTHING, 40, true);
    run(ODD_NOTHING, 200, true);
}

static void filters_of_other_streams_are_right(void **state)
{
    (void)state;
    for (unsigned odd = ODD_WHOLE; odd < ODD_COUNT; odd++)
        run(odd, 40, odd % 2 == 0);
}

/* ---- Allocations ---- */

/* Random allocations and frees; with conditions, only the events that they take are recorded. */
static struct fixture *random_allocations(uint64_t seed, const struct conditions *c)
{
    struct fixture *f = fixture_new(4096);
    uint64_t tick = 1000, random = seed * 31 + 7;
    f->has_clock = seed % 2 == 0;
    for (int i = 0; i < 6000; i++) {
        uint32_t stream = 1 + fixture_random(&random) % STREAMS, dice = fixture_random(&random) % 100;
        uint64_t address = 4096 + 16 * (fixture_random(&random) % 400);
        uint32_t nbytes = 16 + fixture_random(&random) % 64;
        tick += fixture_random(&random) % 5;
        if (c != NULL && (!is_in_window(c, tick) || (c->stream != 0 && c->stream != stream)))
            continue;
        if (dice < 55)
            fixture_alloc(f, stream, tick, 1 + dice % 5, address, nbytes);
        else
            fixture_release(f, stream, tick, address);
    }
    return f;
}

static void expect_same_sums(const struct tbed_allocation_sums *a, const struct tbed_allocation_sums *b)
{
    assert_memory_equal(a, b, sizeof *a);
}

static void filters_of_allocations_are_right(void **state)
{
    (void)state;
    for (uint64_t seed = 1; seed <= 20; seed++) {
        struct conditions c = {.begin = 1000 + seed * 300, .end = 1000 + seed * 600, .stream = seed % 4};
        struct fixture *all = random_allocations(seed, NULL), *part = random_allocations(seed, &c);
        struct tbed_reader *reader = fixture_open(all), *expected_reader = fixture_open(part);
        struct tbed_filter *filter = filter_of(reader, &c);
        struct tbed_analysis_options options = {.size = sizeof options, .thread_count = 2};
        struct tbed_allocations *expected, *allocations;
        struct tbed_allocation_sums a, b;
        const struct tbed_allocation_site *site, *expected_site;
        assert_int_equal(tbed_allocations_make(expected_reader, &options, &expected), TBED_OK);
        options.filter = filter;
        assert_int_equal(tbed_allocations_make(reader, &options, &allocations), TBED_OK);
        tbed_allocations_totals(allocations, &a);
        tbed_allocations_totals(expected, &b);
        expect_same_sums(&a, &b);
        assert_true(a.count > 0);
        for (size_t i = 0; (expected_site = tbed_allocations_site(expected, i)) != NULL; i++) {
            site = tbed_allocations_site(allocations, i);
            assert_non_null(site);
            assert_string_equal(site->name, expected_site->name);
            expect_same_sums(&site->sums, &expected_site->sums);
        }
        tbed_allocations_close(allocations);
        tbed_allocations_close(expected);
        tbed_filter_close(filter);
        tbed_reader_close(reader);
        tbed_reader_close(expected_reader);
        fixture_free(all);
        fixture_free(part);
    }
}

static void filters_of_labels_are_refused_by_allocations(void **state)
{
    (void)state;
    struct fixture *f = random_allocations(1, NULL);
    struct tbed_reader *reader = fixture_open(f);
    struct conditions c = {.names = 6};
    struct tbed_filter *filter = filter_of(reader, &c);
    struct tbed_analysis_options options = {.size = sizeof options, .filter = filter};
    struct tbed_allocations *allocations;
    assert_int_equal(tbed_allocations_make(reader, &options, &allocations), TBED_ERR_ARGUMENT);
    tbed_filter_close(filter);
    tbed_reader_close(reader);
    fixture_free(f);
}

/* ---- Blocks ---- */

static void only_blocks_of_the_window_are_read(void **state)
{
    (void)state;
    struct fixture *f = fixture_new(4096);
    f->has_clock = true;
    for (uint32_t i = 0; i < 50000; i++) {
        fixture_begin(f, 1, 1000 + 2 * i, 1);
        fixture_end(f, 1, 1001 + 2 * i, false);
    }
    struct tbed_reader *reader = fixture_open(f);
    struct conditions c = {.begin = 50000, .end = 51000};
    struct tbed_filter *filter = filter_of(reader, &c);
    struct tbed_analysis_options options = {.size = sizeof options, .filter = filter};
    struct tbed_statistics_totals totals;
    struct tbed_statistics *statistics;
    assert_int_equal(tbed_statistics_make(reader, &options, &statistics), TBED_OK);
    tbed_statistics_totals(statistics, &totals);
    assert_int_equal(totals.span_count, 500);
    assert_in_range(totals.block_count, 2, 4);
    tbed_statistics_close(statistics);
    tbed_filter_close(filter);
    tbed_reader_close(reader);
    fixture_free(f);
}

static void bad_expressions_are_refused(void **state)
{
    (void)state;
    struct fixture *f = fixture_new(4096);
    struct tbed_reader *reader = fixture_open(f);
    const char *const names[] = {"fine", "a(b"};
    struct tbed_filter_options options = {.size = sizeof options, .names = names, .name_count = 2};
    struct tbed_filter *filter = NULL;
    char problem[TBED_FILTER_PROBLEM_NBYTES];
    assert_int_equal(tbed_filter_make(reader, &options, &filter, problem), TBED_ERR_ARGUMENT);
    assert_non_null(strstr(problem, "invalid regular expression 'a(b': "));
    assert_int_equal(tbed_filter_make(reader, &options, &filter, NULL), TBED_ERR_ARGUMENT);
    assert_null(filter);
    tbed_reader_close(reader);
    fixture_free(f);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(filters_of_begins_and_ends_are_right),
        cmocka_unit_test(filters_of_deep_spans_are_right),
        cmocka_unit_test(filters_where_blocks_are_missing_are_right),
        cmocka_unit_test(filters_of_other_streams_are_right),
        cmocka_unit_test(filters_of_allocations_are_right),
        cmocka_unit_test(filters_of_labels_are_refused_by_allocations),
        cmocka_unit_test(only_blocks_of_the_window_are_read),
        cmocka_unit_test(bad_expressions_are_refused),
    };
    return cmocka_run_group_tests_name("filter", tests, NULL, NULL);
}
