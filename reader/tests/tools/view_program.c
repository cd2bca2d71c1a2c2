/*
 * Records for view_test.py:
 *
 *     view_program PATH
 *
 * Reads commands from standard input: "name BYTES", in hexadecimal, records a span of this name, "message BYTES" a message,
 * "allocate" an allocation. Each is answered by a line when it has been stored; at the end of the input the trace is closed.
 *
 * SPDX-License-Identifier: MIT
 */
#define _GNU_SOURCE 1
#include <tracebed/writer.h>

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

static struct tbed_writer *writer;
static struct tbed_recorder *recorder;

/* Decodes the digits in place. */
static size_t decode(char *digits)
{
    size_t nbytes = 0;
    unsigned byte;
    for (; sscanf(digits + 2 * nbytes, "%2x", &byte) == 1; nbytes++)
        digits[nbytes] = (char)byte;
    return nbytes;
}

static void record_span(const char *name, size_t nbytes)
{
    struct tbed_argument argument = {.name_id = tbed_string_intern(writer, "what", 4),
                                     .type = TBED_ARG_TEXT,
                                     .value.text = name,
                                     .nbytes = (uint32_t)(nbytes < 100 ? nbytes : 100)};
    uint32_t id = tbed_string_intern(writer, name, nbytes);
    tbed_span_begin_args(recorder, id, &argument, 1);
    tbed_instant_record(recorder, id);
    tbed_counter_record_i64(recorder, id, 7);
    tbed_span_end(recorder);
}

static void allocate(void)
{
    static uint64_t address = 0x1000;
    uint32_t place = tbed_string_intern(writer, "place", 5);
    tbed_alloc_record(recorder, place, TBED_FUNCTION_MALLOC, address += 0x1000, 100);
}

static void obey(char *line)
{
    char *digits = strchr(line, ' ');
    size_t nbytes = digits != NULL ? decode(digits + 1) : 0;
    if (strncmp(line, "name", 4) == 0 && digits != NULL)
        record_span(digits + 1, nbytes);
    else if (strncmp(line, "message", 7) == 0 && digits != NULL)
        tbed_message_record(recorder, TBED_SEVERITY_ERROR, digits + 1, nbytes);
    else if (strncmp(line, "allocate", 8) == 0)
        allocate();
}

int main(int argc, char **argv)
{
    char *line = NULL;
    size_t room = 0;
    if (argc != 2 || tbed_writer_open(argv[1], NULL, &writer, NULL) != TBED_OK)
        return 2;
    recorder = tbed_recorder_open(writer, NULL);
    while (recorder != NULL && getline(&line, &room, stdin) > 0) {
        obey(line);
        puts("stored");
        fflush(stdout);
    }
    free(line);
    tbed_writer_close(writer);
    return recorder != NULL ? 0 : 2;
}
