/*
 * tracebed import and export, and foreign files given to the other verbs: what they print and how they exit.
 *
 * SPDX-License-Identifier: MIT
 */
#include "reader/tests/tools/tool_run.h"
#include <tracebed/exchange.h>

#include "reader/tests/measureme/profile_build.h"

#include <signal.h>
#include <sys/resource.h>

static const char *make_profile(const char *name, const char *metadata, size_t cut)
{
    struct profile profile = profile_start(9);
    const char *path = in_folder(name);
    profile_metadata(&profile, metadata);
    uint64_t kind = profile_string(&profile, "Query"), label = profile_string(&profile, "type_of");
    profile_event(&profile, kind, label, 1, 100, 200);
    profile_event(&profile, kind, label, 1, 90, 60);
    profile_event(&profile, kind, label, 2, 100, PROFILE_INSTANT);
    profile_event(&profile, kind, label, 2, 5, PROFILE_INTEGER);
    struct profile_bytes file = profile_file(&profile);
    write_whole(path, file.bytes, file.nbytes - cut);
    free(file.bytes);
    profile_end(&profile);
    return path;
}

#define TIME "{ \"start_time\": 1000000000, \"process_id\": 42, \"cmd\": \"/bin/rustc x \" }"
#define COUNT                                                                                                \
    "{ \"process_id\": 42, \"counter\": { \"name\": \"instructions:u\", \"units\": [[\"instructions\", 1]] " \
    "} }"

static void import_says_what_it_found(void **state)
{
    const char *from = make_profile("a.mm_profdata", TIME, 0), *to = in_folder("a.tbed");
    (void)state;
    EXPECT(0, "a.tbed: imported: 4 events of 2 threads, 3 strings, from format 9\n", "", "import", from, "-o",
           to);
    EXPECT(2, "", "exists already\n  Use --force to replace it.\n", "import", from, "-o", to);
    EXPECT(0, "\n  1 interval with the end before the begin; kept unchanged\n", "", "import", "-f", from,
           "-o", to);
    EXPECT(0, "\n  1 event with an earlier end than its predecessor on the thread; kept in place\n", "",
           "import", "--force", from, "--output", to);
    EXPECT(0, "a.tbed: intact: 4 events in 2 streams", "", "verify", to);
    EXPECT(0, "rustc", "", "info", to);
}

static void damage_is_told_with_its_place_in_the_profile(void **state)
{
    const char *from = make_profile("cut.mm_profdata", TIME, 33), *to = in_folder("cut.tbed");
    struct run run = RUN("import", from, "-o", to);
    char place[64];
    struct stat st;
    (void)state;
    assert_int_equal(stat(from, &st), 0);
    assert_int_equal(run.exit, 1);
    assert_says(run.out, "imported: 2 events of 1 thread");
    assert_says(run.err, "cut.mm_profdata: damaged in ");
    assert_says(run.err, "(PROFILE_CUT, offset ");
    end_run(&run);
    EXPECT(0, "intact: 2 events in 1 stream", "", "verify", to);
    EXPECT(1, "cut.mm_profdata: damaged in ", "", "verify", from);
    EXPECT(1, "the file: PROFILE_CUT: the profile ends inside", "", "verify", from);
    EXPECT(1, "\"check\":\"PROFILE_CUT\"", "", "verify", "--json", from);
    EXPECT(1, "type_of", "cut.mm_profdata: damaged in ", "dump", from);
    EXPECT(1, "\"damage\":", "PROFILE_CUT", "info", "--json", from);
    snprintf(place, sizeof place, "offset %lld)", (long long)st.st_size - 31); /* the event that was cut */
    EXPECT(1, NULL, place, "report", from);
}

static void a_missing_stream_is_named(void **state)
{
    struct profile profile = profile_start(9);
    struct profile_bytes file = {0};
    const char *from = in_folder("alone.mm_profdata");
    (void)state;
    profile_event(&profile, 1, 5, 1, 100, 200);
    profile_put(&file, "MMPD\x09\0\0\0", 8);
    profile_pages(&profile, 0, &file);
    write_whole(from, file.bytes, file.nbytes);
    EXPECT(1, "wrong: string data\n", "", "verify", from);
    EXPECT(1, "<id 5>", "wrong: string index (PROFILE_STREAM)", "dump", from);
    free(file.bytes);
    profile_end(&profile);
}

