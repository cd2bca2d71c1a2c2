/*
 * 'tracebed report' of profiles: a small file of measureme's made here, byte by byte, and a trace with whole spans.
 *
 * SPDX-License-Identifier: MIT
 */
#include "reader/tests/tools/tool_run.h"

#define FIRST_REGULAR 100000003u
#define INSTANT_MARK  0xFFFFFFFFFFFFu
#define INTEGER_MARK  0xFFFFFFFFFFFEu

/* ---- A file of format 9 ---- */

struct profile {
    uint8_t events[4096], strings[4096];
    uint32_t event_nbytes, string_nbytes;
};

static uint64_t add_string(struct profile *profile, const char *text)
{
    uint64_t id = FIRST_REGULAR + profile->string_nbytes;
    size_t nbytes = strlen(text);
    memcpy(profile->strings + profile->string_nbytes, text, nbytes);
    profile->strings[profile->string_nbytes + nbytes] = 0xFF;
    profile->string_nbytes += (uint32_t)nbytes + 1;
    return id;
}

static void add_event(struct profile *profile, uint64_t kind, uint64_t id, uint64_t begin, uint64_t end)
{
    uint8_t *at = profile->events + profile->event_nbytes;
    uint32_t thread = 1, low[2] = {(uint32_t)begin, (uint32_t)end};
    uint32_t high = (uint32_t)(begin >> 16 & 0xFFFF0000u) | (uint32_t)(end >> 32);
    memcpy(at, &kind, 8);
    memcpy(at + 8, &id, 8);
    memcpy(at + 16, &thread, 4);
    memcpy(at + 20, low, 8);
    memcpy(at + 28, &high, 4);
    profile->event_nbytes += 32;
}

static void put_page(FILE *out, uint8_t tag, const void *bytes, uint32_t nbytes)
{
    fwrite(&tag, 1, 1, out);
    fwrite(&nbytes, 4, 1, out);
    fwrite(bytes, nbytes, 1, out);
}

static void start_profile(struct profile *profile)
{
    memset(profile, 0, sizeof *profile);
    memcpy(profile->events, "MMES\x09", 5);
    memcpy(profile->strings, "MMSD\x09", 5);
    profile->event_nbytes = profile->string_nbytes = 8;
}

/* 'metadata' is the string of 'metadata_id'. */
static const char *write_profile(const struct profile *profile, const char *name, uint64_t metadata_id)
{
    const char *path = in_folder(name);
    uint8_t index[24] = "MMSI\x09";
    uint64_t record[2] = {FIRST_REGULAR - 2, metadata_id - FIRST_REGULAR};
    FILE *out = fopen(path, "wb");
    assert_non_null(out);
    memcpy(index + 8, record, 16);
    fwrite("MMPD\x09\0\0", 8, 1, out);
    put_page(out, 0, profile->events, profile->event_nbytes);
    put_page(out, 1, profile->strings, profile->string_nbytes);
    put_page(out, 2, index, sizeof index);
    assert_int_equal(fclose(out), 0);
    return path;
}

static const char *make_profile(const char *name, const char *metadata)
{
    struct profile profile;
    start_profile(&profile);
    uint64_t metadata_id = add_string(&profile, metadata);
    uint64_t query = add_string(&profile, "Query"), load = add_string(&profile, "IncrementalLoadResult");
    uint64_t hit = add_string(&profile, "QueryCacheHit"), size = add_string(&profile, "ArtifactSize");
    uint64_t typeck = add_string(&profile, "typeck\x1E"
                                           "main");
    uint64_t mir = add_string(&profile, "mir");
    add_event(&profile, query, mir, 1000, 3505);
    add_event(&profile, load, typeck, 4000, 4100);
    add_event(&profile, hit, mir, 4200, INSTANT_MARK);
    add_event(&profile, query, typeck, 0, 2000000);
    add_event(&profile, size, mir, 4096, INTEGER_MARK);
    return write_profile(&profile, name, metadata_id);
}

static const char time_metadata[] = "{\"start_time\":1,\"process_id\":42,\"cmd\":\"rustc x.rs\"}";
static const char count_metadata[] = "{\"start_time\":1,\"process_id\":42,\"cmd\":\"rustc\",\"counter\":"
                                     "{\"name\":\"instructions:u\",\"units\":\"instructions\"}}";

/* ---- Tests ---- */

