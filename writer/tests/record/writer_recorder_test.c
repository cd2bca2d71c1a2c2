/*
 * Events as a recorder writes them, read back; and everything that must be dropped, counted and survived.
 *
 * SPDX-License-Identifier: MIT
 */
#include "writer/tests/support.h"

#include <pthread.h>
#include <semaphore.h>

#include <signal.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <sys/time.h>
#include <unistd.h>

static uint64_t counted_ticks;

static uint64_t counting_clock(void)
{
    return ++counted_ticks;
}

static struct tbed_writer_options counting_options(void)
{
    counted_ticks = 0;
    return (struct tbed_writer_options){.clock = TBED_CLOCK_USER,
                                        .user_clock = counting_clock,
                                        .user_clock_unit = "calls",
                                        .no_helper = true};
}

static void assert_arguments(struct tbed_reader *reader, const struct tbed_event *event)
{
    struct tbed_arguments at = event->arguments;
    struct tbed_argument argument;
    tbed_argument_next(&at, &argument);
    assert_int_equal(argument.value.u64, UINT64_MAX);
    assert_text(reader, argument.name_id, "n");
    tbed_argument_next(&at, &argument);
    assert_int_equal(argument.value.i64, -7);
    tbed_argument_next(&at, &argument);
    assert_true(argument.value.f64 == 0.1);
    tbed_argument_next(&at, &argument);
    assert_int_equal(argument.nbytes, 9);
    assert_memory_equal(argument.value.text, "nine char", 9);
    tbed_argument_next(&at, &argument);
    assert_int_equal(argument.nbytes, 0);
    tbed_argument_next(&at, &argument);
    assert_int_equal(argument.value.id, TBED_ID_METADATA);
}

static void assert_slots(const struct tbed_event *event)
{
    static const uint64_t bits[] = {5, 0, UINT64_MAX};
    struct tbed_arguments at = event->arguments;
    struct tbed_argument argument;
    assert_int_equal(event->of.alloc.address, 0x10000);
    assert_int_equal(event->argument_count, 2);
    tbed_argument_next(&at, &argument);
    assert_int_equal(argument.type, TBED_ARG_U64);
    assert_int_equal(argument.value.u64, 40);
    tbed_argument_next(&at, &argument);
    assert_int_equal(argument.type, TBED_ARG_BYTES);
    assert_int_equal(argument.nbytes, sizeof bits);
    assert_memory_equal(argument.value.text, bits, sizeof bits);
}