/* If the disk is full, or a limit is reached, no file is left behind, not even an incomplete one. */
static void what_cannot_be_written_is_told_and_gone(void **state)
{
    struct profile profile = profile_start(9);
    const char *from = in_folder("large.mm_profdata"), *to = in_folder("large.tbed");
    (void)state;
    for (uint32_t i = 0; i < 100000; i++)
        profile_event(&profile, 1, 5, 1, i, i + 1);
    struct profile_bytes file = profile_file(&profile);
    write_whole(from, file.bytes, file.nbytes);
    struct rlimit before, limit;
    assert_int_equal(getrlimit(RLIMIT_FSIZE, &before), 0);
    limit = before;
    limit.rlim_cur = 1 << 20;
    signal(SIGXFSZ, SIG_IGN);
    assert_int_equal(setrlimit(RLIMIT_FSIZE, &limit), 0);
    EXPECT(2, "", "large.tbed: cannot be written: File too large", "import", from, "-o", to);
    EXPECT(2, "", "set TMPDIR", "info", from);
    assert_int_equal(setrlimit(RLIMIT_FSIZE, &before), 0);
    assert_int_equal(access(to, F_OK), -1);
    EXPECT(0, "imported: 100,000 events of 1 thread", NULL, "import", "-f", from, "-o", to);
    free(file.bytes);
    profile_end(&profile);
}

static void every_verb_takes_a_foreign_file(void **state)
{
    const char *from = make_profile("direct.mm_profdata", TIME, 0);
    struct run run;
    (void)state;
    EXPECT(0, "direct.mm_profdata", "", "report", from);
    EXPECT(0, "direct.mm_profdata: intact: 4 events in 2 streams", "", "verify", from);
    EXPECT(0, "Query", "", "strings", from);
    EXPECT(0, "\"type\":\"span\",\"id\":", "", "dump", "--json", from);
    EXPECT(0, "1970-01-01T00:00:01", "", "info", from);
    run = run_with(&(struct run_with){.input = from}, (const char *const[]){"verify", "-", NULL});
    assert_int_equal(run.exit, 0);
    assert_says(run.out, "standard input: intact: 4 events");
    end_run(&run);
}

/* A file with a damaged magic, or events without a header, belongs to the set of the other two files. */
static void one_of_three_files_may_be_broken(void **state)
{
    static const char *const names[] = {"set.events", "set.string_data", "set.string_index"};
    static const char *const verbs[] = {"info", "dump", "report", "verify", "strings"};
    struct profile profile = profile_start(5);
    const char *paths[3];
    char to[512];
    (void)state;
    snprintf(to, sizeof to, "%s/set.out", run_folder);
    uint64_t kind = profile_string(&profile, "Query"), label = profile_string(&profile, "type_of");
    profile_event(&profile, kind, label, 1, 100, 200);
    for (int broken = 0; broken < 4; broken++) { /* 3: events without a header */
        for (int i = 0; i < 3; i++) {
            struct profile_bytes bytes = profile.streams[i];
            paths[i] = in_folder(names[i]);
            if (broken == 3 && i == 0)
                write_whole(paths[i], bytes.bytes + 8, bytes.nbytes - 8);
            else
                write_whole(paths[i], bytes.bytes, bytes.nbytes);
        }
        const char *path = paths[broken % 3];
        if (broken < 3)
            write_whole(path, "M\rSM\5\0\0\0", 8);
        EXPECT(1, "imported: ", "damaged in ", "import", "-f", path, "-o", to);
        for (size_t i = 0; i < sizeof verbs / sizeof verbs[0]; i++) {
            struct run run = RUN(verbs[i], path);
            assert_int_equal(run.exit, 1);
            end_run(&run);
        }
        struct run diff = RUN("diff", path, path), flame = RUN("flame", "-f", path, "-o", to);
        assert_int_equal(diff.exit, 1);
        assert_int_equal(flame.exit, broken == 0 ? 2 : 1); /* no event is left to draw */
        end_run(&diff);
        end_run(&flame);
    }
    profile_end(&profile);
}

