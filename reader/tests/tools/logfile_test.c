/*
 * The macros of logfile.h, from the call to the bytes of the exported log: the same as OpenOffice wrote, except for
 * improvements (one record a call, values formatted later, nothing lost when the process is killed).
 *
 * Where times matter the trace has given ticks, a millisecond being a million of them.
 *
 * SPDX-License-Identifier: MIT
 */
#include "reader/tests/exchange/rtl_vectors.h"
#include "reader/tests/tools/tool_run.h"

#include <pthread.h>
#include <signal.h>
#include <tracebed/logfile.h>
#include <tracebed/reader.h>

/* ---- Traces and logs ---- */

static const char *start_given(const char *name)
{
    struct tbed_writer_options options = {.size = sizeof options,
                                          .overwrite = true,
                                          .given_ticks = true,
                                          .given_ticks_per_second = 1000000000,
                                          .given_realtime_ns = 997000000123456000,
                                          .process_pid = 4711};
    const char *path = in_folder(name);
    assert_int_equal(tbed_start(path, &options), TBED_OK);
    return path;
}

static const char *start(const char *name)
{
    const char *path = in_folder(name);
    assert_int_equal(tbed_start(path, NULL), TBED_OK);
    return path;
}

/* What the thread records next happens then. A counter is no line of a log. */
static void at(uint64_t ms)
{
    struct tbed_argument value = {.type = TBED_ARG_U64, .name_id = TBED_ID_INVALID, .nbytes = 8};
    struct tbed_given_event event = {.type = TBED_GIVEN_COUNTER,
                                     .id = tbed_string_intern(tbed_default_writer(), "ms", 2),
                                     .category = TBED_ID_INVALID,
                                     .tick = ms * 1000000,
                                     .arguments = &value,
                                     .argument_count = 1};
    tbed_event_record_given(tbed_default_recorder(), &event);
}

static void expect_log(const char *path, const char *log)
{
    struct run run = RUN("export", "--to=rtl-log", path, "-o", "-");
    assert_int_equal(run.exit, 0);
    assert_string_equal(run.out, log);
    end_run(&run);
}

/* Without header, trailer and times: "THREAD REST". */
static char *lines_of(const char *path)
{
    struct run run = RUN("export", "--to=rtl-log", path, "-o", "-");
    assert_int_equal(run.exit, 0);
    char *lines = malloc(strlen(run.out) + 1), *end = lines;
    const char *line = strstr(run.out, "Process id is");
    assert_true(lines != NULL && line != NULL);
    for (line = strchr(line, '\n') + 1; *line >= '0' && *line <= '9'; line = strchr(line, '\n') + 1) {
        const char *rest = strchr(line, ' ') + 1;
        size_t nbytes = strcspn(rest, "\n") + 1;
        memcpy(end, rest, nbytes);
        end += nbytes;
    }
    *end = '\0';
    end_run(&run);
    return lines;
}

static void expect_lines(const char *path, const char *wanted)
{
    char *lines = lines_of(path);
    assert_string_equal(lines, wanted);
    free(lines);
}

static void run_thread(void *(*run)(void *argument), void *argument)
{
    pthread_t thread;
    assert_int_equal(pthread_create(&thread, NULL, run, argument), 0);
    assert_int_equal(pthread_join(thread, NULL), 0);
}

/* ---- What each macro writes ---- */

static void *speak_once(void *argument)
{
    at(0);
    TBED_LOGFILE_TRACE("thread %d", *(int *)argument);
    return NULL;
}

static void *be_eleventh(void *argument)
{
    (void)argument;
    at(1234);
    TBED_LOGFILE_CONTEXT_AUTHOR(log, "desktop", "cd100003", "::D::f");
    at(2345);
    TBED_LOGFILE_CONTEXT_TRACE(log, "{ calc");
    at(99999);
    TBED_LOGFILE_TRACE_AUTHOR("desktop", "cd100003", "::D::g : done");
    at(1000000);
    TBED_LOGFILE_END(log);
    at(4294967295);
    TBED_LOGFILE_TRACE("last");
    return NULL;
}

