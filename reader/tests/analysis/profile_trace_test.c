/*
 * Profiles of traces: begins and ends count like whole spans wherever blocks begin, hits follow streams and ticks,
 * and spans that never began or never ended are reported.
 *
 * SPDX-License-Identifier: MIT
 */
#define _GNU_SOURCE 1
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>

#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <tracebed/analysis.h>
#include <tracebed/writer.h>
#include <unistd.h>

#define TEST(name)  cmocka_unit_test(name)
#define LABEL_COUNT 6u
#define STREAM_MAX  3u

/* ---- Traces ---- */

struct trace {
    char path[64];
    struct tbed_writer *writer;
    struct tbed_recorder *recorders[STREAM_MAX];
    uint32_t kinds[8], labels[LABEL_COUNT];
    uint64_t random;
    unsigned calls_left;
};

enum { QUERY, GENERIC, BLOCKED, LOAD, HASHING, HIT, HIT_COUNT, ARTIFACT };

static uint32_t next_random(struct trace *trace, uint32_t below)
{
    trace->random = trace->random * 6364136223846793005u + 1442695040888963407u;
    return (uint32_t)(trace->random >> 33) % below;
}

static void begin_trace(struct trace *trace)
{
    static const char *const kinds[] = {"Query",
                                        "GenericActivity",
                                        "QueryBlocked",
                                        "IncrementalLoadResult",
                                        "IncrementalResultHashing",
                                        "QueryCacheHit",
                                        "QueryCacheHitCount",
                                        "ArtifactSize"};
    struct tbed_writer_options options = {.size = sizeof options,
                                          .page_nbytes = 4096,
                                          .given_ticks = true,
                                          .given_ticks_per_second = 1000000000};
    *trace = (struct trace){.random = 1};
    strcpy(trace->path, "/tmp/tracebed-profile-XXXXXX");
    int fd = mkstemp(trace->path);
    assert_true(fd >= 0);
    close(fd);
    options.overwrite = true;
    assert_int_equal(tbed_writer_open(trace->path, &options, &trace->writer, NULL), TBED_OK);
    for (uint32_t i = 0; i < STREAM_MAX; i++)
        trace->recorders[i] = tbed_recorder_open_given(trace->writer, NULL, i + 1);
    for (uint32_t i = 0; i < 8; i++)
        trace->kinds[i] = tbed_string_intern(trace->writer, kinds[i], strlen(kinds[i]));
    for (uint32_t i = 0; i < LABEL_COUNT; i++) {
        char text[16];
        int nbytes = snprintf(text, sizeof text, i % 2 ? "%c" : "%c\x1E%u", 'a' + (int)i, i);
        trace->labels[i] = tbed_string_intern(trace->writer, text, (size_t)nbytes);
    }
}

static struct tbed_statistics *end_trace(struct trace *trace, unsigned threads)
{
    struct tbed_analysis_options options = {.size = sizeof options, .thread_count = threads};
    struct tbed_statistics *profile = NULL;
    struct tbed_reader *reader;
    if (trace->writer != NULL)
        tbed_writer_close(trace->writer);
    trace->writer = NULL;
    assert_int_equal(tbed_reader_open(trace->path, NULL, &reader, NULL), TBED_OK);
    assert_int_equal(tbed_statistics_make(reader, &options, &profile), TBED_OK);
    assert_int_equal(tbed_damage_count(reader), 0);
    tbed_reader_close(reader);
    return profile;
}

static void give(struct trace *trace, uint32_t stream, enum tbed_given_type type, uint32_t kind,
                 uint32_t label, uint64_t begin_tick, uint64_t tick)
{
    struct tbed_given_event event = {.type = type,
                                     .id = trace->labels[label],
                                     .category = trace->kinds[kind],
                                     .tick = tick,
                                     .begin_tick = begin_tick};
    tbed_event_record_given(trace->recorders[stream], &event);
}

