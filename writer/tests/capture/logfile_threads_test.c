/*
 * The macros of logfile.h under threads: places that several threads come to at once, in scopes of several names, while
 * traces are started and stopped. Whatever is recorded has the name of the scope that it was said in.
 *
 * SPDX-License-Identifier: MIT
 */
#include "writer/tests/support.h"

#include <pthread.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <tracebed/logfile.h>
#include <unistd.h>

#define THREADS     4
#define TRACE_COUNT 20

static uint32_t must_stop, round_count;

static void say_in(const struct tbed_logfile_scope *scope, const char *name)
{
    TBED_LOGFILE_CONTEXT_TRACE(*scope, "in %s", name);
}

static void open_one(void)
{
    TBED_LOGFILE_CONTEXT_AUTHOR(log, "module", "one", "::f");
    say_in(&log, "module (one) ::f");
}

static void open_two(void)
{
    TBED_LOGFILE_CONTEXT(log, "::g (two)");
    say_in(&log, "::g (two)");
    TBED_LOGFILE_TRACE_AUTHOR("module", "two", "in %s", "module (two)");
}

static void open_made(unsigned number)
{
    char name[32];
    snprintf(name, sizeof name, "made %u", number % 7);
    TBED_LOGFILE_CONTEXT(log, (const char *)name);
    if (log.scope.recorder != NULL) /* else it was off, and has no name */
        say_in(&log, name);
}

static void *work(void *argument)
{
    for (unsigned i = (unsigned)(uintptr_t)argument; __atomic_load_n(&must_stop, __ATOMIC_RELAXED) == 0;
         i++) {
        open_one();
        open_two();
        open_made(i);
        __atomic_fetch_add(&round_count, 1, __ATOMIC_RELAXED);
    }
    return NULL;
}

static void wait_for_rounds(void)
{
    uint32_t wanted = __atomic_load_n(&round_count, __ATOMIC_RELAXED) + 20 * THREADS;
    while ((int32_t)(wanted - __atomic_load_n(&round_count, __ATOMIC_RELAXED)) > 0)
        usleep(100);
}

/* The text before U+001E is the same as the message. */
static void check_message(struct tbed_reader *reader, const struct tbed_event *event)
{
    char text[64], wanted[64];
    size_t nbytes;
    struct tbed_arguments at = event->arguments;
    struct tbed_argument name;
    assert_int_equal(event->argument_count, 1);
    tbed_argument_next(&at, &name);
    snprintf(wanted, sizeof wanted, "%.*s\x1ein %%s", (int)name.nbytes, name.value.text);
    assert_int_equal(tbed_string_resolve(reader, event->id, text, sizeof text, &nbytes), TBED_OK);
    assert_string_equal(text, wanted);
}

static size_t check_stream(struct tbed_reader *reader, uint32_t stream)
{
    size_t count, found = 0;
    struct tbed_event *events = test_events(reader, stream, &count);
    for (size_t i = 0; i < count; i++) {
        if (events[i].type == TBED_EVENT_MESSAGE) {
            check_message(reader, &events[i]);
            found++;
        }
    }
    free(events);
    return found;
}

static void what_is_said_has_the_name_of_its_scope(void **state)
{
    (void)state;
    pthread_t threads[THREADS];
    for (uintptr_t i = 0; i < THREADS; i++)
        assert_int_equal(pthread_create(&threads[i], NULL, work, (void *)i), 0);
    size_t found = 0;
    for (int i = 0; i < TRACE_COUNT; i++) {
        const char *path = test_path("threads.tbed");
        struct tbed_stream_info info;
        assert_int_equal(tbed_start(path, NULL), TBED_OK);
        wait_for_rounds();
        tbed_stop();
        struct tbed_reader *reader = test_reader_open(path, true);
        for (size_t k = 0; tbed_stream_get(reader, k, &info); k++)
            found += check_stream(reader, info.stream);
        tbed_reader_close(reader);
    }
    __atomic_store_n(&must_stop, 1, __ATOMIC_RELAXED);
    for (int i = 0; i < THREADS; i++)
        pthread_join(threads[i], NULL);
    assert_true(found >= TRACE_COUNT * 20 * THREADS);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(what_is_said_has_the_name_of_its_scope),
    };
    return cmocka_run_group_tests_name("logfile_threads", tests, NULL, NULL);
}
