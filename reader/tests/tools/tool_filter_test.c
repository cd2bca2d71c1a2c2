/*
 * The options that choose a part of a trace: how times, durations and names are written, what is refused with which
 * message, and what the part of a small trace is. That all commands agree is checked by filters_test.py.
 *
 * SPDX-License-Identifier: MIT
 */
#include "reader/tests/tools/tool_run.h"

#define MS       UINT64_C(1000000)
#define REALTIME "1795342500" /* 2026-11-22T10:15:00Z, when tick 0 was */

/* ---- The trace ---- */

static void put(struct tbed_recorder *recorder, enum tbed_given_type type, uint32_t id, uint64_t ms)
{
    struct tbed_given_event event = {
        .type = type, .id = id, .category = TBED_ID_INVALID, .begin_tick = ms * MS, .tick = ms * MS};
    tbed_event_record_given(recorder, &event);
}

static void put_span(struct tbed_recorder *recorder, uint32_t id, uint32_t category, uint64_t begin,
                     uint64_t end)
{
    struct tbed_given_event event = {
        .type = TBED_GIVEN_SPAN, .id = id, .category = category, .begin_tick = begin * MS, .tick = end * MS};
    tbed_event_record_given(recorder, &event);
}

/*
 * Milliseconds:                            "main", thread 11             "helper", thread 12
 *     0 to 1000   work                     yes
 *   100 to 400    parse file               yes
 *   200 to 300    read, in category io     yes
 *   500 to 502    parse line               yes
 *   600 to 900    read, in category io                                   yes
 *   150, 700      mark, an instant         150                           700
 */
static const char *make_parts(const char *name)
{
    const char *path = in_folder(name);
    struct tbed_writer_options options = {.size = sizeof options,
                                          .overwrite = true,
                                          .given_ticks = true,
                                          .given_ticks_per_second = 1000000000,
                                          .given_realtime_ns = INT64_C(1795342500000000000),
                                          .process_name = "test"};
    struct tbed_writer *writer;
    assert_int_equal(tbed_writer_open(path, &options, &writer, NULL), TBED_OK);
    struct tbed_recorder *first = tbed_recorder_open_given(writer, "main", 11);
    struct tbed_recorder *second = tbed_recorder_open_given(writer, "helper", 12);
    uint32_t io = intern(writer, "io"), mark = intern(writer, "mark"), get = intern(writer, "read");
    put(first, TBED_GIVEN_BEGIN, intern(writer, "work"), 0);
    put(first, TBED_GIVEN_BEGIN, intern(writer, "parse file"), 100);
    put(first, TBED_GIVEN_INSTANT, mark, 150);
    put_span(first, get, io, 200, 300);
    put(first, TBED_GIVEN_END, 0, 400);
    put(first, TBED_GIVEN_BEGIN, intern(writer, "parse line"), 500);
    put(first, TBED_GIVEN_END, 0, 502);
    put(first, TBED_GIVEN_END, 0, 1000);
    put(second, TBED_GIVEN_INSTANT, mark, 700);
    put_span(second, get, io, 600, 900);
    tbed_writer_close(writer);
    return path;
}

/* The folded stacks, with ns; without the line of the root. */
static void expect_stacks(const char *const words[], const char *stacks)
{
    struct run run = run_with(&(struct run_with){0}, words);
    const char *line = strchr(run.out, '\n');
    assert_int_equal(run.exit, 0);
    assert_string_equal(line != NULL ? line + 1 : "", stacks);
    end_run(&run);
}
#define STACKS(stacks, ...)                                                                                  \
    expect_stacks((const char *const[]){"flame", "--folded", __VA_ARGS__, NULL}, stacks)

/* ---- Time ---- */

