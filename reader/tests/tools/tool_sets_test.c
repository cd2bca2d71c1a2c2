/*
 * tracebed diff --with and --calls: two sets of runs, and the calls of two runs, made by hand, as text and JSON; their
 * options, and what they refuse.
 *
 * How often they mark the wrong thing is the matter of differences_test and call_differences_test.
 *
 * SPDX-License-Identifier: MIT
 */
#include "reader/tests/tools/tool_run.h"

#define LABELS 6

/* A run in which label i takes a time of its own, by some ns more than in other runs. 'special': how long "e" takes. */
static const char *make_run(const char *name, uint64_t rate, unsigned number, uint64_t special,
                            unsigned slower)
{
    static const char *const labels[LABELS] = {"a", "b", "c", "d", "e", "outer"};
    const char *path = in_folder(name);
    struct tbed_writer *writer = open_given_writer(path, rate);
    uint64_t now = 1000, begin = now;
    struct tbed_recorder *recorder = tbed_recorder_open(writer, "main");
    for (unsigned i = 0; i < LABELS; i++) {
        uint64_t ticks = i == 4 ? special : 100000 * (i + 1);
        if (ticks > 0) /* noise */
            ticks = (ticks + number * (2 * i + 3) % 7 * 40) * (100 + slower) / 100;
        struct tbed_given_event event = {.type = TBED_GIVEN_SPAN,
                                         .id = intern(writer, labels[i]),
                                         .category = TBED_ID_INVALID,
                                         .begin_tick = i == 5 ? begin : now,
                                         .tick = now + ticks};
        if (ticks > 0)
            tbed_event_record_given(recorder, &event);
        now += ticks;
    }
    tbed_writer_close(writer);
    return path;
}

#define NS 1000000000u

/* Four runs of each: 'e' takes 'before' and 'after'; all runs of AFTER are slower by 'slower' percent. */
static void make_sets(uint64_t rate, uint64_t before, uint64_t after, unsigned slower)
{
    char name[16];
    for (unsigned i = 0; i < 8; i++) {
        snprintf(name, sizeof name, "%c%u.tbed", i < 4 ? 'b' : 'a', i % 4);
        make_run(name, rate, i, i < 4 ? before : after, i < 4 ? 0 : slower);
    }
}

/* Runs diff on the sets, with an option or two. */
static struct run diff_sets(const char *option, const char *other)
{
    static char paths[8][64];
    const char *words[16] = {"diff"};
    size_t count = 1;
    for (unsigned i = 0; i < 8; i++) {
        snprintf(paths[i], sizeof paths[i], "%s/%c%u.tbed", run_folder, i < 4 ? 'b' : 'a', i % 4);
        if (i == 4)
            words[count++] = "--with";
        words[count++] = paths[i];
    }
    if (option != NULL)
        words[count++] = option;
    if (other != NULL)
        words[count++] = other;
    return run_with(&(struct run_with){0}, words);
}

static void expect_diff(const char *option, const char *other, int exit, const char *says)
{
    struct run run = diff_sets(option, other);
    if (run.exit != exit)
        fail_msg("exit %d\n%s\n%s", run.exit, run.out, run.err);
    assert_says(run.out, says);
    assert_string_equal(run.err, "");
    end_run(&run);
}

static void function_that_is_slower_is_marked(void **state)
{
    (void)state;
    make_sets(NS, 500000, 525000, 0);
    struct run run = diff_sets(NULL, NULL);
    assert_int_equal(run.exit, 0);
    assert_string_equal(run.err, "");
    assert_says(run.out, "before 4 runs: total 2.1");
    assert_says(run.out, "after  4 runs: total 2.1");
    assert_says(run.out, "all labels together: 0.0 % (");
    assert_says(run.out, "which is not significant; it is taken out of the rows\n");
    assert_says(run.out, "1 of 6 labels marked with '*': at least 2 % change, p at most 0.01 for 6 tests\n");
    assert_says(run.out, "     before      after   change %       from         to deviations          p  "
                         "label, by self time\n");
    assert_says(run.out, "     500 us     525 us     +5.0 %     +5.0 %     +5.0 %");
    assert_says(run.out, " *e\n");
    assert_silent_on(run.out, " *outer");
    end_run(&run);
}

