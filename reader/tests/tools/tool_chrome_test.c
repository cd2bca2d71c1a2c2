/*
 * tracebed export --to=chrome: spans equal those of measureme's crox if its output is available; every kind of event
 * is written as JSON that Python can read, or is counted; several files are merged into one.
 *
 * SPDX-License-Identifier: MIT
 */
#include "reader/tests/tools/tool_run.h"

#include <math.h>
#include <tracebed/exchange.h>

#define TRACES "../shared/traces" /* tests that need this folder are skipped if it does not exist */

/* The output of check_chrome.py for the file; fails if the script does. The caller frees it. */
static char *check(const char *what, const char *path, const char *more)
{
    char command[1800];
    snprintf(command, sizeof command, "python3 reader/tests/exchange/check_chrome.py %s %s %s > %s 2>&1",
             what, path, more, in_folder("checked"));
    int status = system(command);
    char *text = read_whole(in_folder("checked"), NULL);
    if (status != 0)
        fail_msg("%s", text);
    return text;
}

/* ---- Against crox ---- */

static void spans_equal_those_of_crox(void **state)
{
    (void)state;
    static const char *const names[] = {"v8_hello", "v9_hello", "v9_hello_args", "v9_quick_xml_args",
                                        "v8_object_incr2"};
    char out[512];
    snprintf(out, sizeof out, "%s", in_folder("out.json"));
    if (access(TRACES, R_OK) != 0)
        skip();
    for (size_t i = 0; i < sizeof names / sizeof names[0]; i++) {
        char path[512], reference[512], command[1200];
        snprintf(path, sizeof path, TRACES "/%s.mm_profdata", names[i]);
        snprintf(reference, sizeof reference, TRACES "/ref/%s/crox.min1000.json", names[i]);
        if (access(path, R_OK) != 0) {
            snprintf(path, sizeof path, "%s", in_folder("unpacked"));
            snprintf(command, sizeof command, "zstd -dqf " TRACES "/%s.mm_profdata.zst -o %s", names[i],
                     path);
            if (system(command) != 0)
                continue;
        }
        EXPECT(0, "exported: ", "", "export", "--to=chrome", "--absolute", "--minimum-duration=1000us", path,
               "-f", "-o", out);
        free(check("spans", out, reference));
    }
}

static void spans_of_odd_profiles_equal_those_of_crox(void **state)
{
    (void)state;
    static const char *const names[] = {
        "a_nested",    "b_overlap_siblings", "c_parent_first", "d_same_interval",
        "e_zero",      "f_recursion",        "g_unknown_id",   "i_multi_args",
        "j_artifacts", "k_hits_count",       "l_kinds",        "m_hash_nested",
        "o_no_events", "p_only_integer",     "q_threads",      "r_unsorted",
        "s_48bit",     "u_time_fmt",         "v_unicode",      "w_ties",
        "y_v8"};
    char out[512];
    snprintf(out, sizeof out, "%s", in_folder("odd.json"));
    if (access(TRACES, R_OK) != 0)
        skip();
    for (size_t i = 0; i < sizeof names / sizeof names[0]; i++) {
        char path[512], reference[512];
        snprintf(path, sizeof path, TRACES "/synth/%s.mm_profdata", names[i]);
        snprintf(reference, sizeof reference, TRACES "/ref/synth/%s.crox", names[i]);
        EXPECT(0, "exported:", "", "export", "--to=chrome", "--absolute", path, "-f", "-o", out);
        free(check("spans", out, reference));
    }
}

/* ---- Every kind of event ---- */

