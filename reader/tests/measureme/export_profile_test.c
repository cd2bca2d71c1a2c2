/*
 * Export to measureme's format: how a trace is converted, and what is reported about the rest.
 *
 * SPDX-License-Identifier: MIT
 */
#include "reader/tests/tools/tool_run.h"

#include <time.h>

#include "reader/tests/measureme/profile_build.h"

#include <time.h>
#include <tracebed/exchange.h>

/* ---- Help ---- */

static struct tbed_export_report export_file(const char *from, const char *to, uint32_t version)
{
    struct tbed_profile_export_options options = {
        .size = sizeof options, .version = version, .overwrite = true};
    struct tbed_export_report report;
    struct tbed_reader *reader;
    struct tbed_error error = {0};
    assert_int_equal(tbed_reader_open(from, NULL, &reader, &error), TBED_OK);
    if (tbed_export_profile(reader, to, &options, &report, &error) != TBED_OK)
        fail_msg("%s: %s", from, tbed_status_name(error.status));
    tbed_reader_close(reader);
    return report;
}

static struct tbed_reader *read_back(const char *path)
{
    struct tbed_import_report report;
    struct tbed_reader *reader;
    assert_int_equal(tbed_import_open(path, &reader, &report, NULL), TBED_OK);
    if (report.damage_count > 0)
        fail_msg("%s: what was exported is damaged: %s", path, tbed_status_name(report.damages[0].status));
    assert_int_equal(tbed_reader_verify(reader), TBED_OK);
    return reader;
}

struct seen {
    enum tbed_event_type type;
    char name[64], category[64];
    uint64_t begin, end;
    uint32_t tid;
};

static void name_of(struct tbed_reader *reader, uint32_t id, char text[64])
{
    size_t nbytes;
    tbed_string_resolve(reader, id, text, 64, &nbytes);
}

static size_t see_all(struct tbed_reader *reader, struct seen *seen, size_t max)
{
    struct tbed_stream_info stream;
    size_t count = 0;
    for (size_t i = 0; tbed_stream_get(reader, i, &stream); i++) {
        struct tbed_cursor *cursor;
        struct tbed_event event;
        assert_int_equal(tbed_cursor_open(reader, stream.stream, &cursor), TBED_OK);
        while (tbed_cursor_next(cursor, &event) == TBED_OK && count < max) {
            struct seen *at = &seen[count++];
            *at = (struct seen){.type = event.type, .end = event.tick, .tid = stream.tid};
            at->begin = event.type == TBED_EVENT_SPAN ? event.of.span.begin_tick : event.tick;
            if (event.type == TBED_EVENT_COUNTER)
                at->begin = event.counter_value.value.u64;
            name_of(reader, event.id, at->name);
            name_of(reader, event.category, at->category);
        }
        tbed_cursor_close(cursor);
    }
    return count;
}

static void expect_seen(const struct seen *seen, enum tbed_event_type type, const char *name,
                        const char *category)
{
    assert_int_equal(seen->type, type);
    assert_string_equal(seen->name, name);
    assert_string_equal(seen->category, category);
}

/* ---- Ours ---- */

