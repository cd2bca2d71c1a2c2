/*
 * Out of memory: each allocation of an export of tables, and of a stream of Arrow, fails in turn, once. The call must report
 * it or produce its usual result, and leave no other file behind.
 *
 * The linker redirects the library's allocations to this file (--wrap); other allocations are unaffected.
 *
 * Link with: -Wl,--wrap=malloc,--wrap=calloc,--wrap=realloc
 *
 * SPDX-License-Identifier: MIT
 */
#define _GNU_SOURCE 1
#include "reader/tests/core/failing_memory.h"

#include <errno.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <tracebed/arrow.h>
#include <tracebed/export.h>
#include <tracebed/writer.h>
#include <unistd.h>

#include <cmocka.h>

static char folder[] = "/tmp/columns-memory-XXXXXX";
static char path[256], expected[1 << 16], found[1 << 16];
static struct tbed_reader *reader;

static int make_trace(void **state)
{
    struct tbed_writer_options options = {.size = sizeof options,
                                          .no_helper = true,
                                          .page_nbytes = 4096,
                                          .given_ticks = true,
                                          .given_ticks_per_second = 1000000000};
    struct tbed_writer *writer;
    (void)state;
    int fd = memfd_create("trace", 0);
    if (mkdtemp(folder) == NULL || tbed_writer_open_fd(fd, &options, &writer, NULL) != TBED_OK)
        return -1;
    struct tbed_recorder *recorder = tbed_recorder_open_given(writer, "main", 7);
    for (unsigned i = 0; i < 40; i++) {
        char name[16];
        snprintf(name, sizeof name, "label %u", i % 7);
        struct tbed_given_event event = {.type = i % 2 == 0 ? TBED_GIVEN_BEGIN : TBED_GIVEN_END,
                                         .tick = 1000 + i,
                                         .id = tbed_string_intern(writer, name, strlen(name)),
                                         .category = TBED_ID_INVALID};
        tbed_event_record_given(recorder, &event);
        tbed_message_record(recorder, TBED_SEVERITY_ERROR, i % 3 == 0 ? "a\xff" : "text", 2);
    }
    tbed_writer_free(writer);
    enum tbed_status status = tbed_reader_open_fd(fd, NULL, &reader, NULL);
    close(fd);
    return status == TBED_OK ? 0 : -1;
}

static int drop_trace(void **state)
{
    (void)state;
    tbed_reader_close(reader);
    return rmdir(folder);
}

/* ---- Exports ---- */

static size_t read_file(char bytes[sizeof found])
{
    FILE *file = fopen(path, "rb");
    size_t nbytes = file != NULL ? fread(bytes, 1, sizeof found, file) : 0;
    if (file != NULL)
        fclose(file);
    return nbytes;
}

static enum tbed_status make_export(const char *format, const char *table, const char *to)
{
    struct tbed_export_options options = {.size = sizeof options, .thread_count = 1, .table = table};
    struct tbed_export_result result;
    return tbed_export(tbed_format_find(format), &reader, 1, to, &options, &result, NULL);
}

/* 'path' is the file that the export writes. */
static void expect_all_or_nothing(const char *format, const char *table, const char *to)
{
    unsigned failed_count = 0;
    assert_int_equal(make_export(format, table, to), TBED_OK);
    size_t nbytes = read_file(expected);
    assert_true(nbytes > 0 && nbytes < sizeof expected && unlink(path) == 0);
    for (int number = 0, was_reached = 1; was_reached; number++) {
        calls_left = number;
        enum tbed_status status = make_export(format, table, to);
        was_reached = calls_left < 0;
        calls_left = -1;
        failed_count += status != TBED_OK;
        if (status != TBED_OK) {
            assert_int_equal(status, TBED_ERR_MEMORY);
            assert_int_not_equal(access(path, F_OK), 0);
            continue;
        }
        assert_int_equal(read_file(found), nbytes);
        assert_memory_equal(found, expected, nbytes);
        unlink(path);
    }
    assert_true(failed_count > 10);
}

static void export_as_text_is_complete_or_fails(void **state)
{
    (void)state;
    snprintf(path, sizeof path, "%s/out", folder);
    expect_all_or_nothing("csv", "spans", path);
    expect_all_or_nothing("csv", "messages", path);
    expect_all_or_nothing("ndjson", "messages", path);
}

static void export_as_parquet_is_complete_or_fails(void **state)
{
    static const char *const tables[] = {"spans", "messages"};
    struct tbed_trace_info info;
    char to[64], table[128];
    (void)state;
    tbed_reader_info(reader, &info);
    snprintf(to, sizeof to, "%s/data", folder);
    for (size_t i = 0; i < sizeof tables / sizeof tables[0]; i++) {
        snprintf(table, sizeof table, "%s/%s", to, tables[i]);
        snprintf(path, sizeof path, "%s/%016llx.parquet", table, (unsigned long long)info.file_id);
        expect_all_or_nothing("parquet", tables[i], to);
        assert_int_equal(rmdir(table), 0); /* nothing else is in it */
    }
    assert_int_equal(rmdir(to), 0);
}

/* ---- Arrow ---- */

/* The number of rows; -1: there was no memory. */
static int64_t count_rows(struct ArrowArrayStream *stream)
{
    struct ArrowSchema schema;
    struct ArrowArray array;
    int64_t count = 0;
    int problem = stream->get_schema(stream, &schema);
    if (problem != 0) {
        assert_int_equal(problem, ENOMEM);
        assert_string_equal(stream->get_last_error(stream), "out of memory");
        return -1;
    }
    schema.release(&schema);
    while ((problem = stream->get_next(stream, &array)) == 0 && array.release != NULL) {
        count += array.length;
        array.release(&array);
    }
    assert_true(problem == 0 || problem == ENOMEM);
    return problem == 0 ? count : -1;
}

static int64_t scan_as_arrow(const char *table)
{
    struct tbed_scan_options options = {.size = sizeof options, .thread_count = 1};
    struct ArrowArrayStream stream;
    struct tbed_tables *tables = NULL;
    struct tbed_scan *scan = NULL;
    int64_t count = -1;
    if (tbed_tables_of_reader(reader, &tables) != TBED_OK)
        return -1;
    if (tbed_scan_open(tables, tbed_table_find(table), &options, &scan, NULL) != TBED_OK) {
        tbed_tables_close(tables);
        return -1;
    }
    if (tbed_scan_arrow(scan, &stream) == TBED_OK) {
        count = count_rows(&stream);
        stream.release(&stream);
    } else {
        tbed_scan_close(scan);
    }
    tbed_tables_close(tables);
    return count;
}

static void arrow_is_complete_or_fails(void **state)
{
    unsigned failed_count = 0;
    (void)state;
    assert_int_equal(scan_as_arrow("messages"), 40);
    for (int number = 0, was_reached = 1; was_reached; number++) {
        calls_left = number;
        int64_t count = scan_as_arrow("messages");
        was_reached = calls_left < 0;
        calls_left = -1;
        failed_count += count < 0;
        assert_true(count == -1 || count == 40);
    }
    assert_true(failed_count > 10);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(export_as_text_is_complete_or_fails),
        cmocka_unit_test(export_as_parquet_is_complete_or_fails),
        cmocka_unit_test(arrow_is_complete_or_fails),
    };
    return cmocka_run_group_tests(tests, make_trace, drop_trace);
}
