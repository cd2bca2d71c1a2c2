/*
 * Logs of RTL_LOGFILE: importing and exporting a log reproduces it byte for byte, whatever its oddities, and each
 * kind of line becomes the right event. The strings in the log are from OpenOffice.
 *
 * Slow: 24 s; it imports and exports random logs
 *
 * SPDX-License-Identifier: MIT
 */
#include "reader/tests/exchange/rtl_vectors.h"
#include "reader/tests/rtl_log/rtl_imported.h"
#include "reader/tests/tools/tool_run.h"

#include <tracebed/exchange.h>
#include <tracebed/reader.h>

static uint64_t odd_count(const struct imported *imported)
{
    uint64_t count = 0;
    for (unsigned odd = 0; odd < TBED_RTL_ODD_COUNT; odd++)
        count += imported->report.odd_counts[odd];
    return count;
}

/* Expects that the log is reproduced exactly, and that 'odd' is found 'count' times. */
static void expect_odd(const char *lines, size_t nbytes, enum tbed_rtl_odd odd, uint64_t count)
{
    char *log = malloc(nbytes + sizeof RTL_HEADER);
    assert_non_null(log);
    memcpy(log, RTL_HEADER, sizeof RTL_HEADER - 1);
    memcpy(log + sizeof RTL_HEADER - 1, lines, nbytes);
    struct imported imported = expect_back(log, sizeof RTL_HEADER - 1 + nbytes);
    if (imported.report.odd_counts[odd] != count)
        fail_msg("%s: %llu", tbed_rtl_odd_key(odd), (unsigned long long)imported.report.odd_counts[odd]);
    free_imported(&imported);
    free(log);
}

#define EXPECT_ODD(lines, odd, count) expect_odd(lines, sizeof(lines) - 1, odd, count)

/* ---- Lines that the program writes ---- */

static const char whole_log[] =
    RTL_HEADER RTL_FIRST_LINE RTL_LINES "1000001 2 { unotools ( ??? ) ::SvtUndoOptions_Impl::ctor()\n"
                                        "1000001 2 } unotools ( ??? ) ::SvtUndoOptions_Impl::ctor()\n"
                                        "1000001 2 | : \n"
                                        "2000000000 2 | : later\n"
                                        "4000000000 2 | : later still\n"
                                        "4294967295 11 | : last\n"
                                        "000050 11 | : wrapped\n"
                                        "closing log file at 000050";

static void a_log_of_the_program_comes_back_and_has_one_wrap(void **state)
{
    (void)state;
    struct imported imported = expect_back(whole_log, sizeof whole_log - 1);
    assert_int_equal(odd_count(&imported), 1);
    assert_int_equal(imported.report.odd_counts[TBED_RTL_ODD_WRAP], 1);
    assert_int_equal(imported.report.line_count, 22);
    assert_int_equal(imported.report.interval_count, 6);
    assert_int_equal(imported.report.message_count, 12);
    assert_int_equal(imported.report.thread_count, 3);
    free_imported(&imported);
}

static void every_line_becomes_its_event(void **state)
{
    (void)state;
    static const struct expected expected[] = {
        {0, 1, TBED_EVENT_MESSAGE, NULL, "PERFORMANCE - enter Main()"},
        {2, 1, TBED_EVENT_BEGIN, "::SplashScreen::setValue (lo119109)", NULL},
        {2, 1, TBED_EVENT_MESSAGE, "::SplashScreen::setValue (lo119109)", "value=20"},
        {2, 1, TBED_EVENT_END, "::SplashScreen::setValue (lo119109)", NULL},
        {6, 1, TBED_EVENT_MESSAGE, "dbaxml (oj)", "ReadThroughComponent : parsing \"content.xml\""},
        {7, 1, TBED_EVENT_BEGIN, "package (mg115289) : ZipPackage::initialize", NULL},
        {12, 1, TBED_EVENT_BEGIN, "a : b", NULL},
        {12, 1, TBED_EVENT_MESSAGE, "a : b", "c : d"},
        {13, 1, TBED_EVENT_MESSAGE, "a : b", ""},
        {13, 1, TBED_EVENT_MESSAGE, "a : b", "100%"},
        {14, 1, TBED_EVENT_END, "a : b", NULL},
        {1234, 11, TBED_EVENT_BEGIN, "desktop (cd100003) ::D::f", NULL},
        {2345, 11, TBED_EVENT_BEGIN, "desktop (cd100003) ::D::f : calc", NULL},
        {99999, 11, TBED_EVENT_MESSAGE, "desktop (cd100003)", "::D::g : done"},
        {1000000, 11, TBED_EVENT_END, "desktop (cd100003) ::D::f : calc",
         NULL}, /* it only leaves the stack */
        {1000000, 11, TBED_EVENT_END, "desktop (cd100003) ::D::f", NULL},
        {1000001, 2, TBED_EVENT_BEGIN, "unotools ( ??? ) ::SvtUndoOptions_Impl::ctor()", NULL},
        {1000001, 2, TBED_EVENT_END, "unotools ( ??? ) ::SvtUndoOptions_Impl::ctor()", NULL},
        {1000001, 2, TBED_EVENT_MESSAGE, NULL, ""},
        {2000000000, 2, TBED_EVENT_MESSAGE, NULL, "later"},
        {4000000000, 2, TBED_EVENT_MESSAGE, NULL, "later still"},
        {4294967295, 11, TBED_EVENT_MESSAGE, NULL, "last"},
        {4294967346, 11, TBED_EVENT_MESSAGE, NULL, "wrapped"},
    };
    struct imported imported = import_log(whole_log, sizeof whole_log - 1);
    struct tbed_merge *merge;
    struct tbed_event event;
    int64_t ns;
    assert_int_equal(tbed_merge_open(imported.reader, NULL, 0, &merge), TBED_OK);
    for (size_t i = 0; i < sizeof expected / sizeof expected[0]; i++) {
        assert_int_equal(tbed_merge_next(merge, &event), TBED_OK);
        check_event(imported.reader, &event, &expected[i], 1);
    }
    assert_int_equal(tbed_merge_next(merge, &event), TBED_END);
    tbed_merge_close(merge);
    assert_int_equal(tbed_ticks_to_realtime_ns(imported.reader, 1234000000, &ns), TBED_OK);
    assert_int_equal(ns, 997000001357456000);
    assert_int_equal(tbed_reader_verify(imported.reader), TBED_OK);
    free_imported(&imported);
}

