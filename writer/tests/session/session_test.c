/*
 * The process's writer and the macros: what they record, when they do not, and that ids are those of the right trace.
 *
 * SPDX-License-Identifier: MIT
 */
#include "format/tests/sanitizer.h"
#include "writer/tests/support.h"

#include <errno.h>
#include <fcntl.h>
#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/prctl.h>
#include <sys/resource.h>
#include <sys/wait.h>
#include <unistd.h>

TBED_CATEGORY(test_net);
TBED_CATEGORY_SWITCH(test_gui);

static const char *start(const char *name)
{
    const char *path = test_path(name);
    assert_int_equal(tbed_start(path, NULL), TBED_OK);
    return path;
}

/* Each event of the stream as "TYPE NAME", and its category. */
static void assert_listing(struct tbed_reader *reader, uint32_t stream, const char *const *expected)
{
    size_t count;
    char name[256], category[64];
    struct tbed_event *events = test_events(reader, stream, &count);
    for (size_t i = 0; i < count; i++) {
        size_t nbytes;
        char line[400];
        const char *sign = events[i].type == TBED_EVENT_BEGIN     ? "+"
                           : events[i].type == TBED_EVENT_END     ? "-"
                           : events[i].type == TBED_EVENT_INSTANT ? "!"
                           : events[i].type == TBED_EVENT_COUNTER ? "#"
                                                                  : "?";
        assert_non_null(expected[i]);
        assert_int_equal(tbed_string_resolve(reader, events[i].id, name, sizeof name, &nbytes), TBED_OK);
        category[0] = '\0';
        if (events[i].category != TBED_ID_INVALID)
            assert_int_equal(
                tbed_string_resolve(reader, events[i].category, category, sizeof category, &nbytes), TBED_OK);
        snprintf(line, sizeof line, "%s%s%s%s", sign, name, category[0] != '\0' ? "@" : "", category);
        assert_string_equal(line, expected[i]);
    }
    assert_null(expected[count]);
    free(events);
}

#define ASSERT_LISTING(reader, stream, ...)                                                                  \
    assert_listing(reader, stream, (const char *const[]){__VA_ARGS__, NULL})

/* ---- Macros ---- */

static unsigned evaluated;

static int count_evaluation(int value)
{
    evaluated++;
    return value;
}

static void every_macro(void)
{
    TBED_SPAN("outer");
    {
        TBED_SPAN_ARGS("args", "number", count_evaluation(7), "text", "seven", "ratio", 0.7, "id",
                       TBED_ID(3));
        TBED_INSTANT("instant");
    }
    TBED_SPAN_IN(test_net, "send");
    TBED_SPAN_IN(test_gui, "draw");
    TBED_INSTANT_ARGS_IN(test_net, "packet", "size", count_evaluation(1500));
    TBED_BEGIN("pair");
    TBED_END();
    TBED_COUNTER("heap", count_evaluation(5));
    TBED_COUNTER_IN(test_net, "sent", 1.5);
    TBED_SPAN_DYNAMIC("dynamic");
    TBED_LOG("%d", count_evaluation(1));
}

static void assert_same_arguments(const struct tbed_event *left, const struct tbed_event *right)
{
    struct tbed_arguments left_at = left->arguments, right_at = right->arguments;
    assert_int_equal(left->argument_count, right->argument_count);
    for (uint32_t i = 0; i < left->argument_count; i++) {
        struct tbed_argument a, b;
        tbed_argument_next(&left_at, &a);
        tbed_argument_next(&right_at, &b);
        assert_int_equal(a.type, b.type);
        assert_int_equal(a.nbytes, b.nbytes);
        assert_int_equal(a.name_id, b.name_id);
        if (a.type == TBED_ARG_TEXT)
            assert_memory_equal(a.value.text, b.value.text, a.nbytes);
        else
            assert_int_equal(a.value.u64, b.value.u64);
    }
}