/* From 0.2 s on, and before 0.21 s, in many forms. */
static void times_have_many_forms(void **state)
{
    static const char *const begins[] = {"0.2",
                                         ".2",
                                         "200ms",
                                         "200 ms",
                                         "2e5us",
                                         "2e8ns",
                                         "2E5\xC2\xB5s",
                                         "0.2s",
                                         "@" REALTIME ".2",
                                         "2026-11-22T10:15:00.2Z",
                                         "2026-11-22 10:15:00.2+00:00",
                                         "2026-11-22T11:15:00.2+01:00",
                                         "2026-11-22T04:45:00.2-0530",
                                         "2026-11-22T12:15:00.2+02",
                                         "2026-11-22T10:15:00.2"};
    static const char *const ends[] = {
        "0.21", "210ms", "@" REALTIME ".21", "2026-11-22T10:15:00.21", "0.0035min", "5.8333333333e-5h"};
    const char *path = make_parts("forms.tbed");
    (void)state;
    for (size_t i = 0; i < sizeof begins / sizeof begins[0]; i++)
        STACKS("test;work 0\ntest;work;parse file 0\ntest;work;parse file;read 10000000\n", "-b", begins[i],
               "-e", "210ms", path);
    for (size_t i = 0; i < sizeof ends / sizeof ends[0]; i++)
        STACKS("test;work 0\ntest;work;parse file 0\ntest;work;parse file;read 10000000\n", "--begin=0.2",
               "-e", ends[i], path);
}

static void dates_without_an_offset_are_local_time(void **state)
{
    const char *path = make_parts("local.tbed");
    const char *const words[] = {"flame", "--folded", "-e", "2026-11-22T11:15:00.01", path, NULL};
    (void)state;
    struct run run = run_with(&(struct run_with){.environment = "TZ=CET-1"}, words);
    assert_string_equal(run.out, "test 0\ntest;work 10000000\n");
    end_run(&run);
    STACKS("test;work 10000000\n", "-b", "2026-11-22", "-e", "2026-11-22T10:15:00.01", path);
    STACKS("", "-b", "2026-11-22T10:16", path);
    STACKS("", "-e", "2026-11-22 10:15", path);
}

/* The first event is at 0, the last one at 1 s. */
static void percent_is_of_the_time_from_the_first_to_the_last_event(void **state)
{
    const char *path = make_parts("percent.tbed");
    (void)state;
    struct run whole = RUN("report", "--json", path), all = RUN("report", "--json", "-b0%", "-e100%", path);
    const char *spans = strstr(whole.out, "\"spans\":[");
    assert_non_null(spans);
    assert_says(all.out, spans);
    end_run(&whole);
    end_run(&all);
    STACKS("test;work 10000000\n", "-b", "51%", "-e", "52%", path);
    STACKS("test;work 9999999\n", "-b", "99%", path); /* 100 % is after the last event */
}

static void wrong_times_are_refused(void **state)
{
    static const char *const wrong[] = {"soon",
                                        "",
                                        "@",
                                        "@x",
                                        "@1x",
                                        "%",
                                        "101%",
                                        "-1%",
                                        "1 fortnight",
                                        "nan",
                                        "1e30",
                                        "2026-13-01",
                                        "2026-11-22T10:15:00+",
                                        "2026-11-22T10:15:00+1",
                                        "2026-11-22T10:15:00+01:",
                                        "2026-11-22T10:15:00+01:0x",
                                        "2026-11-22T10:15:00+0160",
                                        "2026-11-22T10:15:00-1500",
                                        "2026-11-22T10:15:00+01000",
                                        "2026-11-22x"};
    const char *path = make_parts("wrong.tbed");
    (void)state;
    for (size_t i = 0; i < sizeof wrong / sizeof wrong[0]; i++) {
        EXPECT(2, "", "report: --begin: a time is expected, such as 1.5, 20ms, 10%, ", "report", "-b",
               wrong[i], path);
        EXPECT(2, "", "dump: --end: a time is expected", "dump", "-e", wrong[i], path);
    }
    static const char *const durations[] = {"", "10%", "-1", "@1", "2026-11-22", "1x"};
    for (size_t i = 0; i < sizeof durations / sizeof durations[0]; i++)
        EXPECT(2, "", "tree: --minimum-duration: a duration is expected, such as 1.5, 20ms or 300us\n",
               "tree", "--minimum-duration", durations[i], path);
}

