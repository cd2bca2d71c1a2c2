/*
 * The process's writer under threads: starts and stops against events, threads that come and go, signal handlers.
 *
 * SPDX-License-Identifier: MIT
 */
#include "writer/tests/support.h"

#include <pthread.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/time.h>
#include <unistd.h>

TBED_CATEGORY(threads_category);

#define THREADS 4

static uint32_t must_stop, loops_done;

static void open_trace(const char *path)
{
    assert_int_equal(tbed_start(path, NULL), TBED_OK);
}

/* ---- Threads that come and go ---- */

#define GENERATION_COUNT 8
#define LOOP_COUNT       500

static void *name_and_record(void *argument)
{
    char name[16];
    snprintf(name, sizeof name, "worker %u", (unsigned)(uintptr_t)argument);
    pthread_setname_np(pthread_self(), name);
    for (int i = 0; i < LOOP_COUNT; i++) {
        TBED_SPAN("work");
        TBED_COUNTER("i", i);
    }
    return NULL;
}

static void a_thread_has_its_stream_and_name(void **state)
{
    (void)state;
    const char *path = test_path("threads.tbed");
    char name[16];
    open_trace(path);
    for (uintptr_t round = 0; round < GENERATION_COUNT; round++) {
        pthread_t threads[THREADS];
        for (uintptr_t i = 0; i < THREADS; i++)
            assert_int_equal(
                pthread_create(&threads[i], NULL, name_and_record, (void *)(round * THREADS + i)), 0);
        for (uintptr_t i = 0; i < THREADS; i++)
            pthread_join(threads[i], NULL);
    }
    tbed_stop();
    struct tbed_reader *reader = test_reader_open(path, true);
    for (unsigned i = 0; i < GENERATION_COUNT * THREADS; i++) {
        size_t count;
        snprintf(name, sizeof name, "worker %u", i);
        struct tbed_event *events = test_events(reader, test_stream_named(reader, name), &count);
        assert_int_equal(count, 3 * LOOP_COUNT);
        assert_text(reader, events[1].id, "i");
        assert_text(reader, events[0].id, "work");
        free(events);
    }
    tbed_reader_close(reader);
}

/* ---- Starts, stops and switches against events ---- */

static const char *const site_names[] = {"alpha", "beta", "gamma"};

static void record_all_sites(int number)
{
    TBED_SPAN("alpha");
    TBED_INSTANT_ARGS("beta", "number", number);
    TBED_SPAN_IN(threads_category, "gamma");
    TBED_LOG("number %d, %s", number, "text");
}

static void *record_until_told(void *argument)
{
    (void)argument;
    for (int i = 0; !__atomic_load_n(&must_stop, __ATOMIC_ACQUIRE); i++) {
        record_all_sites(i);
        __atomic_fetch_add(&loops_done, 1, __ATOMIC_RELAXED);
    }
    return NULL;
}

static void wait_for_loops(uint32_t more)
{
    uint32_t from = __atomic_load_n(&loops_done, __ATOMIC_RELAXED);
    while (__atomic_load_n(&loops_done, __ATOMIC_RELAXED) - from < more)
        usleep(50);
}

static size_t nameless; /* events of handlers that came inside a look-up */

static bool is_known_name(struct tbed_reader *reader, const struct tbed_event *event)
{
    char name[64];
    size_t nbytes;
    if (event->id == TBED_ID_INVALID) {
        nameless++;
        return true;
    }
    if (tbed_string_resolve(reader, event->id, name, sizeof name, &nbytes) != TBED_OK)
        return false;
    if (event->type == TBED_EVENT_MESSAGE)
        return strcmp(name, "number %d, %s") == 0;
    for (size_t i = 0; i < sizeof site_names / sizeof *site_names; i++)
        if (strcmp(name, site_names[i]) == 0)
            return true;
    return false;
}

/* Whatever was stored has a name of this trace; nothing is open at a stream's end but what the stop cut off. */
static size_t assert_names(const char *path)
{
    struct tbed_reader *reader = test_reader_open(path, true);
    struct tbed_stream_info info;
    size_t seen = 0;
    for (size_t i = 0; tbed_stream_get(reader, i, &info); i++) {
        size_t count;
        struct tbed_event *events = test_events(reader, info.stream, &count);
        for (size_t k = 0; k < count; k++)
            if (events[k].type != TBED_EVENT_GAP && !is_known_name(reader, &events[k]))
                fail_msg("event %zu of stream %u has a foreign id", k, info.stream);
        seen += count;
        free(events);
    }
    tbed_reader_close(reader);
    return seen;
}

