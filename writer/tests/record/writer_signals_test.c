/*
 * Signal handlers that interrupt a record of their thread: what they record is in a stream of their own, also if they
 * interrupt one another, and whatever happens to the thread. Being inside a record is simulated by the recorder's mark.
 *
 * SPDX-License-Identifier: MIT
 */
#include "writer/tests/support.h"

#include <pthread.h>
#include <stdlib.h>
#include <sys/wait.h>
#include <unistd.h>

#include "writer/file/usable.h"
#include "writer/record/recorders.h"

static struct tbed_recorder *thread;

static void begin_record(struct tbed_recorder *recorder)
{
    assert_int_equal(recorder->mark, TBED_MARK_READY);
    recorder->mark = TBED_MARK_BUSY;
}

static void end_record(struct tbed_recorder *recorder)
{
    assert_int_equal(recorder->mark, TBED_MARK_BUSY);
    recorder->mark = TBED_MARK_READY;
}

/* Of the handlers that interrupt a record of 'recorder'; 0: there is none. */
static uint32_t stream_of_handlers(const struct tbed_recorder *recorder)
{
    const struct tbed_recorder *of_handlers = tbed_cold_of(recorder)->of_handlers;
    return of_handlers != NULL ? tbed_recorder_stream(of_handlers) : 0;
}

static struct tbed_stream_info info_of(const struct tbed_reader *reader, uint32_t stream)
{
    struct tbed_stream_info info;
    for (size_t i = 0; tbed_stream_get(reader, i, &info); i++)
        if (info.stream == stream)
            return info;
    fail_msg("no stream %u", stream);
    return info;
}

/* The stream has exactly these events, in this order; ids[] ends with 0. */
static void assert_events(struct tbed_reader *reader, uint32_t stream, const uint32_t *ids)
{
    size_t count;
    struct tbed_event *events = test_events(reader, stream, &count);
    for (size_t i = 0; i < count; i++)
        assert_int_equal(events[i].id, ids[i]);
    assert_int_equal(ids[count], 0);
    free(events);
}

static void a_handler_inside_a_record_has_a_stream(void **state)
{
    (void)state;
    const char *path = test_path("inside.tbed");
    struct tbed_writer *writer = test_writer_open(path, NULL);
    thread = tbed_recorder_open(writer, "worker");
    tbed_instant_record(thread, 10);
    begin_record(thread);
    tbed_span_begin(thread, 20);
    assert_true(tbed_has_open_span(thread));
    tbed_counter_record_i64(thread, 21, 7);
    tbed_span_end(thread);
    assert_false(tbed_has_open_span(thread));
    end_record(thread);
    tbed_instant_record(thread, 11);
    uint32_t own = tbed_recorder_stream(thread), of_handlers = stream_of_handlers(thread);
    tbed_writer_close(writer);
    struct tbed_reader *reader = test_reader_open(path, true);
    struct tbed_stream_info info = info_of(reader, of_handlers);
    assert_int_equal(info.kind, TBED_STREAM_HANDLERS);
    assert_int_equal(info.of_thread, own);
    assert_int_equal(info.forked_from, 0);
    assert_int_equal(info.tid, info_of(reader, own).tid);
    assert_true(info.end_tick >= info.tick);
    assert_text(reader, info.name_id, "worker: signal handlers");
    assert_events(reader, own, (const uint32_t[]){10, 11, 0});
    assert_events(reader, of_handlers, (const uint32_t[]){20, 21, 20, 0});
    assert_int_equal(test_drop_count(reader), 0);
    tbed_reader_close(reader);
}

/* Each level finds all others inside a record. The last has no stream: its event is dropped and counted. */
static void handlers_may_interrupt_one_another(void **state)
{
    (void)state;
    const char *path = test_path("levels.tbed");
    struct tbed_writer *writer = test_writer_open(path, NULL);
    struct tbed_recorder *level = tbed_recorder_open(writer, NULL);
    uint32_t streams[TBED_HANDLER_LEVEL_MAX];
    thread = level;
    tbed_instant_record(thread, 10);
    uint32_t own = tbed_recorder_stream(thread);
    for (uint32_t i = 0; i < TBED_HANDLER_LEVEL_MAX; i++) {
        begin_record(level);
        tbed_instant_record(thread, 20 + i);
        streams[i] = stream_of_handlers(level);
        level = tbed_cold_of(level)->of_handlers;
    }
    begin_record(level);
    tbed_instant_record(thread, 99);
    assert_int_equal(tbed_writer_drop_count(writer, TBED_DROP_INTERRUPTED), 1);
    for (level = thread; level != NULL; level = tbed_cold_of(level)->of_handlers)
        end_record(level);
    tbed_writer_close(writer);
    struct tbed_reader *reader = test_reader_open(path, true);
    for (uint32_t i = 0; i < TBED_HANDLER_LEVEL_MAX; i++) {
        assert_int_equal(info_of(reader, streams[i]).of_thread, own);
        assert_text(reader, info_of(reader, streams[i]).name_id, "signal handlers");
        if (i + 1 < TBED_HANDLER_LEVEL_MAX) /* the last has a GAP, too, if another event had followed */
            assert_events(reader, streams[i], (const uint32_t[]){20 + i, 0});
    }
    tbed_reader_close(reader);
}