static void an_end_before_the_begin_is_refused(void **state)
{
    const char *path = make_parts("order.tbed");
    (void)state;
    EXPECT(2, "", "order.tbed: --end is not after --begin\n", "report", "-b", "0.5", "-e", "0.4", path);
    EXPECT(2, "", "order.tbed: --end is not after --begin\n", "tree", "-b", "50%", "-e", "50%", path);
}

static void counts_are_no_time(void **state)
{
    const char *path = make_small("counts.tbed", true);
    (void)state;
    EXPECT(2, "", "the clock of this trace does not measure time: give times in ticks or percent\n", "report",
           "-b", "5ms", path);
    EXPECT(2, "", "does not measure time", "report", "-e", "2026-11-22", path);
    EXPECT(2, "", "does not measure time", "report", "--minimum-duration=1us", path);
    EXPECT(0, "\"event_count\":8,", "", "report", "--json", "-b", "0%", path);
}

static void a_part_without_events_is_empty(void **state)
{
    const char *path = make_parts("empty.tbed");
    (void)state;
    EXPECT(0, "Nothing to report: no spans, no allocations in the chosen part", "", "report", "-b", "2",
           path);
    EXPECT(0, NULL, "no spans in the chosen part", "tree", "-b", "2", path);
    EXPECT(0, NULL, "no spans in the chosen part", "tree", "--calls", "-n", "nothing", path);
    EXPECT(0, "the 0 slowest of 0 calls", "no spans in the chosen part", "slowest", path, "nothing");
    EXPECT(2, "", "slowest: FILE comes before NAME", "slowest", "nothing", path);
    EXPECT(0, "", "no spans to draw", "flame", "--folded", "-b", "2h", path);
    EXPECT(0, "", "", "dump", "-b", "2000000h", path);
    EXPECT(0, "\"rows\":[]", "", "diff", "--json", "-b", "2", path, path);
    EXPECT(0, "\"rows\":[]", "", "aggregate", "--json", "-b", "2", path);
    EXPECT(0, "\"event_count\":0,", "nothing is of category 'none'", "report", "--json", "--category=none",
           path);
}

/* ---- Threads, processes, streams ---- */

static void threads_are_chosen_by_id_or_name(void **state)
{
    const char *path = make_parts("threads.tbed"), *helper = "test;read 300000000\n";
    (void)state;
    STACKS(helper, "-t", "12", path);
    STACKS(helper, "--thread=helper", path);
    STACKS(helper, "--thread=helper", "-t", "99", "-t", "none", path);
    struct run both = RUN("dump", "-t11", "-thelper", path), all = RUN("dump", path);
    assert_string_equal(both.out, all.out);
    end_run(&both);
    end_run(&all);
    EXPECT(2, "", "threads.tbed: no such stream, thread or process\n", "flame", "-t", "13", path);
    EXPECT(2, "", "no such stream, thread or process\n", "report", "-t", "help", path); /* a part of a name */
    EXPECT(2, "", "--stream takes a number", "report", "--stream=main", path);
}

/* The child's process is the second one. */
static void processes_are_chosen_by_id_or_name(void **state)
{
    const char *path = in_folder("processes.tbed");
    struct tbed_writer *writer = open_writer(path, false);
    char parent_id[16], child_id[16];
    (void)state;
    struct tbed_recorder *recorder = tbed_recorder_open(writer, "main");
    tbed_instant_record(recorder, intern(writer, "parent's"));
    pid_t child = fork();
    assert_true(child >= 0);
    if (child == 0) {
        tbed_instant_record(tbed_recorder_open(writer, "main"), intern(writer, "child's"));
        tbed_writer_close(writer);
        _exit(0);
    }
    assert_int_equal(waitpid(child, NULL, 0), child);
    tbed_writer_close(writer);
    snprintf(parent_id, sizeof parent_id, "%d", getpid());
    snprintf(child_id, sizeof child_id, "%d", child);
    struct run first = RUN("dump", "-p", parent_id, path), second = RUN("dump", "-p", child_id, path);
    struct run named = RUN("dump", "--process=test", "-t", "main", path);
    assert_says(first.out, "parent's");
    assert_silent_on(first.out, "child's");
    assert_says(second.out, "child's");
    assert_silent_on(second.out, "parent's");
    assert_string_equal(named.out, first.out);
    EXPECT(2, "", "no such stream, thread or process\n", "dump", "-p", "test", "-t", child_id, path);
    EXPECT(2, "", "no such stream, thread or process\n", "dump", "-p", "nobody", path);
    end_run(&first);
    end_run(&second);
    end_run(&named);
}

