/*
 * What a traced program must not notice of the writer: its errno, signal mask and floating point state, its small
 * stacks, its cancelled threads, its forks.
 *
 * SPDX-License-Identifier: MIT
 */
#include "writer/tests/support.h"

#include <errno.h>
#include <fenv.h>
#include <limits.h>
#include <pthread.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/wait.h>
#include <unistd.h>

#if defined(__SANITIZE_ADDRESS__) || defined(__SANITIZE_THREAD__)
#define IS_SANITIZED 1
#elif defined(__has_feature)
#if __has_feature(address_sanitizer) || __has_feature(thread_sanitizer)
#define IS_SANITIZED 1
#endif
#endif
#ifndef IS_SANITIZED
#define IS_SANITIZED 0
#endif

#define STACK_NBYTES_PROMISED 4096 /* recorder.h */

static struct tbed_writer *writer;
static struct tbed_recorder *recorder;
static uint64_t name_count;

static struct tbed_writer *open_series(bool has_helper)
{
    struct tbed_writer_options options = {
        .no_helper = !has_helper, .rotate_nbytes = 1 << 20, .rotate_keep = 2};
    return test_writer_open(test_path("manners.tbed"), &options);
}

static void await(pid_t child)
{
    int status;
    assert_int_equal(waitpid(child, &status, 0), child);
    assert_int_equal(status, 0);
}

/* ---- What is called ---- */

static void open_and_record(void)
{
    recorder = tbed_recorder_open(writer, "one");
    tbed_instant_record(recorder, 1);
}

static void record_much(void)
{
    for (uint32_t i = 0; i < 500000; i++)
        tbed_instant_record(recorder, i & 0xFFFF);
}

static void intern_names(void)
{
    char text[64];
    for (uint32_t i = 0; i < 2000; i++) {
        int nbytes = snprintf(text, sizeof text, "name %llu", (unsigned long long)name_count++);
        tbed_string_intern(writer, text, (size_t)nbytes);
    }
}

static void nest_deep(void)
{
    for (uint32_t i = 0; i < 1000; i++)
        tbed_span_begin(recorder, i);
    for (uint32_t i = 0; i < 1000; i++)
        tbed_span_end(recorder);
}

static void use_ids(void)
{
    struct tbed_unit_options unit = {.size = sizeof unit,
                                     .kind = TBED_UNIT_NATIVE,
                                     .pc_count = 1000,
                                     .name = "unit",
                                     .file = "/unit",
                                     .share = true};
    uint32_t first = tbed_unit_register(writer, &unit);
    uint32_t id = tbed_id_reserve(writer, 1), text = tbed_string_intern(writer, "text", 4);
    tbed_id_bind(writer, id, 1, text);
    tbed_unit_load_record(writer, first, 4096, 1000);
    tbed_counter_describe(writer, text, "bytes");
    tbed_stack_intern(writer, TBED_ID_INVALID, first);
    tbed_unit_unload_record(writer, first);
}

static void close_recorder(void)
{
    tbed_recorder_name_set(recorder, "renamed");
    tbed_recorder_close(recorder);
}

static void (*const calls[])(void) = {open_and_record, record_much, intern_names,
                                      nest_deep,       use_ids,     close_recorder};
#define CALL_COUNT (sizeof calls / sizeof *calls)

/* ---- Stacks ---- */

#define STACK_NBYTES (256u << 10)
#define PAINT        0xA5

static void *run_call(void *call)
{
    if (call != NULL)
        (*(void (**)(void))call)();
    return NULL;
}

static size_t painted(const uint8_t *stack)
{
    size_t nbytes = 0;
    while (nbytes < STACK_NBYTES && stack[nbytes] == PAINT)
        nbytes++;
    return nbytes;
}