/* A severity of more than four bits has no place in the packed form. */
#define LOG_BOTH(...)                                                                                        \
    do {                                                                                                     \
        TBED_LOG(__VA_ARGS__);                                                                               \
        TBED_LOG_AT((enum tbed_severity)16, __VA_ARGS__);                                                    \
    } while (0)

static void log_both(const char *none, const char *nine)
{
    LOG_BOTH("nothing");
    LOG_BOTH("%d", INT32_MIN);
    LOG_BOTH("%u %d", UINT32_MAX, -1);
    LOG_BOTH("%" PRId64 " %" PRIu64 " %d", INT64_MIN, UINT64_MAX, INT32_MAX);
    LOG_BOTH("%f %s", -0.5, "");
    LOG_BOTH("%p %s", (void *)&evaluated, none);
    LOG_BOTH("%d %s", -3, none);
    LOG_BOTH("%.*s %s %.3s", 4, nine, nine, none);
    LOG_BOTH("%s %d %s %u %s %hhd %s", "1", 2, "three", 4u, nine, (signed char)-7, "eightbyt");
    LOG_BOTH("%s %s %s %s %s %s %s", nine, nine, nine, nine, nine, nine, nine);
    LOG_BOTH("%d %d %d %d %d %d %d", 1, -2, true, -4, 'c', (short)-6, 7);
    LOG_BOTH("%*d%% %-12s", 5, 7, nine);
    LOG_BOTH("%.9s %.123456789s %.*s", none, nine, -1, nine);
}

/* A site's first event is not like its later ones: its texts are measured out of line. */
static void packed_messages_read_like_the_general_ones(void **state)
{
    (void)state;
    const char *path = start("packed.tbed");
    for (int i = 0; i < 3; i++)
        log_both(NULL, "ninebytes");
    TBED_LOG("x=%d y=%d", 1, 2);
    TBED_INSTANT("end");
    tbed_stop();
    struct tbed_reader *reader = test_reader_open(path, true);
    size_t count;
    struct tbed_event *events = test_events(reader, test_stream_named(reader, "main"), &count);
    assert_int_equal(count, 80);
    for (size_t i = 0; i < 78; i += 2) {
        assert_int_equal(events[i].of.message.severity, TBED_SEVERITY_INFORMATION);
        assert_int_equal(events[i + 1].of.message.severity, 16);
        assert_int_equal(events[i].id, events[i + 1].id);
        assert_same_arguments(&events[i], &events[i + 1]);
    }
    assert_int_equal(events[79].offset - events[78].offset, 24);
    assert_int_equal(test_drop_count(reader), 0);
    free(events);
    tbed_reader_close(reader);
}

/* A text with at most one number on each side goes a way of its own, and copies depend on its size. */
static void one_text_reads_like_any_other(void **state)
{
    (void)state;
    enum { SIZES = 140, SHAPES = 6 };
    char letters[SIZES];
    const char *path = start("one_text.tbed");
    for (int i = 0; i < SIZES - 1; i++)
        letters[i] = (char)('!' + i % 90);
    letters[SIZES - 1] = 0;
    for (int i = 0; i < SIZES; i++) {
        const char *text = letters + i;
        LOG_BOTH("%s", text);
        LOG_BOTH("%d %s", -i, text);
        LOG_BOTH("%" PRId64 " %s", INT64_MIN + i, text);
        LOG_BOTH("%s %u", text, UINT32_MAX - (unsigned)i);
        LOG_BOTH("%s %" PRIu64, text, UINT64_MAX - (unsigned)i);
        LOG_BOTH("%" PRIu64 " %s %hd", UINT64_MAX / 3 + (unsigned)i, text, (short)-i);
    }
    tbed_stop();
    struct tbed_reader *reader = test_reader_open(path, true);
    size_t count, pairs = 0;
    struct tbed_event *events = test_events(reader, test_stream_named(reader, "main"), &count);
    for (size_t i = 0; i + 1 < count; i++) {
        if (events[i].type != TBED_EVENT_MESSAGE)
            continue;
        pairs++;
        assert_int_equal(events[i].id, events[i + 1].id);
        assert_int_equal(events[i + 1].of.message.severity, 16);
        assert_same_arguments(&events[i], &events[i + 1]);
        i++;
    }
    assert_int_equal(pairs, SIZES * SHAPES);
    assert_int_equal(test_drop_count(reader), 0);
    free(events);
    tbed_reader_close(reader);
}

