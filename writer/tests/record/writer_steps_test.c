/*
 * What may come between any two instructions of a record, comes: a signal whose handler records, or SIGKILL. A child
 * records between two breakpoints, and is taken from the first one on step by step, one step more each time.
 *
 * x86-64 only. TBED_LONG=1: fourteen times as many handlers, and 300 kills.
 *
 * Slow: 11 s; it steps through the instructions of a record
 *
 * SPDX-License-Identifier: MIT
 */
#include "writer/tests/support.h"

#include <sched.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/ptrace.h>
#include <sys/wait.h>
#include <tracebed/trace.h>
#include <unistd.h>

#include "format/tests/sanitizer.h"

#if defined(__x86_64__)
#define BREAK_HERE() __asm__ volatile("int3" ::: "memory")
#else
#define BREAK_HERE() abort()
#endif

#define PAGE_NBYTES     4096
#define HANDLER_EVENTS  5
#define RECORDED_EVENTS 7
#define UNTIL_PAGE_ENDS 420 /* instants */

static struct shared { /* with the child */
    volatile uint32_t is_done, rounds, handled, certain;
} * shared;

static bool is_long(void)
{
    const char *text = getenv("TBED_LONG");
    return text != NULL && text[0] == '1';
}

/* ---- Steps ---- */

/* Not for a single step, nor for one over a system call. */
static bool is_at_break(pid_t pid)
{
    siginfo_t info;
    ptrace(PTRACE_GETSIGINFO, pid, NULL, &info);
    return info.si_code == SI_KERNEL;
}

/* False: it came to a breakpoint before. */
static bool step(pid_t pid, uint64_t count)
{
    for (uint64_t i = 0; i < count; i++) {
        int status;
        ptrace(PTRACE_SINGLESTEP, pid, NULL, NULL);
        waitpid(pid, &status, 0);
        assert_true(WIFSTOPPED(status));
        if (is_at_break(pid))
            return false;
    }
    return true;
}

static pid_t start(void (*child)(const char *path), const char *path)
{
    unlink(path);
    memset(shared, 0, sizeof *shared);
    pid_t pid = fork();
    if (pid == 0) {
        ptrace(PTRACE_TRACEME, 0, NULL, NULL);
        child(path);
        _exit(0);
    }
    return pid;
}

static bool can_step(void)
{
#if defined(__x86_64__)
    return !TEST_IS_SANITIZED;
#else
    return false;
#endif
}

/* A step is two switches between the processes: on one processor they take a quarter of the time. */
static void stay_on_one_processor(void)
{
    cpu_set_t one;
    CPU_ZERO(&one);
    CPU_SET((size_t)sched_getcpu(), &one);
    sched_setaffinity(0, sizeof one, &one);
}

/* ---- Handlers ---- */

static void handle(int number)
{
    char name[32];
    (void)number;
    snprintf(name, sizeof name, "in handler %u", ++shared->handled);
    TBED_INSTANT("handler");
    {
        TBED_SPAN("handler");
        TBED_LOG("handler %u %s", shared->handled, "text");
    }
    TBED_INSTANT_DYNAMIC(name);
}

static void record_between_breaks(void)
{
    char name[32];
    snprintf(name, sizeof name, "name %u", shared->rounds);
    BREAK_HERE();
    {
        TBED_SPAN("span");
        TBED_SPAN_ARGS("with", "round", shared->rounds);
        TBED_LOG("round %u %s", shared->rounds, "text");
        TBED_COUNTER("counter", 3.0);
    }
    TBED_INSTANT_DYNAMIC(name);
    BREAK_HERE();
    shared->rounds++;
}

static void record_until_told(const char *path)
{
    struct tbed_writer_options options = {
        .size = sizeof options, .page_nbytes = PAGE_NBYTES, .no_helper = true};
    sigaction(SIGALRM, &(struct sigaction){.sa_handler = handle}, NULL);
    if (tbed_start(path, &options) != TBED_OK)
        abort();
    while (!shared->is_done)
        record_between_breaks();
    tbed_stop();
}

/* Lets it run on to the end, with a signal after each number of steps from the first breakpoint of a round. */
static void interrupt_everywhere(pid_t pid, uint32_t stride)
{
    int status;
    uint64_t steps = 0;
    bool is_first = true;
    for (waitpid(pid, &status, 0); WIFSTOPPED(status); waitpid(pid, &status, 0)) {
        int number = WSTOPSIG(status) == SIGTRAP ? 0 : WSTOPSIG(status); /* it was blocked until now */
        if (number == 0 && is_first && !shared->is_done) {
            shared->is_done = !step(pid, steps);
            number = shared->is_done ? 0 : SIGALRM;
            steps += stride;
            is_first = shared->is_done;
        } else if (number == 0) {
            is_first = true;
        }
        ptrace(PTRACE_CONT, pid, NULL, (void *)(intptr_t)number);
    }
    assert_int_equal(status, 0);
}

struct seen {
    uint64_t recorded, handled, unnamed;
};