/* ---- Lines that it does not write ---- */

static void what_is_odd_is_counted_and_comes_back(void **state)
{
    (void)state;
    EXPECT_ODD("000001 1 | : x\n", TBED_RTL_ODD_TRAILER, 1);
    EXPECT_ODD("000001 1 | : x\n000002 1 | : cu", TBED_RTL_ODD_CUT, 1);
    EXPECT_ODD("000001 1 { a\r\n000002 1 | a : x\r\n000003 1 } a\r\n", TBED_RTL_ODD_CRLF, 3);
    EXPECT_ODD("000001 1 { a\0b\n000002 1 | a\0b : x\0\n", TBED_RTL_ODD_NUL, 2);
    EXPECT_ODD("000001 1 { \xff\n000002 1 | \xff : \xfe\n000003 1 } \xff\n", TBED_RTL_ODD_UTF8, 3);
    EXPECT_ODD("\nhello\n000001 1 x\n000001 1 |x\n-1 1 | : x\n", TBED_RTL_ODD_FOREIGN, 5);
    EXPECT_ODD("1 1 | : x\n000001 01 | : x\n0000001 1 { a\n000001 1 |\n", TBED_RTL_ODD_NUMBER, 4);
    EXPECT_ODD("99999999999 1 | : x\n000001 4294967296 | : x\n", TBED_RTL_ODD_FOREIGN, 2);
    EXPECT_ODD("000001 1 | no separator\n000001 1 | x :\n", TBED_RTL_ODD_SEPARATOR, 2);
    EXPECT_ODD("000001 1 } a\n000002 1 { b\n000003 2 } b\n", TBED_RTL_ODD_ORPHAN, 2);
    EXPECT_ODD("000001 1 | : } a\n000002 1 | : { b\n000003 2 | : } b\n000004 1 | : } b\n",
               TBED_RTL_ODD_ORPHAN_MESSAGE, 2);
    EXPECT_ODD("000001 1 { a\n000002 1 { b\n000003 1 } a\n000004 1 { c\n", TBED_RTL_ODD_UNCLOSED, 2);
    EXPECT_ODD("000100 1 | : x\n000099 2 | : y\n000100 1 | : z\n", TBED_RTL_ODD_BACK, 1);
    EXPECT_ODD("000100 1 | : x\n4294966296 1 | : y\n000101 1 | : z\n", TBED_RTL_ODD_STEP, 1);
    EXPECT_ODD("000001 1 | a\x1e"
               "b : c\n000001 1 |  : c\n000001 1 { \n000001 1 } \n",
               TBED_RTL_ODD_FOREIGN, 0);
    EXPECT_ODD("closing log file at 000050\nclosing log file at 50", TBED_RTL_ODD_CUT, 1);
}

static void a_header_that_is_not_whole_is_counted(void **state)
{
    (void)state;
    static const char *const logs[] = {
        "corresponding to 5 ms after timer start\n000001 1 | : x\n",
        "opening log file 1.5 seconds past January 1st 1970\n000001 1 | : x\n",
        "opening log file 1.500000 seconds past January 1st 1970\r\nProcess id is 7\n000001 1 | : x\n",
        "opening log file 1.500000 seconds past January 1st 1970\nProcess id is 7\n000001 1 | : x\n",
        "000001 1 | : x\n" RTL_HEADER,
    };
    static const uint64_t counts[] = {2, 3, 1, 1, 3};
    for (size_t i = 0; i < sizeof logs / sizeof logs[0]; i++) {
        struct imported imported = expect_back(logs[i], strlen(logs[i]));
        assert_int_equal(imported.report.odd_counts[TBED_RTL_ODD_HEADER], counts[i]);
        free_imported(&imported);
    }
}