/* A record has at most 65,536 words, of which a text has all but two, and 4 bytes. */
static void texts_that_are_too_long_are_dropped(void **state)
{
    (void)state;
    const size_t sizes[] = {200000, 524269, 524268, 1040000};
    struct tbed_writer_options options = {.size = sizeof options, .page_nbytes = 1 << 20};
    const char *path = test_path("long.tbed");
    char *text = malloc(sizes[3] + 1);
    assert_non_null(text);
    memset(text, 'x', sizes[3]);
    text[sizes[3]] = '\0';
    assert_int_equal(tbed_start(path, &options), TBED_OK);
    for (int i = 0; i < 8; i++)
        TBED_LOG("%s", text + sizes[3] - sizes[i / 2]);
    tbed_stop();
    free(text);
    struct tbed_reader *reader = test_reader_open(path, true);
    size_t count;
    struct tbed_event *events = test_events(reader, test_stream_named(reader, "main"), &count);
    size_t message_count = 0;
    for (size_t i = 0; i < count; i++) {
        struct tbed_argument argument;
        if (events[i].type == TBED_EVENT_GAP)
            continue;
        tbed_argument_next(&events[i].arguments, &argument);
        assert_int_equal(argument.nbytes, message_count++ < 2 ? sizes[0] : sizes[2]);
    }
    assert_int_equal(message_count, 4);
    assert_int_equal(test_drop_count(reader), 4);
    free(events);
    tbed_reader_close(reader);
}

static void macros_record_what_they_say(void **state)
{
    (void)state;
    const char *path = start("macros.tbed");
    evaluated = 0;
    every_macro();
    TBED_END(); /* stops nothing */
    tbed_stop();
    assert_int_equal(evaluated, 4);
    struct tbed_reader *reader = test_reader_open(path, true);
    uint32_t stream = test_stream_named(reader, "main");
    ASSERT_LISTING(reader, stream, "+outer", "+args", "!instant", "-args", "+send@test_net", "+draw",
                   "!packet@test_net", "+pair", "-pair", "#heap", "#sent@test_net", "+dynamic", "?%d",
                   "-dynamic", "-draw", "-send", "-outer");
    size_t count;
    struct tbed_event *events = test_events(reader, stream, &count);
    struct tbed_arguments at = events[1].arguments;
    struct tbed_argument argument;
    assert_int_equal(events[1].argument_count, 4);
    tbed_argument_next(&at, &argument);
    assert_text(reader, argument.name_id, "number");
    assert_int_equal(argument.type, TBED_ARG_I64);
    assert_int_equal(argument.value.i64, 7);
    tbed_argument_next(&at, &argument);
    assert_text(reader, argument.name_id, "text");
    assert_int_equal(argument.nbytes, 5);
    assert_memory_equal(argument.value.text, "seven", 5);
    tbed_argument_next(&at, &argument);
    assert_true(argument.type == TBED_ARG_F64 && argument.value.f64 > 0.69 && argument.value.f64 < 0.71);
    tbed_argument_next(&at, &argument);
    assert_true(argument.type == TBED_ARG_ID && argument.value.id == 3);
    assert_int_equal(events[9].type, TBED_EVENT_COUNTER);
    free(events);
    tbed_reader_close(reader);
}

