/*
 * Memory by the type of the objects: in reports, dumps and tables, and in traces made from traces.
 *
 * SPDX-License-Identifier: MIT
 */
#include "reader/tests/tools/tool_run.h"

#include <tracebed/analysis.h>

static uint32_t stacks[2], types[2];

/* 100 B and 28 B of String in two stacks, 1,000 B of Array in one, 50 B without a type; 28 B are freed. */
static const char *record_classes(const char *file)
{
    const char *path = in_folder(file);
    struct tbed_writer *writer = open_writer(path, false);
    struct tbed_recorder *recorder = tbed_recorder_open(writer, "main");
    uint32_t outer = tbed_stack_intern(writer, TBED_ID_INVALID, intern(writer, "main"));
    stacks[0] = tbed_stack_intern(writer, outer, intern(writer, "parse"));
    stacks[1] = tbed_stack_intern(writer, outer, intern(writer, "load"));
    types[0] = intern(writer, "String");
    types[1] = intern(writer, "Array");
    uint32_t text = tbed_typed_intern(writer, stacks[0], types[0]);
    tbed_alloc_record(recorder, text, TBED_FUNCTION_NEW, 0x1000, 100);
    tbed_alloc_record(recorder, tbed_typed_intern(writer, stacks[1], types[0]), TBED_FUNCTION_NEW, 0x2000,
                      28);
    tbed_alloc_record(recorder, tbed_typed_intern(writer, stacks[1], types[1]), TBED_FUNCTION_NEW, 0x3000,
                      1000);
    tbed_alloc_record(recorder, stacks[0], TBED_FUNCTION_NEW, 0x4000, 50);
    tbed_free_record(recorder, text, TBED_FUNCTION_NEW, 0x2000);
    tbed_writer_close(writer);
    return path;
}

static void expect_classes(const char *path)
{
    EXPECT(0, "\r\nArray,1000,1,1000\r\nString,128,2,100\r\n(unknown),50,1,50\r\n", "", "report",
           "--allocations", "--by=class", "--csv", "--columns=name,bytes,count,live", path);
    EXPECT(0, "\r\n\"load\nmain\",1028\r\n\"parse\nmain\",150\r\n", "", "report", "--allocations",
           "--by=stack", "--csv", "--columns=name,bytes", path);
    EXPECT(0, "\r\nload,1028\r\nparse,150\r\n", "", "report", "--allocations", "--csv",
           "--columns=name,bytes", path);
}

static void classes_are_added_up(void **state)
{
    const char *path = record_classes("classes.tbed");
    (void)state;
    expect_classes(path);
    EXPECT(0, "  class\n", "", "report", "--by=class", path);
    EXPECT(0,
           "\"leaks\":[{\"name\":\"Array\",\"bytes\":1000,\"count\":1},{\"name\":\"String\",\"bytes\":100,"
           "\"count\":1},"
           "{\"name\":\"(unknown)\",\"bytes\":50,\"count\":1}]",
           "", "report", "--leaks", "--by=class", "--json", path);
}

static void memory_is_added_up_by_gem(void **state)
{
    static const char *const files[] = {"/usr/lib/ruby/gems/3.1.0/gems/json-2.6.1/lib/json.rb",
                                        "/var/lib/gems/3.1.0/gems/rack-3.0.0/lib/rack.rb",
                                        "/usr/lib/ruby/vendor_ruby/rubocop/cop.rb",
                                        "/usr/lib/ruby/vendor_ruby/rubocop.rb",
                                        "/usr/lib/ruby/3.1.0/set.rb",
                                        "<internal:kernel>",
                                        "/home/me/app.rb"};
    const char *path = in_folder("gems.tbed");
    struct tbed_writer *writer = open_writer(path, false);
    struct tbed_recorder *recorder = tbed_recorder_open(writer, "main");
    (void)state;
    for (uint32_t i = 0; i < sizeof files / sizeof files[0]; i++) {
        struct tbed_unit_options unit = {
            .size = sizeof unit, .kind = TBED_UNIT_BYTECODE, .pc_count = 1, .name = "run", .file = files[i]};
        uint32_t id = tbed_typed_intern(writer, tbed_unit_register(writer, &unit), intern(writer, "String"));
        tbed_alloc_record(recorder, id, TBED_FUNCTION_UNKNOWN, 4096 + 64 * i, (uint64_t)1 << (10 - i));
    }
    tbed_writer_close(writer);
    EXPECT(0, "\r\njson-2.6.1,1024\r\nrack-3.0.0,512\r\nrubocop,384\r\nstdlib,96\r\n(none),16\r\n", "",
           "report", "--allocations", "--by=gem", "--csv", "--columns=name,bytes", path);
    EXPECT(0, "\r\nrun /home/me/app.rb,16\r\n", "", "report", "--allocations", "--by=method", "--csv",
           "--columns=name,bytes", path);
}