static void speak_first(void)
{
    at(2);
    TBED_LOGFILE_CONTEXT(splash, "::SplashScreen::setValue (lo119109)");
    TBED_LOGFILE_CONTEXT_TRACE(splash, "value=%d", 20);
    TBED_LOGFILE_END(splash);
    at(6);
    TBED_LOGFILE_TRACE_AUTHOR("dbaxml", "oj", "ReadThroughComponent : parsing \"%s\"", "content.xml");
    at(7);
    TBED_LOGFILE_TRACE_AUTHOR("package", "mg115289", "{ ZipPackage::initialize");
    at(12);
    TBED_LOGFILE_CONTEXT(colons, "a : b");
    TBED_LOGFILE_CONTEXT_TRACE(colons, "c : d");
    at(13);
    TBED_LOGFILE_CONTEXT_TRACE(colons, "");
    TBED_LOGFILE_CONTEXT_TRACE(colons, "100%");
    at(14);
}

static void every_call_writes_its_bytes(void **state)
{
    (void)state;
    const char *path = start_given("vectors.tbed");
    at(0);
    TBED_LOGFILE_TRACE("PERFORMANCE - enter Main()");
    for (int i = 2; i <= 10; i++)
        run_thread(speak_once, &i);
    speak_first();
    run_thread(be_eleventh, NULL);
    tbed_stop();
    expect_log(path,
               RTL_HEADER RTL_FIRST_LINE "000000 2 | : thread 2\n"
                                         "000000 3 | : thread 3\n"
                                         "000000 4 | : thread 4\n"
                                         "000000 5 | : thread 5\n"
                                         "000000 6 | : thread 6\n"
                                         "000000 7 | : thread 7\n"
                                         "000000 8 | : thread 8\n"
                                         "000000 9 | : thread 9\n"
                                         "000000 10 | : thread 10\n" RTL_LINES "4294967295 11 | : last\n"
                                         "closing log file at 4294967295");
}

static void a_clean_end_has_its_time(void **state)
{
    (void)state;
    const char *path = start_given("closed.tbed");
    at(50);
    TBED_LOGFILE_TRACE("x");
    tbed_stop();
    expect_log(path, "opening log file 997000000.123456 seconds past January 1st 1970\n"
                     "corresponding to 0 ms after timer start\n"
                     "Process id is 4711\n"
                     "000050 1 | : x\n"
                     "closing log file at 000050");
}

/* ---- Messages ---- */

static const char *made_at_run_time(const char *text)
{
    static char buffer[64];
    snprintf(buffer, sizeof buffer, "%s", text);
    return buffer;
}

static void speak(const char *module, const char *format, int number)
{
    TBED_LOGFILE_TRACE(made_at_run_time("a text"));
    TBED_LOGFILE_TRACE(made_at_run_time("50% of %s"));
    TBED_LOGFILE_TRACE_AUTHOR(module, "author", "number %d", number);
    TBED_LOGFILE_TRACE_AUTHOR("module", made_at_run_time("maker"), "as it is: %d%%");
    TBED_LOGFILE_TRACE(format, number, module);
    TBED_LOGFILE_TRACE(module != NULL ? "this" : "that");
    TBED_LOGFILE_TRACE_AUTHOR("many", "values", "%d %d %d %d %d %d %d %s %d", 1, 2, 3, 4, 5, 6, 7,
                              made_at_run_time("8"), number);
}

static void whatever_is_made_at_run_time_is_recorded(void **state)
{
    (void)state;
    const char *path = start("run_time.tbed");
    for (int i = 0; i < 2; i++)
        speak(i == 0 ? "first" : "second", i == 0 ? "%d of %s" : "%5d/%s", i);
    tbed_stop();
    expect_lines(path, "1 | : a text\n"
                       "1 | : 50% of %s\n"
                       "1 | first (author) : number 0\n"
                       "1 | module (maker) : as it is: %d%%\n"
                       "1 | : 0 of first\n"
                       "1 | : this\n"
                       "1 | many (values) : 1 2 3 4 5 6 7 8 0\n"
                       "1 | : a text\n"
                       "1 | : 50% of %s\n"
                       "1 | second (author) : number 1\n"
                       "1 | module (maker) : as it is: %d%%\n"
                       "1 | :     1/second\n"
                       "1 | : this\n"
                       "1 | many (values) : 1 2 3 4 5 6 7 8 1\n");
}