/* load { parse { tick } queue beware opening }: the clock counts 10 an event, the first is 0 in the profile. */
static void spans_are_written_when_they_end(void **state)
{
    const char *from = make_small("small.tbed", false), *to = in_folder("small.mm_profdata");
    struct tbed_export_report report = export_file(from, to, 0);
    struct seen seen[8];
    (void)state;
    assert_int_equal(report.event_count, 3);
    assert_int_equal(report.left_out_count, 3); /* the counter is negative, two messages */
    assert_int_equal(report.argument_count, 2);
    assert_int_equal(report.open_count + report.clipped_count + report.unnamed_count, 0);
    struct tbed_reader *reader = read_back(to);
    assert_int_equal(see_all(reader, seen, 8), 3);
    expect_seen(&seen[0], TBED_EVENT_INSTANT, "tick", "Instant");
    expect_seen(&seen[1], TBED_EVENT_SPAN,
                "parse\x1E"
                "bytes=7",
                "GenericActivity");
    expect_seen(&seen[2], TBED_EVENT_SPAN, "load", "GenericActivity");
    assert_int_equal(seen[2].begin, 0);
    assert_true(seen[1].begin <= seen[0].end && seen[0].end <= seen[1].end && seen[1].end <= seen[2].end);
    struct tbed_process_info process;
    char name[64];
    int64_t start_ns;
    assert_true(tbed_process_get(reader, 0, &process));
    assert_int_equal(process.pid, (uint32_t)getpid());
    assert_int_equal(seen[0].tid, (uint32_t)getpid());
    name_of(reader, process.name_id, name);
    assert_string_equal(name, "test");
    assert_int_equal(tbed_ticks_to_realtime_ns(reader, 0, &start_ns), TBED_OK);
    struct timespec now;
    clock_gettime(CLOCK_REALTIME, &now);
    assert_true(now.tv_sec - start_ns / 1000000000 < 600 && now.tv_sec >= start_ns / 1000000000);
    tbed_reader_close(reader);
}

static const char *make_given(const char *name, void (*record)(struct tbed_writer *writer))
{
    struct tbed_writer_options options = {.size = sizeof options,
                                          .overwrite = true,
                                          .no_helper = true,
                                          .given_ticks = true,
                                          .given_ticks_per_second = 1000000000,
                                          .given_realtime_ns = 5000000000};
    struct tbed_writer *writer;
    const char *path = in_folder(name);
    assert_int_equal(tbed_writer_open(path, &options, &writer, NULL), TBED_OK);
    record(writer);
    tbed_writer_close(writer);
    return path;
}

static void give(struct tbed_recorder *recorder, enum tbed_given_type type, uint32_t id, uint64_t tick)
{
    struct tbed_given_event event = {.type = type, .id = id, .category = TBED_ID_INVALID, .tick = tick};
    tbed_event_record_given(recorder, &event);
}

static void record_odd(struct tbed_writer *writer)
{
    struct tbed_recorder *first = tbed_recorder_open_given(writer, "one", 77);
    struct tbed_recorder *second = tbed_recorder_open_given(writer, "two", 77);
    uint32_t name = intern(writer, "one"); /* the thread's name, and an event's */
    uint32_t bound = tbed_id_reserve(writer, 1), unbound = tbed_id_reserve(writer, 2);
    tbed_id_bind(writer, bound, 1, intern(writer, "bound"));
    give(first, TBED_GIVEN_BEGIN, name, 1000);
    give(first, TBED_GIVEN_BEGIN, bound, 1500);
    give(first, TBED_GIVEN_INSTANT, unbound, 1600);
    give(first, TBED_GIVEN_INSTANT, name, (UINT64_C(1) << 50) + 1000);
    give(second, TBED_GIVEN_END, 0, 1200);
    give(second, TBED_GIVEN_INSTANT, bound, 1300);
}

/* Open spans, a time of more than 48 bits, an end without a begin, an id without a text, two threads of one number. */
static void what_has_no_place_is_told(void **state)
{
    const char *from = make_given("odd.tbed", record_odd), *to = in_folder("odd.mm_profdata");
    struct tbed_export_report report = export_file(from, to, 8);
    struct seen seen[8];
    (void)state;
    assert_int_equal(report.event_count, 5);
    assert_int_equal(report.open_count, 2);
    assert_int_equal(report.left_out_count, 0);
    assert_int_equal(report.unknown_count, 1);
    assert_int_equal(report.unnamed_count, 1);
    assert_int_equal(report.clipped_count, 3); /* the instant, and the ends of both spans */
    struct tbed_reader *reader = read_back(to);
    assert_int_equal(see_all(reader, seen, 8), 5);
    expect_seen(&seen[0], TBED_EVENT_INSTANT, "bound",
                "Instant");              /* of the second thread, whose is first in time */
    assert_int_equal(seen[0].end, 1300); /* given ticks are times already */
    expect_seen(&seen[1], TBED_EVENT_INSTANT, seen[1].name, "Instant");
    assert_int_equal(seen[1].end, 1600);
    expect_seen(&seen[2], TBED_EVENT_INSTANT, "one", "Instant");
    assert_int_equal(seen[2].end, UINT64_C(0xFFFFFFFFFFFF));
    expect_seen(&seen[3], TBED_EVENT_SPAN, "bound", "GenericActivity");
    assert_int_equal(seen[3].begin, 1500);
    assert_int_equal(seen[3].end, UINT64_C(0xFFFFFFFFFFFD));
    expect_seen(&seen[4], TBED_EVENT_SPAN, "one", "GenericActivity");
    assert_int_equal(seen[1].tid, 77);
    assert_int_equal(seen[4].tid, 77);
    assert_true(seen[0].tid != 77);
    tbed_reader_close(reader);
}