/* Regardless of other files in its folder. */
static void a_trace_of_ours_is_no_part_of_a_set(void **state)
{
    struct profile profile = profile_start(5);
    const char *trace = make_small("mixed.events", false);
    (void)state;
    write_whole(in_folder("mixed.string_data"), profile.streams[1].bytes, profile.streams[1].nbytes);
    EXPECT(0, "intact", "", "verify", trace);
    EXPECT(2, "", "not a foreign trace", "import", trace, "-o", in_folder("mixed.tbed"));
    profile_end(&profile);
}

/*
 * Every verb reports a damaged string, also one that no event uses. Bytes that are invalid only when read from the middle
 * of an entry are not damage.
 */
static void damage_of_strings_is_reported_by_every_verb(void **state)
{
    static const char *const verbs[] = {"report", "aggregate", "tree"};
    char place[64];
    (void)state;
    for (int is_used = 0; is_used < 2; is_used++) {
        struct profile profile = profile_start(9);
        const char *path = in_folder("needed.mm_profdata");
        uint64_t kind = profile_string(&profile, "Query"), euro = profile_string(&profile, "\xE2\x82\xAC");
        uint64_t broken = profile_here(&profile);
        profile_text(&profile, "bro\x80ken");
        profile_terminate(&profile);
        profile_event(&profile, kind, is_used ? broken : kind, 1, 100, 200);
        profile_event(&profile, kind, euro + 1, 1, 200, 300);
        struct profile_bytes file = profile_file(&profile);
        write_whole(path, file.bytes, file.nbytes);
        snprintf(place, sizeof place, "(PROFILE_STRING, offset %zu)\n",
                 (size_t)(8 + 5 + broken + 3 - PROFILE_FIRST));
        for (size_t i = 0; i < sizeof verbs / sizeof verbs[0]; i++)
            EXPECT(1, "<unknown>", place, verbs[i], path);
        EXPECT(1, "<unknown>", place, "diff", path, path);
        EXPECT(1, "PROFILE_STRING", "", "verify", path);
        free(file.bytes);
        profile_end(&profile);
    }
}

static void a_pipe_is_imported_too(void **state)
{
    const char *from = make_profile("pipe.mm_profdata", TIME, 0), *to = in_folder("pipe.tbed");
    size_t nbytes;
    char *bytes = read_whole(from, &nbytes);
    int ends[2];
    (void)state;
    assert_int_equal(pipe(ends), 0);
    assert_int_equal(write(ends[1], bytes, nbytes), (ssize_t)nbytes);
    close(ends[1]);
    struct run run = run_with(&(struct run_with){.input_fd = ends[0]},
                              (const char *const[]){"import", "-", "-o", to, NULL});
    close(ends[0]);
    assert_int_equal(run.exit, 0);
    assert_says(run.out, "imported: 4 events");
    end_run(&run);
    EXPECT(0, "intact: 4 events", "", "verify", to);
    free(bytes);
}

static void counts_are_shown_as_counts(void **state)
{
    const char *from = make_profile("count.mm_profdata", COUNT, 0);
    (void)state;
    EXPECT(0, "counts instructions", "", "info", from);
    EXPECT(0, " instructions\n", "", "info", from);
    EXPECT(0, "\"unit\":\"instructions\"", "", "info", "--json", from);
    struct run run = RUN("info", from);
    assert_silent_on(run.out, " ns\n");
    assert_silent_on(run.out, "per second");
    end_run(&run);
    EXPECT(0, "instructions", "", "report", from);
}

