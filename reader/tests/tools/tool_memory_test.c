/*
 * Memory beyond sites: leaks with suppressions, sizes, lifetimes, and the chart of memory over time.
 *
 * SPDX-License-Identifier: MIT
 */
#include "reader/tests/tools/tool_run.h"

/* 300 bytes in two blocks and 1,000 in one leak. */
static const struct heap_event leaks[] = {{"parse", 0x1000, 5000},
                                          {"parse", 0x1000, 0},
                                          {"parse", 0x2000, 100},
                                          {"parse", 0x3000, 200},
                                          {"load", 0x4000, 1000}};

static const char *make_file(const char *name, const char *text)
{
    const char *path = in_folder(name);
    write_whole(path, text, strlen(text));
    return path;
}

static void leaks_are_sorted_by_bytes(void **state)
{
    const char *path = HEAP("leaks.tbed", leaks);
    (void)state;
    struct run run = RUN("report", "--leaks", path);
    assert_int_equal(run.exit, 0);
    assert_says(run.out, "1.27 KiB in 3 blocks were never freed.\n");
    assert_says(
        run.out,
        "  stack\n     1000 B     76.9 %          1  load\n      300 B     23.1 %          2  parse\n");
    assert_silent_on(run.out, "suppressed");
    assert_silent_on(run.out, "process");
    assert_says(run.out, "leaks.tbed: 5 allocation events in ");
    end_run(&run);
    EXPECT(0, "1 more leak; --limit=2", "", "report", "--leaks", "-l1", path);
    EXPECT(0, "  site\n", "", "report", "--leaks", "--by=site", path);
    EXPECT(0, "\r\nload,1000\r\nparse,300\r\n", "", "report", "--leaks", "--csv", "--columns=name,bytes",
           path);
}

static void suppressed_leaks_are_listed(void **state)
{
    const char *path = HEAP("suppressed.tbed", leaks);
    const char *file = make_file("known.supp", "# known\nleak:never\nleak:^lo*d$\n");
    (void)state;
    struct run run = RUN("report", "--leaks", "--suppressions", file, path);
    assert_says(run.out, "300 B in 2 blocks were never freed; 1000 B in 1 block is suppressed.\n");
    assert_says(run.out, "     1000 B          1          1  ^lo*d$       file\n");
    assert_says(run.out, "        0 B          0          0  never        file\n");
    assert_silent_on(run.out, "load");
    end_run(&run);
    EXPECT(0,
           "\"leak_count\":2,\"leak_bytes\":300,\"suppressed_count\":1,\"suppressed_bytes\":1000,"
           "\"skipped_suppression_count\":0},"
           "\"leaks\":[{\"name\":\"parse\",\"bytes\":300,\"count\":2}],"
           "\"suppressions\":[{\"name\":\"^lo*d$\",\"bytes\":1000,\"count\":1,\"stack_count\":1,\"origin\":"
           "\"file\"},",
           "", "report", "--leaks", "--json", "--suppressions", file, path);
}

static void suppressions_of_valgrind_are_read(void **state)
{
    const char *path = HEAP("valgrind.tbed", leaks);
    const char *file =
        make_file("valgrind.supp", "# from valgrind\n{\n  loading\n  Memcheck:Leak\n  match-leak-kinds: "
                                   "all\n  fun:*alloc\n  fun:lo?d\n}\n{\n  other\n  Memcheck:Cond\n"
                                   "  fun:f\n}\nleak:never\n");
    const char *broken = make_file("broken.supp", "{\n  name\n  Memcheck:Leak\n  fun:malloc\n");
    (void)state;
    struct run run = RUN("report", "--leaks", "--suppressions", file, path);
    assert_says(run.out, "300 B in 2 blocks were never freed; 1000 B in 1 block is suppressed.\n"
                         "1 suppression about other errors than leaks is skipped.\n");
    assert_says(run.out, "     1000 B          1          1  loading      file\n");
    assert_says(run.out, "        0 B          0          0  never        file\n");
    end_run(&run);
    EXPECT(2, "", "line 4: expected 'leak:PATTERN' or a suppression of valgrind", "report", "--leaks",
           "--suppressions", broken, path);
}

static void a_trace_without_allocations_does_not_pass_for_one_without_leaks(void **state)
{
    (void)state;
    EXPECT(0, "Nothing to report: no allocations and frees.\n", "", "report", "--leaks",
           make_small("none.tbed", false));
}

/* A C++ program has the pool, whatever it does. */
static void the_pool_of_a_real_program_is_built_in(void **state)
{
    const char *path = in_folder("pool.tbed");
    (void)state;
    char command[512];
    const char *program = in_folder("program");
    snprintf(command, sizeof command,
             "printf '#include <iostream>\\nint main() { std::cout << 1; }' | g++ -xc++ -o %s -", program);
    assert_int_equal(system(command), 0);
    struct run run = RUN("record", "--stacks", "-f", "-o", path, "--", program);
    end_run(&run);
    EXPECT(0, "the emergency pool of libstdc++  built in", "", "report", "--leaks", path);
    run = RUN("report", "--leaks", "--no-built-in-suppressions", path);
    assert_silent_on(run.out, "built in");
    end_run(&run);
}

