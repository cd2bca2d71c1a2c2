/*
 * What must hold for any file of another tool that has been imported; see imported.h.
 *
 * SPDX-License-Identifier: MIT
 */
#include "fuzz/support/imported.h"

#include <tracebed/analysis.h>

#include "fuzz/support/fuzz.h"

struct counts {
    uint64_t span, instant, counter, message;
};

static struct counts count_stream(struct tbed_reader *reader, uint32_t stream)
{
    struct counts counts = {0};
    struct tbed_cursor *cursor;
    struct tbed_event event;
    REQUIRE(tbed_cursor_open(reader, stream, &cursor) == TBED_OK);
    while (tbed_cursor_next(cursor, &event) == TBED_OK) {
        counts.span += event.type == TBED_EVENT_BEGIN || event.type == TBED_EVENT_SPAN;
        counts.instant += event.type == TBED_EVENT_INSTANT;
        counts.counter += event.type == TBED_EVENT_COUNTER;
        counts.message += event.type == TBED_EVENT_MESSAGE;
    }
    tbed_cursor_close(cursor);
    return counts;
}

static void check_statistics(struct tbed_reader *reader, uint64_t span_count)
{
    const struct tbed_analysis_options options = {.size = sizeof options, .thread_count = 1};
    struct tbed_statistics *statistics;
    const struct tbed_span_row *row;
    uint64_t count = 0;
    REQUIRE(tbed_statistics_make(reader, &options, &statistics) == TBED_OK);
    for (size_t i = 0; (row = tbed_statistics_span(statistics, i)) != NULL; i++)
        count += row->count;
    REQUIRE(count == span_count);
    tbed_statistics_close(statistics);
}

void imported_check(struct tbed_reader *reader, const struct tbed_import_report *report)
{
    struct counts all = {0};
    struct tbed_stream_info stream;
    REQUIRE(report->drop_count == 0);
    REQUIRE(tbed_reader_verify(reader) == TBED_OK);
    for (size_t i = 0; tbed_stream_get(reader, i, &stream); i++) {
        struct counts counts = count_stream(reader, stream.stream);
        all.span += counts.span;
        all.instant += counts.instant;
        all.counter += counts.counter;
        all.message += counts.message;
    }
    REQUIRE(all.span == report->interval_count && all.instant == report->instant_count);
    REQUIRE(all.counter == report->integer_count && all.message == report->message_count);
    check_statistics(reader, all.span);
}
