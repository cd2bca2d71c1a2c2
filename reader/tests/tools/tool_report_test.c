/*
 * tracebed report: tables and JSON for small traces, its options, and its messages about drops and damage.
 *
 * SPDX-License-Identifier: MIT
 */
#include "reader/tests/tools/tool_run.h"

/* 40 names, each called once more than the one before; the clock steps 10 at each event. */
static const char *make_spans(const char *name)
{
    const char *path = in_folder(name);
    struct tbed_writer *writer = open_writer(path, true);
    struct tbed_recorder *recorder = tbed_recorder_open(writer, "main");
    for (uint32_t i = 1; i <= 40; i++) {
        char text[32];
        snprintf(text, sizeof text, "name%02u", i);
        uint32_t id = intern(writer, text);
        for (uint32_t calls = 0; calls < i; calls++) {
            tbed_span_begin(recorder, id);
            tbed_span_end(recorder);
        }
    }
    tbed_writer_close(writer);
    return path;
}

/* Two sites; what is left is 300 bytes of the second. */
static const struct heap_event heap[] = {{"parse", 0x1000, 1000},
                                         {"parse", 0x1000, 0},
                                         {"load", 0x2000, 300},
                                         {"load", 0, 300},
                                         {"parse", 0x7000, 0}};

/* The first row, behind the heading. */
static void expect_first(const char *out, const char *name)
{
    const char *heading = strstr(out, "  span\n");
    assert_non_null(heading);
    const char *row = strchr(heading, '\n') + 1, *end = strchr(row, '\n');
    size_t nbytes = strlen(name);
    assert_true((size_t)(end - row) > nbytes);
    assert_memory_equal(end - nbytes, name, nbytes);
}

static void spans_stand_in_a_table(void **state)
{
    const char *path = make_small("small.tbed", false);
    (void)state;
    EXPECT(0, "small.tbed: 8 events in ", "", "report", path);
    EXPECT(0, "  load\n", "", "report", path);
    EXPECT(0, "  parse\n", "", "report", path);
    EXPECT(0, "  queue, items\n", "", "report", path);
    EXPECT(0, "  <inline text>\n", "", "report", path);
    EXPECT(0, "  opening %s\n", "", "report", path);
}

static void rows_are_limited_and_the_rest_is_told(void **state)
{
    const char *path = make_spans("limit.tbed");
    (void)state;
    struct run run = RUN("report", path);
    assert_says(run.out, "10 more spans; --limit=40 shows all");
    assert_says(run.out, "name11");
    assert_silent_on(run.out, "name10");
    end_run(&run);
    EXPECT(0, "37 more spans", "", "report", "-l3", path);
    run = RUN("report", "--limit=0", path);
    assert_silent_on(run.out, "more spans");
    assert_says(run.out, "name01");
    end_run(&run);
    EXPECT(0, "\"left_out\":{\"spans\":0", "", "report", "--json", path);
    EXPECT(0, "\"left_out\":{\"spans\":38", "", "report", "--json", "-l", "2", path);
}

static void rows_are_sorted_as_asked(void **state)
{
    const char *path = make_spans("sort.tbed");
    static const char *const keys[] = {"--sort=self", "--sort=total", "--sort=count"};
    (void)state;
    for (size_t i = 0; i < 3; i++) {
        struct run run = RUN("report", keys[i], path);
        expect_first(run.out, "name40");
        end_run(&run);
    }
    struct run run = RUN("report", "-s", "name", path);
    expect_first(run.out, "name01");
    end_run(&run);
}

/* A clock that does not count time: the figures are its steps, also in the names of the keys. */
static void figures_have_their_units(void **state)
{
    const char *path = make_spans("units.tbed");
    (void)state;
    EXPECT(0, "\"name\":\"name40\",\"count\":40,\"total_ticks\":400,\"self_ticks\":400,\"min_ticks\":10", "",
           "report", "--json", path);
    EXPECT(0, " steps (all times below are in this unit)", "", "report", path);
    EXPECT(0, "\"total_ns\":", "", "report", "--json", make_small("ns.tbed", false));
}

