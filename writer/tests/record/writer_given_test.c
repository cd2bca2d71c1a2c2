/*
 * Events that happened before: ticks, categories and whole spans that are given, read back as they were given.
 *
 * SPDX-License-Identifier: MIT
 */
#include "writer/tests/support.h"

#include <fcntl.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/file.h>
#include <sys/mman.h>
#include <sys/mount.h>
#include <sys/resource.h>
#include <sys/stat.h>
#include <sys/wait.h>
#include <unistd.h>

#define REALTIME_NS INT64_C(1700000000123456789)

static struct tbed_writer *given_open(const char *path, uint32_t page_nbytes)
{
    struct tbed_writer_options options = {.given_ticks = true,
                                          .given_ticks_per_second = 1000000000,
                                          .given_realtime_ns = REALTIME_NS,
                                          .page_nbytes = page_nbytes,
                                          .process_pid = 4242,
                                          .process_name = "elsewhere"};
    return test_writer_open(path, &options);
}

static void give_span(struct tbed_recorder *recorder, uint32_t id, uint64_t begin_tick, uint64_t tick)
{
    struct tbed_given_event event = {.type = TBED_GIVEN_SPAN,
                                     .id = id,
                                     .category = TBED_ID_INVALID,
                                     .tick = tick,
                                     .begin_tick = begin_tick};
    tbed_event_record_given(recorder, &event);
}

/* ---- As they were given ---- */

static bool ends_span(enum tbed_given_type type)
{
    return type == TBED_GIVEN_END || type == TBED_GIVEN_LEAVE;
}

/* Any type but MESSAGE, any ticks: what a stream can hold at all. */
static struct tbed_given_event random_event(uint32_t depth)
{
    static const enum tbed_given_type types[] = {TBED_GIVEN_BEGIN, TBED_GIVEN_END,     TBED_GIVEN_INSTANT,
                                                 TBED_GIVEN_SPAN,  TBED_GIVEN_COUNTER, TBED_GIVEN_LEAVE};
    static const uint64_t odd[] = {0, 1, UINT64_MAX, UINT64_MAX - 1, UINT64_C(1) << 63, UINT64_C(1) << 31};
    static uint64_t tick;
    static struct tbed_argument value;
    uint64_t step = (uint64_t)(mrand48() & 0xFFFFFFFF);
    switch (lrand48() % 8) {
    case 0:
        tick = odd[lrand48() % 6];
        break;
    case 1:
        tick -= step >> lrand48() % 32;
        break;
    case 2:
        tick += step << lrand48() % 32;
        break;
    default:
        tick += step >> 16;
    }
    struct tbed_given_event event = {.type = types[lrand48() % 6],
                                     .id = (uint32_t)lrand48() & TBED_ID_MAX,
                                     .category = lrand48() % 2 == 0 ? TBED_ID_INVALID
                                                                    : 1 + (uint32_t)lrand48() % TBED_ID_MAX,
                                     .tick = tick,
                                     .begin_tick = lrand48() % 4 == 0 ? odd[lrand48() % 6] : tick - step};
    if (ends_span(event.type) && depth == 0)
        event.type = TBED_GIVEN_BEGIN;
    event.end_tick = event.begin_tick;
    value =
        (struct tbed_argument){.type = TBED_ARG_U64, .name_id = TBED_ID_INVALID, .value.u64 = tick ^ step};
    event.arguments = &value;
    event.argument_count = event.type == TBED_GIVEN_COUNTER || lrand48() % 8 == 0;
    return event;
}

static void assert_argument(const struct tbed_event *event, uint64_t value)
{
    struct tbed_argument argument;
    struct tbed_arguments at = event->arguments;
    assert_int_equal(event->argument_count, 1);
    tbed_argument_next(&at, &argument);
    assert_int_equal(argument.type, TBED_ARG_U64);
    assert_true(argument.value.u64 == value);
}

