/*
 * tracebed dump: the lines for people and scripts, and the listing used to compare two decoders.
 *
 * SPDX-License-Identifier: MIT
 */
#include "reader/tests/tools/tool_run.h"

/* 8 events of record_small(), at ticks 10 apart from a first one that depends on how often the clock was
 * read. */

static void events_are_lines_of_text(void **state)
{
    const char *path = make_small("text.tbed", true);
    (void)state;
    struct run run = RUN("dump", path);
    assert_int_equal(run.exit, 0);
    assert_string_equal(run.err, "");
    assert_int_equal(count_lines(run.out), 8);
    assert_says(run.out, " steps  main  begin        load\n");
    assert_says(run.out, "begin        parse bytes=7\n");
    assert_says(run.out, "instant      tick\n");
    assert_says(run.out, "end          parse\n");
    assert_says(run.out, "counter      queue = -3 items\n");
    assert_says(run.out, "message      warning: beware\n");
    assert_says(run.out, "message      opening a.txt\n");
    end_run(&run);
}

static void spans_and_categories_are_lines_like_any_other(void **state)
{
    (void)state;
    const char *path = "spec/golden/valid/given.tbed";
    struct run run = RUN("dump", "--order=stream", path);
    assert_int_equal(run.exit, 0);
    assert_int_equal(count_lines(run.out), 418);
    assert_says(run.out, "main      span         label arg0=\"answer\" arg1=\"answer\"  took 30 ns from "
                         "0.000000010 s  [Query]\n");
    assert_says(run.out, "  ended 10 ns before it began  [Query]\n");
    assert_says(run.out, "  thread 2  begin        label arg0=\"answer\" arg1=\"answer\"  [Query]\n");
    assert_says(run.out, " = 1400  [Query]\n");
    end_run(&run);
    run = RUN("dump", "--json", "--order=stream", path);
    assert_says(run.out,
                "\"tick\":60,\"type\":\"span\",\"id\":42,\"name\":\"label\\u001eanswer\\u001eanswer\","
                "\"begin_tick\":70,\"category\":");
    assert_says(run.out, ",\"category_name\":\"Query\"}\n");
    end_run(&run);
}

static void depth_indents_by_open_spans(void **state)
{
    const char *path = make_small("depth.tbed", true);
    (void)state;
    struct run run = RUN("dump", "--depth", path);
    assert_int_equal(run.exit, 0);
    assert_says(run.out, "begin        load\n");
    assert_says(run.out, "begin          parse bytes=7\n");
    assert_says(run.out, "instant          tick\n");
    assert_says(run.out, "end            parse\n");
    assert_says(run.out, "end          load\n");
    end_run(&run);
    EXPECT(2, "", "--depth requires --order=stream", "dump", "--depth", "--order=time", path);
}

static void json_in_stream_order_is_the_whole_listing(void **state)
{
    const char *path = make_small("listing.tbed", true);
    (void)state;
    struct run run = RUN("dump", "--json", "--order=stream", path);
    assert_int_equal(run.exit, 0);
    assert_says(run.out, "{\"string\":");
    assert_says(run.out, ",\"text\":\"parse\"}\n");
    assert_says(run.out, "\"type\":\"begin\",\"id\":");
    assert_says(run.out, "\"name\":\"parse\",\"args\":[{\"name\":\"bytes\",\"type\":1,\"value\":7}]}\n");
    assert_says(run.out, "\"name\":\"queue\",\"value\":-3}\n");
    assert_says(run.out,
                "\"name\":null,\"severity\":2,\"args\":[{\"name\":null,\"type\":7,\"value\":\"beware\"}]}\n");
    assert_says(run.out, "\"name\":\"opening "
                         "%s\",\"severity\":0,\"args\":[{\"name\":null,\"type\":7,\"value\":\"a.txt\"}]}\n");
    end_run(&run);
}

static void json_in_time_order_has_only_events(void **state)
{
    const char *path = make_small("events.tbed", true);
    (void)state;
    struct run run = RUN("dump", "--json", path);
    assert_int_equal(run.exit, 0);
    assert_int_equal(count_lines(run.out), 8);
    assert_silent_on(run.out, "\"string\"");
    end_run(&run);
}

