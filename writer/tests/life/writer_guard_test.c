/*
 * The guard of a writer's file: a trace that somebody truncates costs its events, not the program; and every other
 * SIGBUS reaches the program as if there were no guard.
 *
 * Each case runs in a process of its own, because it sets the action of a signal or is killed by one.
 *
 * SPDX-License-Identifier: MIT
 */
#include "writer/life/rotation.h"
#include "writer/tests/support.h"

#include <fcntl.h>
#include <pthread.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/resource.h>
#include <sys/wait.h>
#include <unistd.h>

#define EVENTS 30000

/* Runs 'body' in a child, without core dumps; returns its wait status. */
static int in_child(void (*body)(void))
{
    pid_t child = fork();
    assert_true(child >= 0);
    if (child == 0) {
        setrlimit(RLIMIT_CORE, &(struct rlimit){0, 0});
        signal(SIGBUS, SIG_DFL); /* cmocka has set a handler */
        body();
        _exit(0);
    }
    int status;
    assert_int_equal(waitpid(child, &status, 0), child);
    return status;
}

/* Within a child, where cmocka's assertions do not reach the parent. */
static void need(bool holds, const char *what)
{
    if (holds)
        return;
    fprintf(stderr, "failed: %s\n", what);
    _exit(9);
}

static char trace[256]; /* the path of the last one opened */

static struct tbed_writer *guarded_open(const char *name, struct tbed_writer_options options)
{
    struct tbed_writer *writer;
    options.guard = true;
    options.overwrite = true;
    options.size = sizeof options;
    snprintf(trace, sizeof trace, "%s", test_path(name));
    need(tbed_writer_open(trace, &options, &writer, NULL) == TBED_OK, "open");
    return writer;
}

static void record(struct tbed_recorder *recorder, uint32_t id, int count)
{
    for (int i = 0; i < count; i++)
        tbed_instant_record(recorder, id);
}

/* ---- The file is lost ---- */

static void lose_and_go_on(struct tbed_writer_options options)
{
    struct tbed_writer *writer = guarded_open("lost.tbed", options);
    struct tbed_recorder *recorder = tbed_recorder_open(writer, "thread");
    uint32_t id = tbed_string_intern(writer, "event", 5);
    record(recorder, id, EVENTS);
    need(truncate(trace, 0) == 0, "truncate");
    record(recorder, id, EVENTS);
    need(tbed_string_intern(writer, "a new name", 10) == TBED_ID_INVALID, "no new strings");
    uint64_t dropped = tbed_writer_drop_count(writer, TBED_DROP_IO_ERROR);
    need(dropped >= EVENTS + 1, "each event and the string are counted");
    need(dropped <= EVENTS + 10, "once, except for faults while blocks are sealed");
    need(tbed_recorder_open(writer, "late") != NULL, "recorders open");
    need(tbed_snapshot(writer, test_path("snapshot.tbed"), NULL) != TBED_OK, "no snapshot of a lost file");
    tbed_writer_close(writer);
}

static void lose_with_helper(void)
{
    lose_and_go_on((struct tbed_writer_options){0});
}

static void lose_without_helper(void)
{
    lose_and_go_on((struct tbed_writer_options){.no_helper = true});
}

static void lose_ring(void)
{
    lose_and_go_on((struct tbed_writer_options){.ring_nbytes = 1 << 20});
}

static void lose_series(void)
{
    lose_and_go_on((struct tbed_writer_options){.rotate_nbytes = 1 << 20});
}

/* A rotation would begin a file whose names and open spans are unknown. */
static void lose_series_when_it_is_due(void)
{
    struct tbed_writer_options options = {.rotate_nbytes = 1 << 20, .no_helper = true};
    struct tbed_writer *writer = guarded_open("due.tbed", options);
    struct tbed_recorder *recorder = tbed_recorder_open(writer, "thread");
    char closed[300];
    snprintf(closed, sizeof closed, "%s.000000", trace);
    unlink(closed);
    while (!tbed_series_is_due(writer))
        record(recorder, 1, 1);
    need(truncate(trace, tbed_file_of(writer)->page_nbytes) == 0, "truncate"); /* the count of pages stays */
    record(recorder, 1, EVENTS);
    need(tbed_writer_drop_count(writer, TBED_DROP_IO_ERROR) >= EVENTS, "the events are lost");
    need(access(closed, F_OK) != 0, "no rotation");
    tbed_writer_close(writer);
    need(access(closed, F_OK) != 0, "no rotation at the close");
}