static void json_has_the_figures_of_all_runs(void **state)
{
    (void)state;
    make_sets(NS, 500000, 525000, 0);
    struct run run = diff_sets("--json", "--limit=1");
    assert_int_equal(run.exit, 0);
    assert_int_equal(count_lines(run.out), 1);
    assert_says(run.out, "{\"before\":{\"run_count\":4,\"total_ns_mean\":2");
    assert_says(run.out, "\"shift_percents\":[");
    assert_says(run.out, "b0.tbed\",\"tick_unit\":null,\"total_ns\":2");
    assert_says(run.out, "\"alpha\":0.01,\"threshold_percent\":2.0,\"test_count\":6,\"marked_count\":1,"
                         "\"common\":{\"marked\":false,\"percent_change\":");
    assert_says(run.out,
                "\"rows\":[{\"name\":\"e\",\"state\":\"both\",\"marked\":true,\"self_percent_change\":4.9");
    assert_says(run.out, "\"self_percent_interval\":[4.");
    assert_says(run.out, "\"run_counts\":[4,4],\"self_ns_mean\":[500100.0,");
    assert_says(run.out, "\"self_ns\":[[500000,500160,500040,500");
    assert_says(run.out, "\"left_out\":{\"rows\":5}}\n");
    end_run(&run);
}

static void slower_machine_is_told_apart(void **state)
{
    (void)state;
    make_sets(NS, 500000, 500000, 30);
    expect_diff(NULL, NULL, 0, "all labels together: +30.0 % (+");
    expect_diff(NULL, NULL, 0, "which is significant; it is taken out of the rows\n0 of 6 labels marked");
    expect_diff("--keep-shift", NULL, 0, "6 of 6 labels marked");
    expect_diff("--exit-code", NULL, 1, "0 of 6 labels marked");
}

static void options_decide_what_is_marked(void **state)
{
    (void)state;
    make_sets(NS, 500000, 507000, 0);
    expect_diff(NULL, NULL, 0, "0 of 6 labels marked with '*': at least 2 % change, ");
    expect_diff("--threshold=1", "--exit-code", 1, "1 of 6 labels marked with '*': at least 1 % change, ");
    expect_diff("--threshold=1", "--alpha=0.00000000001", 0, "0 of 6 labels marked");
    expect_diff("--threshold=1", "--name=^[de]$", 0, "1 of 2 labels marked");
    expect_diff("--threshold=1", "--percent-above=0.2", 0, "1 of 1 label marked");
    expect_diff("--percent-above=50", NULL, 0, "--percent-above leaves none of 6 labels.\n");
    expect_diff("--exit-code", NULL, 0, "0 of 6 labels marked");
    expect_diff("--limit=2", NULL, 0, "4 more labels; --limit=6 shows all\n");
}

static void new_and_gone_labels_are_marked(void **state)
{
    (void)state;
    make_sets(NS, 0, 500000, 0);
    expect_diff(NULL, NULL, 0, "        new        new        new");
    expect_diff("--json", NULL, 0, "\"state\":\"new\",\"marked\":true,\"self_percent_change\":null,");
    make_sets(NS, 500000, 0, 0);
    expect_diff(NULL, NULL, 0, "       gone       gone       gone");
    expect_diff("--json", NULL, 0, "\"state\":\"gone\",\"marked\":true,\"self_percent_change\":-100.0,");
}

static void other_figures_can_be_compared(void **state)
{
    (void)state;
    make_sets(NS, 500000, 550000, 0);
    expect_diff("--of=time", NULL, 0, "2 of 6 labels marked" /* and what it is nested in */);
    expect_diff("--of=time", NULL, 0, "label, by total time\n");
    expect_diff("--of=count", NULL, 0, "0 of 6 labels marked");
    expect_diff("--of=p50", NULL, 0, "2 of 6 labels marked");
    expect_diff("--of=p50", "--json", 0, "\"marked\":true,\"p50_percent_change\":");
    expect_diff("--of=p50", "--json", 0, ",\"p50_ns_mean\":[50");
    expect_diff("--of=count", "--json", 0,
                ",\"invocations_mean\":[1.0,1.0],\"invocations\":[[1,1,1,1],[1,1,1,1]]}");
}