static void events_are_dumped_with_their_class(void **state)
{
    const char *path = record_classes("dump.tbed");
    (void)state;
    EXPECT(0, "new 1000 B at 0x3000  load (Array)\n", "", "dump", path);
    EXPECT(0, "\"size\":1000,\"allocator\":5,\"class\":\"Array\"}", "", "dump", "--json", path);
    EXPECT(0, "0x4000  parse\n", "", "dump", path);
}

static void table_of_allocations_has_the_class_and_the_stack(void **state)
{
    const char *path = record_classes("table.tbed");
    (void)state;
    EXPECT(0, "3,0\r\n", "", "sql", "--csv", path,
           "SELECT count(*), sum(id NOT IN (SELECT id FROM stacks)) FROM stacks");
    EXPECT(0, "4,4\r\n", "", "sql", "--csv", path,
           "SELECT count(*), sum(stack_id IN (SELECT id FROM stacks)) FROM allocations");
    EXPECT(0, "\r\nArray,1000\r\nString,128\r\n", "", "sql", "--csv", path,
           "SELECT class, sum(size) FROM allocations WHERE class IS NOT NULL GROUP BY 1 ORDER BY 2 DESC");
}

static void make(struct run run)
{
    assert_int_equal(run.exit, 0);
    end_run(&run);
}

static void copies_have_the_classes(void **state)
{
    const char *path = record_classes("copied.tbed"), *copy = in_folder("copy.tbed");
    (void)state;
    make(RUN("cut", "-o", copy, path));
    expect_classes(copy);
    make(RUN("pack", "-f", "-o", copy, path));
    expect_classes(copy);
}

/* Each trace has its own ids for the pairs. */
static void merged_traces_add_up_their_classes(void **state)
{
    const char *path = record_classes("one.tbed"), *other = record_classes("other.tbed"),
               *merged = in_folder("merged.tbed");
    (void)state;
    make(RUN("merge", "-o", merged, path, other));
    EXPECT(0, "\r\nArray,2000\r\nString,256\r\n(unknown),100\r\n", "", "report", "--allocations",
           "--by=class", "--csv", "--columns=name,bytes", merged);
}

static void classes_apply_to_allocations_alone(void **state)
{
    const char *path = record_classes("options.tbed");
    struct tbed_analysis_options options = {.size = sizeof options, .by_class = true, .by_stack = true};
    struct tbed_allocations *allocations;
    struct tbed_reader *reader;
    (void)state;
    assert_int_equal(tbed_reader_open(path, NULL, &reader, NULL), TBED_OK);
    assert_int_equal(tbed_allocations_make(reader, &options, &allocations), TBED_ERR_ARGUMENT);
    options.by_stack = false;
    options.by_size = true;
    assert_int_equal(tbed_allocations_make(reader, &options, &allocations), TBED_ERR_ARGUMENT);
    tbed_reader_close(reader);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(classes_are_added_up),
        cmocka_unit_test(memory_is_added_up_by_gem),
        cmocka_unit_test(events_are_dumped_with_their_class),
        cmocka_unit_test(table_of_allocations_has_the_class_and_the_stack),
        cmocka_unit_test(copies_have_the_classes),
        cmocka_unit_test(merged_traces_add_up_their_classes),
        cmocka_unit_test(classes_apply_to_allocations_alone),
    };
    return cmocka_run_group_tests(tests, make_folder, remove_folder);
}