/* The program cuts a piece of 4096 bytes or more to 4095 bytes and a zero, and loses the newline. */
static void a_line_that_the_program_cut_comes_back(void **state)
{
    (void)state;
    char lines[3 * 4200];
    size_t at = 0;
    for (int i = 0; i < 2; i++) {
        at += (size_t)sprintf(lines + at, "00000%d 1 ", i);
        memset(lines + at, 'x', 4095);
        memcpy(lines + at, i == 0 ? "{ " : "} ", 2);
        lines[at + 4095] = '\0';
        at += 4096;
    }
    at += (size_t)sprintf(lines + at, "000002 1 | : behind\n");
    expect_odd(lines, at, TBED_RTL_ODD_TRUNCATED, 2);
    expect_odd(lines, at, TBED_RTL_ODD_UNCLOSED, 0);
}

static void a_line_without_end_is_kept_in_pieces(void **state)
{
    (void)state;
    size_t nbytes = 100000;
    char *lines = malloc(nbytes);
    assert_non_null(lines);
    memset(lines, ' ', nbytes);
    memcpy(lines, "000001 1 | : ", 13);
    expect_odd(lines, nbytes, TBED_RTL_ODD_LONG, 4);
    free(lines);
}

static void many_threads_come_back(void **state)
{
    (void)state;
    char *lines = malloc(3000 * 24);
    size_t at = 0;
    assert_non_null(lines);
    for (unsigned i = 0; i < 3000; i++)
        at += (size_t)sprintf(lines + at, "%06u %u | : x\n", i / 7, i * 2654435761u);
    expect_odd(lines, at, TBED_RTL_ODD_FOREIGN, 0);
    free(lines);
}

/* ---- Damage: a log cut anywhere, or with any byte changed ---- */

static void a_log_cut_at_any_byte_comes_back(void **state)
{
    (void)state;
    size_t nbytes = sizeof whole_log - 1;
    for (size_t length = 4; length < nbytes; length++) {
        struct imported imported = expect_back(whole_log, length);
        bool ends_in_line = whole_log[length - 1] != '\n';
        if (length > sizeof RTL_HEADER && ends_in_line)
            assert_int_equal(imported.report.odd_counts[TBED_RTL_ODD_CUT], 1);
        free_imported(&imported);
    }
}

static void a_long_log_cut_in_its_last_4_kib_comes_back(void **state)
{
    (void)state;
    size_t lines = sizeof RTL_HEADER - 1, piece = sizeof whole_log - 1 - lines - 26,
           nbytes = lines; /* no trailer */
    char log[sizeof RTL_HEADER + 6000];
    memcpy(log, RTL_HEADER, lines);
    for (; nbytes < lines + 5000; nbytes++)
        log[nbytes] = whole_log[lines + (nbytes - lines) % piece];
    for (size_t length = nbytes - 4096; length <= nbytes; length += 7) {
        struct imported imported = expect_back(log, length);
        free_imported(&imported);
    }
}

static void a_log_with_any_byte_changed_comes_back(void **state)
{
    (void)state;
    static const char bytes[] = {'\0', '\n', ' ', '9', '}', '\xff'};
    char log[sizeof whole_log];
    for (size_t at = sizeof RTL_HEADER; at < sizeof whole_log - 1; at++) {
        memcpy(log, whole_log, sizeof log);
        log[at] = bytes[at % sizeof bytes];
        struct imported imported = expect_back(log, sizeof whole_log - 1);
        assert_int_equal(tbed_reader_verify(imported.reader), TBED_OK);
        free_imported(&imported);
    }
}

/* ---- Other numbers ---- */

static char *export_with(const char *log, const struct tbed_rtl_options *options)
{
    struct imported imported = import_log(log, strlen(log));
    char *text;
    size_t nbytes;
    FILE *out = open_memstream(&text, &nbytes);
    assert_int_equal(tbed_export_rtl_log_stream(imported.reader, out, options, NULL, NULL), TBED_OK);
    fclose(out);
    free_imported(&imported);
    return text;
}

static void time_and_threads_can_be_renumbered(void **state)
{
    (void)state;
    struct tbed_rtl_options options = {
        .size = sizeof options, .rebase = TBED_RTL_FIRST, .tid = TBED_RTL_TID_ORDINAL};
    char *text = export_with(
        RTL_HEADER "001500 77 { a\n001600 5 | : x\n001700 77 } a\r\nclosing log file at 001800", &options);
    assert_string_equal(text, "opening log file 997000001.623456 seconds past January 1st 1970\n"
                              "corresponding to 0 ms after timer start\n"
                              "Process id is 4711\n"
                              "000000 1 { a\n000100 2 | : x\n000200 1 } a\r\nclosing log file at 000300");
    free(text);
}