static void a_new_name_of_the_thread_is_that_of_its_handlers(void **state)
{
    (void)state;
    const char *path = test_path("names.tbed");
    struct tbed_writer *writer = test_writer_open(path, NULL);
    thread = tbed_track_open(writer, NULL);
    tbed_instant_record(thread, 10);
    begin_record(thread);
    tbed_instant_record(thread, 20);
    end_record(thread);
    tbed_recorder_name_set(thread, "queue");
    uint32_t of_handlers = stream_of_handlers(thread);
    tbed_writer_close(writer);
    struct tbed_reader *reader = test_reader_open(path, true);
    assert_text(reader, info_of(reader, of_handlers).name_id, "queue: signal handlers");
    assert_int_equal(info_of(reader, of_handlers).tid, 0); /* a track has none */
    tbed_reader_close(reader);
}

/* The recorder's memory is used again; its handlers' is another one's by then. */
static void closing_a_recorder_ends_the_stream_of_its_handlers(void **state)
{
    (void)state;
    const char *path = test_path("close.tbed");
    struct tbed_writer *writer = test_writer_open(path, NULL);
    uint32_t streams[3];
    for (uint32_t i = 0; i < 3; i++) {
        thread = tbed_recorder_open(writer, "short");
        assert_null(tbed_cold_of(thread)->of_handlers);
        tbed_instant_record(thread, 10);
        begin_record(thread);
        tbed_instant_record(thread, 20 + i);
        streams[i] = stream_of_handlers(thread);
        end_record(thread);
        tbed_recorder_close(thread);
        tbed_instant_record(thread, 30); /* dropped as "closed" */
    }
    tbed_writer_close(writer);
    struct tbed_reader *reader = test_reader_open(path, true);
    for (uint32_t i = 0; i < 3; i++) {
        assert_true(info_of(reader, streams[i]).end_tick != 0);
        assert_events(reader, streams[i], (const uint32_t[]){20 + i, 0});
    }
    assert_int_equal(test_drop_count(reader), 3);
    tbed_reader_close(reader);
}

/* The child's handlers interrupt the child's stream, not the parent's. */
static void a_forked_child_has_handlers_of_its_own(void **state)
{
    (void)state;
    const char *path = test_path("fork.tbed");
    struct tbed_writer *writer = test_writer_open(path, NULL);
    thread = tbed_recorder_open(writer, "forks");
    tbed_instant_record(thread, 10);
    begin_record(thread);
    tbed_instant_record(thread, 20);
    end_record(thread);
    pid_t child = fork();
    if (child == 0) {
        tbed_instant_record(thread, 11);
        begin_record(thread);
        tbed_instant_record(thread, 21);
        end_record(thread);
        tbed_writer_close(writer);
        _exit(0);
    }
    assert_int_equal(waitpid(child, NULL, 0), child);
    tbed_writer_close(writer);
    struct tbed_reader *reader = test_reader_open(path, true);
    struct tbed_stream_info info, interrupted;
    unsigned found = 0;
    for (size_t i = 0; tbed_stream_get(reader, i, &info); i++) {
        if (info.kind != TBED_STREAM_HANDLERS)
            continue;
        interrupted = info_of(reader, info.of_thread);
        assert_int_equal(info.process, interrupted.process);
        assert_int_equal(info.tid, interrupted.tid);
        assert_events(reader, info.stream, (const uint32_t[]){20 + found, 0});
        assert_events(reader, info.of_thread, (const uint32_t[]){10 + found, 0});
        found++;
    }
    assert_int_equal(found, 2);
    tbed_reader_close(reader);
}