static void allocations_stand_in_tables(void **state)
{
    const char *path = HEAP("heap.tbed", heap);
    (void)state;
    struct run run = RUN("report", path);
    assert_int_equal(run.exit, 0);
    assert_says(run.out, "  parse\n");
    assert_says(run.out, "  load  [1 failed]\n");
    assert_says(run.out, "  test (");
    assert_says(run.out, ")  [1 failed, 1 freed that were not seen to be allocated]\n");
    end_run(&run);
    EXPECT(0,
           "\"allocations\":{\"count\":2,\"bytes\":1300,\"freed_count\":1,\"temporary_count\":1,\"replaced_"
           "count\":0,"
           "\"failed_count\":1,\"live_count\":1,\"live_bytes\":300,\"peak_bytes\":1000}",
           "", "report", "--json", path);
    EXPECT(0, "\"unknown_free_count\":1", "", "report", "--json", path);
    EXPECT(0, "{\"name\":\"load\",\"count\":1,\"bytes\":300", "", "report", "--json", "--sort=live", "-l1",
           path);
}

/* Each frees a block of its parent's and leaves one of its own, the later the larger. */
static void fork_children(struct tbed_writer *writer, struct tbed_recorder *recorder, uint32_t site)
{
    for (uint32_t i = 1; i <= 14; i++) {
        pid_t child = fork();
        assert_true(child >= 0);
        if (child == 0) {
            tbed_free_record(recorder, site, TBED_FUNCTION_MALLOC, 0x1000);
            tbed_alloc_record(recorder, site, TBED_FUNCTION_MALLOC, 0x3000, 1024 * i);
            tbed_writer_close(writer);
            _exit(0);
        }
        int status;
        assert_int_equal(waitpid(child, &status, 0), child);
        assert_int_equal(status, 0);
    }
}

static void many_processes_make_a_short_table(void **state)
{
    const char *path = in_folder("family.tbed");
    struct tbed_writer *writer = open_writer(path, false);
    struct tbed_recorder *recorder = tbed_recorder_open(writer, "main");
    uint32_t site = intern(writer, "parse");
    char parent[64];
    (void)state;
    tbed_alloc_record(recorder, site, TBED_FUNCTION_MALLOC, 0x1000, 500);
    fork_children(writer, recorder, site);
    tbed_writer_close(writer);
    struct run run = RUN("report", path);
    snprintf(parent, sizeof parent, ")  [forked from %d]\n", (int)getpid());
    assert_int_equal(run.exit, 0);
    assert_says(run.out, parent);
    assert_says(run.out, "\n     14 KiB ");
    assert_says(run.out, "\n      5 KiB ");
    assert_silent_on(run.out, "\n      4 KiB ");
    assert_says(run.out, "5 more processes; --limit=15 shows all");
    assert_silent_on(run.out, "not seen to be allocated");
    end_run(&run);
    EXPECT(0, "12 more processes; ", "", "report", "-l3", path);
    EXPECT(0, "\"inherited_free_count\":1,\"unknown_free_count\":0", "", "report", "--json", path);
}

static void only_what_was_asked_for_is_shown(void **state)
{
    const char *path = HEAP("choose.tbed", heap);
    (void)state;
    struct run run = RUN("report", "--json", "--allocations", path);
    assert_silent_on(run.out, "\"spans\":[");
    assert_says(run.out, "\"sites\":[");
    end_run(&run);
    run = RUN("report", "--json", "--spans", path);
    assert_says(run.out, "\"spans\":[");
    assert_silent_on(run.out, "\"sites\":[");
    end_run(&run);
}