static const char *make_kinds(const char *name)
{
    const char *path = in_folder(name);
    struct tbed_writer *writer = open_writer(path, true);
    record_small(writer);
    struct tbed_recorder *recorder = tbed_recorder_open(writer, "other \"thread\"");
    uint32_t id = intern(writer, "q\x1eone\x1etwo\"\\\n");
    struct tbed_argument argument = {
        .type = TBED_ARG_POINTER, .name_id = intern(writer, "at"), .value.u64 = 4096};
    tbed_async_begin(recorder, id, 7);
    tbed_async_end(recorder, id, 7);
    tbed_flow_record(recorder, TBED_EXT_FLOW_BEGIN, id, 9);
    tbed_flow_record(recorder, TBED_EXT_FLOW_STEP, id, 9);
    tbed_flow_record(recorder, TBED_EXT_FLOW_END, id, 9);
    tbed_alloc_record(recorder, id, TBED_FUNCTION_MALLOC, 0x1000, 8);
    tbed_counter_record_f64(recorder, intern(writer, "ratio"), 0.5);
    tbed_counter_record_f64(recorder, intern(writer, "ratio"), (double)INFINITY);
    tbed_instant_record_args(recorder, id, &argument, 1);
    tbed_span_begin(recorder, intern(writer, "open"));
    tbed_writer_close(writer);
    return path;
}

static void every_kind_of_event_is_written_or_counted(void **state)
{
    (void)state;
    const char *out = in_folder("kinds.json");
    struct run run = RUN("export", "--to=chrome", make_kinds("kinds.tbed"), "-o", out);
    assert_int_equal(run.exit, 0);
    assert_says(run.out, "kinds.json: exported: 16 events, ");
    assert_says(run.out, "1 allocation event written only as the size of live memory");
    assert_says(run.out, "1 span that never ended");
    end_run(&run);
    char *text = check("events", out, "");
    assert_says(text, "\"name\": \"load\", \"ph\": \"X\"");
    assert_says(text, "{\"args\": {\"bytes\": 7}, \"dur\": 0.02, \"name\": \"parse\", \"ph\": \"X\"");
    assert_says(text, "\"name\": \"tick\", \"ph\": \"i\", ");
    assert_says(text, "{\"args\": {\"items\": -3}, \"name\": \"queue\", \"ph\": \"C\"");
    assert_says(text, "{\"args\": {\"value\": 0.5}, \"name\": \"ratio\", \"ph\": \"C\"");
    assert_says(text, "{\"args\": {\"value\": null}, \"name\": \"ratio\", \"ph\": \"C\"");
    assert_says(text, "{\"args\": {\"severity\": \"warning\"}, ");
    assert_says(text, "\"cat\": \"message\", \"name\": \"beware\", \"ph\": \"i\"");
    assert_says(text, "\"cat\": \"message\", \"name\": \"opening a.txt\", \"ph\": \"i\"");
    assert_says(text,
                "{\"args\": {\"arg0\": \"one\", \"arg1\": \"two\\\"\\\\\\n\"}, \"cat\": \"async\", \"id\": ");
    assert_says(text, ":0x7\", \"name\": \"q\", \"ph\": \"b\"");
    assert_says(text, ":0x7\", \"name\": \"q\", \"ph\": \"e\"");
    assert_says(text, "\"cat\": \"flow\", \"id\": \"0x9\", \"name\": \"q\", \"ph\": \"s\"");
    assert_says(text, "\"ph\": \"t\"");
    assert_says(text, "\"bp\": \"e\", \"cat\": \"flow\"");
    assert_says(
        text,
        "{\"args\": {\"arg0\": \"one\", \"arg1\": \"two\\\"\\\\\\n\", \"at\": \"0x1000\"}, \"name\": \"q\"");
    assert_says(text, "{\"args\": {\"never ended\": true}, \"dur\": 0, \"name\": \"open\"");
    assert_says(text,
                "{\"args\": {\"name\": \"test\"}, \"cat\": \"\", \"name\": \"process_name\", \"ph\": \"M\"");
    assert_says(text,
                "{\"args\": {\"name\": \"other \\\"thread\\\"\"}, \"cat\": \"\", \"name\": \"thread_name\"");
    free(text);
}

