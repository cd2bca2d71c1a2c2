/*
 * tracebed flame: folded stacks equal those of measureme's own tool if its output is available, and the drawing is
 * valid XML with the contents of the stacks, whatever the spans' names.
 *
 * SPDX-License-Identifier: MIT
 */
#include "reader/tests/tools/tool_run.h"

#define TRACES "../shared/traces" /* is not everywhere: what needs it is skipped without it */

/* Nested spans of these names, one clock step of 10 each way; NULL ends. */
static const char *make_nested(const char *name, const char *const names[])
{
    const char *path = in_folder(name);
    struct tbed_writer *writer = open_writer(path, true);
    struct tbed_recorder *recorder = tbed_recorder_open(writer, "main");
    size_t count = 0;
    for (; names[count] != NULL; count++)
        tbed_span_begin(recorder, intern(writer, names[count]));
    for (size_t i = 0; i < count; i++)
        tbed_span_end(recorder);
    tbed_writer_close(writer);
    return path;
}
#define NESTED(name, ...) make_nested(name, (const char *const[]){__VA_ARGS__, NULL})

/* ---- Folded stacks ---- */

static void folded_stacks_are_paths_and_self_times(void **state)
{
    (void)state;
    EXPECT(0, "test 0\ntest;a 20\ntest;a;b 20\ntest;a;b;c 10\n", "", "flame", "--folded",
           NESTED("abc.tbed", "a", "b", "c"));
}

static void marks_of_the_folded_form_are_escaped_in_labels(void **state)
{
    (void)state;
    struct run run = RUN("flame", "--folded", NESTED("marks.tbed", "a;b c", "caf\xC3\xA9"));
    assert_string_equal(run.out, "test 0\ntest;a\\x3bb c 20\ntest;a\\x3bb c;caf\xC3\xA9 10\n");
    end_run(&run);
}

static void threads_and_roots_are_as_asked_for(void **state)
{
    (void)state;
    const char *path = NESTED("threads.tbed", "a");
    EXPECT(0, "test 0\ntest;main 0\ntest;main;a 10\n", "", "flame", "--folded", "--per-thread", path);
    EXPECT(0, "r 0\nr;a 10\n", "", "flame", "--folded", "--root=r", path);
    EXPECT(0, "test;a 10\n", "", "flame", "--folded", "--stream=2", path);
    EXPECT(2, "", "no such stream, thread or process", "flame", "--folded", "--stream=77", path);
}

static int compare_lines(const void *left, const void *right)
{
    return strcmp(*(char *const *)left, *(char *const *)right);
}

/* The lines of 'text' in the order of their bytes; 'text' is taken apart. */
static char **sort_lines(char *text, size_t *count_ret)
{
    size_t count = 0;
    char **lines = calloc(count_lines(text) + 1, sizeof *lines);
    assert_non_null(lines);
    for (char *line = strtok(text, "\n"); line != NULL; line = strtok(NULL, "\n"))
        lines[count++] = line;
    qsort(lines, count, sizeof *lines, compare_lines);
    *count_ret = count;
    return lines;
}

static void expect_reference(const char *trace, const char *reference)
{
    struct run run = RUN("flame", "--folded", trace);
    char *expected = read_whole(reference, NULL);
    size_t count, expected_count;
    assert_int_equal(run.exit, 0);
    char **lines = sort_lines(run.out, &count), **expected_lines = sort_lines(expected, &expected_count);
    assert_int_equal(count, expected_count);
    assert_true(count > 900);
    for (size_t i = 0; i < count; i++)
        assert_string_equal(lines[i], expected_lines[i]);
    free(lines);
    free(expected_lines);
    free(expected);
    end_run(&run);
}

static void folded_stacks_equal_those_of_measureme(void **state)
{
    (void)state;
    static const char *const names[] = {"v8_hello", "v9_hello", "v9_hello_args", "v9_quick_xml_args",
                                        "v8_object_incr2"};
    if (access(TRACES, R_OK) != 0)
        skip();
    for (size_t i = 0; i < sizeof names / sizeof names[0]; i++) {
        char path[512], reference[512], command[1200];
        snprintf(path, sizeof path, TRACES "/%s.mm_profdata", names[i]);
        snprintf(reference, sizeof reference, TRACES "/ref/%s/stacks_folded.sorted", names[i]);
        if (access(path, R_OK) != 0) {
            snprintf(command, sizeof command, "zstd -dqf %s.zst -o %s", path, in_folder("unpacked"));
            if (system(command) != 0)
                continue;
            snprintf(path, sizeof path, "%s", in_folder("unpacked"));
        }
        expect_reference(path, reference);
    }
}

