/*
 * Imports a log of RTL_LOGFILE for a test, exports it again, and compares its events.
 *
 * SPDX-License-Identifier: MIT
 */
#ifndef TRACEBED_TESTS_RTL_IMPORTED_H
#define TRACEBED_TESTS_RTL_IMPORTED_H

#include "reader/tests/tools/tool_run.h"

#include <sys/mman.h>
#include <tracebed/exchange.h>
#include <tracebed/reader.h>

struct imported {
    struct tbed_reader *reader;
    struct tbed_import_report report;
    char *log; /* as exported */
    size_t nbytes;
};

static struct imported import_log(const char *log, size_t nbytes)
{
    struct imported imported;
    int fd = memfd_create("log", MFD_CLOEXEC);
    assert_true(fd >= 0 && write(fd, log, nbytes) == (ssize_t)nbytes);
    assert_int_equal(tbed_import_open_fd(fd, &imported.reader, &imported.report, NULL), TBED_OK);
    close(fd);
    struct tbed_rtl_options options = {.size = sizeof options, .exact = true};
    FILE *out = open_memstream(&imported.log, &imported.nbytes);
    assert_int_equal(tbed_export_rtl_log_stream(imported.reader, out, &options, NULL, NULL), TBED_OK);
    fclose(out);
    assert_int_equal(imported.report.kind, TBED_FOREIGN_RTL_LOG);
    assert_int_equal(imported.report.drop_count, 0);
    return imported;
}

static void free_imported(struct imported *imported)
{
    tbed_reader_close(imported->reader);
    free(imported->log);
}

/* Expects that the log is reproduced exactly. */
static struct imported expect_back(const char *log, size_t nbytes)
{
    struct imported imported = import_log(log, nbytes);
    assert_int_equal(imported.nbytes, nbytes);
    assert_memory_equal(imported.log, log, nbytes);
    return imported;
}

struct expected {
    uint64_t ms;
    uint32_t tid;
    enum tbed_event_type type;
    const char *name; /* context of a message; NULL: none */
    const char *text; /* of a message */
};

static uint32_t tid_of(struct tbed_reader *reader, uint32_t number)
{
    struct tbed_stream_info info;
    for (size_t i = 0; tbed_stream_get(reader, i, &info); i++)
        if (info.stream == number)
            return info.tid;
    fail();
    return 0;
}

/* A message has the given number of arguments; the first is its text. */
static void check_event(struct tbed_reader *reader, const struct tbed_event *event,
                        const struct expected *expected, uint32_t argument_count)
{
    char name[256] = "", wanted[256];
    size_t nbytes = 0;
    assert_int_equal(event->type, expected->type);
    assert_int_equal(event->tick / 1000000, expected->ms);
    assert_int_equal(tid_of(reader, event->stream), expected->tid);
    if (event->id != TBED_ID_INVALID)
        assert_int_equal(tbed_string_resolve(reader, event->id, name, sizeof name, &nbytes), TBED_OK);
    if (event->type != TBED_EVENT_MESSAGE) {
        assert_string_equal(name, expected->name);
        return;
    }
    snprintf(wanted, sizeof wanted, "%s%s", expected->name != NULL ? expected->name : "",
             expected->name != NULL ? "\x1e%s" : "");
    assert_string_equal(name, wanted);
    struct tbed_arguments at = event->arguments;
    struct tbed_argument argument;
    assert_int_equal(event->argument_count, argument_count);
    tbed_argument_next(&at, &argument);
    assert_int_equal(argument.nbytes, strlen(expected->text));
    assert_memory_equal(argument.value.text, expected->text, argument.nbytes);
}

#endif
