/*
 * Messages formatted by the library. message_format_test.c compares the formatting with printf(); this tests the call
 * itself.
 *
 * SPDX-License-Identifier: MIT
 */
#define _GNU_SOURCE 1
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>

#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <tracebed/reader.h>
#include <tracebed/writer.h>
#include <unistd.h>

static char path[] = "/tmp/tracebed-message-XXXXXX";
static struct tbed_writer *writer;
static struct tbed_recorder *recorder;

static int begin(void **state)
{
    struct tbed_writer_options options = {.size = sizeof options, .overwrite = true};
    (void)state;
    strcpy(path, "/tmp/tracebed-message-XXXXXX");
    close(mkstemp(path));
    if (tbed_writer_open(path, &options, &writer, NULL) != TBED_OK)
        return 1;
    recorder = tbed_recorder_open(writer, "main");
    return recorder == NULL;
}

static int end(void **state)
{
    (void)state;
    return unlink(path);
}

static uint32_t intern(const char *text)
{
    return tbed_string_intern(writer, text, strlen(text));
}

/* Returns a reader of the trace and its only message. */
static struct tbed_reader *read_message(struct tbed_event *event)
{
    struct tbed_reader *reader;
    struct tbed_cursor *cursor;
    struct tbed_stream_info stream;
    tbed_recorder_close(recorder);
    tbed_writer_close(writer);
    assert_int_equal(tbed_reader_open(path, NULL, &reader, NULL), TBED_OK);
    assert_true(tbed_stream_get(reader, 0, &stream));
    assert_int_equal(tbed_cursor_open(reader, stream.stream, &cursor), TBED_OK);
    do
        assert_int_equal(tbed_cursor_next(cursor, event), TBED_OK);
    while (event->type != TBED_EVENT_MESSAGE);
    tbed_cursor_close(cursor);
    return reader;
}

/* Expects in buffers of all sizes as much of the text as fits, terminated, and nothing written after it. */
static void expect_text(const struct tbed_reader *reader, const struct tbed_event *event,
                        enum tbed_message_part part, const char *expected)
{
    char buffer[256];
    size_t nbytes = strlen(expected);
    assert_true(nbytes < sizeof buffer - 1);
    tbed_message_text(reader, event, part, buffer, sizeof buffer);
    assert_string_equal(buffer, expected);
    assert_int_equal(tbed_message_text(reader, event, part, NULL, 0), nbytes);
    for (size_t room = 1; room <= nbytes + 2; room++) {
        size_t fits = room - 1 < nbytes ? room - 1 : nbytes;
        memset(buffer, '#', sizeof buffer);
        assert_int_equal(tbed_message_text(reader, event, part, buffer, room), nbytes);
        assert_memory_equal(buffer, expected, fits);
        assert_int_equal(buffer[fits], '\0');
        assert_int_equal(buffer[room], '#');
    }
}

static void a_message_is_cut_as_snprintf_cuts(void **state)
{
    struct tbed_argument arguments[] = {
        {.type = TBED_ARG_TEXT, .name_id = TBED_ID_INVALID, .nbytes = 3, .value.text = "abc"},
        {.type = TBED_ARG_I64, .name_id = TBED_ID_INVALID, .value.i64 = -42},
        {.type = TBED_ARG_ID, .name_id = TBED_ID_INVALID, .value.id = intern("place")},
        {.type = TBED_ARG_F64, .name_id = intern("rest"), .value.f64 = 0.5},
    };
    struct tbed_event event;
    (void)state;
    tbed_message_record_args(recorder, TBED_SEVERITY_INFORMATION, intern("<%5s|%-5d|%7s|%%|%q>"), arguments,
                             4);
    struct tbed_reader *reader = read_message(&event);
    expect_text(reader, &event, TBED_MESSAGE_ALL, "<  abc|-42  |  place|%|%q> rest=0.5");
    tbed_reader_close(reader);
}