/* ---- Names, categories, durations ---- */

/* The span ends in another block than it began. */
static void a_span_has_its_category_in_later_blocks(void **state)
{
    const char *path = in_folder("blocks.tbed");
    struct tbed_writer *writer = open_given_writer(path, 1000000000);
    struct tbed_recorder *recorder = tbed_recorder_open_given(writer, "main", 11);
    struct tbed_given_event event = {.type = TBED_GIVEN_BEGIN,
                                     .id = intern(writer, "read"),
                                     .category = intern(writer, "io"),
                                     .tick = 100};
    (void)state;
    tbed_event_record_given(recorder, &event);
    event = (struct tbed_given_event){
        .type = TBED_GIVEN_INSTANT, .id = intern(writer, "mark"), .category = TBED_ID_INVALID};
    for (event.tick = 101; event.tick < 5100; event.tick++)
        tbed_event_record_given(recorder, &event);
    event.type = TBED_GIVEN_END;
    tbed_event_record_given(recorder, &event);
    tbed_writer_close(writer);
    EXPECT(0, "\r\n1,5000\r\n", "", "threads", "--csv", "--columns=spans,busy", "--category=io", path);
    EXPECT(0, "\r\nread,5000\r\n", "", "report", "--csv", "--columns=name,total", "--category=io", path);
}

static void names_are_chosen_by_regular_expressions(void **state)
{
    const char *path = make_parts("names.tbed");
    (void)state;
    STACKS("test;parse file 300000000\ntest;parse line 2000000\n", "-n", "^parse", path);
    STACKS("test;parse line 2000000\n", "-n", "^parse", "--exclude=file", path);
    STACKS("test;work 998000000\ntest;work;parse line 2000000\n", "--name=line", "-n", "wor[k]", path);
    STACKS("test;read 300000000\ntest;work 900000000\ntest;work;read 100000000\n", "--exclude=parse", "-t11",
           "-t12", "-p", "test", "--stream=7777", path);
    EXPECT(2, "", "report: --name: invalid regular expression '(': ", "report", "-n", "(", path);
    EXPECT(2, "", "dump: --exclude: invalid regular expression '[a': ", "dump", "--exclude=[a", path);
}

static void categories_and_durations_are_conditions(void **state)
{
    const char *path = make_parts("kinds.tbed");
    (void)state;
    STACKS("test;read 400000000\n", "--category=io", path);
    STACKS("test;read 400000000\n", "--category=none", "--category=io", path);
    STACKS("", "--category=i", path);
    EXPECT(0, "0 events", "nothing is of category 'ion'; did you mean 'io'?\n", "report", "--category=ion",
           path);
    EXPECT(0, NULL, "", "report", "--category=io", path);
    EXPECT(0, NULL, "nothing is of category 'ion'; did you mean 'io'?\n", "slowest", "--category=ion", path);
    EXPECT(0, NULL, "nothing is of category 'ion'; did you mean 'io'?\n", "threads", "--category=ion", path);
    EXPECT(0, NULL, "nothing is of category 'ion'; did you mean 'io'?\n", "export", "--to=chrome",
           "--category=ion", path, "-o", in_folder("part.json"));
    EXPECT(0, NULL, "", "slowest", "--category=io", path);
    EXPECT(0, "thread,span_count,busy_ns\r\n11 main,1,100000000\r\n12 helper,1,300000000\r\n", "", "threads",
           "--csv", "--columns=thread,spans,busy", "--category=io", path);
    EXPECT(0, "\"event_count\":0,", "nothing is of category ''\n  There is: io\n", "report", "--json",
           "--category=", path);
    STACKS("test;read 300000000\ntest;work 700000000\ntest;work;parse file 300000000\n",
           "--minimum-duration=100001us", path);
    STACKS("test;work 700000000\ntest;work;parse file 300000000\n", "--minimum-duration=0.3", "-t11", path);
    STACKS("test;work 1000000000\n", "--minimum-duration=300000001ns", "-t11", path);
    STACKS("test;work 0\ntest;work;parse line 1000000\n", "-b501ms", "-e502ms", "--minimum-duration=1ms",
           "--exclude=read", path);
}

