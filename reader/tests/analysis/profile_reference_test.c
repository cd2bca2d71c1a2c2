/*
 * Profiles of real traces of rustc, read in place and imported, against the output of measureme's own 'summarize
 * --json'. The traces are next to the checkout, in ../shared/traces; without them these tests are skipped.
 *
 * SPDX-License-Identifier: MIT
 */
#define _GNU_SOURCE 1
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>

#include <glob.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <tracebed/analysis.h>
#include <tracebed/exchange.h>
#include <unistd.h>

#define TEST(name) cmocka_unit_test(name)
#define TRACES     "../shared/traces"

static void skip_without_traces(void)
{
    if (access(TRACES, R_OK) != 0)
        skip();
}

/* ---- Both ways ---- */

static struct tbed_statistics *in_place(const char *path, unsigned threads)
{
    struct tbed_analysis_options options = {.size = sizeof options, .thread_count = threads};
    struct tbed_statistics *profile = NULL;
    struct tbed_error error;
    enum tbed_status status = tbed_statistics_make_foreign(path, &options, &profile, &error);
    if (status != TBED_OK)
        print_error("%s: %s\n", path, tbed_status_text(status));
    assert_int_equal(status, TBED_OK);
    return profile;
}

static struct tbed_statistics *imported(const char *path, unsigned threads)
{
    struct tbed_analysis_options options = {.size = sizeof options, .thread_count = threads};
    struct tbed_statistics *profile = NULL;
    struct tbed_reader *reader;
    assert_int_equal(tbed_import_open(path, &reader, NULL, NULL), TBED_OK);
    assert_int_equal(tbed_statistics_make(reader, &options, &profile), TBED_OK);
    tbed_reader_close(reader);
    return profile;
}

static void assert_same_totals(const struct tbed_statistics *left, const struct tbed_statistics *right)
{
    struct tbed_statistics_totals a, b;
    tbed_statistics_totals(left, &a);
    tbed_statistics_totals(right, &b);
    assert_int_equal(a.event_count, b.event_count);
    assert_int_equal(a.span_count, b.span_count);
    assert_int_equal(a.instant_count, b.instant_count);
    assert_int_equal(a.counter_count, b.counter_count);
    assert_int_equal(a.span_ticks, b.span_ticks);
    assert_int_equal(a.stream_count, b.stream_count);
    assert_int_equal(a.inverted_count, b.inverted_count);
    assert_int_equal(a.overlap_count, b.overlap_count);
    assert_int_equal(a.negative_count, b.negative_count);
    assert_int_equal(a.unnamed_count, b.unnamed_count);
    assert_int_equal(a.open_span_count, b.open_span_count);
    assert_int_equal(a.unknown_begin_count, b.unknown_begin_count);
    const char *left_unit = tbed_statistics_unit(left), *right_unit = tbed_statistics_unit(right);
    assert_int_equal(left_unit == NULL, right_unit == NULL);
    if (left_unit != NULL)
        assert_string_equal(left_unit, right_unit);
}

static void assert_same_row(const struct tbed_span_row *a, const struct tbed_span_row *b)
{
    assert_string_equal(a->name, b->name);
    assert_int_equal(a->total_ticks, b->total_ticks);
    assert_int_equal(a->self_ticks, b->self_ticks);
    assert_int_equal(a->count, b->count);
    assert_int_equal(a->open_count, b->open_count);
    assert_int_equal(a->unknown_count, b->unknown_count);
    assert_int_equal(a->invocation_count, b->invocation_count);
    assert_int_equal(a->time_ticks, b->time_ticks);
    assert_int_equal(a->min_ticks, b->min_ticks);
    assert_int_equal(a->max_ticks, b->max_ticks);
    assert_int_equal(a->p50_ticks, b->p50_ticks);
    assert_int_equal(a->p90_ticks, b->p90_ticks);
    assert_int_equal(a->p99_ticks, b->p99_ticks);
    assert_int_equal(a->p999_ticks, b->p999_ticks);
    assert_int_equal(a->cache_misses, b->cache_misses);
    assert_int_equal(a->cache_hits, b->cache_hits);
    assert_int_equal(a->blocked_ticks, b->blocked_ticks);
    assert_int_equal(a->load_ticks, b->load_ticks);
    assert_int_equal(a->hashing_ticks, b->hashing_ticks);
}

