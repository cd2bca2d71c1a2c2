/*
 * Whatever traces contain, the Chrome trace events exported from them are valid JSON in UTF-8. If the output stream
 * runs out of room, the call fails, and what was written is a prefix of the complete output.
 *
 * Mutator: trace
 * Seeds: spec/golden/valid
 *
 * SPDX-License-Identifier: MIT
 */
#include <errno.h>
#include <string.h>
#include <tracebed/exchange.h>
#include <tracebed/writer.h>
#include <unistd.h>

#include "fuzz/support/fuzz.h"
#include "fuzz/support/narrow_stream.h"
#include "fuzz/support/strict.h"

#define SAMPLE_PID 77 /* traces in the corpus have it, too */

struct text {
    char *bytes;
    size_t nbytes;
};

static struct text make_export(struct tbed_reader *const *readers, size_t count,
                               const struct tbed_chrome_options *options, struct tbed_chrome_report *report)
{
    struct text text = {0};
    FILE *out = open_memstream(&text.bytes, &text.nbytes);
    REQUIRE(out != NULL);
    REQUIRE(tbed_export_chrome_stream(readers, count, out, options, report, NULL) == TBED_OK);
    REQUIRE(fclose(out) == 0 && text.nbytes > 0 && is_json_lines(text.bytes, text.nbytes));
    return text;
}

static void check(struct tbed_reader *const *readers, size_t count, const struct tbed_chrome_options *options)
{
    struct tbed_chrome_report report;
    struct text text = make_export(readers, count, options, &report);
    REQUIRE(report.open_count <= report.event_count && report.inverted_count <= report.event_count);
    REQUIRE(report.clipped_count <= report.event_count);
    free(text.bytes);
}

static void check_narrow(struct tbed_reader *reader, size_t room, int write_errno, bool is_buffered)
{
    struct text text = make_export(&reader, 1, NULL, NULL);
    struct narrow_stream stream = {.room = room % text.nbytes, .write_errno = write_errno};
    struct tbed_error error = {.status = TBED_OK};
    FILE *out = narrow_stream_open(&stream, is_buffered);
    errno = 0;
    REQUIRE(tbed_export_chrome_stream(&reader, 1, out, NULL, NULL, &error) == TBED_ERR_WRITE);
    REQUIRE(error.status == TBED_ERR_WRITE && error.system_errno != 0);
    REQUIRE(write_errno == 0 || error.system_errno == write_errno);
    fclose(out);
    REQUIRE(stream.nbytes < text.nbytes);
    REQUIRE(stream.nbytes == 0 || memcmp(stream.bytes, text.bytes, stream.nbytes) == 0);
    free(stream.bytes);
    free(text.bytes);
}

/* Options of a later version must be refused. */
static void check_newer(struct tbed_reader *reader)
{
    struct {
        struct tbed_chrome_options known;
        uint64_t later;
    } options = {.known.size = sizeof options, .later = 1};
    struct tbed_error error = {.status = TBED_OK};
    REQUIRE(tbed_export_chrome_stream(&reader, 1, stderr, &options.known, NULL, &error) == TBED_ERR_ARGUMENT);
    REQUIRE(error.status == TBED_ERR_ARGUMENT);
}

/* A caller who no longer wants to know; there may be nothing to read. */
static void check_cancelled(struct tbed_reader *reader)
{
    static const bool is_cancelled = true;
    struct tbed_chrome_options options = {.size = sizeof options, .is_cancelled = &is_cancelled};
    int fd = file_of_input(NULL, 0);
    FILE *out = fdopen(fd, "w");
    REQUIRE(out != NULL);
    enum tbed_status status = tbed_export_chrome_stream(&reader, 1, out, &options, NULL, NULL);
    REQUIRE(status == TBED_ERR_CANCELLED || status == TBED_OK);
    fclose(out);
}

/* Opens a second trace, of a process with the same pid that began long before those of the corpus. */
static struct tbed_reader *open_sample(void)
{
    static struct tbed_reader *reader;
    struct tbed_writer_options options = {.size = sizeof options,
                                          .page_nbytes = 4096,
                                          .given_ticks = true,
                                          .given_ticks_per_second = 1000000000,
                                          .given_realtime_ns = 1000000000,
                                          .process_pid = SAMPLE_PID};
    struct tbed_given_event event = {.type = TBED_GIVEN_INSTANT, .id = 1, .category = TBED_ID_INVALID};
    struct tbed_writer *writer;
    if (reader != NULL)
        return reader;
    int fd = file_of_input(NULL, 0);
    REQUIRE(tbed_writer_open_fd(fd, &options, &writer, NULL) == TBED_OK);
    tbed_event_record_given(tbed_recorder_open_given(writer, "sample", 1), &event);
    tbed_writer_free(writer);
    REQUIRE(tbed_reader_open_fd(fd, NULL, &reader, NULL) == TBED_OK && close(fd) == 0);
    return reader;
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t nbytes)
{
    static const bool is_cancelled = false;
    struct tbed_chrome_options options = {.size = sizeof options};
    struct tbed_reader *reader = open_input(data, nbytes);
    if (reader == NULL)
        return 0;
    struct tbed_reader *all[] = {open_sample(), reader, reader, open_sample()};
    check(all, 4, &options);
    options.collapse_threads = options.absolute = options.skip_instants = options.skip_counters = true;
    options.minimum_ns = (nbytes / 4096 + 1) % 2 * 1000;
    options.is_cancelled = &is_cancelled;
    check(&reader, 1, &options);
    check(&reader, 0, &options);
    check_newer(reader);
    check_cancelled(reader);
    check_narrow(reader, data[nbytes / 2] * 64u, ENOSPC, false);
    check_narrow(reader, data[nbytes / 2] * 64u, ENOSPC, true);
    check_narrow(reader, data[nbytes / 2] * 64u, 0, nbytes % 2 == 0);
    tbed_reader_close(reader);
    return 0;
}
