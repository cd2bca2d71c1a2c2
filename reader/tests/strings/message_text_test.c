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

/* The one message that was recorded. */
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

/* Into every size of buffer: what fits, terminated, and nothing behind it. */
static void expect_text(const struct tbed_reader *reader, const struct tbed_event *event,
                        enum tbed_message_part part, const char *expected)
{
    char buffer[256];
    size_t nbytes = strlen(expected);
    assert_true(nbytes < sizeof buffer - 1);
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

/* The reader keeps no text of that size. */
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

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test_setup_teardown(a_message_is_cut_as_snprintf_cuts, begin, end),
        cmocka_unit_test_setup_teardown(a_context_is_shown_or_left_out, begin, end),
        cmocka_unit_test_setup_teardown(a_format_of_a_mebibyte_is_formatted, begin, end),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