static void types_keep_their_values(void **state)
{
    (void)state;
    const char *path = start("types.tbed");
    unsigned char byte = 255;
    bool truth = true;
    TBED_INSTANT_ARGS("types", "u8", byte, "u64", UINT64_MAX, "bool", truth, "pointer", (void *)16);
    TBED_COUNTER("large", UINT64_MAX);
    TBED_COUNTER("small", INT64_MIN);
    tbed_stop();
    struct tbed_reader *reader = test_reader_open(path, true);
    size_t count;
    struct tbed_event *events = test_events(reader, test_stream_named(reader, "main"), &count);
    struct tbed_arguments at = events[0].arguments;
    struct tbed_argument arguments[4];
    assert_int_equal(count, 3);
    for (int i = 0; i < 4; i++)
        tbed_argument_next(&at, &arguments[i]);
    assert_true(arguments[0].type == TBED_ARG_U64 && arguments[0].value.u64 == 255);
    assert_true(arguments[1].type == TBED_ARG_U64 && arguments[1].value.u64 == UINT64_MAX);
    assert_true(arguments[2].type == TBED_ARG_BOOL && arguments[2].value.u64 == 1);
    assert_true(arguments[3].type == TBED_ARG_POINTER && arguments[3].value.u64 == 16);
    assert_true(events[1].counter_value.type == TBED_ARG_U64 &&
                events[1].counter_value.value.u64 == UINT64_MAX);
    assert_true(events[2].counter_value.type == TBED_ARG_I64 &&
                events[2].counter_value.value.i64 == INT64_MIN);
    free(events);
    tbed_reader_close(reader);
}

static void off_records_and_evaluates_nothing(void **state)
{
    (void)state;
    evaluated = 0;
    every_macro(); /* before any start */
    assert_int_equal(evaluated, 0);
    assert_null(tbed_default_writer());
    tbed_instant_record(tbed_default_recorder(), 1);
    tbed_stop();
    const char *path = start("off.tbed");
    assert_non_null(tbed_default_writer());
    tbed_stop();
    every_macro();
    assert_int_equal(evaluated, 0);
    struct tbed_reader *reader = test_reader_open(path, true);
    struct tbed_stream_info info;
    assert_false(tbed_stream_get(reader, 0, &info)); /* nothing recorded: no stream */
    tbed_reader_close(reader);
}

/* ---- Categories ---- */

static void record_categories(void)
{
    TBED_INSTANT_IN(test_net, "net");
    TBED_INSTANT_IN(test_gui, "gui");
    TBED_INSTANT("always");
}

static void categories_are_switched_at_run_time(void **state)
{
    (void)state;
    const char *path = start("categories.tbed");
    record_categories();
    assert_true(tbed_category_enable("test_net", false));
    assert_false(TBED_IS_ON(test_net));
    record_categories();
    assert_true(tbed_category_enable("*", false));
    assert_true(tbed_category_enable("test_?et", true));
    record_categories();
    assert_true(tbed_category_list("-test_g*"));
    record_categories();
    assert_true(tbed_category_list("*gui,other"));
    record_categories();
    assert_true(tbed_category_list(""));
    tbed_stop();
    assert_false(TBED_IS_ON(test_net));
    struct tbed_reader *reader = test_reader_open(path, true);
    ASSERT_LISTING(reader, test_stream_named(reader, "main"), "!net@test_net", "!gui", "!always", "!gui",
                   "!always", "!net@test_net", "!always", "!net@test_net", "!always", "!gui", "!always");
    tbed_reader_close(reader);
}

static void too_many_or_too_long_patterns_are_refused(void **state)
{
    char pattern[80];
    (void)state;
    memset(pattern, 'x', sizeof pattern);
    pattern[63] = '\0';
    assert_true(tbed_category_enable(pattern, false));
    pattern[63] = 'x', pattern[64] = '\0';
    assert_false(tbed_category_enable(pattern, false));
    for (int i = 0; i < 63; i++) {
        snprintf(pattern, sizeof pattern, "p%d", i);
        assert_true(tbed_category_enable(pattern, false));
    }
    assert_false(tbed_category_enable("one more", false));
    assert_true(tbed_category_enable("p7", true)); /* replaces */
    assert_true(tbed_category_list(""));
}