static void give_count(struct trace *trace, uint32_t stream, uint32_t kind, uint32_t label, int64_t value,
                       uint64_t tick)
{
    struct tbed_argument argument = {
        .type = TBED_ARG_I64, .name_id = TBED_ID_INVALID, .nbytes = 8, .value.i64 = value};
    struct tbed_given_event event = {.type = TBED_GIVEN_COUNTER,
                                     .id = trace->labels[label],
                                     .category = trace->kinds[kind],
                                     .tick = tick,
                                     .arguments = &argument,
                                     .argument_count = 1};
    tbed_event_record_given(trace->recorders[stream], &event);
}

static const struct tbed_span_row *row_of(const struct tbed_statistics *profile, const char *label)
{
    const struct tbed_span_row *row;
    for (size_t i = 0; (row = tbed_statistics_span(profile, i)) != NULL; i++)
        if (strcmp(row->name, label) == 0)
            return row;
    fail_msg("there is no row %s", label);
    return NULL;
}

static struct tbed_statistics_totals totals_of(const struct tbed_statistics *profile)
{
    struct tbed_statistics_totals totals;
    tbed_statistics_totals(profile, &totals);
    return totals;
}

/* ---- Begins and ends ---- */

/* The same calls, as begins and ends or as whole spans. */
static uint64_t give_call(struct trace *trace, bool whole, uint64_t tick, unsigned depth)
{
    uint32_t kind = next_random(trace, HIT), label = next_random(trace, LABEL_COUNT);
    uint64_t begin = tick;
    trace->calls_left -= trace->calls_left > 0;
    if (!whole)
        give(trace, 0, TBED_GIVEN_BEGIN, kind, label, 0, begin);
    /* Deep: more than the 64 spans that a block of this size stores. */
    while (depth < 150 && trace->calls_left > 0 && next_random(trace, 100) < 70)
        tick = give_call(trace, whole, tick + 1 + next_random(trace, 9), depth + 1);
    tick += 1 + next_random(trace, 50);
    give(trace, 0, whole ? TBED_GIVEN_SPAN : TBED_GIVEN_END, kind, label, begin, tick);
    return tick;
}

static struct tbed_statistics *profile_of_calls(bool whole, uint64_t seed, unsigned threads)
{
    struct trace trace;
    begin_trace(&trace);
    trace.random = seed;
    uint64_t tick = 100;
    trace.calls_left = 20000;
    while (trace.calls_left > 0)
        tick = give_call(&trace, whole, tick + 1, 0);
    struct tbed_statistics *profile = end_trace(&trace, threads);
    unlink(trace.path);
    return profile;
}

static void assert_same_rows(const struct tbed_statistics *left, const struct tbed_statistics *right)
{
    for (size_t i = 0; i < LABEL_COUNT; i++) {
        const struct tbed_span_row *a = tbed_statistics_span(left, i), *b = tbed_statistics_span(right, i);
        assert_true(a != NULL && b != NULL);
        assert_string_equal(a->name, b->name);
        assert_int_equal(a->total_ticks, b->total_ticks);
        assert_int_equal(a->self_ticks, b->self_ticks);
        assert_int_equal(a->count, b->count);
        assert_int_equal(a->cache_misses, b->cache_misses);
        assert_int_equal(a->blocked_ticks, b->blocked_ticks);
        assert_int_equal(a->load_ticks, b->load_ticks);
        assert_int_equal(a->hashing_ticks, b->hashing_ticks);
    }
    assert_null(tbed_statistics_span(left, LABEL_COUNT));
    assert_null(tbed_statistics_span(right, LABEL_COUNT));
}

static void begins_and_ends_count_like_whole_spans(void **state)
{
    (void)state;
    for (uint64_t seed = 1; seed <= 4; seed++) {
        struct tbed_statistics *whole = profile_of_calls(true, seed, 1);
        struct tbed_statistics *pairs = profile_of_calls(false, seed, (unsigned)seed);
        assert_same_rows(whole, pairs);
        assert_int_equal(totals_of(whole).span_count, totals_of(pairs).span_count);
        assert_int_equal(totals_of(whole).span_ticks, totals_of(pairs).span_ticks);
        assert_int_equal(totals_of(pairs).overlap_count, 0);
        assert_int_equal(totals_of(pairs).open_span_count, 0);
        assert_int_equal(totals_of(pairs).unknown_begin_count, 0);
        tbed_statistics_close(whole);
        tbed_statistics_close(pairs);
    }
}

