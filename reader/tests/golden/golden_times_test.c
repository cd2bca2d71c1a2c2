/*
 * The times of events in golden files are those of spec/golden/times.txt: which anchors count, times between and
 * beyond them, and how nanoseconds are rounded.
 *
 * Source: spec/format.md, section 8.3.
 *
 * SPDX-License-Identifier: MIT
 */
#include "reader/tests/golden/golden_file.h"

#include <inttypes.h>

/* The events of one file in the order of the listing. */
struct events {
    char name[128];
    struct tbed_reader *reader;
    struct tbed_cursor *cursor;
    size_t stream_index;
};

static void events_close(struct events *events)
{
    tbed_cursor_close(events->cursor);
    tbed_reader_close(events->reader);
    memset(events, 0, sizeof *events);
}

static void events_open(struct events *events, const char *name)
{
    char path[256];
    events_close(events);
    snprintf(events->name, sizeof events->name, "%s", name);
    snprintf(path, sizeof path, "spec/golden/%s.tbed", name);
    assert_int_equal(tbed_reader_open(path, NULL, &events->reader, NULL), TBED_OK);
}

static struct tbed_event events_next(struct events *events)
{
    struct tbed_event event;
    while (events->cursor == NULL || tbed_cursor_next(events->cursor, &event) != TBED_OK) {
        struct tbed_stream_info info;
        tbed_cursor_close(events->cursor);
        assert_true(tbed_stream_get(events->reader, events->stream_index++, &info));
        assert_int_equal(tbed_cursor_open(events->reader, info.stream, &events->cursor), TBED_OK);
    }
    return event;
}

static void every_event_has_the_time_of_the_listing(void **state)
{
    (void)state;
    char line[256], name[128];
    uint32_t stream, count = 0;
    uint64_t tick;
    int64_t ns, realtime_ns, found_ns;
    struct events events = {.reader = NULL};
    FILE *list = fopen("spec/golden/times.txt", "r");
    assert_non_null(list);
    while (fgets(line, sizeof line, list) != NULL) {
        if (line[0] == '#')
            continue;
        assert_int_equal(sscanf(line, "%127s %" SCNu32 " %" SCNu64 " %" SCNd64 " %" SCNd64, name, &stream,
                                &tick, &ns, &realtime_ns),
                         5);
        if (strcmp(name, events.name) != 0)
            events_open(&events, name);
        struct tbed_event event = events_next(&events);
        assert_int_equal(event.stream, stream);
        assert_true(event.tick == tick);
        assert_true(tbed_ticks_to_ns(events.reader, tick) == ns);
        assert_int_equal(tbed_ticks_to_realtime_ns(events.reader, tick, &found_ns), TBED_OK);
        assert_true(found_ns == realtime_ns);
        count++;
    }
    assert_true(count > 0);
    events_close(&events);
    fclose(list);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(every_event_has_the_time_of_the_listing),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
