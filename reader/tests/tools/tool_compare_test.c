/*
 * tracebed diff and aggregate: their tables and JSON for hand-made traces, their options, what they refuse, and that
 * the figures of real profiles match measureme's own tool.
 *
 * SPDX-License-Identifier: MIT
 */
#include "reader/tests/tools/tool_run.h"

#include <inttypes.h>
#include <math.h>

#define TRACES "../shared/traces/"

/* ---- Traces with times as given ---- */

struct call {
    const char *name; /* "category|label", or only a label */
    uint64_t ns;      /* how long each takes */
    unsigned count;
};

/* One call after the other. Ticks are of 'rate' a second; 0: they count steps. */
static const char *make_calls(const char *name, uint64_t rate, const struct call *calls)
{
    const char *path = in_folder(name);
    struct tbed_writer *writer = open_given_writer(path, rate);
    uint64_t now = 1000;
    struct tbed_recorder *recorder = tbed_recorder_open(writer, "main");
    for (; calls->name != NULL; calls++) {
        const char *bar = strchr(calls->name, '|'), *label = bar != NULL ? bar + 1 : calls->name;
        uint32_t category = bar != NULL ? tbed_string_intern(writer, calls->name, (size_t)(bar - calls->name))
                                        : TBED_ID_INVALID;
        for (unsigned i = 0; i < calls->count; i++) {
            struct tbed_given_event event = {.type = TBED_GIVEN_SPAN,
                                             .id = intern(writer, label),
                                             .category = category,
                                             .begin_tick = now,
                                             .tick = now + calls->ns};
            tbed_event_record_given(recorder, &event);
            now += calls->ns;
        }
    }
    tbed_writer_close(writer);
    return path;
}
#define CALLS(name, rate, ...) make_calls(name, rate, (const struct call[]){__VA_ARGS__, {NULL, 0, 0}})
#define NS                     1000000000u

static const char *make_before(void)
{
    return CALLS("before.tbed", NS, {"load", 1000, 2}, {"parse", 500, 4}, {"old", 300, 1}, {"same", 50, 1},
                 {"tie b", 100, 1}, {"tie a", 300, 1});
}

static const char *make_after(void)
{
    return CALLS("after.tbed", NS, {"load", 1000, 5}, {"parse", 400, 4}, {"fresh", 10, 1}, {"same", 50, 1},
                 {"tie b", 300, 1}, {"tie a", 100, 1});
}

/* Expects these texts in this order. */
static void expect_order(const char *text, const char *const parts[])
{
    for (; *parts != NULL; parts++) {
        const char *at = strstr(text, *parts);
        if (at == NULL)
            fail_msg("expected \"%s\" in what is left:\n%s", *parts, text);
        text = at + strlen(*parts);
    }
}
#define IN_ORDER(text, ...) expect_order(text, (const char *const[]){__VA_ARGS__, NULL})

/* ---- diff ---- */

static void rows_stand_by_change_of_self_time(void **state)
{
    const char *before = make_before(), *after = make_after();
    (void)state;
    struct run run = RUN("diff", before, after);
    assert_int_equal(run.exit, 0);
    assert_string_equal(run.err, "");
    IN_ORDER(run.out, "before ", "before.tbed: total 4.75 us, 10 spans in 1 stream\n", "after  ",
             "after.tbed: total 7.06 us, 13 spans in 1 stream\n",
             "change +2.31 us (+48.6 %), 6 of 7 labels differ\n",
             "\n       self     self %      total    total %      count  label\n",
             "   +3.00 us   +150.0 %   +3.00 us   +150.0 %         +3  load\n",
             "    -400 ns    -20.0 %    -400 ns    -20.0 %          0  parse\n",
             "    -300 ns       gone    -300 ns       gone         -1  old\n",
             "    -200 ns    -66.7 %    -200 ns    -66.7 %          0  tie a\n",
             "    +200 ns   +200.0 %    +200 ns   +200.0 %          0  tie b\n",
             "     +10 ns        new     +10 ns        new         +1  fresh\n",
             "          0      0.0 %          0      0.0 %          0  same\n");
    end_run(&run);
}