/* A span is ended also where its category was switched off in between. */
static void a_span_that_was_begun_is_ended(void **state)
{
    (void)state;
    const char *path = start("ended.tbed");
    {
        TBED_SPAN_IN(test_gui, "begun");
        tbed_category_enable("test_gui", false);
    }
    {
        TBED_SPAN_IN(test_gui, "not begun");
        tbed_category_enable("test_gui", true);
    }
    tbed_category_list("");
    tbed_stop();
    struct tbed_reader *reader = test_reader_open(path, true);
    ASSERT_LISTING(reader, test_stream_named(reader, "main"), "+begun", "-begun");
    tbed_reader_close(reader);
}

/* ---- Start and stop ---- */

static void one_site(int number)
{
    TBED_SPAN("site");
    if (number % 2 == 0)
        TBED_INSTANT("even");
    else
        TBED_INSTANT("odd");
}

/* The ids differ from file to file: each has other names before. */
static void a_site_has_the_id_of_its_trace(void **state)
{
    (void)state;
    char paths[6][256];
    for (int i = 0; i < 6; i++) {
        char name[32];
        snprintf(name, sizeof name, "again%d.tbed", i);
        snprintf(paths[i], sizeof paths[i], "%s", start(name));
        for (int k = 0; k < i; k++) {
            snprintf(name, sizeof name, "filler %d", k);
            tbed_string_intern(tbed_default_writer(), name, strlen(name));
        }
        one_site(i);
        tbed_stop();
    }
    for (int i = 0; i < 6; i++) {
        struct tbed_reader *reader = test_reader_open(paths[i], true);
        ASSERT_LISTING(reader, test_stream_named(reader, "main"), "+site", i % 2 == 0 ? "!even" : "!odd",
                       "-site");
        tbed_reader_close(reader);
    }
}

static void a_span_over_a_stop_ends_nowhere(void **state)
{
    (void)state;
    char first[256], second[256];
    {
        snprintf(first, sizeof first, "%s", start("first.tbed"));
        TBED_SPAN("over");
        tbed_stop();
        snprintf(second, sizeof second, "%s", start("second.tbed"));
        TBED_INSTANT("in second");
    }
    tbed_stop();
    struct tbed_reader *reader = test_reader_open(first, true);
    ASSERT_LISTING(reader, test_stream_named(reader, "main"), "+over");
    tbed_reader_close(reader);
    reader = test_reader_open(second, true);
    ASSERT_LISTING(reader, test_stream_named(reader, "main"), "!in second");
    tbed_reader_close(reader);
}

static long memory_kib(void)
{
    long pages = 0, resident = 0;
    FILE *file = fopen("/proc/self/statm", "r");
    assert_non_null(file);
    assert_int_equal(fscanf(file, "%ld %ld", &pages, &resident), 2);
    fclose(file);
    return resident * (sysconf(_SC_PAGESIZE) / 1024);
}

/* AddressSanitizer keeps 12 KiB of each thread that was: the helpers. */
#define LEFT_KIB (TEST_HAS_ASAN ? 8192 : 1024)

static void starts_and_stops_leave_no_memory(void **state)
{
    (void)state;
    const char *path = test_path("memory.tbed");
    long before = 0;
    for (int i = 0; i < 300; i++) {
        if (i == 50)
            before = memory_kib();
        assert_int_equal(tbed_start(path, NULL), TBED_OK);
        one_site(i);
        tbed_stop();
    }
    long grown = memory_kib() - before;
    if (grown >= LEFT_KIB) /* 250 × 52 KiB would be 13,000 */
        fail_msg("%ld KiB", grown);
}

static void a_second_start_is_refused_and_harms_nothing(void **state)
{
    (void)state;
    const char *path = start("running.tbed");
    TBED_INSTANT("before");
    assert_int_equal(tbed_start(test_path("refused.tbed"), NULL), TBED_ERR_BUSY);
    TBED_INSTANT("after");
    tbed_stop();
    struct tbed_reader *reader = test_reader_open(path, true);
    ASSERT_LISTING(reader, test_stream_named(reader, "main"), "!before", "!after");
    tbed_reader_close(reader);
}