/* Each event is a tick of the clock after the one before. */
static void sizes_and_lifetimes_have_columns(void **state)
{
    const char *path = HEAP("sizes.tbed", leaks);
    (void)state;
    struct run run = RUN("report", "--by=size", path);
    const char *first = strstr(run.out, "  65 B to 128 B\n"), *last = strstr(run.out, "  4 KiB to 8 KiB\n");
    assert_non_null(first);
    assert_true(last > first);
    end_run(&run);
    EXPECT(0,
           "{\"name\":\"4097 to 8192\",\"least_bytes\":4097,\"most_bytes\":8192,\"count\":1,\"bytes\":5000,",
           "", "report", "--by=size", "--json", path);
    EXPECT(
        0,
        "\"peak_bytes\":5000,\"lifetime_mean_ticks\":10,\"lifetime_p50_ticks\":10,\"lifetime_p99_ticks\":10,"
        "\"lifetime_max_ticks\":10}",
        "", "report", "--lifetimes", "--json", path);
    EXPECT(0, "\r\nparse,10\r\n", "", "report", "--csv", "--columns=name,lifetime", path);
    EXPECT(0,
           "      lived        p50        p99        max      freed      count      bytes  temporary  site\n",
           "", "report", "--lifetimes", path);
    EXPECT(0,
           "          -          -          -          -          0          1     1000 B          0  load\n",
           "", "report", "--lifetimes", path);
}

static void memory_over_time_is_a_chart(void **state)
{
    const char *path = HEAP("chart.tbed", leaks);
    char command[512];
    (void)state;
    EXPECT(0, "chart.memory.svg: 41 parts of the time drawn\n", "", "flame", "--over-time", path);
    char *svg = read_whole(in_folder("chart.memory.svg"), NULL);
    assert_says(svg, "style=\"max-width:100%;height:auto\""); /* it fits into any window */
    assert_says(
        svg, ">Live memory over time: 4.88 KiB at most at one time; 4 allocations, of which 1.27 KiB in all "
             "were never freed</text>");
    assert_says(svg, "<title>0: 4.88 KiB live, from 4.88 KiB to 4.88 KiB; 1 allocation</title>");
    assert_says(svg, "<title>40: 1.27 KiB live, from 1.27 KiB to 1.27 KiB; 1 allocation</title>");
    free(svg);
    snprintf(command, sizeof command,
             "python3 -c 'import sys, xml.dom.minidom as x; d = x.parse(sys.argv[1]); "
             "sys.exit(len(d.getElementsByTagName(\"title\")) != 41)' %s",
             in_folder("chart.memory.svg"));
    assert_int_equal(system(command), 0);
    EXPECT(2, "", "no allocations to draw: nothing was written", "flame", "--over-time",
           make_small("no.tbed", false));
    EXPECT(2, "", "--over-time cannot be combined with --weight, --folded, ", "flame", "--over-time",
           "--folded", path);
}

static void wrong_usage_is_exit_2(void **state)
{
    const char *path = HEAP("usage.tbed", leaks);
    const char *bad = make_file("bad.supp", "leak:a\nrace:b\n");
    (void)state;
    EXPECT(2, "", "bad.supp: line 2: expected 'leak:PATTERN' or a suppression of valgrind", "report",
           "--leaks", "--suppressions", bad, path);
    EXPECT(2, "", "nowhere.supp: No such file", "report", "--leaks", "--suppressions",
           in_folder("nowhere.supp"), path);
    EXPECT(2, "", ": Is a directory", "report", "--leaks", "--suppressions=/", path);
    EXPECT(2, "", "--no-built-in-suppressions apply to --leaks", "report", "--suppressions=x", path);
    EXPECT(2, "", "--leaks cannot be combined with --spans", "report", "--leaks", "--spans", path);
    EXPECT(2, "", "--leaks cannot be combined with --by=size", "report", "--leaks", "--by=size", path);
}

/* 10 bytes become 1,000, then 600, which belong to the greatest size; 20 become 5 and stay where they were. */
static void resized_blocks_move_to_their_size_and_raise_the_peak(void **state)
{
    const char *path = in_folder("resized.tbed");
    struct tbed_writer *writer = open_writer(path, false);
    struct tbed_recorder *recorder = tbed_recorder_open(writer, "main");
    uint32_t site = intern(writer, "site");
    (void)state;
    tbed_alloc_record(recorder, site, TBED_FUNCTION_MALLOC, 0x1000, 10);
    tbed_alloc_record(recorder, site, TBED_FUNCTION_MALLOC, 0x2000, 20);
    tbed_resize_record(recorder, site, 0x1000, 1000);
    tbed_resize_record(recorder, site, 0x1000, 600);
    tbed_resize_record(recorder, site, 0x2000, 5);
    tbed_writer_close(writer);
    EXPECT(0, "\r\n9 to 16,0,0,0\r\n17 to 32,20,1,5\r\n513 to 1024,1000,1,600\r\n", "", "report",
           "--allocations", "--by=size", "--csv", "--columns=name,bytes,count,live", path);
    EXPECT(0, "\r\nsite,1020,2,605,1020\r\n", "", "report", "--allocations", "--csv",
           "--columns=name,bytes,count,live,peak", path);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(leaks_are_sorted_by_bytes),
        cmocka_unit_test(suppressed_leaks_are_listed),
        cmocka_unit_test(suppressions_of_valgrind_are_read),
        cmocka_unit_test(a_trace_without_allocations_does_not_pass_for_one_without_leaks),
        cmocka_unit_test(the_pool_of_a_real_program_is_built_in),
        cmocka_unit_test(sizes_and_lifetimes_have_columns),
        cmocka_unit_test(memory_over_time_is_a_chart),
        cmocka_unit_test(wrong_usage_is_exit_2),
        cmocka_unit_test(resized_blocks_move_to_their_size_and_raise_the_peak),
    };
    return cmocka_run_group_tests(tests, make_folder, remove_folder);
}
