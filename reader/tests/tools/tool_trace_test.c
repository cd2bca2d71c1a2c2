/*
 * tracebed info, strings and verify: their output for an intact trace, one that was never closed, and a damaged one.
 *
 * SPDX-License-Identifier: MIT
 */
#include "reader/tests/tools/tool_run.h"

#include <signal.h>

#define CLOSED_OFFSET 608 /* spec/format.md, section 3.2: the state */

/* Flips the lowest bit of a byte. */
static void spoil(const char *path, size_t offset)
{
    size_t nbytes;
    char *bytes = read_whole(path, &nbytes);
    assert_true(offset < nbytes);
    bytes[offset] ^= 1;
    write_whole(path, bytes, nbytes);
    free(bytes);
}

/* ---- info ---- */

static void info_tells_of_a_clean_trace(void **state)
{
    const char *path = make_small("clean.tbed", false);
    (void)state;
    struct run run = RUN("info", path);
    assert_int_equal(run.exit, 0);
    assert_string_equal(run.err, "");
    assert_says(run.out, "clean.tbed\n");
    assert_says(run.out, "cleanly closed\n");
    assert_silent_on(run.out, "not cleanly closed");
    assert_says(run.out, "pages of 4 KiB");
    assert_says(run.out, "CLOCK_MONOTONIC, 1,000,000,000 ticks per second");
    assert_says(run.out, "+00:00\n");
    assert_says(run.out, "  test\n");
    assert_says(run.out, "thread    main\n");
    assert_silent_on(run.out, "MISSING");
    end_run(&run);
}

static void info_explains_an_unclosed_trace(void **state)
{
    const char *path = make_unclosed("unclosed.tbed");
    (void)state;
    EXPECT(0, "not cleanly closed", "", "info", path);
    EXPECT(0, "3 unsealed blocks have no checksum yet.", "", "info", "spec/golden/valid/killed.tbed");
    EXPECT(0, "nothing to repair", "", "info", path);
    EXPECT(0, "\"cleanly_closed\":false,\"being_written\":false", "", "info", "--json", path);
}

static void info_does_not_call_a_cut_trace_clean(void **state)
{
    const char *shut = "spec/golden/invalid/BLOCK_CUT-shut.tbed";
    const char *killed = "spec/golden/invalid/BLOCK_CUT-killed.tbed";
    (void)state;
    EXPECT(1, "damaged since it was closed", "events of stream 2, block 0", "info", shut);
    EXPECT(1, "\"cleanly_closed\":false", "damaged in 3 places", "info", "--json", shut);
    EXPECT(1, "It is damaged as well", "events of stream 2, block 0", "info", killed);
    struct run run = RUN("info", killed);
    assert_silent_on(run.out, "nothing to repair");
    end_run(&run);
}

static void info_knows_a_trace_that_is_being_written(void **state)
{
    const char *path = in_folder("live.tbed");
    struct tbed_writer *writer = open_writer(path, false);
    (void)state;
    record_small(writer);
    EXPECT(0, "\"cleanly_closed\":false", "", "info", "--json", path);
    EXPECT(0, "  load\n", "", "dump", path);
    EXPECT(0, "not cleanly closed", "", "verify", path);
    tbed_writer_close(writer);
    EXPECT(0, "\"cleanly_closed\":true", "", "info", "--json", path);
}

static void gaps_of_a_flight_recorder_are_shown(void **state)
{
    const char *ring = "spec/golden/valid/ring.tbed", *line = "stream 2: 1 block between 103 ns and 300 ns\n";
    const char *json =
        "\"blocks\":1,\"stream\":2,\"first_sequence\":3,\"first_tick\":1000203,\"last_tick\":1000400";
    (void)state;
    EXPECT(0, "1 block is missing between others", "", "info", ring);
    EXPECT(0, line, "", "info", ring);
    EXPECT(0, line, "", "report", ring);
    EXPECT(0, "instant", line, "dump", ring);
    EXPECT(0, json, "", "info", "--json", ring);
    EXPECT(0, json, "", "report", "--json", ring);
    EXPECT(0, "{\"missing\":1,\"stream\":2,\"first_sequence\":3,", "", "dump", "--json", ring);
    EXPECT(0, "intact", "", "verify", ring);
}

