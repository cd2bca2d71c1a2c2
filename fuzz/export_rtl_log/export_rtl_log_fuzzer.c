/*
 * Whatever a trace contains, the log made from it is read back as a log with as many lines, and exporting that one
 * returns the same log.
 *
 * Mutator: trace
 * Seeds: spec/golden/valid
 *
 * SPDX-License-Identifier: MIT
 */
#include <string.h>
#include <tracebed/exchange.h>
#include <unistd.h>

#include "fuzz/support/fuzz.h"
#include "fuzz/support/scratch.h"

struct text {
    char *bytes;
    size_t nbytes;
};

static struct text export(struct tbed_reader *reader, struct tbed_rtl_report *report)
{
    struct tbed_rtl_options options = {.size = sizeof options, .exact = true};
    struct text log = {0};
    FILE *out = open_memstream(&log.bytes, &log.nbytes);
    REQUIRE(out != NULL);
    enum tbed_status status = tbed_export_rtl_log_stream(reader, out, &options, report, NULL);
    REQUIRE(fclose(out) == 0 && (status == TBED_OK || status == TBED_ERR_NO_TIME));
    if (status == TBED_OK)
        return log;
    free(log.bytes);
    return (struct text){0};
}

static void go_back(const struct text *log)
{
    struct tbed_rtl_report report;
    struct tbed_import_report imported;
    struct tbed_reader *reader;
    int fd = file_of_input((const uint8_t *)log->bytes, log->nbytes);
    scratch_folder(); /* sets where imports are stored */
    REQUIRE(tbed_import_open_fd(fd, &reader, &imported, NULL) == TBED_OK);
    REQUIRE(imported.kind == TBED_FOREIGN_RTL_LOG && imported.drop_count == 0);
    struct text again = export(reader, &report);
    REQUIRE(again.nbytes == log->nbytes && memcmp(again.bytes, log->bytes, log->nbytes) == 0);
    free(again.bytes);
    tbed_reader_close(reader);
    close(fd);
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t nbytes)
{
    struct tbed_rtl_report report;
    struct tbed_reader *reader = open_input(data, nbytes);
    if (reader == NULL)
        return 0;
    struct text log = export(reader, &report);
    if (log.nbytes > 0)
        go_back(&log);
    free(log.bytes);
    tbed_reader_close(reader);
    return 0;
}
