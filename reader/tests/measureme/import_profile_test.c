/*
 * Import: how a profile is converted, and what is reported about one that is odd, cut or damaged.
 *
 * SPDX-License-Identifier: MIT
 */
#include "reader/tests/tools/tool_run.h"

#include "reader/tests/measureme/profile_build.h"

#include <dirent.h>
#include <time.h>
#include <tracebed/exchange.h>

#define METADATA                                                                                             \
    "{ \"start_time\": 1700000000000000000, \"process_id\": 42, \"cmd\": \"/usr/bin/rustc --crate x.rs \", " \
    "\"counter\": { \"name\": \"wall-time\", \"units\": [[\"ns\", 1]] } }"

/* ---- Help ---- */

static const char *write_profile(const struct profile *profile, const char *name)
{
    const char *path = in_folder(name);
    struct profile_bytes file = profile_file(profile);
    write_whole(path, file.bytes, file.nbytes);
    free(file.bytes);
    return path;
}

static struct tbed_reader *import_open(const char *path, struct tbed_import_report *report)
{
    struct tbed_reader *reader = NULL;
    struct tbed_error error = {0};
    if (tbed_import_open(path, &reader, report, &error) != TBED_OK)
        fail_msg("%s: %s", path, tbed_status_name(error.status));
    if (tbed_reader_verify(reader) != TBED_OK)
        fail_msg("%s: the trace made of it is damaged", path);
    return reader;
}

/* Writes it, imports it, frees it. */
static struct tbed_reader *import_profile(struct profile *profile, struct tbed_import_report *report)
{
    struct tbed_reader *reader = import_open(write_profile(profile, "x.mm_profdata"), report);
    profile_end(profile);
    return reader;
}

static void expect_text(const struct tbed_reader *reader, uint32_t id, const char *text)
{
    char buffer[512];
    size_t nbytes;
    tbed_string_resolve(reader, id, buffer, sizeof buffer, &nbytes);
    assert_string_equal(buffer, text);
}

/* The events of the stream 'index', at most 'max'. */
static size_t take_events(struct tbed_reader *reader, size_t index, struct tbed_event *events, size_t max)
{
    struct tbed_stream_info stream;
    struct tbed_cursor *cursor;
    size_t count = 0;
    assert_true(tbed_stream_get(reader, index, &stream));
    assert_int_equal(tbed_cursor_open(reader, stream.stream, &cursor), TBED_OK);
    while (count < max && tbed_cursor_next(cursor, &events[count]) == TBED_OK)
        count++;
    tbed_cursor_close(cursor);
    return count;
}

static uint64_t count_events(struct tbed_reader *reader)
{
    struct tbed_stream_info stream;
    struct tbed_event event;
    uint64_t count = 0;
    for (size_t i = 0; tbed_stream_get(reader, i, &stream); i++) {
        struct tbed_cursor *cursor;
        assert_int_equal(tbed_cursor_open(reader, stream.stream, &cursor), TBED_OK);
        while (tbed_cursor_next(cursor, &event) == TBED_OK)
            count++;
        tbed_cursor_close(cursor);
    }
    return count;
}

/* A query, an instant and a number on thread 7, one more query on thread 9. */
static struct profile make_plain(uint32_t version)
{
    struct profile profile = profile_start(version);
    profile_metadata(&profile, METADATA);
    uint64_t query = profile_string(&profile, "Query");
    uint64_t label = profile_string(&profile, "type_of");
    uint64_t composed = profile_here(&profile);
    profile_reference(&profile, label);
    profile_text(&profile, "\x1e");
    profile_text(&profile, "caf\xc3\xa9");
    profile_terminate(&profile);
    profile_bind(&profile, 5, composed);
    profile_event(&profile, query, label, 7, 100, 200);
    profile_event(&profile, query, 5, 7, 150, PROFILE_INSTANT);
    profile_event(&profile, query, 5, 9, 0, UINT64_C(0x123456789ABC));
    profile_event(&profile, query, label, 7, UINT64_C(0xFEDCBA987654), PROFILE_INTEGER);
    return profile;
}

/* ---- What it becomes ---- */