static void a_context_is_shown_or_left_out(void **state)
{
    struct tbed_argument argument = {.type = TBED_ARG_U64, .name_id = TBED_ID_INVALID, .value.u64 = 7};
    struct tbed_event event;
    (void)state;
    tbed_message_record_args(recorder, (enum tbed_severity)(TBED_SEVERITY_INFORMATION | TBED_MESSAGE_CONTEXT),
                             intern("sw (ab) Doc\x1E"
                                    "page %u"),
                             &argument, 1);
    struct tbed_reader *reader = read_message(&event);
    expect_text(reader, &event, TBED_MESSAGE_ALL, "sw (ab) Doc : page 7");
    expect_text(reader, &event, TBED_MESSAGE_BODY, "page 7");
    tbed_reader_close(reader);
}

/* ---- Directives and arguments ---- */

#define U64(n)                                                                                               \
    {                                                                                                        \
        .type = TBED_ARG_U64, .name_id = TBED_ID_INVALID, .value.u64 = (n)                                   \
    }
#define I64(n)                                                                                               \
    {                                                                                                        \
        .type = TBED_ARG_I64, .name_id = TBED_ID_INVALID, .value.i64 = (n)                                   \
    }
#define F64(n)                                                                                               \
    {                                                                                                        \
        .type = TBED_ARG_F64, .name_id = TBED_ID_INVALID, .value.f64 = (n)                                   \
    }
#define POINTER(n)                                                                                           \
    {                                                                                                        \
        .type = TBED_ARG_POINTER, .name_id = TBED_ID_INVALID, .value.u64 = (n)                               \
    }
#define BOOL(n)                                                                                              \
    {                                                                                                        \
        .type = TBED_ARG_BOOL, .name_id = TBED_ID_INVALID, .value.u64 = (n)                                  \
    }
#define TEXT(s)                                                                                              \
    {                                                                                                        \
        .type = TBED_ARG_TEXT, .name_id = TBED_ID_INVALID, .nbytes = sizeof(s) - 1, .value.text = (s)        \
    }
#define BYTES(s)                                                                                             \
    {                                                                                                        \
        .type = TBED_ARG_BYTES, .name_id = TBED_ID_INVALID, .nbytes = sizeof(s) - 1, .value.text = (s)       \
    }