static void info_is_loud_about_drops(void **state)
{
    const char *path = in_folder("drops.tbed");
    struct tbed_writer *writer = open_writer(path, false);
    struct tbed_recorder *recorder = tbed_recorder_open(writer, "main");
    (void)state;
    tbed_instant_record(recorder, intern(writer, "kept"));
    uint32_t id = intern(writer, "dropped");
    char *large = calloc(1, 8192);
    tbed_message_record(recorder, TBED_SEVERITY_NONE, large, 8192);
    tbed_instant_record(recorder, id);
    free(large);
    bool dropped = tbed_writer_drop_count(writer, TBED_DROP_TOO_LARGE) > 0;
    tbed_writer_close(writer);
    if (!dropped)
        skip();
    EXPECT(0, "RECORDS ARE MISSING: 1 dropped: 1 too large", "", "info", path);
    EXPECT(0, "\"drops\":{\"too_large\":1}", "", "info", "--json", path);
    EXPECT(0, "1 too large", "", "verify", path);
}

static void info_marks_the_lines_of_metadata(void **state)
{
    const char *path = in_folder("metadata.tbed");
    struct tbed_writer *writer = open_writer(path, true);
    (void)state;
    tbed_metadata_set(writer, "{\"a\":\n 1}", 9);
    record_small(writer);
    tbed_writer_close(writer);
    EXPECT(0, "metadata\n  | {\"a\":\n  |  1}\n", "", "info", path);
    EXPECT(0, "\"metadata\":\"{\\\"a\\\":\\n 1}\"", "", "info", "--json", path);
    EXPECT(0, "counts steps", "", "info", path);
}

/* ---- strings ---- */

static void strings_lists_entries(void **state)
{
    const char *path = make_small("strings.tbed", true);
    (void)state;
    EXPECT(0, "  parse\n", "", "strings", path);
    EXPECT(0, ",\"text\":\"parse\"}\n", "", "strings", "--json", path);
}

static void strings_shows_components_and_bindings(void **state)
{
    const char *path = in_folder("components.tbed");
    struct tbed_writer *writer = open_writer(path, true);
    uint32_t later = tbed_id_reserve(writer, 3), never = tbed_id_reserve(writer, 1);
    struct tbed_component both[] = {{"see ", 4, 0}, {NULL, 0, later}},
                          none[] = {{"to ", 3, 0}, {NULL, 0, never}};
    char raw[64], binding[64], unresolved[64];
    (void)state;
    uint32_t composed = tbed_string_alloc(writer, both, 2), broken = tbed_string_alloc(writer, none, 2);
    tbed_id_bind(writer, later, 3, intern(writer, "the end"));
    struct tbed_recorder *recorder = tbed_recorder_open(writer, "main");
    tbed_instant_record(recorder, composed);
    tbed_instant_record(recorder, never);
    tbed_writer_close(writer);
    snprintf(raw, sizeof raw, "%u  \"see \" <%u>\n", composed, later);
    snprintf(binding, sizeof binding, " %u-%u  ", later, later + 2);
    snprintf(unresolved, sizeof unresolved, "%u  named by events 1 time: ", never);
    EXPECT(0, "  see the end\n", "", "strings", path);
    EXPECT(0, raw, "", "strings", "--raw", path);
    EXPECT(0, binding, "", "strings", "--bindings", path);
    EXPECT(0, unresolved, "", "strings", "--unresolved", path);
    snprintf(unresolved, sizeof unresolved, "{\"id\":%u,\"where\":\"entry\",\"error\":\"STRING_UNBOUND\"}\n",
             broken);
    EXPECT(0, unresolved, "", "strings", "--unresolved", "--json", path);
    snprintf(raw, sizeof raw, "\"components\":[\"see \",{\"id\":%u}]}\n", later);
    EXPECT(0, raw, "", "strings", "--raw", "--json", path);
    EXPECT(2, "", "cannot be combined", "strings", "--raw", "--bindings", path);
}

/* They have the time of a process or thread, and are not functions. */
static void the_outermost_rows_of_a_tree_say_what_they_are(void **state)
{
    const char *path = make_small("outermost.tbed", true);
    (void)state;
    EXPECT(0, "  test  [process]\n", "", "tree", path);
    EXPECT(0, "    load\n", "", "tree", path);
    EXPECT(0, "    main  [thread]\n", "", "tree", "--per-thread", path);
    EXPECT(0, "      load\n", "", "tree", "--per-thread", path);
}

