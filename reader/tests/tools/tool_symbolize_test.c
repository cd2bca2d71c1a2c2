/*
 * tracebed symbolize: makes a trace readable on machines without its programs.
 *
 * SPDX-License-Identifier: MIT
 */
#include "reader/tests/tools/shell_run.h"
#include "reader/tests/tools/tool_run.h"

#include <tracebed/reader.h>

static const char source[] = "#include <stdlib.h>\n"
                             "static void *keep;\n"
                             "static inline __attribute__((always_inline)) void *inner(int n)\n"
                             "{\n"
                             "    return malloc((size_t)n);\n"
                             "}\n"
                             "__attribute__((noinline)) void outer(int n)\n"
                             "{\n"
                             "    keep = inner(n);\n"
                             "}\n"
                             "int main(int argc, char **argv)\n"
                             "{\n"
                             "    (void)argv;\n"
                             "    for (int i = 1; i < 100; i++)\n"
                             "        outer(i * argc);\n"
                             "    return keep == NULL;\n"
                             "}\n";

/* The subject, and a trace of it: folder/subject, folder/run.tbed. False: there is no compiler. */
static bool record_subject(void)
{
    write_whole(in_folder("subject.c"), source, strlen(source));
    if (!shell_run(run_folder, "gcc -g -O2 -Wl,--build-id=sha1 -o subject subject.c"))
        return false;
    EXPECT(0, "", "", "record", "-f", "-o", in_folder("run.tbed"), "--", in_folder("subject"));
    return true;
}

/* Where the subject cannot be found. */
static void hide_subject(void)
{
    assert_true(shell_run(run_folder, "rm -f subject"));
}

static size_t file_nbytes(const char *path)
{
    struct stat status;
    assert_int_equal(stat(path, &status), 0);
    return (size_t)status.st_size;
}

static void a_symbolized_trace_is_read_without_its_program(void **state)
{
    (void)state;
    if (!record_subject())
        skip();
    const char *trace = in_folder("run.tbed");
    EXPECT(0, "locations added", NULL, "symbolize", trace);
    hide_subject();
    EXPECT(0, "inner ", NULL, "report", "--allocations", trace);
    EXPECT(0, "subject.c:5", NULL, "report", "--allocations", trace);
    EXPECT(0, "  outer /", NULL, "report", "--allocations", "--by=symbol", trace);
    EXPECT(0, "subject.c:5", NULL, "dump", trace);
    EXPECT(0, "with functions and lines", NULL, "info", trace);
    EXPECT(0, "intact", "", "verify", trace);
}

static struct run run_on(const char *const *verb, const char *trace)
{
    const char *words[8] = {NULL};
    size_t count = 0;
    for (; verb[count] != NULL; count++)
        words[count] = verb[count];
    words[count] = trace;
    return run_with(&(struct run_with){0}, words);
}

/* A function's name is that of its symbol, whether lines are known or not, and whichever source provides it. */
static void functions_have_one_name_before_and_after(void **state)
{
    static const char *const verbs[][6] = {
        {"report", "--allocations", "--by=function", "--limit=0"},
        {"flame", "--weight=bytes", "--folded", "-o", "-"},
        {"flame", "--weight=count", "--folded", "-o", "-"},
    };
    struct run before[3], after;
    (void)state;
    if (!record_subject())
        skip();
    const char *trace = in_folder("run.tbed");
    EXPECT(0, "", "", "record", "-f", "--stacks", "-o", trace, "--", in_folder("subject"));
    for (size_t i = 0; i < 3; i++) {
        before[i] = run_on(verbs[i], trace);
        assert_int_equal(before[i].exit, 0);
        assert_says(before[i].out, "outer /");
    }
    assert_says(before[1].out, "__libc_start_main");
    assert_silent_on(before[1].out, "__libc_start_main_impl");
    EXPECT(0, "locations added", NULL, "symbolize", trace);
    for (size_t i = 0; i < 3; i++) {
        after = run_on(verbs[i], trace);
        assert_string_equal(after.out, before[i].out);
        end_run(&before[i]);
        end_run(&after);
    }
}

static void a_second_time_adds_nothing(void **state)
{
    (void)state;
    if (!record_subject())
        skip();
    const char *trace = in_folder("run.tbed");
    EXPECT(0, "locations added", NULL, "symbolize", trace);
    size_t nbytes = file_nbytes(trace), before_nbytes, after_nbytes;
    char *before = read_whole(trace, &before_nbytes);
    EXPECT(0, "nothing to add", NULL, "symbolize", trace);
    char *after = read_whole(trace, &after_nbytes);
    assert_int_equal(file_nbytes(trace), nbytes);
    assert_int_equal(before_nbytes, after_nbytes);
    assert_memory_equal(before, after, before_nbytes);
    free(before);
    free(after);
}

