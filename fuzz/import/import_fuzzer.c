/*
 * Whatever the bytes of a profile are, verify finds nothing wrong with the imported trace, and the trace has as many
 * events as the import reports. It still has as many after being exported and imported again.
 *
 * SPDX-License-Identifier: MIT
 */
#include <tracebed/exchange.h>
#include <unistd.h>

#include "fuzz/support/fuzz.h"
#include "fuzz/support/scratch.h"

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
    const char *path = scratch_path("x.mm_profdata");
    REQUIRE(tbed_export_profile(reader, path, &options, &report, NULL) == TBED_OK);
    REQUIRE(report.event_count == before->event_count && report.left_out_count == 0);
    REQUIRE(tbed_import_open(path, &again, &after, NULL) == TBED_OK);
    REQUIRE(after.damage_count == 0 && after.event_count == before->event_count);
    tbed_reader_close(again);
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t nbytes)
{
    struct tbed_import_report report;
    struct tbed_reader *reader;
    int fd = file_of_input(data, nbytes);
    scratch_folder(); /* sets where imports are stored */
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