static void expect_plain(uint32_t version)
{
    struct profile profile = make_plain(version);
    struct tbed_import_report report;
    struct tbed_reader *reader = import_profile(&profile, &report);
    struct tbed_event events[4];
    assert_int_equal(take_events(reader, 0, events, 4), 3);
    assert_int_equal(events[0].type, TBED_EVENT_SPAN);
    assert_int_equal(events[0].of.span.begin_tick, 100);
    assert_int_equal(events[0].tick, 200);
    expect_text(reader, events[0].id, "type_of");
    expect_text(reader, events[0].category, "Query");
    assert_int_equal(events[1].type, TBED_EVENT_INSTANT);
    assert_int_equal(events[1].tick, 150);
    assert_int_equal(events[1].id, 5);
    expect_text(reader, 5,
                "type_of\x1e"
                "caf\xc3\xa9");
    assert_int_equal(events[2].type, TBED_EVENT_COUNTER);
    assert_int_equal(events[2].tick, 150);
    assert_int_equal(events[2].counter_value.value.u64, UINT64_C(0xFEDCBA987654));
    assert_int_equal(take_events(reader, 1, events, 4), 1);
    assert_int_equal(events[0].tick, UINT64_C(0x123456789ABC));
    assert_int_equal(events[0].of.span.begin_tick, 0);
    assert_int_equal(report.version, version);
    assert_int_equal(report.event_count, 4);
    assert_int_equal(report.interval_count, 2);
    assert_int_equal(report.instant_count, 1);
    assert_int_equal(report.integer_count, 1);
    assert_int_equal(report.thread_count, 2);
    assert_int_equal(report.string_count, 4);
    assert_int_equal(report.inverted_count, 0);
    assert_int_equal(report.unordered_count, 1);
    assert_int_equal(report.damage_count + report.drop_count, 0);
    tbed_reader_close(reader);
}

static void events_become_spans_instants_and_counters(void **state)
{
    (void)state;
    expect_plain(9);
    expect_plain(8);
}

static void process_threads_and_time_are_the_profiles(void **state)
{
    struct profile profile = make_plain(9);
    struct tbed_reader *reader = import_profile(&profile, NULL);
    struct tbed_process_info process;
    struct tbed_stream_info stream;
    struct tbed_trace_info info;
    int64_t realtime_ns;
    (void)state;
    tbed_reader_info(reader, &info);
    assert_true(info.shut);
    assert_int_equal(info.ticks_per_second, 1000000000);
    assert_int_equal(tbed_ticks_to_realtime_ns(reader, 100, &realtime_ns), TBED_OK);
    assert_int_equal(realtime_ns, 1700000000000000100);
    assert_true(tbed_process_get(reader, 0, &process));
    assert_int_equal(process.pid, 42);
    expect_text(reader, process.name_id, "rustc");
    assert_true(tbed_stream_get(reader, 0, &stream));
    assert_int_equal(stream.tid, 7);
    assert_true(tbed_stream_get(reader, 1, &stream));
    assert_int_equal(stream.tid, 9);
    assert_false(tbed_stream_get(reader, 2, &stream));
    expect_text(reader, TBED_ID_METADATA, METADATA);
    tbed_reader_close(reader);
}

static void odd_order_is_kept_and_counted(void **state)
{
    struct profile profile = profile_start(9);
    struct tbed_import_report report;
    struct tbed_event events[4];
    (void)state;
    profile_event(&profile, 0, 1, 1, 500, 400);
    profile_event(&profile, 0, 1, 1, 10, 20);
    profile_event(&profile, 0, 1, 1, 15, 30);
    struct tbed_reader *reader = import_profile(&profile, &report);
    assert_int_equal(report.inverted_count, 1);
    assert_int_equal(report.unordered_count, 1);
    assert_int_equal(take_events(reader, 0, events, 4), 3);
    assert_int_equal(events[0].of.span.begin_tick, 500);
    assert_int_equal(events[0].tick, 400);
    assert_int_equal(events[1].tick, 20);
    assert_int_equal(events[2].of.span.begin_tick, 15);
    assert_true(events[0].category != TBED_ID_INVALID); /* kind 0 is a kind */
    tbed_reader_close(reader);
}