static void columns_that_say_nothing_are_left_out(void **state)
{
    const char *before = CALLS("columns.tbed", NS, {"Query|query", 10, 1}, {"other", 5, 1});
    const char *after = CALLS("columns2.tbed", NS, {"Query|query", 10, 3}, {"QueryBlocked|wait", 4, 1});
    (void)state;
    EXPECT(0, "    total %  label\n", "", "diff", before, before);
    /* 'other' is a call and no miss; without it each call is one. */
    EXPECT(0, "    total %      count     misses  label\n", "", "diff", "--exclude=wait", before, after);
    EXPECT(0, "    total %      count  label\n", "", "diff", "--exclude=wait|other", before, after);
    EXPECT(0, "    total %    blocked  label\n", "", "diff", "--exclude=query", "--exclude=other", before,
           after);
}

static void json_has_exact_figures(void **state)
{
    const char *before = make_before(), *after = make_after();
    (void)state;
    struct run run = RUN("diff", "--json", before, after);
    assert_int_equal(run.exit, 0);
    assert_int_equal(count_lines(run.out), 1);
    IN_ORDER(run.out, "{\"before\":{\"file\":\"",
             "before.tbed\",\"tick_unit\":null,\"total_ns\":4750,\"span_count\":10,",
             "\"after\":{\"file\":\"", "\"total_ns\":7060,",
             "\"total_ns_change\":2310,\"total_percent_change\":48.63157894736842,\"rows\":[",
             "{\"name\":\"load\",\"state\":\"both\",\"time_ns_change\":3000,\"time_percent_change\":150.0,"
             "\"self_ns_change\":3000,\"self_percent_change\":150.0,\"invocations_change\":3,\"cache_misses_"
             "change\":",
             ",\"cache_hits_change\":0,\"blocked_ns_change\":0,\"incremental_load_ns_change\":0,"
             "\"incremental_hashing_ns_change\":0,\"time_ns\":[2000,5000],\"self_ns\":[2000,5000],"
             "\"invocations\":[2,5]}",
             "{\"name\":\"old\",\"state\":\"gone\",\"time_ns_change\":-300,\"time_percent_change\":null,"
             "\"self_ns_change\":-300,\"self_percent_change\":null,\"invocations_change\":-1",
             "{\"name\":\"fresh\",\"state\":\"new\",\"time_ns_change\":10,\"time_percent_change\":null,",
             "\"artifacts\":[],\"left_out\":{\"rows\":0,\"artifacts\":0}}\n");
    end_run(&run);
}

static void labels_are_left_out_as_asked(void **state)
{
    const char *before = make_before(), *after = make_after();
    (void)state;
    struct run run =
        RUN("diff", "--exclude=load", "--exclude=^tie", "--exclude=..r.e", "--exclude=^sam$", before, after);
    assert_silent_on(run.out, "load");
    assert_silent_on(run.out, "tie");
    assert_silent_on(run.out, "parse");
    assert_says(run.out, "  same\n");
    assert_says(run.out, "change -290 ns (-82.9 %), 2 of 3 labels differ\n"); /* from 300 + 50 to 10 + 50 */
    end_run(&run);
    /* 5 % of 4750 is 237.5. */
    run = RUN("diff", "--percent-above=5", before, after);
    assert_says(run.out, "  old\n");
    assert_silent_on(run.out, "  tie a\n");
    end_run(&run);
    EXPECT(0, "Nothing to compare", "", "diff", "--exclude=.", before, after);
    EXPECT(0, "          5 more labels; --limit=7 shows all\n", "", "diff", "-l", "2", before, after);
    EXPECT(0, "\"left_out\":{\"rows\":4,", "", "diff", "--json", "--limit=3", before, after);
}