static void a_truncated_file_costs_events_only(void **state)
{
    (void)state;
    assert_int_equal(in_child(lose_with_helper), 0);
    assert_int_equal(in_child(lose_without_helper), 0);
    assert_int_equal(in_child(lose_ring), 0);
    assert_int_equal(in_child(lose_series), 0);
    assert_int_equal(in_child(lose_series_when_it_is_due), 0);
}

static struct tbed_writer *shared_writer;
static uint32_t shared_id;

static bool is_enough;
static uint32_t rounds_done;

static void *record_in_thread(void *argument)
{
    sigset_t all;
    sigfillset(&all);
    pthread_sigmask(SIG_BLOCK, &all, NULL);
    struct tbed_recorder *recorder = tbed_recorder_open(shared_writer, argument);
    while (!__atomic_load_n(&is_enough, __ATOMIC_RELAXED)) {
        record(recorder, shared_id, 1000);
        __atomic_fetch_add(&rounds_done, 1, __ATOMIC_RELAXED);
        usleep(500);
    }
    tbed_recorder_close(recorder);
    return NULL;
}

static void lose_in_threads(void)
{
    pthread_t threads[4];
    shared_writer = guarded_open("threads.tbed", (struct tbed_writer_options){0});
    shared_id = tbed_string_intern(shared_writer, "event", 5);
    for (int i = 0; i < 4; i++)
        pthread_create(&threads[i], NULL, record_in_thread, NULL);
    while (__atomic_load_n(&rounds_done, __ATOMIC_RELAXED) < 40)
        usleep(100);
    need(truncate(trace, 0) == 0, "truncate");
    alarm(60); /* the drops are counted */
    while (tbed_writer_drop_count(shared_writer, TBED_DROP_IO_ERROR) == 0)
        usleep(100);
    alarm(0);
    __atomic_store_n(&is_enough, true, __ATOMIC_RELAXED);
    for (int i = 0; i < 4; i++)
        pthread_join(threads[i], NULL);
    tbed_writer_close(shared_writer);
}

static void threads_that_block_all_signals_survive(void **state)
{
    (void)state;
    assert_int_equal(in_child(lose_in_threads), 0);
}

static pthread_barrier_t all_lose;

static void *lose_in_thread(void *argument)
{
    struct tbed_recorder *recorder = tbed_recorder_open(shared_writer, argument);
    record(recorder, shared_id, 10);
    pthread_barrier_wait(&all_lose);
    pthread_barrier_wait(&all_lose); /* the file is cut */
    record(recorder, shared_id, 1000);
    tbed_recorder_close(recorder);
    return NULL;
}

/* All threads fault at once in the pages that have the counts. */
static void lose_at_once(void)
{
    enum { THREADS = 4, ROUNDS = 100 };
    pthread_t threads[THREADS];
    pthread_barrier_init(&all_lose, NULL, THREADS + 1);
    for (int round = 0; round < ROUNDS; round++) {
        shared_writer = guarded_open("at-once.tbed", (struct tbed_writer_options){.no_helper = true});
        shared_id = tbed_string_intern(shared_writer, "event", 5);
        for (int i = 0; i < THREADS; i++)
            pthread_create(&threads[i], NULL, lose_in_thread, NULL);
        pthread_barrier_wait(&all_lose);
        need(truncate(trace, 0) == 0, "truncate");
        pthread_barrier_wait(&all_lose);
        for (int i = 0; i < THREADS; i++)
            pthread_join(threads[i], NULL);
        uint64_t dropped = tbed_writer_drop_count(shared_writer, TBED_DROP_IO_ERROR);
        /* A record under way when another thread finds the loss counts as stored before it. */
        need(dropped > THREADS * 1000 - THREADS, "each event of each thread is counted");
        tbed_writer_close(shared_writer);
    }
}