static void instruction_counts_are_no_time(void **state)
{
    struct profile profile = profile_start(9);
    struct tbed_trace_info info;
    (void)state;
    profile_metadata(&profile,
                     "{ \"start_time\": 1, \"process_id\": 3, \"cmd\": \"x\", \"counter\": { \"name\": "
                     "\"instructions:u\", \"units\": [[\"inst\xc3\xa9ructions\", 1], [\"k\", 1000]] } }");
    profile_event(&profile, 1, 2, 1, 5, 9);
    struct tbed_reader *reader = import_profile(&profile, NULL);
    tbed_reader_info(reader, &info);
    assert_int_equal(info.clock, TBED_CLOCK_USER);
    assert_int_equal(info.ticks_per_second, 0);
    assert_string_equal(info.clock_unit, "instructions");
    tbed_reader_close(reader);
}

/* As Rust writes argv: \' and \u{e9} are not JSON, but the fields after them still count. */
static void metadata_that_is_not_json_is_kept_and_understood(void **state)
{
    static const char text[] =
        "{ \"cmd\": \"/a/it\\'s\\u{e9} \\\" x\", \"start_time\": 77, \"process_id\": 12 }";
    struct profile profile = profile_start(9);
    struct tbed_process_info process;
    int64_t realtime_ns;
    (void)state;
    profile_metadata(&profile, text);
    profile_event(&profile, 1, 2, 1, 5, 9);
    struct tbed_reader *reader = import_profile(&profile, NULL);
    expect_text(reader, TBED_ID_METADATA, text);
    assert_true(tbed_process_get(reader, 0, &process));
    assert_int_equal(process.pid, 12);
    expect_text(reader, process.name_id, "it'su{e9}");
    assert_int_equal(tbed_ticks_to_realtime_ns(reader, 0, &realtime_ns), TBED_OK);
    assert_int_equal(realtime_ns, 77);
    tbed_reader_close(reader);
}

static void odd_metadata_does_no_harm(void **state)
{
    static const char *const texts[] = {"",
                                        "{",
                                        "{\"cmd",
                                        "{\"cmd\":",
                                        "{\"cmd\":\"",
                                        "{\"cmd\":\"\\",
                                        "{\"counter\":{",
                                        "{\"counter\":{\"units\":[[",
                                        "{\"start_time\":99999999999999999999999}",
                                        "[]",
                                        "{\"x\":[[[[}}}}",
                                        "{\"process_id\":-1}",
                                        "{\"counter\":{\"name\":\"x\",\"units\":[[\"\xc3\xa9\"]]}}"};
    (void)state;
    for (size_t i = 0; i < sizeof texts / sizeof texts[0]; i++) {
        struct profile profile = profile_start(9);
        profile_metadata(&profile, texts[i]);
        profile_event(&profile, 1, 2, 1, 5, 9);
        struct tbed_reader *reader = import_profile(&profile, NULL);
        expect_text(reader, TBED_ID_METADATA, texts[i]);
        assert_int_equal(count_events(reader), 1);
        tbed_reader_close(reader);
    }
}

static void events_without_strings_keep_their_numbers(void **state)
{
    struct profile profile = profile_start(9);
    struct profile_bytes file = {0};
    struct tbed_import_report report;
    struct tbed_event event;
    (void)state;
    profile_event(&profile, 3, PROFILE_FIRST + 1234, 1, 5, 9);
    profile_put(&file, "MMPD\x09\0\0\0", 8);
    profile_pages(&profile, 0, &file);
    write_whole(in_folder("alone.mm_profdata"), file.bytes, file.nbytes);
    struct tbed_reader *reader = import_open(in_folder("alone.mm_profdata"), &report);
    assert_int_equal(report.damage_count, 2);
    assert_int_equal(report.damages[0].status, TBED_ERR_PROFILE_STREAM);
    assert_int_equal(take_events(reader, 0, &event, 1), 1);
    expect_text(reader, event.id, "<id 100001237>");
    tbed_reader_close(reader);
    free(file.bytes);
    profile_end(&profile);
}