static void a_trace_is_replaced_and_nothing_else(void **state)
{
    (void)state;
    const char *path = start("replaced.tbed");
    TBED_INSTANT("old");
    tbed_stop();
    assert_int_equal(tbed_start(path, NULL), TBED_OK);
    TBED_INSTANT("new");
    tbed_stop();
    struct tbed_reader *reader = test_reader_open(path, true);
    ASSERT_LISTING(reader, test_stream_named(reader, "main"), "!new");
    tbed_reader_close(reader);

    path = test_path("letter.txt");
    int fd = open(path, O_WRONLY | O_CREAT, 0600);
    assert_int_equal(write(fd, "dear all", 8), 8);
    close(fd);
    assert_int_equal(tbed_start(path, NULL), TBED_ERR_NOT_A_TRACE);
    char bytes[16];
    fd = open(path, O_RDONLY);
    assert_int_equal(read(fd, bytes, sizeof bytes), 8);
    close(fd);
    TBED_INSTANT("nowhere");
    assert_null(tbed_default_writer());
    assert_int_equal(tbed_start("/no/such/folder/run.tbed", NULL), TBED_ERR_OPEN);
    struct tbed_writer_options options = {.size = sizeof options};
    assert_int_equal(tbed_start(path, &options), TBED_ERR_EXISTS);
}

static void a_trace_in_use_is_joined(void **state)
{
    (void)state;
    const char *path = test_path("joined.tbed");
    struct tbed_writer *writer = test_writer_open(path, NULL);
    struct tbed_recorder *recorder = tbed_recorder_open(writer, "other");
    tbed_instant_record(recorder, tbed_string_intern(writer, "theirs", 6));
    assert_int_equal(tbed_start(path, NULL), TBED_OK);
    TBED_INSTANT("ours");
    tbed_stop();
    tbed_writer_close(writer);
    struct tbed_reader *reader = test_reader_open(path, true);
    ASSERT_LISTING(reader, test_stream_named(reader, "other"), "!theirs");
    ASSERT_LISTING(reader, test_stream_named(reader, "main"), "!ours");
    tbed_reader_close(reader);
}

static void a_full_file_drops_and_counts(void **state)
{
    (void)state;
    const char *path = test_path("full.tbed");
    struct tbed_writer_options options = {.size = sizeof options, .max_file_nbytes = 1 << 20};
    assert_int_equal(tbed_start(path, &options), TBED_OK);
    for (int i = 0; i < 100000; i++) {
        TBED_SPAN("span");
        TBED_LOG("number %d of %s", i, "many");
    }
    assert_true(tbed_writer_drop_count(tbed_default_writer(), TBED_DROP_SIZE_LIMIT) > 1000);
    tbed_stop();
    struct tbed_reader *reader = test_reader_open(path, true);
    assert_true(test_drop_count(reader) > 1000);
    tbed_reader_close(reader);
}

static void errno_is_the_programs_own(void **state)
{
    (void)state;
    const char *path = test_path("errno.tbed");
    errno = EDOM;
    tbed_start("/no/such/folder/run.tbed", NULL);
    tbed_start(path, NULL);
    tbed_start(path, NULL);
    every_macro();
    TBED_THREAD_NAME("main");
    tbed_stop();
    tbed_stop();
    assert_int_equal(errno, EDOM);
}

/* ---- Tracks, names ---- */