static void inside_is_the_time_of_a_span(void **state)
{
    const char *path = make_parts("inside.tbed");
    (void)state;
    STACKS("test;parse file 200000000\ntest;parse file;read 100000000\n", "--inside=parse file", path);
    STACKS("test;read 100000000\n", "--inside=parse file", "-n", "read", path);
    STACKS("test;parse line 2000000\ntest;read 400000000\n", "--inside=read", "--inside=parse line", path);
    STACKS("", "--inside=parse", path); /* all of the label, and no expression */
    EXPECT(0, "0 events", "no span has the name 'parse'; did you mean 'parse file'?\n", "report",
           "--inside=read", "--inside=parse", "--name=none", path);
    EXPECT(0, "\"instants\":[{\"name\":\"mark\",\"count\":1}]", "", "report", "--json", "--inside=parse file",
           path);
}

/* ---- Exports ---- */

static const char log_part[] = "opening log file 997000000.123456 seconds past January 1st 1970\n"
                               "corresponding to 0 ms after timer start\n"
                               "Process id is 4711\n"
                               "000030 1 { vcl (ss112471) ::SVMain\n"
                               "000030 1 { desktop (cd100003) ::Desktop::Init\n"
                               "000030 1 | desktop (cd100003) ::Desktop::Init : { lengthy calculation\n"
                               "000040 1 | desktop (cd100003) ::Desktop::Init : } lengthy calculation\n"
                               "000041 1 } desktop (cd100003) ::Desktop::Init\n"
                               "000042 2 { a : b\n"
                               "000043 2 | a : b : c : d\n"
                               "000043 2 | a : b : 100%\n"
                               "000043 2 | a : b : \n"
                               "000044 2 } a : b\n"
                               "000050 1 | package (mg115289) : { ZipPackage::initialize\n"
                               "000060 1 | package (mg115289) : } ZipPackage::initialize\n"
                               "000060 1 } vcl (ss112471) ::SVMain\n"
                               "closing log file at 000101";

static void spans_of_a_log_begin_and_end_where_they_are_cut(void **state)
{
    const char *log = "reader/tests/logs/canonical.log";
    (void)state;
    struct run run = RUN("export", "--to=rtl-log", "-o-", "-b30%", "-e60%", log);
    assert_string_equal(run.out, log_part);
    assert_string_equal(run.err, "");
    end_run(&run);
    run = RUN("export", "--to=rtl-log", "-o-", "-b0%", log); /* the exact log */
    char *whole = read_whole(log, NULL);
    assert_string_equal(run.out, whole);
    free(whole);
    end_run(&run);
}

static void left_out_threads_have_no_names_in_chrome(void **state)
{
    const char *path = make_parts("chrome.tbed");
    (void)state;
    struct run run = RUN("export", "--to=chrome", "-o-", "-t", "helper", path);
    assert_says(run.out, "\"process_name\"");
    assert_says(run.out, "{\"name\":\"helper\"}");
    assert_silent_on(run.out, "{\"name\":\"main\"}");
    assert_says(run.out, "\"name\":\"read\"");
    assert_silent_on(run.out, "\"name\":\"work\"");
    assert_string_equal(run.err, "");
    end_run(&run);
}