static void every_kind_of_event_comes_back(void **state)
{
    (void)state;
    const char *path = test_path("kinds.tbed");
    struct tbed_writer *writer = test_writer_open(path, NULL);
    struct tbed_recorder *recorder = tbed_recorder_open(writer, "main");
    struct tbed_argument arguments[] = {
        {.type = TBED_ARG_U64, .name_id = tbed_string_intern(writer, "n", 1), .value.u64 = UINT64_MAX},
        {.type = TBED_ARG_I64, .name_id = TBED_ID_INVALID, .value.i64 = -7},
        {.type = TBED_ARG_F64, .name_id = TBED_ID_INVALID, .value.f64 = 0.1},
        {.type = TBED_ARG_TEXT, .name_id = TBED_ID_INVALID, .nbytes = 9, .value.text = "nine char"},
        {.type = TBED_ARG_TEXT, .name_id = TBED_ID_INVALID, .nbytes = 0, .value.text = NULL},
        {.type = TBED_ARG_ID, .name_id = TBED_ID_INVALID, .value.id = TBED_ID_METADATA},
    };
    tbed_span_begin_args(recorder, 5, arguments, 6);
    tbed_instant_record_args(recorder, 6, arguments, 1);
    tbed_counter_record_i64(recorder, 7, -((int64_t)1 << 59));
    tbed_counter_record_i64(recorder, 7, (int64_t)1 << 59);
    tbed_counter_record_f64(recorder, 7, 1.5);
    tbed_message_record(recorder, TBED_SEVERITY_WARNING, "careful", 7);
    tbed_async_begin(recorder, 8, 99);
    tbed_async_end(recorder, 8, 99);
    tbed_flow_record(recorder, TBED_EXT_FLOW_STEP, 8, 98);
    tbed_alloc_record(recorder, 9, TBED_FUNCTION_MALLOC, 0x7fffffff0000, 32767);
    tbed_alloc_record(recorder, 9, TBED_FUNCTION_MALLOC, 0x7fffffff0000, 32768);
    tbed_alloc_record(recorder, 9, TBED_FUNCTION_CALLOC, 16, 1);
    tbed_alloc_record(recorder, 9, TBED_FUNCTION_MALLOC, 0, 1);
    tbed_free_record(recorder, 9, TBED_FUNCTION_MALLOC, 0x7fffffff0000);
    tbed_free_record(recorder, 9, TBED_FUNCTION_MALLOC, UINT64_MAX);
    tbed_realloc_record(recorder, 9, 16, 32, 64, 3);
    tbed_free_slots_record(recorder, 9, 0x10000, 40, (const uint64_t[]){5, 0, UINT64_MAX}, 3);
    tbed_free_slots_record(recorder, 9, 0x10000, 40, NULL, 1 << 20); /* too many: dropped */
    tbed_resize_record(recorder, TBED_ID_INVALID, 0x7fffffff0000, (uint64_t)1 << 40);
    tbed_span_end_args(recorder, arguments, 2);
    tbed_writer_close(writer);

    static const enum tbed_event_type expected[] = {
        TBED_EVENT_BEGIN,     TBED_EVENT_INSTANT, TBED_EVENT_COUNTER,     TBED_EVENT_COUNTER,
        TBED_EVENT_COUNTER,   TBED_EVENT_MESSAGE, TBED_EVENT_ASYNC_BEGIN, TBED_EVENT_ASYNC_END,
        TBED_EVENT_FLOW_STEP, TBED_EVENT_ALLOC,   TBED_EVENT_ALLOC,       TBED_EVENT_ALLOC,
        TBED_EVENT_ALLOC,     TBED_EVENT_FREE,    TBED_EVENT_FREE,        TBED_EVENT_REALLOC,
        TBED_EVENT_FREE,      TBED_EVENT_RESIZE,  TBED_EVENT_END,
    };
    struct tbed_reader *reader = test_reader_open(path, true);
    size_t count;
    struct tbed_event *events = test_events(reader, test_stream_named(reader, "main"), &count);
    assert_int_equal(count, sizeof expected / sizeof *expected);
    for (size_t i = 0; i < count; i++)
        assert_int_equal(events[i].type, expected[i]);
    assert_int_equal(events[0].argument_count, 6);
    assert_arguments(reader, &events[0]);
    assert_int_equal(events[2].counter_value.value.i64, -((int64_t)1 << 59));
    assert_int_equal(events[3].counter_value.value.i64, (int64_t)1 << 59);
    assert_true(events[4].counter_value.value.f64 == 1.5);
    assert_int_equal(events[5].of.message.severity, TBED_SEVERITY_WARNING);
    assert_int_equal(events[6].of.async.key, 99);
    assert_int_equal(events[9].of.alloc.size, 32767);
    assert_false(events[9].extended);
    assert_int_equal(events[10].of.alloc.size, 32768);
    assert_true(events[10].extended);
    assert_int_equal(events[11].of.alloc.function, TBED_FUNCTION_CALLOC);
    assert_int_equal(events[14].of.alloc.address, UINT64_MAX);
    assert_int_equal(events[15].of.realloc.begin_tick, 3);
    assert_slots(&events[16]);
    assert_int_equal(events[17].of.alloc.size, (uint64_t)1 << 40);
    assert_int_equal(events[18].of.end.begin_tick, events[0].tick);
    free(events);
    tbed_reader_close(reader);
}