static void assert_same(const struct tbed_statistics *left, const struct tbed_statistics *right)
{
    size_t i = 0;
    assert_same_totals(left, right);
    for (; tbed_statistics_span(left, i) != NULL && tbed_statistics_span(right, i) != NULL; i++)
        assert_same_row(tbed_statistics_span(left, i), tbed_statistics_span(right, i));
    assert_true(tbed_statistics_span(left, i) == NULL && tbed_statistics_span(right, i) == NULL);
    for (i = 0; tbed_statistics_artifact(left, i) != NULL && tbed_statistics_artifact(right, i) != NULL;
         i++) {
        const struct tbed_artifact_row *a = tbed_statistics_artifact(left, i),
                                       *b = tbed_statistics_artifact(right, i);
        assert_string_equal(a->name, b->name);
        assert_int_equal(a->value, b->value);
        assert_int_equal(a->count, b->count);
    }
    assert_true(tbed_statistics_artifact(left, i) == NULL && tbed_statistics_artifact(right, i) == NULL);
}

/* ---- The reference ---- */

struct reference {
    char *text;
    const char *at;
};

static struct reference read_reference(const char *name)
{
    char path[256];
    snprintf(path, sizeof path, TRACES "/ref/%s/summarize.sorted.json", name);
    FILE *file = fopen(path, "r");
    assert_non_null(file);
    size_t room = 0;
    struct reference reference = {0};
    assert_true(getdelim(&reference.text, &room, '\0', file) > 0);
    fclose(file);
    reference.at = reference.text;
    return reference;
}

/* Goes to behind the next "key":. */
static void go_behind(struct reference *reference, const char *key)
{
    char quoted[64];
    snprintf(quoted, sizeof quoted, "\"%s\":", key);
    const char *found = strstr(reference->at, quoted);
    assert_non_null(found);
    reference->at = found + strlen(quoted);
}

static uint64_t number_of(struct reference *reference, const char *key)
{
    char *end;
    go_behind(reference, key);
    uint64_t value = strtoull(reference->at, &end, 10);
    reference->at = end;
    return value;
}

static uint64_t time_of(struct reference *reference, const char *key)
{
    go_behind(reference, key);
    uint64_t seconds = number_of(reference, "secs");
    return seconds * 1000000000 + number_of(reference, "nanos");
}

/* Labels of rustc have nothing that JSON escapes. */
static bool next_label(struct reference *reference, char label[256])
{
    static const char key[] = "\"label\": \"";
    const char *found = strstr(reference->at, key);
    if (found == NULL)
        return false;
    size_t nbytes = strcspn(found + sizeof key - 1, "\"");
    assert_in_range(nbytes, 1, 255);
    memcpy(label, found + sizeof key - 1, nbytes);
    label[nbytes] = '\0';
    reference->at = found + sizeof key - 1 + nbytes;
    return true;
}

static size_t assert_rows(struct reference *reference, const struct tbed_statistics *profile)
{
    char label[256];
    const struct tbed_span_row *row;
    size_t count = 0;
    reference->at = strstr(reference->text, "\"query_data\"");
    for (; (row = tbed_statistics_span(profile, count)) != NULL; count++) {
        assert_true(next_label(reference, label));
        assert_string_equal(row->name, label);
        assert_int_equal(row->time_ticks, time_of(reference, "time"));
        assert_int_equal(row->self_ticks, time_of(reference, "self_time"));
        assert_int_equal(row->cache_misses, number_of(reference, "number_of_cache_misses"));
        assert_int_equal(row->cache_hits, number_of(reference, "number_of_cache_hits"));
        assert_int_equal(row->invocation_count, number_of(reference, "invocation_count"));
        assert_int_equal(row->blocked_ticks, time_of(reference, "blocked_time"));
        assert_int_equal(row->load_ticks, time_of(reference, "incremental_load_time"));
        assert_int_equal(row->hashing_ticks, time_of(reference, "incremental_hashing_time"));
    }
    return count;
}

static void assert_artifacts(struct reference *reference, const struct tbed_statistics *profile)
{
    char label[256];
    reference->at = strstr(reference->text, "\"artifact_sizes\"");
    assert_non_null(reference->at);
    for (size_t i = 0; tbed_statistics_artifact(profile, i) != NULL; i++) {
        const struct tbed_artifact_row *row = tbed_statistics_artifact(profile, i);
        assert_true(next_label(reference, label));
        assert_string_equal(row->name, label);
        assert_int_equal(row->value, number_of(reference, "value"));
    }
}