static void speak_of_nothing(const char *none)
{
    TBED_LOGFILE_CONTEXT(log, "nothing");
    TBED_LOGFILE_CONTEXT_TRACE(log, "%s", none);
    TBED_LOGFILE_CONTEXT_TRACE(log, "%d%% of %s", 5, none);
    TBED_LOGFILE_TRACE(none);
    TBED_LOGFILE_TRACE_AUTHOR(none, none, none);
}

static void what_is_not_there_is_null(void **state)
{
    (void)state;
    const char *path = start("null.tbed");
    for (int i = 0; i < 2; i++)
        speak_of_nothing(NULL);
    tbed_stop();
    expect_lines(path, "1 { nothing\n"
                       "1 | nothing : (null)\n"
                       "1 | nothing : 5% of (null)\n"
                       "1 | : (null)\n"
                       "1 | : (null)\n"
                       "1 } nothing\n"
                       "1 { nothing\n"
                       "1 | nothing : (null)\n"
                       "1 | nothing : 5% of (null)\n"
                       "1 | : (null)\n"
                       "1 | : (null)\n"
                       "1 } nothing\n");
}

/* The compiler refuses it where it can see it. */
static void nothing_is_written_through_an_argument(void **state)
{
    (void)state;
    const char *path = start("written.tbed");
    volatile int kept = 7;
    for (int i = 0; i < 2; i++)
        TBED_LOGFILE_TRACE(made_at_run_time("%d%n|"), 5, (void *)(uintptr_t)&kept);
    tbed_stop();
    assert_int_equal(kept, 7);
    char *lines = lines_of(path);
    assert_int_equal(count_lines(lines), 2);
    free(lines);
}

/* A text without end is dropped and counted; what fits is whole. */
static void huge_texts_are_whole_or_counted(void **state)
{
    (void)state;
    const char *path = start("huge.tbed");
    size_t nbytes = 1 << 20;
    char *text = malloc(nbytes + 1);
    assert_non_null(text);
    memset(text, 'x', nbytes);
    text[nbytes] = '\0';
    {
        TBED_LOGFILE_CONTEXT_AUTHOR(log, "module", "author", text + nbytes - 60000);
        TBED_LOGFILE_CONTEXT_TRACE(log, "inside %s", "it");
        TBED_LOGFILE_TRACE("%s", text + nbytes - 60000);
        TBED_LOGFILE_TRACE("%s", text);
    }
    tbed_stop();
    char *lines = lines_of(path);
    size_t name = sizeof "module (author) " - 1 + 60000;
    assert_int_equal(strlen(lines), 2 * (4 + name + 1) + 4 + name + sizeof " : inside it" + 7 + 60000);
    free(lines);
    EXPECT(0, "1 too large", NULL, "verify", path);
    free(text);
}

static const char long_name[] =
#define TEN(text) text text text text text text text text text text
    TEN(TEN("a name of many letters."));

static void long_literals_and_separators_are_as_they_are(void **state)
{
    (void)state;
    const char *path = start("long.tbed");
    char wanted[8192];
    for (int i = 0; i < 2; i++) {
        TBED_LOGFILE_CONTEXT(log, TEN(TEN("a name of many letters.")));
        TBED_LOGFILE_CONTEXT_TRACE(log, "1\x1e%d", 2);
        TBED_LOGFILE_TRACE("3\x1e%d", 4);
        TBED_LOGFILE_TRACE("5\x1e"
                           "6%d");
    }
    tbed_stop();
    snprintf(wanted, sizeof wanted,
             "1 { %s\n1 | %s : 1\\x1e"
             "2\n1 | : 3\\x1e"
             "4\n1 | : 5\\x1e"
             "6%%d\n1 } %s\n",
             long_name, long_name, long_name);
    char *lines = lines_of(path);
    size_t half = strlen(wanted);
    assert_int_equal(strlen(lines), 2 * half);
    assert_memory_equal(lines, wanted, half);
    assert_memory_equal(lines + half, wanted, half);
    free(lines);
}

/* ---- Scopes ---- */