static void regular_expressions_match_anywhere(void **state)
{
    static const struct {
        const char *pattern;
        bool matches; /* "a[b]*é" */
    } cases[] = {{"a\\[b\\]\\*\xC3\xA9", true},
                 {".", true},
                 {"", true},
                 {"^a", true},
                 {"\xC3\xA9$", true},
                 {"\\*", true},
                 {"b|x", true},
                 {"[[:punct:]]b", true},
                 {"a[b]", false},
                 {"^b", false},
                 {"^a.*\\]$", false},
                 {"b.*b", false},
                 {"A", false},
                 {"a{2}", false},
                 {"other", false}};
    const char *before = CALLS("pattern.tbed", NS, {"a[b]*\xC3\xA9", 10, 1}, {"other", 10, 1});
    (void)state;
    for (size_t i = 0; i < sizeof cases / sizeof cases[0]; i++) {
        struct run run = RUN("diff", "--json", "--exclude", cases[i].pattern, before, before);
        assert_int_equal(run.exit, 0);
        if ((strstr(run.out, "\"name\":\"a[b]") == NULL) != cases[i].matches)
            fail_msg("%s\n%s", cases[i].pattern, run.out);
        end_run(&run);
    }
}

/* A label for which a backtracking matcher would take years. */
static void long_labels_are_matched_in_no_time(void **state)
{
    char text[3001];
    (void)state;
    memset(text, 'a', 3000);
    text[3000] = '\0';
    const char *path = CALLS("long.tbed", NS, {text, 10, 1});
    EXPECT(0, "  aaaa", "", "diff", "--exclude=a.*a.*a.*a.*a.*a.*a.*a.*b", path, path);
}

static void exit_code_tells_only_when_asked(void **state)
{
    const char *before = make_before(), *after = make_after();
    (void)state;
    EXPECT(0, NULL, "", "diff", before, after);
    EXPECT(1, NULL, "", "diff", "--exit-code", before, after);
    EXPECT(0, NULL, "", "diff", "--exit-code", before, before);
    /* 3000 of 4750 is 63 %. */
    EXPECT(1, NULL, "", "diff", "--exit-code", "--percent-above=63", before, after);
    EXPECT(0, NULL, "", "diff", "--exit-code", "--percent-above=64", before, after);
    EXPECT(0, NULL, "", "diff", "--exit-code", "--exclude=.", before, after);
}

/* The same times from clocks with other rates, and counts, which are not times. */
static void clocks_are_converted_or_refused(void **state)
{
    const char *ns = CALLS("ns.tbed", NS, {"x", 2000, 1}, {"y", 400, 1});
    const char *slow = CALLS("slow.tbed", NS / 100, {"x", 20, 1}, {"y", 6, 1});
    const char *steps = CALLS("steps.tbed", 0, {"x", 20, 1}, {"y", 5, 1});
    (void)state;
    EXPECT(0, "\"total_ns_change\":200,", "", "diff", "--json", ns, slow);
    EXPECT(0, "{\"name\":\"x\",\"state\":\"both\",\"time_ns_change\":0,", "", "diff", "--json", ns, slow);
    EXPECT(0, "\"tick_unit\":\"steps\",\"total_ticks\":25,", "", "diff", "--json", steps, steps);
    EXPECT(0, "\"self_ticks\":[20,20]", "", "diff", "--json", steps, steps);
    EXPECT(0, "total 25 steps, 2 spans in 1 stream\n", "", "diff", steps, steps);
    EXPECT(2, "", "ns.tbed counts time, and ", "diff", ns, steps);
    EXPECT(2, "", "steps.tbed counts steps: cannot compare them\n", "diff", ns, steps);
    EXPECT(2, "", "cannot compare them\n", "aggregate", ns, ns, steps);
}