/* How much of its stack a thread uses for the call. */
static size_t stack_use(void *(*run)(void *), void *argument)
{
    uint8_t *stack = mmap(NULL, STACK_NBYTES, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
    pthread_attr_t attributes;
    pthread_t thread;
    assert_true(stack != MAP_FAILED);
    memset(stack, PAINT, STACK_NBYTES);
    pthread_attr_init(&attributes);
    assert_int_equal(pthread_attr_setstack(&attributes, stack, STACK_NBYTES), 0);
    assert_int_equal(pthread_create(&thread, &attributes, run, argument), 0);
    pthread_join(thread, NULL);
    pthread_attr_destroy(&attributes);
    size_t used = STACK_NBYTES - painted(stack);
    munmap(stack, STACK_NBYTES);
    return used;
}

static size_t *child_use; /* shared with the child */

/* The child paints what is below its frame, joins the trace, and looks. */
static void *fork_and_look(void *argument)
{
    (void)argument;
    pid_t child = fork();
    if (child != 0) {
        await(child);
        return NULL;
    }
    enum { ROOM = 64 << 10, HEADROOM = 512 };
    uint8_t *top = (uint8_t *)__builtin_frame_address(0) - HEADROOM, *bottom = top - ROOM;
    for (volatile uint8_t *at = bottom; at < top; at++)
        *at = PAINT;
    tbed_instant_record(recorder, 1);
    size_t at = 0;
    while (bottom[at] == PAINT)
        at++;
    *child_use = ROOM + HEADROOM - at;
    _exit(0);
}

static void calls_take_little_stack(void **state)
{
    (void)state;
    if (IS_SANITIZED)
        return;
    child_use = mmap(NULL, 4096, PROT_READ | PROT_WRITE, MAP_SHARED | MAP_ANONYMOUS, -1, 0);
    for (int has_helper = 0; has_helper < 2; has_helper++) {
        writer = open_series(has_helper != 0);
        for (int round = 0; round < 2; round++) { /* in the first the loader looks up symbols */
            size_t least = stack_use(run_call, NULL);
            for (size_t i = 0; i < CALL_COUNT; i++) {
                size_t used = stack_use(run_call, (void *)&calls[i]) - least;
                if (round == 1 && used > STACK_NBYTES_PROMISED)
                    fail_msg("call %zu takes %zu bytes of stack", i, used);
                if (calls[i] == intern_names)
                    stack_use(fork_and_look, NULL);
            }
        }
        assert_in_range(*child_use, 100, STACK_NBYTES_PROMISED);
        tbed_writer_close(writer);
    }
}

static void *record_on_small_stack(void *argument)
{
    (void)argument;
    for (size_t i = 0; i < CALL_COUNT; i++)
        calls[i]();
    return NULL;
}

/* musl's least is 2 KiB, which is less than a signal's frame takes on many processors. */
#define LEAST_STACK_NBYTES ((size_t)PTHREAD_STACK_MIN < 16384 ? 16384 : (size_t)PTHREAD_STACK_MIN)

static void the_smallest_stack_is_enough(void **state)
{
    (void)state;
    pthread_attr_t attributes;
    pthread_t thread;
    if (IS_SANITIZED)
        return;
    writer = open_series(false);
    pthread_attr_init(&attributes);
    assert_int_equal(pthread_attr_setstacksize(&attributes, LEAST_STACK_NBYTES), 0);
    assert_int_equal(pthread_create(&thread, &attributes, record_on_small_stack, NULL), 0);
    pthread_join(thread, NULL);
    pthread_attr_destroy(&attributes);
    tbed_writer_close(writer);
}

static void record_in_handler(int signal)
{
    (void)signal;
    tbed_instant_record(recorder, 2);
}

/* 8 KiB hold the signal's frame and the first event of a forked child, which begins a file of its own. */
static void a_handler_on_a_small_stack_records(void **state)
{
    (void)state;
    enum { NBYTES = 8192 };
    if (IS_SANITIZED)
        return;
    writer = open_series(false);
    open_and_record();
    uint8_t *memory = mmap(NULL, 2 * NBYTES, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
    mprotect(memory, NBYTES, PROT_NONE);
    stack_t small = {.ss_sp = memory + NBYTES, .ss_size = NBYTES};
    struct sigaction action = {.sa_handler = record_in_handler, .sa_flags = SA_ONSTACK};
    assert_int_equal(sigaltstack(&small, NULL), 0);
    sigaction(SIGUSR1, &action, NULL);
    raise(SIGUSR1);
    pid_t child = fork();
    if (child == 0) {
        raise(SIGUSR1);
        for (int i = 0; i < 300; i++)
            raise(SIGUSR1);
        _exit(tbed_recorder_stream(recorder) == 0);
    }
    await(child);
    small.ss_flags = SS_DISABLE;
    sigaltstack(&small, NULL);
    munmap(memory, 2 * NBYTES);
    tbed_writer_close(writer);
}

/* ---- The thread's state ---- */

static void errno_mask_and_rounding_stay(void **state)
{
    (void)state;
    sigset_t before, after;
    for (int has_helper = 0; has_helper < 2; has_helper++) {
        pthread_sigmask(SIG_SETMASK, NULL, &before);
        writer = open_series(has_helper != 0);
        fesetround(FE_UPWARD);
        feclearexcept(FE_ALL_EXCEPT);
        for (size_t i = 0; i < CALL_COUNT; i++) {
            errno = 12345;
            calls[i]();
            assert_int_equal(errno, 12345);
            assert_int_equal(fegetround(), FE_UPWARD);
            assert_int_equal(fetestexcept(FE_ALL_EXCEPT), 0);
        }
        errno = 12345;
        tbed_rotate(writer, NULL);
        assert_int_equal(errno, 12345);
        tbed_writer_close(writer);
        fesetround(FE_TONEAREST);
        pthread_sigmask(SIG_SETMASK, NULL, &after);
        for (int number = 1; number < 64; number++)
            assert_int_equal(sigismember(&before, number), sigismember(&after, number));
    }
}

static void a_forked_child_keeps_its_errno(void **state)
{
    (void)state;
    writer = open_series(false);
    open_and_record();
    pid_t child = fork();
    if (child == 0) {
        errno = 12345;
        tbed_instant_record(recorder, 3);
        _exit(errno != 12345 || tbed_recorder_stream(recorder) == 0);
    }
    await(child);
    tbed_writer_close(writer);
}

/* ---- Cancelled threads ---- */

static void *record_until_cancelled(void *argument)
{
    unsigned seed = (unsigned)(uintptr_t)argument;
    struct tbed_recorder *own = tbed_recorder_open(writer, "cancelled");
    for (;;) {
        char text[32];
        int nbytes = snprintf(text, sizeof text, "name %d", rand_r(&seed));
        tbed_string_intern(writer, text, (size_t)nbytes);
        for (int i = 0; i < 20000; i++)
            tbed_instant_record(own, 1);
        if (rand_r(&seed) % 8 == 0)
            tbed_rotate(writer, NULL);
        pthread_testcancel();
    }
    return NULL;
}

/* No lock, and no rotation that is under way, goes with them. */
static void cancelled_threads_leave_no_lock_behind(void **state)
{
    (void)state;
    for (int has_helper = 0; has_helper < 2; has_helper++) {
        writer = open_series(has_helper != 0);
        open_and_record();
        alarm(60);
        for (uintptr_t i = 0; i < 60; i++) {
            pthread_t thread;
            void *result;
            assert_int_equal(pthread_create(&thread, NULL, record_until_cancelled, (void *)i), 0);
            usleep((useconds_t)(i * 97 % 4000));
            pthread_cancel(thread);
            pthread_join(thread, &result);
            assert_ptr_equal(result, PTHREAD_CANCELED);
            intern_names();
            record_much();
        }
        assert_int_equal(tbed_rotate(writer, NULL), TBED_OK);
        tbed_writer_close(writer);
        alarm(0);
    }
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(calls_take_little_stack),
        cmocka_unit_test(the_smallest_stack_is_enough),
        cmocka_unit_test(a_handler_on_a_small_stack_records),
        cmocka_unit_test(errno_mask_and_rounding_stay),
        cmocka_unit_test(a_forked_child_keeps_its_errno),
        cmocka_unit_test(cancelled_threads_leave_no_lock_behind),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