static void see_stream(struct tbed_reader *reader, uint32_t stream, struct seen *seen)
{
    size_t count;
    struct tbed_event *events = test_events(reader, stream, &count);
    for (size_t i = 0; i < count; i++) {
        char text[64] = "";
        size_t nbytes;
        if (events[i].type == TBED_EVENT_GAP)
            continue;
        tbed_string_resolve(reader, events[i].id, text, sizeof text, &nbytes);
        /* The handler ran while its thread stored a name. */
        bool is_unnamed = events[i].id == TBED_ID_INVALID;
        bool is_handlers = is_unnamed || strstr(text, "handler") != NULL;
        seen->unnamed += is_unnamed;
        seen->handled += is_handlers;
        seen->recorded += !is_handlers;
    }
    free(events);
}

static void assert_all_is_there_or_counted(const char *path)
{
    struct tbed_reader *reader = test_reader_open(path, true);
    struct seen seen = {0}, of_handlers = {0};
    see_stream(reader, test_stream_named(reader, NULL), &seen);
    for (uint32_t stream = 0; (stream = test_next_stream_of_handlers(reader, stream)) != 0;)
        see_stream(reader, stream, &of_handlers);
    assert_int_equal(seen.recorded, shared->rounds * RECORDED_EVENTS);
    assert_int_equal(of_handlers.recorded, 0);
    assert_in_range(seen.handled, 50, shared->handled * HANDLER_EVENTS - 1);
    assert_in_range(of_handlers.handled, HANDLER_EVENTS, shared->handled * HANDLER_EVENTS);
    seen.handled += of_handlers.handled;
    seen.unnamed += of_handlers.unnamed;
    uint64_t dropped = test_drop_count(reader);
    assert_int_equal(dropped, shared->handled * HANDLER_EVENTS - seen.handled + seen.unnamed);
    print_message("%u handlers, %llu events inside a record, %llu dropped\n", shared->handled,
                  (unsigned long long)of_handlers.handled, (unsigned long long)dropped);
    tbed_reader_close(reader);
}

static void a_handler_may_come_between_any_two_instructions(void **state)
{
    (void)state;
    if (!can_step())
        skip();
    const char *path = test_path("handlers.tbed");
    interrupt_everywhere(start(record_until_told, path), is_long() ? 7 : 97);
    assert_all_is_there_or_counted(path);
}

/* ---- SIGKILL ---- */

static void record_certainly(uint32_t count)
{
    for (uint32_t i = 0; i < count; i++) {
        TBED_INSTANT("certain");
        shared->certain++;
    }
}

/* The break is well before a page ends; new names, a new page and the close are behind it. */
static void record_to_the_end(const char *path)
{
    struct tbed_writer_options options = {
        .size = sizeof options, .page_nbytes = PAGE_NBYTES, .no_helper = true};
    char name[600];
    memset(name, 'n', sizeof name);
    name[sizeof name - 1] = 0;
    if (tbed_start(path, &options) != TBED_OK)
        abort();
    record_certainly(UNTIL_PAGE_ENDS);
    BREAK_HERE();
    for (int i = 0; i < 8; i++) {
        name[0] = (char)('a' + i);
        TBED_INSTANT_DYNAMIC(name);
        shared->certain++;
        record_certainly(15);
    }
    tbed_stop();
    BREAK_HERE();
}

static void assert_certain_events(const char *path)
{
    struct tbed_reader *reader;
    assert_int_equal(tbed_reader_open(path, NULL, &reader, NULL), TBED_OK);
    assert_int_equal(tbed_reader_verify(reader), TBED_OK);
    size_t count;
    struct tbed_event *events = test_events(reader, test_stream_named(reader, NULL), &count);
    assert_in_range(count, shared->certain, shared->certain + 1); /* the last event, which was not reported */
    for (size_t i = 0; i < count; i++) {
        char text[8];
        size_t nbytes;
        assert_int_equal(tbed_string_resolve(reader, events[i].id, text, sizeof text, &nbytes), TBED_OK);
        assert_true(nbytes == strlen("certain") || nbytes == 599);
    }
    free(events);
    tbed_reader_close(reader);
}

/* How many steps there are to the end, so that the next ones know. */
static uint64_t steps_to_the_end(const char *path)
{
    int status;
    pid_t pid = start(record_to_the_end, path);
    waitpid(pid, &status, 0);
    uint64_t count = 0;
    while (step(pid, 1))
        count++;
    kill(pid, SIGKILL);
    waitpid(pid, &status, 0);
    assert_certain_events(path);
    return count;
}

static void a_kill_may_come_between_any_two_instructions(void **state)
{
    (void)state;
    if (!can_step())
        skip();
    const char *path = test_path("killed.tbed");
    uint64_t last = steps_to_the_end(path);
    srand48(1);
    for (int i = is_long() ? 300 : 10; i > 0; i--) {
        int status;
        pid_t pid = start(record_to_the_end, path);
        waitpid(pid, &status, 0);
        step(pid, (uint64_t)lrand48() % last);
        kill(pid, SIGKILL);
        waitpid(pid, &status, 0);
        assert_certain_events(path);
    }
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(a_handler_may_come_between_any_two_instructions),
        cmocka_unit_test(a_kill_may_come_between_any_two_instructions),
    };
    stay_on_one_processor();
    shared = mmap(NULL, sizeof *shared, PROT_READ | PROT_WRITE, MAP_SHARED | MAP_ANONYMOUS, -1, 0);
    return cmocka_run_group_tests(tests, NULL, NULL);
}