static const char expected_table[] =
    "+---------+-----------+-----------------+--------+------------+------------+-----------------------+\n"
    "| Item    | Self time | % of total time | Time   | Item count | Cache hits | Incremental load time |\n"
    "+---------+-----------+-----------------+--------+------------+------------+-----------------------+\n"
    "| typeck  | 2.00ms    | 99.875          | 2.00ms | 1          | 0          | 100.00ns              |\n"
    "| mir ..  | 2.50\u00B5s    | 0.125           | 2.50\u00B5s | 1          | 1          | 0.00ns           "
    "     |\n"
    "+---------+-----------+-----------------+--------+------------+------------+-----------------------+\n"
    "Total cpu time: 2ms\n"
    "+------+---------------+\n"
    "| Item | Artifact Size |\n"
    "+------+---------------+\n"
    "| mir  | 4096 bytes    |\n"
    "+------+---------------+\n";

static void a_profile_is_shown_by_label(void **state)
{
    const char *path = make_profile("time.mm_profdata", time_metadata);
    (void)state;
    struct run run = RUN("report", path);
    assert_int_equal(run.exit, 0);
    assert_string_equal(run.err, "");
    assert_says(run.out, "5 events, 1 stream with spans, format 9\n");
    assert_non_null(strchr(run.out, '+'));
    assert_string_equal(strchr(run.out, '+'), expected_table);
    end_run(&run);
}

static void small_labels_are_left_out_as_asked(void **state)
{
    const char *path = make_profile("percent.mm_profdata", time_metadata);
    (void)state;
    struct run run = RUN("report", "--percent-above=1", path);
    assert_says(run.out, "| typeck ");
    assert_silent_on(run.out, "| mir .");
    assert_says(run.out, "1 more label");
    end_run(&run);
    EXPECT(0, "| mir ", "", "report", "--percent-above=0.1", path);
    EXPECT(0, "\"rows_left_out\":1", "", "report", "--json", "-l", "1", path);
    EXPECT(2, "", "--percent-above", "report", "--percent-above=much", path);
    EXPECT(2, "", "--percent-above", "report", "--percent-above=101", path);
}

static const char expected_json[] =
    "{\"total_ns\":2000000,\"rows\":["
    "{\"name\":\"typeck\",\"time_ns\":2000100,\"self_ns\":1997495,\"cache_misses\":1,\"cache_hits\":0,"
    "\"invocations\":1,"
    "\"blocked_ns\":0,\"incremental_load_ns\":100,\"incremental_hashing_ns\":0},"
    "{\"name\":\"mir\",\"time_ns\":2505,\"self_ns\":2505,\"cache_misses\":1,\"cache_hits\":1,"
    "\"invocations\":1,"
    "\"blocked_ns\":0,\"incremental_load_ns\":0,\"incremental_hashing_ns\":0}],"
    "\"artifacts\":[{\"name\":\"mir\",\"bytes\":4096}],\"unit\":\"ns\",";

static void json_has_the_same_rows_read_in_place_and_imported(void **state)
{
    const char *path = make_profile("json.mm_profdata", time_metadata), *trace = in_folder("json.tbed");
    (void)state;
    EXPECT(0, expected_json, "", "report", "--json", path);
    EXPECT(0, "imported: 5 events", "", "import", path, "-o", trace);
    EXPECT(0, expected_json, "", "report", "--json", trace);
    struct run run =
        run_with(&(struct run_with){.input = path}, (const char *const[]){"report", "--json", "-", NULL});
    assert_int_equal(run.exit, 0);
    assert_says(run.out, expected_json);
    end_run(&run);
}

static void artifacts_are_shown_alone(void **state)
{
    const char *path = make_profile("artifacts.mm_profdata", time_metadata);
    const char *trace = in_folder("artifacts.tbed");
    static const char table[] = "+------+---------------+\n| Item | Artifact Size |\n"
                                "+------+---------------+\n| mir  | 4096 bytes    |\n"
                                "+------+---------------+\n";
    (void)state;
    EXPECT(0, "imported: 5 events", "", "import", path, "-o", trace);
    for (unsigned i = 0; i < 2; i++, path = trace) {
        struct run run = RUN("report", "--artifacts", path);
        assert_string_equal(strchr(run.out, '\n') + 1, table);
        end_run(&run);
        EXPECT(0, "{\"artifacts\":[{\"name\":\"mir\",\"bytes\":4096}],\"file\":", "", "report", "--artifacts",
               "--json", path);
        EXPECT(0, "bytes,name\r\n4096,mir\r\n", "", "report", "--artifacts", "--csv", "--columns=bytes,name",
               path);
        EXPECT(2, "", "--by does not apply to artifacts", "report", "--artifacts", "--by=thread", path);
    }
}