static void threads_are_merged_by_time(void **state)
{
    const char *path = in_folder("two.tbed");
    struct tbed_writer *writer = open_writer(path, true);
    struct tbed_recorder *first = tbed_recorder_open(writer, "same"),
                         *second = tbed_track_open(writer, "same");
    (void)state;
    tbed_instant_record(first, intern(writer, "one"));
    tbed_instant_record(second, intern(writer, "two"));
    tbed_instant_record(first, intern(writer, "three"));
    tbed_writer_close(writer);
    struct run time = RUN("dump", path), stream = RUN("dump", "--order=stream", path);
    const char *two = strstr(time.out, "two");
    assert_non_null(two);
    assert_non_null(strstr(two, "three"));
    two = strstr(stream.out, "two");
    assert_non_null(two);
    assert_null(strstr(two, "three"));
    assert_says(time.out, "same #"); /* distinguished by their numbers */
    end_run(&time);
    end_run(&stream);
}

/*
 * Each event is selected by its own tick, wherever it is stored: a quarter of these, in blocks whose ticks overlap
 * and go back.
 */
static void a_window_has_all_its_events_where_ticks_go_back(void **state)
{
    enum { EVENT_COUNT = 20000 };
    static const char *const orders[] = {"--order=time", "--order=stream"};
    const char *path = in_folder("back.tbed");
    struct tbed_writer *writer = open_given_writer(path, 1000000000);
    (void)state;
    struct tbed_recorder *recorder = tbed_recorder_open_given(writer, "main", 1);
    uint32_t name = intern(writer, "name");
    for (uint64_t i = 0; i < EVENT_COUNT; i++) {
        struct tbed_given_event event = {.type = i % 2 == 0 ? TBED_GIVEN_SPAN : TBED_GIVEN_INSTANT,
                                         .id = name};
        event.tick = (EVENT_COUNT - i) * 7 % EVENT_COUNT;
        event.category = TBED_ID_INVALID;
        tbed_event_record_given(recorder, &event);
    }
    tbed_writer_close(writer);
    for (size_t i = 0; i < 2; i++) {
        struct run window = RUN("dump", orders[i], "-b", "5us", "-e", "10000ns", path);
        struct run end = RUN("dump", orders[i], "-e", "1ns", path);
        struct run begin = RUN("dump", orders[i], "-b", "19999ns", path);
        assert_int_equal(count_lines(window.out), EVENT_COUNT / 4);
        assert_int_equal(count_lines(end.out), 1);
        assert_int_equal(count_lines(begin.out), 1);
        end_run(&window);
        end_run(&end);
        end_run(&begin);
    }
}

static void limit_stops_after_so_many(void **state)
{
    const char *path = make_small("limit.tbed", true);
    static const char *const orders[] = {"--order=time", "--order=stream"};
    (void)state;
    for (size_t i = 0; i < 2; i++) {
        struct run none = RUN("dump", orders[i], "-l", "0", path),
                   three = RUN("dump", orders[i], "-l3", path);
        struct run all = RUN("dump", orders[i], "--limit=18446744073709551615", path);
        assert_string_equal(none.out, "");
        assert_int_equal(count_lines(three.out), 3);
        assert_int_equal(count_lines(all.out), 8);
        end_run(&none);
        end_run(&three);
        end_run(&all);
    }
}

static void range_of_time_is_half_open(void **state)
{
    const char *path = make_small("range.tbed", true);
    unsigned long long ticks[3];
    char begin[32], end[32];
    (void)state;
    struct run all = RUN("dump", path);
    char *at = all.out;
    for (size_t i = 0; i < 3; i++, at = strchr(at, '\n') + 1)
        ticks[i] = strtoull(at, NULL, 10);
    snprintf(begin, sizeof begin, "%llu", ticks[1]);
    snprintf(end, sizeof end, "%llu", ticks[2]);
    struct run one = RUN("dump", "-b", begin, "-e", end, path), rest = RUN("dump", "--begin", end, path);
    struct run none = RUN("dump", "-e", begin, "-b", end, path),
               stream = RUN("dump", "-b", end, "--depth", path);
    assert_int_equal(count_lines(one.out), 1);
    assert_says(one.out, "parse bytes=7");
    assert_int_equal(count_lines(rest.out), 6);
    assert_string_equal(none.out, "");
    assert_int_equal(count_lines(stream.out), 6);
    assert_says(stream.out, "instant          tick\n"); /* two deep, although their begins are not shown */
    EXPECT(2, "", "does not measure time", "dump", "-b", "5ms", path);
    EXPECT(2, "", "does not measure time", "dump", "--absolute", path);
    end_run(&all);
    end_run(&one);
    end_run(&rest);
    end_run(&none);
    end_run(&stream);
}