/* Ids above those that keep their numbers are still distinguished, and found again. */
static void ids_of_any_size_are_told_apart(void **state)
{
    struct profile profile = profile_start(9);
    struct tbed_event events[6];
    (void)state;
    static const uint64_t ids[] = {UINT64_MAX - 1, UINT64_C(1) << 40, UINT64_MAX - 1,
                                   0x10000000,     0x0FFFFFFF,        UINT64_MAX};
    for (size_t i = 0; i < 6; i++)
        profile_event(&profile, 1, ids[i], 1, i, i + 1);
    struct tbed_reader *reader = import_profile(&profile, NULL);
    assert_int_equal(take_events(reader, 0, events, 6), 6);
    assert_int_equal(events[0].id, events[2].id);
    assert_true(events[0].id != events[1].id && events[1].id != events[3].id && events[0].id != events[3].id);
    assert_int_equal(events[4].id, 0x0FFFFFFF);
    assert_int_equal(events[5].id, TBED_ID_INVALID);
    tbed_reader_close(reader);
}

/* ---- Strings ---- */

static char *resolve(const struct tbed_reader *reader, uint32_t id, size_t *nbytes)
{
    assert_int_equal(tbed_string_resolve(reader, id, NULL, 0, nbytes), TBED_OK);
    char *text = malloc(*nbytes + 1);
    assert_non_null(text);
    assert_int_equal(tbed_string_resolve(reader, id, text, *nbytes + 1, nbytes), TBED_OK);
    return text;
}

/* Pages of one byte: each reference and code point goes over the ends of several. */
static void strings_straddle_pages(void **state)
{
    struct profile profile = make_plain(9);
    struct tbed_import_report report;
    (void)state;
    profile.page_nbytes = 1;
    struct tbed_reader *reader = import_profile(&profile, &report);
    assert_int_equal(report.damage_count, 0);
    expect_text(reader, 5,
                "type_of\x1e"
                "caf\xc3\xa9");
    expect_text(reader, TBED_ID_METADATA, METADATA);
    tbed_reader_close(reader);
}

/* Several texts of one entry that each lie in several pages. */
static void texts_around_references_straddle_pages(void **state)
{
    struct profile profile = profile_start(9);
    (void)state;
    profile.page_nbytes = 2;
    uint64_t dot = profile_string(&profile, ".");
    uint64_t id = profile_here(&profile);
    profile_text(&profile, "abcd");
    profile_reference(&profile, dot);
    profile_text(&profile, "e\xc3\xa9\xc3\xa9");
    profile_reference(&profile, dot);
    profile_text(&profile, "hijk");
    profile_terminate(&profile);
    profile_bind(&profile, 1, id);
    struct tbed_reader *reader = import_profile(&profile, NULL);
    expect_text(reader, 1, "abcd.e\xc3\xa9\xc3\xa9.hijk");
    tbed_reader_close(reader);
}

/* 300 KB of two-byte code points, one over each page's end, then references and such a text again. */
static void long_strings_are_whole(void **state)
{
    struct profile profile = profile_start(9);
    struct tbed_import_report report;
    size_t nbytes, pairs = 150000;
    (void)state;
    profile.page_nbytes = 4093;
    uint64_t dot = profile_string(&profile, ".");
    uint64_t id = profile_here(&profile);
    for (int part = 0; part < 2; part++) {
        for (size_t i = 0; i < pairs; i++)
            profile_text(&profile, "\xc3\xa9");
        for (size_t i = 0; i < 3000; i++)
            profile_reference(&profile, dot);
    }
    profile_terminate(&profile);
    profile_bind(&profile, 1, id);
    struct tbed_reader *reader = import_profile(&profile, &report);
    assert_int_equal(report.damage_count + report.drop_count, 0);
    char *text = resolve(reader, 1, &nbytes);
    assert_int_equal(nbytes, 2 * (2 * pairs + 3000));
    for (size_t i = 0; i < nbytes; i++) {
        size_t at = i % (2 * pairs + 3000);
        char wanted = at >= 2 * pairs ? '.' : at % 2 == 0 ? '\xc3' : '\xa9';
        if (text[i] != wanted)
            fail_msg("byte %zu is %02x", i, (uint8_t)text[i]);
    }
    free(text);
    tbed_reader_close(reader);
}

