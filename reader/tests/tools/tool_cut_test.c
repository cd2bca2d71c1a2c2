/*
 * tracebed cut: a part of a trace as a trace.
 *
 * SPDX-License-Identifier: MIT
 */
#include "reader/tests/tools/tool_run.h"

#include <tracebed/copy.h>
#include <tracebed/reader.h>

static void give(struct tbed_recorder *recorder, enum tbed_given_type type, uint32_t id, uint64_t tick)
{
    struct tbed_given_event event = {.type = type, .id = id, .category = TBED_ID_INVALID, .tick = tick};
    tbed_event_record_given(recorder, &event);
}

/* Thread "left": main 1000 to 9201, in it 40 times load of 150 ticks. Thread "right": wait, which never ends. */
static const char *make_threads(const char *name)
{
    const char *path = in_folder(name);
    struct tbed_writer_options options = {.size = sizeof options,
                                          .overwrite = true,
                                          .no_helper = true,
                                          .page_nbytes = 4096,
                                          .given_ticks = true,
                                          .given_ticks_per_second = 1000000000,
                                          .given_realtime_ns = INT64_C(1795342500000000000)};
    struct tbed_writer *writer = NULL;
    assert_int_equal(tbed_writer_open(path, &options, &writer, NULL), TBED_OK);
    struct tbed_recorder *left = tbed_recorder_open_given(writer, "left", 11);
    struct tbed_recorder *right = tbed_recorder_open_given(writer, "right", 12);
    uint32_t load = intern(writer, "load"), hit = intern(writer, "hit");
    give(left, TBED_GIVEN_BEGIN, intern(writer, "main"), 1000);
    give(right, TBED_GIVEN_BEGIN, intern(writer, "wait"), 1100);
    for (uint64_t i = 0; i < 40; i++) {
        give(left, TBED_GIVEN_BEGIN, load, 1000 + 203 * i);
        give(left, TBED_GIVEN_INSTANT, hit, 1051 + 203 * i);
        give(left, TBED_GIVEN_END, load, 1150 + 203 * i);
        give(right, TBED_GIVEN_INSTANT, hit, 1163 + 203 * i);
    }
    give(left, TBED_GIVEN_END, 0, 9201);
    tbed_writer_close(writer);
    return path;
}

/* Without the lines that name the file and the part. */
static const char *rows_of(const struct run *run)
{
    const char *rows = strstr(run->out, "  span\n");
    assert_non_null(rows);
    return rows;
}

/* A command shows of the cut what it shows of the trace with the options. */
static void assert_same(const char *verb, const char *path, const char *cut, const char *const options[])
{
    const char *words[16] = {verb, path};
    size_t count = 2;
    for (size_t i = 0; options[i] != NULL; i++)
        words[count++] = options[i];
    struct run whole = run_with(&(struct run_with){0}, words), part = RUN(verb, cut);
    assert_int_equal(whole.exit, 0);
    assert_int_equal(part.exit, 0);
    assert_string_equal(rows_of(&part), rows_of(&whole));
    end_run(&whole);
    end_run(&part);
}

static void a_cut_has_what_the_options_choose(void **state)
{
    static const char *const options[][4] = {{NULL},
                                             {"-b2050ns", "-e7010ns", NULL},
                                             {"-b", "3us", NULL},
                                             {"-t", "left", "-e5us", NULL},
                                             {"-n", "load|hit", NULL},
                                             {"--minimum-duration=200ns", "-b4us", NULL},
                                             {"--inside=load", "-e30%", NULL},
                                             {"-n", "wait", NULL}, /* without the last event of its stream */
                                             {"--exclude=main", NULL}};
    const char *path = make_threads("threads.tbed"), *cut = in_folder("cut.tbed");
    (void)state;
    for (size_t i = 0; i < sizeof options / sizeof options[0]; i++) {
        const char *words[16] = {"cut", "-f", path, "-o", cut};
        for (size_t j = 0; options[i][j] != NULL; j++)
            words[5 + j] = options[i][j];
        expect(words, 0, "cut.tbed: cut: ", "");
        EXPECT(0, NULL, "", "verify", cut);
        assert_same("report", path, cut, options[i]);
        assert_same("tree", path, cut, options[i]);
    }
}