static void control_characters_of_a_log_are_escaped_unless_it_is_to_be_exact(void **state)
{
    (void)state;
    static const char log[] =
        RTL_HEADER "000001 1 { a\x1b[2Jb\n000002 1 | a\x1b[2Jb : \t\xc2\x9b\xe2\x80\xae\x85\n"
                   "000003  1 | : odd\r\x07line\r\n000004 1 } a\x1b[2Jb\r\n";
    struct tbed_rtl_options options = {.size = sizeof options};
    char *text = export_with(log, &options);
    assert_string_equal(text, RTL_HEADER "000001 1 { a\\x1b[2Jb\n"
                                         "000002 1 | a\\x1b[2Jb : \t\\xc2\\x9b\\xe2\\x80\\xae\\x85\n"
                                         "000003  1 | : odd\\x0d\\x07line\r\n000004 1 } a\\x1b[2Jb\r\n");
    free(text);
    options.exact = true;
    text = export_with(log, &options);
    assert_string_equal(text, log);
    free(text);
}

static void pieces_are_cut_where_that_is_asked_for(void **state)
{
    (void)state;
    struct tbed_rtl_options options = {.size = sizeof options, .quirks = true};
    char log[6000] = RTL_HEADER, *text;
    size_t at = strlen(log);
    at += (size_t)sprintf(log + at, "000001 1 | : ");
    memset(log + at, 'x', 4092); /* with "| : " and the newline 4097 */
    strcpy(log + at + 4092, "\n000002 1 | : y\n");
    struct imported imported = import_log(log, strlen(log));
    size_t nbytes;
    FILE *out = open_memstream(&text, &nbytes);
    assert_int_equal(tbed_export_rtl_log_stream(imported.reader, out, &options, NULL, NULL), TBED_OK);
    fclose(out);
    assert_int_equal(nbytes, strlen(log) - 1);
    assert_int_equal(text[at + 4091], '\0');
    assert_memory_equal(text + at + 4092, "000002 1 | : y\n", 15);
    free(text);
    free_imported(&imported);
}

/* ---- Names ---- */

static void check_part(struct tbed_rtl_part part, const char *expected)
{
    assert_int_equal(part.nbytes, strlen(expected));
    assert_memory_equal(part.text, expected, part.nbytes);
}

static void names_are_taken_apart(void **state)
{
    (void)state;
    static const struct {
        const char *name, *module, *author, *function;
    } names[] = {
        {"desktop (cd100003) ::Desktop::Init", "desktop", "cd100003", "::Desktop::Init"},
        {"desktop (cd100003)", "desktop", "cd100003", ""},
        {"unotools ( ??? ) ::SvtUndoOptions_Impl::ctor()", "unotools", "???",
         "::SvtUndoOptions_Impl::ctor()"},
        {"::SplashScreen::setValue (lo119109)", "", "lo119109", "::SplashScreen::setValue"},
        {"vcl: ToolBox::ToolBox( Window* pParent, const ResId& rResId )", "", "",
         "vcl: ToolBox::ToolBox( Window* pParent, const ResId& rResId )"},
        {"::CreateSalInstance", "", "", "::CreateSalInstance"},
        {"dbaccess (Ocke.Janssen@sun.com) ODatabase::x", "dbaccess", "Ocke.Janssen@sun.com", "ODatabase::x"},
        {"linguistic: LngSvcMgr::SaveCfgSvcs - ReplaceSetProperties", "", "",
         "linguistic: LngSvcMgr::SaveCfgSvcs - ReplaceSetProperties"},
        {"m (", "", "", "m ("},
        {"m ()x", "", "", "m ()x"},
        {"", "", "", ""},
    };
    for (size_t i = 0; i < sizeof names / sizeof names[0]; i++) {
        struct tbed_rtl_fields fields;
        tbed_rtl_fields(names[i].name, strlen(names[i].name), &fields);
        check_part(fields.module, names[i].module);
        check_part(fields.author, names[i].author);
        check_part(fields.function, names[i].function);
    }
}

static void the_byte_after_a_name_is_not_read(void **state)
{
    (void)state;
    static const char name[] = "::D::g (lo119109)(";
    struct tbed_rtl_fields fields;
    tbed_rtl_fields(name, strlen(name) - 1, &fields);
    check_part(fields.author, "lo119109");
    check_part(fields.function, "::D::g");
}