static void assert_as_given(const struct tbed_event *event, const struct tbed_given_event *given,
                            uint64_t value)
{
    static const enum tbed_event_type types[] = {
        [TBED_GIVEN_BEGIN] = TBED_EVENT_BEGIN,     [TBED_GIVEN_END] = TBED_EVENT_END,
        [TBED_GIVEN_INSTANT] = TBED_EVENT_INSTANT, [TBED_GIVEN_SPAN] = TBED_EVENT_SPAN,
        [TBED_GIVEN_COUNTER] = TBED_EVENT_COUNTER, [TBED_GIVEN_LEAVE] = TBED_EVENT_END,
    };
    assert_int_equal(event->type, types[given->type]);
    assert_true(event->tick == given->tick);
    assert_int_equal(event->id, given->id);
    if (!ends_span(given->type))
        assert_int_equal(event->category, given->category);
    /* Stored in a single word where that is enough. */
    if (given->type == TBED_GIVEN_BEGIN || given->type == TBED_GIVEN_INSTANT)
        assert_int_equal(event->extended, given->category != TBED_ID_INVALID || given->argument_count > 0);
    if (given->type == TBED_GIVEN_SPAN)
        assert_true(event->of.span.begin_tick == given->begin_tick);
    if (ends_span(given->type)) {
        assert_int_equal(event->of.end.leaves, given->type == TBED_GIVEN_LEAVE);
        assert_true(event->of.end.end_tick == (event->of.end.leaves ? given->end_tick : given->tick));
    }
    if (given->type == TBED_GIVEN_COUNTER)
        assert_true(event->counter_value.value.u64 == value);
    else if (given->argument_count != 0)
        assert_argument(event, value);
    else
        assert_int_equal(event->argument_count, 0);
}

/* Over many small blocks; what is open is ended by the id that began it. */
static void any_events_come_back_as_they_were_given(void **state)
{
    (void)state;
    enum { COUNT = 100000 };
    const char *path = test_path("any.tbed");
    struct tbed_writer *writer = given_open(path, 4096);
    struct tbed_recorder *recorder = tbed_recorder_open_given(writer, "any", 1);
    struct tbed_given_event *given = calloc(COUNT, sizeof *given);
    uint64_t *values = calloc(COUNT, sizeof *values);
    uint32_t *open = calloc(COUNT, sizeof *open);
    uint32_t depth = 0;
    srand48(1);
    for (size_t i = 0; i < COUNT; i++) {
        given[i] = random_event(depth);
        values[i] = given[i].arguments->value.u64;
        tbed_event_record_given(recorder, &given[i]);
        if (given[i].type == TBED_GIVEN_BEGIN)
            open[depth++] = given[i].id;
        if (ends_span(given[i].type))
            given[i].id = open[--depth];
    }
    tbed_writer_close(writer);

    struct tbed_reader *reader = test_reader_open(path, true);
    size_t count;
    struct tbed_event *events = test_events(reader, test_stream_named(reader, "any"), &count);
    assert_int_equal(count, COUNT);
    for (size_t i = 0; i < COUNT; i++)
        assert_as_given(&events[i], &given[i], values[i]);
    assert_int_equal(test_drop_count(reader), 0);
    free(events);
    free(open);
    free(values);
    free(given);
    tbed_reader_close(reader);
}

/* A tick below the one before takes nine words at most, whatever the distance, and then costs nothing more. */
static void ticks_that_go_back_take_little_room(void **state)
{
    (void)state;
    const char *path = test_path("back.tbed");
    struct tbed_writer *writer = given_open(path, 65536);
    struct tbed_recorder *recorder = tbed_recorder_open_given(writer, "back", 1);
    for (uint64_t i = 0; i < 2000; i++)
        give_span(recorder, 1, 0, 1000000 - i);
    tbed_writer_close(writer);
    struct tbed_reader *reader = test_reader_open(path, true);
    struct tbed_trace_info info;
    size_t count;
    free(test_events(reader, test_stream_named(reader, "back"), &count));
    assert_int_equal(count, 2000);
    tbed_reader_verify(reader);
    tbed_reader_info(reader, &info);
    assert_int_equal(info.tick_decrease_count, 1999);
    assert_true(info.event_block_count * 72 + 2000 * 24 > 48000);
    assert_true(info.page_count <= 8); /* 48,000 bytes, in cells */
    tbed_reader_close(reader);
}

