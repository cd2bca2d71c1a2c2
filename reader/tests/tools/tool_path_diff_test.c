/*
 * tracebed tree --diff: what changed by path, as text and JSON, for hand-made traces.
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
    assert_says(run.out,
                "old.tbed\",\"spans\":7,\"never_ended\":0,\"begin_unknown\":0},\"after\":{\"file\":");
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

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(changes_are_shown_by_path),
        cmocka_unit_test(what_changed_little_is_hidden_with_its_children),
        cmocka_unit_test(json_has_both_traces),
        cmocka_unit_test(clocks_that_count_are_shown_as_counts),
        cmocka_unit_test(wrong_usage_is_refused),
        cmocka_unit_test(traces_without_spans_are_told),
    };
    return cmocka_run_group_tests(tests, make_folder, remove_folder);
}
