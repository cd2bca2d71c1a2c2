/*
 * tracebed follow: the pictures of a trace that is being written, and of one that is closed; ctrl-C; what is refused.
 *
 * SPDX-License-Identifier: MIT
 */
#include "reader/tests/tools/tool_run.h"

#include <signal.h>

/* A program that is in parse > read, and has recorded something else before. */
static struct tbed_writer *half_way(const char *path)
{
    struct tbed_writer *writer = open_writer(path, true);
    struct tbed_recorder *recorder = tbed_recorder_open(writer, "worker");
    for (int i = 0; i < 5; i++) {
        tbed_span_begin(recorder, intern(writer, "load"));
        tbed_span_end(recorder);
    }
    tbed_span_begin(recorder, intern(writer, "parse\x1e"
                                             "a.txt"));
    tbed_span_begin(recorder, intern(writer, "read"));
    return writer;
}

static void a_running_program_is_shown(void **state)
{
    (void)state;
    const char *path = in_folder("running.tbed");
    struct tbed_writer *writer = half_way(path);
    struct run run = RUN("follow", "-c2", "-i1ms", path);
    assert_int_equal(run.exit, 0);
    assert_says(run.out, "running.tbed: running, ");
    assert_says(run.out, "  - events, - spans, none dropped\n");
    assert_says(run.out, "  0/s events, 0/s spans, none dropped\n");
    assert_says(run.out, " load\n");
    assert_says(run.out, "worker  parse (");
    assert_says(run.out, " > read (");
    assert_says(run.out, "begin        read\n");
    end_run(&run);
    run = RUN("follow", "-c1", "--json", path);
    assert_says(run.out, "\"shut\":false,");
    assert_says(run.out, "\"span_count\":5,");
    assert_says(run.out, "{\"name\":\"load\",\"count\":5,\"self_ticks\":");
    assert_says(run.out, "\"open\":[{\"name\":\"parse\",\"age_ticks\":");
    end_run(&run);
    tbed_writer_close(writer);
}

static void a_closed_trace_is_shown_once(void **state)
{
    (void)state;
    const char *path = in_folder("closed.tbed");
    tbed_writer_close(half_way(path));
    struct run run = RUN("follow", path);
    assert_int_equal(run.exit, 0);
    assert_says(run.out, "closed.tbed: closed, ");
    assert_null(strstr(run.out, "running"));
    end_run(&run);
    EXPECT(0, " more", "", "follow", "-l0", path);
}

static void record_given(struct tbed_recorder *recorder, uint64_t tick, uint32_t type, uint32_t id)
{
    struct tbed_given_event event = {.type = type, .tick = tick, .id = id, .category = TBED_ID_INVALID};
    tbed_event_record_given(recorder, &event);
}

/* Ten seconds, in which "early" ends after nine: a millisecond each of "step", a fifth of it in "work". */
static const char *ten_seconds(void)
{
    const char *path = in_folder("seconds.tbed");
    struct tbed_writer *writer = open_given_writer(path, 1000000000);
    struct tbed_recorder *recorder = tbed_recorder_open_given(writer, "main", 1);
    uint32_t early = intern(writer, "early"), step = intern(writer, "step"), work = intern(writer, "work");
    for (uint64_t ms = 0; ms < 10000; ms++) {
        uint64_t ns = ms * 1000000;
        record_given(recorder, ns, TBED_GIVEN_BEGIN, ms < 9000 ? early : step);
        record_given(recorder, ns, TBED_GIVEN_BEGIN, work);
        record_given(recorder, ns + 200000, TBED_GIVEN_END, TBED_ID_INVALID);
        record_given(recorder, ns + 1000000, TBED_GIVEN_END, TBED_ID_INVALID);
    }
    tbed_writer_close(writer);
    return path;
}

static void the_first_picture_has_rates(void **state)
{
    (void)state;
    const char *path = ten_seconds();
    struct run run = RUN("follow", "-c1", path);
    assert_int_equal(run.exit, 0);
    assert_says(run.out, "\n  4,001/s events, 2,001/s spans, none dropped\n");
    assert_says(run.out, "    80.0 %      800 ms       1,000/s  step\n");
    assert_says(run.out, "    20.0 %      200 ms       1,000/s  work\n");
    assert_says(run.out, "   100.0 %       4,001/s  ");
    assert_says(run.out,
                "     0.0 %        0 ns           1/s  early\n"); /* its end, at the first tick that counts */
    end_run(&run);
    EXPECT(0, ",\"passed_ns\":10000000000,", "", "follow", "-i20s", "-c1", "--json", path);
    EXPECT(0, "early\n", "", "follow", "-i20s", path);
}

/* It would go on for hours. */
static void control_c_ends_it(void **state)
{
    (void)state;
    const char *path = in_folder("interrupted.tbed");
    struct tbed_writer *writer = half_way(path);
    int ends[2], status;
    char byte;
    assert_int_equal(pipe(ends), 0);
    pid_t pid = fork();
    if (pid == 0) {
        dup2(ends[1], STDOUT_FILENO);
        execl(program_path(), "tracebed", "follow", "-i3h", path, NULL);
        _exit(127);
    }
    close(ends[1]);
    assert_int_equal(read(ends[0], &byte, 1), 1); /* the first picture: the handler is there */
    kill(pid, SIGINT);
    assert_int_equal(waitpid(pid, &status, 0), pid);
    assert_true(WIFEXITED(status));
    assert_int_equal(WEXITSTATUS(status), 0);
    close(ends[0]);
    tbed_writer_close(writer);
}

static void what_cannot_be_followed_is_refused(void **state)
{
    (void)state;
    const char *path = make_small("small.tbed", true);
    EXPECT(2, "", "missing FILE", "follow");
    EXPECT(2, "", "too many FILE", "follow", path, path);
    EXPECT(2, "", "standard input cannot be followed", "follow", "-");
    EXPECT(2, "", "--interval takes a time from 1ms to a day", "follow", "-i0", path);
    EXPECT(2, "", "--interval takes a time from 1ms to a day", "follow", "--interval=often", path);
    EXPECT(2, "", "--count takes a number above 0", "follow", "-c0", path);
    EXPECT(2, "", "--limit takes a number of rows up to 64", "follow", "-l65", path);
    EXPECT(2, "", "not a trace; only a trace can be followed", "follow", "reader/tests/logs/canonical.log");
    EXPECT(2, "", "cannot be opened", "follow", in_folder("none"));
}

int main(void)
{
#define TEST(name) cmocka_unit_test(name)
    const struct CMUnitTest tests[] = {
        TEST(a_running_program_is_shown),         TEST(a_closed_trace_is_shown_once),
        TEST(the_first_picture_has_rates),        TEST(control_c_ends_it),
        TEST(what_cannot_be_followed_is_refused),
    };
    return cmocka_run_group_tests(tests, make_folder, remove_folder);
}