/* What needs a lock that the interrupted thread holds is dropped and counted; what needs none is stored. */
static void a_handler_never_waits_for_its_own_thread(void **state)
{
    (void)state;
    const char *path = test_path("locked.tbed");
    struct tbed_writer *writer = test_writer_open(path, NULL);
    struct tbed_lock *lock = &tbed_file_of(writer)->live->state_lock;
    thread = tbed_recorder_open(writer, NULL);
    tbed_instant_record(thread, 10);
    begin_record(thread);
    assert_true(tbed_lock_take(lock));
    tbed_instant_record(thread, 20); /* there is no recorder for it */
    tbed_lock_give(lock);
    tbed_instant_record(thread, 21);
    assert_true(tbed_lock_take(lock));
    tbed_instant_record(thread, 22);
    tbed_lock_give(lock);
    end_record(thread);
    uint32_t of_handlers = stream_of_handlers(thread);
    assert_int_equal(tbed_writer_drop_count(writer, TBED_DROP_INTERRUPTED), 1);
    tbed_writer_close(writer);
    struct tbed_reader *reader = test_reader_open(path, true);
    assert_events(reader, of_handlers, (const uint32_t[]){21, 22, 0});
    tbed_reader_close(reader);
}

/* Also while the thread waits for the file to grow: 2,000 events of handlers fit into cells. */
static void handlers_go_on_in_cells_while_the_file_grows(void **state)
{
    (void)state;
    const char *path = test_path("grows.tbed");
    struct tbed_writer *writer = test_writer_open(path, NULL);
    struct tbed_lock *lock = &tbed_file_of(writer)->live->grow_lock;
    thread = tbed_recorder_open(writer, NULL);
    tbed_instant_record(thread, 10);
    begin_record(thread);
    assert_true(tbed_lock_take(lock));
    for (uint32_t i = 0; i < 2000; i++)
        tbed_instant_record(thread, 20);
    tbed_lock_give(lock);
    end_record(thread);
    tbed_writer_close(writer);
    struct tbed_reader *reader = test_reader_open(path, true);
    assert_int_equal(test_drop_count(reader), 0);
    tbed_reader_close(reader);
}

/* With the macros, an end without a begin does nothing, also in a handler. */
static void macros_record_in_handlers(void **state)
{
    (void)state;
    const char *path = test_path("macros.tbed");
    assert_int_equal(tbed_start(path, NULL), TBED_OK);
    TBED_BEGIN("outer");
    thread = tbed_default_recorder();
    begin_record(thread);
    TBED_END();
    TBED_BEGIN("handler");
    TBED_LOG("signal %d", 7);
    TBED_END();
    TBED_END();
    end_record(thread);
    TBED_END();
    uint32_t own = tbed_recorder_stream(thread), of_handlers = stream_of_handlers(thread);
    tbed_stop();
    struct tbed_reader *reader = test_reader_open(path, true);
    size_t count;
    free(test_events(reader, own, &count));
    assert_int_equal(count, 2);
    free(test_events(reader, of_handlers, &count));
    assert_int_equal(count, 3);
    tbed_reader_close(reader);
}

static pthread_barrier_t steps;

static void *hold_the_state(void *file)
{
    tbed_state_lock(file);
    pthread_barrier_wait(&steps);
    pthread_barrier_wait(&steps);
    tbed_state_unlock(file);
    return NULL;
}

/* The other thread may be waiting for the growth: a handler that waited for it would wait forever. */
static void a_handler_that_interrupts_growth_does_not_wait_for_the_state(void **state)
{
    (void)state;
    pthread_t other;
    struct tbed_writer *writer = test_writer_open(test_path("growth.tbed"), NULL);
    struct tbed_file *file = tbed_file_of(writer);
    pthread_barrier_init(&steps, NULL, 2);
    assert_int_equal(pthread_create(&other, NULL, hold_the_state, file), 0);
    pthread_barrier_wait(&steps);
    assert_true(tbed_lock_take(&file->live->grow_lock));
    assert_int_equal(tbed_string_intern(writer, "a new name", 10), TBED_ID_INVALID);
    tbed_lock_give(&file->live->grow_lock);
    pthread_barrier_wait(&steps);
    pthread_join(other, NULL);
    assert_int_equal(tbed_writer_drop_count(writer, TBED_DROP_INTERRUPTED), 1);
    assert_int_not_equal(tbed_string_intern(writer, "a new name", 10), TBED_ID_INVALID);
    tbed_writer_close(writer);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(a_handler_inside_a_record_has_a_stream),
        cmocka_unit_test(a_handler_that_interrupts_growth_does_not_wait_for_the_state),
        cmocka_unit_test(handlers_may_interrupt_one_another),
        cmocka_unit_test(a_new_name_of_the_thread_is_that_of_its_handlers),
        cmocka_unit_test(closing_a_recorder_ends_the_stream_of_its_handlers),
        cmocka_unit_test(a_forked_child_has_handlers_of_its_own),
        cmocka_unit_test(a_handler_never_waits_for_its_own_thread),
        cmocka_unit_test(handlers_go_on_in_cells_while_the_file_grows),
        cmocka_unit_test(macros_record_in_handlers),
    };
    return cmocka_run_group_tests_name("writer_signals", tests, NULL, NULL);
}