static void strings_shows_a_tree(void **state)
{
    const char *path = in_folder("tree.tbed");
    struct tbed_writer *writer = open_writer(path, true);
    char option[64], wanted[256];
    (void)state;
    uint32_t end = intern(writer, "end"), bound = tbed_id_reserve(writer, 1),
             never = tbed_id_reserve(writer, 1);
    struct tbed_component parts[] = {{"the ", 4, 0}, {NULL, 0, bound}, {NULL, 0, end}, {NULL, 0, never}};
    uint32_t id = tbed_string_alloc(writer, parts, 4);
    tbed_id_bind(writer, bound, 1, end);
    tbed_writer_close(writer);
    snprintf(option, sizeof option, "--tree=%u", id);
    snprintf(wanted, sizeof wanted,
             "%u  string, 16 bytes (the id was never given a meaning)\n"
             "  \"the \"\n"
             "  %u  bound, 3 bytes\n"
             "    %u  string, 3 bytes\n"
             "      \"end\"\n"
             "  %u  string, 3 bytes, as above\n"
             "  %u  the id was never given a meaning (STRING_UNBOUND)\n",
             id, bound, end, end, never);
    EXPECT(0, wanted, "", "strings", option, path);
    snprintf(wanted, sizeof wanted, "{\"depth\":1,\"id\":%u,\"meaning\":\"bound\",\"bytes\":3}\n", bound);
    EXPECT(0, wanted, "", "strings", "--json", option, path);
    snprintf(option, sizeof option, "--tree=%u", end);
    snprintf(wanted, sizeof wanted,
             "referred to by 1 string and 1 binding of 1 id\n%10u  the endend<id %u>\n", id, never);
    EXPECT(0, wanted, "", "strings", option, path);
    EXPECT(0, "536870912  the id was never given a meaning", "", "strings", "--tree=metadata", path);
    EXPECT(2, "", "--tree: invalid id", "strings", "--tree=x", path);
    EXPECT(2, "", "--tree: invalid id", "strings", "--tree=1073741824", path);
}

/* ---- verify ---- */

static void verify_finds_a_clean_trace_intact(void **state)
{
    const char *path = make_small("intact.tbed", true);
    (void)state;
    EXPECT(0, ": intact: 8 events in 1 stream, ", "", "verify", path);
    EXPECT(0, "\"verdict\":\"intact\",\"events\":8,\"streams\":1,", "", "verify", "--json", path);
    EXPECT(0, "", "", "verify", "-q", path);
}

static void verify_finds_an_unclosed_trace_undamaged(void **state)
{
    const char *path = make_unclosed("killed.tbed");
    (void)state;
    EXPECT(0, ": not cleanly closed, which is no damage: 8 events", "", "verify", path);
    EXPECT(0, "without a checksum", "", "verify", path);
    EXPECT(0, "\"verdict\":\"not_cleanly_closed\"", "", "verify", "--json", path);
}

static void verify_names_the_place_of_damage(void **state)
{
    const char *path = make_small("spoiled.tbed", true);
    size_t nbytes;
    (void)state;
    char *bytes = read_whole(path, &nbytes);
    char *name = memmem(bytes, nbytes, "parse", 5);
    assert_non_null(name);
    size_t offset = (size_t)(name - bytes);
    free(bytes);
    spoil(path, offset);
    EXPECT(1, ": damaged in ", "", "verify", path);
    EXPECT(1, "BLOCK_CHECKSUM: the checksum does not match; strings of process 1, block 0, ", "", "verify",
           path);
    EXPECT(1, ",\"kind\":\"strings\",\"stream\":1,\"sequence\":0,", "", "verify", "--json", path);
    EXPECT(1, "\"check\":\"BLOCK_CHECKSUM\",", "", "verify", "--json", path);
    EXPECT(1, "", "", "verify", "-q", path);
}

static void verify_says_the_same_with_any_number_of_jobs(void **state)
{
    static const char *const paths[] = {"spec/golden/invalid/BLOCK_CUT-shut.tbed",
                                        "spec/golden/invalid/EVENT_TICK.tbed",
                                        "spec/golden/valid/killed.tbed"};
    (void)state;
    for (size_t i = 0; i < sizeof paths / sizeof paths[0]; i++) {
        struct run one = RUN("verify", "-j1", paths[i]), four = RUN("verify", "--jobs=4", paths[i]);
        assert_int_equal(one.exit, four.exit);
        assert_string_equal(one.out, four.out);
        assert_string_equal(one.err, four.err);
        end_run(&one);
        end_run(&four);
    }
    EXPECT(2, "", "--jobs takes a number of threads", "verify", "-jx", paths[0]);
}