static void only_the_last_allocation_can_get_another_size_in_place(void **state)
{
    (void)state;
    const char *path = test_path("last.tbed");
    struct tbed_writer *writer = test_writer_open(path, NULL);
    struct tbed_recorder *recorder = tbed_recorder_open(writer, "main");
    assert_false(tbed_last_alloc_resize(recorder, recorder->cursor, 64, 80)); /* nothing was recorded */
    tbed_alloc_record(recorder, 9, TBED_FUNCTION_UNKNOWN, 64, 40);
    const uint64_t *behind = recorder->cursor;
    if (recorder->mark != TBED_MARK_READY) /* a clock that takes a call: everything goes the long way */
        skip();
    assert_false(tbed_last_alloc_resize(recorder, behind, 128, 80));
    assert_false(tbed_last_alloc_resize(recorder, behind, 64, 32768));
    assert_true(tbed_last_alloc_resize(recorder, behind, 64, 32767));
    assert_true(tbed_last_alloc_resize(recorder, behind, 64, 80));
    tbed_instant_record(recorder, 5);
    assert_false(tbed_last_alloc_resize(recorder, behind, 64, 96));
    tbed_alloc_record(recorder, 9, TBED_FUNCTION_UNKNOWN, 64, 40); /* another one at the same address */
    assert_false(tbed_last_alloc_resize(recorder, behind, 64, 96));
    tbed_alloc_record(recorder, 9, TBED_FUNCTION_UNKNOWN, 128, 40);
    behind = recorder->cursor;
    tbed_writer_close(writer);
    assert_false(tbed_last_alloc_resize(recorder, behind, 128, 96));

    struct tbed_reader *reader = test_reader_open(path, true);
    size_t count;
    struct tbed_event *events = test_events(reader, test_stream_named(reader, "main"), &count);
    assert_int_equal(count, 4);
    assert_int_equal(events[0].of.alloc.address, 64);
    assert_int_equal(events[0].of.alloc.size, 80);
    assert_int_equal(events[2].of.alloc.size, 40);
    assert_int_equal(events[3].of.alloc.size, 40);
    free(events);
    tbed_reader_close(reader);
}

/* Down and up again through many blocks: each end has its own id, and a begin tick where the block cannot
 * know it. */
static void recursion_deeper_than_a_block_can_hold_is_kept(void **state)
{
    (void)state;
    enum { DEPTH = 20000 };
    const char *path = test_path("deep.tbed");
    struct tbed_writer_options options = counting_options();
    options.page_nbytes = 4096;
    struct tbed_writer *writer = test_writer_open(path, &options);
    struct tbed_recorder *recorder = tbed_recorder_open(writer, NULL);
    for (uint32_t i = 0; i < DEPTH; i++)
        tbed_span_begin(recorder, i);
    for (uint32_t i = 0; i < DEPTH; i++)
        tbed_span_end(recorder);
    tbed_span_end(recorder); /* one too many */
    tbed_writer_close(writer);

    struct tbed_reader *reader = test_reader_open(path, true);
    size_t count;
    struct tbed_event *events = test_events(reader, test_stream_named(reader, NULL), &count);
    assert_int_equal(count, 2 * DEPTH + 1);
    for (uint32_t i = 0; i < DEPTH; i++) {
        const struct tbed_event *end = &events[2 * DEPTH - 1 - i];
        assert_int_equal(events[i].type, TBED_EVENT_BEGIN);
        assert_int_equal(end->type, TBED_EVENT_END);
        assert_int_equal(end->id, i);
        if (end->extended)
            assert_int_equal(end->of.end.begin_tick, events[i].tick);
    }
    assert_int_equal(events[2 * DEPTH].id, TBED_ID_INVALID);
    free(events);
    tbed_reader_close(reader);
}

