/*
 * Out of memory: each allocation of an import or export fails in turn, once. The call reports it, or its result is what it
 * always is; nothing is left out without a word.
 *
 * The linker redirects the library's allocations to this file (--wrap); other allocations are unaffected.
 *
 * Link with: -Wl,--wrap=malloc,--wrap=calloc,--wrap=realloc,--wrap=open_memstream
 *
 * SPDX-License-Identifier: MIT
 */
#define _GNU_SOURCE 1
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

void *__real_malloc(size_t nbytes);
void *__real_calloc(size_t count, size_t nbytes);
void *__real_realloc(void *old, size_t nbytes);
FILE *__real_open_memstream(char **text, size_t *nbytes);
void *__wrap_malloc(size_t nbytes);
void *__wrap_calloc(size_t count, size_t nbytes);
void *__wrap_realloc(void *old, size_t nbytes);
FILE *__wrap_open_memstream(char **text, size_t *nbytes);

static int calls_left = -1; /* before the one that fails; below 0: none fails */

static bool fails_now(void)
{
    return calls_left >= 0 && calls_left-- == 0;
}

void *__wrap_malloc(size_t nbytes)
{
    return fails_now() ? NULL : __real_malloc(nbytes);
}

void *__wrap_calloc(size_t count, size_t nbytes)
{
    return fails_now() ? NULL : __real_calloc(count, nbytes);
}

void *__wrap_realloc(void *old, size_t nbytes)
{
    return fails_now() ? NULL : __real_realloc(old, nbytes);
}

FILE *__wrap_open_memstream(char **text, size_t *nbytes)
{
    return fails_now() ? NULL : __real_open_memstream(text, nbytes);
}

struct text {
    char *bytes;
    size_t nbytes;
};

/* ---- What fails ---- */

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

/* Nothing fails in the export that shows what was imported. */
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
        status = TBED_ERR_MEMORY; /* it says that the index is missing */
    else
        assert_int_equal(tbed_export_chrome(&reader, 1, exported, &options, NULL, NULL), TBED_OK);
    tbed_reader_close(reader);
    return status;
}

/* Expects the same bytes whenever it does not fail, and some failures. */
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

/* A trace that needs memory wherever an export does: a message, an id without text, no metadata. */
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

/* ---- Cases ---- */

static void chrome_trace_events_are_complete_or_not_there(void **state)
{
    (void)state;
    expect_all_or_nothing(make_trace(), export_chrome);
}

static void a_profile_is_complete_or_not_there(void **state)
{
    (void)state;
    expect_all_or_nothing(make_trace(), export_profile);
}

static void an_imported_profile_is_complete_or_not_there(void **state)
{
    (void)state;
    expect_all_or_nothing(open_golden("odd_names.mm_profdata"),
                          import);                                /* ids that are too high for a trace */
    expect_all_or_nothing(open_golden("v9.mm_profdata"), import); /* threads, and metadata */
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
        cmocka_unit_test(chrome_trace_events_are_complete_or_not_there),
        cmocka_unit_test(a_profile_is_complete_or_not_there),
        cmocka_unit_test(an_imported_profile_is_complete_or_not_there),
    };
    return cmocka_run_group_tests(tests, make_file, remove_file);
}
