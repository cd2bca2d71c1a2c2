/*
 * tracebed report --by: what a row stands for.
 *
 * SPDX-License-Identifier: MIT
 */
#include "reader/tests/tools/tool_run.h"

struct given {
    const char *name;
    uint64_t begin, end; /* ms */
};

static const char *make_spans(const char *name, const struct given *spans, size_t count)
{
    const char *path = in_folder(name);
    struct tbed_writer *writer = open_given_writer(path, 1000);
    struct tbed_recorder *recorder = tbed_recorder_open(writer, "main");
    for (size_t i = 0; i < count; i++) {
        struct tbed_given_event event = {.type = TBED_GIVEN_SPAN,
                                         .id = intern(writer, spans[i].name),
                                         .category = TBED_ID_INVALID,
                                         .begin_tick = spans[i].begin,
                                         .tick = spans[i].end};
        tbed_event_record_given(recorder, &event);
        event.type = TBED_GIVEN_INSTANT;
        tbed_event_record_given(recorder, &event);
    }
    tbed_writer_close(writer);
    return path;
}
#define SPANS(name, spans) make_spans(name, spans, sizeof(spans) / sizeof(spans)[0])

/* The rows of a table as CSV has them, without the heading. */
static void expect_rows(const char *path, const char *table, const char *by, const char *columns,
                        const char *rows)
{
    struct run run = RUN("report", table, "--csv", by, columns, path);
    const char *line = strchr(run.out, '\n');
    assert_int_equal(run.exit, 0);
    assert_string_equal(run.err, "");
    assert_string_equal(line != NULL ? line + 1 : "", rows);
    end_run(&run);
}

static void parts_of_names_are_rows(void **state)
{
    static const struct given spans[] = {{"sw (ann) SwDoc::Load", 0, 10},
                                         {"sw (bob) SwDoc::Save", 20, 25},
                                         {"vcl (ann) Window::Paint", 30, 33},
                                         {"plain", 40, 41}};
    const char *path = SPANS("parts.tbed", spans);
    (void)state;
    expect_rows(path, "--spans", "--by=module", "--columns=name,total",
                "sw,15000000\r\nvcl,3000000\r\nplain,1000000\r\n");
    expect_rows(path, "--spans", "--by=author", "--columns=name,total",
                "ann,13000000\r\nbob,5000000\r\nplain,1000000\r\n");
    expect_rows(path, "--spans", "--by=function", "--columns=name,total",
                "SwDoc::Load,10000000\r\nSwDoc::Save,5000000\r\nWindow::Paint,3000000\r\nplain,1000000\r\n");
    expect_rows(path, "--spans", "--by=scope", "--columns=name,total",
                "sw (ann) SwDoc::Load,10000000\r\nsw (bob) SwDoc::Save,5000000\r\n"
                "vcl (ann) Window::Paint,3000000\r\nplain,1000000\r\n");
}

static void units_of_time_are_rows_in_order(void **state)
{
    static const struct given spans[] = {
        {"late", 3601000, 3601001}, {"a", 0, 5}, {"b", 2, 3}, {"c", 1500, 1600}, {"d", 61000, 61007}};
    static const struct given few[] = {{"b", 2, 3}, {"c", 1500, 1600}, {"a", 0, 5}};
    const char *path = SPANS("times.tbed", spans), *short_path = SPANS("short.tbed", few);
    (void)state;
    expect_rows(path, "--spans", "--by=hour", "--columns=start,count,total",
                "0,4,113000000\r\n3600000000000,1,1000000\r\n0,4,\r\n3600000000000,1,\r\n");
    expect_rows(path, "--spans", "--by=minute", "--columns=name,total",
                "0 s,106000000\r\n60 s,7000000\r\n3600 s,1000000\r\n");
    expect_rows(path, "--spans", "--by=second", "--columns=name,total",
                "0 s,6000000\r\n1 s,100000000\r\n61 s,7000000\r\n3601 s,1000000\r\n");
    expect_rows(short_path, "--spans", "--by=millisecond", "--columns=name,total",
                "0.000 s,5000000\r\n0.002 s,1000000\r\n1.500 s,100000000\r\n");
    EXPECT(0, "{\"start_ns\":0,\"name\":\"0 s\",\"count\":4,", "", "report", "--json", "--by=hour", path);
    EXPECT(0, "\"instants\":[{\"start_ns\":0,\"name\":\"0 s\",\"count\":4}", "", "report", "--json",
           "--by=hour", path);
}