static void trace_in(struct tbed_logfile_scope *scope, int number)
{
    TBED_LOGFILE_CONTEXT_TRACE(*scope, "number %d", number);
    TBED_LOGFILE_CONTEXT_TRACE(*scope, "done");
}

static void scopes_may_be_named_at_run_time(void **state)
{
    (void)state;
    const char *path = start("made.tbed");
    for (int i = 0; i < 3; i++) {
        TBED_LOGFILE_CONTEXT(log, made_at_run_time(i == 0 ? "zero" : i == 1 ? "one" : "two"));
        TBED_LOGFILE_CONTEXT_TRACE(log, "is %d", i);
    }
    tbed_stop();
    expect_lines(path, "1 { zero\n1 | zero : is 0\n1 } zero\n"
                       "1 { one\n1 | one : is 1\n1 } one\n"
                       "1 { two\n1 | two : is 2\n1 } two\n");
}

static void a_message_may_be_in_any_scope(void **state)
{
    (void)state;
    const char *path = start("scopes.tbed");
    struct tbed_logfile_scope none = {0};
    for (int i = 0; i < 2; i++) {
        TBED_LOGFILE_CONTEXT(one, __func__);
        trace_in(&one, 1);
        TBED_LOGFILE_CONTEXT_AUTHOR(two, "module", "author", made_at_run_time(i == 0 ? "two" : "ten"));
        made_at_run_time("overwritten");
        trace_in(&two, 2);
        TBED_LOGFILE_END(two);
        TBED_LOGFILE_END(two); /* only once */
        trace_in(&none, 3);
    }
    tbed_stop();
    expect_lines(path, "1 { a_message_may_be_in_any_scope\n"
                       "1 | a_message_may_be_in_any_scope : number 1\n"
                       "1 | a_message_may_be_in_any_scope : done\n"
                       "1 { module (author) two\n"
                       "1 | module (author) two : number 2\n"
                       "1 | module (author) two : done\n"
                       "1 } module (author) two\n"
                       "1 | : number 3\n"
                       "1 | : done\n"
                       "1 } a_message_may_be_in_any_scope\n"
                       "1 { a_message_may_be_in_any_scope\n"
                       "1 | a_message_may_be_in_any_scope : number 1\n"
                       "1 | a_message_may_be_in_any_scope : done\n"
                       "1 { module (author) ten\n"
                       "1 | module (author) ten : number 2\n"
                       "1 | module (author) ten : done\n"
                       "1 } module (author) ten\n"
                       "1 | : number 3\n"
                       "1 | : done\n"
                       "1 } a_message_may_be_in_any_scope\n");
}

/* As in the document on the macros, with the program's numbers, and its scope field of TRACE_AUTHOR. */
static void open_startup_screen(void)
{
    at(1234);
    TBED_LOGFILE_CONTEXT_AUTHOR(aInstance, "desktop", "cd100003", "::Desktop::OpenStartupscreen");
    at(2345);
    TBED_LOGFILE_CONTEXT_TRACE(aInstance, "{ lengthy calculation");
    at(3456);
    TBED_LOGFILE_CONTEXT_TRACE(aInstance, "} lengthy calculation");
    at(4567);
}

static void close_startup_screen(void)
{
    at(99999);
    TBED_LOGFILE_TRACE_AUTHOR("desktop", "cd100003", "::Desktop::CloseStartupscreen : Startup finished");
}

static void the_documents_examples_give_its_lines(void **state)
{
    (void)state;
    const char *path = start_given("document.tbed");
    open_startup_screen();
    close_startup_screen();
    tbed_stop();
    expect_log(path, "opening log file 997000000.123456 seconds past January 1st 1970\n"
                     "corresponding to 0 ms after timer start\n"
                     "Process id is 4711\n"
                     "001234 1 { desktop (cd100003) ::Desktop::OpenStartupscreen\n"
                     "002345 1 | desktop (cd100003) ::Desktop::OpenStartupscreen : { lengthy calculation\n"
                     "003456 1 | desktop (cd100003) ::Desktop::OpenStartupscreen : } lengthy calculation\n"
                     "004567 1 } desktop (cd100003) ::Desktop::OpenStartupscreen\n"
                     "099999 1 | desktop (cd100003) : ::Desktop::CloseStartupscreen : Startup finished\n"
                     "closing log file at 099999");
    EXPECT(0, "desktop (cd100003) ::Desktop::OpenStartupscreen", "", "tree", "--calls", path);
}

