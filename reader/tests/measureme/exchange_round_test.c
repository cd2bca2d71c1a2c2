/*
 * Round trips: a profile that is imported, exported and imported again is the same; the real profiles in
 * ../shared/traces, if present, are read by the program.
 *
 * SPDX-License-Identifier: MIT
 */
#include "reader/tests/tools/tool_run.h"

#include "reader/tests/measureme/profile_build.h"

#include <glob.h>
#include <tracebed/exchange.h>

#define TRACES "../shared/traces"

/* ---- Help ---- */

/* FROM imported, the trace exported, and that profile imported again. */
struct trip {
    char trace[512], profile[512], again[512];
};

static struct trip make_trip(const char *from, uint32_t version)
{
    struct tbed_profile_export_options options = {
        .size = sizeof options, .version = version, .overwrite = true};
    struct tbed_import_options overwrite = {.size = sizeof overwrite, .overwrite = true};
    struct tbed_reader *reader;
    struct trip trip;
    snprintf(trip.trace, sizeof trip.trace, "%s/trip.tbed", run_folder);
    snprintf(trip.profile, sizeof trip.profile, "%s/trip.mm_profdata", run_folder);
    snprintf(trip.again, sizeof trip.again, "%s/again.tbed", run_folder);
    assert_int_equal(tbed_import(from, trip.trace, &overwrite, NULL, NULL), TBED_OK);
    assert_int_equal(tbed_reader_open(trip.trace, NULL, &reader, NULL), TBED_OK);
    assert_int_equal(tbed_export_profile(reader, trip.profile, &options, NULL, NULL), TBED_OK);
    tbed_reader_close(reader);
    assert_int_equal(tbed_import(trip.profile, trip.again, &overwrite, NULL, NULL), TBED_OK);
    return trip;
}

/* The events of a listing; without ids if 'names_only', for formats that number them differently. */
static char *list(const char *path, bool names_only)
{
    struct run run = RUN("dump", "--json", "--order=stream", path);
    assert_int_equal(run.exit, 0);
    free(run.err);
    char *to = run.out;
    for (char *at = run.out; *at != '\0';) {
        char *end = strchr(at, '\n') + 1;
        bool is_event = strncmp(at, "{\"stream\"", 9) == 0;
        for (; at < end; at++) {
            bool is_id =
                names_only && (strncmp(at, "\"id\":", 5) == 0 || strncmp(at, "\"category\":", 11) == 0);
            if (is_id)
                at = strchr(at, ',');
            if (is_event)
                *to++ = *at;
        }
    }
    *to = '\0';
    return run.out;
}

static void expect_same_listing(const struct trip *trip, bool names_only)
{
    char *before = list(trip->trace, names_only), *after = list(trip->again, names_only);
    assert_non_null(strstr(before, "\"type\":\"span\""));
    if (strcmp(before, after) != 0)
        fail_msg("the listings of %s and %s differ", trip->trace, trip->again);
    free(before);
    free(after);
}

static bool same_bytes(const struct profile_bytes *a, const struct profile_bytes *b)
{
    return a->nbytes == b->nbytes && (a->nbytes == 0 || memcmp(a->bytes, b->bytes, a->nbytes) == 0);
}

/* The meaning of an id in the middle of an entry becomes an entry after the others, to which the index points. */
static void expect_same_strings(const char *from, const char *to)
{
    bool has_more = false;
    for (int stream = 1; stream <= 2; stream++) {
        struct profile_bytes before = profile_depage(from, stream), after = profile_depage(to, stream);
        has_more = has_more || after.nbytes > before.nbytes;
        after.nbytes = has_more && after.nbytes > before.nbytes ? before.nbytes : after.nbytes;
        if (!same_bytes(&before, &after) && !(stream == 2 && has_more))
            fail_msg("the string %s of %s came out otherwise", stream == 1 ? "data" : "index", from);
        free(before.bytes);
        free(after.bytes);
    }
}