static void instants_and_counters_are_left_out_if_asked(void **state)
{
    (void)state;
    const char *trace = make_kinds("few.tbed"), *out = in_folder("few.json");
    struct run run = RUN("export", "--to=chrome", "--no-instants", "--no-counters", trace, "-o", out);
    assert_int_equal(run.exit, 0);
    assert_says(run.out, "few.json: exported: 10 events, ");
    assert_says(run.out, "2 instants omitted, as asked for");
    assert_says(run.out, "4 values of counters omitted, as asked for");
    end_run(&run);
    char *text = check("events", out, "");
    assert_silent_on(text, "\"ph\": \"C\"");
    assert_silent_on(text, "\"name\": \"tick\"");
    assert_says(text, "\"cat\": \"message\", \"name\": \"beware\", \"ph\": \"i\"");
    free(text);
    EXPECT(2, "", "do not apply to --memory", "export", "--to=firefox", "--memory", "--no-counters", trace,
           "-o", "-");
    EXPECT(2, "", "--no-instants does not apply to rtl-log", "export", "--to=rtl-log", "--no-instants", trace,
           "-o", in_folder("few.log"));
}

static void short_spans_are_left_out(void **state)
{
    (void)state;
    const char *path = make_small("short.tbed", true), *out = in_folder("short.json");
    EXPECT(0, ": exported: 5 events, ", "", "export", "--to=chrome", "--minimum-duration=50", path, "-o",
           out);
    char *text = check("events", out, "");
    assert_says(text, "\"name\": \"load\"");
    assert_silent_on(text, "\"name\": \"parse\"");
    free(text);
    EXPECT(2, "", "--minimum-duration: a duration is expected", "export", "--to=chrome",
           "--minimum-duration=5x", path, "-o", out);
    EXPECT(2, "", "does not apply to mm_profdata", "export", "--to=mm_profdata", "--absolute", path, "-o",
           out);
}

static void times_count_from_the_start_of_the_trace(void **state)
{
    (void)state;
    const char *path = make_small("times.tbed", false), *out = in_folder("times.json");
    EXPECT(0, "exported", "", "export", "--to=chrome", path, "-o", out);
    char *text = check("events", out, "");
    assert_says(text, "\"name\": \"load\", \"ph\": \"X\", \"pid\": ");
    assert_says(strstr(text, "\"name\": \"load\""), "\"ts\": 0}\n");
    free(text);
}

/* The begin of the outer span has been overwritten, but each block has its tick. */
static void a_span_longer_than_a_flight_recorder_begins_at_0(void **state)
{
    (void)state;
    for (int ends = 0; ends < 2; ends++) {
        const char *path = in_folder("long.tbed"), *out = in_folder("long.json");
        struct tbed_writer_options options = {.size = sizeof options,
                                              .overwrite = true,
                                              .no_helper = true,
                                              .ring_nbytes = 1 << 18,
                                              .page_nbytes = 4096};
        struct tbed_writer *writer;
        assert_int_equal(tbed_writer_open(path, &options, &writer, NULL), TBED_OK);
        struct tbed_recorder *recorder = tbed_recorder_open(writer, "thread");
        tbed_span_begin(recorder, intern(writer, "outer"));
        for (uint32_t i = 0; i < 100000; i++)
            tbed_instant_record(recorder, 1);
        if (ends)
            tbed_span_end(recorder);
        tbed_writer_close(writer);
        EXPECT(0, "exported", "", "export", "--to=chrome", path, "-f", "-o", out);
        char *text = read_whole(out, NULL);
        assert_says(strstr(text, "\"outer\""), "\"ts\":0,");
        assert_null(strstr(text, "\"ts\":-"));
        free(text);
    }
}

/* ---- Several traces, many threads ---- */