static void damaged_strings_cost_themselves(void **state)
{
    struct profile profile = profile_start(9);
    struct tbed_import_report report;
    (void)state;
    uint64_t good = profile_string(&profile, "before");
    uint64_t bad = profile_string(&profile, "not \xc3 UTF-8");
    uint64_t behind = profile_string(&profile, "behind");
    profile_bind(&profile, 1, good);
    profile_bind(&profile, 2, bad);
    profile_bind(&profile, 3, behind);
    profile_bind(&profile, 3, UINT64_C(900000000)); /* leads nowhere: what was there before counts */
    profile_text(&profile, "never ended");
    struct tbed_reader *reader = import_profile(&profile, &report);
    expect_text(reader, 1, "before");
    expect_text(reader, 2, "<id 2>");
    expect_text(reader, 3, "behind");
    assert_int_equal(report.string_count, 2);
    bool has_index = false;
    unsigned string_count = 0;
    for (size_t i = 0; i < report.damage_count; i++) {
        has_index = has_index || report.damages[i].status == TBED_ERR_PROFILE_INDEX;
        string_count += report.damages[i].status == TBED_ERR_PROFILE_STRING;
    }
    assert_true(has_index);
    assert_int_equal(string_count, 2);
    tbed_reader_close(reader);
}

/* What measureme's own tools make of it. */
static void an_index_into_the_middle_means_the_rest(void **state)
{
    struct profile profile = profile_start(9);
    struct tbed_import_report report;
    (void)state;
    uint64_t id = profile_string(&profile, "whole");
    profile_bind(&profile, 1, id + 2);
    profile_bind(&profile, 2, id);
    struct tbed_reader *reader = import_profile(&profile, &report);
    expect_text(reader, 1, "ole");
    expect_text(reader, 2, "whole");
    assert_int_equal(report.damage_count, 0);
    tbed_reader_close(reader);
}

/*
 * An id whose last record points to nothing readable is undefined, whatever earlier records say; so is one with
 * invalid records.
 */
static void the_last_record_of_an_id_counts_even_if_broken(void **state)
{
    struct profile profile = profile_start(9);
    struct tbed_import_report report;
    (void)state;
    uint64_t first = profile_string(&profile, "first"), second = profile_string(&profile, "second");
    uint64_t broken = profile_here(&profile);
    profile_text(&profile, "\x80no");
    profile_terminate(&profile);
    profile_bind(&profile, 1, first);
    profile_bind(&profile, 2, broken);
    profile_bind(&profile, 3, first);
    profile_bind(&profile, 3, second);
    profile_bind(&profile, 1, broken);
    profile_bind(&profile, 2, second);
    profile_bind(&profile, first, second);
    struct tbed_reader *reader = import_profile(&profile, &report);
    expect_text(reader, 1, "<id 1>");
    expect_text(reader, 2, "second");
    expect_text(reader, 3, "second");
    expect_text(reader, (uint32_t)first, "first");
    assert_int_equal(report.damage_count, 2);
    tbed_reader_close(reader);
}

/* The same for regular ids that events and references, and references in such a rest, have. */
static void an_id_into_the_middle_means_the_rest(void **state)
{
    struct profile profile = profile_start(9);
    struct tbed_import_report report;
    struct tbed_event events[3];
    (void)state;
    uint64_t forward = profile_here(&profile);
    profile_reference(&profile, PROFILE_FIRST + 8 + 9 + 1 + 1);
    profile_terminate(&profile);
    uint64_t id = profile_string(&profile, "Query");
    uint64_t behind = profile_here(&profile);
    profile_text(&profile, "12");
    profile_reference(&profile, id + 4);
    profile_terminate(&profile);
    profile_event(&profile, id + 1, forward, 1, 1, 2);
    profile_event(&profile, id, behind + 1, 1, 1, 2);
    profile_event(&profile, PROFILE_FIRST + 1, PROFILE_FIRST + UINT64_C(99999), 1, 1, 2);
    struct tbed_reader *reader = import_profile(&profile, &report);
    assert_int_equal(take_events(reader, 0, events, 3), 3);
    expect_text(reader, events[0].category, "uery");
    expect_text(reader, events[0].id, "uery");
    expect_text(reader, events[1].id, "2y");
    expect_text(reader, (uint32_t)PROFILE_FIRST + 99999, "<id 100100002>");
    assert_int_equal(report.damage_count + report.drop_count, 0);
    tbed_reader_close(reader);
}