static void clocks_that_count_are_compared_too(void **state)
{
    (void)state;
    make_sets(0, 500000, 525000, 0);
    expect_diff(NULL, NULL, 0, ", in steps\n");
    expect_diff(NULL, NULL, 0, "    500,100    525,");
    expect_diff("--json", NULL, 0, "\"self_ticks_mean\":[500100.0,");
}

static void number_of_threads_changes_nothing(void **state)
{
    (void)state;
    make_sets(NS, 500000, 525000, 3);
    struct run one = diff_sets("--json", "-j1"), two = diff_sets("--json", "-j2");
    assert_string_equal(one.out, two.out);
    end_run(&one);
    end_run(&two);
    one = diff_sets("-j1", NULL);
    two = diff_sets("-j2", NULL);
    assert_string_equal(one.out, two.out);
    end_run(&one);
    end_run(&two);
}

/* ---- Single calls ---- */

/* Of each of six labels 40 calls; those of "e" take longer by 'percent', those of all by 'slower' percent. */
static const char *make_calls(const char *name, unsigned percent, unsigned slower)
{
    static const char *const labels[LABELS] = {"a", "b", "c", "d", "e", "f"};
    const char *path = in_folder(name);
    struct tbed_writer *writer = open_given_writer(path, NS);
    uint64_t now = 1000;
    struct tbed_recorder *recorder = tbed_recorder_open(writer, "main");
    for (unsigned i = 0; i < 40 * LABELS; i++) {
        uint64_t ticks = 1000000 + i * 7919 % 101 * 1000;
        ticks = ticks * (100 + slower) / 100 * (i % LABELS == 4 ? 100 + percent : 100) / 100;
        struct tbed_given_event event = {.type = TBED_GIVEN_SPAN,
                                         .id = intern(writer, labels[i % LABELS]),
                                         .category = TBED_ID_INVALID,
                                         .begin_tick = now,
                                         .tick = now + ticks};
        tbed_event_record_given(recorder, &event);
        now += ticks;
    }
    tbed_writer_close(writer);
    return path;
}

static void longer_calls_are_marked(void **state)
{
    const char *before = make_calls("calls.tbed", 0, 0), *after = make_calls("calls2.tbed", 10, 20);
    (void)state;
    struct run run = RUN("diff", "--calls", before, after);
    assert_int_equal(run.exit, 0);
    assert_string_equal(run.err, "");
    assert_says(run.out, "calls.tbed: 240 calls\n");
    assert_says(run.out, "all labels together: +20.");
    assert_says(run.out, "1 of 6 labels marked with '*': at least 5 % change, p at most 0.01 for 6 tests\n");
    assert_says(run.out,
                " p50 before  p50 after    calls %      p90 %      p99 %     effect          p  label, "
                "by change of time\n    1.06 ms    1.38 ms    +10.");
    assert_says(run.out, " *e\n");
    end_run(&run);
    EXPECT(1, "1 of 6 labels marked", "", "diff", "--calls", "--exit-code", before, after);
    EXPECT(0, "0 of 6 labels marked", "", "diff", "--calls", "--exit-code", before, before);
    EXPECT(0, "0 of 6 labels marked", "", "diff", "--calls", "--threshold=20", before, after);
    EXPECT(0, "0 of 6 labels marked", "", "diff", "--calls", "--alpha=1e-20", before, after);
    EXPECT(0, "6 of 6 labels marked", "", "diff", "--calls", "--keep-shift", before, after);
    EXPECT(0, "2 of 2 labels marked", "", "diff", "--calls", "--name=^[de]$", before, after);
    EXPECT(0, "5 more labels; --limit=6 shows all", "", "diff", "--calls", "-l1", before, after);
    EXPECT(0, "--percent-above leaves none of 6 labels.\n", "", "diff", "--calls", "--percent-above=90",
           before, after);
}