static void threads_that_lose_a_file_at_once_count_every_event(void **state)
{
    (void)state;
    assert_int_equal(in_child(lose_at_once), 0);
}

static struct tbed_recorder *interrupted;
static uint32_t interrupt_count, round_interrupt_count;

/* On a machine with other work, handlers may take all the time between two signals: they come to an end. */
static void record_in_handler(int number)
{
    (void)number;
    record(interrupted, shared_id, 1);
    interrupt_count++;
    if (++round_interrupt_count == 200)
        ualarm(0, 0);
}

/* A handler that ran while the fault is dealt with, and faulted in the same page, would be deadly. */
static void lose_among_signals(void)
{
    signal(SIGALRM, record_in_handler);
    for (int round = 0; round < 300; round++) {
        shared_writer = guarded_open("signals.tbed", (struct tbed_writer_options){.no_helper = true});
        shared_id = tbed_string_intern(shared_writer, "event", 5);
        interrupted = tbed_recorder_open(shared_writer, "thread");
        record(interrupted, shared_id, 10);
        need(truncate(trace, 0) == 0, "truncate");
        round_interrupt_count = 0;
        ualarm(20 + (useconds_t)round % 40, 7);
        record(interrupted, shared_id, 3000);
        ualarm(0, 0);
        tbed_writer_close(shared_writer);
    }
    need(interrupt_count > 0, "signals come");
}

static void signals_while_a_file_is_lost_do_no_harm(void **state)
{
    (void)state;
    assert_int_equal(in_child(lose_among_signals), 0);
}

static void lose_in_forked_child(void)
{
    struct tbed_writer *writer = guarded_open("forked.tbed", (struct tbed_writer_options){0});
    struct tbed_recorder *recorder = tbed_recorder_open(writer, "thread");
    uint32_t id = tbed_string_intern(writer, "event", 5);
    record(recorder, id, 10);
    pid_t child = fork();
    if (child == 0) {
        record(recorder, id, 10);
        need(truncate(trace, 0) == 0, "truncate");
        record(recorder, id, EVENTS);
        need(tbed_writer_drop_count(writer, TBED_DROP_IO_ERROR) >= EVENTS - 1, "counted in the child");
        _exit(0);
    }
    int status;
    waitpid(child, &status, 0);
    need(status == 0, "the child survives");
    record(recorder, id, EVENTS);
    tbed_writer_close(writer);
}

static void a_forked_child_survives_as_well(void **state)
{
    (void)state;
    assert_int_equal(in_child(lose_in_forked_child), 0);
}

/* ---- Any other SIGBUS ---- */

static volatile sig_atomic_t seen_code, seen_masked, handler_kind;
static sigjmp_buf out;

static void see(int kind, int code)
{
    sigset_t mask;
    sigprocmask(SIG_BLOCK, NULL, &mask);
    handler_kind = kind;
    seen_code = code;
    seen_masked = sigismember(&mask, SIGUSR1) == 1;
}

static void on_plain(int number)
{
    see(1, number);
}

static void on_info(int number, siginfo_t *info, void *context)
{
    (void)number, (void)context;
    see(2, info->si_code);
    if (info->si_code > 0)
        siglongjmp(out, 1);
}

static void action_set(void (*plain)(int), void (*with_info)(int, siginfo_t *, void *), int flags)
{
    struct sigaction action = {.sa_flags = flags};
    sigemptyset(&action.sa_mask);
    sigaddset(&action.sa_mask, SIGUSR1);
    if (with_info != NULL)
        action.sa_sigaction = with_info;
    else
        action.sa_handler = plain;
    sigaction(SIGBUS, &action, NULL);
}

/* A fault at an address that no writer has mapped. */
static void fault_elsewhere(void)
{
    int fd = memfd_create("elsewhere", 0);
    volatile char *map = mmap(NULL, 4096, PROT_READ | PROT_WRITE, MAP_SHARED, fd, 0);
    *map = 1;
}