/* Not those of the trace that it was made on the way. */
static void info_shows_the_facts_of_the_foreign_file(void **state)
{
    const char *from = make_profile("facts.mm_profdata", TIME, 0);
    const char *cut = make_profile("facts_cut.mm_profdata", COUNT, 1);
    char size[64];
    struct stat status;
    (void)state;
    assert_int_equal(stat(from, &status), 0);
    snprintf(size, sizeof size, "(%lld bytes)\n", (long long)status.st_size);
    EXPECT(0, size, "", "info", from);
    EXPECT(0, "profile of measureme, version 9, in one file\n", "", "info", from);
    EXPECT(0, "4 events in 2 threads: 2 intervals, 1 instant, 1 integer\n", "", "info", from);
    EXPECT(0, "  3 strings\n", "", "info", from);
    EXPECT(0, "counts nanoseconds\n", "", "info", from);
    EXPECT(0, "duration", "", "info", from);
    struct run run = RUN("info", from), json = RUN("info", "--json", from);
    assert_silent_on(run.out, "file id");
    assert_silent_on(run.out, "cleanly");
    assert_silent_on(run.out, "pages of");
    assert_silent_on(run.out, "blocks");
    assert_silent_on(json.out, "file_id");
    assert_silent_on(json.out, "blocks");
    snprintf(size, sizeof size, "\"size\":%lld,\"format\":\"measureme\",\"version\":9,",
             (long long)status.st_size);
    assert_says(json.out, size);
    assert_says(json.out, "\"start_realtime_ns\":1000000000,\"duration_ns\":200,");
    assert_says(json.out,
                "\"events\":4,\"intervals\":2,\"instants\":1,\"integers\":1,\"strings\":3,\"threads\":2,");
    assert_says(json.out, "\"damages\":[],\"damage\":0,");
    end_run(&run);
    end_run(&json);
    EXPECT(1, "damaged in ", "damaged in ", "info", cut);
    EXPECT(1, "\"damages\":[{\"check\":\"PROFILE_CUT\",\"offset\":", "damaged in ", "info", "--json", cut);
    EXPECT(0, "4 events in 2 streams, 3 strings\n", "", "verify", from);
    EXPECT(1, "; can be read: ", "", "verify", cut);
}

static void metadata_is_shown_as_it_is(void **state)
{
    const char *from = make_profile("odd.mm_profdata", "{ \"cmd\": \"it\\'s\" }", 0);
    (void)state;
    EXPECT(0, "\nmetadata\n  | { \"cmd\": \"it\\'s\" }\n", "", "info", from);
}

static void export_says_what_it_left_out(void **state)
{
    const char *from = make_small("small.tbed", false), *to = in_folder("small.mm_profdata");
    (void)state;
    EXPECT(0, "small.mm_profdata: exported: 3 events, ", "", "export", "--to=mm_profdata", from, "-o", to);
    EXPECT(2, "", "Use --force to replace it.", "export", "--to=mm_profdata", from, "-o", to);
    EXPECT(0, "\n  3 events omitted, not supported by the format\n", "", "export", "-f", "--to=mm_profdata",
           from, "-o", to);
    EXPECT(0, "exported", "", "export", "-f", "--to=mm_profdata", "--format-version=8", from, "-o", to);
    EXPECT(0, "intact: 3 events", "", "verify", to);
    const char *cut = make_profile("cut2.mm_profdata", TIME, 1);
    EXPECT(1, "exported: 3 events", "damaged in ", "export", "-f", "--to=mm_profdata", cut, "-o", to);
}

static void what_is_read_is_not_replaced(void **state)
{
    const char *from = make_profile("same.mm_profdata", TIME, 0), *trace = make_small("same.tbed", false);
    const char *other = in_folder("same.link");
    size_t before, after;
    (void)state;
    free(read_whole(trace, &before));
    assert_int_equal(symlink(trace, other), 0);
    EXPECT(2, "", "output and input are the same file\n  Use -o FILE", "import", "-f", from, "-o", from);
    EXPECT(2, "", "output and input are the same file", "export", "-f", "--to=mm_profdata", trace, "-o",
           trace);
    EXPECT(2, "", "output and input are the same file", "export", "-f", "--to=chrome", from, trace, "-o",
           other);
    EXPECT(2, "", "output and input are the same file", "flame", "-f", trace, "-o", trace);
    free(read_whole(trace, &after));
    assert_int_equal(before, after);
    EXPECT(0, "intact", "", "verify", from);
}

/* Refused rather than ignored, because the output would not be what was requested. */
static void an_option_that_does_not_apply_to_a_format_is_refused(void **state)
{
    const char *from = make_profile("apply.mm_profdata", TIME, 0), *trace = make_small("apply.tbed", false);
    static const char *const options[] = {"--by=stack", "--sort=peak", "--allocations"};
    static const char *const others[] = {"--by=function", "--sort=p99", "--include-from=/dev/null",
                                         "--over-time=4"};
    (void)state;
    for (size_t i = 0; i < sizeof options / sizeof options[0]; i++)
        EXPECT(2, "", "does not apply to mm_profdata (it applies to: trace, rtl-log)", "report", options[i],
               from);
    for (size_t i = 0; i < sizeof others / sizeof others[0]; i++)
        EXPECT(0, "apply.mm_profdata", "", "report", others[i], from);
    EXPECT(2, "", "--sort=peak does not apply", "report", "--sort=count", "--sort=peak", from);
    EXPECT(2, "", "export: --quirks does not apply to chrome (it applies to: rtl-log)", "export",
           "--to=chrome", "--quirks", trace, "-o", "-");
    EXPECT(2, "", "export: --absolute does not apply to rtl-log", "export", "--to=rtl-log", "--absolute",
           trace, "-o", "-");
}