/* The last 0.03 % are the end of "work" in one file and two of four marks in the other. */
static void each_exported_file_has_a_part_of_its_own(void **state)
{
    const char *path = make_parts("first.tbed"), *second = in_folder("second.tbed"),
               *out = in_folder("both.json");
    struct tbed_writer_options options = {
        .size = sizeof options, .given_ticks = true, .given_ticks_per_second = 1000000000};
    struct tbed_writer *writer;
    (void)state;
    assert_int_equal(tbed_writer_open(second, &options, &writer, NULL), TBED_OK);
    struct tbed_recorder *recorder = tbed_recorder_open_given(writer, "main", 1);
    for (uint64_t ms = 5000; ms < 5004; ms++)
        put(recorder, TBED_GIVEN_INSTANT, intern(writer, "mark"), ms);
    tbed_writer_close(writer);
    EXPECT(0, ": exported: 1 event, ", "", "export", "--to=chrome", "-b99.97%", "-o", out, path);
    EXPECT(0, ": exported: 2 events, ", "", "export", "--to=chrome", "-b99.97%", "-f", "-o", out, second);
    EXPECT(0, ": exported: 3 events, ", "", "export", "--to=chrome", "-b99.97%", "-f", "-o", out, path,
           second);
}

static void an_export_does_not_count_what_was_not_chosen(void **state)
{
    const char *path = make_parts("uncounted.tbed"), *out = in_folder("out.mm_profdata");
    (void)state;
    EXPECT(0, ": exported: 1 event, ", "", "export", "--to=mm_profdata", "-n", "line", "-o", out, path);
    EXPECT(0, "| parse line ", "", "report", out);
    struct run run = RUN("export", "--to=rtl-log", "-f", "-n", "line", "-o", out, path);
    assert_says(run.out, ": exported: 2 lines\n");
    assert_silent_on(run.out, "omitted");
    end_run(&run);
    EXPECT(2, "", "invalid regular expression '('", "export", "--to=chrome", "-n(", "-o-", path);
}

/* ---- Strings ---- */

static void expect_text(const char *const words[], const char *text)
{
    struct run run = run_with(&(struct run_with){0}, words);
    assert_int_equal(run.exit, 0);
    assert_string_equal(run.err, "");
    assert_string_equal(run.out, text);
    end_run(&run);
}
#define STRINGS(text, ...) expect_text((const char *const[]){"strings", __VA_ARGS__, NULL}, text)

/* Events name id 42, which is bound to a string that refers to "label" and to id 41, which is bound to "answer". */
static void strings_are_those_that_the_events_use(void **state)
{
    const char *path = "spec/golden/valid/given.tbed";
    (void)state;
    STRINGS(
        " 536870988  Query\n 536870990  answer\n 536870992  label\n 536870994  label\\x1eanswer\\x1eanswer\n",
        "-b25ns", "-e45ns", path);
    STRINGS(" 536870988  \"Query\"\n 536870990  \"answer\"\n 536870992  \"label\"\n"
            " 536870994  <536870992> \"\\x1e\" <41> \"\\x1e\" <41>\n",
            "--raw", "-b25ns", "-e45ns", path);
}

static void strings_of_no_event_are_left_out(void **state)
{
    const char *path = make_parts("strings.tbed"), *golden = "spec/golden/valid/given.tbed";
    (void)state;
    struct run helper = RUN("strings", "-thelper", path), line = RUN("strings", "-nline", "--json", path);
    assert_int_equal(count_lines(helper.out), 3);
    assert_says(helper.out, "  io\n");
    assert_says(helper.out, "  mark\n");
    assert_says(helper.out, "  read\n");
    assert_ptr_equal(strstr(line.out, "{\"filter\":{\"names\":[\"line\"]}}\n{\"string\":"), line.out);
    assert_int_equal(count_lines(line.out), 2);
    assert_says(line.out, "\"text\":\"parse line\"}");
    end_run(&helper);
    end_run(&line);
    STRINGS("", "-b2", path);
    STRINGS("                   41   536870990  answer\n                   42   536870994  "
            "label\\x1eanswer\\x1eanswer\n",
            "--bindings", "-nlabel", golden);
    STRINGS("", "--bindings", "-nnone", golden);
    EXPECT(2, "", "--tree cannot be combined with options for a part", "strings", "--tree=41", "-t1", golden);
}