static void a_message_tells_the_function_that_its_context_does_not(void **state)
{
    (void)state;
    static const char message[] = "::D::g : done", nested[] = "desktop (lo119109) A::b : begin";
    struct tbed_rtl_fields fields;
    tbed_rtl_fields("desktop (cd100003)", 18, &fields);
    assert_int_equal(tbed_rtl_message_fields(message, strlen(message), &fields), 9);
    check_part(fields.function, "::D::g");
    check_part(fields.author, "cd100003");
    tbed_rtl_fields("", 0, &fields);
    assert_int_equal(tbed_rtl_message_fields(nested, strlen(nested), &fields), 26);
    check_part(fields.module, "desktop");
    check_part(fields.function, "A::b");
    tbed_rtl_fields("", 0, &fields);
    assert_int_equal(tbed_rtl_message_fields("a : b", 5, &fields), 0);
    tbed_rtl_fields("::f", 3, &fields);
    assert_int_equal(tbed_rtl_message_fields(message, strlen(message), &fields), 0);
}

/* ---- The program ---- */

static const char *log_file(const char *name)
{
    static const char log[] = RTL_HEADER "000000 1 { desktop (cd100003) ::Desktop::Init\n"
                                         "000010 1 { vcl (ss112471) ::SVMain\n"
                                         "000015 1 | vcl (ss112471) ::SVMain : 100%\n"
                                         "000030 1 } vcl (ss112471) ::SVMain\n"
                                         "000040 1 { vcl (cd100003) ::Other\n"
                                         "000050 1 } vcl (cd100003) ::Other\n"
                                         "000100 1 } desktop (cd100003) ::Desktop::Init\n"
                                         "000101 1 } nothing\n"
                                         "closing log file at 000101";
    const char *path = in_folder(name);
    write_whole(path, log, sizeof log - 1);
    return path;
}

static void give(struct tbed_recorder *recorder, enum tbed_given_type type, uint64_t ms, uint32_t id,
                 const struct tbed_argument *argument)
{
    struct tbed_given_event event = {.type = type,
                                     .id = id,
                                     .category = TBED_ID_INVALID,
                                     .tick = ms * 1000000,
                                     .severity = type == TBED_GIVEN_MESSAGE ? TBED_MESSAGE_CONTEXT : 0,
                                     .arguments = argument,
                                     .argument_count = argument != NULL};
    tbed_event_record_given(recorder, &event);
}

/* Records the calls of the original macros as events, without an imported log. */
static void make_trace(const char *path)
{
    struct tbed_writer_options options = {.size = sizeof options,
                                          .given_ticks = true,
                                          .given_ticks_per_second = 1000000000,
                                          .given_realtime_ns = 997000000123456000,
                                          .process_pid = 4711};
    struct tbed_writer *writer;
    struct tbed_argument number = {
        .type = TBED_ARG_I64, .name_id = TBED_ID_INVALID, .nbytes = 8, .value.i64 = 20};
    struct tbed_argument text = {
        .type = TBED_ARG_TEXT, .name_id = TBED_ID_INVALID, .nbytes = 11, .value.text = "content.xml"};
    assert_int_equal(tbed_writer_open(path, &options, &writer, NULL), TBED_OK);
    struct tbed_recorder *one = tbed_recorder_open_given(writer, NULL, 1234);
    struct tbed_recorder *two = tbed_recorder_open_given(writer, NULL, 99);
    uint32_t scope = intern(writer, "desktop (cd100003) ::D::f");
    give(one, TBED_GIVEN_MESSAGE, 0, intern(writer, "PERFORMANCE - enter Main()"), NULL);
    give(one, TBED_GIVEN_MESSAGE, 2, intern(writer, "::SplashScreen::setValue (lo119109)\x1evalue=%d"),
         &number);
    give(one, TBED_GIVEN_MESSAGE, 6, intern(writer, "dbaxml (oj)\x1eReadThroughComponent : parsing \"%s\""),
         &text);
    give(one, TBED_GIVEN_MESSAGE, 13, intern(writer, "a : b\x1e"), NULL);
    give(one, TBED_GIVEN_MESSAGE, 13,
         intern(writer, "a : 5%\x1e"
                        "100%%"),
         NULL);
    give(two, TBED_GIVEN_BEGIN, 1234, scope, NULL);
    give(two, TBED_GIVEN_MESSAGE, 2345, intern(writer, "desktop (cd100003) ::D::f\x1e{ calc"), NULL);
    give(one, TBED_GIVEN_INSTANT, 99999, intern(writer, "an instant"), NULL);
    give(two, TBED_GIVEN_END, 1000000, TBED_ID_INVALID, NULL);
    give(two, TBED_GIVEN_COUNTER, 1000000, scope, &number);
    tbed_writer_close(writer);
}