static void events_that_are_none_are_counted(void **state)
{
    (void)state;
    const char *path = test_path("none.tbed");
    struct tbed_writer *writer = given_open(path, 0);
    struct tbed_recorder *recorder = tbed_recorder_open_given(writer, "none", 1);
    struct tbed_argument text = {
        .type = TBED_ARG_TEXT, .name_id = TBED_ID_INVALID, .nbytes = 1, .value.text = "x"};
    struct tbed_given_event event = {.type = TBED_GIVEN_COUNTER, .category = TBED_ID_INVALID};
    tbed_event_record_given(recorder, &event);
    event.arguments = &text;
    event.argument_count = 1;
    tbed_event_record_given(recorder, &event);
    event.type = (enum tbed_given_type)99;
    tbed_event_record_given(recorder, &event);
    assert_int_equal(tbed_writer_drop_count(writer, TBED_DROP_TOO_LARGE), 3);
    tbed_writer_close(writer);
    give_span(recorder, 1, 0, 1);
    assert_int_equal(tbed_writer_drop_count(writer, TBED_DROP_CLOSED), 1);
    tbed_reader_close(test_reader_open(path, true));

    writer = test_writer_open(path, NULL);
    recorder = tbed_recorder_open(writer, "clock");
    tbed_instant_record(recorder, 1);
    give_span(recorder, 1, 0, 1);
    assert_int_equal(tbed_writer_drop_count(writer, TBED_DROP_TOO_LARGE), 1);
    tbed_writer_close(writer);
    give_span(tbed_recorder_open_given(NULL, NULL, 1), 1, 0, 1);
    struct tbed_reader *reader = test_reader_open(path, true);
    size_t count;
    free(test_events(reader, test_stream_named(reader, "clock"), &count));
    assert_int_equal(count, 1);
    tbed_reader_close(reader);
}

/* ---- Time, process, thread ---- */

static void threads_of_other_processes_belong_to_them(void **state)
{
    (void)state;
    const char *path = test_path("processes.tbed");
    struct tbed_writer *writer = given_open(path, 0);
    uint32_t parent = tbed_process_record_given(writer, "parent", 10, 1, 0);
    uint32_t child = tbed_process_record_given(writer, "child", 11, 10, parent);
    give_span(tbed_recorder_open_process(writer, child, "of the child", 12), 1, 5, 6);
    give_span(tbed_recorder_open_process(writer, 0, "own", 13), 1, 5, 6);
    tbed_writer_close(writer);
    struct tbed_reader *reader = test_reader_open(path, true);
    struct tbed_process_info own, found;
    struct tbed_stream_info stream;
    assert_true(tbed_process_get(reader, 0, &own));
    assert_true(tbed_process_get(reader, 2, &found));
    assert_false(tbed_process_get(reader, 3, &found));
    assert_int_equal(found.stream, child);
    assert_int_equal(found.pid, 11);
    assert_int_equal(found.parent_pid, 10);
    assert_int_equal(found.forked_from, parent);
    assert_text(reader, found.name_id, "child");
    assert_true(tbed_stream_get(reader, 0, &stream));
    assert_int_equal(stream.process, child);
    assert_int_equal(stream.tid, 12);
    assert_true(tbed_stream_get(reader, 1, &stream));
    assert_int_equal(stream.process, own.stream);
    tbed_reader_close(reader);
    writer = test_writer_open(test_path("clocked.tbed"), NULL);
    assert_int_equal(tbed_process_record_given(writer, "none", 1, 0, 0), 0);
    tbed_writer_close(writer);
}

static void processes_are_described_again(void **state)
{
    (void)state;
    const char *path = test_path("described.tbed");
    struct tbed_writer *writer = given_open(path, 0);
    uint32_t other = tbed_process_record_given(writer, "", 0, 0, 0);
    tbed_process_describe_given(writer, 0, "own", 20);
    tbed_process_describe_given(writer, other, "other", 21);
    tbed_process_describe_given(NULL, other, "none", 22);
    tbed_writer_close(writer);
    struct tbed_reader *reader = test_reader_open(path, true);
    struct tbed_process_info own, found;
    assert_true(tbed_process_get(reader, 0, &own));
    assert_true(tbed_process_get(reader, 1, &found));
    assert_false(tbed_process_get(reader, 2, &(struct tbed_process_info){0}));
    assert_int_equal(own.pid, 20);
    assert_text(reader, own.name_id, "own");
    assert_int_equal(found.stream, other);
    assert_int_equal(found.pid, 21);
    assert_text(reader, found.name_id, "other");
    tbed_reader_close(reader);
}

