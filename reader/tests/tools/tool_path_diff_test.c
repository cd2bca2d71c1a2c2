/*
 * tracebed tree --diff and flame --diff: what changed by path, as text, JSON, drawing and folded stacks, for hand-made
 * traces.
 *
 * SPDX-License-Identifier: MIT
 */
#include "reader/tests/tools/tool_run.h"

#define NS 1000000000u

/* A span in "main", one after the other: "a;b" is b in a. */
struct call {
    const char *outer, *inner; /* 'inner' may be NULL */
    uint64_t outer_ns, inner_ns;
};

static void put_span(struct tbed_writer *writer, struct tbed_recorder *recorder, const char *name,
                     uint64_t begin, uint64_t end)
{
    struct tbed_given_event event = {.type = TBED_GIVEN_SPAN,
                                     .id = intern(writer, name),
                                     .category = TBED_ID_INVALID,
                                     .begin_tick = begin,
                                     .tick = end};
    tbed_event_record_given(recorder, &event);
}

static const char *make_trace(const char *name, const char *process, const char *unit,
                              const struct call *calls)
{
    const char *path = in_folder(name);
    struct tbed_writer_options options = {.size = sizeof options,
                                          .overwrite = true,
                                          .no_helper = true,
                                          .page_nbytes = 4096,
                                          .process_name = process,
                                          .given_ticks = true,
                                          .given_ticks_per_second = unit == NULL ? NS : 0,
                                          .user_clock_unit = unit};
    struct tbed_writer *writer = NULL;
    uint64_t now = 1000;
    assert_int_equal(tbed_writer_open(path, &options, &writer, NULL), TBED_OK);
    struct tbed_recorder *recorder = tbed_recorder_open(writer, "main");
    for (; calls->outer != NULL; calls++) {
        if (calls->inner != NULL)
            put_span(writer, recorder, calls->inner, now, now + calls->inner_ns);
        put_span(writer, recorder, calls->outer, now, now + calls->outer_ns);
        now += calls->outer_ns;
    }
    tbed_writer_close(writer);
    return path;
}
#define TRACE(name, process, unit, ...)                                                                      \
    make_trace(name, process, unit, (const struct call[]){__VA_ARGS__, {NULL, NULL, 0, 0}})

static const char *make_old(void)
{
    return TRACE("old.tbed", "program", NULL, {"load", "parse", 1000, 600}, {"load", "gone", 500, 100},
                 {"draw", "parse", 800, 300}, {"same", NULL, 50, 0});
}

static const char *make_new(void)
{
    return TRACE("new.tbed", "program 2", NULL, {"load", "parse", 1000, 600}, {"load", "parse", 1000, 600},
                 {"draw", "parse", 700, 200}, {"same", NULL, 50, 0}, {"fresh", NULL, 30, 0});
}

static void changes_are_shown_by_path(void **state)
{
    const char *old = make_old(), *new = make_new();
    (void)state;
    struct run run = RUN("tree", "--diff", old, new);
    assert_int_equal(run.exit, 0);
    assert_string_equal(run.err, "");
    assert_says(run.out, "old.tbed: 7 spans\n");
    assert_says(run.out, "new.tbed: 8 spans\n"
                         "\n"
                         "      total      change  change % self change     count  span\n"
                         "    2.78 us     +430 ns   +18.3 %           0         0  program 2\n"
                         "    2.00 us     +500 ns   +33.3 %           0         0    load\n"
                         "    1.20 us     +600 ns  +100.0 %     +600 ns        +1      parse\n"
                         "       0 ns     -100 ns      gone     -100 ns        -1      gone\n"
                         "     700 ns     -100 ns   -12.5 %           0         0    draw\n"
                         "     200 ns     -100 ns   -33.3 %     -100 ns         0      parse\n"
                         "      30 ns      +30 ns       new      +30 ns        +1    fresh\n"
                         "      50 ns           0    +0.0 %           0         0    same\n");
    end_run(&run);
}