/* The raw events of one thread, in order. */
static struct profile_bytes of_thread(const struct profile_bytes *events, const uint8_t *thread)
{
    struct profile_bytes own = {0};
    for (size_t at = 8; at + 32 <= events->nbytes; at += 32)
        if (memcmp(events->bytes + at + 16, thread, 4) == 0)
            profile_put(&own, events->bytes + at, 32);
    return own;
}

static void expect_same_events(const char *from, const char *to)
{
    struct profile_bytes before = profile_depage(from, 0), after = profile_depage(to, 0);
    uint8_t seen[64][4];
    size_t seen_count = 0;
    assert_int_equal(before.nbytes, after.nbytes);
    for (size_t at = 8; at + 32 <= before.nbytes && seen_count < 64; at += 32) {
        bool is_new = true;
        for (size_t i = 0; i < seen_count && is_new; i++)
            is_new = memcmp(seen[i], before.bytes + at + 16, 4) != 0;
        if (!is_new)
            continue;
        memcpy(seen[seen_count++], before.bytes + at + 16, 4);
        struct profile_bytes a = of_thread(&before, before.bytes + at + 16);
        struct profile_bytes b = of_thread(&after, before.bytes + at + 16);
        if (!same_bytes(&a, &b))
            fail_msg("the events of a thread of %s came out otherwise", from);
        free(a.bytes);
        free(b.bytes);
    }
    free(before.bytes);
    free(after.bytes);
}

static bool is_version(const char *path, uint8_t version)
{
    uint8_t start[8] = {0};
    FILE *file = fopen(path, "rb");
    assert_non_null(file);
    assert_int_equal(fread(start, 1, 8, file), 8);
    fclose(file);
    return start[4] == version;
}

/* ---- Made here ---- */

static const char *make_varied(uint32_t version)
{
    struct profile profile = profile_start(version);
    const char *path = in_folder("varied.mm_profdata");
    profile.page_nbytes = 100;
    profile_metadata(&profile, "{ \"start_time\": 5, \"process_id\": 42, \"cmd\": \"x \" }");
    uint64_t kind = profile_string(&profile, "Query"), label = profile_string(&profile, "label");
    uint64_t unused = profile_string(&profile, ""), composed = profile_here(&profile);
    profile_reference(&profile, label);
    profile_text(&profile, "\x1e");
    profile_reference(&profile, 9); /* forward, by a virtual id */
    profile_terminate(&profile);
    uint64_t later = profile_string(&profile, "later \xe2\x82\xac");
    profile_bind(&profile, 9, later);
    profile_bind(&profile, 3, composed);
    profile_bind(&profile, 9, unused);
    profile_bind(&profile, 9, later);
    for (uint32_t i = 0; i < 300; i++) {
        uint64_t time = i * UINT64_C(0x12345678);
        profile_event(&profile, kind, i % 3 == 0 ? 3 : label, i % 5, time, time + i);
        profile_event(&profile, kind, 99, i % 5, time, i % 2 == 0 ? PROFILE_INSTANT : PROFILE_INTEGER);
    }
    profile_event(&profile, kind, label, 2, 50, 20);
    struct profile_bytes file = profile_file(&profile);
    write_whole(path, file.bytes, file.nbytes);
    free(file.bytes);
    profile_end(&profile);
    return path;
}

static void format_9_comes_out_as_it_went_in(void **state)
{
    const char *from = make_varied(9);
    struct trip trip = make_trip(from, 9);
    (void)state;
    expect_same_strings(from, trip.profile);
    expect_same_events(from, trip.profile);
    expect_same_listing(&trip, false);
}

static void format_8_says_the_same_in_either(void **state)
{
    const char *from = make_varied(8);
    (void)state;
    struct trip trip = make_trip(from, 8);
    expect_same_strings(from, trip.profile);
    expect_same_listing(&trip, false);
    trip = make_trip(from, 9);
    expect_same_listing(&trip, true);
}