static void time_has_units(void **state)
{
    const char *path = make_small("time.tbed", false);
    static const char *const hour[] = {"3600", "3600s", "3600000ms", "3600000000us", "3.6e12ns", "60min"};
    (void)state;
    struct run all = RUN("dump", path), wall = RUN("dump", "--absolute", path);
    assert_int_equal(count_lines(all.out), 8);
    assert_says(all.out, "0.000000000 s  main  begin        load\n");
    assert_int_equal(strncmp(wall.out, "20", 2), 0);
    assert_says(wall.out, "+00:00  main  begin");
    for (size_t i = 0; i < sizeof hour / sizeof hour[0]; i++) {
        struct run before = RUN("dump", "-e", hour[i], path), after = RUN("dump", "-b", hour[i], path);
        assert_string_equal(before.out, all.out);
        assert_string_equal(after.out, "");
        end_run(&before);
        end_run(&after);
    }
    end_run(&all);
    end_run(&wall);
}

static void what_is_no_number_is_wrong_usage(void **state)
{
    static const char *const wrong[][2] = {{"-b", "soon"},
                                           {"-b", ""},
                                           {"-b", "1 fortnight"},
                                           {"-e", "nan"},
                                           {"-e", "inf"},
                                           {"-e", "1e30"},
                                           {"-l", "-1"},
                                           {"-l", "1x"},
                                           {"-l", ""},
                                           {"-l", "99999999999999999999"},
                                           {"--stream", "4294967296"},
                                           {"--minimum-duration", "10%"}};
    const char *path = make_small("numbers.tbed", true);
    (void)state;
    for (size_t i = 0; i < sizeof wrong / sizeof wrong[0]; i++)
        EXPECT(2, "", "-h' for help", "dump", wrong[i][0], wrong[i][1], path);
    EXPECT(2, "", "--order: unknown order 'size' (expected time, stream)", "dump", "--order=size", path);
}

static void streams_are_chosen_by_number_or_thread(void **state)
{
    const char *path = in_folder("chosen.tbed");
    struct tbed_writer *writer = open_writer(path, true);
    struct tbed_recorder *first = tbed_recorder_open(writer, "a"), *second = tbed_track_open(writer, "b");
    char number[16], tid[16];
    (void)state;
    tbed_instant_record(first, intern(writer, "one"));
    tbed_instant_record(second, intern(writer, "two"));
    snprintf(number, sizeof number, "%u", tbed_recorder_stream(second));
    snprintf(tid, sizeof tid, "%d", gettid());
    tbed_writer_close(writer);
    struct run by_number = RUN("dump", "--stream", number, path), by_tid = RUN("dump", "-t", tid, path);
    assert_int_equal(count_lines(by_number.out), 1);
    assert_says(by_number.out, "two");
    assert_says(by_tid.out, "one");
    EXPECT(2, "", "no such stream, thread or process", "dump", "--stream=4000000", path);
    end_run(&by_number);
    end_run(&by_tid);
}

/* Text in a trace is not trusted: none of it may control the terminal, and JSON must stay valid. */
static void control_bytes_are_escaped(void **state)
{
    static const char evil[] = "a\033[31m\"\\\n\t\x7f\xC2\x9B\xE2\x80\xAE\xFF\xC3z\xE2\x82\xAC";
    const char *path = in_folder("evil.tbed");
    struct tbed_writer *writer = open_writer(path, true);
    struct tbed_recorder *recorder = tbed_recorder_open(writer, "x\033]0;y\007");
    (void)state;
    tbed_message_record(recorder, TBED_SEVERITY_NONE, evil, sizeof evil - 1);
    tbed_writer_close(writer);
    struct run text = RUN("dump", path), json = RUN("dump", "--json", path);
    assert_says(text.out, "x\\x1b]0;y\\x07");
    assert_says(text.out, "a\\x1b[31m\"\\\\x0a\\x09\\x7f\\xc2\\x9b\\xe2\\x80\\xae\\xff\\xc3z\xE2\x82\xAC\n");
    assert_silent_on(text.out, "\033");
    assert_says(json.out,
                "\"a\\u001b[31m\\\"\\\\\\n\\t\\u007f\\u009b\\u202e\xEF\xBF\xBD\xEF\xBF\xBDz\xE2\x82\xAC\"");
    end_run(&text);
    end_run(&json);
}

static void message_of(const char *format, struct tbed_argument *arguments, size_t count,
                       const char *expected)
{
    const char *path = in_folder("message.tbed");
    struct tbed_writer *writer = open_writer(path, true);
    struct tbed_recorder *recorder = tbed_recorder_open(writer, "main");
    for (size_t i = 0; i < count; i++)
        arguments[i].name_id = TBED_ID_INVALID;
    tbed_message_record_args(recorder, TBED_SEVERITY_NONE, intern(writer, format), arguments, count);
    tbed_writer_close(writer);
    char line[2048];
    snprintf(line, sizeof line, "message      %s%s", expected, *expected != '\0' ? "\n" : "");
    EXPECT(0, line, "", "dump", path);
}