/* ---- On and off ---- */

static unsigned evaluated;

static const char *count_evaluation(const char *text)
{
    evaluated++;
    return text;
}

static int count_number(int number)
{
    evaluated++;
    return number;
}

static void every_macro(bool is_wanted)
{
    struct tbed_logfile_scope by_hand = {0};
    TBED_LOGFILE_CONTEXT(fixed, "fixed");
    TBED_LOGFILE_CONTEXT(made, count_evaluation("made"));
    TBED_LOGFILE_CONTEXT_AUTHOR(of, "module", "author", count_evaluation("of"));
    TBED_LOGFILE_BEGIN(by_hand, count_evaluation("by hand"));
    if (is_wanted)
        TBED_LOGFILE_CONTEXT_TRACE(fixed, "%d %s", count_number(1), count_evaluation("one"));
    if (is_wanted)
        TBED_LOGFILE_CONTEXT_TRACE(made, count_evaluation("two"));
    if (is_wanted)
        TBED_LOGFILE_TRACE(count_evaluation("three"));
    else
        TBED_LOGFILE_TRACE("unwanted");
    if (is_wanted)
        TBED_LOGFILE_TRACE_AUTHOR(count_evaluation("module"), "author", "four");
    TBED_LOGFILE_END(by_hand);
    TBED_LOGFILE_BEGIN_AUTHOR(by_hand, "module", "author", "by hand");
    TBED_LOGFILE_END(by_hand);
}

static void off_records_and_evaluates_nothing(void **state)
{
    (void)state;
    evaluated = 0;
    every_macro(true);
    assert_false(TBED_LOGFILE_HASLOGFILE());
    const char *path = start("off.tbed");
    assert_true(TBED_LOGFILE_HASLOGFILE());
    assert_int_equal(evaluated, 0);
    every_macro(true);
    assert_int_equal(evaluated, 8);
    every_macro(false);
    assert_int_equal(evaluated, 11);
    tbed_stop();
    every_macro(true);
    assert_int_equal(evaluated, 11);
    char *lines = lines_of(path);
    assert_int_equal(count_lines(lines), 14 + 11);
    assert_says(lines, "1 | made : two\n1 | : three\n1 | module (author) : four\n1 } by hand\n");
    assert_says(lines, "1 | : unwanted\n1 } by hand\n1 { module (author) by hand\n");
    free(lines);
}

static void end_it(struct tbed_logfile_scope *scope)
{
    TBED_LOGFILE_END(*scope);
}

static void *end_elsewhere(void *scope)
{
    TBED_LOGFILE_TRACE("elsewhere");
    end_it(scope);
    TBED_LOGFILE_TRACE("still here");
    return NULL;
}

static void an_end_is_only_in_the_trace_of_its_begin(void **state)
{
    (void)state;
    struct tbed_logfile_scope before = {0}, between = {0}, elsewhere = {0};
    TBED_LOGFILE_BEGIN(before, "before");
    const char *first = start("first.tbed");
    TBED_LOGFILE_CONTEXT_TRACE(before, "is known");
    TBED_LOGFILE_BEGIN(between, "between");
    end_it(&before);
    tbed_stop();
    const char *second = start("second.tbed");
    TBED_LOGFILE_BEGIN(elsewhere, "elsewhere");
    end_it(&between);
    run_thread(end_elsewhere, &elsewhere);
    TBED_LOGFILE_CONTEXT_TRACE(between, "is known");
    tbed_stop();
    expect_lines(first, "1 | before : is known\n1 { between\n");
    expect_lines(second, "1 { elsewhere\n"
                         "2 | : elsewhere\n"
                         "2 } elsewhere\n" /* by the thread that ends it */
                         "2 | : still here\n"
                         "1 | between : is known\n");
}

static void line_of(char *place, size_t nbytes, int line)
{
    snprintf(place, nbytes, "  at %s:%d\n", __FILE__, line);
}