/* Makes 'count' threads with one span each; every other span overlaps the next. */
static const char *make_threads(const char *name, unsigned count)
{
    const char *path = in_folder(name);
    struct tbed_writer_options options = {.size = sizeof options,
                                          .overwrite = true,
                                          .given_ticks = true,
                                          .given_ticks_per_second = 1000000000,
                                          .process_pid = 42,
                                          .process_name = "many"};
    struct tbed_writer *writer = NULL;
    assert_int_equal(tbed_writer_open(path, &options, &writer, NULL), TBED_OK);
    for (uint32_t i = 0; i < count; i++) {
        struct tbed_recorder *recorder = tbed_recorder_open_given(writer, NULL, 100 + i);
        struct tbed_given_event span = {.type = TBED_GIVEN_SPAN,
                                        .id = intern(writer, "work"),
                                        .category = TBED_ID_INVALID,
                                        .begin_tick = 1000000 + 1000 * i,
                                        .tick = 1000000 + 1000 * i + (i % 2 == 0 ? 1500 : 400)};
        tbed_event_record_given(recorder, &span);
    }
    tbed_writer_close(writer);
    return path;
}

static void threads_that_follow_one_another_share_a_row(void **state)
{
    (void)state;
    const char *path = make_threads("rows.tbed", 40), *out = in_folder("rows.json");
    EXPECT(0, "40 events", "", "export", "--to=chrome", path, "-o", out);
    char *text = check("rows", out, "");
    assert_string_equal(text, "40 rows\n");
    free(text);
    EXPECT(0, "40 events", "", "export", "--to=chrome", "--collapse-threads", path, "-f", "-o", out);
    text = check("rows", out, "");
    assert_string_equal(text, "2 rows\n");
    free(text);
}

static void several_traces_go_into_one_and_keep_apart(void **state)
{
    (void)state;
    const char *path = make_threads("twice.tbed", 2), *out = in_folder("twice.json");
    EXPECT(0, "1 process renumbered", "", "export", "--to=chrome", path, path, "-o", out);
    char *text = check("events", out, "");
    assert_says(text, "\"pid\": 42,");
    assert_says(text, "\"pid\": 4294967296,");
    free(text);
}

/* ---- The output ---- */

static void output_is_whole_or_not_there(void **state)
{
    (void)state;
    const char *path = make_small("out.tbed", true), *out = in_folder("mine.json");
    write_whole(out, "mine", 4);
    EXPECT(2, "", "Use --force to replace it", "export", "--to=chrome", path, "-o", out);
    char *kept = read_whole(out, NULL);
    assert_string_equal(kept, "mine");
    free(kept);
    EXPECT(0, "exported", "", "export", "--to=chrome", path, "-o", "/dev/null");
    EXPECT(0, "exported", "", "export", "--to=pprof", path, "-f", "-o", "/dev/null");
    EXPECT(2, "", "cannot be created", "symbolize", path, "-o", "/dev/null");
    EXPECT(0, "\n]}\n", "", "export", "--to=chrome", path, "-o", "-");
    struct run run = run_with(&(struct run_with){.output = "/dev/full"},
                              (const char *const[]){"export", "--to=chrome", path, "-o", "-", NULL});
    assert_int_equal(run.exit, 2);
    assert_says(run.err, "write error on standard output");
    end_run(&run);
    EXPECT(2, "", "missing FILE operand", "export", "--to=chrome", "-o", out);
}

/* Refuses every write without setting errno. */
static ssize_t refuse(void *cookie, const char *bytes, size_t nbytes)
{
    (void)cookie, (void)bytes, (void)nbytes;
    errno = 0;
    return 0;
}

static void a_stream_that_refuses_without_an_errno_is_an_error(void **state)
{
    (void)state;
#ifndef __GLIBC__
    skip(); /* musl's stream takes this for success */
#endif
    static const cookie_io_functions_t functions = {.write = refuse};
    struct tbed_error error = {.status = TBED_OK};
    struct tbed_reader *reader;
    FILE *out = fopencookie(NULL, "w", functions);
    assert_non_null(out);
    assert_int_equal(tbed_reader_open(make_small("refused.tbed", true), NULL, &reader, NULL), TBED_OK);
    assert_int_equal(tbed_export_chrome_stream(&reader, 1, out, NULL, NULL, &error), TBED_ERR_WRITE);
    assert_int_equal(error.system_errno, EIO);
    tbed_reader_close(reader);
    fclose(out);
}