#define I64(v)                                                                                               \
    {                                                                                                        \
        .type = TBED_ARG_I64, .value.i64 = (v)                                                               \
    }
#define U64(v)                                                                                               \
    {                                                                                                        \
        .type = TBED_ARG_U64, .value.u64 = (v)                                                               \
    }
#define F64(v)                                                                                               \
    {                                                                                                        \
        .type = TBED_ARG_F64, .value.f64 = (v)                                                               \
    }
#define TEXT(v)                                                                                              \
    {                                                                                                        \
        .type = TBED_ARG_TEXT, .nbytes = sizeof(v) - 1, .value.text = (v)                                    \
    }
#define MESSAGE(format, expected, ...)                                                                       \
    do {                                                                                                     \
        struct tbed_argument arguments[] = {__VA_ARGS__};                                                    \
        message_of(format, arguments, sizeof arguments / sizeof arguments[0], expected);                     \
    } while (0)

static void messages_are_formatted_as_printf_does(void **state)
{
    (void)state;
    MESSAGE("%d and %5d|%-5d|%05d|%+d", "-1 and     2|3    |00004|+5", I64(-1), I64(2), I64(3), I64(4),
            I64(5));
    MESSAGE("%u %x %#X %o", "1 ff 0XAB 10", U64(1), U64(255), U64(0xAB), U64(8));
    MESSAGE("%x %hhx %lx", "ffffffff ff ffffffffffffffff", I64(-1), I64(-1), I64(-1));
    MESSAGE("%zu of %"
            "llu",
            "18446744073709551615 of 7", U64(UINT64_MAX), U64(7));
    MESSAGE("%.2f %8.3f %g %e", "1.50    2.250 0.5 1.000000e+00", F64(1.5), F64(2.25), F64(0.5), F64(1));
    MESSAGE("[%s] [%6s] [%-6s] [%.2s] [%*s]", "[abc] [   abc] [abc   ] [ab] [ abc]", TEXT("abc"), TEXT("abc"),
            TEXT("abc"), TEXT("abc"), I64(4), TEXT("abc"));
    MESSAGE("%c%c 100%%", "ok 100%", I64('o'), I64('k'));
    MESSAGE("%p", "0xdead", {.type = TBED_ARG_POINTER, .value.u64 = 0xdead});
}

/* The format and the arguments disagree: existing arguments are printed, and nothing else is read. */
static void mismatched_messages_are_harmless(void **state)
{
    (void)state;
    MESSAGE("%s %d", "5 abc", I64(5), TEXT("abc"));
    MESSAGE("%d %s", "1 %s", I64(1));
    MESSAGE("%n %", "%n % 1", I64(1));
    MESSAGE("plain", "plain 1 \"two\"", I64(1), TEXT("two"));
    MESSAGE("%99999999999999999999s", "", TEXT("x"));
}

/* Where a text in quotation marks ends, whatever is in it. */
static void quotation_marks_in_a_text_have_a_backslash(void **state)
{
    const char *path = in_folder("quotes.tbed");
    struct tbed_writer *writer = open_writer(path, true);
    struct tbed_recorder *recorder = tbed_recorder_open(writer, "main");
    struct tbed_argument key = {
        .type = TBED_ARG_TEXT, .name_id = intern(writer, "key"), .nbytes = 9, .value.text = "\" x=\"\\\\\ny"};
    uint32_t text = intern(writer, "a\"b\\"),
             id = tbed_event_id_alloc(writer, intern(writer, "load"), &text, 1);
    char line[96];
    (void)state;
    tbed_span_begin_args(recorder, id, &key, 1);
    tbed_span_end(recorder);
    tbed_writer_close(writer);
    EXPECT(0, "begin        load arg0=\"a\\\"b\\\\\" key=\"\\\" x=\\\"\\\\\\\\\\x0ay\"\n", "", "dump", path);
    EXPECT(0, "load arg0=\"a\\\"b\\\\\"", "", "report", "--by=argument", path);
    EXPECT(0, " arg0=\"a\\\"b\\\\\"", "", "slowest", path);
    snprintf(line, sizeof line, "%u  \"a\\\"b\\\\\"\n", text);
    EXPECT(0, line, "", "strings", "--raw", path);
    snprintf(line, sizeof line, "--tree=%u", text);
    EXPECT(0, "\"a\\\"b\\\\\"\n", "", "strings", line, path);
}