static void asynchronous_spans_and_flows_have_their_keys_and_arguments(void **state)
{
    static const struct {
        enum tbed_given_type given;
        enum tbed_event_type type;
    } types[] = {{TBED_GIVEN_ASYNC_BEGIN, TBED_EVENT_ASYNC_BEGIN},
                 {TBED_GIVEN_ASYNC_END, TBED_EVENT_ASYNC_END},
                 {TBED_GIVEN_FLOW_BEGIN, TBED_EVENT_FLOW_BEGIN},
                 {TBED_GIVEN_FLOW_STEP, TBED_EVENT_FLOW_STEP},
                 {TBED_GIVEN_FLOW_END, TBED_EVENT_FLOW_END}};
    const char *path = test_path("keyed.tbed");
    struct tbed_writer *writer = given_open(path, 0);
    struct tbed_recorder *recorder = tbed_recorder_open_given(writer, NULL, 1);
    const struct tbed_argument argument = {
        .type = TBED_ARG_U64, .name_id = TBED_ID_INVALID, .nbytes = 8, .value.u64 = 7};
    (void)state;
    for (size_t i = 0; i < sizeof types / sizeof types[0]; i++)
        tbed_event_record_given(recorder, &(struct tbed_given_event){.type = types[i].given,
                                                                     .id = 9,
                                                                     .category = TBED_ID_INVALID,
                                                                     .tick = 10 + i,
                                                                     .key = 100 + i,
                                                                     .arguments = &argument,
                                                                     .argument_count = i % 2});
    tbed_writer_close(writer);
    struct tbed_reader *reader = test_reader_open(path, true);
    struct tbed_cursor *cursor;
    struct tbed_stream_info stream;
    struct tbed_event event;
    assert_true(tbed_stream_get(reader, 0, &stream));
    assert_int_equal(tbed_cursor_open(reader, stream.stream, &cursor), TBED_OK);
    for (size_t i = 0; i < sizeof types / sizeof types[0]; i++) {
        assert_int_equal(tbed_cursor_next(cursor, &event), TBED_OK);
        assert_int_equal(event.type, types[i].type);
        assert_int_equal(event.id, 9);
        assert_int_equal(event.tick, 10 + i);
        assert_int_equal(event.of.async.key, 100 + i);
        assert_int_equal(event.argument_count, i % 2);
    }
    assert_int_equal(tbed_cursor_next(cursor, &event), TBED_END);
    tbed_cursor_close(cursor);
    tbed_reader_close(reader);
}

static void the_clock_is_what_was_told(void **state)
{
    (void)state;
    const char *path = test_path("clock.tbed");
    struct tbed_writer *writer = given_open(path, 0);
    struct tbed_recorder *recorder = tbed_recorder_open_given(writer, "worker", 77);
    give_span(recorder, 1, 0, 100);
    give_span(recorder, 1, 100, 5000000000);
    tbed_writer_close(writer);
    struct tbed_reader *reader = test_reader_open(path, true);
    struct tbed_trace_info info;
    struct tbed_process_info process;
    struct tbed_stream_info stream;
    tbed_reader_info(reader, &info);
    assert_int_equal(info.clock, TBED_CLOCK_MONOTONIC);
    assert_int_equal(info.ticks_per_second, 1000000000);
    int64_t ns;
    assert_int_equal(tbed_ticks_to_realtime_ns(reader, 0, &ns), TBED_OK);
    assert_int_equal(ns, REALTIME_NS);
    assert_int_equal(tbed_ticks_to_realtime_ns(reader, 5000000000, &ns), TBED_OK);
    assert_int_equal(ns, REALTIME_NS + 5000000000);
    assert_true(tbed_process_get(reader, 0, &process));
    assert_int_equal(process.pid, 4242);
    assert_int_equal(process.parent_pid, 0);
    assert_text(reader, process.name_id, "elsewhere");
    assert_int_equal(process.tick, 0);
    assert_int_equal(process.end_tick, 5000000000);
    assert_true(tbed_stream_get(reader, 0, &stream));
    assert_int_equal(stream.tid, 77);
    assert_int_equal(stream.kind, TBED_STREAM_THREAD);
    assert_int_equal(stream.end_tick, 5000000000);
    tbed_reader_close(reader);
}