static void handlers_are_called(void)
{
    action_set(on_plain, NULL, 0);
    struct tbed_writer *writer = guarded_open("chain.tbed", (struct tbed_writer_options){0});
    raise(SIGBUS);
    need(handler_kind == 1 && seen_code == SIGBUS && seen_masked,
         "a handler without SA_SIGINFO, with its mask");
    tbed_writer_close(writer);

    action_set(NULL, on_info, SA_SIGINFO);
    writer = guarded_open("chain.tbed", (struct tbed_writer_options){0});
    raise(SIGBUS);
    need(handler_kind == 2 && seen_code <= 0, "a handler with SA_SIGINFO");
    if (sigsetjmp(out, 1) == 0)
        fault_elsewhere();
    need(seen_code == BUS_ADRERR, "a fault at another address, left by siglongjmp()");
    tbed_writer_close(writer);

    action_set(SIG_IGN, NULL, 0);
    writer = guarded_open("chain.tbed", (struct tbed_writer_options){0});
    raise(SIGBUS);
    tbed_writer_close(writer);
}

static void is_reset_by_its_first_signal(void)
{
    action_set(on_plain, NULL, (int)SA_RESETHAND);
    guarded_open("chain.tbed", (struct tbed_writer_options){0});
    raise(SIGBUS);
    need(handler_kind == 1, "called once");
    raise(SIGBUS);
    need(false, "the second is deadly");
}

static void dies_by_fault(void)
{
    guarded_open("chain.tbed", (struct tbed_writer_options){0});
    fault_elsewhere();
}

static void dies_by_fault_though_ignored(void)
{
    action_set(SIG_IGN, NULL, 0);
    dies_by_fault();
}

static void dies_by_signal(void)
{
    guarded_open("chain.tbed", (struct tbed_writer_options){0});
    raise(SIGBUS);
}

static void the_programs_action_is_carried_out(void **state)
{
    (void)state;
    assert_int_equal(in_child(handlers_are_called), 0);
    assert_int_equal(in_child(is_reset_by_its_first_signal) & 0x7F, SIGBUS);
    assert_int_equal(in_child(dies_by_fault) & 0x7F, SIGBUS);
    assert_int_equal(in_child(dies_by_fault_though_ignored) & 0x7F, SIGBUS);
    assert_int_equal(in_child(dies_by_signal) & 0x7F, SIGBUS);
}

static void the_action_is_restored(void)
{
    struct sigaction now;
    action_set(on_plain, NULL, 0);
    struct tbed_writer *one = guarded_open("one.tbed", (struct tbed_writer_options){0});
    struct tbed_writer *two = guarded_open("two.tbed", (struct tbed_writer_options){0});
    tbed_writer_close(one);
    sigaction(SIGBUS, NULL, &now);
    need(now.sa_handler != on_plain, "guarded as long as there is a writer");
    tbed_writer_close(two);
    sigaction(SIGBUS, NULL, &now);
    need(now.sa_handler == on_plain, "restored with the last one");
    one = guarded_open("one.tbed", (struct tbed_writer_options){0});
    action_set(NULL, on_info, SA_SIGINFO);
    tbed_writer_close(one);
    sigaction(SIGBUS, NULL, &now);
    need(now.sa_sigaction == on_info, "an action that the program set meanwhile stays");
}

static void no_handler_without_the_option(void)
{
    struct sigaction now;
    struct tbed_writer *writer = test_writer_open(test_path("plain.tbed"), NULL);
    sigaction(SIGBUS, NULL, &now);
    need(now.sa_handler == SIG_DFL, "no handler");
    tbed_writer_close(writer);
}

static void the_handler_is_there_only_while_it_is_needed(void **state)
{
    (void)state;
    assert_int_equal(in_child(the_action_is_restored), 0);
    assert_int_equal(in_child(no_handler_without_the_option), 0);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(a_truncated_file_costs_events_only),
        cmocka_unit_test(threads_that_block_all_signals_survive),
        cmocka_unit_test(threads_that_lose_a_file_at_once_count_every_event),
        cmocka_unit_test(signals_while_a_file_is_lost_do_no_harm),
        cmocka_unit_test(a_forked_child_survives_as_well),
        cmocka_unit_test(the_programs_action_is_carried_out),
        cmocka_unit_test(the_handler_is_there_only_while_it_is_needed),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