static void verify_takes_a_bad_header_for_damage(void **state)
{
    const char *path = make_small("header.tbed", true);
    (void)state;
    spoil(path, 72);
    EXPECT(1, "page 0, cell 0: HEADER_CHECKSUM: ", "", "verify", path);
    EXPECT(1, "  load\n", "the header's checksum does not match", "dump", path); /* a cells page has a copy */
}

static void header_without_a_copy_needs_recovery(void **state)
{
    const char *path = "spec/golden/invalid/HEADER_CHECKSUM.tbed";
    (void)state;
    EXPECT(1, "page 0, cell 0: HEADER_CHECKSUM: ", "", "verify", path);
    EXPECT(2, "", "the header's checksum does not match", "info", path);
    EXPECT(2, "", "tracebed recover", "info", path);
}

static void verify_tells_a_foreign_file_from_a_damaged_one(void **state)
{
    const char *path = in_folder("foreign");
    (void)state;
    write_whole(path, "something else", 14);
    EXPECT(2, "", "neither a trace nor in a format", "verify", path);
    EXPECT(2, "\"verdict\":\"unreadable\",\"error\":\"NOT_A_TRACE\"", NULL, "verify", "--json", path);
}

static void verify_of_several_files_gives_the_worst(void **state)
{
    char good[512], bad[512];
    (void)state;
    snprintf(good, sizeof good, "%s", make_small("good.tbed", true));
    snprintf(bad, sizeof bad, "%s", make_small("bad.tbed", true));
    spoil(bad, CLOSED_OFFSET);
    EXPECT(0, "intact", "", "verify", good, good);
    EXPECT(1, "intact", "", "verify", good, bad);
    EXPECT(1, "STATE", "", "verify", bad, good);
    EXPECT(2, "intact", "No such file", "verify", bad, in_folder("gone.tbed"), good);
}

/* Changes every byte of a small trace in turn: verify must not say "intact", and nothing may crash or hang. */
static void any_spoiled_byte_is_found(void **state)
{
    const char *path = make_small("each.tbed", true), *copy = in_folder("each-spoiled.tbed");
    size_t nbytes;
    (void)state;
    char *bytes = read_whole(path, &nbytes);
    for (size_t offset = 0; offset < nbytes; offset += offset < 640 ? 3 : 61) {
        bytes[offset] ^= 0x10;
        write_whole(copy, bytes, nbytes);
        bytes[offset] ^= 0x10;
        struct run run = RUN("verify", "-q", copy);
        if (run.exit != 1 && run.exit != 2)
            fail_msg("byte %zu spoiled: exit %d %s", offset, run.exit, run.err);
        end_run(&run);
    }
    free(bytes);
}

/* Truncated anywhere: reported, never a crash. */
static void any_cut_is_survived(void **state)
{
    static const char *const verbs[] = {"info", "dump", "strings", "verify"};
    const char *path = make_small("cut.tbed", true), *copy = in_folder("cut-short.tbed");
    size_t nbytes;
    (void)state;
    char *bytes = read_whole(path, &nbytes);
    for (size_t length = 1; length < nbytes; length += 509) {
        write_whole(copy, bytes, length);
        for (size_t i = 0; i < sizeof verbs / sizeof verbs[0]; i++) {
            struct run run = RUN(verbs[i], copy);
            if (run.exit != 1 && run.exit != 2)
                fail_msg("%s of %zu bytes: exit %d %s", verbs[i], length, run.exit, run.err);
            end_run(&run);
        }
    }
    free(bytes);
}

static struct tbed_writer *record_ring(const char *path)
{
    struct tbed_writer_options options = {.size = sizeof options,
                                          .overwrite = true,
                                          .no_helper = true,
                                          .page_nbytes = 4096,
                                          .ring_nbytes = 4 * 4096};
    struct tbed_writer *writer = NULL;
    assert_int_equal(tbed_writer_open(path, &options, &writer, NULL), TBED_OK);
    struct tbed_recorder *recorder = tbed_recorder_open(writer, "main");
    tbed_span_begin(recorder, intern(writer, "outermost"));
    for (uint32_t i = 0; i < 5000; i++) {
        tbed_span_begin(recorder, intern(writer, "inner"));
        tbed_span_end(recorder);
    }
    return writer;
}