/* A span that is cut at both ends has no event in the window. */
static void a_span_that_goes_on_all_the_time_uses_its_strings(void **state)
{
    const char *path = make_parts("throughout.tbed");
    (void)state;
    EXPECT(0, "  work\n", "", "strings", "-b910ms", "-e920ms", path);
}

/* Ids without a text that the chosen events use, and no others. */
static void unresolved_ids_are_those_of_the_events(void **state)
{
    const char *path = in_folder("unresolved.tbed");
    struct tbed_writer_options options = {
        .size = sizeof options, .given_ticks = true, .given_ticks_per_second = 1000000000};
    struct tbed_writer *writer;
    (void)state;
    assert_int_equal(tbed_writer_open(path, &options, &writer, NULL), TBED_OK);
    struct tbed_recorder *recorder = tbed_recorder_open_given(writer, "main", 1);
    put(recorder, TBED_GIVEN_INSTANT, 4711, 1);
    put(recorder, TBED_GIVEN_INSTANT, 4712, 2);
    tbed_writer_close(writer);
    EXPECT(0, "4711  named by events 1 time", "", "strings", "--unresolved", path);
    struct run run = RUN("strings", "--unresolved", "-b2ms", path);
    assert_says(run.out, "4712  named by events 1 time");
    assert_silent_on(run.out, "4711");
    end_run(&run);
}

/* ---- What is said about it ---- */

static void text_says_that_only_a_part_is_shown(void **state)
{
    const char *path = make_parts("said.tbed"), *counts = make_small("steps.tbed", true);
    (void)state;
    EXPECT(0, "said.tbed: 10 events in 1.00 s, 2 streams\n", "", "report", path);
    EXPECT(0, "said.tbed: 2 events in 10.0 ms of 1.00 s, 2 streams (only a part)\n", "", "report", "-b495ms",
           "-e505ms", path);
    EXPECT(0, "said.tbed: 2 events in 1.00 s, 1 of 2 streams (only a part)\n", "", "report", "-thelper",
           path);
    EXPECT(0, "said.tbed: 500 ms of 1.00 s, 2 streams (only a part)\n     total", "", "tree", "-b0.5", path);
    EXPECT(0, "said.tbed: 500 ms of 1.00 s, 2 streams (only a part)\nthread", "", "tree", "--calls", "-b0.5",
           path);
    EXPECT(0, " spans in 2 streams (only a part)\n", "", "diff", "--exclude=line", path, path);
    EXPECT(0, "1 run: total 1.30 s (only a part of each)\n", "", "aggregate", "--exclude=line", path);
    EXPECT(
        0,
        "steps.tbed: 8 events in 70 of 70 steps (all times below are in this unit), 1 stream (only a part)\n",
        "", "report", "-b0%", counts);
}

/* Complete spans are shown in measureme's columns, and so is a part of the trace that has none. */
static void a_part_is_shown_in_the_form_of_the_whole(void **state)
{
    const char *path = make_parts("form.tbed");
    (void)state;
    EXPECT(0, "| parse line ", "", "report", path);
    EXPECT(0, "| parse line ", "", "report", "-n", "parse line", path);
}

/* No tick is so late. */
static void an_end_beyond_all_ticks_is_null(void **state)
{
    const char *path = in_folder("late.tbed");
    struct tbed_writer_options options = {
        .size = sizeof options, .given_ticks = true, .given_ticks_per_second = 1000000000000};
    struct tbed_writer *writer;
    (void)state;
    assert_int_equal(tbed_writer_open(path, &options, &writer, NULL), TBED_OK);
    put(tbed_recorder_open_given(writer, "main", 1), TBED_GIVEN_INSTANT, intern(writer, "mark"), 1);
    tbed_writer_close(writer);
    EXPECT(0, "{\"filter\":{\"begin_tick\":0,\"end_tick\":null}}\n{\"stream\"", "", "dump", "--json", "-b0",
           "-e10000h", path);
    EXPECT(0, "{\"filter\":{\"begin_tick\":18446744073709551615}}\n", "", "dump", "--json", "-b10000h", path);
}