/* The made-up files where the reference's numbers have not wrapped around, and no label has a ';' in it. */
static void folded_stacks_of_odd_profiles_equal_those_of_measureme(void **state)
{
    (void)state;
    static const char *const names[] = {
        "a_nested",      "d_same_interval",   "e_zero",      "f_recursion",       "g_unknown_id",
        "h_empty_label", "i_multi_args",      "j_artifacts", "k_hits_count",      "l_kinds",
        "m_hash_nested", "n_hash_hidden_col", "o_no_events", "p_only_integer",    "q_threads",
        "s_48bit",       "u_time_fmt",        "w_ties",      "x_last_index_wins", "y_v8",
        "za_instr"};
    if (access(TRACES, R_OK) != 0)
        skip();
    for (size_t i = 0; i < sizeof names / sizeof names[0]; i++) {
        char path[512], reference[512];
        snprintf(path, sizeof path, TRACES "/synth/%s.mm_profdata", names[i]);
        snprintf(reference, sizeof reference, TRACES "/ref/synth/%s.stacks", names[i]);
        struct run run = RUN("flame", "--folded", path);
        char *expected = read_whole(reference, NULL), *lines = strstr(expected, "rustc ");
        size_t count, expected_count;
        assert_int_equal(run.exit, 0);
        assert_non_null(lines);
        char **found = sort_lines(run.out, &count), **wanted = sort_lines(lines, &expected_count);
        assert_int_equal(count, expected_count);
        for (size_t line = 0; line < count; line++)
            assert_string_equal(found[line], wanted[line]);
        free(found);
        free(wanted);
        free(expected);
        end_run(&run);
    }
}

static void nanoseconds_are_exact(void **state)
{
    (void)state;
    const char *path = in_folder("exact.tbed");
    struct tbed_writer_options options = {.size = sizeof options,
                                          .overwrite = true,
                                          .given_ticks = true,
                                          .given_ticks_per_second = 1000000000,
                                          .process_name = "test"};
    struct tbed_writer *writer = NULL;
    assert_int_equal(tbed_writer_open(path, &options, &writer, NULL), TBED_OK);
    struct tbed_given_event event = {.type = TBED_GIVEN_SPAN,
                                     .id = intern(writer, "a"),
                                     .category = TBED_ID_INVALID,
                                     .tick = 6152480083283361};
    tbed_event_record_given(tbed_recorder_open_given(writer, NULL, 1), &event);
    tbed_writer_close(writer);
    EXPECT(0, "test;a 6152480083283361\n", "", "flame", "--folded",
           path); /* above 2^52, where + 0.5 rounds */
}

static void what_does_not_nest_is_told(void **state)
{
    (void)state;
    if (access(TRACES, R_OK) != 0)
        skip();
    EXPECT(0, "rustc;p 0\n",
           "stacks with less time than the spans nested in them, whose own time is counted as 0: 1", "flame",
           "--folded", TRACES "/synth/b_overlap_siblings.mm_profdata");
    EXPECT(0, "rustc;a 0\n", "spans that end before they begin, counted with no time: 1", "flame", "--folded",
           TRACES "/synth/t_inverted.mm_profdata");
}

/* ---- The drawing ---- */

static void expect_xml(const char *path)
{
    char command[700];
    snprintf(command, sizeof command,
             "python3 -c 'import sys, xml.dom.minidom as x; d = x.parse(sys.argv[1]); "
             "sys.exit(d.documentElement.tagName != \"svg\")' %s",
             path);
    assert_int_equal(system(command), 0);
}

static void drawing_has_each_stack_with_its_share(void **state)
{
    (void)state;
    const char *trace = NESTED("draw.tbed", "a", "b", "c"), *drawing = in_folder("draw.svg");
    EXPECT(0, "draw.svg: 4 frames drawn, 0 too narrow\n", "", "flame", trace);
    char *svg = read_whole(drawing, NULL);
    expect_xml(drawing);
    assert_says(svg, "50 steps in 1 thread: 3 spans</text>");
    assert_says(svg, "<title>test\n50 steps, 100.00 % of all; itself 0 steps; 1 thread</title>");
    assert_says(svg, "<g class=\"f\" data-x=\"0.000000000\" data-w=\"0.600000000\" data-d=\"2\"><title>b\n"
                     "30 steps, 60.00 % of all, 60.00 % of its parent; itself 20 steps; 1 span</title>"
                     "<rect x=\"10.00\" y=\"108\" width=\"708.00\"");
    assert_silent_on(svg, "http://www.w3.org/1999/xlink");
    free(svg);
}

static void an_existing_drawing_is_kept_unless_forced(void **state)
{
    (void)state;
    const char *trace = NESTED("keep.tbed", "a"), *drawing = in_folder("keep.svg");
    write_whole(drawing, "mine", 4);
    EXPECT(2, "", "exists already", "flame", trace);
    char *kept = read_whole(drawing, NULL);
    assert_string_equal(kept, "mine");
    free(kept);
    EXPECT(0, "frames drawn", "", "flame", "-f", trace);
    expect_xml(drawing);
    EXPECT(0, "</svg>\n", "", "flame", "-o", "-", trace);
    EXPECT(2, "", "cannot be opened", "flame", "-o", "/nonexistent/x.svg", trace);
}

static void what_is_no_file_is_neither_written_nor_removed(void **state)
{
    (void)state;
    const char *device = in_folder("full.svg");
    struct stat status;
    assert_int_equal(symlink("/dev/full", device), 0);
    EXPECT(2, "", "not a regular file", "flame", "-f", "-o", device, NESTED("full.tbed", "a"));
    assert_int_equal(lstat(device, &status), 0);
}

