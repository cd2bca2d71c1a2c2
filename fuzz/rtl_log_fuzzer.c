/*
 * A log of RTL_LOGFILE of any bytes becomes a bed in which verify finds nothing, and comes back from it byte for byte.
 *
 * SPDX-License-Identifier: MIT
 */
#define _GNU_SOURCE 1
#include <string.h>
#include <sys/mman.h>
#include <tracebed/exchange.h>
#include <unistd.h>

#include "fuzz/fuzz.h"

static void go_back(struct tbed_reader *reader, const uint8_t *data, size_t nbytes)
{
    char *log = NULL;
    size_t log_nbytes = 0;
    FILE *out = open_memstream(&log, &log_nbytes);
    REQUIRE(out != NULL);
    REQUIRE(tbed_export_rtl_log_stream(reader, out, NULL, NULL, NULL) == TBED_OK);
    REQUIRE(fclose(out) == 0 && log_nbytes == nbytes && memcmp(log, data, nbytes) == 0);
    free(log);
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t nbytes)
{
    struct tbed_import_report report;
    struct tbed_reader *reader;
    int fd = memfd_create("log", MFD_CLOEXEC);
    REQUIRE(fd >= 0 && setenv("TMPDIR", "/dev/shm", 1) == 0);
    REQUIRE(nbytes == 0 || write(fd, data, nbytes) == (ssize_t)nbytes);
    if (tbed_foreign_find_fd(fd) == TBED_FOREIGN_RTL_LOG) {
        REQUIRE(tbed_import_open_fd(fd, &reader, &report, NULL) == TBED_OK);
        REQUIRE(report.drop_count == 0);
        REQUIRE(tbed_reader_verify(reader) == TBED_OK);
        go_back(reader, data, nbytes);
        tbed_reader_close(reader);
    }
    close(fd);
    return 0;
}