/* Their output is the same for a trace that is being written and one whose program was killed. */
static void a_ring_is_read_while_it_is_written_and_after_a_kill(void **state)
{
    const char *path = in_folder("recorder.tbed"), *to = in_folder("of_recorder.tbed");
    struct tbed_writer *writer = NULL;
    (void)state;
    for (int killed = 0; killed < 2; killed++) {
        if (!killed) {
            writer = record_ring(path);
        } else {
            pid_t child = fork();
            if (child == 0 && record_ring(path) != NULL)
                kill(getpid(), SIGKILL);
            assert_int_equal(waitpid(child, NULL, 0), child);
        }
        EXPECT(0, "which is no damage", "", "verify", path);
        EXPECT(0, "flight recorder: keeps the newest 16 KiB of events", "", "info", path);
        EXPECT(0, killed ? "\"being_written\":false" : "\"being_written\":true", "", "info", "--json", path);
        EXPECT(0, "inner", "", "report", path);
        EXPECT(0, "outermost", "", "report", path); /* though its begin is long gone */
        EXPECT(0, "inner\n", "", "dump", path);
        EXPECT(0, ": saved: ", "", "snapshot", "-f", path, "-o", to);
        EXPECT(0, "intact: ", "", "verify", to);
        if (!killed)
            tbed_writer_free(writer);
    }
}

static void snapshot_of_a_ring_is_a_trace_of_its_own(void **state)
{
    const char *to = in_folder("snapshot.tbed"), *ring = "spec/golden/valid/ring.tbed";
    (void)state;
    EXPECT(0, ": saved: ", "", "snapshot", ring, "-o", to);
    EXPECT(0, "intact: 12 events in 2 streams", "", "verify", to);
    EXPECT(2, "", "Use --force to replace it", "snapshot", ring, "-o", to);
    EXPECT(0, ": saved: ", "", "snapshot", "-f", ring, "-o", to);
    EXPECT(2, "", "missing option -o OUT", "snapshot", ring);
    EXPECT(2, "", "neither a trace nor in a format", "snapshot", "-f", "run", "-o", to);
    EXPECT(2, "", "output and input are the same file", "snapshot", "-f", to, "-o", to);
    EXPECT(2, "", "a trace cannot be written", "snapshot", ring, "-o", "-");
    assert_int_equal(mkfifo(in_folder("fifo"), 0600), 0);
    EXPECT(2, "", "it is not a regular file", "snapshot", "-f", ring, "-o", in_folder("fifo"));
    unlink(in_folder("fifo"));
    EXPECT(0, "intact: 12 events", "", "verify", to); /* it is what it was */
    struct run info = RUN("info", to);
    assert_silent_on(info.out, "flight recorder");
    end_run(&info);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(info_tells_of_a_clean_trace),
        cmocka_unit_test(info_explains_an_unclosed_trace),
        cmocka_unit_test(info_does_not_call_a_cut_trace_clean),
        cmocka_unit_test(info_knows_a_trace_that_is_being_written),
        cmocka_unit_test(gaps_of_a_flight_recorder_are_shown),
        cmocka_unit_test(info_is_loud_about_drops),
        cmocka_unit_test(info_marks_the_lines_of_metadata),
        cmocka_unit_test(strings_lists_entries),
        cmocka_unit_test(strings_shows_components_and_bindings),
        cmocka_unit_test(the_outermost_rows_of_a_tree_say_what_they_are),
        cmocka_unit_test(strings_shows_a_tree),
        cmocka_unit_test(verify_finds_a_clean_trace_intact),
        cmocka_unit_test(verify_finds_an_unclosed_trace_undamaged),
        cmocka_unit_test(verify_names_the_place_of_damage),
        cmocka_unit_test(verify_says_the_same_with_any_number_of_jobs),
        cmocka_unit_test(verify_takes_a_bad_header_for_damage),
        cmocka_unit_test(header_without_a_copy_needs_recovery),
        cmocka_unit_test(verify_tells_a_foreign_file_from_a_damaged_one),
        cmocka_unit_test(verify_of_several_files_gives_the_worst),
        cmocka_unit_test(a_ring_is_read_while_it_is_written_and_after_a_kill),
        cmocka_unit_test(snapshot_of_a_ring_is_a_trace_of_its_own),
        cmocka_unit_test(any_spoiled_byte_is_found),
        cmocka_unit_test(any_cut_is_survived),
    };
    return cmocka_run_group_tests(tests, make_folder, remove_folder);
}