static const struct message_case {
    const char *format, *text;
    uint32_t count;
    struct tbed_argument arguments[3];
} cases[] = {
    /* an integer is cut to the directive's size, unless it cannot have been passed in C */
    {"%d", "-1", 1, {U64(UINT32_MAX)}},
    {"%d", "4294967296", 1, {U64(UINT64_C(1) << 32)}},
    {"%i", "-2147483648", 1, {I64(INT32_MIN)}},
    {"%d", "-2147483649", 1, {I64(INT64_C(-2147483649))}},
    {"%d", "-2147483648", 1, {U64(UINT64_C(1) << 31)}},
    {"%u", "4294967295", 1, {I64(-1)}},
    {"%u", "2147483647", 1, {I64(INT64_C(-2147483649))}},
    {"%x", "100000000", 1, {U64(UINT64_C(1) << 32)}},
    {"%ld", "-1", 1, {U64(UINT64_MAX)}},
    {"%lu", "18446744073709551615", 1, {I64(-1)}},
    {"%lld", "-9223372036854775808", 1, {I64(INT64_MIN)}},
    {"%hd|%hu", "-1|65535", 2, {U64(65535), I64(-1)}},
    {"%hhd|%hhu|%hhx", "-128|255|0", 3, {U64(128), I64(-1), U64(256)}},
    {"%zd|%jd|%td", "-1|-2|-3", 3, {I64(-1), I64(-2), I64(-3)}},
    /* flags, widths, precisions */
    {"%+d|% d|%+u", "+1| 2|3", 3, {I64(1), I64(2), U64(3)}},
    {"%#x|%#o|%X", "0x1f|037|1F", 3, {U64(31), U64(31), U64(31)}},
    {"%'d|%+++++++5d|%05d", "1|   +2|00003", 3, {I64(1), I64(2), I64(3)}},
    {"%9d|%10d|%-9d|", "        1|         2|3        |", 3, {I64(1), I64(2), I64(3)}},
    {"%.d|%.0d|%.9d", "||000000003", 3, {I64(0), I64(0), I64(3)}},
    {"%*d|", "   1|", 2, {I64(4), I64(1)}},
    {"%*d|", "1   |", 2, {I64(-4), I64(1)}},
    {"%*d|", "1|", 2, {TEXT("4"), I64(1)}},
    {"%.*d|", "0001|", 2, {U64(4), I64(1)}},
    {"%.*d|", "1|", 2, {I64(-4), I64(1)}},
    {"%*d", "%*d", 0, {I64(0)}},
    {"%5.2f|%-8.1e|%G", " 1.50|2.5e+00 |0.5", 3, {F64(1.5), F64(2.5), F64(0.5)}},
    /* texts */
    {"%s|%4s|%-4s|", "ab|  ab|ab  |", 3, {TEXT("ab"), TEXT("ab"), TEXT("ab")}},
    {"%.1s|%.2s|%.3s", "a|ab|ab", 3, {TEXT("ab"), TEXT("ab"), TEXT("ab")}},
    {"%.0s|%4.1s|%-4.1s|", "|   a|a   |", 3, {TEXT("ab"), TEXT("ab"), TEXT("ab")}},
    {"%2s|%3d|%.1c", "ab| ab|ab", 3, {TEXT("ab"), TEXT("ab"), TEXT("ab")}},
    {"%c|%3c|%-3c|", "A|  B|C  |", 3, {U64('A'), I64('B'), U64('C')}},
    /* an argument that does not fit its directive is shown by its own type */
    {"%s|%5s|%-5s|", "-1|   -2|-3   |", 3, {I64(-1), I64(-2), I64(-3)}},
    {"%f|%5f|%x", "1|    2|0.5", 3, {U64(1), U64(2), F64(0.5)}},
    {"%s|%d|%c", "true|0|0.5", 3, {BOOL(1), BOOL(0), F64(0.5)}},
    {"%s|%f|%6s", "false|true|  true", 3, {BOOL(0), BOOL(2), BOOL(1)}},
    {"%p|%x|%s", "0x1f|1f|0x1f", 3, {POINTER(31), POINTER(31), POINTER(31)}},
    {"%p|%6p|%-6p|", "0x1f|  0x1f|0x1f  |", 3, {U64(31), I64(31), U64(31)}},
    {"%s|%8d|%-8p|",
     "00ff1a|  00ff1a|00ff1a  |",
     3,
     {BYTES("\0\xFF\x1A"), BYTES("\0\xFF\x1A"), BYTES("\0\xFF\x1A")}},
    /* invalid directives, and those without an argument */
    {"%", "%", 0, {I64(0)}},
    {"100%% %5%", "100% %", 0, {I64(0)}},
    {"%y|%5l|%d", "%y|%5l|1", 1, {I64(1)}},
    {"%l", "%l 1", 1, {I64(1)}},
    {"%d %d|%5s|", "1 %d|%5s|", 1, {I64(1)}},
    {"%n", "%n 1", 1, {I64(1)}},
    /* arguments without a directive */
    {"", " 1 -2 0.5", 3, {U64(1), I64(-2), F64(0.5)}},
    {"x", "x true 0x1f \"a\"", 3, {BOOL(1), POINTER(31), TEXT("a")}},
    {"%d", "1 00ff \"\"", 3, {I64(1), BYTES("\0\xFF"), TEXT("")}},
};

static void each_directive_and_argument_is_shown(void **state)
{
    for (size_t i = 0; i < sizeof cases / sizeof cases[0]; i++) {
        const struct message_case *one = &cases[i];
        struct tbed_event event;
        if (i > 0)
            assert_int_equal(begin(state), 0);
        tbed_message_record_args(recorder, TBED_SEVERITY_INFORMATION, intern(one->format), one->arguments,
                                 one->count);
        struct tbed_reader *reader = read_message(&event);
        expect_text(reader, &event, TBED_MESSAGE_ALL, one->text);
        tbed_reader_close(reader);
        if (i + 1 < sizeof cases / sizeof cases[0])
            assert_int_equal(end(state), 0);
    }
}