static void json_has_the_conditions(void **state)
{
    static const char all[] =
        "\"filter\":{\"begin_tick\":100000000,\"end_tick\":900000001,\"threads\":[\"main\","
        "\"12\"],\"processes\":[\"test\"],\"streams\":[77],\"names\":[\"a|r\"],"
        "\"excluded_names\":[\"\\\"\"],\"categories\":[\"io\"],\"minimum_ticks\":2000000,"
        "\"inside\":[\"read\"]}";
    static const char *const verbs[] = {"report", "tree", "aggregate", "dump"};
    const char *path = make_parts("conditions.tbed");
    (void)state;
    for (size_t i = 0; i < sizeof verbs / sizeof verbs[0]; i++) {
        EXPECT(0, all, "", verbs[i], "--json", "-b", "100ms", "-e90%", "-tmain", "-t12", "-ptest",
               "--stream=77", "-na|r", "--exclude=\"", "--category=io", "--minimum-duration=2ms",
               "--inside=read", path);
        struct run run = RUN(verbs[i], "--json", path);
        assert_silent_on(run.out, "\"filter\"");
        end_run(&run);
    }
    EXPECT(0, "\"filter\":{\"begin_tick\":0}", "", "tree", "--calls", "--json", "-b0", path);
    EXPECT(0, ",\"filter\":{\"excluded_names\":[\"line\"]},", "", "slowest", "--json", "--exclude=line",
           path);
    EXPECT(0, "{\"filter\":{\"inside\":[\"work\"]}}\n", "", "dump", "--json", "--order=stream",
           "--inside=work", path);
    struct run run = RUN("diff", "--json", "-b50%", path, make_small("other.tbed", false));
    assert_says(run.out, "\"filter\":{\"begin_tick\":500000001}");
    assert_says(strstr(run.out, "\"after\":{"), "\"filter\":{\"begin_tick\":");
    end_run(&run);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(times_have_many_forms),
        cmocka_unit_test(dates_without_an_offset_are_local_time),
        cmocka_unit_test(percent_is_of_the_time_from_the_first_to_the_last_event),
        cmocka_unit_test(wrong_times_are_refused),
        cmocka_unit_test(an_end_before_the_begin_is_refused),
        cmocka_unit_test(counts_are_no_time),
        cmocka_unit_test(a_part_without_events_is_empty),
        cmocka_unit_test(threads_are_chosen_by_id_or_name),
        cmocka_unit_test(processes_are_chosen_by_id_or_name),
        cmocka_unit_test(a_span_has_its_category_in_later_blocks),
        cmocka_unit_test(names_are_chosen_by_regular_expressions),
        cmocka_unit_test(categories_and_durations_are_conditions),
        cmocka_unit_test(inside_is_the_time_of_a_span),
        cmocka_unit_test(spans_of_a_log_begin_and_end_where_they_are_cut),
        cmocka_unit_test(left_out_threads_have_no_names_in_chrome),
        cmocka_unit_test(each_exported_file_has_a_part_of_its_own),
        cmocka_unit_test(an_export_does_not_count_what_was_not_chosen),
        cmocka_unit_test(strings_are_those_that_the_events_use),
        cmocka_unit_test(strings_of_no_event_are_left_out),
        cmocka_unit_test(a_span_that_goes_on_all_the_time_uses_its_strings),
        cmocka_unit_test(unresolved_ids_are_those_of_the_events),
        cmocka_unit_test(text_says_that_only_a_part_is_shown),
        cmocka_unit_test(a_part_is_shown_in_the_form_of_the_whole),
        cmocka_unit_test(json_has_the_conditions),
        cmocka_unit_test(an_end_beyond_all_ticks_is_null),
    };
    return cmocka_run_group_tests(tests, make_folder, remove_folder);
}