static size_t count_of(const char *text, const char *what)
{
    size_t count = 0;
    for (; (text = strstr(text, what)) != NULL; text += strlen(what))
        count++;
    return count;
}

static void assert_reference(const char *name, const struct tbed_statistics *profile)
{
    struct reference reference = read_reference(name);
    struct tbed_statistics_totals totals;
    tbed_statistics_totals(profile, &totals);
    assert_int_equal(assert_rows(&reference, profile), count_of(reference.text, "\"invocation_count\""));
    assert_artifacts(&reference, profile);
    reference.at = reference.text;
    assert_int_equal(totals.span_ticks, time_of(&reference, "total_time"));
    free(reference.text);
}

/* ---- Tests ---- */

/* The trace, unpacked if need be; false: it cannot be. */
static bool find_trace(const char *name, char path[256], bool *is_temporary_ret)
{
    char command[600];
    snprintf(path, 256, TRACES "/%s.mm_profdata", name);
    *is_temporary_ret = access(path, R_OK) != 0;
    if (!*is_temporary_ret)
        return true;
    char packed[300];
    snprintf(packed, sizeof packed, "%s.zst", path);
    snprintf(path, 256, "/tmp/tracebed-%s-%d.mm_profdata", name, (int)getpid());
    snprintf(command, sizeof command, "zstd -dqf %s -o %s", packed, path);
    return system(command) == 0;
}

static void profiles_equal_those_of_summarize(void **state)
{
    static const char *const names[] = {"v8_hello", "v9_hello", "v9_hello_args", "v8_object_incr2",
                                        "v9_quick_xml_args"};
    (void)state;
    skip_without_traces();
    for (size_t i = 0; i < sizeof names / sizeof *names; i++) {
        char path[256];
        bool is_temporary;
        if (!find_trace(names[i], path, &is_temporary))
            continue;
        struct tbed_statistics *own = in_place(path, 1), *more = in_place(path, 3),
                               *trace = imported(path, 2);
        if (is_temporary)
            unlink(path);
        assert_reference(names[i], own);
        assert_same(own, more);
        assert_same(own, trace);
        tbed_statistics_close(own);
        tbed_statistics_close(more);
        tbed_statistics_close(trace);
    }
}

/* An index record that points into the middle of a string means the rest of it, which a trace cannot represent. */
static bool is_readable_one_way_only(const char *path)
{
    return strstr(path, "x_last_index_wins") != NULL || strstr(path, "z_v10") != NULL;
}

static void a_profile_and_its_import_are_the_same(void **state)
{
    static const char *const patterns[] = {TRACES "/*.mm_profdata", TRACES "/synth/*.mm_profdata",
                                           TRACES "/old/*.mm_profdata", TRACES "/old/*.events"};
    size_t count = 0;
    (void)state;
    skip_without_traces();
    for (size_t i = 0; i < sizeof patterns / sizeof *patterns; i++) {
        glob_t found = {0};
        assert_int_equal(glob(patterns[i], 0, NULL, &found), 0);
        for (size_t k = 0; k < found.gl_pathc; k++) {
            if (is_readable_one_way_only(found.gl_pathv[k]))
                continue;
            struct tbed_statistics *own = in_place(found.gl_pathv[k], 2),
                                   *trace = imported(found.gl_pathv[k], 2);
            assert_same(own, trace);
            tbed_statistics_close(own);
            tbed_statistics_close(trace);
            count++;
        }
        globfree(&found);
    }
    assert_true(count >= 30);
}

static void a_file_that_is_none_has_a_status(void **state)
{
    struct tbed_statistics *profile = NULL;
    struct tbed_error error;
    (void)state;
    assert_int_equal(tbed_statistics_make_foreign("/nowhere/at.all", NULL, &profile, &error), TBED_ERR_OPEN);
    assert_int_equal(tbed_statistics_make_foreign("README.md", NULL, &profile, &error), TBED_ERR_NOT_A_TRACE);
    assert_int_equal(error.status, TBED_ERR_NOT_A_TRACE);
    assert_null(profile);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        TEST(profiles_equal_those_of_summarize),
        TEST(a_profile_and_its_import_are_the_same),
        TEST(a_file_that_is_none_has_a_status),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