/* Neither can be a category; with an index record or without one, they keep their meaning in the profile. */
static void kinds_without_a_category_come_back(void **state)
{
    struct profile profile = profile_start(9);
    struct tbed_import_report report;
    struct tbed_export_report exported;
    struct tbed_event events[3];
    (void)state;
    uint64_t query = profile_string(&profile, "Query");
    profile_bind(&profile, 0, query);
    profile_event(&profile, 0, query, 1, 1, 2);
    profile_event(&profile, PROFILE_FIRST - 1, query, 1, 3, PROFILE_INSTANT);
    profile_event(&profile, PROFILE_FIRST - 1, PROFILE_FIRST - 1, 1, 4, PROFILE_INTEGER);
    const char *from = write_profile(&profile, "kinds.mm_profdata"),
               *to = in_folder("kinds_again.mm_profdata");
    profile_end(&profile);
    struct tbed_reader *reader = import_open(from, &report);
    assert_int_equal(take_events(reader, 0, events, 3), 3);
    expect_text(reader, events[0].category, "Query");
    assert_true(events[1].category != TBED_ID_INVALID);
    expect_text(reader, events[1].category, "<no id>");
    assert_int_equal(tbed_export_profile(reader, to, NULL, &exported, NULL), TBED_OK);
    tbed_reader_close(reader);
    struct profile_bytes before = profile_depage(from, 0), after = profile_depage(to, 0);
    assert_int_equal(before.nbytes, after.nbytes);
    assert_memory_equal(before.bytes, after.bytes, before.nbytes);
    free(before.bytes);
    free(after.bytes);
}

/* An id that is bound and its string are one level, as in the profile. */
static void sixty_four_levels_resolve(void **state)
{
    struct profile profile = profile_start(9);
    struct tbed_import_report report;
    (void)state;
    uint64_t id = profile_string(&profile, "deep");
    for (int level = 1; level < 64; level++) {
        uint64_t next = profile_here(&profile);
        profile_reference(&profile, id);
        profile_terminate(&profile);
        id = next;
    }
    uint64_t deeper = profile_here(&profile);
    profile_reference(&profile, id);
    profile_terminate(&profile);
    profile_bind(&profile, 1, id);
    struct tbed_reader *reader = import_profile(&profile, &report);
    expect_text(reader, 1, "deep");
    expect_text(reader, (uint32_t)id, "deep");
    expect_text(reader, (uint32_t)deeper, "<too deep>");
    tbed_reader_close(reader);
}

/* The first event's end is not the start, and the importing process is not the traced one. */
static void a_trace_starts_where_the_profile_does(void **state)
{
    struct profile profile = profile_start(9);
    struct tbed_import_report report;
    struct tbed_trace_info info;
    struct tbed_process_info process;
    int64_t ns;
    (void)state;
    profile_metadata(&profile, "{ \"start_time\": 5000000000, \"cmd\": \"x\" }");
    profile_event(&profile, 1, 2, 1, 300, 1000);
    struct tbed_reader *reader = import_profile(&profile, &report);
    tbed_reader_info(reader, &info);
    assert_int_equal(info.first_tick, 0);
    assert_int_equal(info.last_tick, 1000);
    assert_int_equal(tbed_ticks_to_ns(reader, 300), 300);
    assert_int_equal(tbed_ticks_to_realtime_ns(reader, info.first_tick, &ns), TBED_OK);
    assert_int_equal(ns, 5000000000);
    assert_true(tbed_process_get(reader, 0, &process));
    assert_int_equal(process.pid, 0);
    assert_int_equal(process.parent_pid, 0);
    tbed_reader_close(reader);
}

/* Each resolves in linear time: 10^12 steps without a bound. What is left out is counted. */
static void a_million_ids_into_one_string_take_bounded_time(void **state)
{
    enum { ID_COUNT = 1000000 };
    static char text[ID_COUNT + 1];
    struct profile profile = profile_start(9);
    struct tbed_import_report report;
    (void)state;
    memset(text, 'x', ID_COUNT);
    uint64_t id = profile_string(&profile, text);
    for (uint32_t i = 1; i < ID_COUNT; i++)
        profile_bind(&profile, i, id + i);
    for (uint32_t i = 1; i < ID_COUNT; i++)
        profile_event(&profile, id, id + i, 1, 1, 2);
    clock_t start = clock();
    struct tbed_reader *reader = import_profile(&profile, &report);
    assert_true(clock() - start < 30 * CLOCKS_PER_SEC);
    assert_int_equal(report.event_count, ID_COUNT - 1);
    assert_in_range(report.drop_count, ID_COUNT - 10, ID_COUNT - 1);
    tbed_reader_close(reader);
}