/* The table of a profile has no percentiles, which saves time; all others have them. */
static void complete_spans_have_percentiles_by_thread(void **state)
{
    static const struct given spans[] = {{"a", 0, 40}, {"b", 50, 90}};
    const char *path = SPANS("percentiles.tbed", spans);
    (void)state;
    EXPECT(0, "40 ms      40 ms      40 ms      40 ms      40 ms  main", "", "report", "--by=thread", path);
    EXPECT(0, "| a    | 40.00ms   | 44.444", "", "report", "--by=argument", path);
}

static void a_million_parts_of_the_time_are_too_many(void **state)
{
    static const struct given most[] = {{"a", 0, 1}, {"b", 1, 999999}},
                              more[] = {{"a", 0, 1}, {"b", 1, 1000000}};
    (void)state;
    EXPECT(0, "begins at", "", "report", "--by=millisecond", SPANS("most.tbed", most));
    EXPECT(2, "", "more than a million parts", "report", "--by=millisecond", SPANS("more.tbed", more));
}

/* Strings that stand for places: "parse" and "scan" in one file, "load" in another, "?" nowhere. */
static void describe(struct tbed_writer *writer, const char *name, const char *file, uint32_t line)
{
    struct tbed_frame_names frame = {intern(writer, name), intern(writer, file), line};
    tbed_location_describe(writer, intern(writer, name), &frame, 1);
}

static void files_of_allocations_and_spans_are_rows(void **state)
{
    static const char *const sites[] = {"parse", "scan", "load", "nowhere"};
    const char *path = in_folder("files.tbed");
    struct tbed_writer *writer = open_writer(path, true);
    struct tbed_recorder *recorder = tbed_recorder_open(writer, "main");
    (void)state;
    describe(writer, "parse", "/src/parse.c", 3);
    describe(writer, "scan", "/src/parse.c", 9);
    describe(writer, "load", "/src/load.c", 7);
    for (uint32_t i = 0; i < 4; i++) {
        uint32_t id = intern(writer, sites[i]);
        tbed_alloc_record(recorder, id, TBED_FUNCTION_MALLOC, 0x1000 * (i + 1), (uint64_t)100 << i);
        tbed_span_begin(recorder, id);
        tbed_span_end(recorder);
    }
    tbed_writer_close(writer);
    expect_rows(path, "--allocations", "--by=file", "--columns=name,bytes",
                "test,1500\r\n<no file>,800\r\n/src/load.c,400\r\n/src/parse.c,300\r\n");
    expect_rows(path, "--spans", "--by=file", "--columns=name,count",
                "/src/parse.c,2\r\n/src/load.c,1\r\n<no file>,1\r\n");
    EXPECT(0, "[{\"name\":\"/src/parse.c\",\"count\":2,", "", "report", "--spans", "--json", "--by=file",
           path);
    EXPECT(0, "  file\n", "", "report", "--allocations", "--by=file", path);
    EXPECT(0, "  file\n", "", "report", "--spans", "--by=file", path);
    EXPECT(0, "  location\n", "", "report", "--spans", "--by=location", path);
    EXPECT(0, "{\"name\":\"/src/parse.c:3\",\"count\":1,", "", "report", "--spans", "--json", "--by=location",
           path);
    expect_rows(path, "--spans", "--by=location", "--columns=name,count",
                "/src/load.c:7,1\r\n/src/parse.c:3,1\r\n/src/parse.c:9,1\r\n<no location>,1\r\n");
}

static void headings_say_what_rows_stand_for(void **state)
{
    static const char *const options[] = {"--by=thread", "--by=process", "--by=category", "--by=location",
                                          "--by=file"};
    const char *path = make_small("headings.tbed", true);
    (void)state;
    for (size_t i = 0; i < sizeof options / sizeof options[0]; i++) {
        char heading[32];
        snprintf(heading, sizeof heading, "  %s\n", options[i] + strlen("--by="));
        EXPECT(0, heading, "", "report", options[i], path);
    }
    static const struct heap_event events[] = {{"site", 0x1000, 10}};
    const char *heap = HEAP("heap.tbed", events);
    EXPECT(0, "  symbol\n", "", "report", "--by=symbol", heap);
    EXPECT(0, "  module\n", "", "report", "--by=module", heap);
    EXPECT(0, "  site\n", "", "report", "--by=site", heap);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(parts_of_names_are_rows),
        cmocka_unit_test(units_of_time_are_rows_in_order),
        cmocka_unit_test(complete_spans_have_percentiles_by_thread),
        cmocka_unit_test(a_million_parts_of_the_time_are_too_many),
        cmocka_unit_test(files_of_allocations_and_spans_are_rows),
        cmocka_unit_test(headings_say_what_rows_stand_for),
    };
    return cmocka_run_group_tests_name("tool_by", tests, make_folder, remove_folder);
}
