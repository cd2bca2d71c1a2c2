/*
 * Signal handlers that record, 10,000 times a second in each of several threads: what threads record is all there, and
 * what their handlers did is there or counted, to the last event.
 *
 * SPDX-License-Identifier: MIT
 */
#include "support.h"

#include <pthread.h>
#include <signal.h>
#include <stdlib.h>
#include <sys/syscall.h>
#include <time.h>
#include <unistd.h>

#ifndef sigev_notify_thread_id
#define sigev_notify_thread_id _sigev_un._tid
#endif

#define THREAD_COUNT 4
#define HANDLED_MIN  400u
#define HANDLER_ID   100u /* and above: what handlers record */
#define OF_HANDLER   4u
#define OF_THREAD    4u
#define INTERVAL_NS  100000

struct thread {
    struct tbed_writer *writer;
    struct tbed_recorder *recorder;
    pthread_t thread;
    uint32_t handled;
    uint64_t rounds;
};

static __thread struct thread *volatile mine;

static void record_from_handler(int number)
{
    struct thread *thread = mine;
    if (thread == NULL)
        return;
    tbed_span_begin(thread->recorder, HANDLER_ID);
    tbed_counter_i64(thread->recorder, HANDLER_ID + 1, number);
    tbed_instant(thread->recorder, HANDLER_ID + 2);
    tbed_span_end(thread->recorder);
    __atomic_fetch_add(&thread->handled, 1, __ATOMIC_RELAXED);
}

static timer_t start_timer(void)
{
    struct sigevent event = {.sigev_notify = SIGEV_THREAD_ID, .sigev_signo = SIGUSR1};
    event.sigev_notify_thread_id = (pid_t)syscall(SYS_gettid);
    const struct itimerspec often = {{0, INTERVAL_NS}, {0, INTERVAL_NS}};
    timer_t timer;
    if (timer_create(CLOCK_MONOTONIC, &event, &timer) != 0 || timer_settime(timer, 0, &often, NULL) != 0)
        abort();
    return timer;
}

/* Handlers come inside records and between them; and the trace stays small. */
static void pause_briefly(void)
{
    for (volatile unsigned i = 0; i < 2000; i++)
        continue;
}

static void *record(void *argument)
{
    struct thread *thread = argument;
    mine = thread;
    timer_t timer = start_timer();
    for (; __atomic_load_n(&thread->handled, __ATOMIC_RELAXED) < HANDLED_MIN; thread->rounds++) {
        tbed_span_begin(thread->recorder, 1);
        tbed_counter_i64(thread->recorder, 2, (int64_t)thread->rounds);
        tbed_instant(thread->recorder, 3);
        tbed_span_end(thread->recorder);
        pause_briefly();
        if (thread->rounds % 16 == 0)
            usleep(1); /* ThreadSanitizer delivers signals only in calls that it knows */
    }
    timer_delete(timer);
    mine = NULL; /* a signal may be on its way */
    tbed_recorder_close(thread->recorder);
    return NULL;
}

/* Of a ring: whatever is left of the thread's own events goes on without a hole to the last one. */
static void check_newest(struct tbed_reader *reader, const struct thread *thread, const char *name)
{
    size_t count;
    struct tbed_event *events = test_events(reader, test_stream_named(reader, name), &count);
    int64_t next_value = -1;
    for (size_t i = 0; i < count; i++) {
        assert_true(i == 0 || events[i].tick >= events[i - 1].tick);
        if (events[i].type != TBED_EVENT_COUNTER || events[i].id != 2)
            continue;
        assert_true(next_value < 0 || events[i].counter_value.value.i64 == next_value);
        next_value = events[i].counter_value.value.i64 + 1;
    }
    free(events);
    assert_int_equal(next_value, thread->rounds);
}