static void the_program_s_own_allocations_are_named(void **state)
{
    const char *path = in_folder("recorded.tbed");
    (void)state;
    EXPECT(0, NULL, NULL, "record", "-o", path, "--", "/bin/ls", "/");
    EXPECT(0, "  ls", "", "report", "--by=module", path);
    EXPECT(0, "_IO_file_doallocate", "", "report", "--by=symbol", path);
    EXPECT(0, "+0x", "", "report", "--no-symbols", path);
}

static void a_shell_s_subshells_free_nothing_unknown(void **state)
{
    const char *path = in_folder("subshells.tbed");
    (void)state;
    EXPECT(0, NULL, NULL, "record", "-o", path, "--", "bash", "-c",
           "for i in 1 2 3; do (echo $i | cat); done");
    struct run run = RUN("report", path);
    assert_says(run.out, "[forked from ");
    assert_silent_on(run.out, "not seen to be allocated");
    end_run(&run);
}

static void damage_is_told_and_costs_exit_1(void **state)
{
    const char *path = make_spans("damaged.tbed");
    size_t nbytes;
    (void)state;
    char *bytes = read_whole(path, &nbytes);
    for (size_t page = 1; page < nbytes / 4096; page++)
        if (bytes[page * 4096] == 1)
            bytes[page * 4096 + 80] ^= 1;
    write_whole(path, bytes, nbytes);
    free(bytes);
    EXPECT(1, "could not be read", "damaged", "report", path);
    EXPECT(1, "\"damage_count\":", "damaged", "report", "--json", path);
}

static void drops_are_loud(void **state)
{
    struct tbed_writer *writer = NULL;
    const char *big = in_folder("limit-reached.tbed");
    struct tbed_writer_options options = {.size = sizeof options,
                                          .overwrite = true,
                                          .no_helper = true,
                                          .page_nbytes = 4096,
                                          .max_file_nbytes = 8 * 4096};
    assert_int_equal(tbed_writer_open(big, &options, &writer, NULL), TBED_OK);
    (void)state;
    struct tbed_recorder *recorder = tbed_recorder_open(writer, "main");
    for (int i = 0; i < 100000; i++)
        tbed_instant_record(recorder, 1);
    tbed_writer_close(writer);
    EXPECT(0, "RECORDS ARE MISSING", "", "report", big);
    EXPECT(0, "size limit", "", "report", big);
}

static void several_files_are_reported_one_after_another(void **state)
{
    const char *first = make_spans("first.tbed"), *second = HEAP("second.tbed", heap);
    (void)state;
    struct run run = RUN("report", "--json", first, second);
    assert_int_equal(run.exit, 0);
    assert_int_equal(count_lines(run.out), 2);
    end_run(&run);
    EXPECT(2, "first.tbed: ", "nowhere.tbed", "report", first, in_folder("nowhere.tbed"));
}

static void wrong_usage_is_exit_2(void **state)
{
    (void)state;
    EXPECT(2, "", "FILE", "report");
    EXPECT(2, "", "--sort: unknown key 'totla'; did you mean 'total'? (expected self, total, ", "report",
           "--sort=totla", "x");
    EXPECT(2, "",
           "--by: unknown group 'colour' (expected site, stack, function, symbol, module, file, location, ",
           "report", "--by=colour", "x");
    EXPECT(2, "", "--limit", "report", "--limit=x", "x");
    EXPECT(2, "", "--jobs", "report", "--jobs=many", "x");
    EXPECT(2, "", "unrecognized", "report", "--colour", "x");
    EXPECT(2, "", "Did you mean '--color'?", "report", "--colour", "x");
    EXPECT(2, "", "Did you mean '--sort'?", "report", "--srot=total", "x");
    EXPECT(2, "", "requires an argument", "report", "--sort");
    EXPECT(0, "usage: tracebed report", "", "report", "-h");
}