/* A folder of two profiles and another file, and their sums. */
static void a_folder_of_profiles_is_added_up(void **state)
{
    const char *folder = in_folder("workspace");
    (void)state;
    assert_int_equal(mkdir(folder, 0700), 0);
    make_profile("workspace/a.mm_profdata", time_metadata);
    make_profile("workspace/b.mm_profdata", time_metadata);
    FILE *notes = fopen(in_folder("workspace/notes"), "w");
    assert_non_null(notes);
    assert_int_equal(fclose(notes), 0);
    struct run run = RUN("report", "--sum", folder);
    assert_int_equal(run.exit, 0);
    assert_says(run.err, "left out: 1 file or folder without a trace");
    assert_says(run.out, "2 files: 10 events, 2 streams with spans, format 9\n");
    assert_says(run.out, "all 2 files");
    assert_says(run.out,
                "| typeck  | 3.99ms    | 99.875          | 4.00ms | 2          | 0          | 200.00ns ");
    assert_says(run.out, "Total cpu time: 4ms\n");
    assert_says(run.out, "| mir  | 8192 bytes    |\n");
    end_run(&run);
    EXPECT(0, "\"spans\":3,\"events\":5,\"artifacts\":4096,\"damage_count\":0},{\"name\":", "1 file",
           "report", "--sum", "--json", folder);
    EXPECT(0, "name,artifacts\r\n", "1 file", "report", "--sum", "--csv", "--columns=name,artifacts", folder);
    EXPECT(0, "typeck arg0=\"main\"", "1 file", "report", "--sum", "--by=argument", folder);
}

static void sums_of_traces_and_of_their_profiles_agree(void **state)
{
    const char *path = make_profile("first.mm_profdata", time_metadata);
    const char *trace = in_folder("second.tbed");
    (void)state;
    EXPECT(0, "imported: 5 events", "", "import", path, "-o", trace);
    struct run two = RUN("report", "--sum", "--csv", "--columns=name,total,self,p50,max,hits", path, path);
    struct run mixed = RUN("report", "--sum", "--csv", "--columns=name,total,self,p50,max,hits", path, trace);
    assert_int_equal(two.exit, 0);
    assert_non_null(strstr(two.out, "typeck,4000200,3994990,"));
    assert_non_null(strstr(mixed.out, "typeck,"));
    assert_string_equal(strstr(two.out, "typeck,"), strstr(mixed.out, "typeck,")); /* files come before */
    end_run(&two);
    end_run(&mixed);
}

static void what_cannot_be_added_up_is_refused(void **state)
{
    const char *path = make_profile("time2.mm_profdata", time_metadata);
    const char *counts = make_profile("counts2.mm_profdata", count_metadata);
    (void)state;
    EXPECT(2, "", "counts something else than the files before it", "report", "--sum", path, counts);
    EXPECT(2, "", "--sum cannot be combined", "report", "--sum", "--over-time", path);
    EXPECT(2, "", "--sum cannot be combined", "report", "--sum", "--by=second", path);
    EXPECT(2, "", "--sum cannot be combined", "report", "--sum", "--allocations", path);
    EXPECT(2, "", "does not apply to mm_profdata", "report", "--sum", "--by=stack", path);
    EXPECT(2, "", "No such file", "report", "--sum", in_folder("missing"));
    assert_int_equal(mkdir(in_folder("empty"), 0700), 0);
    EXPECT(2, "", "no traces and no profiles in", "report", "--sum", in_folder("empty"));
}

static void an_export_leaves_out_instants_and_counters_as_asked(void **state)
{
    const char *path = make_profile("whole.mm_profdata", time_metadata), *out = in_folder("part.mm_profdata");
    (void)state;
    struct run run = RUN("export", "--to=mm_profdata", "--no-instants", "--no-counters", path, "-o", out);
    assert_int_equal(run.exit, 0);
    assert_says(run.out, "1 instant omitted, as asked for");
    assert_says(run.out, "1 value of counters omitted, as asked for");
    end_run(&run);
    EXPECT(0, "3 intervals, 0 instants, 0 integers", "", "info", out);
}