static void counts_have_a_unit_and_no_rate(void **state)
{
    (void)state;
    const char *path = test_path("counts.tbed");
    struct tbed_writer_options options = {.given_ticks = true, .user_clock_unit = "instructions"};
    struct tbed_writer *writer = test_writer_open(path, &options);
    give_span(tbed_recorder_open_given(writer, NULL, 1), 1, 0, UINT64_MAX);
    tbed_writer_close(writer);
    struct tbed_reader *reader = test_reader_open(path, true);
    struct tbed_trace_info info;
    tbed_reader_info(reader, &info);
    assert_int_equal(info.clock, TBED_CLOCK_USER);
    assert_int_equal(info.ticks_per_second, 0);
    assert_string_equal(info.clock_unit, "instructions");
    tbed_reader_close(reader);
}

static uint64_t some_clock(void)
{
    return 1;
}

static void nobody_joins_and_no_clock_is_mixed_in(void **state)
{
    (void)state;
    const char *path = test_path("join.tbed");
    struct tbed_writer *writer;
    struct tbed_writer_options join = {.size = sizeof join, .join = true};
    struct tbed_writer_options join_user = {
        .size = sizeof join, .join = true, .clock = TBED_CLOCK_USER, .user_clock = some_clock};
    tbed_writer_close(given_open(path, 0));
    assert_int_equal(tbed_writer_open(path, &join, &writer, NULL), TBED_ERR_CLOCK_DIFFERS);
    struct tbed_writer_options counts = {.given_ticks = true};
    tbed_writer_close(test_writer_open(path, &counts));
    assert_int_equal(tbed_writer_open(path, &join_user, &writer, NULL), TBED_ERR_CLOCK_DIFFERS);
    struct tbed_writer_options wrong[] = {
        {.given_ticks = true, .join = true},
        {.given_ticks = true, .clock = TBED_CLOCK_MONOTONIC},
        {.given_ticks = true, .clock = TBED_CLOCK_USER, .user_clock = some_clock},
        {.given_ticks = true, .given_ticks_per_second = 999},
        {.given_ticks = true, .given_ticks_per_second = 1000000000001},
    };
    for (size_t i = 0; i < sizeof wrong / sizeof *wrong; i++) {
        wrong[i].size = sizeof *wrong;
        wrong[i].overwrite = !wrong[i].join;
        assert_int_equal(tbed_writer_open(path, &wrong[i], &writer, NULL), TBED_ERR_ARGUMENT);
    }
}

static void other_functions_get_the_latest_tick_given(void **state)
{
    (void)state;
    const char *path = test_path("latest.tbed");
    struct tbed_writer *writer = given_open(path, 0);
    struct tbed_recorder *recorder = tbed_recorder_open_given(writer, "latest", 1);
    struct tbed_recorder *other = tbed_recorder_open(writer, "other");
    assert_int_equal(tbed_recorder_now(recorder), 0);
    give_span(recorder, 1, 0, 500);
    give_span(recorder, 1, 0, 300);
    assert_int_equal(tbed_recorder_now(recorder), 300);
    assert_int_equal(tbed_recorder_now(other), 0);
    tbed_span_begin(recorder, 2);
    tbed_counter_record_i64(recorder, 3, -1);
    tbed_message_record(recorder, TBED_SEVERITY_ERROR, "late", 4);
    give_span(recorder, 1, 0, 900);
    tbed_span_end(recorder);
    tbed_writer_close(writer);
    struct tbed_reader *reader = test_reader_open(path, true);
    size_t count;
    struct tbed_event *events = test_events(reader, test_stream_named(reader, "latest"), &count);
    static const uint64_t ticks[] = {500, 300, 300, 300, 300, 900, 900};
    assert_int_equal(count, 7);
    for (size_t i = 0; i < count; i++)
        assert_int_equal(events[i].tick, ticks[i]);
    free(events);
    tbed_reader_close(reader);
}