static void clocks_that_jump_are_recorded_exactly(void **state)
{
    (void)state;
    static const uint64_t jumps[] = {0x7FFFFFFF,        0x80000000,
                                     0x80000001,        (uint64_t)1 << 40,
                                     (uint64_t)1 << 60, (uint64_t)1 << 61,
                                     (uint64_t)-1,      (uint64_t)-0x80000000ll,
                                     (uint64_t)1 << 63, 5,
                                     (uint64_t)-1000};
    enum { COUNT = sizeof jumps / sizeof *jumps };
    const char *path = test_path("jumps.tbed");
    struct tbed_writer_options options = counting_options();
    struct tbed_writer *writer = test_writer_open(path, &options);
    struct tbed_recorder *recorder = tbed_recorder_open(writer, NULL);
    uint64_t expected[COUNT];
    tbed_instant_record(recorder, 1);
    for (size_t i = 0; i < COUNT; i++) {
        counted_ticks += jumps[i];
        expected[i] = counted_ticks + 1;
        tbed_instant_record(recorder, 2);
    }
    tbed_writer_close(writer);
    struct tbed_reader *reader = test_reader_open(path, true);
    size_t count;
    struct tbed_event *events = test_events(reader, test_stream_named(reader, NULL), &count);
    assert_int_equal(count, COUNT + 1);
    for (size_t i = 0; i < COUNT; i++)
        assert_true(events[i + 1].tick == expected[i]);
    free(events);
    tbed_reader_close(reader);
}

/* A user's counter may step back a little, within a block: the block's last tick is the latest, not the last. */
static void a_clock_that_steps_back_damages_nothing(void **state)
{
    (void)state;
    const char *path = test_path("back.tbed");
    struct tbed_writer_options options = counting_options();
    options.page_nbytes = 4096;
    struct tbed_writer *writer = test_writer_open(path, &options);
    struct tbed_recorder *recorder = tbed_recorder_open(writer, NULL);
    counted_ticks = 1000000;
    for (uint32_t i = 0; i < 5000; i++) {
        counted_ticks -= i % 7 == 0 ? 20 : 0;
        tbed_span_begin(recorder,
                        UINT32_MAX); /* an id of more than 30 bits is cut, and spoils nothing else */
        tbed_span_end(recorder);
    }
    tbed_writer_close(writer);
    struct tbed_reader *reader = test_reader_open(path, true);
    size_t count;
    struct tbed_event *events = test_events(reader, test_stream_named(reader, NULL), &count);
    assert_int_equal(count, 10000);
    for (size_t i = 0; i < count; i++)
        assert_int_equal(events[i].type, i % 2 == 0 ? TBED_EVENT_BEGIN : TBED_EVENT_END);
    free(events);
    tbed_reader_close(reader);
}

static void a_record_too_large_for_a_page_is_dropped_and_told(void **state)
{
    (void)state;
    const char *path = test_path("large.tbed");
    struct tbed_writer_options options = {.page_nbytes = 4096};
    struct tbed_writer *writer = test_writer_open(path, &options);
    struct tbed_recorder *recorder = tbed_recorder_open(writer, NULL);
    char *text = calloc(1, 10000);
    memset(text, 'x', 10000);
    tbed_instant_record(recorder, 1);
    tbed_message_record(recorder, TBED_SEVERITY_NONE, text, 10000);
    tbed_message_record(recorder, TBED_SEVERITY_NONE, text, 3900);
    struct tbed_argument many[300];
    for (size_t i = 0; i < 300; i++)
        many[i] = (struct tbed_argument){.type = TBED_ARG_U64, .name_id = TBED_ID_INVALID};
    tbed_instant_record_args(recorder, 2, many, 256);
    tbed_instant_record(recorder, 3);
    assert_int_equal(tbed_writer_drop_count(writer, TBED_DROP_TOO_LARGE), 2);
    tbed_writer_close(writer);

    struct tbed_reader *reader = test_reader_open(path, true);
    size_t count;
    struct tbed_event *events = test_events(reader, test_stream_named(reader, NULL), &count);
    assert_int_equal(events[0].id, 1);
    assert_int_equal(events[1].type, TBED_EVENT_GAP);
    assert_int_equal(events[1].of.gap.count, 1);
    assert_int_equal(events[1].of.gap.cause, TBED_DROP_TOO_LARGE);
    assert_int_equal(events[2].type, TBED_EVENT_MESSAGE);
    assert_int_equal(events[count - 1].id, 3);
    free(events);
    tbed_reader_close(reader);
    free(text);
}

