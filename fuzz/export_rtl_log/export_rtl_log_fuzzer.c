/*
 * Whatever a trace contains, the log exported from it can be imported and exported again to the same bytes. If the
 * output stream runs out of room, the call fails, and what was written is a prefix of the complete output.
 *
 * Mutator: trace
 * Seeds: spec/golden/valid fuzz/export_chrome/corpus
 *
 * SPDX-License-Identifier: MIT
 */
#include <errno.h>
#include <string.h>
#include <tracebed/exchange.h>
#include <unistd.h>

#include "fuzz/support/fuzz.h"
#include "fuzz/support/narrow_stream.h"
#include "fuzz/support/scratch.h"

struct text {
    char *bytes;
    size_t nbytes;
};

static const struct tbed_rtl_options exact = {.size = sizeof exact, .exact = true};

static struct text make_export(struct tbed_reader *reader, const struct tbed_rtl_options *options,
                               struct tbed_rtl_report *report)
{
    struct text log = {0};
    FILE *out = open_memstream(&log.bytes, &log.nbytes);
    REQUIRE(out != NULL);
    enum tbed_status status = tbed_export_rtl_log_stream(reader, out, options, report, NULL);
    REQUIRE(fclose(out) == 0 && (status == TBED_OK || status == TBED_ERR_NO_TIME));
    if (status == TBED_OK)
        return log;
    free(log.bytes);
    return (struct text){0};
}

/* Imports the log and exports it again. */
static void go_back(const struct text *log)
{
    struct tbed_rtl_report report;
    struct tbed_import_report imported;
    struct tbed_reader *reader;
    int fd = file_of_input((const uint8_t *)log->bytes, log->nbytes);
    scratch_folder(); /* sets where imports are stored */
    REQUIRE(tbed_import_open_fd(fd, &reader, &imported, NULL) == TBED_OK);
    REQUIRE(imported.kind == TBED_FOREIGN_RTL_LOG && imported.drop_count == 0);
    struct text again = make_export(reader, &exact, &report);
    REQUIRE(again.nbytes == log->nbytes && memcmp(again.bytes, log->bytes, log->nbytes) == 0);
    free(again.bytes);
    tbed_reader_close(reader);
    close(fd);
}

/* The log must have no control characters, which a terminal might obey. */
static void check_inert(const struct text *log, bool has_zeros)
{
    for (size_t i = 0; i < log->nbytes; i++) {
        uint8_t byte = (uint8_t)log->bytes[i];
        REQUIRE((byte >= ' ' && byte != 0x7F) || strchr("\r\n\t", byte) != NULL);
        REQUIRE(byte != 0 || has_zeros);
    }
}

/* Other options must not change the number of lines. */
static void vary(struct tbed_reader *reader, uint8_t choice, uint64_t line_count)
{
    struct tbed_rtl_report report;
    struct tbed_rtl_options options = {
        .size = sizeof options, .rebase = choice % 2, .tid = choice / 2 % 3, .quirks = choice / 8 % 2};
    struct text log = make_export(reader, &options, &report);
    REQUIRE(report.line_count == line_count);
    check_inert(&log, options.quirks);
    free(log.bytes);
}

static void check_narrow(struct tbed_reader *reader, const struct text *log, size_t room, int write_errno)
{
    struct narrow_stream stream = {.room = room % log->nbytes, .write_errno = write_errno};
    struct tbed_error error = {.status = TBED_OK};
    FILE *out = narrow_stream_open(&stream, room % 2 == 0);
    REQUIRE(tbed_export_rtl_log_stream(reader, out, &exact, NULL, &error) == TBED_ERR_WRITE);
    REQUIRE(error.status == TBED_ERR_WRITE && error.system_errno != 0);
    fclose(out);
    REQUIRE(stream.nbytes < log->nbytes);
    REQUIRE(stream.nbytes == 0 || memcmp(stream.bytes, log->bytes, stream.nbytes) == 0);
    free(stream.bytes);
}

/* Options of a later version must be refused. */
static void check_newer(struct tbed_reader *reader)
{
    struct {
        struct tbed_rtl_options known;
        uint64_t later;
    } options = {.known.size = sizeof options, .later = 1};
    struct tbed_error error = {.status = TBED_OK};
    REQUIRE(tbed_export_rtl_log_stream(reader, stderr, &options.known, NULL, &error) == TBED_ERR_ARGUMENT);
    REQUIRE(error.status == TBED_ERR_ARGUMENT);
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t nbytes)
{
    struct tbed_rtl_report report;
    struct tbed_reader *reader = open_input(data, nbytes);
    if (reader == NULL)
        return 0;
    check_newer(reader);
    struct text log = make_export(reader, &exact, &report);
    if (log.nbytes > 0) {
        go_back(&log);
        for (unsigned choice = 0; choice < 16; choice += 5 + data[nbytes / 2] % 3)
            vary(reader, (uint8_t)choice, report.line_count);
        check_narrow(reader, &log, data[nbytes / 2] * 8u, ENOSPC);
        check_narrow(reader, &log, data[nbytes / 2] + 1u, 0);
    }
    free(log.bytes);
    tbed_reader_close(reader);
    return 0;
}