/* Gives how many of the handlers' events are in the stream. */
static uint64_t check_stream(struct tbed_reader *reader, const struct thread *thread, const char *name)
{
    size_t count;
    struct tbed_event *events = test_events(reader, test_stream_named(reader, name), &count);
    uint64_t of_thread = 0, of_handler = 0, next_value = 0, depth = 0, last_tick = 0;
    for (size_t i = 0; i < count; i++) {
        const struct tbed_event *event = &events[i];
        if (event->type == TBED_EVENT_GAP)
            continue;
        depth += (event->type == TBED_EVENT_BEGIN) - (uint64_t)(event->type == TBED_EVENT_END);
        assert_true(depth <= 2);
        assert_true(event->tick >= last_tick);
        last_tick = event->tick;
        *(event->id >= HANDLER_ID ? &of_handler : &of_thread) += 1;
        if (event->type == TBED_EVENT_COUNTER)
            assert_int_equal(event->counter_value.value.i64,
                             event->id == 2 ? (int64_t)next_value++ : (int64_t)SIGUSR1);
    }
    free(events);
    assert_int_equal(depth, 0);
    assert_int_equal(next_value, thread->rounds);
    assert_int_equal(of_thread, OF_THREAD * thread->rounds);
    return of_handler;
}

static void run_with(const struct tbed_writer_options *options)
{
    static const char *const names[THREAD_COUNT] = {"one", "two", "three", "four"};
    struct sigaction action = {.sa_handler = record_from_handler, .sa_flags = SA_RESTART};
    const char *path = test_path("signals_threads.tbed");
    struct tbed_writer *writer = test_writer_open(path, options);
    struct thread threads[THREAD_COUNT] = {{.writer = writer}};
    sigaction(SIGUSR1, &action, NULL);
    for (unsigned i = 0; i < THREAD_COUNT; i++) {
        threads[i].recorder = tbed_recorder_open(writer, names[i]);
        assert_int_equal(pthread_create(&threads[i].thread, NULL, record, &threads[i]), 0);
    }
    for (unsigned i = 0; i < THREAD_COUNT; i++)
        pthread_join(threads[i].thread, NULL);
    uint64_t stored = 0, attempts = 0, dropped = tbed_writer_drop_count(writer, TBED_DROP_INTERRUPTED);
    tbed_writer_close(writer);
    struct tbed_reader *reader = test_reader_open(path, true);
    assert_int_equal(tbed_reader_verify(reader), TBED_OK);
    bool is_ring = options != NULL && options->ring_nbytes != 0;
    for (unsigned i = 0; i < THREAD_COUNT; i++) {
        attempts += (uint64_t)OF_HANDLER * threads[i].handled;
        if (is_ring)
            check_newest(reader, &threads[i], names[i]);
        else
            stored += check_stream(reader, &threads[i], names[i]);
    }
    assert_true(is_ring || stored + dropped == attempts);
    assert_int_equal(test_drop_count(reader), dropped);
    assert_true(is_ring || stored > attempts / 10);
    tbed_reader_close(reader);
}

static void handlers_of_many_threads_with_a_helper(void **state)
{
    (void)state;
    run_with(NULL);
}

/* Small pages: most handlers come near the end of one. */
static void handlers_of_many_threads_with_small_pages(void **state)
{
    (void)state;
    const struct tbed_writer_options options = {.page_nbytes = 4096, .no_helper = true};
    run_with(&options);
}

static void handlers_of_many_threads_in_a_flight_recorder(void **state)
{
    (void)state;
    for (int helper = 0; helper < 2; helper++) {
        const struct tbed_writer_options options = {
            .page_nbytes = 4096, .ring_nbytes = 128 * 4096, .no_helper = helper == 0};
        run_with(&options);
    }
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(handlers_of_many_threads_with_a_helper),
        cmocka_unit_test(handlers_of_many_threads_with_small_pages),
        cmocka_unit_test(handlers_of_many_threads_in_a_flight_recorder),
    };
    return cmocka_run_group_tests_name("writer_signals_threads", tests, NULL, NULL);
}