/* The block that begins with such an end stores the span that it ends, and counts it among those that are open. */
static void a_block_that_begins_with_the_end_of_a_span_knows_it(void **state)
{
    (void)state;
    const char *path = test_path("ends.tbed");
    struct tbed_writer_options options = counting_options();
    options.page_nbytes = 4096;
    struct tbed_writer *writer = test_writer_open(path, &options);
    struct tbed_recorder *recorder = tbed_recorder_open(writer, "main");
    struct tbed_argument argument = {.type = TBED_ARG_U64, .name_id = TBED_ID_INVALID, .value.u64 = 1};
    tbed_span_begin(recorder, 1);
    for (int i = 0; i < 3000; i++) { /* 6 words, so that blocks end at any of them */
        tbed_span_begin(recorder, 2);
        tbed_span_end_args(recorder, &argument, 1);
    }
    tbed_span_end(recorder);
    tbed_writer_close(writer);

    struct tbed_reader *reader = test_reader_open(path, true);
    struct tbed_cursor *cursor;
    struct tbed_event event;
    uint64_t count = 0;
    assert_int_equal(tbed_cursor_open(reader, test_stream_named(reader, "main"), &cursor), TBED_OK);
    while (tbed_cursor_next(cursor, &event) == TBED_OK) {
        uint32_t depth =
            event.id == 1 ? event.type == TBED_EVENT_BEGIN : 1 + (event.type == TBED_EVENT_BEGIN);
        assert_int_equal(tbed_cursor_depth(cursor), depth);
        count++;
    }
    assert_int_equal(count, 6002);
    tbed_cursor_close(cursor);
    tbed_reader_close(reader);
}

static void everything_takes_no_writer(void **state)
{
    (void)state;
    struct tbed_recorder *recorder = tbed_recorder_open(NULL, "x");
    assert_non_null(recorder);
    for (int i = 0; i < 100; i++) {
        tbed_span_begin(recorder, 1);
        tbed_span_end(recorder);
        tbed_span_end_args(recorder, NULL, 0);
        tbed_span_begin_args(recorder, 1, NULL, 0);
    }
    tbed_instant_record(recorder, 1);
    tbed_counter_record_i64(recorder, 1, 1);
    tbed_message_record(recorder, TBED_SEVERITY_NONE, "x", 1);
    tbed_recorder_name_set(recorder, "y");
    assert_int_equal(tbed_recorder_stream(recorder), 0);
    tbed_recorder_close(recorder);
    assert_int_equal(tbed_string_intern(NULL, "x", 1), TBED_ID_INVALID);
    assert_int_equal(tbed_id_reserve(NULL, 1), TBED_ID_INVALID);
    tbed_id_bind(NULL, 1, 1, 1);
    tbed_metadata_set(NULL, "x", 1);
    assert_int_equal(tbed_writer_drop_count(NULL, TBED_DROP_CLOSED), 0);
    tbed_writer_close(NULL);
}

/* As a signal handler may that comes while its thread's recorder is being closed. */
static void what_a_closed_recorder_gets_is_counted(void **state)
{
    (void)state;
    struct tbed_writer *writer = test_writer_open(test_path("closed.tbed"), NULL);
    struct tbed_recorder *recorder = tbed_recorder_open(writer, NULL);
    tbed_instant_record(recorder, 1);
    tbed_recorder_close(recorder);
    tbed_span_begin(recorder, 2);
    tbed_span_end(recorder);
    tbed_instant_record(recorder, 3);
    tbed_counter_record_i64(recorder, 4, 5);
    assert_int_equal(tbed_writer_drop_count(writer, TBED_DROP_CLOSED), 4);
    tbed_writer_close(writer);
}