static void record_ranges(struct tbed_writer *writer)
{
    struct tbed_recorder *recorder = tbed_recorder_open_given(writer, "main", 1);
    uint32_t first = tbed_id_reserve(writer, 1000000), other = tbed_id_reserve(writer, 1);
    tbed_id_bind(writer, first, 1000000, intern(writer, "many"));
    tbed_id_bind(writer, first + 7, 1, intern(writer, "seven"));
    tbed_id_bind(writer, other, 1, first + 9);
    give(recorder, TBED_GIVEN_INSTANT, first + 6, 1);
    give(recorder, TBED_GIVEN_INSTANT, first + 7, 2);
    give(recorder, TBED_GIVEN_INSTANT, other, 3);
}

/* A million ids bound at once cost index records only where they are used. */
static void ranges_of_ids_are_written_where_they_are_used(void **state)
{
    const char *from = make_given("ranges.tbed", record_ranges), *to = in_folder("ranges.mm_profdata");
    struct seen seen[4];
    struct stat st;
    (void)state;
    export_file(from, to, 9);
    assert_int_equal(stat(to, &st), 0);
    assert_true(st.st_size < 2000);
    struct tbed_reader *reader = read_back(to);
    assert_int_equal(see_all(reader, seen, 4), 3);
    assert_string_equal(seen[0].name, "many");
    assert_string_equal(seen[1].name, "seven");
    assert_string_equal(seen[2].name, "many");
    tbed_reader_close(reader);
}

/* Two events in native code whose module has a long name: of one byte more in the second. */
static void record_long_modules(struct tbed_writer *writer)
{
    struct tbed_recorder *recorder = tbed_recorder_open_given(writer, "main", 1);
    for (size_t more = 0; more < 2; more++) {
        char name[6004] = "/xx";
        for (size_t i = 1 + more; i + 1 < sizeof name; i += 2)
            memcpy(name + i, "\xC3\xA9", 2);
        struct tbed_unit_options unit = {
            .size = sizeof unit, .kind = TBED_UNIT_NATIVE, .base = 0x1000, .pc_count = 64, .name = name};
        name[sizeof name - 1 - more] = '\0';
        give(recorder, TBED_GIVEN_INSTANT, tbed_unit_register(writer, &unit), 1 + more);
    }
}

static void long_names_are_not_cut_inside_a_code_point(void **state)
{
    const char *from = make_given("long.tbed", record_long_modules), *to = in_folder("long.mm_profdata");
    struct seen seen[3];
    (void)state;
    for (uint32_t version = 8; version <= 9; version++) {
        export_file(from, to, version);
        struct tbed_reader *reader = read_back(to);
        assert_int_equal(see_all(reader, seen, 3), 2);
        tbed_reader_close(reader);
    }
}

/* Does any string of a profile lead back to itself? measureme's tools would follow it until their stack ends. */
static void expect_no_circle(const char *path)
{
    struct tbed_reader *reader = read_back(path);
    uint64_t nbytes;
    for (uint32_t id = 0; tbed_string_next(reader, &id);)
        assert_int_not_equal(tbed_string_length(reader, id, NULL, &nbytes), TBED_ERR_STRING_CYCLE);
    tbed_reader_close(reader);
}

