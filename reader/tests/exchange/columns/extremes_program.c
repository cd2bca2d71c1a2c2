/*
 * Records what is hard to hand on, for parquet_test.py:
 *
 *     extremes_program PATH
 *
 * Each line of standard input is a text, in hexadecimal: a message has it as its text, and a span as an argument and as the
 * name of its track. Then come numbers at the ends of 64 bits, as arguments, as values of counters and as addresses.
 *
 * SPDX-License-Identifier: MIT
 */
#define _GNU_SOURCE 1
#include <tracebed/writer.h>

#include <math.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

static struct tbed_writer *writer;
static uint64_t tick = 1000;

/* Decodes the digits in place, and terminates the text. */
static size_t decode(char *digits)
{
    size_t nbytes = 0;
    unsigned byte;
    for (; sscanf(digits + 2 * nbytes, "%2x", &byte) == 1; nbytes++)
        digits[nbytes] = (char)byte;
    digits[nbytes] = '\0';
    return nbytes;
}

static void record(struct tbed_recorder *recorder, struct tbed_given_event event)
{
    event.tick = tick += 1000;
    event.category = TBED_ID_INVALID;
    tbed_event_record_given(recorder, &event);
}

static void record_text(const char *text, size_t nbytes, unsigned number)
{
    struct tbed_recorder *recorder = tbed_recorder_open_given(writer, text, 100 + number);
    struct tbed_argument argument = {
        .type = TBED_ARG_TEXT, .name_id = TBED_ID_INVALID, .nbytes = (uint32_t)nbytes, .value.text = text};
    record(recorder, (struct tbed_given_event){.type = TBED_GIVEN_BEGIN,
                                               .id = tbed_string_intern(writer, "text", 4),
                                               .arguments = &argument,
                                               .argument_count = 1});
    tbed_message_record(recorder, TBED_SEVERITY_ERROR, text, nbytes);
    record(recorder, (struct tbed_given_event){.type = TBED_GIVEN_END});
    tbed_recorder_close(recorder);
}

static void record_number(struct tbed_recorder *recorder, struct tbed_argument argument)
{
    argument.name_id = tbed_string_intern(writer, "number", 6);
    record(recorder, (struct tbed_given_event){.type = TBED_GIVEN_INSTANT,
                                               .id = argument.name_id,
                                               .arguments = &argument,
                                               .argument_count = 1});
    argument.name_id = TBED_ID_INVALID;
    record(recorder, (struct tbed_given_event){.type = TBED_GIVEN_COUNTER,
                                               .id = tbed_string_intern(writer, "number", 6),
                                               .arguments = &argument,
                                               .argument_count = 1});
}

static void record_numbers(void)
{
    static const uint64_t unsigneds[] = {0, UINT64_MAX, UINT64_C(1) << 63, (UINT64_C(1) << 53) + 1};
    static const int64_t signeds[] = {INT64_MIN, INT64_MAX, -1};
    const double doubles[] = {0.0, -0.0, 5e-324, 1.7976931348623157e308, INFINITY, -INFINITY, NAN};
    struct tbed_recorder *recorder = tbed_recorder_open_given(writer, "numbers", UINT32_MAX);
    for (size_t i = 0; i < sizeof unsigneds / sizeof *unsigneds; i++)
        record_number(recorder, (struct tbed_argument){.type = TBED_ARG_U64, .value.u64 = unsigneds[i]});
    for (size_t i = 0; i < sizeof signeds / sizeof *signeds; i++)
        record_number(recorder, (struct tbed_argument){.type = TBED_ARG_I64, .value.i64 = signeds[i]});
    for (size_t i = 0; i < sizeof doubles / sizeof *doubles; i++)
        record_number(recorder, (struct tbed_argument){.type = TBED_ARG_F64, .value.f64 = doubles[i]});
    for (size_t i = 0; i < sizeof unsigneds / sizeof *unsigneds; i++)
        tbed_alloc_record(recorder, tbed_string_intern(writer, "site", 4), TBED_FUNCTION_MALLOC, unsigneds[i],
                          unsigneds[i]);
}

int main(int argc, char **argv)
{
    struct tbed_writer_options options = {.size = sizeof options,
                                          .no_helper = true,
                                          .given_ticks = true,
                                          .given_ticks_per_second = 1000000000,
                                          .page_nbytes = 1 << 20};
    char *line = NULL;
    size_t room = 0;
    if (argc != 2 || tbed_writer_open(argv[1], &options, &writer, NULL) != TBED_OK)
        return 2;
    for (unsigned number = 0; getline(&line, &room, stdin) > 0; number++)
        record_text(line, decode(line), number);
    record_numbers();
    free(line);
    tbed_writer_close(writer);
    return 0;
}