static void tracks_are_streams_of_their_own(void **state)
{
    (void)state;
    static struct tbed_track track = TBED_TRACK("queue");
    char paths[2][256];
    for (int i = 0; i < 2; i++) {
        TBED_TRACK_BEGIN(&track, "off");
        TBED_TRACK_END(&track);
        snprintf(paths[i], sizeof paths[i], "%s", start(i == 0 ? "tracks0.tbed" : "tracks1.tbed"));
        TBED_TRACK_BEGIN(&track, "job");
        TBED_TRACK_INSTANT(&track, "step");
        TBED_TRACK_END(&track);
        TBED_TRACK_END(&track);
        if (i == 0)
            tbed_track_close(&track);
        tbed_stop();
    }
    tbed_track_close(&track);
    for (int i = 0; i < 2; i++) {
        struct tbed_reader *reader = test_reader_open(paths[i], true);
        ASSERT_LISTING(reader, test_stream_named(reader, "queue"), "+job", "!step", "-job");
        tbed_reader_close(reader);
    }
}

static void a_thread_is_called_what_it_says(void **state)
{
    (void)state;
    char name[100];
    memset(name, 'n', sizeof name);
    memcpy(name + 61, "\xE2\x82\xAC", 4); /* cut whole, not in the middle */
    TBED_THREAD_NAME(name);
    const char *path = start("named.tbed");
    TBED_INSTANT("named");
    tbed_stop();
    name[61] = '\0';
    struct tbed_reader *reader = test_reader_open(path, true);
    ASSERT_LISTING(reader, test_stream_named(reader, name), "!named");
    tbed_reader_close(reader);
    TBED_THREAD_NAME("main");
}

/* ---- Fork ---- */

static void a_forked_child_goes_on_by_itself(void **state)
{
    (void)state;
    const char *path = start("forked.tbed");
    TBED_SPAN_DYNAMIC("around");
    TBED_INSTANT("parent");
    fflush(NULL);
    pid_t silent = fork();
    if (silent == 0)
        exit(0); /* records nothing, runs the library's end */
    pid_t child = fork();
    if (child == 0) {
        TBED_INSTANT("child");
        tbed_stop();
        TBED_INSTANT("child, after its stop");
        _exit(0);
    }
    int status;
    assert_int_equal(waitpid(silent, &status, 0), silent);
    assert_int_equal(status, 0);
    assert_int_equal(waitpid(child, &status, 0), child);
    assert_int_equal(status, 0);
    TBED_INSTANT("parent again");
    tbed_stop();
    struct tbed_reader *reader = test_reader_open(path, true);
    struct tbed_stream_info info;
    size_t count = 0;
    for (; tbed_stream_get(reader, count, &info); count++)
        if (info.forked_from != 0)
            ASSERT_LISTING(reader, info.stream, "!child");
        else
            ASSERT_LISTING(reader, info.stream, "+around", "!parent", "!parent again");
    assert_int_equal(count, 2);
    assert_int_equal(test_drop_count(reader), 0);
    tbed_reader_close(reader);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(off_records_and_evaluates_nothing),
        cmocka_unit_test(packed_messages_read_like_the_general_ones),
        cmocka_unit_test(one_text_reads_like_any_other),
        cmocka_unit_test(texts_that_are_too_long_are_dropped),
        cmocka_unit_test(macros_record_what_they_say),
        cmocka_unit_test(types_keep_their_values),
        cmocka_unit_test(categories_are_switched_at_run_time),
        cmocka_unit_test(too_many_or_too_long_patterns_are_refused),
        cmocka_unit_test(a_span_that_was_begun_is_ended),
        cmocka_unit_test(a_site_has_the_id_of_its_trace),
        cmocka_unit_test(a_span_over_a_stop_ends_nowhere),
        cmocka_unit_test(starts_and_stops_leave_no_memory),
        cmocka_unit_test(a_second_start_is_refused_and_harms_nothing),
        cmocka_unit_test(a_trace_is_replaced_and_nothing_else),
        cmocka_unit_test(a_trace_in_use_is_joined),
        cmocka_unit_test(a_full_file_drops_and_counts),
        cmocka_unit_test(errno_is_the_programs_own),
        cmocka_unit_test(tracks_are_streams_of_their_own),
        cmocka_unit_test(a_thread_is_called_what_it_says),
        cmocka_unit_test(a_forked_child_goes_on_by_itself),
    };
    return cmocka_run_group_tests_name("session", tests, NULL, NULL);
}