static void circles_are_cut(void **state)
{
    (void)state;
    const char *from = in_folder("circle.tbed"), *to = in_folder("circle.mm_profdata");
    struct tbed_writer *writer = open_writer(from, false);
    struct tbed_recorder *recorder = tbed_recorder_open(writer, "main");
    uint32_t bound = tbed_id_reserve(writer, 2);
    struct tbed_component a[] = {{.text = "a", .nbytes = 1}, {.id = bound}};
    uint32_t first = tbed_string_alloc(writer, a, 2);
    struct tbed_component b[] = {{.text = "b", .nbytes = 1}, {.id = first}};
    uint32_t second = tbed_string_alloc(writer, b, 2);
    struct tbed_component c[] = {{.text = "c", .nbytes = 1}, {.id = bound + 1}};
    uint32_t intact = tbed_string_alloc(writer, c, 2);
    tbed_id_bind(writer, bound, 1, second);
    tbed_id_bind(writer, bound + 1, 1, intern(writer, "d"));
    const uint32_t ids[] = {first, second, bound, intact};
    for (size_t i = 0; i < 4; i++)
        tbed_instant_record(recorder, ids[i]);
    tbed_writer_close(writer);
    for (uint32_t version = 8; version <= 9; version++) {
        struct seen seen[4];
        export_file(from, to, version);
        expect_no_circle(to);
        struct tbed_reader *reader = read_back(to);
        assert_int_equal(see_all(reader, seen, 4), 4);
        for (size_t i = 0; i < 3; i++) /* as in every report */
            assert_string_equal(seen[i].name, "<cycle>");
        assert_string_equal(seen[3].name, "cd");
        tbed_reader_close(reader);
    }
}

static void wrong_arguments_are_refused(void **state)
{
    const char *from = make_small("refuse.tbed", false), *to = in_folder("refuse.mm_profdata");
    struct tbed_profile_export_options options = {.size = sizeof options, .version = 7};
    struct tbed_reader *reader;
    (void)state;
    assert_int_equal(tbed_reader_open(from, NULL, &reader, NULL), TBED_OK);
    assert_int_equal(tbed_export_profile(reader, to, &options, NULL, NULL), TBED_ERR_ARGUMENT);
    assert_int_equal(access(to, F_OK), -1);
    assert_int_equal(tbed_export_profile(reader, from, NULL, NULL, NULL), TBED_ERR_EXISTS);
    assert_int_equal(tbed_export_profile(reader, run_folder, NULL, NULL, NULL), TBED_ERR_IS_DIRECTORY);
    tbed_reader_close(reader);
}

/* ---- Golden files: whatever is in them, what comes out is whole ---- */

static void every_golden_trace_is_exported(void **state)
{
    static const char *const names[] = {"cells",       "empty",  "events",   "fork",    "given",
                                        "interrupted", "killed", "recorded", "records", "recovered",
                                        "recursion",   "ring",   "strings",  "wrap"};
    (void)state;
    for (size_t i = 0; i < 2 * (sizeof names / sizeof names[0]); i++) {
        char from[128];
        const char *to = in_folder("golden.mm_profdata");
        snprintf(from, sizeof from, "spec/golden/valid/%s.tbed", names[i / 2]);
        struct tbed_export_report report = export_file(from, to, 8 + i % 2);
        struct tbed_import_report imported;
        struct tbed_reader *reader;
        assert_int_equal(tbed_import_open(to, &reader, &imported, NULL), TBED_OK);
        assert_int_equal(imported.damage_count + imported.drop_count, 0);
        assert_int_equal(imported.event_count, report.event_count);
        assert_int_equal(imported.string_count, report.string_count);
        tbed_reader_close(reader);
    }
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(spans_are_written_when_they_end),
        cmocka_unit_test(what_has_no_place_is_told),
        cmocka_unit_test(ranges_of_ids_are_written_where_they_are_used),
        cmocka_unit_test(long_names_are_not_cut_inside_a_code_point),
        cmocka_unit_test(circles_are_cut),
        cmocka_unit_test(wrong_arguments_are_refused),
        cmocka_unit_test(every_golden_trace_is_exported),
    };
    return cmocka_run_group_tests(tests, make_folder, remove_folder);
}