static void spans_that_never_end_last_until_the_last_tick(void **state)
{
    struct trace trace;
    (void)state;
    begin_trace(&trace);
    give(&trace, 0, TBED_GIVEN_BEGIN, QUERY, 0, 0, 10);
    give(&trace, 0, TBED_GIVEN_BEGIN, QUERY, 1, 0, 20);
    give(&trace, 0, TBED_GIVEN_BEGIN, QUERY, 2, 0, 30);
    give(&trace, 0, TBED_GIVEN_END, QUERY, 2, 0, 45);
    struct tbed_statistics *profile = end_trace(&trace, 1);
    assert_int_equal(totals_of(profile).open_span_count, 2);
    assert_int_equal(totals_of(profile).span_count, 3);
    assert_int_equal(totals_of(profile).span_ticks, 35);
    assert_int_equal(row_of(profile, "a")->self_ticks, 10);
    assert_int_equal(row_of(profile, "b")->total_ticks, 25);
    assert_int_equal(row_of(profile, "b")->self_ticks, 10);
    assert_int_equal(row_of(profile, "b")->open_count, 1);
    assert_int_equal(row_of(profile, "c")->self_ticks, 15);
    tbed_statistics_close(profile);
    unlink(trace.path);
}

/* ---- Whole spans ---- */

static void overlapping_spans_are_siblings_and_told(void **state)
{
    struct trace trace;
    (void)state;
    begin_trace(&trace);
    give(&trace, 0, TBED_GIVEN_SPAN, QUERY, 0, 10, 30);
    give(&trace, 0, TBED_GIVEN_SPAN, QUERY, 1, 20, 40);
    give(&trace, 0, TBED_GIVEN_SPAN, QUERY, 2, 0, 50);
    give(&trace, 0, TBED_GIVEN_SPAN, QUERY, 3, 70, 60); /* inverted */
    struct tbed_statistics *profile = end_trace(&trace, 1);
    assert_int_equal(totals_of(profile).overlap_count, 1);
    assert_int_equal(totals_of(profile).inverted_count, 1);
    assert_int_equal(row_of(profile, "a")->self_ticks, 20);
    assert_int_equal(row_of(profile, "b")->self_ticks, 20);
    assert_int_equal(row_of(profile, "c")->self_ticks, 10);
    assert_int_equal(row_of(profile, "d")->total_ticks, 0);
    assert_int_equal(row_of(profile, "d")->count, 1);
    assert_int_equal(totals_of(profile).negative_count, 0);
    tbed_statistics_close(profile);
    unlink(trace.path);
}

/*
 * A span is placed by its end, so it is not inside one that begins after that end, although its own begin lies
 * inside.
 */
static void an_inverted_span_is_a_moment(void **state)
{
    struct trace trace;
    (void)state;
    begin_trace(&trace);
    give(&trace, 0, TBED_GIVEN_SPAN, QUERY, 2, 26, 39); /* in 'b', but 'b' is off the stack when it comes */
    give(&trace, 0, TBED_GIVEN_SPAN, QUERY, 3, 30, 5);
    give(&trace, 0, TBED_GIVEN_SPAN, QUERY, 1, 25, 40);
    give(&trace, 0, TBED_GIVEN_SPAN, QUERY, 0, 4, 50);
    struct tbed_statistics *profile = end_trace(&trace, 1);
    assert_int_equal(totals_of(profile).inverted_count, 1);
    assert_int_equal(row_of(profile, "a")->self_ticks, 46 - 15 - 13);
    assert_int_equal(row_of(profile, "b")->self_ticks, 15);
    assert_int_equal(row_of(profile, "d")->total_ticks, 0);
    tbed_statistics_close(profile);
    unlink(trace.path);
}