static void wrong_usage_is_told(void **state)
{
    const char *path = make_before();
    (void)state;
    EXPECT(2, "", "diff: expected two FILE operands", "diff");
    EXPECT(2, "", "diff: expected two FILE operands", "diff", path);
    EXPECT(2, "", "too many FILE operands", "diff", path, path, path);
    EXPECT(2, "", "only one FILE can be standard input", "diff", "-", "-");
    EXPECT(2, "", "--percent-above takes a percentage", "diff", "--percent-above=-1", path, path);
    EXPECT(2, "", "--percent-above takes a percentage", "diff", "--percent-above=nan", path, path);
    EXPECT(2, "", "--percent-above takes a percentage", "diff", "--percent-above=1x", path, path);
    EXPECT(2, "", "--limit takes a number", "diff", "-l", "many", path, path);
    EXPECT(2, "", "--jobs takes a number", "diff", "-j", "1025", path, path);
    EXPECT(2, "", "--sort: unknown key 'x' (expected self, self_percent, ", "diff", "--sort=x", path, path);
    EXPECT(2, "", "--sort: unknown key 'self' (expected change, low, ", "diff", "--sort=self", path, path,
           "--with", path, path);
    EXPECT(2, "", "--columns: unknown column 'self' (expected p50_before, ", "diff", "--columns=self",
           "--calls", path, path);
    EXPECT(2, "", "--csv cannot be combined with --json", "diff", "--csv", "--json", path, path);
    EXPECT(2, "", "--columns applies to text and --csv", "diff", "--columns=self", "--json", path, path);
    EXPECT(2, "", "aggregate: missing FILE operands", "aggregate");
    EXPECT(2, "", "--sort: unknown key 'size' (expected variance, cv, mean, ", "aggregate", "--sort=size",
           path);
    EXPECT(2, "", "--of: unknown figure 'hit'; did you mean 'hits'? (expected self, time, count, ",
           "aggregate", "--of=hit", path);
    EXPECT(2, "", "only one FILE can be standard input", "aggregate", "-", path, "-");
    struct run run = RUN("diff", "-", "-");
    assert_int_equal(count_lines(run.err), 2);
    end_run(&run);
    EXPECT(2, "", "no-such.tbed: cannot be opened", "diff", path, in_folder("no-such.tbed"));
    EXPECT(2, "", "no-such.tbed: cannot be opened", "diff", in_folder("no-such.tbed"), path);
    EXPECT(2, "", "no-such.tbed: cannot be opened", "aggregate", path, in_folder("no-such.tbed"), path);
    EXPECT(0, "usage: tracebed diff ", "", "diff", "-h");
    EXPECT(0, "usage: tracebed aggregate ", "", "help", "aggregate");
}

static void one_of_the_files_is_standard_input(void **state)
{
    const char *before = make_before(), *after = make_after();
    (void)state;
    struct run run =
        run_with(&(struct run_with){.input = after}, (const char *const[]){"diff", before, "-", NULL});
    assert_int_equal(run.exit, 0);
    assert_says(run.out, "after  standard input: total 7.06 us");
    assert_says(run.out, "  fresh\n");
    end_run(&run);
}

static void damage_is_told_and_costs_exit_1(void **state)
{
    const char *path = CALLS("large.tbed", NS, {"load", 1000, 300}, {"parse", 500, 300});
    const char *damaged = in_folder("damaged.tbed"), *cut = in_folder("cut.tbed");
    size_t nbytes;
    char *bytes = read_whole(path, &nbytes);
    (void)state;
    write_whole(cut, bytes, nbytes - 100);
    for (size_t page = 1; page < nbytes / 4096; page++)
        if (bytes[page * 4096] == 1)
            bytes[page * 4096 + 80] ^= 1;
    write_whole(damaged, bytes, nbytes);
    free(bytes);
    EXPECT(1, "  load\n", "damaged.tbed: damaged in", "diff", path, damaged);
    EXPECT(1, "\"state\":\"both\"", "damaged.tbed: damaged in", "diff", "--json", path, damaged);
    EXPECT(1, "damaged; everything intact was read.", "damaged.tbed: damaged in", "aggregate", path, path,
           damaged);
    EXPECT(1, NULL, "cut.tbed: damaged in", "diff", cut, path);
}

/*
 * Nothing in a label reaches the terminal unescaped, or breaks JSON. By measureme's rule, labels have no ASCII
 * controls.
 */