/* A killed rustc leaves its first string, the metadata, without the index that names it. */
static void metadata_is_found_without_its_record(void **state)
{
    static const char path[] = "spec/golden/measureme/STREAM_no_index.mm_profdata";
    (void)state;
    EXPECT(1, "42          0  prog\n", "string index", "info", path);
    EXPECT(1, "rustc;<", "string index", "flame", "--folded", path);
}

static void counts_are_no_time(void **state)
{
    const char *path = make_profile("counts.mm_profdata", count_metadata);
    (void)state;
    EXPECT(0, "| 2,505 ", "", "report", path);
    EXPECT(0, "Total instructions: 2,000,000\n", "", "report", path);
    EXPECT(0, "\"unit\":\"instructions\"", "", "report", "--json", path);
}

static void spans_that_overlap_are_told(void **state)
{
    struct profile profile;
    (void)state;
    start_profile(&profile);
    uint64_t metadata = add_string(&profile, time_metadata), query = add_string(&profile, "Query");
    uint64_t id = add_string(&profile, "a");
    add_event(&profile, query, id, 0, 20);
    add_event(&profile, query, id, 10, 30);
    add_event(&profile, query, id, 50, 40);
    const char *path = write_profile(&profile, "overlap.mm_profdata", metadata);
    EXPECT(0, "1 span overlaps another without nesting.\n", "", "report", path);
    EXPECT(0, "1 span ends before it begins", "", "report", path);
    EXPECT(0, "\"overlaps\":1,\"inverted\":1", "", "report", "--json", path);
}

static void a_profile_that_is_cut_costs_exit_1(void **state)
{
    const char *path = make_profile("cut.mm_profdata", time_metadata);
    (void)state;
    assert_int_equal(truncate(path, 8 + 5 + 8 + 2 * 32 + 7), 0);
    EXPECT(1, "2 events", "damaged", "report", path);
    EXPECT(1, "\"event_count\":2", "damaged", "report", "--json", path);
}

static const char *make_whole_spans(const char *name)
{
    const char *path = in_folder(name);
    struct tbed_writer *writer = open_given_writer(path, 1000000);
    struct tbed_recorder *recorder = tbed_recorder_open_given(writer, "main", 1);
    struct tbed_given_event event = {.type = TBED_GIVEN_SPAN, .category = TBED_ID_INVALID};
    event.id = tbed_string_intern(writer, "inner", 5);
    event.begin_tick = 10;
    event.tick = 15;
    tbed_event_record_given(recorder, &event);
    event.id = tbed_string_intern(writer, "outer", 5);
    event.begin_tick = 0;
    event.tick = 20;
    tbed_event_record_given(recorder, &event);
    tbed_writer_close(writer);
    return path;
}

/* Its ticks are microseconds. */
static void a_trace_with_whole_spans_is_shown_by_label(void **state)
{
    const char *path = make_whole_spans("whole.tbed");
    (void)state;
    EXPECT(0, "| outer  | 15.00\u00B5s   | 75.000          | 20.00\u00B5s | 1 ", "", "report", path);
    EXPECT(0, "Total cpu time: 20\u00B5s\n", "", "report", path);
    EXPECT(0, "{\"total_ns\":20000,\"rows\":[{\"name\":\"outer\",\"time_ns\":20000,\"self_ns\":15000", "",
           "report", "--json", path);
    EXPECT(0, "\"whole_span_count\":2", "", "report", "--json", path);
    EXPECT(0, "\"unknown_count\":0", "", "report", "--json", path);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(a_profile_is_shown_by_label),
        cmocka_unit_test(small_labels_are_left_out_as_asked),
        cmocka_unit_test(json_has_the_same_rows_read_in_place_and_imported),
        cmocka_unit_test(artifacts_are_shown_alone),
        cmocka_unit_test(a_folder_of_profiles_is_added_up),
        cmocka_unit_test(sums_of_traces_and_of_their_profiles_agree),
        cmocka_unit_test(what_cannot_be_added_up_is_refused),
        cmocka_unit_test(an_export_leaves_out_instants_and_counters_as_asked),
        cmocka_unit_test(metadata_is_found_without_its_record),
        cmocka_unit_test(counts_are_no_time),
        cmocka_unit_test(spans_that_overlap_are_told),
        cmocka_unit_test(a_profile_that_is_cut_costs_exit_1),
        cmocka_unit_test(a_trace_with_whole_spans_is_shown_by_label),
    };
    return cmocka_run_group_tests(tests, make_folder, remove_folder);
}