/* 4,000 records that each point one byte further into a long string: quadratic without a bound. */
static void a_string_entered_everywhere_stays_small(void **state)
{
    struct profile profile = profile_start(9);
    struct tbed_import_report report;
    struct tbed_trace_info info;
    (void)state;
    uint64_t id = profile_here(&profile);
    for (size_t i = 0; i < 1000000; i++)
        profile_text(&profile, "x");
    profile_terminate(&profile);
    for (uint32_t i = 0; i < 4000; i++)
        profile_bind(&profile, i, id + i);
    struct tbed_reader *reader = import_profile(&profile, &report);
    tbed_reader_info(reader, &info);
    assert_true(info.file_nbytes < 16000000);
    tbed_reader_close(reader);
}

/* ---- Threads ---- */

static void further_threads_share_a_stream(void **state)
{
    struct profile profile = profile_start(9);
    struct tbed_import_report report;
    struct tbed_event events[4];
    (void)state;
    for (uint32_t i = 0; i < 65536 + 3; i++)
        profile_event(&profile, 1, 2, i, 1, 2);
    profile_event(&profile, 1, 2, 0, 3, 4);
    struct tbed_reader *reader = import_profile(&profile, &report);
    assert_int_equal(report.event_count, 65536 + 4);
    assert_int_equal(count_events(reader), 65536 + 4);
    assert_int_equal(take_events(reader, 0, events, 4), 2);
    assert_int_equal(take_events(reader, 65536, events, 4), 3);
    struct tbed_arguments at = events[2].arguments;
    struct tbed_argument argument;
    assert_int_equal(events[2].argument_count, 1);
    tbed_argument_next(&at, &argument);
    expect_text(reader, argument.name_id, "thread");
    assert_int_equal(argument.value.u64, 65538);
    tbed_reader_close(reader);
}

/* ---- Damage ---- */

/* Every complete event before the cut is imported, wherever the cut is, and the trace is sound. */
static void a_cut_anywhere_leaves_what_is_whole(void **state)
{
    struct profile profile = make_plain(9);
    struct profile_bytes file = profile_file(&profile);
    size_t events_at = file.nbytes - 4 * 32;
    (void)state;
    for (size_t cut = 0; cut < file.nbytes; cut++) {
        struct tbed_import_report report;
        struct tbed_reader *reader;
        const char *path = in_folder("cut.mm_profdata");
        write_whole(path, file.bytes, cut);
        enum tbed_status status = tbed_import_open(path, &reader, &report, NULL);
        if (cut < 8) {
            assert_true(status == TBED_ERR_PROFILE_CUT || status == TBED_ERR_EMPTY ||
                        status == TBED_ERR_NOT_A_TRACE);
            continue;
        }
        assert_int_equal(status, TBED_OK);
        assert_true(report.damage_count > 0);
        assert_int_equal(report.event_count, cut < events_at ? 0 : (cut - events_at) / 32);
        assert_int_equal(count_events(reader), report.event_count);
        assert_int_equal(tbed_reader_verify(reader), TBED_OK);
        tbed_reader_close(reader);
    }
    free(file.bytes);
    profile_end(&profile);
}

static void a_changed_byte_anywhere_leaves_a_sound_trace(void **state)
{
    struct profile profile = make_plain(9);
    struct profile_bytes file = profile_file(&profile);
    (void)state;
    for (size_t i = 4; i < file.nbytes; i++) {
        static const uint8_t changes[] = {0xFF, 0x80, 0x01};
        uint8_t kept = file.bytes[i];
        file.bytes[i] ^= changes[i % 3];
        struct tbed_reader *reader;
        const char *path = in_folder("flip.mm_profdata");
        write_whole(path, file.bytes, file.nbytes);
        if (tbed_import_open(path, &reader, NULL, NULL) == TBED_OK) {
            assert_int_equal(tbed_reader_verify(reader), TBED_OK);
            tbed_reader_close(reader);
        } else {
            assert_true(i < 8);
        }
        file.bytes[i] = kept;
    }
    free(file.bytes);
    profile_end(&profile);
}

/* ---- The new file ---- */