static void hostile_labels_are_harmless(void **state)
{
    const char *before = CALLS("hostile.tbed", NS,
                               {"\xC2\x9B"
                                "31mred",
                                30, 1},
                               {"two\nlines", 20, 1}, {"\"quoted\\\"", 10, 1}, {"%s%n\xE2\x80\xAEleft", 5, 1},
                               {"label\x1E"
                                "argument",
                                3, 1},
                               {"\033[31m", 2, 1});
    const char *after = CALLS("hostile2.tbed", NS, {"x", 1, 1});
    static const char *const verbs[] = {"diff", "aggregate"};
    (void)state;
    for (size_t i = 0; i < 2; i++) {
        struct run run = RUN(verbs[i], "--color=never", "-l0", before, after);
        assert_int_equal(run.exit, 0);
        assert_says(run.out, "  \\xc2\\x9b31mred");
        assert_says(run.out, "  %s%n\\xe2\\x80\\xaeleft");
        assert_says(run.out, "  <parse error>");
        assert_says(run.out, "  label");
        assert_silent_on(run.out, "argument");
        assert_silent_on(run.out, "\033");
        end_run(&run);
        EXPECT(0, "\"name\":\"\\\"quoted\\\\\\\"\"", "", verbs[i], "--json", before, after);
        EXPECT(0, "\"name\":\"\\u009b31mred\"", "", verbs[i], "--json", before, after);
    }
}

static void nothing_to_compare_is_said(void **state)
{
    const char *empty = make_calls("empty.tbed", NS, (const struct call[]){{NULL, 0, 0}});
    (void)state;
    EXPECT(0, "Nothing to compare: neither has a span that ended.\n", "", "diff", empty, empty);
    EXPECT(0, "\"total_percent_change\":null,\"rows\":[]", "", "diff", "--json", empty, empty);
    EXPECT(0, "Nothing to compare: no run has a span that ended.\n", "", "aggregate", empty);
}

/* ---- aggregate ---- */

/* Six runs: 'steady' takes 100 to 105 each, 'wild' 200 once; 'flaky' is called twice in one, not at all in another. */
static void make_runs(char paths[6][512])
{
    static const uint64_t steady[] = {100, 101, 102, 103, 104, 105}, wild[] = {50, 51, 52, 49, 200, 50};
    static const unsigned flaky[] = {1, 1, 2, 0, 1, 1};
    for (size_t i = 0; i < 6; i++) {
        char name[16];
        snprintf(name, sizeof name, "run%zu.tbed", i + 1);
        snprintf(paths[i], sizeof paths[i], "%s",
                 CALLS(name, NS, {"steady", steady[i], 1}, {"wild", wild[i], 1}, {"flaky", 5, flaky[i]}));
    }
}

static void runs_are_put_together(void **state)
{
    char paths[6][512];
    (void)state;
    make_runs(paths);
    struct run run = RUN("aggregate", paths[0], paths[1], paths[2], paths[3], paths[4], paths[5]);
    assert_int_equal(run.exit, 0);
    assert_string_equal(run.err, "");
    IN_ORDER(run.out, "6 runs: total 183 ns +- 61.9 ns (33.9 %), from 152 ns to 309 ns\n",
             "1 of 3 labels have counts that differ between runs\n",
             "        run      total  vs median      spans   outliers  file\n",
             "          5     309 ns    +95.0 %          3          1  ", "run5.tbed  [outlier]\n",
             "       mean    std dev         cv     median        min        max  label, by self time\n",
             "    75.3 ns    61.1 ns     81.1 %    50.5 ns      49 ns     200 ns  wild  [outlier: run 5 with "
             "200 ns]\n",
             "       5 ns    3.16 ns     63.2 %       5 ns       0 ns      10 ns  flaky  [in 5 of 6 runs, "
             "count 0 to 2]\n",
             "     102 ns    1.87 ns      1.8 %     102 ns     100 ns     105 ns  steady\n");
    end_run(&run);
}