/* Pages of one byte and more: each text is in pieces, several in an entry, some of them long. */
static void texts_over_the_ends_of_pages_come_out_as_they_went_in(void **state)
{
    (void)state;
    for (size_t page_nbytes = 1; page_nbytes < 30; page_nbytes += page_nbytes < 12 ? 1 : 5) {
        struct profile profile = profile_start(9);
        const char *from = in_folder("pieces.mm_profdata");
        profile.page_nbytes = page_nbytes;
        uint64_t kind = profile_string(&profile, "Query"), id = profile_here(&profile);
        for (size_t i = 0; i < 60; i++) {
            for (size_t k = 0; k < i * i % 37 + 2; k++)
                profile_text(&profile, k % 2 == 0 ? "\xe2\x82\xac" : "xy");
            profile_reference(&profile, kind);
        }
        profile_terminate(&profile);
        profile_event(&profile, kind, id, 1, 100, 200);
        struct profile_bytes file = profile_file(&profile);
        write_whole(from, file.bytes, file.nbytes);
        struct trip trip = make_trip(from, 9);
        expect_same_strings(from, trip.profile);
        expect_same_listing(&trip, true);
        free(file.bytes);
        profile_end(&profile);
    }
}

/* The round trip preserves what the trace stores, and references to metadata keep their meaning: nothing, or another
 * text. */
static void metadata_that_is_odd_comes_back(void **state)
{
    static const char *const texts[] = {
        NULL,
        "{ \"cmd\": \"it\\'s\" }",
        "no JSON",
        "{ \"start_time\": 77, \"process_id\": 3",
        "{ \"start_time\": 77, \"process_id\": 3, \"cmd\": \"/bin/rustc x\", \x80",
        "{ \"process_id\": 3, \"counter\": { \"name\": \"i:u\", \"units\": [[\"i\", 1]] } }",
    };
    (void)state;
    for (size_t i = 0; i < sizeof texts / sizeof texts[0]; i++) {
        struct profile profile = profile_start(9);
        const char *from = in_folder("odd.mm_profdata");
        if (texts[i] != NULL)
            profile_metadata(&profile, texts[i]);
        uint64_t kind = profile_string(&profile, "Query"), id = profile_here(&profile);
        profile_text(&profile, "of ");
        profile_reference(&profile, PROFILE_METADATA);
        profile_terminate(&profile);
        profile_event(&profile, kind, id, 1, 100, 200);
        profile_event(&profile, kind, PROFILE_METADATA, 1, 50, 300);
        struct profile_bytes file = profile_file(&profile);
        write_whole(from, file.bytes, file.nbytes);
        struct trip trip = make_trip(from, 9);
        struct tbed_reader *readers[2];
        struct tbed_trace_info infos[2];
        struct tbed_process_info processes[2];
        char names[2][4096];
        int64_t starts[2] = {0};
        size_t nbytes;
        for (int k = 0; k < 2; k++) {
            assert_int_equal(tbed_reader_open(k == 0 ? trip.trace : trip.again, NULL, &readers[k], NULL),
                             TBED_OK);
            tbed_reader_info(readers[k], &infos[k]);
            assert_true(tbed_process_get(readers[k], 0, &processes[k]));
            tbed_string_resolve(readers[k], processes[k].name_id, names[k], sizeof names[k], &nbytes);
            tbed_ticks_to_realtime_ns(readers[k], 0, &starts[k]);
        }
        assert_int_equal(infos[0].clock, infos[1].clock);
        assert_string_equal(infos[0].clock_unit, infos[1].clock_unit);
        assert_int_equal(infos[0].last_tick, infos[1].last_tick);
        assert_int_equal(processes[0].pid, processes[1].pid);
        assert_int_equal(starts[0], starts[1]);
        assert_string_equal(names[0], names[1]);
        tbed_reader_close(readers[0]);
        tbed_reader_close(readers[1]);
        expect_same_listing(&trip, true);
        free(file.bytes);
        profile_end(&profile);
    }
}