static void calls_have_json(void **state)
{
    const char *before = make_calls("calls.tbed", 0, 0), *after = make_calls("calls2.tbed", 10, 0);
    (void)state;
    struct run one = RUN("diff", "--calls", "--json", "-j1", before, after);
    struct run two = RUN("diff", "--calls", "--json", "-j2", before, after);
    assert_int_equal(one.exit, 0);
    assert_string_equal(one.out, two.out);
    assert_says(one.out, "\"alpha\":0.01,\"threshold_percent\":5.0,\"test_count\":6,\"marked_count\":1,");
    assert_says(one.out, "\"rows\":[{\"name\":\"e\",\"state\":\"both\",\"marked\":true,\"percent_change\":");
    assert_says(one.out, ",\"count\":[40,40],\"p50_ns\":[10");
    assert_says(one.out, "\"left_out\":{\"rows\":0}}\n");
    end_run(&one);
    end_run(&two);
    EXPECT(0, "        new          -          -          -          -  a\n", "", "diff", "--calls",
           make_small("small.tbed", false), after);
    EXPECT(0, "\"state\":\"gone\",\"marked\":false,\"percent_change\":null,", "", "diff", "--calls", "--json",
           make_small("small.tbed", false), after);
}

static void wrong_usage_is_refused(void **state)
{
    const char *path = make_run("x.tbed", NS, 0, 500000, 0);
    (void)state;
    EXPECT(2, "", "--with requires two or more FILE operands on each side", "diff", path, path, "--with",
           path);
    EXPECT(2, "", "--with requires two or more FILE operands on each side", "diff", path, "--with", path,
           path);
    EXPECT(2, "", "--with can be given only once", "diff", path, "--with", path, "--with");
    EXPECT(2, "", "--threshold, --alpha and --keep-shift require --with or --calls", "diff", "--threshold=1",
           path, path);
    EXPECT(2, "", "--threshold, --alpha and --keep-shift require --with or --calls", "diff", "--keep-shift",
           path, path);
    EXPECT(2, "", "--threshold takes a percentage", "diff", "--threshold=x", path);
    EXPECT(2, "", "--alpha takes a percentage between 0 and 100", "diff", "--alpha=0", path);
    EXPECT(2, "", "--alpha takes a percentage between 0 and 100", "diff", "--alpha=100", path);
    EXPECT(2, "", "--of requires --with", "diff", "--of=self", path, path);
    EXPECT(2, "", "--of: unknown figure 'selff'; did you mean 'self'?", "diff", "--of=selff", path, path);
    EXPECT(2, "", "--percent-above applies to --of=self and time", "diff", "--percent-above=1", "--of=p50",
           path, path, "--with", path, path);
    EXPECT(2, "", "--calls cannot be combined with --with", "diff", "--calls", path, path, "--with", path,
           path);
    EXPECT(2, "", "only one FILE can be standard input", "diff", "-", path, "--with", "-", path);
    EXPECT(2, "", "put --with between the runs to be compared", "diff", path, path, path);
    EXPECT(0, "0 of 6 labels marked", "", "diff", path, path, "--with", "--", path, path);
}

static void set_without_spans_is_empty(void **state)
{
    const char *path = in_folder("none.tbed");
    (void)state;
    tbed_writer_close(open_writer(path, false));
    EXPECT(0, "Nothing to compare: no run has a span that ended.\n", "", "diff", path, path, "--with", path,
           path);
    EXPECT(0, "Nothing to compare: neither has a span that ended.\n", "", "diff", "--calls", path, path);
    EXPECT(0, "\"common\":null,\"rows\":[],", "", "diff", "--json", path, path, "--with", path, path);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(function_that_is_slower_is_marked),
        cmocka_unit_test(json_has_the_figures_of_all_runs),
        cmocka_unit_test(slower_machine_is_told_apart),
        cmocka_unit_test(options_decide_what_is_marked),
        cmocka_unit_test(new_and_gone_labels_are_marked),
        cmocka_unit_test(other_figures_can_be_compared),
        cmocka_unit_test(clocks_that_count_are_compared_too),
        cmocka_unit_test(number_of_threads_changes_nothing),
        cmocka_unit_test(longer_calls_are_marked),
        cmocka_unit_test(calls_have_json),
        cmocka_unit_test(wrong_usage_is_refused),
        cmocka_unit_test(set_without_spans_is_empty),
    };
    return cmocka_run_group_tests(tests, make_folder, remove_folder);
}