static void json_of_runs_has_all_figures(void **state)
{
    char paths[6][512];
    (void)state;
    make_runs(paths);
    struct run run =
        RUN("aggregate", "--json", "-s", "name", paths[0], paths[1], paths[2], paths[3], paths[4], paths[5]);
    assert_int_equal(run.exit, 0);
    assert_int_equal(count_lines(run.out), 1);
    IN_ORDER(
        run.out, "{\"run_count\":6,\"runs\":[{\"file\":\"",
        "run1.tbed\",\"tick_unit\":null,\"total_ns\":155,",
        "\"outlier_label_counts\":[0,0,0,0,1,0],\"total_ns\":{\"mean\":", "\"outlier_runs\":[5]}",
        "\"differing_label_count\":1,\"rows\":[{\"name\":\"flaky\",\"run_count\":5,\"counts_differ\":true,"
        "\"self_ns\":{\"mean\":5.0,\"median\":5.0,\"standard_deviation\":3.1622776601683795,\"variance\":10."
        "0,"
        "\"coefficient_of_variation\":0.6324555320336759,\"min\":0,\"max\":10,\"values\":[5,5,10,0,5,5],"
        "\"outlier_runs\":[]},\"time_ns\":",
        "\"invocations\":{\"mean\":1.0,\"median\":1.0,", "\"values\":[1,1,2,0,1,1]",
        "\"cache_misses\":", "\"cache_hits\":", "\"blocked_ns\":", "\"incremental_load_ns\":",
        "\"incremental_hashing_ns\":", "{\"name\":\"steady\",\"run_count\":6,\"counts_differ\":false,",
        "{\"name\":\"wild\",", "\"values\":[50,51,52,49,200,50],\"outlier_runs\":[5]}",
        "\"artifacts\":[],\"left_out\":{\"rows\":0}}\n");
    end_run(&run);
}

static void runs_are_sorted_as_asked(void **state)
{
    static const struct {
        const char *sort, *order[3];
    } cases[] = {{"variance", {"wild", "flaky", "steady"}}, {"cv", {"wild", "flaky", "steady"}},
                 {"mean", {"steady", "wild", "flaky"}},     {"median", {"steady", "wild", "flaky"}},
                 {"min", {"steady", "wild", "flaky"}},      {"max", {"wild", "steady", "flaky"}},
                 {"outliers", {"wild", "steady", "flaky"}}, {"runs", {"flaky", "steady", "wild"}},
                 {"name", {"flaky", "steady", "wild"}}};
    char paths[6][512];
    (void)state;
    make_runs(paths);
    for (size_t i = 0; i < sizeof cases / sizeof cases[0]; i++) {
        struct run run =
            RUN("aggregate", "-s", cases[i].sort, paths[0], paths[1], paths[2], paths[3], paths[4], paths[5]);
        const char *rows = strstr(run.out, "label, by self time");
        assert_non_null(rows);
        IN_ORDER(rows, cases[i].order[0], cases[i].order[1], cases[i].order[2]);
        end_run(&run);
    }
    struct run run = RUN("aggregate", "--of=count", "--exclude=^w", "-l", "1", paths[0], paths[2], paths[3]);
    IN_ORDER(run.out, "label, by invocations\n",
             "          1          1    100.0 %          1          0          2  flaky  [in 2 of 3 runs, "
             "count 0 to 2]\n",
             "          1 more label; --limit=2 shows all\n");
    end_run(&run);
    run = RUN("aggregate", "--percent-above=10", paths[0], paths[2]);
    assert_silent_on(run.out, "flaky");
    assert_says(run.out, "wild");
    end_run(&run);
}

static void few_runs_have_no_outliers(void **state)
{
    char paths[6][512];
    (void)state;
    make_runs(paths);
    struct run run = RUN("aggregate", paths[0], paths[1], paths[3], paths[4]);
    assert_says(run.out, "With fewer than 5 runs nothing is called an outlier.\n");
    assert_silent_on(run.out, "[outlier");
    end_run(&run);
    run = RUN("aggregate", paths[0]);
    assert_says(run.out, "1 run: total 155 ns\n");
    assert_says(run.out, "     100 ns          -          -     100 ns     100 ns     100 ns  steady\n");
    assert_silent_on(run.out, "counts");
    end_run(&run);
    EXPECT(0, "\"standard_deviation\":null,\"variance\":null,", "", "aggregate", "--json", paths[0]);
    EXPECT(0, "\"outlier_runs\":null", "", "aggregate", "--json", paths[0]);
    EXPECT(0, "All counts are the same in every run\n", "", "aggregate", paths[0], paths[1]);
}