static void self_time_below_zero_is_shown_as_zero(void **state)
{
    struct trace trace;
    (void)state;
    begin_trace(&trace);
    give(&trace, 0, TBED_GIVEN_SPAN, QUERY, 0, 0, 8);
    give(&trace, 0, TBED_GIVEN_SPAN, QUERY, 0, 2, 10);
    give(&trace, 0, TBED_GIVEN_SPAN, LOAD, 1, 0, 10);
    struct tbed_statistics *profile = end_trace(&trace, 1);
    assert_int_equal(row_of(profile, "b")->self_ticks, 0);
    assert_int_equal(row_of(profile, "b")->load_ticks, 0);
    assert_int_equal(row_of(profile, "b")->total_ticks, 10);
    assert_int_equal(totals_of(profile).negative_count, 1);
    tbed_statistics_close(profile);
    unlink(trace.path);
}

/* ---- Hits ---- */

static void hits_count_unless_a_number_of_them_follows(void **state)
{
    struct trace trace;
    (void)state;
    begin_trace(&trace);
    /* 'a', one stream: ticks that go back do not change what follows what. */
    give(&trace, 0, TBED_GIVEN_INSTANT, HIT, 0, 0, 100);
    give_count(&trace, 0, HIT_COUNT, 0, 7, 50);
    give(&trace, 0, TBED_GIVEN_INSTANT, HIT, 0, 0, 10);
    /* 'b', two streams: by tick. */
    give_count(&trace, 1, HIT_COUNT, 1, 20, 1000);
    give(&trace, 2, TBED_GIVEN_INSTANT, HIT, 1, 0, 999);
    give(&trace, 2, TBED_GIVEN_INSTANT, HIT, 1, 0, 1000);
    give(&trace, 2, TBED_GIVEN_INSTANT, HIT, 1, 0, 1001);
    give(&trace, 0, TBED_GIVEN_INSTANT, HIT, 1, 0, 1000);
    give(&trace, 0, TBED_GIVEN_INSTANT, HIT, 1, 0, 1000);
    /* 'c' and 'd': one kind alone. */
    give(&trace, 2, TBED_GIVEN_INSTANT, HIT, 2, 0, 1);
    give_count(&trace, 2, HIT_COUNT, 3, -5, 1);
    give_count(&trace, 2, HIT_COUNT, 3, 5, 1);
    for (unsigned threads = 1; threads <= 3; threads++) {
        struct tbed_statistics *profile = end_trace(&trace, threads);
        assert_int_equal(row_of(profile, "a")->cache_hits, 8);
        assert_int_equal(row_of(profile, "b")->cache_hits, 22);
        assert_int_equal(row_of(profile, "c")->cache_hits, 1);
        assert_int_equal(row_of(profile, "d")->cache_hits, 5);
        assert_int_equal(totals_of(profile).counter_count, 4);
        assert_int_equal(totals_of(profile).instant_count, 8);
        tbed_statistics_close(profile);
    }
    unlink(trace.path);
}

static void artifacts_are_summed_up_by_label(void **state)
{
    struct trace trace;
    (void)state;
    begin_trace(&trace);
    give_count(&trace, 0, ARTIFACT, 0, 100, 1);
    give_count(&trace, 1, ARTIFACT, 0, 11, 1);
    give_count(&trace, 1, QUERY, 1, 5, 1);
    struct tbed_statistics *profile = end_trace(&trace, 2);
    assert_string_equal(tbed_statistics_artifact(profile, 0)->name, "a");
    assert_int_equal(tbed_statistics_artifact(profile, 0)->value, 111);
    assert_int_equal(tbed_statistics_artifact(profile, 0)->count, 2);
    assert_null(tbed_statistics_artifact(profile, 1));
    assert_null(tbed_statistics_span(profile, 0));
    tbed_statistics_close(profile);
    unlink(trace.path);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        TEST(begins_and_ends_count_like_whole_spans),  TEST(spans_that_never_end_last_until_the_last_tick),
        TEST(overlapping_spans_are_siblings_and_told), TEST(an_inverted_span_is_a_moment),
        TEST(self_time_below_zero_is_shown_as_zero),   TEST(hits_count_unless_a_number_of_them_follows),
        TEST(artifacts_are_summed_up_by_label),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