static void widths_and_precisions_end_at_1000(void **state)
{
    static const struct {
        const char *format;
        size_t nbytes;
        struct tbed_argument arguments[2];
    } wide[] = {
        {"%999d", 999, {I64(7)}},
        {"%1000d", 1000, {I64(7)}},
        {"%1001d", 1000, {I64(7)}},
        {"%.1000d", 1000, {I64(7)}},
        {"%.99999999999d", 1000, {I64(7)}},
        {"%-1001d", 1000, {I64(7)}},
        {"%.1000f", 1002, {F64(1)}},
        {"%1001s", 1000, {TEXT("ab")}},
        {"%-1001s", 1000, {TEXT("ab")}},
        {"%*d", 1000, {I64(1001), I64(7)}},
        {"%*d", 1000, {I64(-1001), I64(7)}},
        {"%*d", 999, {I64(-999), I64(7)}},
        {"%1000p", 1000, {POINTER(1)}},
        {"%.1000f", 1310, {F64(1e308)}},
    };
    char text[2048];
    for (size_t i = 0; i < sizeof wide / sizeof wide[0]; i++) {
        struct tbed_event event;
        if (i > 0)
            assert_int_equal(begin(state), 0);
        uint32_t count = 1 + (wide[i].arguments[1].type != 0);
        tbed_message_record_args(recorder, TBED_SEVERITY_INFORMATION, intern(wide[i].format),
                                 wide[i].arguments, count);
        struct tbed_reader *reader = read_message(&event);
        assert_int_equal(tbed_message_text(reader, &event, TBED_MESSAGE_ALL, text, sizeof text),
                         wide[i].nbytes);
        assert_int_equal(strlen(text), wide[i].nbytes);
        tbed_reader_close(reader);
        if (i + 1 < sizeof wide / sizeof wide[0])
            assert_int_equal(end(state), 0);
    }
}

static void names_of_arguments_are_shown(void **state)
{
    struct tbed_argument arguments[] = {
        {.type = TBED_ARG_TEXT, .name_id = intern("one"), .nbytes = 2, .value.text = "ab"},
        {.type = TBED_ARG_ID, .name_id = intern("two"), .value.id = intern("place")},
        {.type = TBED_ARG_ID, .name_id = TBED_ID_INVALID, .value.id = 77},
    };
    struct tbed_event event;
    char text[64], wide[64];
    (void)state;
    tbed_message_record_args(recorder, TBED_SEVERITY_INFORMATION, TBED_ID_INVALID, arguments, 3);
    struct tbed_reader *reader = read_message(&event);
    expect_text(reader, &event, TBED_MESSAGE_ALL, "ab two=\"place\" <id 77>");
    for (size_t room = 0; room < sizeof text; room++) {
        static const char expected[] = " one=\"ab\" two=\"place\" <id 77>";
        memset(text, '#', sizeof text);
        assert_int_equal(tbed_arguments_text(reader, &event.arguments, 3, text, room), sizeof expected - 1);
        size_t fits = room > sizeof expected ? sizeof expected : room;
        assert_memory_equal(text, expected, fits > 0 ? fits - 1 : 0);
        assert_true(room == 0 || text[fits - 1] == '\0');
        assert_int_equal(room < sizeof text ? text[room] : '#', '#');
    }
    assert_int_equal(tbed_argument_text(reader, &arguments[0], text, sizeof text), 4);
    assert_string_equal(text, "\"ab\"");
    arguments[0].value.text = "a\"b\\\\c";
    arguments[0].nbytes = 6;
    assert_int_equal(tbed_argument_text(reader, &arguments[0], text, sizeof text), 11);
    assert_string_equal(text, "\"a\\\"b\\\\\\\\c\"");
    arguments[1].value.u64 = (UINT64_C(1) << 32) + arguments[1].value.id;
    snprintf(wide, sizeof wide, "<dangling id %llu>", (unsigned long long)arguments[1].value.u64);
    assert_int_equal(tbed_argument_text(reader, &arguments[1], text, sizeof text), strlen(wide));
    assert_string_equal(text, wide);
    tbed_reader_close(reader);
}