static void what_is_recorded_after_the_close_is_counted_and_harmless(void **state)
{
    (void)state;
    const char *path = test_path("closed.tbed");
    struct tbed_writer *writer = test_writer_open(path, NULL);
    struct tbed_recorder *recorder = tbed_recorder_open(writer, NULL);
    tbed_span_begin(recorder, 1);
    tbed_writer_close(writer);
    tbed_writer_close(writer);
    tbed_span_end(recorder);
    tbed_instant_record(recorder, 1);
    tbed_recorder_close(recorder);
    assert_int_equal(tbed_writer_drop_count(writer, TBED_DROP_CLOSED), 2);
    assert_int_equal(tbed_string_intern(writer, "x", 1), TBED_ID_INVALID);
    tbed_instant_record(tbed_recorder_open(writer, "late"), 1);
    struct tbed_reader *reader = test_reader_open(path, true);
    assert_int_equal(test_drop_count(reader), 0);
    tbed_reader_close(reader);
}

static void a_closed_recorder_is_used_again_for_the_next(void **state)
{
    (void)state;
    const char *path = test_path("reuse.tbed");
    struct tbed_writer *writer = test_writer_open(path, NULL);
    for (uint32_t i = 0; i < 500; i++) {
        struct tbed_recorder *recorder = tbed_recorder_open(writer, NULL);
        for (uint32_t k = 0; k < 10; k++)
            tbed_instant_record(recorder, i);
        tbed_recorder_close(recorder);
        tbed_recorder_close(recorder);
    }
    tbed_writer_close(writer);
    struct tbed_reader *reader = test_reader_open(path, true);
    struct tbed_stream_info stream;
    size_t streams = 0;
    for (; tbed_stream_get(reader, streams, &stream); streams++)
        assert_true(stream.end_tick >= stream.tick);
    assert_int_equal(streams, 500);
    struct stat status;
    stat(path, &status);
    assert_true(status.st_size <= 1 << 20); /* short threads take a cell each, not a page */
    tbed_reader_close(reader);
}

/* ---- Signals ---- */

static struct tbed_recorder *handler_recorder;
static volatile sig_atomic_t handled;

static void record_from_handler(int signal)
{
    (void)signal;
    tbed_span_begin(handler_recorder, 100);
    tbed_instant_record(handler_recorder, 101);
    tbed_span_end(handler_recorder);
    handled++;
}

static void fast_timer(suseconds_t us)
{
    struct itimerval interval = {{0, us}, {0, us}};
    setitimer(ITIMER_REAL, &interval, NULL);
}

/* Spans nest whatever the handler's timing was; what it could not record is counted, nothing else is. */
static void a_signal_handler_that_records_corrupts_nothing(void **state)
{
    (void)state;
    const char *path = test_path("signals.tbed");
    struct tbed_writer_options options = {.no_helper = true, .page_nbytes = 4096};
    struct tbed_writer *writer = test_writer_open(path, &options);
    handler_recorder = tbed_recorder_open(writer, NULL);
    struct sigaction action = {.sa_handler = record_from_handler, .sa_flags = SA_RESTART}, before;
    sigaction(SIGALRM, &action, &before);
    handled = 0;
    fast_timer(100);
    uint64_t pairs = 0;
    for (; handled < 1000; pairs++) {
        tbed_span_begin(handler_recorder, 1);
        tbed_counter_record_i64(handler_recorder, 2, (int64_t)pairs);
        tbed_span_end(handler_recorder);
    }
    fast_timer(0);
    sigaction(SIGALRM, &before, NULL);
    uint64_t dropped = tbed_writer_drop_count(writer, TBED_DROP_INTERRUPTED);
    tbed_writer_close(writer);

    struct tbed_reader *reader = test_reader_open(path, true);
    size_t count;
    struct tbed_event *events = test_events(reader, test_stream_named(reader, NULL), &count);
    uint64_t counted[3] = {0}, gaps = 0, depth = 0, next_value = 0;
    for (size_t i = 0; i < count; i++) {
        if (events[i].type == TBED_EVENT_BEGIN)
            depth++;
        if (events[i].type == TBED_EVENT_END)
            depth--;
        if (events[i].type == TBED_EVENT_COUNTER)
            assert_int_equal(events[i].counter_value.value.i64, next_value++);
        if (events[i].type == TBED_EVENT_GAP)
            gaps += events[i].of.gap.count;
        else
            counted[events[i].id >= 100]++;
        assert_true(depth <= 2);
    }
    free(events);
    for (uint32_t stream = 0; (stream = test_next_stream_of_handlers(reader, stream)) != 0;) {
        events = test_events(reader, stream, &count);
        for (size_t i = 0; i < count; i++)
            counted[1] += events[i].type != TBED_EVENT_GAP;
        free(events);
    }
    assert_int_equal(next_value, pairs);
    assert_int_equal(counted[0], 3 * pairs);
    assert_int_equal(counted[1] + dropped, 3 * (uint64_t)handled);
    assert_true(dropped < (uint64_t)handled / 2); /* most of them find the thread inside a record */
    assert_true(gaps <= dropped);
    tbed_reader_close(reader);
}