static void damage_is_told_and_the_rest_is_printed(void **state)
{
    const char *path = make_small("damaged.tbed", true);
    size_t nbytes;
    char *bytes = read_whole(path, &nbytes);
    (void)state;
    char *parse = memmem(bytes, nbytes, "parse", 5);
    assert_non_null(parse);
    *parse ^= 1;
    write_whole(path, bytes, nbytes);
    free(bytes);
    struct run run = RUN("dump", path);
    assert_int_equal(run.exit, 1);
    assert_int_equal(count_lines(run.out), 8);
    assert_says(run.err, "damaged in ");
    assert_says(run.err, "BLOCK_CHECKSUM");
    assert_says(run.err, "tracebed verify");
    end_run(&run);
}

/* Two threads whose events alternate; more than all threads can have before them at a time. */
static const char *make_long(const char *name)
{
    const char *path = in_folder(name);
    struct tbed_writer *writer = open_writer(path, true);
    struct tbed_recorder *recorders[] = {tbed_recorder_open(writer, "left"),
                                         tbed_recorder_open(writer, "right")};
    uint32_t format = intern(writer, "step %d of %s"), bytes = intern(writer, "bytes");
    for (uint32_t i = 0; i < 2500; i++) {
        struct tbed_recorder *recorder = recorders[i % 2];
        char text[32];
        snprintf(text, sizeof text, i % 5 == 0 ? "name\t%u" : "name %u", i % 700);
        uint32_t id = intern(writer, text);
        struct tbed_argument arguments[] = {
            {.type = TBED_ARG_U64, .name_id = bytes, .value.u64 = i},
            {.type = TBED_ARG_TEXT, .name_id = id, .nbytes = (uint32_t)strlen(text), .value.text = text}};
        tbed_span_begin_args(recorder, id, arguments, 2);
        tbed_counter_record_i64(recorder, bytes, (int64_t)i - 1000);
        tbed_message_record_args(recorder, TBED_SEVERITY_WARNING, format, arguments, 2);
        tbed_span_end(recorder);
    }
    tbed_writer_close(writer);
    return path;
}

static void output_does_not_depend_on_the_number_of_jobs(void **state)
{
    static const char *const options[] = {"--order=time",  "--json",       "--order=stream", "--depth",
                                          "--name=name 1", "--limit=5001", "--color=always", "--begin=50%"};
    const char *path = make_long("long.tbed");
    (void)state;
    for (size_t i = 0; i < sizeof options / sizeof options[0]; i++) {
        struct run one = RUN("dump", "-j1", options[i], path);
        assert_int_equal(one.exit, 0);
        assert_true(count_lines(one.out) > 100);
        for (int jobs = 2; jobs <= 5; jobs++) {
            char word[16];
            snprintf(word, sizeof word, "--jobs=%d", jobs);
            struct run many = RUN("dump", word, options[i], path);
            assert_int_equal(many.exit, 0);
            assert_string_equal(one.out, many.out);
            end_run(&many);
        }
        end_run(&one);
    }
    EXPECT(2, "", "--jobs takes a number of threads", "dump", "--jobs=many", path);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(events_are_lines_of_text),
        cmocka_unit_test(spans_and_categories_are_lines_like_any_other),
        cmocka_unit_test(depth_indents_by_open_spans),
        cmocka_unit_test(json_in_stream_order_is_the_whole_listing),
        cmocka_unit_test(json_in_time_order_has_only_events),
        cmocka_unit_test(threads_are_merged_by_time),
        cmocka_unit_test(a_window_has_all_its_events_where_ticks_go_back),
        cmocka_unit_test(limit_stops_after_so_many),
        cmocka_unit_test(range_of_time_is_half_open),
        cmocka_unit_test(time_has_units),
        cmocka_unit_test(what_is_no_number_is_wrong_usage),
        cmocka_unit_test(streams_are_chosen_by_number_or_thread),
        cmocka_unit_test(control_bytes_are_escaped),
        cmocka_unit_test(messages_are_formatted_as_printf_does),
        cmocka_unit_test(mismatched_messages_are_harmless),
        cmocka_unit_test(quotation_marks_in_a_text_have_a_backslash),
        cmocka_unit_test(damage_is_told_and_the_rest_is_printed),
        cmocka_unit_test(output_does_not_depend_on_the_number_of_jobs),
    };
    return cmocka_run_group_tests(tests, make_folder, remove_folder);
}
