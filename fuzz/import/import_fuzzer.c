/*
 * Whatever the bytes of a profile are, verify finds nothing wrong with the imported trace, and the trace has as many
 * events as the import reports. It still has as many after being exported and imported again.
 *
 * SPDX-License-Identifier: MIT
 */
#define _GNU_SOURCE 1
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/stat.h>
#include <tracebed/exchange.h>
#include <unistd.h>

#include "fuzz/support/fuzz.h"

static const char *export_path(void)
{
    static char folder[] = "/dev/shm/tracebed-fuzz-XXXXXX", path[64];
    if (path[0] == '\0') {
        REQUIRE(setenv("TMPDIR", "/dev/shm", 1) == 0);
        REQUIRE(mkdtemp(folder) != NULL);
        snprintf(path, sizeof path, "%s/x.mm_profdata", folder);
    }
    return path;
}

static void clean_up(void)
{
    char folder[64];
    unlink(export_path());
    snprintf(folder, sizeof folder, "%s", export_path());
    *strrchr(folder, '/') = '\0';
    rmdir(folder);
}

static uint64_t count_events(struct tbed_reader *reader)
{
    struct tbed_stream_info stream;
    struct tbed_event event;
    uint64_t count = 0;
    for (size_t i = 0; tbed_stream_get(reader, i, &stream); i++) {
        struct tbed_cursor *cursor;
        REQUIRE(tbed_cursor_open(reader, stream.stream, &cursor) == TBED_OK);
        while (tbed_cursor_next(cursor, &event) == TBED_OK)
            count++;
        tbed_cursor_close(cursor);
    }
    return count;
}

static void go_back(struct tbed_reader *reader, uint32_t version, const struct tbed_import_report *before)
{
    struct tbed_profile_export_options options = {
        .size = sizeof options, .version = version, .overwrite = true};
    struct tbed_export_report report;
    struct tbed_import_report after;
    struct tbed_reader *again;
    REQUIRE(tbed_export_profile(reader, export_path(), &options, &report, NULL) == TBED_OK);
    REQUIRE(report.event_count == before->event_count && report.left_out_count == 0);
    REQUIRE(tbed_import_open(export_path(), &again, &after, NULL) == TBED_OK);
    REQUIRE(after.damage_count == 0 && after.event_count == before->event_count);
    tbed_reader_close(again);
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t nbytes)
{
    struct tbed_import_report report;
    struct tbed_reader *reader;
    static bool is_ready;
    if (!is_ready)
        is_ready = export_path() != NULL && atexit(clean_up) == 0;
    int fd = memfd_create("profile", MFD_CLOEXEC);
    REQUIRE(fd >= 0 && (nbytes == 0 || write(fd, data, nbytes) == (ssize_t)nbytes));
    if (tbed_import_open_fd(fd, &reader, &report, NULL) == TBED_OK) {
        REQUIRE(report.drop_count == 0);
        REQUIRE(tbed_reader_verify(reader) == TBED_OK);
        REQUIRE(count_events(reader) == report.event_count);
        if (report.damage_count == 0)
            go_back(reader, 8 + nbytes % 2, &report);
        tbed_reader_close(reader);
    }
    close(fd);
    return 0;
}
