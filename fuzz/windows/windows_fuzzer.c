/*
 * Cursors and merges that seek, or that are limited to a window of time or to some streams, must find all events there.
 * A struct of another size must be filled as far as it goes.
 *
 * Up to two ticks of 8 bytes, the ends of the window, follow the last complete page of the trace; without them, the
 * window is the middle of the trace.
 *
 * Mutator: trace
 * Seeds: spec/golden/valid spec/golden/invalid
 *
 * SPDX-License-Identifier: MIT
 */
#include <string.h>

#include "format/layout.h"
#include "fuzz/support/fuzz.h"

struct window {
    uint64_t first, last;
    bool is_exact; /* ticks rise within a block, so that no event is left out */
};

static struct window window_of(const struct tbed_reader *reader, const uint8_t *data, size_t nbytes)
{
    struct tbed_trace_info info;
    uint64_t ticks[2];
    tbed_reader_info(reader, &info);
    uint64_t quarter = (info.last_tick - info.first_tick) / 4;
    struct window window = {info.first_tick + quarter, info.last_tick - quarter, false};
    size_t rest = nbytes % TBED_PAGE_NBYTES_MIN;
    if (rest >= sizeof ticks) {
        memcpy(ticks, data + nbytes - sizeof ticks, sizeof ticks);
        window = (struct window){ticks[0], ticks[1], false};
    }
    window.is_exact = tbed_reader_verify((struct tbed_reader *)reader) == TBED_OK;
    tbed_reader_info(reader, &info);
    window.is_exact = window.is_exact && info.tick_decrease_count == 0 && info.clock != TBED_CLOCK_USER;
    return window;
}

static bool is_in(const struct window *window, const struct tbed_event *event)
{
    return event->tick >= window->first && event->tick <= window->last;
}

static void try_stream(struct tbed_reader *reader, uint32_t stream, const struct window *window)
{
    struct tbed_cursor *cursor;
    struct tbed_event event;
    uint64_t all = 0, limited = 0, after = 0, found = 0;
    REQUIRE(tbed_cursor_open(reader, stream, &cursor) == TBED_OK);
    while (tbed_cursor_next(cursor, &event) == TBED_OK) {
        all += is_in(window, &event);
        after += event.tick >= window->first;
    }
    tbed_cursor_limit(cursor, window->first, window->last);
    tbed_cursor_seek(cursor, 0);
    while (tbed_cursor_next(cursor, &event) == TBED_OK)
        limited += is_in(window, &event);
    tbed_cursor_limit(cursor, 0, UINT64_MAX);
    tbed_cursor_seek(cursor, window->first);
    while (tbed_cursor_next(cursor, &event) == TBED_OK)
        found += event.tick >= window->first;
    REQUIRE(!window->is_exact || (limited == all && found == after));
    tbed_cursor_close(cursor);
}

/* Reads half an event, and an event of a later version. */
static void try_sizes(struct tbed_reader *reader, uint32_t stream)
{
    struct {
        struct tbed_event event;
        uint8_t more[16];
    } newer, older;
    struct tbed_cursor *cursor;
    size_t half = offsetof(struct tbed_event, tick);
    REQUIRE(tbed_cursor_open(reader, stream, &cursor) == TBED_OK);
    memset(&newer, 0xAA, sizeof newer);
    memset(&older, 0xAA, sizeof older);
    if (tbed_cursor_next_sized(cursor, &newer.event, sizeof newer) == TBED_OK) {
        tbed_cursor_seek(cursor, 0);
        REQUIRE(newer.more[0] == 0 && newer.more[15] == 0);
        REQUIRE(tbed_cursor_next_sized(cursor, &older.event, half) == TBED_OK);
        REQUIRE(memcmp(&older, &newer, half) == 0 && older.more[0] == 0xAA);
    }
    while (tbed_cursor_next_sized(cursor, &older.event, half) == TBED_OK)
        ;
    tbed_cursor_close(cursor);
}

static uint64_t count_in(struct tbed_merge *merge, const struct window *window)
{
    struct tbed_event event;
    uint64_t count = 0;
    while (tbed_merge_next(merge, &event) == TBED_OK)
        count += is_in(window, &event);
    return count;
}

/* 'streams' NULL: all streams. */
static uint64_t try_merge(struct tbed_reader *reader, const uint32_t *streams, size_t count,
                          const struct window *window)
{
    struct tbed_merge *merge;
    REQUIRE(tbed_merge_open(reader, streams, count, &merge) == TBED_OK);
    uint64_t all = count_in(merge, window);
    tbed_merge_limit(merge, window->first, window->last);
    uint64_t limited = count_in(merge, window);
    tbed_merge_limit(merge, 0, UINT64_MAX);
    tbed_merge_seek(merge, window->first);
    uint64_t found = count_in(merge, window);
    REQUIRE(!window->is_exact || (limited == all && found == all));
    REQUIRE(tbed_reader_refresh(reader, NULL) == TBED_OK);
    REQUIRE(count_in(merge, window) == 0);
    tbed_merge_close(merge);
    return all;
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t nbytes)
{
    uint32_t streams[16];
    size_t count = 0;
    uint64_t sum = 0;
    struct tbed_stream_info stream;
    struct tbed_reader *reader = open_input(data, nbytes);
    if (reader == NULL)
        return 0;
    struct window window = window_of(reader, data, nbytes);
    try_sizes(reader, 0);
    for (size_t i = 0; tbed_stream_get(reader, i, &stream) && count < 16; i++) {
        try_stream(reader, stream.stream, &window);
        try_sizes(reader, stream.stream);
        streams[count++] = stream.stream;
        sum += try_merge(reader, &stream.stream, 1, &window);
    }
    uint64_t chosen = try_merge(reader, streams, count, &window);
    REQUIRE(!window.is_exact || chosen == sum);
    REQUIRE(count == 16 || try_merge(reader, NULL, 0, &window) == chosen);
    try_merge(reader, (const uint32_t[]){1, UINT32_MAX, 0, 1}, 4, &window);
    tbed_merge_close(NULL);
    tbed_cursor_close(NULL);
    tbed_reader_close(reader);
    return 0;
}