static size_t count_files(void)
{
    size_t count = 0;
    DIR *folder = opendir(run_folder);
    assert_non_null(folder);
    while (readdir(folder) != NULL)
        count++;
    closedir(folder);
    return count;
}

static void the_new_file_is_whole_or_not_there(void **state)
{
    struct profile profile = make_plain(9);
    const char *from = write_profile(&profile, "f.mm_profdata"), *to = in_folder("f.tbed");
    struct tbed_import_options overwrite = {.size = sizeof overwrite, .overwrite = true};
    struct tbed_error error;
    struct stat st;
    (void)state;
    size_t before = count_files();
    assert_int_equal(tbed_import(from, to, NULL, NULL, NULL), TBED_OK);
    assert_int_equal(count_files(), before + 1);
    assert_int_equal(stat(to, &st), 0);
    assert_int_equal(st.st_mode & 0777, 0600);
    assert_int_equal(tbed_import(from, to, NULL, NULL, &error), TBED_ERR_EXISTS);
    assert_int_equal(error.status, TBED_ERR_EXISTS);
    assert_int_equal(tbed_import(from, to, &overwrite, NULL, NULL), TBED_OK);
    assert_int_equal(count_files(), before + 1);
    assert_int_equal(tbed_import(from, run_folder, &overwrite, NULL, NULL), TBED_ERR_IS_DIRECTORY);
    char pipe[512]; /* as it would be with a device */
    snprintf(pipe, sizeof pipe, "%s/pipe", run_folder);
    assert_int_equal(mkfifo(pipe, 0600), 0);
    assert_int_equal(tbed_import(from, pipe, &overwrite, NULL, NULL), TBED_ERR_NOT_REGULAR);
    assert_int_equal(unlink(pipe), 0);
    assert_int_equal(tbed_import(from, in_folder("no/where"), NULL, NULL, NULL), TBED_ERR_OPEN);
    assert_int_equal(tbed_import(to, in_folder("g.tbed"), NULL, NULL, NULL), TBED_ERR_NOT_A_TRACE);
    profile.version = 10;
    write_profile(&profile, "f.mm_profdata");
    assert_int_equal(tbed_import(from, to, &overwrite, NULL, NULL), TBED_ERR_PROFILE_VERSION);
    assert_int_equal(count_files(), before + 1);
    assert_ptr_equal(tbed_format_of_file(from), tbed_format_find("mm_profdata"));
    assert_null(tbed_format_of_file(to));
    assert_null(tbed_format_of_file(run_folder));
    profile_end(&profile);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(events_become_spans_instants_and_counters),
        cmocka_unit_test(process_threads_and_time_are_the_profiles),
        cmocka_unit_test(odd_order_is_kept_and_counted),
        cmocka_unit_test(instruction_counts_are_no_time),
        cmocka_unit_test(metadata_that_is_not_json_is_kept_and_understood),
        cmocka_unit_test(odd_metadata_does_no_harm),
        cmocka_unit_test(events_without_strings_keep_their_numbers),
        cmocka_unit_test(ids_of_any_size_are_told_apart),
        cmocka_unit_test(strings_straddle_pages),
        cmocka_unit_test(texts_around_references_straddle_pages),
        cmocka_unit_test(long_strings_are_whole),
        cmocka_unit_test(damaged_strings_cost_themselves),
        cmocka_unit_test(an_index_into_the_middle_means_the_rest),
        cmocka_unit_test(the_last_record_of_an_id_counts_even_if_broken),
        cmocka_unit_test(an_id_into_the_middle_means_the_rest),
        cmocka_unit_test(a_million_ids_into_one_string_take_bounded_time),
        cmocka_unit_test(kinds_without_a_category_come_back),
        cmocka_unit_test(sixty_four_levels_resolve),
        cmocka_unit_test(a_trace_starts_where_the_profile_does),
        cmocka_unit_test(a_string_entered_everywhere_stays_small),
        cmocka_unit_test(further_threads_share_a_stream),
        cmocka_unit_test(a_cut_anywhere_leaves_what_is_whole),
        cmocka_unit_test(a_changed_byte_anywhere_leaves_a_sound_trace),
        cmocka_unit_test(the_new_file_is_whole_or_not_there),
    };
    return cmocka_run_group_tests(tests, make_folder, remove_folder);
}