/* ---- Real profiles ---- */

static int64_t number_after(const char *text, const char *key)
{
    const char *at = strstr(text, key);
    assert_non_null(at);
    return strtoll(at + strlen(key), NULL, 10);
}

/* {"duration":{"secs":0,"nanos":20427651},"is_positive":false} */
static int64_t duration_after(const char *text, const char *key)
{
    const char *at = strstr(text, key);
    assert_non_null(at);
    int64_t ns = number_after(at, "\"secs\":") * 1000000000 + number_after(at, "\"nanos\":");
    const char *sign = strstr(at, "\"is_positive\":");
    assert_non_null(sign);
    return strncmp(sign + 14, "true", 4) == 0 ? ns : -ns;
}

/* One of the reference's rows against ours of the same label. */
static void check_row(const char *theirs, const char *ours)
{
    static const struct {
        const char *theirs, *ours;
        bool is_time;
    } figures[] = {{"\"time\":", "\"time_ns_change\":", true},
                   {"\"self_time\":", "\"self_ns_change\":", true},
                   {"\"number_of_cache_misses\":", "\"cache_misses_change\":", false},
                   {"\"number_of_cache_hits\":", "\"cache_hits_change\":", false},
                   {"\"invocation_count\":", "\"invocations_change\":", false},
                   {"\"blocked_time\":", "\"blocked_ns_change\":", true},
                   {"\"incremental_load_time\":", "\"incremental_load_ns_change\":", true},
                   {"\"incremental_hashing_time\":", "\"incremental_hashing_ns_change\":", true}};
    for (size_t i = 0; i < sizeof figures / sizeof figures[0]; i++) {
        int64_t wanted = figures[i].is_time ? duration_after(theirs, figures[i].theirs)
                                            : number_after(theirs, figures[i].theirs);
        if (number_after(ours, figures[i].ours) != wanted)
            fail_msg("%s %" PRId64 " in %.300s", figures[i].ours, wanted, ours);
    }
    const char *percent = strstr(theirs, "\"self_time_change\":");
    const char *our_percent = strstr(ours, "\"self_percent_change\":");
    double wanted = strtod(percent + 19, NULL);
    if (strncmp(our_percent + 22, "null", 4) != 0)
        assert_true(fabs(strtod(our_percent + 22, NULL) - wanted) <= 1e-9 * fabs(wanted));
}

/* The row of a label in ours; 'label' is terminated by the quote of theirs. */
static const char *find_row(const char *ours, const char *label)
{
    char key[256];
    size_t nbytes = strcspn(label, "\"");
    assert_true(nbytes < 200);
    snprintf(key, sizeof key, "{\"name\":\"%.*s\",", (int)nbytes, label);
    const char *row = strstr(ours, key);
    if (row == NULL)
        fail_msg("no row of %s", key);
    return row;
}

