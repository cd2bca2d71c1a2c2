/*
 * tracebed slowest: calls one by one, with what happened in them and beside them.
 *
 * SPDX-License-Identifier: MIT
 */
#include "reader/tests/tools/tool_run.h"

struct given {
    uint32_t thread; /* 0 or 1 */
    const char *name;
    uint64_t begin, end;
};

/* Spans in the order of their ends; ticks are of 'rate' a second, or count steps if it is 0. */
static const char *make_spans(const char *name, uint64_t rate, const struct given *spans, size_t count)
{
    const char *path = in_folder(name);
    struct tbed_writer *writer = open_given_writer(path, rate);
    struct tbed_recorder *recorders[2];
    recorders[0] = tbed_recorder_open(writer, "main");
    recorders[1] = tbed_recorder_open(writer, "helper");
    for (size_t i = 0; i < count; i++) {
        struct tbed_given_event event = {.type = TBED_GIVEN_SPAN,
                                         .id = intern(writer, spans[i].name),
                                         .category = TBED_ID_INVALID,
                                         .begin_tick = spans[i].begin,
                                         .tick = spans[i].end};
        tbed_event_record_given(recorders[spans[i].thread], &event);
    }
    tbed_writer_close(writer);
    return path;
}

static const struct given spans[] = {
    {0, "lex", 2000, 5000},     {0, "parse", 1000, 9000},   {1, "idle", 0, 4000},
    {0, "lex", 10000, 11000},   {0, "parse", 10000, 12000}, {1, "write", 4000, 20000},
    {0, "parse", 13000, 13500}, {0, "load", 900, 14000},
};
#define SPANS(name, rate) make_spans(name, rate, spans, sizeof spans / sizeof spans[0])
#define NS                1000000000u

static void slowest_calls_come_first(void **state)
{
    const char *path = SPANS("order.tbed", NS);
    (void)state;
    struct run run = RUN("slowest", path, "^parse$");
    assert_int_equal(run.exit, 0);
    assert_string_equal(run.err, "");
    assert_says(run.out, "order.tbed: the 3 slowest of 3 calls\n");
    const char *first = strstr(run.out, "     8.00 us  parse\n"),
               *second = strstr(run.out, "     2.00 us  parse\n");
    const char *third = strstr(run.out, "      500 ns  parse\n");
    assert_true(first != NULL && second > first && third > second);
    assert_says(run.out, "at 0.000001000 s, ");
    assert_says(run.out, " main\n              time   5.00 us parse, 3.00 us lex\n"
                         "              others 5.00 us write, 3.00 us idle\n");
    end_run(&run);
    EXPECT(0, "the slowest of 8 calls\n\n     16.0 us  write\n", "", "slowest", "-l1", path);
}

static void other_orders_can_be_asked_for(void **state)
{
    const char *path = SPANS("orders.tbed", NS);
    (void)state;
    EXPECT(0, "the fastest of 3 calls\n\n      500 ns  parse\n", "", "slowest", "--fastest", "-l1", path,
           "parse");
    EXPECT(0, "the nearest of 3 calls\n\n     2.00 us  parse\n", "", "slowest", "--around=12us", "-l", "1",
           path, "parse");
    EXPECT(0, "the nearest of 3 calls\n\n      500 ns  parse\n", "", "slowest", "--around=1h", "-l1", path,
           "parse");
    EXPECT(2, "", "--fastest cannot be combined with --around", "slowest", "--fastest", "--around=1", path);
    EXPECT(2, "", "slowest: --around: a time is expected", "slowest", "--around=soon", path);
    EXPECT(2, "", "--limit takes a number", "slowest", "-l", "many", path);
    EXPECT(2, "", "missing FILE operand", "slowest");
    EXPECT(2, "", "too many operands", "slowest", path, "a", "b");
    EXPECT(2, "",
           "tracebed: slowest: NAME: invalid regular expression '(': Unmatched ( or \\(\n"
           "  Run 'tracebed slowest -h' for help.\n",
           "slowest", "missing.tbed", "(");
}

static void a_filter_cuts_calls(void **state)
{
    const char *path = SPANS("cut.tbed", NS);
    (void)state;
    EXPECT(0, "the slowest of 1 call\n\n     1.00 us  parse\n", "", "slowest", "-b", "2us", "-e", "3us", path,
           "parse");
    EXPECT(0, "the 2 slowest of 2 calls\n\n     3.00 us  lex\n", "", "slowest", "--inside=parse", "-n", "lex",
           path);
    EXPECT(0, "the 0 slowest of 0 calls\n\n", "no spans in the chosen part", "slowest", path, "nothing");
}

static void json_has_what_the_text_has(void **state)
{
    const char *path = SPANS("json.tbed", NS), *steps = SPANS("steps.tbed", 0);
    (void)state;
    EXPECT(0,
           "\"order\":\"slowest\",\"total_count\":3,\"calls\":[{\"name\":\"parse\",\"begin_ns\":1000,"
           "\"duration_ns\":8000,\"stream\":2,\"never_ended\":false,\"arguments\":\"\",\"time\":[{\"name\":"
           "\"parse\","
           "\"count\":1,\"self_ns\":5000},{\"name\":\"lex\",\"count\":1,\"self_ns\":3000}],\"others\":[",
           "", "slowest", "--json", "-l1", path, "parse");
    EXPECT(0, "\"begin_ticks\":1000,\"duration_ticks\":8000,", "", "slowest", "--json", "-l1", steps,
           "parse");
    EXPECT(0, "       8,000  parse\n              at 1,000, ", "", "slowest", "-l1", steps, "parse");
}

static void arguments_are_shown(void **state)
{
    const char *path = make_small("small.tbed", true);
    (void)state;
    EXPECT(0, "  parse bytes=7\n", "", "slowest", path, "parse");
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(slowest_calls_come_first), cmocka_unit_test(other_orders_can_be_asked_for),
        cmocka_unit_test(a_filter_cuts_calls),      cmocka_unit_test(json_has_what_the_text_has),
        cmocka_unit_test(arguments_are_shown),
    };
    return cmocka_run_group_tests_name("tool_slowest", tests, make_folder, remove_folder);
}