static void events_become_the_bytes_of_the_vectors(void **state)
{
    (void)state;
    char trace[512], out[512];
    snprintf(trace, sizeof trace, "%s", in_folder("given.tbed"));
    make_trace(trace);
    snprintf(out, sizeof out, "%s", in_folder("given.log"));
    EXPECT(0, "1 event omitted", "", "export", "--to=rtl-log", trace, "-o", out);
    char *log = read_whole(out, NULL);
    assert_string_equal(log, RTL_HEADER RTL_FIRST_LINE
                        "000002 1 | ::SplashScreen::setValue (lo119109) : value=20\n"
                        "000006 1 | dbaxml (oj) : ReadThroughComponent : parsing \"content.xml\"\n"
                        "000013 1 | a : b : \n"
                        "000013 1 | a : 5% : 100%\n"
                        "001234 2 { desktop (cd100003) ::D::f\n"
                        "002345 2 | desktop (cd100003) ::D::f : { calc\n"
                        "099999 1 | : an instant\n"
                        "1000000 2 } desktop (cd100003) ::D::f\n"
                        "closing log file at 1000000");
    free(log);
    EXPECT(0, "1 event omitted", "", "export", "--to=rtl-log", "--tid=native", trace, "-f", "-o", out);
    log = read_whole(out, NULL);
    assert_non_null(strstr(log, "\n001234 99 { desktop (cd100003) ::D::f\n"));
    free(log);
    EXPECT(0, "a : 5% : 100%\n", "", "dump", trace);
}

static void every_verb_takes_a_log(void **state)
{
    (void)state;
    char log[512], back[512];
    snprintf(log, sizeof log, "%s", log_file("a.log"));
    snprintf(back, sizeof back, "%s", in_folder("back.log"));
    EXPECT(0, "1 × end of a scope that was not open", "", "info", log);
    EXPECT(0, "\"orphan\":1,", "", "info", "--json", log);
    EXPECT(0, "0.015 s  thread 1  message      vcl (ss112471) ::SVMain : 100%", "", "dump", log);
    EXPECT(0, "\"context\":\"vcl (ss112471) ::SVMain\"", "", "dump", "--json", log);
    EXPECT(0, "intact", "", "verify", log);
    EXPECT(0, "8 lines", "", "export", "--format", "rtl-log", log, "-f", "-o", back);
    free(read_whole(back, NULL));
    EXPECT(0, "000100 1 } desktop", "", "export", "--to=rtl-log", "--tid=ordinal", log, "-o", "-");
    EXPECT(2, "", "--rebase: unknown value 'x' (expected timer, first)", "export", "--to=rtl-log",
           "--rebase=x", log, "-o", "-");
    EXPECT(2, "", "--quirks does not apply to chrome", "export", "--to=chrome", "--quirks", log, "-o", "-");
    EXPECT(0, "0 of 3 labels differ", "", "diff", log, log);
}

/* Such ends are instants and messages, so the tables of spans do not show them. */
static void ends_that_match_no_begin_are_mentioned(void **state)
{
    (void)state;
    static const char log[] = "001000 11 { a\n"
                              "001100 11 | a : } calc\n"
                              "001200 11 } b\n"
                              "001300 11 } a\n";
    static const char note[] =
        "ends.log: 2 ends of scopes that were not open on their threads, not shown as spans";
    static const char imported_note[] =
        "ends.tbed: 2 ends of scopes that were not open on their threads, not shown as spans";
    char path[512], trace[512];
    snprintf(path, sizeof path, "%s", in_folder("ends.log"));
    snprintf(trace, sizeof trace, "%s", in_folder("ends.tbed"));
    write_whole(path, log, sizeof log - 1);
    EXPECT(0, "1 × message '}' that ends nothing open on its thread", "", "info", path);
    EXPECT(0, "\"orphan_message\":1", "", "info", "--json", path);
    EXPECT(0, NULL, note, "report", path);
    EXPECT(0, NULL, note, "report", "--json", path);
    EXPECT(0, NULL, note, "tree", path);
    EXPECT(0, NULL, note, "tree", "--paths", path);
    EXPECT(0, NULL, "", "import", "-f", "-o", trace, path);
    EXPECT(0, NULL, imported_note, "report", trace);
    EXPECT(0, NULL, imported_note, "tree", trace);
    write_whole(path, log, 14);
    struct run run = RUN("report", path);
    assert_int_equal(run.exit, 0);
    assert_silent_on(run.err, "not open");
    end_run(&run);
}

static void a_report_is_grouped_and_filtered(void **state)
{
    (void)state;
    char log[512], filter[512];
    snprintf(log, sizeof log, "%s", log_file("b.log"));
    snprintf(filter, sizeof filter, "%s", in_folder("filter"));
    write_whole(filter, "^vcl .*::SV\n\n", 13);
    EXPECT(0, "\"name\":\"vcl\",\"count\":2,\"total_ns\":30000000", "not open", "report", "--json",
           "--by=module", log);
    EXPECT(0, "\"name\":\"ss112471\",\"count\":1,", "not open", "report", "--json", "--by=author", log);
    EXPECT(0, "\"name\":\"::Other\",\"count\":1,", "not open", "report", "--json", "--by=function", log);
    EXPECT(0, "<left out by --include-from or --exclude-from>\",\"count\":2,", "not open", "report", "--json",
           "--include-from", filter, log);
    EXPECT(0, "<left out by --include-from or --exclude-from>\",\"count\":1,", "not open", "report", "--json",
           "--exclude-from", filter, log);
    write_whole(filter, "a(\n", 3);
    EXPECT(2, "", "line 1", "report", "--include-from", filter, log);
    EXPECT(2, "", "No such file", "diff", "--exclude-from", in_folder("none"), log, log);
}