static void what_changed_little_is_hidden_with_its_children(void **state)
{
    const char *old = make_old(), *new = make_new();
    (void)state;
    struct run run = RUN("tree", "--diff", old, "--minimum=5", new);
    assert_silent_on(run.out, "draw");
    assert_silent_on(run.out, "gone");
    assert_says(run.out, "load");
    end_run(&run);
    run = RUN("tree", "--diff", old, "--depth=1", new);
    assert_silent_on(run.out, "parse");
    assert_says(run.out, "draw");
    end_run(&run);
    EXPECT(0, "    1.40 us     +500 ns   +55.6 %     +500 ns        +1    parse\n", "", "tree", "--diff", old,
           "--name=parse", "--exclude=x", "-m", "20", new);
    EXPECT(0, "  main\n", "", "tree", "--diff", old, "--per-thread", new);
}

static void json_has_both_traces(void **state)
{
    const char *old = make_old(), *new = make_new();
    (void)state;
    struct run run = RUN("tree", "--diff", old, "--json", new);
    assert_int_equal(run.exit, 0);
    assert_int_equal(count_lines(run.out), 1);
    assert_says(run.out, "old.tbed\",\"tick_unit\":null,\"span_count\":7,\"never_ended_count\":0,\"unknown_"
                         "begin_count\":0,\"folded_count\":0,\"damage_count\":0},\"after\":{\"file\":");
    assert_says(run.out,
                "\"rows\":[{\"name\":\"program 2\",\"parent\":null,\"depth\":0,\"state\":\"both\","
                "\"total_ns_change\":430,\"self_ns_change\":0,\"total_ns\":[2350,2780],\"self_ns\":[0,0],"
                "\"count\":[1,1]},{\"name\":\"load\",\"parent\":0,");
    assert_says(run.out,
                "{\"name\":\"parse\",\"parent\":1,\"depth\":2,\"state\":\"both\",\"total_ns_change\":600,"
                "\"self_ns_change\":600,\"total_ns\":[600,1200],\"self_ns\":[600,1200],\"count\":[1,2]}");
    assert_says(run.out,
                "{\"name\":\"gone\",\"parent\":1,\"depth\":2,\"state\":\"gone\",\"total_ns_change\":-100,");
    end_run(&run);
    EXPECT(0, "\"filter\":{", "", "tree", "--diff", old, "--json", "--name=parse", new);
}

static void clocks_that_count_are_shown_as_counts(void **state)
{
    const char *old = TRACE("steps.tbed", "x", "steps", {"a", NULL, 1000, 0});
    const char *new = TRACE("steps2.tbed", "x", "steps", {"a", NULL, 3000, 0});
    (void)state;
    EXPECT(0, "      3,000      +2,000  +200.0 %      +2,000         0    a\n", "", "tree", "--diff", old,
           new);
    EXPECT(0, "\"total_ticks\":[1000,3000]", "", "tree", "--diff", old, "--json", new);
}

static void wrong_usage_is_refused(void **state)
{
    const char *old = make_old(), *steps = TRACE("steps.tbed", "x", "steps", {"a", NULL, 1000, 0});
    (void)state;
    EXPECT(2, "", "steps.tbed counts steps, and ", "tree", "--diff", steps, old);
    EXPECT(2, "", "counts time: cannot compare them\n", "tree", "--diff", steps, old);
    EXPECT(2, "", "only one FILE can be standard input", "tree", "--diff=-", "-");
    EXPECT(2, "", "--calls cannot be combined with", "tree", "--diff", old, "--calls", old);
    EXPECT(2, "", "missing FILE operand", "tree", "--diff", old);
    EXPECT(2, "", "missing.tbed: ", "tree", "--diff", in_folder("missing.tbed"), old);
}

static void traces_without_spans_are_told(void **state)
{
    const char *none = in_folder("none.tbed");
    (void)state;
    tbed_writer_close(open_writer(none, false));
    EXPECT(0, NULL, "Neither has spans", "tree", "--diff", none, none);
    EXPECT(0, "gone", "", "tree", "--diff", make_old(), none);
}

/* ---- flame ---- */

