/*
 * Signal handlers that record, 10,000 times a second in each of several threads: what threads record is all there, and
 * what their handlers did is there, in the stream of the thread or in that of its handlers, or counted, to the last event.
 *
 * SPDX-License-Identifier: MIT
 */
#include "writer/tests/support.h"

#include <pthread.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/syscall.h>
#include <time.h>
#include <unistd.h>

#include "format/tests/sanitizer.h"

#ifndef sigev_notify_thread_id
#define sigev_notify_thread_id _sigev_un._tid
#endif

#define THREAD_COUNT      4
#define HANDLED_MIN       400u
#define HANDLED_MAX       100000u
#define THREAD_COUNTER_ID 2u
#define HANDLER_ID        100u /* and above: what handlers record */
#define OF_HANDLER        4u
#define INTERVAL_NS       100000
#define PAGE_NBYTES       4096 /* small: most handlers come near the end of one */
#define RING_PAGES        128

/*
 * While a thread waits for the file to grow, which takes as long as the disk does, its handlers have the few cells that are
 * left for them. So if most handlers were dropped, most of the first ones in each record must be stored all the same.
 */
#define HANDLERS_STORED 16

/*
 * What was recorded since half of the ring was given out is there; of the pages that were, a helper has an eighth ready
 * or waiting for its seal, and each thread may have one that it is in, and one that was skipped.
 */
#define RING_PAGES_KEPT (RING_PAGES / 2 - RING_PAGES / 8 - 2 * THREAD_COUNT - 1)

struct thread {
    struct tbed_writer *writer;
    struct tbed_recorder *recorder;
    pthread_t thread;
    uint32_t handled; /* atomic */
    uint64_t rounds;
    volatile uint64_t records;   /* that were completed */
    uint64_t interrupted;        /* the value of 'records' when a handler came in the middle of one */
    uint32_t of_same_record;     /* handlers that have interrupted that record */
    bool is_first[HANDLED_MAX];  /* the handler is among the first in the middle of a record */
    bool is_inside[HANDLED_MAX]; /* the handler came in the middle of a record */
    bool is_stored[HANDLED_MAX]; /* found in a stream of handlers */
};

static uint32_t threads_to_wait_for; /* atomic: that have handled too few signals yet */

static __thread struct thread *volatile mine;

/* Notes where the handler came. */
static void note_handler(struct thread *thread, uint32_t handled)
{
    thread->is_inside[handled] = thread->recorder->mark == TBED_MARK_BUSY;
    if (!thread->is_inside[handled])
        return;
    if (thread->interrupted != thread->records)
        thread->of_same_record = 0;
    thread->interrupted = thread->records;
    thread->is_first[handled] = thread->of_same_record++ < HANDLERS_STORED;
}

