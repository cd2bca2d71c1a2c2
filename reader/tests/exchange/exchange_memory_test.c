/*
 * Out of memory: each allocation of an import or export fails in turn, once. The call must report it or produce its
 * usual result; nothing may be left out silently.
 *
 * The linker redirects the library's allocations to this file (--wrap); other allocations are unaffected.
 *
 * Link with: -Wl,--wrap=malloc,--wrap=calloc,--wrap=realloc,--wrap=open_memstream
 *
 * SPDX-License-Identifier: MIT
 */
#define _GNU_SOURCE 1
#include "reader/tests/core/failing_memory.h"

#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/stat.h>
#include <tracebed/analysis.h>
#include <tracebed/exchange.h>
#include <tracebed/writer.h>
#include <unistd.h>

#include <cmocka.h>

FILE *__real_open_memstream(char **text, size_t *nbytes);
FILE *__wrap_open_memstream(char **text, size_t *nbytes);

FILE *__wrap_open_memstream(char **text, size_t *nbytes)
{
    return fails_now() ? NULL : __real_open_memstream(text, nbytes);
}

struct text {
    char *bytes;
    size_t nbytes;
};

/* ---- Operations ---- */

static char exported[] = "/tmp/exchange-memory-XXXXXX";

static struct text read_exported(void)
{
    struct stat status;
    FILE *in = fopen(exported, "rb");
    assert_true(in != NULL && fstat(fileno(in), &status) == 0);
    struct text text = {test_malloc((size_t)status.st_size + 1), (size_t)status.st_size};
    assert_int_equal(fread(text.bytes, 1, text.nbytes, in), text.nbytes);
    fclose(in);
    return text;
}

static enum tbed_status export_chrome(int fd)
{
    struct tbed_chrome_options options = {.size = sizeof options, .overwrite = true};
    struct tbed_reader *reader = NULL;
    enum tbed_status status = tbed_reader_open_fd(fd, NULL, &reader, NULL);
    if (status == TBED_OK)
        status = tbed_export_chrome(&reader, 1, exported, &options, NULL, NULL);
    tbed_reader_close(reader);
    return status;
}

static enum tbed_status export_profile(int fd)
{
    struct tbed_profile_export_options options = {.size = sizeof options, .overwrite = true};
    struct tbed_reader *reader = NULL;
    enum tbed_status status = tbed_reader_open_fd(fd, NULL, &reader, NULL);
    if (status == TBED_OK)
        status = tbed_export_profile(reader, exported, &options, NULL, NULL);
    tbed_reader_close(reader);
    return status;
}

/* Imports, then exports the result for comparison, without failures in the export. */
static enum tbed_status import(int fd)
{
    struct tbed_chrome_options options = {.size = sizeof options, .overwrite = true};
    struct tbed_import_report report;
    struct tbed_reader *reader;
    enum tbed_status status = tbed_import_open_fd(fd, &reader, &report, NULL);
    calls_left = calls_left < 0 ? -1 : INT32_MAX;
    if (status != TBED_OK)
        return status;
    if (report.damage_count > 0)
        status = TBED_ERR_MEMORY; /* reported as a missing index */
    else
        assert_int_equal(tbed_export_chrome(&reader, 1, exported, &options, NULL, NULL), TBED_OK);
    tbed_reader_close(reader);
    return status;
}

/* Expects the same bytes whenever the call succeeds, and that it fails at least once. */
static void expect_all_or_nothing(int fd, enum tbed_status (*call)(int fd))
{
    unsigned failed_count = 0;
    calls_left = -1;
    assert_int_equal(call(fd), TBED_OK);
    struct text expected = read_exported();
    for (int number = 0, has_failed = 1; has_failed; number++) {
        calls_left = number;
        enum tbed_status status = call(fd);
        has_failed = calls_left < 0;
        calls_left = -1;
        failed_count += status != TBED_OK;
        if (status != TBED_OK)
            continue;
        struct text text = read_exported();
        if (text.nbytes != expected.nbytes || memcmp(text.bytes, expected.bytes, text.nbytes) != 0)
            fail_msg("allocation %d failed, and something else was written", number);
        test_free(text.bytes);
    }
    test_free(expected.bytes);
    assert_true(failed_count > 0);
    close(fd);
}

/* ---- Files ---- */

/* Makes a trace that reaches every allocation of an export: a message, an id without text, no metadata. */
static int make_trace(void)
{
    struct tbed_writer_options options = {.size = sizeof options,
                                          .given_ticks = true,
                                          .given_ticks_per_second = 1000000000,
                                          .page_nbytes = 4096};
    struct tbed_given_event event = {.type = TBED_GIVEN_INSTANT, .id = 4711, .category = TBED_ID_INVALID};
    struct tbed_writer *writer;
    int fd = memfd_create("trace", MFD_CLOEXEC);
    assert_true(fd >= 0);
    assert_int_equal(tbed_writer_open_fd(fd, &options, &writer, NULL), TBED_OK);
    struct tbed_recorder *recorder = tbed_recorder_open_given(writer, "main", 1);
    tbed_event_record_given(recorder, &event);
    tbed_message_record(recorder, TBED_SEVERITY_WARNING, "message", 7);
    tbed_writer_free(writer);
    return fd;
}