static void ids_are_of_the_right_trace_under_threads(void **state)
{
    (void)state;
    pthread_t threads[THREADS];
    size_t seen = 0;
    __atomic_store_n(&must_stop, 0, __ATOMIC_RELEASE);
    for (int i = 0; i < THREADS; i++)
        assert_int_equal(pthread_create(&threads[i], NULL, record_until_told, NULL), 0);
    for (int i = 0; i < 40; i++) {
        const char *path = test_path("race.tbed");
        open_trace(path);
        for (int k = 0; k < i % 5; k++) /* so that the same name is another id */
            tbed_string_intern(tbed_default_writer(), &"filler"[k], 6 - (size_t)k);
        wait_for_loops(20);
        tbed_category_enable("threads_*", i % 2 == 0);
        wait_for_loops(20);
        tbed_stop();
        seen += assert_names(path);
    }
    __atomic_store_n(&must_stop, 1, __ATOMIC_RELEASE);
    for (int i = 0; i < THREADS; i++)
        pthread_join(threads[i], NULL);
    assert_true(seen > 40 * 40);
    assert_int_equal(nameless, 0);
    tbed_category_list("");
}

static void *start_and_stop(void *argument)
{
    const char *path = argument;
    for (int i = 0; i < 50; i++) {
        enum tbed_status status = tbed_start(path, NULL);
        assert_true(status == TBED_OK || status == TBED_ERR_BUSY);
        record_all_sites(i);
        tbed_stop();
    }
    return NULL;
}

static void starts_and_stops_may_race(void **state)
{
    (void)state;
    pthread_t threads[THREADS];
    char path[256];
    snprintf(path, sizeof path, "%s", test_path("starts.tbed"));
    for (int i = 0; i < THREADS; i++)
        assert_int_equal(pthread_create(&threads[i], NULL, start_and_stop, path), 0);
    for (int i = 0; i < THREADS; i++)
        pthread_join(threads[i], NULL);
    tbed_stop();
    open_trace(path);
    record_all_sites(1);
    tbed_stop();
    assert_int_equal(assert_names(path), 6);
}

/* ---- Signal handlers ---- */

static uint32_t handled;

static void record_in_handler(int number)
{
    TBED_SPAN("alpha");
    TBED_INSTANT_ARGS("beta", "signal", number);
    TBED_LOG("number %d, %s", number, "text");
    __atomic_fetch_add(&handled, 1, __ATOMIC_RELAXED);
}

/* The handler's are the first events of their thread and of their sites as often as not. */
static void handlers_may_record(void **state)
{
    (void)state;
    const struct itimerval often = {.it_interval = {0, 100}, .it_value = {0, 100}}, never = {0};
    struct sigaction action = {.sa_handler = record_in_handler, .sa_flags = SA_RESTART};
    sigaction(SIGALRM, &action, NULL);
    setitimer(ITIMER_REAL, &often, NULL);
    uint64_t dropped = 0, seen = 0;
    for (int i = 0; i < 30; i++) {
        const char *path = test_path("handlers.tbed");
        open_trace(path);
        for (int k = 0; k < 3000; k++)
            record_all_sites(k);
        struct tbed_writer *writer = tbed_default_writer();
        dropped += writer != NULL ? tbed_writer_drop_count(writer, TBED_DROP_INTERRUPTED) : 0;
        tbed_stop();
        seen += assert_names(path);
    }
    setitimer(ITIMER_REAL, &never, NULL);
    assert_true(__atomic_load_n(&handled, __ATOMIC_RELAXED) > 50);
    assert_true(seen > 30 * 3000 * 4);
    assert_true(dropped < seen / 10);
    assert_true(nameless < seen / 100);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(a_thread_has_its_stream_and_name),
        cmocka_unit_test(ids_are_of_the_right_trace_under_threads),
        cmocka_unit_test(starts_and_stops_may_race),
        cmocka_unit_test(handlers_may_record),
    };
    return cmocka_run_group_tests_name("session_threads", tests, NULL, NULL);
}
