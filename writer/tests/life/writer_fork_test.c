/*
 * Spans that are open at a fork: what the child's stream stores about them, and how a report shows them.
 *
 * The clock is a counter that all processes share, so that every time is known.
 *
 * SPDX-License-Identifier: MIT
 */
#include "writer/tests/support.h"

#include <pthread.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/wait.h>
#include <tracebed/analysis.h>
#include <unistd.h>

enum { OUTER = 1, INNER, OWN, MARK };

static uint64_t *now;

static uint64_t read_now(void)
{
    return *now;
}

static struct tbed_writer *open_writer(const char *path)
{
    struct tbed_writer_options options = {
        .clock = TBED_CLOCK_USER, .user_clock = read_now, .no_helper = true};
    struct tbed_writer *writer = test_writer_open(path, &options);
    for (uint32_t id = OUTER; id <= MARK; id++) {
        static const char *const names[] = {"", "outer", "inner", "own", "mark"};
        tbed_id_bind(writer, id, 1, tbed_string_intern(writer, names[id], strlen(names[id])));
    }
    return writer;
}

static void await(pid_t child)
{
    int status;
    assert_int_equal(waitpid(child, &status, 0), child);
    assert_int_equal(status, 0);
}

static void begin_at(struct tbed_recorder *recorder, uint32_t id, uint64_t tick)
{
    *now = tick;
    tbed_span_begin(recorder, id);
}

static void end_at(struct tbed_recorder *recorder, uint64_t tick)
{
    *now = tick;
    tbed_span_end(recorder);
}

static void mark_at(struct tbed_recorder *recorder, uint64_t tick)
{
    *now = tick;
    tbed_instant_record(recorder, MARK);
}

static void expect_row(const struct tbed_statistics *statistics, const char *name, uint64_t count,
                       uint64_t open_count, uint64_t total_ticks, uint64_t self_ticks)
{
    const struct tbed_span_row *row;
    for (size_t i = 0; (row = tbed_statistics_span(statistics, i)) != NULL; i++)
        if (strcmp(row->name, name) == 0)
            break;
    assert_non_null(row);
    assert_int_equal(row->count, count);
    assert_int_equal(row->open_count, open_count);
    assert_int_equal(row->total_ticks, total_ticks);
    assert_int_equal(row->self_ticks, self_ticks);
}

static struct tbed_statistics *report_on(struct tbed_reader *reader, uint64_t inherited_count)
{
    struct tbed_statistics *statistics;
    struct tbed_statistics_totals totals;
    assert_int_equal(tbed_statistics_make(reader, NULL, &statistics), TBED_OK);
    tbed_statistics_totals(statistics, &totals);
    assert_int_equal(totals.inherited_count, inherited_count);
    assert_int_equal(totals.unnamed_open_count + totals.unknown_begin_count, 0);
    return statistics;
}

static void no_time_before_a_fork_belongs_to_the_child(void **state)
{
    (void)state;
    const char *path = test_path("fork.tbed");
    struct tbed_writer *writer = open_writer(path);
    struct tbed_recorder *recorder = tbed_recorder_open(writer, "main");
    begin_at(recorder, OUTER, 1000);
    begin_at(recorder, INNER, 2000);
    pid_t child = fork();
    if (child == 0) {
        mark_at(recorder, 3000);
        end_at(recorder, 3010);
        mark_at(recorder, 3100);
        _exit(0);
    }
    await(child);
    end_at(recorder, 4000);
    end_at(recorder, 5000);
    tbed_writer_close(writer);

    struct tbed_reader *reader = test_reader_open(path, false);
    struct tbed_statistics *statistics = report_on(reader, 2);
    expect_row(statistics, "inner", 2, 0, 2000 + 10, 2000 + 10);
    expect_row(statistics, "outer", 2, 0, 4000 + 100, 2000 + 90);
    tbed_statistics_close(statistics);
    tbed_reader_close(reader);
}

/* The child's own span takes the place of one that it inherited and ended. */
static void a_span_of_the_childs_own_that_never_ends_is_open(void **state)
{
    (void)state;
    const char *path = test_path("own.tbed");
    struct tbed_writer *writer = open_writer(path);
    struct tbed_recorder *recorder = tbed_recorder_open(writer, "main");
    begin_at(recorder, OUTER, 1000);
    begin_at(recorder, INNER, 2000);
    pid_t child = fork();
    if (child == 0) {
        end_at(recorder, 3000);
        begin_at(recorder, OWN, 3010);
        for (uint64_t tick = 3011; tick < 33000; tick++) /* several blocks, each with the open spans */
            mark_at(recorder, tick);
        _exit(0);
    }
    await(child);
    end_at(recorder, 34000);
    end_at(recorder, 35000);
    tbed_writer_close(writer);

    struct tbed_reader *reader = test_reader_open(path, false);
    struct tbed_statistics *statistics = report_on(reader, 2);
    expect_row(statistics, "own", 1, 1, 29989, 29989);
    expect_row(statistics, "inner", 2, 0, 32000, 32000);
    expect_row(statistics, "outer", 2, 0, 34000 + 29999, 2000 + 10);
    tbed_statistics_close(statistics);
    tbed_reader_close(reader);
}

/* A hundred spans are more than a cell stores, and a grandchild inherits what its parent inherited. */
#define DEPTH 100u

