/*
 * Records names for pictures_test.py:
 *
 *     hostile_names_program PATH
 *
 * Each line of standard input is a name, in hexadecimal: a track of this name gets a span and an instant of it. The ticks are
 * made up.
 *
 * SPDX-License-Identifier: MIT
 */
#define _GNU_SOURCE 1
#include <tracebed/writer.h>

#include <stdio.h>
#include <stdlib.h>

static struct tbed_writer *writer;

static unsigned digit_of(char digit)
{
    return digit <= '9' ? (unsigned)(digit - '0') : (unsigned)(digit - 'a' + 10);
}

/* Decodes the digits in place, and terminates the name. */
static size_t decode(char *digits)
{
    size_t nbytes = 0;
    for (; digits[2 * nbytes] >= '0'; nbytes++)
        digits[nbytes] = (char)(digit_of(digits[2 * nbytes]) << 4 | digit_of(digits[2 * nbytes + 1]));
    digits[nbytes] = '\0';
    return nbytes;
}

static void record(const char *name, size_t nbytes, unsigned number)
{
    struct tbed_recorder *recorder = tbed_recorder_open_given(writer, name, 100 + number);
    uint32_t id = tbed_string_intern(writer, name, nbytes);
    const struct tbed_given_event events[] = {
        {.type = TBED_GIVEN_BEGIN, .tick = 1000, .id = id, .category = TBED_ID_INVALID},
        {.type = TBED_GIVEN_INSTANT, .tick = 1500, .id = id, .category = TBED_ID_INVALID},
        {.type = TBED_GIVEN_END, .tick = 5000},
    };
    for (size_t i = 0; i < sizeof events / sizeof events[0]; i++)
        tbed_event_record_given(recorder, &events[i]);
    tbed_recorder_close(recorder);
}

int main(int argc, char **argv)
{
    struct tbed_writer_options options = {
        .size = sizeof options, .no_helper = true, .given_ticks = true, .given_ticks_per_second = 1000000000};
    char *line = NULL;
    size_t room = 0;
    if (argc != 2 || tbed_writer_open(argv[1], &options, &writer, NULL) != TBED_OK)
        return 2;
    for (unsigned number = 0; getline(&line, &room, stdin) > 0; number++)
        record(line, decode(line), number);
    free(line);
    tbed_writer_close(writer);
    return 0;
}