static void an_empty_context_is_not_shown(void **state)
{
    static const struct {
        const char *format, *all;
    } contexts[] = {{"\x1E"
                     "body",
                     "body"},
                    {"no unit", "no unit"},
                    {"100% at\x1E"
                     "body",
                     "100% at : body"}};
    for (size_t i = 0; i < 3; i++) {
        struct tbed_event event;
        if (i > 0)
            assert_int_equal(begin(state), 0);
        tbed_message_record_args(recorder,
                                 (enum tbed_severity)(TBED_SEVERITY_INFORMATION | TBED_MESSAGE_CONTEXT),
                                 intern(contexts[i].format), NULL, 0);
        struct tbed_reader *reader = read_message(&event);
        expect_text(reader, &event, TBED_MESSAGE_ALL, contexts[i].all);
        expect_text(reader, &event, TBED_MESSAGE_BODY, i == 1 ? "no unit" : "body");
        tbed_reader_close(reader);
        if (i < 2)
            assert_int_equal(end(state), 0);
    }
}

/* The reader does not keep a text of that size. */
static void a_format_of_a_mebibyte_is_formatted(void **state)
{
    enum { NBYTES = 1 << 20, PIECES = 32 };
    static char piece[NBYTES / PIECES], text[NBYTES + 64];
    struct tbed_argument argument = {.type = TBED_ARG_U64, .name_id = TBED_ID_INVALID, .value.u64 = 12345};
    struct tbed_component parts[PIECES + 1];
    struct tbed_event event;
    (void)state;
    memset(piece, 'x', sizeof piece);
    uint32_t piece_id = tbed_string_intern(writer, piece, sizeof piece);
    for (size_t i = 0; i < PIECES; i++)
        parts[i] = (struct tbed_component){.id = piece_id};
    parts[PIECES] = (struct tbed_component){.text = "%u", .nbytes = 2};
    uint32_t format = tbed_string_alloc(writer, parts, PIECES + 1);
    tbed_message_record_args(recorder, TBED_SEVERITY_INFORMATION, format, &argument, 1);
    struct tbed_reader *reader = read_message(&event);
    assert_int_equal(tbed_message_text(reader, &event, TBED_MESSAGE_ALL, text, sizeof text), NBYTES + 5);
    assert_string_equal(text + NBYTES, "12345");
    tbed_reader_close(reader);
}

static void an_argument_of_a_mebibyte_is_shown(void **state)
{
    enum { NBYTES = 1 << 20, PIECES = 32 };
    static char piece[NBYTES / PIECES], text[NBYTES + 64];
    struct tbed_argument argument = {.type = TBED_ARG_ID, .name_id = TBED_ID_INVALID};
    struct tbed_component parts[PIECES];
    struct tbed_event event;
    (void)state;
    memset(piece, 'x', sizeof piece);
    uint32_t piece_id = tbed_string_intern(writer, piece, sizeof piece);
    for (size_t i = 0; i < PIECES; i++)
        parts[i] = (struct tbed_component){.id = piece_id};
    argument.value.id = tbed_string_alloc(writer, parts, PIECES);
    tbed_message_record_args(recorder, TBED_SEVERITY_INFORMATION, intern("<%s>"), &argument, 1);
    struct tbed_reader *reader = read_message(&event);
    assert_int_equal(tbed_message_text(reader, &event, TBED_MESSAGE_ALL, text, sizeof text), NBYTES + 2);
    assert_true(text[0] == '<' && text[1] == 'x' && text[NBYTES] == 'x');
    assert_string_equal(text + NBYTES + 1, ">");
    assert_int_equal(tbed_message_text(reader, &event, TBED_MESSAGE_ALL, NULL, 0), NBYTES + 2);
    assert_int_equal(tbed_message_text(reader, &event, TBED_MESSAGE_ALL, text, 3), NBYTES + 2);
    assert_string_equal(text, "<x");
    tbed_reader_close(reader);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test_setup_teardown(a_message_is_cut_as_snprintf_cuts, begin, end),
        cmocka_unit_test_setup_teardown(a_context_is_shown_or_left_out, begin, end),
        cmocka_unit_test_setup_teardown(each_directive_and_argument_is_shown, begin, end),
        cmocka_unit_test_setup_teardown(widths_and_precisions_end_at_1000, begin, end),
        cmocka_unit_test_setup_teardown(names_of_arguments_are_shown, begin, end),
        cmocka_unit_test_setup_teardown(an_empty_context_is_not_shown, begin, end),
        cmocka_unit_test_setup_teardown(an_argument_of_a_mebibyte_is_shown, begin, end),
        cmocka_unit_test_setup_teardown(a_format_of_a_mebibyte_is_formatted, begin, end),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