/* ---- Files without a name ---- */

static struct tbed_writer *given_open_fd(int fd, enum tbed_status expected)
{
    struct tbed_writer_options options = {
        .size = sizeof options, .given_ticks = true, .given_ticks_per_second = 1000000000};
    struct tbed_writer *writer;
    struct tbed_error error = {.status = TBED_OK};
    assert_int_equal(tbed_writer_open_fd(fd, &options, &writer, &error), expected);
    assert_int_equal(error.status, expected);
    assert_int_equal(writer == NULL, expected != TBED_OK);
    return writer;
}

static void assert_holds_spans(int fd, uint64_t expected)
{
    struct tbed_reader *reader;
    struct tbed_trace_info info;
    size_t count;
    assert_int_equal(tbed_reader_open_fd(fd, NULL, &reader, NULL), TBED_OK);
    assert_int_equal(tbed_reader_verify(reader), TBED_OK);
    tbed_reader_info(reader, &info);
    assert_true(info.shut);
    free(test_events(reader, test_stream_named(reader, NULL), &count));
    assert_int_equal(count, expected);
    tbed_reader_close(reader);
}

static void a_file_without_a_name_is_written_and_stays_the_callers(void **state)
{
    (void)state;
    char folder[256];
    snprintf(folder, sizeof folder, "%s", test_path("x"));
    *strrchr(folder, '/') = 0;
    int fds[] = {memfd_create("trace", MFD_CLOEXEC), open(folder, O_TMPFILE | O_RDWR | O_CLOEXEC, 0600)};
    for (size_t i = 0; i < 2; i++) {
        assert_true(fds[i] >= 0);
        struct tbed_writer *writer = given_open_fd(fds[i], TBED_OK);
        struct tbed_recorder *recorder = tbed_recorder_open_given(writer, NULL, 1);
        int other = dup(fds[i]);
        close(fds[i]); /* the writer has its own */
        for (uint64_t tick = 0; tick < 200000; tick++)
            give_span(recorder, 1, tick, tick + 1);
        tbed_writer_close(writer);
        assert_int_equal(flock(other, LOCK_EX | LOCK_NB), 0); /* no writer holds it any more */
        assert_holds_spans(other, 200000);
        close(other);
    }
}

static void descriptors_of_anything_else_are_refused(void **state)
{
    (void)state;
    int fd = memfd_create("trace", MFD_CLOEXEC), pipes[2];
    assert_int_equal(pipe(pipes), 0);
    given_open_fd(pipes[0], TBED_ERR_NOT_REGULAR);
    given_open_fd(-1, TBED_ERR_ARGUMENT);
    close(pipes[0]);
    close(pipes[1]);
    given_open_fd(pipes[0], TBED_ERR_OPEN);
    assert_int_equal(write(fd, "x", 1), 1);
    given_open_fd(fd, TBED_ERR_EXISTS);
    char same[32];
    snprintf(same, sizeof same, "/proc/self/fd/%d", fd);
    int holder = open(same, O_RDWR | O_CLOEXEC);
    assert_int_equal(flock(holder, LOCK_EX | LOCK_NB), 0); /* the refused one left no lock behind */
    close(holder);
    close(fd);
    const char *path = test_path("locked.tbed");
    fd = open(path, O_RDWR | O_CREAT | O_CLOEXEC, 0600);
    holder = open(path, O_RDWR | O_CLOEXEC);
    flock(holder, LOCK_SH);
    given_open_fd(fd, TBED_ERR_BUSY);
    close(holder);
    close(fd);
    fd = open(path, O_RDONLY | O_CLOEXEC);
    given_open_fd(fd, TBED_ERR_WRITE);
    struct stat status;
    fstat(fd, &status);
    assert_int_equal(status.st_size, 0);
    close(fd);
}

