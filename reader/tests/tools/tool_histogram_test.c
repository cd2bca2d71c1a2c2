/*
 * tracebed histogram: the distribution of durations.
 *
 * SPDX-License-Identifier: MIT
 */
#include "reader/tests/tools/tool_run.h"

/* One call after the other; ticks are of 'rate' a second, or count steps if it is 0. */
static const char *make_calls(const char *name, uint64_t rate, const uint64_t *durations, size_t count)
{
    const char *path = in_folder(name);
    struct tbed_writer *writer = open_given_writer(path, rate);
    uint64_t now = 1000;
    struct tbed_recorder *recorder = tbed_recorder_open(writer, "main");
    for (size_t i = 0; i < count; i++) {
        struct tbed_given_event event = {.type = TBED_GIVEN_SPAN,
                                         .id = intern(writer, "load"),
                                         .category = TBED_ID_INVALID,
                                         .begin_tick = now,
                                         .tick = now + durations[i]};
        tbed_event_record_given(recorder, &event);
        now += durations[i];
    }
    tbed_writer_close(writer);
    return path;
}

static const uint64_t durations[] = {1000, 1900, 2000, 4999, 5000, 100000, 150000, 999};
#define CALLS(name, rate) make_calls(name, rate, durations, sizeof durations / sizeof durations[0])
#define NS                1000000000u

static void ranges_are_multiples_of_those_before(void **state)
{
    const char *path = CALLS("log.tbed", NS);
    (void)state;
    struct run run = RUN("histogram", "--rows=7", "load", path);
    assert_int_equal(run.exit, 0);
    assert_string_equal(run.err, "");
    assert_says(run.out, "log.tbed: 8 calls, 999 ns to 150 us\n");
    assert_says(run.out, "      500 ns            1  12.5 %   0.4 %  ");
    assert_says(run.out, "     1.00 us            2  25.0 %   1.1 %  ");
    assert_says(run.out, "     2.00 us            2  25.0 %   2.6 %  ");
    assert_says(run.out, "     5.00 us            1  12.5 %   1.9 %  ");
    assert_says(run.out, "     10.0 us            0   0.0 %   0.0 %  ");
    assert_says(run.out, "      100 us            2  25.0 %  94.0 %  ");
    end_run(&run);
}

static void ranges_may_be_equal(void **state)
{
    const char *path = CALLS("linear.tbed", NS);
    (void)state;
    struct run run = RUN("histogram", "--linear", "--rows=3", "load", path);
    assert_int_equal(run.exit, 0);
    assert_says(run.out, "        0 ns            6  75.0 %   6.0 %  ");
    assert_says(run.out, "     50.0 us            0   0.0 %   0.0 %  ");
    assert_says(run.out, "      100 us            1  12.5 %  37.6 %  ");
    assert_says(run.out, "      150 us            1  12.5 %  56.4 %  ");
    end_run(&run);
}

static void two_traces_stand_side_by_side(void **state)
{
    static const uint64_t others[] = {1000, 1000, 20000};
    const char *path = CALLS("left.tbed", NS), *other = make_calls("right.tbed", NS, others, 3);
    const char *steps = CALLS("steps.tbed", 0);
    (void)state;
    struct run run = RUN("histogram", "--rows=7", "load", path, other);
    assert_int_equal(run.exit, 0);
    assert_says(run.out, "     1.00 us            2  25.0 %   1.1 %            2  66.7 %   9.1 %\n");
    assert_says(run.out, "     20.0 us            0   0.0 %   0.0 %            1  33.3 %  90.9 %\n");
    end_run(&run);
    EXPECT(2, "", "count different things", "histogram", "load", path, steps);
    EXPECT(0, "8 calls, 999 to 150,000\n", "", "histogram", "load", steps);
}

static void json_has_every_range(void **state)
{
    const char *path = CALLS("json.tbed", NS);
    (void)state;
    EXPECT(0,
           "\"count\":8,\"rows\":[{\"from_ns\":500.0,\"count\":1,\"total_ns\":999},{\"from_ns\":1000.0,"
           "\"count\":2,",
           "", "histogram", "--json", "--rows=7", "load", path);
    EXPECT(0, "\"tick_unit\":null,\"filter\":{\"threads\":[\"main\"],\"names\":[\"load\"]},\"count\":8,", "",
           "histogram", "--json", "-t", "main", "load", path);
}

static void wrong_usage_is_refused(void **state)
{
    const char *path = CALLS("usage.tbed", NS);
    (void)state;
    EXPECT(2, "", "missing NAME operand", "histogram");
    EXPECT(2, "", "missing FILE operand", "histogram", "load");
    EXPECT(2, "", "NAME comes before FILE", "histogram", path, "load");
    EXPECT(2, "", "nothing.tbed: cannot be opened", "histogram", ".", "nothing.tbed");
    EXPECT(2, "", "too many FILE operands", "histogram", "load", path, path, path);
    EXPECT(2, "", "only one FILE can be standard input", "histogram", "load", "-", "-");
    EXPECT(2, "", "--rows takes a number", "histogram", "--rows=0", "load", path);
    EXPECT(2, "", "histogram: NAME: invalid regular expression '('", "histogram", "(", path);
    EXPECT(2, "", "missing NAME operand", "histogram", path);
    EXPECT(2, "", "histogram: NAME comes before FILE", "histogram", path, "load");
    EXPECT(0, ": 0 calls\n", "no spans in the chosen part", "histogram", "nothing", path);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(ranges_are_multiples_of_those_before),
        cmocka_unit_test(ranges_may_be_equal),
        cmocka_unit_test(two_traces_stand_side_by_side),
        cmocka_unit_test(json_has_every_range),
        cmocka_unit_test(wrong_usage_is_refused),
    };
    return cmocka_run_group_tests_name("tool_histogram", tests, make_folder, remove_folder);
}