static void real_profiles_differ_as_the_reference_says(void **state)
{
    const char *reference = TRACES "ref/diff/hello_helloargs.json";
    (void)state;
    if (access(reference, R_OK) != 0)
        skip();
    char *theirs = read_whole(reference, NULL);
    struct run run = RUN("diff", "--json", TRACES "v9_hello.mm_profdata", TRACES "v9_hello_args.mm_profdata");
    assert_int_equal(run.exit, 0);
    const char *row = strstr(theirs, "\"query_data\""), *at = strstr(run.out, "\"rows\":[");
    size_t count = 0;
    assert_non_null(at);
    /* The reference lists ties in any order, so only the sizes of the changes have to agree. */
    for (char *next; (next = strstr(row, "\"label\":\"")) != NULL && strstr(next, "\"self_time\"") != NULL;
         count++) {
        row = next + 9;
        at = strstr(at, "\"self_ns_change\":");
        assert_non_null(at);
        assert_int_equal(llabs(strtoll(at + 17, NULL, 10)), llabs(duration_after(row, "\"self_time\":")));
        at++;
        check_row(row, find_row(run.out, row));
    }
    assert_int_equal(count, 431);
    assert_null(strstr(at, "\"self_ns_change\":"));
    assert_int_equal(number_after(run.out, "\"total_ns_change\":"),
                     duration_after(theirs, "\"total_time\":"));
    IN_ORDER(run.out, "\"artifacts\":[{\"name\":\"codegen_unit_size_estimate\",\"bytes_change\":719,",
             "{\"name\":\"cgu_instructions\",\"bytes_change\":-455,",
             "{\"name\":\"linked_artifact\",\"bytes_change\":-10816,",
             "{\"name\":\"object_file\",\"bytes_change\":-22336,");
    end_run(&run);
    free(theirs);
}

/* From standard input it is imported, from its file read in place: all the same to the last byte. */
static void profile_from_standard_input_is_the_same(void **state)
{
    const char *path = TRACES "v9_hello.mm_profdata", *other = TRACES "v9_hello_args.mm_profdata";
    (void)state;
    if (access(path, R_OK) != 0)
        skip();
    struct run run = run_with(&(struct run_with){.input = path},
                              (const char *const[]){"diff", "--json", other, "-", NULL});
    struct run named = RUN("diff", "--json", other, path);
    assert_int_equal(run.exit, 0);
    assert_string_equal(strstr(run.out, "\"total_ns_change\""), strstr(named.out, "\"total_ns_change\""));
    end_run(&run);
    end_run(&named);
}

static void cut_profile_is_told(void **state)
{
    const char *whole = TRACES "v9_hello.mm_profdata";
    size_t nbytes;
    (void)state;
    if (access(whole, R_OK) != 0)
        skip();
    char *bytes = read_whole(whole, &nbytes);
    const char *cut = in_folder("cut.mm_profdata");
    write_whole(cut, bytes, nbytes - 1);
    EXPECT(1, "\"rows\":[{", "cut.mm_profdata: damaged in", "diff", "--json", whole, cut);
    EXPECT(1, "places are damaged; everything intact was read.", "the profile ends inside", "aggregate",
           whole, cut);
    bytes[4] = 77;
    write_whole(cut, bytes, nbytes);
    EXPECT(2, "", "unknown profile version", "diff", whole, cut);
    free(bytes);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(rows_stand_by_change_of_self_time),
        cmocka_unit_test(columns_that_say_nothing_are_left_out),
        cmocka_unit_test(json_has_exact_figures),
        cmocka_unit_test(labels_are_left_out_as_asked),
        cmocka_unit_test(regular_expressions_match_anywhere),
        cmocka_unit_test(long_labels_are_matched_in_no_time),
        cmocka_unit_test(exit_code_tells_only_when_asked),
        cmocka_unit_test(clocks_are_converted_or_refused),
        cmocka_unit_test(wrong_usage_is_told),
        cmocka_unit_test(one_of_the_files_is_standard_input),
        cmocka_unit_test(damage_is_told_and_costs_exit_1),
        cmocka_unit_test(hostile_labels_are_harmless),
        cmocka_unit_test(nothing_to_compare_is_said),
        cmocka_unit_test(runs_are_put_together),
        cmocka_unit_test(json_of_runs_has_all_figures),
        cmocka_unit_test(runs_are_sorted_as_asked),
        cmocka_unit_test(few_runs_have_no_outliers),
        cmocka_unit_test(real_profiles_differ_as_the_reference_says),
        cmocka_unit_test(profile_from_standard_input_is_the_same),
        cmocka_unit_test(cut_profile_is_told),
    };
    return cmocka_run_group_tests(tests, make_folder, remove_folder);
}