static void a_copy_leaves_the_trace_as_it_was(void **state)
{
    size_t before_nbytes, after_nbytes;
    (void)state;
    if (!record_subject())
        skip();
    const char *trace = in_folder("run.tbed"), *copy = in_folder("copy.tbed");
    char *before = read_whole(trace, &before_nbytes);
    EXPECT(0, "locations added", NULL, "symbolize", trace, "-o", copy);
    EXPECT(2, "", "Use --force to replace it", "symbolize", trace, "-o", copy);
    EXPECT(0, "locations added", NULL, "symbolize", "-f", "--no-inlines", trace, "-o", copy);
    char *after = read_whole(trace, &after_nbytes);
    assert_int_equal(before_nbytes, after_nbytes);
    assert_memory_equal(before, after, before_nbytes);
    free(before);
    free(after);
    hide_subject();
    EXPECT(0, "  inner /", NULL, "report", "--allocations", "--by=symbol", copy);
}

static void what_cannot_be_found_is_told(void **state)
{
    (void)state;
    if (!record_subject())
        skip();
    hide_subject();
    EXPECT(0, "0 of ", "neither it nor its debug file was found", "symbolize", in_folder("run.tbed"));
    EXPECT(2, "", "missing FILE operand", "symbolize");
    EXPECT(2, "", "FILE must be a file", "symbolize", "-");
}

static void a_debug_directory_is_looked_into(void **state)
{
    (void)state;
    if (!record_subject())
        skip();
    assert_true(shell_run(run_folder,
                          "i=$(readelf -n subject | sed -n 's/.*Build ID: //p') && a=${i%%${i#??}} && "
                          "mkdir -p debug/.build-id/$a && mv subject debug/.build-id/$a/${i#??}.debug"));
    char option[600];
    snprintf(option, sizeof option, "--debug-dir=%s/debug", run_folder);
    EXPECT(0, "locations added", NULL, "symbolize", option, in_folder("run.tbed"));
    EXPECT(0, "subject.c:5", NULL, "report", "--allocations", in_folder("run.tbed"));
}

/* No event, no process, no stream is added. */
static void an_annotation_adds_no_process(void **state)
{
    struct tbed_writer_options options = {.size = sizeof options, .join = true, .annotate = true};
    struct tbed_writer *writer;
    struct tbed_reader *reader;
    struct tbed_process_info process;
    struct tbed_location location;
    struct tbed_frame_info frame;
    (void)state;
    const char *path = in_folder("given.tbed"); /* from a clock that this machine does not have */
    assert_true(shell_run(run_folder, "cp $OLDPWD/spec/golden/valid/given.tbed %s", path));
    assert_int_equal(tbed_writer_open(path, &options, &writer, NULL), TBED_OK);
    struct tbed_frame_names names[2] = {{tbed_string_intern(writer, "f", 1), TBED_ID_INVALID, 7}, {0}};
    tbed_location_describe(writer, 1000, names, 2);
    tbed_location_describe(writer, 1000, names, 1);
    tbed_location_describe(writer, 1000, names, TBED_FRAMES_MAX + 1);
    assert_int_equal(tbed_writer_drop_count(writer, TBED_DROP_TOO_LARGE), 1);
    tbed_writer_close(writer);
    assert_int_equal(tbed_reader_open(path, NULL, &reader, NULL), TBED_OK);
    assert_int_equal(tbed_reader_verify(reader), TBED_OK);
    size_t processes = 0;
    while (tbed_process_get(reader, processes, &process))
        processes++;
    assert_int_equal(processes, 1);
    assert_true(tbed_location_resolve(reader, 1000, &location));
    assert_int_equal(location.frame_count, 1);
    assert_true(tbed_location_frame(&location, 0, &frame));
    assert_int_equal(frame.line, 7);
    tbed_reader_close(reader);
    options.join = false;
    assert_int_equal(tbed_writer_open(path, &options, &writer, NULL), TBED_ERR_ARGUMENT);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(a_symbolized_trace_is_read_without_its_program),
        cmocka_unit_test(functions_have_one_name_before_and_after),
        cmocka_unit_test(a_second_time_adds_nothing),
        cmocka_unit_test(a_copy_leaves_the_trace_as_it_was),
        cmocka_unit_test(what_cannot_be_found_is_told),
        cmocka_unit_test(a_debug_directory_is_looked_into),
        cmocka_unit_test(an_annotation_adds_no_process),
    };
    return cmocka_run_group_tests(tests, make_folder, remove_folder);
}