static void a_cut_keeps_wall_clock_time_and_threads(void **state)
{
    const char *path = make_threads("wall.tbed"), *cut = in_folder("wall-cut.tbed");
    (void)state;
    EXPECT(0, "122 events of 1 stream,", "", "cut", "-t", "left", path, "-o", cut);
    EXPECT(0, "163 events of 2 streams", "", "cut", "-f", path, "-o", cut);
    struct tbed_reader *reader = NULL;
    struct tbed_stream_info stream;
    int64_t ns = 0;
    assert_int_equal(tbed_reader_open(cut, NULL, &reader, NULL), TBED_OK);
    assert_int_equal(tbed_ticks_to_realtime_ns(reader, 1000, &ns), TBED_OK);
    assert_true(ns == INT64_C(1795342500000001000));
    assert_true(tbed_stream_get(reader, 1, &stream));
    assert_int_equal(stream.tid, 12);
    tbed_reader_close(reader);
}

static void a_file_is_not_replaced_without_force(void **state)
{
    const char *path = make_threads("kept.tbed"), *out = in_folder("taken.tbed");
    (void)state;
    write_whole(out, "mine", 4);
    EXPECT(2, "", "taken.tbed: exists already", "cut", path, "-o", out);
    char *kept = read_whole(out, NULL);
    assert_string_equal(kept, "mine");
    free(kept);
    EXPECT(0, "cut: ", "", "cut", "-f", path, "-o", out);
    EXPECT(2, "", NULL, "cut", "-f", out, "-o", out);
    EXPECT(2, "", "missing option -o OUT", "cut", path);
    EXPECT(2, "", "missing FILE operand", "cut", "-o", out);
    EXPECT(2, "", "too many FILE operands", "cut", path, path, "-o", out);
    EXPECT(2, "", "standard output", "cut", path, "-o", "-");
}

static void a_cut_has_only_its_own_strings(void **state)
{
    const char *path = in_folder("bound.tbed"), *cut = in_folder("bound-cut.tbed");
    struct tbed_writer *writer = open_writer(path, true);
    struct tbed_recorder *recorder = tbed_recorder_open(writer, "main");
    uint32_t first = tbed_id_reserve(writer, 3);
    struct tbed_component parts[] = {{.text = "green ", .nbytes = 6}, {.id = first + 1}};
    (void)state;
    tbed_id_bind(writer, first, 1, tbed_string_alloc(writer, parts, 2));
    tbed_id_bind(writer, first + 1, 1, intern(writer, "apple"));
    tbed_id_bind(writer, first + 2, 1, intern(writer, "pear"));
    tbed_instant_record(recorder, first);
    tbed_instant_record(recorder, first + 2);
    tbed_writer_close(writer);
    EXPECT(0, "1 event of 1 stream", "", "cut", "-n", "green", path, "-o", cut);
    struct run strings = RUN("strings", cut), dump = RUN("dump", cut);
    assert_says(dump.out, "green apple");
    assert_says(strings.out, "apple");
    assert_silent_on(strings.out, "pear");
    end_run(&strings);
    end_run(&dump);
}

static void damage_is_noted_in_the_cut(void **state)
{
    const char *path = make_threads("damaged.tbed"), *cut = in_folder("damaged-cut.tbed");
    size_t nbytes;
    (void)state;
    char *bytes = read_whole(path, &nbytes);
    bytes[nbytes - 4096 + 100] ^= 1; /* the last page */
    write_whole(path, bytes, nbytes);
    free(bytes);
    EXPECT(1, "1 gap noted", "damaged", "cut", path, "-o", cut);
    struct tbed_reader *reader = NULL;
    struct tbed_lost_info lost;
    assert_int_equal(tbed_reader_open(cut, NULL, &reader, NULL), TBED_OK);
    assert_int_equal(tbed_reader_verify(reader), TBED_OK);
    assert_true(tbed_lost_get(reader, 0, &lost));
    assert_false(tbed_lost_get(reader, 1, &lost));
    tbed_reader_close(reader);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(a_cut_has_what_the_options_choose),
        cmocka_unit_test(a_cut_keeps_wall_clock_time_and_threads),
        cmocka_unit_test(a_file_is_not_replaced_without_force),
        cmocka_unit_test(a_cut_has_only_its_own_strings),
        cmocka_unit_test(damage_is_noted_in_the_cut),
    };
    return cmocka_run_group_tests(tests, make_folder, remove_folder);
}