/* ---- Real ones ---- */

static void round_trip_of(const char *path)
{
    struct tbed_import_report report;
    struct tbed_reader *reader;
    enum tbed_status status = tbed_import_open(path, &reader, &report, NULL);
    if (status == TBED_ERR_PROFILE_VERSION && strstr(path, "v10") != NULL)
        return;
    assert_int_equal(status, TBED_OK);
    assert_int_equal(tbed_reader_verify(reader), TBED_OK);
    assert_int_equal(report.drop_count, 0);
    bool is_whole = report.damage_count == 0;
    tbed_reader_close(reader);
    if (!is_whole && strstr(path, "x_last_index_wins") == NULL)
        fail_msg("%s: %s", path, tbed_status_name(report.damages[0].status));
    struct trip trip = make_trip(path, 9);
    if (report.interval_count > 0)
        expect_same_listing(&trip, true);
    if (is_whole && report.version == 9 && is_version(path, 9)) {
        expect_same_strings(path, trip.profile);
        expect_same_events(path, trip.profile);
    }
}

static void real_and_made_up_profiles_make_the_trip(void **state)
{
    static const char *const patterns[] = {TRACES "/old/*.events", TRACES "/old/*.mm_profdata",
                                           TRACES "/synth/*.mm_profdata", TRACES "/*.mm_profdata"};
    (void)state;
    if (access(TRACES, R_OK) != 0)
        skip();
    for (size_t i = 0; i < sizeof patterns / sizeof patterns[0]; i++) {
        glob_t found;
        assert_int_equal(glob(patterns[i], 0, NULL, &found), 0);
        for (size_t j = 0; j < found.gl_pathc; j++)
            round_trip_of(found.gl_pathv[j]);
        globfree(&found);
    }
}

/* Figures of the files, counted with another decoder. */
static void real_profiles_have_their_counts(void **state)
{
    static const struct {
        const char *path;
        uint32_t version;
        uint64_t event_count, thread_count;
    } traces[] = {{"/old/w0_4_0.events", 0, 9, 3},          {"/old/w0_5_0.string_data", 3, 12, 3},
                  {"/old/w0_6_0.string_index", 4, 12, 3},   {"/old/w0_7_1.events", 5, 13, 4},
                  {"/old/w0_8_0.mm_profdata", 6, 13, 4},    {"/old/w9_2_0.mm_profdata", 7, 13, 4},
                  {"/v7_fixture.mm_profdata", 7, 10922, 2}, {"/v8_hello.mm_profdata", 8, 31934, 19},
                  {"/v9_hello.mm_profdata", 9, 23714, 3}};
    (void)state;
    if (access(TRACES, R_OK) != 0)
        skip();
    for (size_t i = 0; i < sizeof traces / sizeof traces[0]; i++) {
        struct tbed_import_report report;
        struct tbed_reader *reader;
        char path[256];
        snprintf(path, sizeof path, TRACES "%s", traces[i].path);
        assert_int_equal(tbed_import_open(path, &reader, &report, NULL), TBED_OK);
        assert_int_equal(report.version, traces[i].version);
        assert_int_equal(report.event_count, traces[i].event_count);
        assert_int_equal(report.thread_count, traces[i].thread_count);
        tbed_reader_close(reader);
    }
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(format_9_comes_out_as_it_went_in),
        cmocka_unit_test(format_8_says_the_same_in_either),
        cmocka_unit_test(texts_over_the_ends_of_pages_come_out_as_they_went_in),
        cmocka_unit_test(metadata_that_is_odd_comes_back),
        cmocka_unit_test(real_and_made_up_profiles_make_the_trip),
        cmocka_unit_test(real_profiles_have_their_counts),
    };
    return cmocka_run_group_tests(tests, make_folder, remove_folder);
}