static void help_is_at_most_100_columns_wide(void **state)
{
    struct run run = RUN("report", "-h");
    (void)state;
    for (const char *line = run.out, *end; (end = strchr(line, '\n')) != NULL; line = end + 1) {
        size_t columns = 0;
        for (const char *at = line; at < end; at++)
            columns += (*at & 0xC0) != 0x80; /* bytes that begin a character */
        assert_true(columns <= 100);
    }
    end_run(&run);
}

static void an_empty_trace_says_so(void **state)
{
    const char *path = in_folder("empty.tbed");
    (void)state;
    tbed_writer_close(open_writer(path, false));
    EXPECT(0, "Nothing to report", "", "report", path);
}

/* Spans of one step of the clock, except one whose events have the same time: they are a tick apart. */
static void a_time_below_the_step_of_the_clock_is_not_shown(void **state)
{
    (void)state;
    const char *path = in_folder("step.tbed");
    struct tbed_writer *writer = open_given_writer(path, 1000000000);
    struct tbed_recorder *recorder = tbed_recorder_open_given(writer, "main", 1);
    for (uint32_t i = 0; i < 200; i++) {
        struct tbed_given_event event = {.type = i % 2 == 0 ? TBED_GIVEN_BEGIN : TBED_GIVEN_END,
                                         .id = intern(writer, "call"),
                                         .category = TBED_ID_INVALID,
                                         .tick = 26 * i - (i == 101 ? 25 : 0)};
        tbed_event_record_given(recorder, &event);
    }
    tbed_writer_close(writer);
    EXPECT(0, "The clock has steps of 26 ns; shorter times were not measured.\n", "", "report", path);
    EXPECT(0, "100     <26 ns", "", "report", path);
    EXPECT(0, "\"clock_step_ns\":26.0,", "", "report", "--json", path);
    EXPECT(0, "The clock has steps of 26 ns; shorter times were not measured.\n", "", "slowest", "--fastest",
           path);
    EXPECT(0, "      <26 ns  call\n", "", "slowest", "--fastest", path);
    EXPECT(0, "<26 ns", "", "slowest", "--fastest", "--columns=duration", path);
    EXPECT(0, "\"duration_ns\":1,", "", "slowest", "--fastest", "--json", path);
    EXPECT(0, "The clock has steps of 26 ns; shorter times were not measured.\n", "", "histogram", "call",
           path);
    EXPECT(0, ": 100 calls, <26 ns to 26 ns\n", "", "histogram", "call", path);
    EXPECT(0, "\"clock_step_ns\":26.0,", "", "histogram", "--json", "call", path);
    EXPECT(0, "\"clock_step_ns\":26.0,", "", "slowest", "--json", path);
    struct run run = RUN("slowest", "--limit=1", path);
    assert_silent_on(run.out, "The clock");
    end_run(&run);
    EXPECT(0, "\"min_ns\":1,", "", "report", "--json", path);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(spans_stand_in_a_table),
        cmocka_unit_test(rows_are_limited_and_the_rest_is_told),
        cmocka_unit_test(rows_are_sorted_as_asked),
        cmocka_unit_test(figures_have_their_units),
        cmocka_unit_test(allocations_stand_in_tables),
        cmocka_unit_test(many_processes_make_a_short_table),
        cmocka_unit_test(only_what_was_asked_for_is_shown),
        cmocka_unit_test(the_program_s_own_allocations_are_named),
        cmocka_unit_test(a_shell_s_subshells_free_nothing_unknown),
        cmocka_unit_test(damage_is_told_and_costs_exit_1),
        cmocka_unit_test(drops_are_loud),
        cmocka_unit_test(several_files_are_reported_one_after_another),
        cmocka_unit_test(wrong_usage_is_exit_2),
        cmocka_unit_test(help_is_at_most_100_columns_wide),
        cmocka_unit_test(an_empty_trace_says_so),
        cmocka_unit_test(a_time_below_the_step_of_the_clock_is_not_shown),
    };
    return cmocka_run_group_tests(tests, make_folder, remove_folder);
}