static void calls_are_listed_with_pairs_of_messages(void **state)
{
    (void)state;
    static const char log[] = "001000 11 { a\n"
                              "001100 11 | a : { calc\n"
                              "001200 11 { b\n"
                              "001300 11 | a : } calc\n"
                              "001400 11 | a : { creation ConfigItem [file=standard]\n"
                              "001500 11 | a : { calc\n"
                              "001600 11 | b : } calc\n"
                              "001700 11 | a : } creation ConfigItem\n"
                              "001800 11 } a\n"
                              "001900 11 | : x\n";
    char path[512];
    snprintf(path, sizeof path, "%s", in_folder("c.log"));
    write_whole(path, log, sizeof log - 1);
    EXPECT(0,
           "thread 11\n"
           "         1.000 s       800 ms  a\n"
           "         1.100 s       200 ms    a : calc\n"
           "         1.200 s       700 ms  b  [never ended]\n"
           "         1.400 s       300 ms    a : creation ConfigItem [file=standard]\n"
           "         1.500 s       400 ms    a : calc  [never ended]\n",
           "not open", "tree", path);
    EXPECT(0,
           "{\"name\":\"a : "
           "calc\",\"begin_ns\":1100000000,\"duration_ns\":200000000,\"depth\":1,\"never_ended\":false",
           "not open", "tree", "--json", path);
    char imported[512];
    snprintf(imported, sizeof imported, "%s", in_folder("c.tbed"));
    EXPECT(0, NULL, NULL, "import", path, "-o", imported);
    EXPECT(0, "         1.100 s       200 ms    a : calc\n", "not open", "tree", imported);
    EXPECT(0, "a : calc  [1 never ended]\n", "not open", "tree", "--paths", imported);
    EXPECT(0, "process 4711", "not open", "tree", "--paths", log_file("pid.log"));
    EXPECT(0,
           "600 ms          2     200 ms     300 ms     200 ms     400 ms     400 ms  a : calc  [1 never "
           "ended]\n",
           "not open", "report", path);
    EXPECT(0, "b;a : calc 400000000\n", "spans that never ended, drawn until", "flame", "--folded", path);
}

/* In viewers, spans that nest belong to the thread; others are shown beside it. */
static void pairs_of_messages_are_spans_for_viewers(void **state)
{
    (void)state;
    static const char log[] = "001000 11 { a\n"
                              "001100 11 | a : { calc\n"
                              "001300 11 | a : } calc\n"
                              "001400 11 | a : { over\n"
                              "001500 11 { b\n"
                              "001600 11 | b : } nothing\n"
                              "001700 11 | a : } over\n"
                              "001800 11 } b\n"
                              "001850 11 | : { left\n"
                              "001900 11 } a\n";
    char path[512];
    snprintf(path, sizeof path, "%s", in_folder("viewer.log"));
    write_whole(path, log, sizeof log - 1);
    struct run run = RUN("export", "--to=chrome", path, "-o", "-");
    assert_int_equal(run.exit, 0);
    assert_says(run.out, "{\"name\":\"a : calc\",\"cat\":\"message\",\"ph\":\"X\",\"ts\":1100000,\"pid\":0,"
                         "\"tid\":11,\"dur\":200000}");
    assert_says(run.out, "{\"name\":\"a : over\",\"cat\":\"message\",\"ph\":\"b\",\"ts\":1400000,");
    assert_says(run.out, "{\"name\":\"a : over\",\"cat\":\"message\",\"ph\":\"e\",\"ts\":1700000,");
    assert_says(run.out, "{\"name\":\"b : } nothing\",\"cat\":\"message\",\"ph\":\"i\",");
    assert_says(run.out,
                "{\"name\":\"left\",\"cat\":\"message\",\"ph\":\"b\",\"ts\":1850000,\"pid\":0,\"tid\":11,"
                "\"id\":\"beside 2\",\"args\":{\"never ended\":true}}");
    assert_silent_on(run.out, "{ calc");
    end_run(&run);
}