static void a_deep_stack_is_inherited_in_full_and_by_grandchildren_too(void **state)
{
    (void)state;
    const char *path = test_path("deep.tbed");
    struct tbed_writer *writer = open_writer(path);
    struct tbed_recorder *recorder = tbed_recorder_open(writer, "main");
    for (uint64_t i = 0; i < DEPTH; i++)
        begin_at(recorder, OUTER, 1000);
    pid_t child = fork();
    if (child == 0) {
        mark_at(recorder, 2000);
        begin_at(recorder, INNER, 2001);
        pid_t grandchild = fork();
        if (grandchild == 0) {
            mark_at(recorder, 3000);
            end_at(recorder, 3003);
            end_at(recorder, 3005);
            _exit(0);
        }
        waitpid(grandchild, NULL, 0);
        end_at(recorder, 4000);
        _exit(0);
    }
    await(child);
    for (uint64_t i = 0; i < DEPTH; i++)
        end_at(recorder, 5000);
    tbed_writer_close(writer);

    struct tbed_reader *reader = test_reader_open(path, false);
    struct tbed_statistics *statistics = report_on(reader, 2 * DEPTH + 1);
    expect_row(statistics, "inner", 2, 0, 1999 + 3, 1999 + 3);
    expect_row(statistics, "outer", 3 * DEPTH, 0, DEPTH * (4000 + 2000 + 5), 4000 + 2000 - 1999 + 5 - 3);
    tbed_statistics_close(statistics);
    tbed_reader_close(reader);
}

static int set_up(void **state)
{
    (void)state;
    now = mmap(NULL, 4096, PROT_READ | PROT_WRITE, MAP_SHARED | MAP_ANONYMOUS, -1, 0);
    return now == MAP_FAILED;
}

/* ---- A thread of the child asks for drops while another joins the trace ---- */

#define FORK_COUNT    20
#define CHILD_SECONDS 10

static struct tbed_writer *asked;
static uint32_t is_over;

static void *ask_for_drops(void *unused)
{
    (void)unused;
    while (!__atomic_load_n(&is_over, __ATOMIC_RELAXED))
        tbed_writer_drop_count(asked, TBED_DROP_CLOSED);
    return NULL;
}

static void join_while_asked(struct tbed_recorder *recorder)
{
    pthread_t thread;
    alarm(CHILD_SECONDS);
    if (pthread_create(&thread, NULL, ask_for_drops, NULL) != 0)
        _exit(1);
    tbed_instant_record(recorder, MARK);
    __atomic_store_n(&is_over, 1, __ATOMIC_RELAXED);
    pthread_join(thread, NULL);
    tbed_writer_close(asked); /* waits until no thread uses the header */
    _exit(0);
}

static void a_child_that_counts_drops_while_it_joins_can_be_closed(void **state)
{
    (void)state;
    asked = open_writer(test_path("asked.tbed"));
    struct tbed_recorder *recorder = tbed_recorder_open(asked, NULL);
    for (int i = 0; i < FORK_COUNT; i++) {
        pid_t child = fork();
        if (child == 0)
            join_while_asked(recorder);
        await(child);
    }
    tbed_writer_free(asked);
}

/* ---- Names ---- */

static void assert_process(struct tbed_reader *reader, size_t index, const char *name)
{
    struct tbed_process_info info;
    char text[32];
    assert_true(tbed_process_get(reader, index, &info));
    tbed_id_text(reader, info.name_id, TBED_NAME_ALL, text, sizeof text);
    assert_string_equal(text, name);
    assert_true(info.instants_are_allocations);
}

static void
a_child_has_the_name_that_it_was_given_last_and_means_by_instants_what_its_parent_does(void **state)
{
    (void)state;
    const char *path = test_path("names.tbed");
    struct tbed_writer_options options = {.process_name = "parent", .instants_are_allocations = true};
    struct tbed_writer *writer = test_writer_open(path, &options);
    struct tbed_recorder *recorder = tbed_recorder_open(writer, NULL);
    tbed_instant_record(recorder, 1);
    tbed_process_name_set(writer, "listening");
    for (unsigned i = 0; i < 2; i++) {
        pid_t child = fork();
        if (child == 0) {
            tbed_process_name_set(writer, "child"); /* joins */
            tbed_instant_record(recorder, 1);
            if (i == 1)
                tbed_process_name_set(writer, "worker");
            tbed_writer_close(writer);
            _exit(0);
        }
        await(child);
    }
    tbed_process_name_set(NULL, "nobody");
    tbed_writer_free(writer);
    struct tbed_reader *reader = test_reader_open(path, true);
    assert_process(reader, 0, "listening");
    assert_process(reader, 1, "child");
    assert_process(reader, 2, "worker");
    tbed_reader_close(reader);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(no_time_before_a_fork_belongs_to_the_child),
        cmocka_unit_test(a_span_of_the_childs_own_that_never_ends_is_open),
        cmocka_unit_test(a_deep_stack_is_inherited_in_full_and_by_grandchildren_too),
        cmocka_unit_test(a_child_that_counts_drops_while_it_joins_can_be_closed),
        cmocka_unit_test(
            a_child_has_the_name_that_it_was_given_last_and_means_by_instants_what_its_parent_does),
    };
    return cmocka_run_group_tests(tests, set_up, NULL);
}