static void a_forked_child_goes_on_in_a_file_without_a_name(void **state)
{
    (void)state;
    int fd = memfd_create("trace", MFD_CLOEXEC), status;
    struct tbed_writer *writer = given_open_fd(fd, TBED_OK);
    struct tbed_recorder *recorder = tbed_recorder_open_given(writer, NULL, 1);
    pid_t child = fork();
    if (child == 0) {
        give_span(recorder, 1, 1, 2);
        tbed_writer_close(writer);
        _exit(0);
    }
    waitpid(child, &status, 0);
    assert_int_equal(status, 0);
    tbed_writer_close(writer);
    assert_holds_spans(fd, 1);
    close(fd);
}

/* ---- No room ---- */

static void assert_stored_and_dropped(const char *path, enum tbed_drop_cause cause, uint64_t given)
{
    struct tbed_reader *reader = test_reader_open(path, true);
    struct tbed_trace_info info;
    size_t count, stored = 0;
    struct tbed_event *events = test_events(reader, test_stream_named(reader, "much"), &count);
    for (size_t i = 0; i < count; i++)
        stored += events[i].type == TBED_EVENT_SPAN;
    tbed_reader_info(reader, &info);
    assert_true(info.drops[cause] > 0);
    assert_int_equal(stored + info.drops[cause], given);
    assert_int_equal(info.drops[cause], test_drop_count(reader));
    free(events);
    tbed_reader_close(reader);
}

static void give_much(struct tbed_writer *writer)
{
    struct tbed_recorder *recorder = tbed_recorder_open_given(writer, "much", 1);
    for (uint64_t i = 0; i < 100000; i++)
        give_span(recorder, 1, i, i * 1000000000); /* ticks that run away must not ask the kernel each time */
}

static void a_size_limit_drops_and_counts(void **state)
{
    (void)state;
    const char *path = test_path("limit.tbed");
    struct tbed_writer_options options = {
        .given_ticks = true, .given_ticks_per_second = 1000000000, .max_file_nbytes = 1 << 20};
    struct tbed_writer *writer = test_writer_open(path, &options);
    give_much(writer);
    tbed_writer_close(writer);
    assert_stored_and_dropped(path, TBED_DROP_SIZE_LIMIT, 100000);
}

static void a_full_disk_drops_and_counts(void **state)
{
    (void)state;
    char folder[256], path[300];
    snprintf(folder, sizeof folder, "%s", test_path("disk"));
    snprintf(path, sizeof path, "%s/full.tbed", folder);
    mkdir(folder, 0700);
    if (mount("none", folder, "tmpfs", 0, "size=1m") != 0)
        skip(); /* not root */
    struct tbed_writer_options options = {.given_ticks = true, .user_clock_unit = "counts"};
    struct tbed_writer *writer = test_writer_open(path, &options);
    give_much(writer);
    tbed_writer_close(writer);
    assert_stored_and_dropped(path, TBED_DROP_DISK_FULL, 100000);
    umount(folder);
}

/* ---- Very many threads ---- */

static long peak_kib(void)
{
    struct rusage usage;
    getrusage(RUSAGE_SELF, &usage);
    return usage.ru_maxrss;
}

static void assert_many_streams(const char *path, uint32_t count, uint32_t events_each)
{
    struct tbed_reader *reader = test_reader_open(path, true);
    struct tbed_trace_info info;
    struct tbed_merge *merge;
    struct tbed_event event;
    uint64_t events = 0;
    tbed_reader_info(reader, &info);
    assert_int_equal(info.stream_count, count);
    assert_int_equal(tbed_merge_open(reader, NULL, 0, &merge), TBED_OK);
    for (; tbed_merge_next(merge, &event) == TBED_OK; events++)
        assert_int_equal(event.id, event.stream);
    assert_int_equal(events, (uint64_t)count * events_each);
    tbed_merge_close(merge);
    tbed_reader_close(reader);
}

/* All open at once: about a KiB each in the file, and as much in memory. */
static void seventy_thousand_threads_of_one_event_take_a_cell_each(void **state)
{
    (void)state;
    enum { COUNT = 70000 };
    const char *path = test_path("threads.tbed");
    struct tbed_writer *writer = given_open(path, 0);
    long before = peak_kib();
    for (uint32_t i = 0; i < COUNT; i++)
        give_span(tbed_recorder_open_given(writer, NULL, i), i + 2, i, i + 1);
    assert_true(peak_kib() - before < COUNT * 5 / 2); /* the pages of the file are counted too */
    tbed_writer_close(writer);
    struct stat status;
    stat(path, &status);
    assert_true(status.st_size < (off_t)COUNT * 1200);
    assert_many_streams(path, COUNT, 1);
}