static void record_from_handler(int number)
{
    (void)number;
    struct thread *thread = mine;
    if (thread == NULL || thread->handled == HANDLED_MAX)
        return;
    uint32_t handled = thread->handled;
    note_handler(thread, handled);
    tbed_span_begin(thread->recorder, HANDLER_ID);
    tbed_counter_record_i64(thread->recorder, HANDLER_ID + 1, handled);
    tbed_instant_record(thread->recorder, HANDLER_ID + 2);
    tbed_span_end(thread->recorder);
    thread->handled = handled + 1;
    if (thread->handled == HANDLED_MIN)
        __atomic_fetch_sub(&threads_to_wait_for, 1, __ATOMIC_RELAXED);
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

/*
 * ThreadSanitizer delivers signals only in calls that it knows, and leaves them all blocked for good where one comes
 * while it delivers another.
 */
static void take_pending(void)
{
    sigset_t ours;
    sigemptyset(&ours);
    sigaddset(&ours, SIGUSR1);
    if (TEST_HAS_TSAN)
        pthread_sigmask(SIG_UNBLOCK, &ours, NULL);
    usleep(1);
}

static void *record(void *argument)
{
    struct thread *thread = argument;
    mine = thread;
    timer_t timer = start_timer();
    for (; __atomic_load_n(&threads_to_wait_for, __ATOMIC_RELAXED) != 0; thread->rounds++) {
        tbed_span_begin(thread->recorder, 1);
        thread->records = thread->records + 1;
        tbed_counter_record_i64(thread->recorder, THREAD_COUNTER_ID, (int64_t)thread->rounds);
        thread->records = thread->records + 1;
        tbed_instant_record(thread->recorder, 3);
        thread->records = thread->records + 1;
        tbed_span_end(thread->recorder);
        thread->records = thread->records + 1;
        pause_briefly();
        if (thread->rounds % 16 == 0)
            take_pending();
    }
    timer_delete(timer);
    mine = NULL; /* a signal may be on its way */
    tbed_span_begin(thread->recorder, 1);
    tbed_counter_record_i64(thread->recorder, THREAD_COUNTER_ID, (int64_t)thread->rounds);
    return NULL; /* its last page is kept until all are done */
}

/* ---- What is there ---- */

struct run { /* of events without a hole, from the first counter on */
    uint64_t next_round, next_handled;
    uint64_t of_thread, of_handler; /* events seen; 0: any number may come first */
    uint64_t page, page_count;      /* the last event's; how many there are */
};

static uint64_t next_stored(const struct thread *thread, uint64_t handled)
{
    while (handled < thread->handled && thread->is_inside[handled])
        handled++;
    return handled;
}

static void see_page(struct run *run, uint64_t page)
{
    run->page_count += run->page_count == 0 || page != run->page;
    run->page = page;
}

/* False: there is a hole before the counter. */
static bool see_counter(struct run *run, const struct thread *thread, const struct tbed_event *event)
{
    uint64_t value = (uint64_t)event->counter_value.value.i64;
    bool is_handler = event->id >= HANDLER_ID;
    uint64_t *next = is_handler ? &run->next_handled : &run->next_round;
    bool follows = value == *next || (is_handler ? run->of_handler : run->of_thread) == 0;
    assert_true(value >= *next);
    assert_true(!is_handler || (value < thread->handled && !thread->is_inside[value]));
    *next = is_handler ? next_stored(thread, value + 1) : value + 1;
    return follows;
}

/* False: there is a hole before it. */
static bool see_event(struct run *run, const struct tbed_event *event)
{
    static const enum tbed_event_type types[] = {TBED_EVENT_COUNTER, TBED_EVENT_INSTANT, TBED_EVENT_END,
                                                 TBED_EVENT_BEGIN};
    uint64_t *seen = event->id >= HANDLER_ID ? &run->of_handler : &run->of_thread;
    if (*seen == 0 && event->type != TBED_EVENT_COUNTER)
        return true;
    if (event->type != types[*seen % 4])
        return false;
    *seen += 1;
    return true;
}

/*
 * What the thread recorded is all there, and of its handlers' all that came between records; of a ring, from the last
 * hole on: the number of pages since.
 */
static uint64_t check_stream(struct tbed_reader *reader, const struct thread *thread, const char *name,
                             bool is_ring)
{
    size_t count;
    struct tbed_event *events = test_events(reader, test_stream_named(reader, name), &count);
    struct run run = {.next_handled = is_ring ? 0 : next_stored(thread, 0)};
    if (!is_ring)
        run.of_thread = run.of_handler = 3; /* a begin comes first */
    for (size_t i = 0; i < count; i++) {
        assert_true(i == 0 || events[i].tick >= events[i - 1].tick);
        if (events[i].type == TBED_EVENT_GAP)
            continue;
        bool is_counter = events[i].type == TBED_EVENT_COUNTER;
        bool follows = !is_counter || see_counter(&run, thread, &events[i]);
        if (!follows)
            run.of_thread = run.of_handler = 0;
        if (!see_event(&run, &events[i])) {
            assert_false(is_counter);
            run.of_thread = run.of_handler = 0;
            follows = false;
        }
        assert_true(follows || is_ring);
        if (!follows)
            run.page_count = 0;
        see_page(&run, events[i].offset / PAGE_NBYTES);
    }
    free(events);
    assert_int_equal(run.next_round, thread->rounds + 1);
    assert_int_equal(run.of_thread % 4, 1);
    assert_int_equal(run.of_handler % 4, is_ring && run.of_handler == 0 ? 0 : 3);
    assert_true(run.of_handler == 0 || run.next_handled == thread->handled);
    return run.page_count;
}

static uint64_t handled_inside(const struct thread *thread)
{
    uint64_t count = 0;
    for (uint32_t i = 0; i < thread->handled; i++)
        count += thread->is_inside[i];
    return count;
}

/* Of the first handlers in the middle of each record: how many more were stored than dropped. */
static int64_t more_stored_than_dropped(const struct thread *thread)
{
    int64_t more = 0;
    for (uint32_t i = 0; i < thread->handled; i++)
        more += !thread->is_first[i] ? 0 : thread->is_stored[i] ? 1 : -1;
    return more;
}

/*
 * Every handler's events follow one another. Of a ring, the first may be gone; and where there was no room in time, any may be
 * missing, which the sum with the dropped ones shows.
 */
static uint64_t check_handlers(struct tbed_reader *reader, struct thread *thread, uint32_t stream,
                               bool is_ring)
{
    static const enum tbed_event_type types[] = {TBED_EVENT_BEGIN, TBED_EVENT_COUNTER, TBED_EVENT_INSTANT,
                                                 TBED_EVENT_END};
    size_t count;
    struct tbed_event *events = test_events(reader, stream, &count);
    uint64_t found = 0, least = 0;
    unsigned at = 0;
    bool has_dropped = test_drop_count(reader) > 0;
    for (size_t i = 0; i < count; i++) {
        if (events[i].type == TBED_EVENT_GAP)
            continue;
        bool may_miss = has_dropped || (is_ring && found == 0);
        for (unsigned missing = 0; may_miss && missing < 3 && events[i].type != types[at]; missing++)
            at = (at + 1) % 4;
        assert_int_equal(events[i].type, types[at]);
        assert_true(i == 0 || events[i].tick >= events[i - 1].tick);
        if (events[i].type == TBED_EVENT_COUNTER) {
            uint64_t value = (uint64_t)events[i].counter_value.value.i64;
            assert_true(value >= least && value < thread->handled && thread->is_inside[value]);
            thread->is_stored[value] = true;
            least = value + 1;
        }
        found++;
        at = (at + 1) % 4;
    }
    free(events);
    assert_true(at == 0 || has_dropped);
    return found;
}

/* Returns how many events of handlers are in streams of their own. */
static uint64_t check_all_handlers(struct tbed_reader *reader, struct thread *thread, const char *name,
                                   bool is_ring)
{
    uint32_t of_thread = test_stream_named(reader, name);
    struct tbed_stream_info stream;
    uint64_t found = 0;
    for (size_t i = 0; tbed_stream_get(reader, i, &stream); i++) {
        char expected[64], text[64] = "";
        snprintf(expected, sizeof expected, "%s: signal handlers", name);
        tbed_id_text(reader, stream.name_id, TBED_NAME_ALL, text, sizeof text);
        if (stream.kind != TBED_STREAM_HANDLERS || strcmp(text, expected) != 0)
            continue;
        /* A thread whose first record is interrupted has no stream yet. */
        assert_true(stream.of_thread == of_thread || stream.of_thread == 0);
        found += check_handlers(reader, thread, stream.stream, is_ring);
    }
    return found;
}

static void run_with(const struct tbed_writer_options *options)
{
    static const char *const names[THREAD_COUNT] = {"one", "two", "three", "four"};
    static struct thread threads[THREAD_COUNT];
    struct sigaction action = {.sa_handler = record_from_handler, .sa_flags = SA_RESTART};
    const char *path = test_path("signals_threads.tbed");
    struct tbed_writer *writer = test_writer_open(path, options);
    sigaction(SIGUSR1, &action, NULL);
    memset(threads, 0, sizeof threads);
    threads_to_wait_for = THREAD_COUNT;
    for (unsigned i = 0; i < THREAD_COUNT; i++) {
        threads[i].recorder = tbed_recorder_open(writer, names[i]);
        assert_int_equal(pthread_create(&threads[i].thread, NULL, record, &threads[i]), 0);
    }
    for (unsigned i = 0; i < THREAD_COUNT; i++)
        pthread_join(threads[i].thread, NULL);
    bool is_ring = options != NULL && options->ring_nbytes != 0;
    uint64_t handled = 0, inside = 0, found = 0, page_count = 0;
    tbed_writer_close(writer);
    struct tbed_reader *reader = test_reader_open(path, true);
    assert_int_equal(tbed_reader_verify(reader), TBED_OK);
    for (unsigned i = 0; i < THREAD_COUNT; i++) {
        page_count += check_stream(reader, &threads[i], names[i], is_ring);
        handled += threads[i].handled;
        inside += handled_inside(&threads[i]);
        found += check_all_handlers(reader, &threads[i], names[i], is_ring);
    }
    assert_in_range(page_count, is_ring ? RING_PAGES_KEPT : 1, UINT64_MAX);
    uint64_t dropped = test_drop_count(reader);
    print_message("%llu signals, %llu in the middle of a record, %llu events dropped\n",
                  (unsigned long long)handled, (unsigned long long)inside, (unsigned long long)dropped);
    if (is_ring)
        assert_true(found + dropped <= OF_HANDLER * inside);
    else
        assert_int_equal(found + dropped, OF_HANDLER * inside);
    int64_t more = 0;
    for (unsigned i = 0; i < THREAD_COUNT && !is_ring; i++)
        more += more_stored_than_dropped(&threads[i]);
    bool is_long_wait = dropped > OF_HANDLER * inside / 2;
    assert_true(!is_long_wait || (!is_ring && more >= 0));
    tbed_reader_close(reader);
}

static void handlers_of_many_threads_with_a_helper(void **state)
{
    (void)state;
    run_with(NULL);
}

static void handlers_of_many_threads_with_small_pages(void **state)
{
    (void)state;
    const struct tbed_writer_options options = {.page_nbytes = PAGE_NBYTES, .no_helper = true};
    run_with(&options);
}

static void handlers_of_many_threads_in_a_flight_recorder(void **state)
{
    (void)state;
    for (int helper = 0; helper < 2; helper++) {
        const struct tbed_writer_options options = {
            .page_nbytes = PAGE_NBYTES, .ring_nbytes = RING_PAGES * PAGE_NBYTES, .no_helper = helper == 0};
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