static void the_lists_of_formats_come_from_the_registry(void **state)
{
    const struct tbed_format *format;
    (void)state;
    for (size_t i = 0; (format = tbed_format_get(i)) != NULL; i++) {
        char line[256];
        snprintf(line, sizeof line, "\n  %-12s %s\n", format->name, format->summary);
        assert_ptr_equal(tbed_format_find(format->name), format);
        if (format->can_import)
            EXPECT(0, line, "", "import", "-h");
        if (format->can_export)
            EXPECT(0, line, "", "export", "-h");
    }
    assert_null(tbed_format_find("no"));
}

static void wrong_usage_is_told(void **state)
{
    const char *from = make_profile("usage.mm_profdata", TIME, 0), *trace = make_small("usage.tbed", false);
    const char *to = in_folder("usage.out");
    (void)state;
    EXPECT(2, "", "import: missing option -o OUT", "import", from);
    EXPECT(2, "", "import: missing FILE operand", "import", "-o", to);
    EXPECT(2, "", "not a foreign trace", "import", trace, "-o", to);
    EXPECT(2, "", "cannot be opened: No such file", "import", "/no/such/file", "-o", to);
    EXPECT(2, "", "/no/where.tbed: cannot be opened", "import", from, "-o", "/no/where.tbed");
    EXPECT(2, "", "import: a trace cannot be written", "import", from, "-o", "-");
    EXPECT(2, "", "export: this format cannot be written to standard output", "export", "--to=mm_profdata",
           trace, "-o", "-");
    EXPECT(2, "", "export: missing option --to=FORMAT", "export", trace, "-o", to);
    EXPECT(2, "", "export: --to: unknown format", "export", "--to=no", trace, "-o", to);
    EXPECT(2, "", "cannot be written in version 7 (expected 8 to 9)", "export", "--to=mm_profdata",
           "--format-version=7", trace, "-o", to);
    EXPECT(2, "", "export: missing option -o OUT", "export", "--to=mm_profdata", trace);
    assert_int_equal(access(to, F_OK), -1);
    EXPECT(0, "usage: tracebed import", "", "import", "-h");
    EXPECT(0, "usage: tracebed export", "", "help", "export");
    size_t nbytes;
    char *bytes = read_whole(from, &nbytes);
    bytes[4] = 10;
    write_whole(from, bytes, nbytes);
    free(bytes);
    EXPECT(2, "", "It has format version 10; versions 0 and 3 to 9 are supported.", "info", from);
    write_whole(from, "MMPD\x09", 5);
    EXPECT(1, "PROFILE_CUT", "", "verify", from);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(import_says_what_it_found),
        cmocka_unit_test(damage_is_told_with_its_place_in_the_profile),
        cmocka_unit_test(a_missing_stream_is_named),
        cmocka_unit_test(what_cannot_be_written_is_told_and_gone),
        cmocka_unit_test(every_verb_takes_a_foreign_file),
        cmocka_unit_test(one_of_three_files_may_be_broken),
        cmocka_unit_test(a_trace_of_ours_is_no_part_of_a_set),
        cmocka_unit_test(damage_of_strings_is_reported_by_every_verb),
        cmocka_unit_test(a_pipe_is_imported_too),
        cmocka_unit_test(counts_are_shown_as_counts),
        cmocka_unit_test(info_shows_the_facts_of_the_foreign_file),
        cmocka_unit_test(metadata_is_shown_as_it_is),
        cmocka_unit_test(export_says_what_it_left_out),
        cmocka_unit_test(what_is_read_is_not_replaced),
        cmocka_unit_test(an_option_that_does_not_apply_to_a_format_is_refused),
        cmocka_unit_test(the_lists_of_formats_come_from_the_registry),
        cmocka_unit_test(wrong_usage_is_told),
    };
    return cmocka_run_group_tests(tests, make_folder, remove_folder);
}