/* Their events come in turns, so that none can be closed: still no page each. Gives the bytes of a thread. */
static uint64_t thread_nbytes(uint32_t count, uint32_t events_each)
{
    const char *path = test_path("turns.tbed");
    struct tbed_writer *writer = given_open(path, 0);
    struct tbed_recorder **recorders = calloc(count, sizeof *recorders);
    for (uint32_t i = 0; i < count; i++)
        recorders[i] = tbed_recorder_open_given(writer, NULL, i);
    for (uint32_t event = 0; event < events_each; event++)
        for (uint32_t i = 0; i < count; i++)
            give_span(recorders[i], i + 2, event, event + 1);
    tbed_writer_close(writer);
    free(recorders);
    struct stat status;
    stat(path, &status);
    assert_many_streams(path, count, events_each);
    return (uint64_t)status.st_size / count;
}

static void threads_of_a_hundred_events_take_four_cells_each(void **state)
{
    (void)state;
    assert_true(thread_nbytes(2000, 100) < 3500);
}

/* No page that is nearly empty: 24,000 bytes of events, and in the worst case, 62,400, half of a page and its cells. */
static void many_threads_take_twice_their_events_at_most(void **state)
{
    (void)state;
    assert_true(thread_nbytes(300, 1000) < 27000);
    assert_true(thread_nbytes(50, 2600) < 2 * 62400 + 15000);
}

/*
 * A file of many threads leaves the resident memory, though all its cells are in use. At most are there: what is
 * claimed between two releases, what the helper has ahead, an open cell's 4 KiB a thread, and the recorders.
 */
static void many_threads_stay_small_in_memory(void **state)
{
    (void)state;
    enum { COUNT = 4000, EACH = 2000, LIMIT_KIB = (64 + 16 + 2) * 1024 + COUNT * (4 + 1) };
    struct tbed_writer *writer = given_open(test_path("resident.tbed"), 0);
    struct tbed_recorder **recorders = calloc(COUNT, sizeof *recorders);
    long before = peak_kib();
    for (uint32_t i = 0; i < COUNT; i++)
        recorders[i] = tbed_recorder_open_given(writer, NULL, i);
    for (uint32_t event = 0; event < EACH; event++)
        for (uint32_t i = 0; i < COUNT; i++)
            give_span(recorders[i], 2, event, event + 1);
    assert_true(peak_kib() - before < LIMIT_KIB);
    tbed_writer_close(writer);
    free(recorders);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(many_threads_stay_small_in_memory), /* first: a peak never falls */
        cmocka_unit_test(any_events_come_back_as_they_were_given),
        cmocka_unit_test(ticks_that_go_back_take_little_room),
        cmocka_unit_test(events_that_are_none_are_counted),
        cmocka_unit_test(threads_of_other_processes_belong_to_them),
        cmocka_unit_test(processes_are_described_again),
        cmocka_unit_test(asynchronous_spans_and_flows_have_their_keys_and_arguments),
        cmocka_unit_test(the_clock_is_what_was_told),
        cmocka_unit_test(counts_have_a_unit_and_no_rate),
        cmocka_unit_test(nobody_joins_and_no_clock_is_mixed_in),
        cmocka_unit_test(other_functions_get_the_latest_tick_given),
        cmocka_unit_test(a_file_without_a_name_is_written_and_stays_the_callers),
        cmocka_unit_test(descriptors_of_anything_else_are_refused),
        cmocka_unit_test(a_forked_child_goes_on_in_a_file_without_a_name),
        cmocka_unit_test(a_size_limit_drops_and_counts),
        cmocka_unit_test(a_full_disk_drops_and_counts),
        cmocka_unit_test(seventy_thousand_threads_of_one_event_take_a_cell_each),
        cmocka_unit_test(threads_of_a_hundred_events_take_four_cells_each),
        cmocka_unit_test(many_threads_take_twice_their_events_at_most),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