/* A program may record pairs of messages with its own formats. */
static void messages_of_a_program_are_no_spans(void **state)
{
    (void)state;
    char trace[512];
    struct tbed_writer_options options = {
        .size = sizeof options, .given_ticks = true, .given_ticks_per_second = 1000000000, .process_pid = 7};
    struct tbed_writer *writer;
    struct tbed_argument number = {
        .type = TBED_ARG_I64, .name_id = TBED_ID_INVALID, .nbytes = 8, .value.i64 = 20};
    struct tbed_argument text = {
        .type = TBED_ARG_TEXT, .name_id = TBED_ID_INVALID, .nbytes = 3, .value.text = "{ x"};
    snprintf(trace, sizeof trace, "%s", in_folder("formats.tbed"));
    assert_int_equal(tbed_writer_open(trace, &options, &writer, NULL), TBED_OK);
    struct tbed_recorder *recorder = tbed_recorder_open_given(writer, NULL, 1);
    give(recorder, TBED_GIVEN_MESSAGE, 1, intern(writer, "m (a) ::f\x1e{ item %d"), &number);
    give(recorder, TBED_GIVEN_MESSAGE, 2, intern(writer, "%s [n=1]"), &text);
    give(recorder, TBED_GIVEN_MESSAGE, 3, intern(writer, "m (a) ::f\x1e} item %d"), &number);
    give(recorder, TBED_GIVEN_MESSAGE, 5, intern(writer, "} x"), NULL);
    give(recorder, TBED_GIVEN_MESSAGE, 6, intern(writer, "%d }"), &number);
    tbed_writer_close(writer);
    EXPECT(0, "", ": no spans\n", "tree", "--calls", trace);
    EXPECT(2, "", "--by: unknown group 'x' (expected scope, module, author, function)", "diff", "--by=x",
           trace, trace);
}

static void what_is_said_of_calls_and_of_paths_is_kept_apart(void **state)
{
    (void)state;
    char log[512], filter[512];
    snprintf(log, sizeof log, "%s", log_file("apart.log"));
    snprintf(filter, sizeof filter, "%s", in_folder("apart"));
    write_whole(filter, "vcl\n", 4);
    EXPECT(2, "", "cannot be combined with --paths", "tree", "--calls", "--per-thread", log);
    EXPECT(2, "", "require --calls", "tree", "--paths", "--exclude-from", filter, log);
    EXPECT(0, "thread 1", "not open", "tree", "--paths", "--per-thread", log);
    EXPECT(0, "thread 1", "not open", "tree", "--depth=1", log);
    struct run run = RUN("tree", "--exclude-from", filter, log);
    assert_says(run.out, "         0.000 s       100 ms  desktop (cd100003) ::Desktop::Init\n");
    assert_silent_on(run.out, "vcl");
    end_run(&run);
}

static void run_oracle(const char *name, int count)
{
    char command[1200];
    snprintf(command, sizeof command, "python3 reader/tests/exchange/%s %s %s %d", name, program_path(),
             run_folder, count);
    assert_int_equal(system(command), 0);
}

static void random_logs_are_read_as_they_obviously_read(void **state)
{
    (void)state;
    run_oracle("check_rtl_log.py", 40);
}

static void scopes_of_random_logs_are_paired_as_they_obviously_pair(void **state)
{
    (void)state;
    run_oracle("check_rtl_scopes.py", 40);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(a_log_of_the_program_comes_back_and_has_one_wrap),
        cmocka_unit_test(every_line_becomes_its_event),
        cmocka_unit_test(what_is_odd_is_counted_and_comes_back),
        cmocka_unit_test(a_header_that_is_not_whole_is_counted),
        cmocka_unit_test(a_line_that_the_program_cut_comes_back),
        cmocka_unit_test(a_line_without_end_is_kept_in_pieces),
        cmocka_unit_test(many_threads_come_back),
        cmocka_unit_test(a_log_cut_at_any_byte_comes_back),
        cmocka_unit_test(a_long_log_cut_in_its_last_4_kib_comes_back),
        cmocka_unit_test(a_log_with_any_byte_changed_comes_back),
        cmocka_unit_test(time_and_threads_can_be_renumbered),
        cmocka_unit_test(control_characters_of_a_log_are_escaped_unless_it_is_to_be_exact),
        cmocka_unit_test(pieces_are_cut_where_that_is_asked_for),
        cmocka_unit_test(names_are_taken_apart),
        cmocka_unit_test(the_byte_after_a_name_is_not_read),
        cmocka_unit_test(a_message_tells_the_function_that_its_context_does_not),
        cmocka_unit_test(events_become_the_bytes_of_the_vectors),
        cmocka_unit_test(every_verb_takes_a_log),
        cmocka_unit_test(ends_that_match_no_begin_are_mentioned),
        cmocka_unit_test(a_report_is_grouped_and_filtered),
        cmocka_unit_test(calls_are_listed_with_pairs_of_messages),
        cmocka_unit_test(pairs_of_messages_are_spans_for_viewers),
        cmocka_unit_test(messages_of_a_program_are_no_spans),
        cmocka_unit_test(what_is_said_of_calls_and_of_paths_is_kept_apart),
        cmocka_unit_test(random_logs_are_read_as_they_obviously_read),
        cmocka_unit_test(scopes_of_random_logs_are_paired_as_they_obviously_pair),
    };
    return cmocka_run_group_tests(tests, make_folder, remove_folder);
}