/* Two threads with spans that nest and some that do not; more of them than all threads can have before them at a time. */
static const char *make_long(void)
{
    const char *path = in_folder("long.tbed");
    struct tbed_writer *writer = open_given_writer(path, 1000000000);
    for (uint32_t thread = 0; thread < 2; thread++) {
        struct tbed_recorder *recorder = tbed_recorder_open_given(writer, "thread", thread + 1);
        for (uint32_t i = 0; i < 5000; i++) {
            char text[32];
            snprintf(text, sizeof text, "name %u", i % 700);
            struct tbed_argument argument = {
                .type = TBED_ARG_TEXT, .name_id = intern(writer, text), .nbytes = 3, .value.text = "a\nb"};
            struct tbed_given_event event = {.type = i % 5 == 4 ? TBED_GIVEN_INSTANT : TBED_GIVEN_BEGIN,
                                             .id = intern(writer, text),
                                             .category = i % 3 == 0 ? intern(writer, "odd") : TBED_ID_INVALID,
                                             .tick = 100 * i,
                                             .arguments = &argument,
                                             .argument_count = i % 2};
            tbed_event_record_given(recorder, &event);
            event = (struct tbed_given_event){.type = i % 7 == 0 ? TBED_GIVEN_LEAVE : TBED_GIVEN_END,
                                              .tick = 100 * i + 50 + i % 30,
                                              .end_tick = 100 * i + 500};
            if (i % 5 != 4)
                tbed_event_record_given(recorder, &event);
        }
    }
    tbed_writer_close(writer);
    return path;
}

static void output_does_not_depend_on_the_number_of_jobs(void **state)
{
    static const char *const options[] = {"--absolute", "--collapse-threads", "--name=name 1.",
                                          "--minimum-duration=60ns", "--begin=40%"};
    const char *path = make_long();
    (void)state;
    for (size_t i = 0; i < sizeof options / sizeof options[0]; i++) {
        struct run one = RUN("export", "--to=chrome", "-j1", options[i], path, path, "-o", "-");
        assert_int_equal(one.exit, 0);
        assert_says(one.out, "\"id\":\"beside 20\"");
        assert_true(count_lines(one.out) > 200);
        for (int jobs = 2; jobs <= 5; jobs++) {
            char word[16];
            snprintf(word, sizeof word, "--jobs=%d", jobs);
            struct run many = RUN("export", "--to=chrome", word, options[i], path, path, "-o", "-");
            assert_int_equal(many.exit, 0);
            assert_string_equal(one.out, many.out);
            assert_string_equal(one.err, many.err);
            end_run(&many);
        }
        end_run(&one);
    }
    EXPECT(2, "", "--jobs does not apply to rtl-log", "export", "--to=rtl-log", "-j2", path, "-o", "-");
}

int main(void)
{
#define TEST(name) cmocka_unit_test(name)
    const struct CMUnitTest tests[] = {
        TEST(spans_equal_those_of_crox),
        TEST(spans_of_odd_profiles_equal_those_of_crox),
        TEST(every_kind_of_event_is_written_or_counted),
        TEST(instants_and_counters_are_left_out_if_asked),
        TEST(short_spans_are_left_out),
        TEST(times_count_from_the_start_of_the_trace),
        TEST(a_span_longer_than_a_flight_recorder_begins_at_0),
        TEST(threads_that_follow_one_another_share_a_row),
        TEST(several_traces_go_into_one_and_keep_apart),
        TEST(output_is_whole_or_not_there),
        TEST(output_does_not_depend_on_the_number_of_jobs),
        TEST(a_stream_that_refuses_without_an_errno_is_an_error),
    };
    return cmocka_run_group_tests(tests, make_folder, remove_folder);
}
