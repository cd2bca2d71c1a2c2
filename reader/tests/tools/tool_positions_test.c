/*
 * tracebed aggregate --positions: the intervals of runs that do the same, as text and JSON, and what it refuses.
 *
 * SPDX-License-Identifier: MIT
 */
#include "reader/tests/tools/tool_run.h"

/* Two calls of "parse" in "load"; the second takes 'ns'. "other" comes at the end if 'has_other'. */
static const char *make_run(const char *name, const char *unit, uint64_t ns, bool has_other)
{
    const char *path = in_folder(name);
    struct tbed_writer_options options = {.size = sizeof options,
                                          .overwrite = true,
                                          .no_helper = true,
                                          .page_nbytes = 4096,
                                          .given_ticks = true,
                                          .given_ticks_per_second = unit == NULL ? 1000000000 : 0,
                                          .user_clock_unit = unit};
    struct tbed_writer *writer = NULL;
    assert_int_equal(tbed_writer_open(path, &options, &writer, NULL), TBED_OK);
    struct tbed_recorder *recorder = tbed_recorder_open(writer, "main");
    const struct {
        const char *name;
        uint64_t begin, end;
    } spans[] = {{"parse", 110, 160},
                 {"parse", 200, 200 + ns},
                 {"load", 100, 300 + ns},
                 {"other", 500 + ns, 600 + ns}};
    for (size_t i = 0; i < (has_other ? 4u : 3u); i++) {
        struct tbed_given_event event = {.type = TBED_GIVEN_SPAN,
                                         .id = intern(writer, spans[i].name),
                                         .category = TBED_ID_INVALID,
                                         .begin_tick = spans[i].begin,
                                         .tick = spans[i].end};
        tbed_event_record_given(recorder, &event);
    }
    tbed_writer_close(writer);
    return path;
}

static void intervals_that_vary_come_first(void **state)
{
    const char *one = make_run("1.tbed", NULL, 1000, false), *two = make_run("2.tbed", NULL, 3000, false);
    (void)state;
    struct run run = RUN("aggregate", "--positions", one, two);
    assert_int_equal(run.exit, 0);
    assert_string_equal(run.err, "");
    assert_string_equal(
        run.out, "2 runs: 5 positions in 1 thread are the same in all runs\n"
                 "\n"
                 "       mean    std dev         cv        min        max thread  position  interval\n"
                 "    2.00 us    1.41 us     70.7 %    1.00 us    3.00 us      1         4  parse begins to "
                 "parse ends  [in parse]\n"
                 "      10 ns       0 ns      0.0 %      10 ns      10 ns      1         1  load begins to "
                 "parse begins  [in load]\n"
                 "      50 ns       0 ns      0.0 %      50 ns      50 ns      1         2  parse begins to "
                 "parse ends  [in parse]\n"
                 "      40 ns       0 ns      0.0 %      40 ns      40 ns      1         3  parse ends to "
                 "parse begins  [in load]\n"
                 "     100 ns       0 ns      0.0 %     100 ns     100 ns      1         5  parse ends to "
                 "load ends  [in load]\n");
    end_run(&run);
    EXPECT(0, "     100 ns", "", "aggregate", "--positions", "--sort=mean", "-l", "2", one, two);
    EXPECT(0, "4 more positions; --limit=5 shows all\n", "", "aggregate", "--positions", "-l1", one, two);
    EXPECT(0, "          -          -    1.00 us", "", "aggregate", "--positions", one);
    EXPECT(0, "1 position in 1 thread is the same in all runs (only a part of each)\n", "", "aggregate",
           "--positions", "--name=load", one, two);
}

static void run_that_differs_is_named(void **state)
{
    const char *one = make_run("1.tbed", NULL, 1000, false), *two = make_run("2.tbed", NULL, 3000, true);
    (void)state;
    EXPECT(0,
           "2.tbed: differs from the first run in thread 1 from position 6 on: other begins instead of the "
           "end\n",
           "", "aggregate", "--positions", one, two);
    EXPECT(0, "from position 6 on: the end instead of other begins\n", "", "aggregate", "--positions", two,
           one);
}

static void json_has_points_and_figures(void **state)
{
    const char *one = make_run("1.tbed", NULL, 1000, false), *two = make_run("2.tbed", NULL, 3000, true);
    (void)state;
    struct run run = RUN("aggregate", "--positions", "--json", "--limit=1", one, two);
    assert_int_equal(run.exit, 0);
    assert_says(run.out, "{\"run_count\":2,\"runs\":[{\"file\":\"");
    assert_says(run.out, "1.tbed\",\"differs\":null},");
    assert_says(
        run.out,
        "\"differs\":{\"thread\":0,\"position\":5,\"expected\":null,\"found\":{\"type\":\"begin\","
        "\"name\":\"other\"}}}],\"position_count\":5,\"rows\":[{\"thread\":0,\"position\":3,\"from\":{"
        "\"type\":\"begin\",\"name\":\"parse\"},\"to\":{\"type\":\"end\",\"name\":\"parse\"},"
        "\"inside\":\"parse\",\"mean_ns\":2000.0,\"standard_deviation_ns\":1414.21356237309");
    assert_says(run.out, ",\"min_ns\":1000,\"max_ns\":3000}],\"left_out\":{\"rows\":4}}\n");
    end_run(&run);
    EXPECT(0, "\"min_ticks\":", "", "aggregate", "--positions", "--json",
           make_run("s.tbed", "steps", 9, false));
    EXPECT(0, "\"filter\":{", "", "aggregate", "--positions", "--json", "--name=load", one);
}

static void wrong_usage_is_refused(void **state)
{
    const char *one = make_run("1.tbed", NULL, 1000, false),
               *steps = make_run("s.tbed", "steps", 1000, false);
    (void)state;
    EXPECT(2, "", "--positions cannot be combined with", "aggregate", "--positions", "--of=time", one);
    EXPECT(2, "", "--positions cannot be combined with", "aggregate", "--positions", "--by=module", one);
    EXPECT(2, "", "--positions cannot be combined with", "aggregate", "--positions", "--percent-above=1",
           one);
    EXPECT(2, "", "--sort: unknown key 'runs' (expected variance, cv, mean, min, max, ", "aggregate",
           "--positions", "--sort=runs", one);
    EXPECT(2, "", "--sort: unknown key 'median'", "aggregate", "--sort=median", "--positions", one);
    EXPECT(2, "", "--columns: unknown column 'median'", "aggregate", "--columns=median", "--positions", one);
    EXPECT(2, "", "count different things: cannot compare them", "aggregate", "--positions", one, steps);
    EXPECT(2, "", "missing.tbed: ", "aggregate", "--positions", one, in_folder("missing.tbed"));
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(intervals_that_vary_come_first),
        cmocka_unit_test(run_that_differs_is_named),
        cmocka_unit_test(json_has_points_and_figures),
        cmocka_unit_test(wrong_usage_is_refused),
    };
    return cmocka_run_group_tests(tests, make_folder, remove_folder);
}
