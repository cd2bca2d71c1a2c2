/*
 * Times in Chrome trace events: microseconds, rounded down, also before 1970.
 *
 * SPDX-License-Identifier: MIT
 */
#include "reader/tests/core/trace_builder.h"

#include <setjmp.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <tracebed/exchange.h>
#include <unistd.h>

#include <cmocka.h>

#define FIRST_TICK 1000

/* Exports a trace with one instant at this time of day, and returns the text from its "ts" on. */
static const char *exported_time(int64_t realtime_ns)
{
    static char text[4096];
    struct trace trace = trace_make(2);
    struct trace_block events = trace_block_begin(&trace, 1, TBED_BLOCK_EVENTS, 7, 0);
    struct tbed_chrome_options options = {.size = sizeof options, .overwrite = true, .absolute = true};
    char path[] = "/tmp/tracebed-chrome-XXXXXX";
    trace_event(&events, TBED_TAG_INSTANT, 42, 0);
    trace_seal(&events);
    struct tbed_disk_header *header = trace_header(&trace);
    header->anchor_ticks = tbed_le64_make(FIRST_TICK);
    header->anchor_realtime_ns = tbed_le64_make((uint64_t)realtime_ns);
    trace_header_mend(&trace);
    struct tbed_reader *reader = trace_open(&trace);
    int fd = mkstemp(path);
    assert_true(fd >= 0);
    close(fd);
    assert_int_equal(tbed_export_chrome(&reader, 1, path, &options, NULL, NULL), TBED_OK);
    FILE *file = fopen(path, "r");
    assert_non_null(file);
    text[fread(text, 1, sizeof text - 1, file)] = '\0';
    fclose(file);
    unlink(path);
    tbed_reader_close(reader);
    trace_free(&trace);
    const char *time = strstr(text, "\"ts\":");
    assert_non_null(time);
    return time;
}

static void expect_time(int64_t realtime_ns, const char *expected)
{
    const char *time = exported_time(realtime_ns);
    assert_memory_equal(time, expected, strlen(expected));
}

static void absolute_times_are_rounded_down(void **state)
{
    (void)state;
    expect_time(1500, "\"ts\":1,");
    expect_time(2000, "\"ts\":2,");
    expect_time(-1000, "\"ts\":-1,");
    expect_time(-1001, "\"ts\":-2,");
    expect_time(-1, "\"ts\":-1,");
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(absolute_times_are_rounded_down),
    };
    return cmocka_run_group_tests_name("chrome_time", tests, NULL, NULL);
}