static void hostile_names_are_text(void **state)
{
    (void)state;
    const char *trace = NESTED("hostile.tbed", "</title><script>alert(1)</script>&\"'", "]]>",
                               "a\xEF\xBF\xBF"
                               "b",
                               "\xE2\x80\xAE"
                               "reversed");
    EXPECT(0, "5 frames drawn", "", "flame", trace);
    expect_xml(in_folder("hostile.svg"));
    char *svg = read_whole(in_folder("hostile.svg"), NULL);
    assert_says(svg, "<title>&lt;/title&gt;&lt;script&gt;alert(1)&lt;/script&gt;&amp;&quot;'\n");
    assert_says(svg, "<title>]]&gt;\n");
    assert_says(svg, "<title>a\\xef\\xbf\\xbfb\n");
    assert_says(svg, "<title>\\xe2\\x80\\xaereversed\n");
    free(svg);
}

static void narrow_frames_are_left_out_and_counted(void **state)
{
    (void)state;
    const char *trace = NESTED("narrow.tbed", "a", "b", "c");
    EXPECT(0, "narrow.svg: 2 frames drawn, 2 too narrow\n", "", "flame", "-m", "61", trace);
    char *svg = read_whole(in_folder("narrow.svg"), NULL);
    assert_says(svg, "2 stacks of less than 61 % are not drawn.");
    assert_silent_on(svg, "<title>b\n");
    free(svg);
    EXPECT(2, "", "-m takes a percentage", "flame", "-m", "101", trace);
    EXPECT(2, "", "-m takes a percentage", "flame", "-m", "nan", trace);
}

static void times_of_all_sizes_are_drawn(void **state)
{
    (void)state;
    EXPECT(0, "</svg>\n", "spans that end before they begin", "flame", "-o", "-",
           "spec/golden/valid/given.tbed");
}

static void a_trace_without_spans_says_so(void **state)
{
    (void)state;
    const char *path = in_folder("empty.tbed");
    struct tbed_writer *writer = open_writer(path, true);
    struct tbed_recorder *recorder = tbed_recorder_open(writer, "main");
    tbed_alloc_record(recorder, intern(writer, "site"), TBED_FUNCTION_MALLOC, 0x1000, 8);
    tbed_writer_close(writer);
    EXPECT(2, "", "no spans to draw: nothing was written", "flame", path);
    EXPECT(0, "", "to see its contents", "flame", "--folded", path);
    assert_int_equal(access(in_folder("empty.svg"), F_OK), -1);
}

static void spans_that_never_ended_are_told(void **state)
{
    (void)state;
    const char *path = in_folder("open.tbed");
    struct tbed_writer *writer = open_writer(path, true);
    struct tbed_recorder *recorder = tbed_recorder_open(writer, "main");
    tbed_span_begin(recorder, intern(writer, "main"));
    tbed_span_begin(recorder, intern(writer, "a"));
    tbed_span_end(recorder);
    tbed_writer_close(writer);
    EXPECT(0, "test;main 10\ntest;main;a 10\n",
           "spans that never ended, drawn until their threads' last events: 1", "flame", "--folded", path);
}

static void damage_is_told_and_the_rest_is_drawn(void **state)
{
    (void)state;
    size_t nbytes;
    const char *path = NESTED("damaged.tbed", "a");
    char *bytes = read_whole(path, &nbytes);
    bytes[370] ^= 1; /* one of the zeros that all writers share */
    write_whole(path, bytes, nbytes);
    free(bytes);
    EXPECT(1, ";a 10\n", "damaged in", "flame", "--folded", path);
    EXPECT(1, "rustc;", "PROFILE_CUT, offset", "flame", "--folded",
           "spec/golden/measureme/CUT_event.mm_profdata");
}

int main(void)
{
#define TEST(name) cmocka_unit_test(name)
    const struct CMUnitTest tests[] = {
        TEST(folded_stacks_are_paths_and_self_times),
        TEST(marks_of_the_folded_form_are_escaped_in_labels),
        TEST(threads_and_roots_are_as_asked_for),
        TEST(folded_stacks_equal_those_of_measureme),
        TEST(folded_stacks_of_odd_profiles_equal_those_of_measureme),
        TEST(nanoseconds_are_exact),
        TEST(what_does_not_nest_is_told),
        TEST(drawing_has_each_stack_with_its_share),
        TEST(an_existing_drawing_is_kept_unless_forced),
        TEST(what_is_no_file_is_neither_written_nor_removed),
        TEST(hostile_names_are_text),
        TEST(narrow_frames_are_left_out_and_counted),
        TEST(times_of_all_sizes_are_drawn),
        TEST(a_trace_without_spans_says_so),
        TEST(spans_that_never_ended_are_told),
        TEST(damage_is_told_and_the_rest_is_drawn),
    };
    return cmocka_run_group_tests(tests, make_folder, remove_folder);
}