static void frames_have_the_color_of_their_change(void **state)
{
    const char *old = make_old(), *new = make_new();
    (void)state;
    struct run run = RUN("flame", "--diff", old, "-o", "-", new);
    assert_int_equal(run.exit, 0);
    assert_string_equal(run.err, "");
    assert_says(run.out, ">new.tbed compared with old.tbed</text>");
    assert_says(run.out,
                "2.78 us in 1 thread: 8 spans; red frames took more time themselves than before, blue ones "
                "less (up to 600 ns)</text>");
    /* The largest change has the full color, a sixth of it the square root of that. */
    assert_says(run.out,
                "<title>parse\n1.20 us, 43.17 % of all, 60.00 % of its parent; itself 1.20 us (+600 ns, "
                "+100.0 %); 2 spans</title><rect x=\"10.00\" y=\"108\" width=\"509.35\" height=\"18\" "
                "fill=\"#fa5c4a\"/>");
    assert_says(run.out, "itself 200 ns (-100 ns, -33.3 %); 1 span</title><rect x=\"858.92\" y=\"108\" "
                         "width=\"84.89\" height=\"18\" fill=\"#afc9ef\"/>");
    assert_says(run.out,
                "<title>load\n2.00 us, 71.94 % of all, 71.94 % of its parent; itself 800 ns (+0 ns, +0.0 %)");
    assert_says(run.out, "itself 30 ns (new); 1 span</title>");
    assert_says(run.out, ">1 stack that took 100 ns itself is gone. </text>");
    end_run(&run);
}

static void folded_stacks_have_both_times(void **state)
{
    const char *old = make_old(), *new = make_new();
    (void)state;
    struct run run = RUN("flame", "--diff", old, "--folded", new);
    assert_int_equal(run.exit, 0);
    assert_string_equal(run.out, "program 2 0 0\n"
                                 "program 2;draw 500 500\n"
                                 "program 2;draw;parse 300 200\n"
                                 "program 2;fresh 0 30\n"
                                 "program 2;load 800 800\n"
                                 "program 2;load;gone 100 0\n"
                                 "program 2;load;parse 600 1200\n"
                                 "program 2;same 50 50\n");
    end_run(&run);
}

static void equal_totals_leave_the_shares(void **state)
{
    const char *old = TRACE("x.tbed", "x", NULL, {"a", NULL, 1000, 0}, {"b", NULL, 3000, 0});
    const char *new = TRACE("x2.tbed", "x", NULL, {"a", NULL, 2000, 0}, {"b", NULL, 6000, 0});
    (void)state;
    EXPECT(0, "x;a 1000 2000\nx;b 3000 6000\n", "", "flame", "--diff", old, "--folded", new);
    EXPECT(0, "x;a 2000 2000\nx;b 6000 6000\n", "", "flame", "--diff", old, "--folded", "--normalized", new);
    EXPECT(0, "(up to 0 ns, with equal totals)", "", "flame", "--diff", old, "-o", "-", "--normalized", new);
    EXPECT(0, "x;b 3000 6000\n", "", "flame", "--diff", old, "--folded", "--name=b", new);
}

static void drawing_has_a_name_of_its_own(void **state)
{
    const char *old = make_old(), *new = make_new();
    (void)state;
    EXPECT(0, "new.diff.svg: ", "", "flame", "--diff", old, new);
    assert_int_equal(access(in_folder("new.diff.svg"), R_OK), 0);
    assert_int_not_equal(access(in_folder("new.svg"), R_OK), 0);
    EXPECT(2, "", "output and input are the same file", "flame", "--diff", old, "-f", "-o", old, new);
    EXPECT(2, "", "--normalized requires --diff", "flame", "--normalized", new);
    EXPECT(2, "", "--diff does not apply to --weight", "flame", "--diff", old, "--weight=bytes", new);
    EXPECT(2, "", "only one FILE can be standard input", "flame", "--diff=-", "-");
    EXPECT(2, "", "missing.tbed: ", "flame", "--diff", in_folder("missing.tbed"), new);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(changes_are_shown_by_path),
        cmocka_unit_test(what_changed_little_is_hidden_with_its_children),
        cmocka_unit_test(json_has_both_traces),
        cmocka_unit_test(clocks_that_count_are_shown_as_counts),
        cmocka_unit_test(wrong_usage_is_refused),
        cmocka_unit_test(traces_without_spans_are_told),
        cmocka_unit_test(frames_have_the_color_of_their_change),
        cmocka_unit_test(folded_stacks_have_both_times),
        cmocka_unit_test(equal_totals_leave_the_shares),
        cmocka_unit_test(drawing_has_a_name_of_its_own),
    };
    return cmocka_run_group_tests(tests, make_folder, remove_folder);
}