static uint64_t count_clock(void)
{
    static uint64_t tick = 1000;
    return tick++;
}

/* Makes a flight recorder that has a span's end but no longer its begin, from which times are counted. */
static int make_ring(void)
{
    struct tbed_writer_options options = {.size = sizeof options,
                                          .no_helper = true,
                                          .clock = TBED_CLOCK_USER,
                                          .user_clock = count_clock,
                                          .user_clock_unit = "calls",
                                          .page_nbytes = 4096,
                                          .ring_nbytes = 16384};
    const struct tbed_argument value = {.type = TBED_ARG_U64, .name_id = TBED_ID_INVALID, .nbytes = 8};
    struct tbed_writer *writer;
    int fd = memfd_create("ring", MFD_CLOEXEC);
    assert_int_equal(tbed_writer_open_fd(fd, &options, &writer, NULL), TBED_OK);
    struct tbed_recorder *recorder = tbed_recorder_open(writer, "main");
    tbed_span_begin(recorder, 1);
    for (int i = 0; i < 4000; i++)
        tbed_instant_record(recorder, 2);
    tbed_span_end_args(recorder, &value, 1); /* the end has the tick of the begin */
    tbed_writer_free(writer);
    return fd;
}

static int open_golden(const char *name)
{
    char path[256];
    snprintf(path, sizeof path, "spec/golden/measureme/%s", name);
    FILE *in = fopen(path, "rb");
    assert_non_null(in);
    int fd = dup(fileno(in));
    fclose(in);
    return fd;
}

static void put(FILE *out, uint8_t tag, const char *magic, const void *bytes, uint32_t nbytes)
{
    uint32_t length = 8 + nbytes, version = 8;
    fputc(tag, out);
    fwrite(&length, 4, 1, out);
    fwrite(magic, 1, 4, out);
    fwrite(&version, 4, 1, out);
    fwrite(bytes, 1, nbytes, out);
}

/* Makes a profile with one event whose name has so many references that an import stores them in parts. */
static int make_profile(uint32_t reference_count)
{
    const uint32_t event[6] = {100000003 + 8, 100000003 + 8, 1, 10, 20, 0};
    const uint32_t header[2] = {0x44504D4D, 8}; /* "MMPD" */
    uint32_t nbytes = 5 * reference_count + 1;
    uint8_t *text = test_calloc(1, nbytes);
    for (uint32_t i = 0; i < reference_count; i++)
        memcpy(text + 5 * i, "\xFE\x05\0\0", 5);
    text[nbytes - 1] = 0xFF;
    int fd = memfd_create("profile", MFD_CLOEXEC);
    FILE *out = fdopen(dup(fd), "wb");
    assert_non_null(out);
    fwrite(header, sizeof header, 1, out);
    put(out, 0, "MMES", event, sizeof event);
    put(out, 1, "MMSD", text, nbytes);
    put(out, 2, "MMSI", NULL, 0);
    assert_int_equal(fclose(out), 0);
    test_free(text);
    return fd;
}

/* ---- Cases ---- */

static void chrome_trace_events_are_complete_or_the_export_fails(void **state)
{
    (void)state;
    expect_all_or_nothing(make_trace(), export_chrome);
    expect_all_or_nothing(make_ring(), export_chrome);
}

static void a_profile_is_complete_or_the_export_fails(void **state)
{
    (void)state;
    expect_all_or_nothing(make_trace(), export_profile);
}

static void an_imported_profile_is_complete_or_the_import_fails(void **state)
{
    (void)state;
    /* Ids that are too high for a trace. */
    expect_all_or_nothing(open_golden("odd_names.mm_profdata"), import);
    /* Threads and metadata. */
    expect_all_or_nothing(open_golden("v9.mm_profdata"), import);
}

static void an_entry_of_many_references_is_complete_or_the_import_fails(void **state)
{
    (void)state;
    /* The last part makes the list of parts grow. */
    expect_all_or_nothing(make_profile(16 * 1024 + 1), import);
}

static int make_file(void **state)
{
    (void)state;
    int fd = mkstemp(exported);
    return fd < 0 ? -1 : close(fd);
}

static int remove_file(void **state)
{
    (void)state;
    return unlink(exported);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(chrome_trace_events_are_complete_or_the_export_fails),
        cmocka_unit_test(a_profile_is_complete_or_the_export_fails),
        cmocka_unit_test(an_imported_profile_is_complete_or_the_import_fails),
        cmocka_unit_test(an_entry_of_many_references_is_complete_or_the_import_fails),
    };
    return cmocka_run_group_tests(tests, make_file, remove_file);
}