static void the_place_in_the_program_is_told(void **state)
{
    (void)state;
    const char *path = start("places.tbed");
    char begin[256], message[256], later[256];
    line_of(begin, sizeof begin, __LINE__ + 1);
    TBED_LOGFILE_CONTEXT_AUTHOR(log, "module", "author", "::f");
    line_of(message, sizeof message, __LINE__ + 1);
    TBED_LOGFILE_CONTEXT_TRACE(log, "number %d", 7);
    TBED_LOGFILE_TRACE(made_at_run_time("text"));
    line_of(later, sizeof later, __LINE__ - 1);
    TBED_INSTANT_DYNAMIC("of no place");
    TBED_LOGFILE_END(log);
    tbed_stop();
    struct run run = RUN("dump", path);
    assert_int_equal(run.exit, 0);
    assert_says(run.out, "module (author) ::f  at ");
    assert_says(run.out, begin);
    assert_says(run.out, message);
    assert_says(run.out, later);
    assert_says(run.out, "of no place\n");
    end_run(&run);
    run = RUN("report", path); /* a name stays a name */
    assert_says(run.out, "module (author) ::f\n");
    assert_silent_on(run.out, __FILE__);
    end_run(&run);
    EXPECT(0, " module\n", "", "report", "--by=module", path);
    EXPECT(0, "\"described_places\":3,", "", "info", "--json", path);
}

/* ---- Processes ---- */

static void a_forked_child_is_a_process_of_its_own(void **state)
{
    (void)state;
    const char *path = start("fork.tbed");
    TBED_LOGFILE_TRACE("parent");
    pid_t child = fork();
    assert_true(child >= 0);
    if (child == 0) {
        {
            TBED_LOGFILE_CONTEXT(log, "child");
            TBED_LOGFILE_CONTEXT_TRACE(log, "%d", 1);
        }
        _exit(0);
    }
    assert_int_equal(waitpid(child, NULL, 0), child);
    TBED_LOGFILE_TRACE("parent again");
    tbed_stop();
    expect_lines(path, "1 | : parent\n2 { child\n2 | child : 1\n2 } child\n1 | : parent again\n");
    char pid[32];
    snprintf(pid, sizeof pid, " %d ", (int)child);
    EXPECT(0, pid, "", "info", path);
}

static void a_killed_program_loses_nothing(void **state)
{
    (void)state;
    const char *path = in_folder("killed.tbed");
    pid_t child = fork();
    assert_true(child >= 0);
    if (child == 0) {
        tbed_start(path, NULL);
        TBED_LOGFILE_CONTEXT_AUTHOR(log, "module", "author", "::f");
        for (int i = 0; i < 3; i++)
            TBED_LOGFILE_CONTEXT_TRACE(log, "%d of %s", i, made_at_run_time("three"));
        raise(SIGKILL);
    }
    assert_int_equal(waitpid(child, NULL, 0), child);
    expect_lines(path, "1 { module (author) ::f\n"
                       "1 | module (author) ::f : 0 of three\n"
                       "1 | module (author) ::f : 1 of three\n"
                       "1 | module (author) ::f : 2 of three\n");
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(every_call_writes_its_bytes),
        cmocka_unit_test(a_clean_end_has_its_time),
        cmocka_unit_test(whatever_is_made_at_run_time_is_recorded),
        cmocka_unit_test(what_is_not_there_is_null),
        cmocka_unit_test(nothing_is_written_through_an_argument),
        cmocka_unit_test(huge_texts_are_whole_or_counted),
        cmocka_unit_test(long_literals_and_separators_are_as_they_are),
        cmocka_unit_test(scopes_may_be_named_at_run_time),
        cmocka_unit_test(a_message_may_be_in_any_scope),
        cmocka_unit_test(the_documents_examples_give_its_lines),
        cmocka_unit_test(off_records_and_evaluates_nothing),
        cmocka_unit_test(an_end_is_only_in_the_trace_of_its_begin),
        cmocka_unit_test(the_place_in_the_program_is_told),
        cmocka_unit_test(a_forked_child_is_a_process_of_its_own),
        cmocka_unit_test(a_killed_program_loses_nothing),
    };
    return cmocka_run_group_tests_name("logfile", tests, make_folder, remove_folder);
}