/* ---- A thread that stays inside a record ---- */

static sem_t is_inside, may_leave;
static bool waits; /* atomic */

static uint64_t clock_that_waits(void)
{
    static uint64_t ticks;
    if (__atomic_exchange_n(&waits, false, __ATOMIC_ACQ_REL)) {
        sem_post(&is_inside);
        sem_wait(&may_leave);
    }
    return __atomic_add_fetch(&ticks, 1, __ATOMIC_RELAXED);
}

static void *record_one(void *recorder)
{
    tbed_instant_record(recorder, 2);
    return NULL;
}

/* Its store goes to the map, which stays for it; and the file stays open, because nobody knows whether it is complete. */
static void a_thread_that_stays_inside_a_record_may_store_after_the_close(void **state)
{
    (void)state;
    struct tbed_writer_options options = {.clock = TBED_CLOCK_USER,
                                          .user_clock = clock_that_waits,
                                          .user_clock_unit = "ticks",
                                          .no_helper = true};
    const char *path = test_path("inside.tbed");
    struct tbed_writer *writer = test_writer_open(path, &options);
    struct tbed_recorder *recorder = tbed_recorder_open(writer, "inside");
    struct tbed_trace_info info;
    pthread_t thread;
    assert_int_equal(sem_init(&is_inside, 0, 0) | sem_init(&may_leave, 0, 0), 0);
    tbed_instant_record(recorder, 1);
    __atomic_store_n(&waits, true, __ATOMIC_RELEASE);
    assert_int_equal(pthread_create(&thread, NULL, record_one, recorder), 0);
    sem_wait(&is_inside);
    tbed_writer_close(writer); /* waits a second for it */
    sem_post(&may_leave);
    pthread_join(thread, NULL);
    struct tbed_reader *reader = test_reader_open(path, false);
    tbed_reader_info(reader, &info);
    assert_false(info.shut);
    tbed_reader_close(reader);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(every_kind_of_event_comes_back),
        cmocka_unit_test(only_the_last_allocation_can_get_another_size_in_place),
        cmocka_unit_test(recursion_deeper_than_a_block_can_hold_is_kept),
        cmocka_unit_test(a_block_that_begins_with_the_end_of_a_span_knows_it),
        cmocka_unit_test(clocks_that_jump_are_recorded_exactly),
        cmocka_unit_test(a_clock_that_steps_back_damages_nothing),
        cmocka_unit_test(a_record_too_large_for_a_page_is_dropped_and_told),
        cmocka_unit_test(everything_takes_no_writer),
        cmocka_unit_test(what_a_closed_recorder_gets_is_counted),
        cmocka_unit_test(what_is_recorded_after_the_close_is_counted_and_harmless),
        cmocka_unit_test(a_closed_recorder_is_used_again_for_the_next),
        cmocka_unit_test(a_signal_handler_that_records_corrupts_nothing),
        cmocka_unit_test(a_thread_that_stays_inside_a_record_may_store_after_the_close),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
