/*
 * The parts in writer/base, one at a time: memory, the memory of a sandbox, locks, the hash table, clocks.
 *
 * SPDX-License-Identifier: MIT
 */
#include "writer/base/clock.h"
#include "writer/base/locks.h"
#include "writer/base/memory.h"
#include "writer/base/sandbox_state.h"
#include "writer/base/say.h"
#include "writer/base/table.h"
#include "writer/tests/support.h"

#include <errno.h>
#include <pthread.h>
#include <sched.h>
#include <signal.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/wait.h>
#include <time.h>
#include <unistd.h>

#define MIB ((size_t)1 << 20)

/* ---- Memory ---- */

static bool is_mapped(void *page)
{
    unsigned char resident;
    return mincore(page, 4096, &resident) == 0;
}

static bool is_zero(const uint8_t *bytes, size_t nbytes)
{
    for (size_t i = 0; i < nbytes; i++)
        if (bytes[i] != 0)
            return false;
    return true;
}

static void pages_are_zeroed_and_given_back(void **state)
{
    (void)state;
    uint8_t *pages = tbed_pages_alloc(3 * 4096);
    assert_non_null(pages);
    assert_int_equal((uintptr_t)pages % 4096, 0);
    assert_true(is_zero(pages, (size_t)3 * 4096));
    memset(pages, 1, (size_t)3 * 4096);
    tbed_pages_free(pages, (size_t)3 * 4096);
    assert_false(is_mapped(pages));
    assert_false(is_mapped(pages + (size_t)2 * 4096));
    tbed_pages_free(NULL, 4096);
    assert_null(tbed_pages_alloc(SIZE_MAX / 4096 * 4096));
}

/* In a child: the reserve is taken from for good. Returns a line number if something is wrong. */
#define NEED(holds)                                                                                          \
    do {                                                                                                     \
        if (!(holds))                                                                                        \
            return __LINE__ % 256;                                                                           \
    } while (0)

static int use_reserve(void)
{
    static const size_t sizes[] = {1, 4095, 4096, 4097, 8192, MIB};
    tbed_sandbox_flag_set(true);
    NEED(tbed_pages_alloc(1) == NULL); /* nothing is reserved */
    tbed_sandbox_flag_set(false);
    tbed_pages_reserve();
    tbed_sandbox_flag_set(true);
    uint8_t *next = tbed_pages_alloc(4096);
    NEED(next != NULL);
    size_t used = 4096;
    for (size_t i = 0; i < sizeof sizes / sizeof sizes[0]; i++) {
        uint8_t *pages = tbed_pages_alloc(sizes[i]);
        size_t taken = (sizes[i] + 4095) / 4096 * 4096;
        NEED(pages == next + 4096 || (i > 0 && pages == next));
        NEED(is_zero(pages, taken));
        memset(pages, 1, taken);
        used += taken;
        next = pages + taken;
        if (i == 0)
            tbed_pages_reserve(); /* a second reserve replaces nothing */
    }
    NEED(tbed_pages_alloc(MIB + 1) == NULL);
    for (; used + MIB <= 4 * MIB; used += MIB)
        NEED(tbed_pages_alloc(MIB) != NULL);
    NEED(tbed_pages_alloc(4 * MIB - used + 1) == NULL);
    uint8_t *last = tbed_pages_alloc(4 * MIB - used);
    NEED(last != NULL && is_zero(last, 4 * MIB - used));
    NEED(tbed_pages_alloc(1) == NULL);
    tbed_pages_free(last, 4096);
    NEED(is_mapped(last));
    return 0;
}

static void a_sandbox_has_4_mib_that_were_reserved(void **state)
{
    int status;
    (void)state;
    pid_t child = fork();
    if (child == 0)
        _exit(use_reserve());
    assert_int_equal(waitpid(child, &status, 0), child);
    assert_true(WIFEXITED(status));
    assert_int_equal(WEXITSTATUS(status), 0); /* else a line of this file, modulo 256 */
}

static void the_threads_number_is_known_without_a_call(void **state)
{
    (void)state;
#ifdef __GLIBC__
    assert_int_equal(tbed_thread_id_known(), gettid());
#else
    assert_int_equal(tbed_thread_id_known(), 0); /* unknown */
#endif
}

/* ---- Locks ---- */

static struct tbed_lock locks[2];

static void *try_lock(void *result)
{
    *(bool *)result = tbed_lock_try(&locks[0]);
    assert_int_equal(tbed_lock_is_mine(&locks[0]), *(bool *)result);
    if (*(bool *)result)
        tbed_lock_give(&locks[0]);
    return NULL;
}

static bool another_thread_gets_it(void)
{
    bool result = false;
    pthread_t thread;
    assert_int_equal(pthread_create(&thread, NULL, try_lock, &result), 0);
    pthread_join(thread, NULL);
    return result;
}

static void a_thread_knows_its_locks(void **state)
{
    (void)state;
    for (int round = 0; round < 4; round++) {
        bool tries = round % 2 == 1;
        assert_false(tbed_lock_is_mine(&locks[0]));
        assert_true(tries ? tbed_lock_try(&locks[0]) : tbed_lock_take(&locks[0]));
        assert_true(tbed_lock_is_mine(&locks[0]));
        assert_false(tbed_lock_is_mine(&locks[1]));
        assert_false(tbed_lock_take(&locks[0])); /* as in a signal handler */
        assert_false(tbed_lock_try(&locks[0]));
        assert_true(tbed_lock_take(&locks[1]));
        tbed_lock_give(&locks[1]);
        assert_true(tbed_lock_is_mine(&locks[0]));
        assert_false(another_thread_gets_it());
        tbed_lock_give(&locks[0]);
        assert_int_equal(locks[0].state, 0);
        assert_true(another_thread_gets_it());
    }
}

static void *take_lock(void *taken)
{
    assert_true(tbed_lock_take(&locks[0]));
    __atomic_store_n((bool *)taken, true, __ATOMIC_RELEASE);
    tbed_lock_give(&locks[0]);
    return NULL;
}

/* Two threads sleep until they are woken, one by the other. */
static void a_thread_that_waits_is_woken(void **state)
{
    bool taken[2] = {false, false};
    pthread_t threads[2];
    (void)state;
    assert_true(tbed_lock_take(&locks[0]));
    for (int i = 0; i < 2; i++)
        assert_int_equal(pthread_create(&threads[i], NULL, take_lock, &taken[i]), 0);
    while (__atomic_load_n(&locks[0].state, __ATOMIC_RELAXED) != 2)
        sched_yield();
    assert_false(__atomic_load_n(&taken[0], __ATOMIC_ACQUIRE) ||
                 __atomic_load_n(&taken[1], __ATOMIC_ACQUIRE));
    tbed_lock_give(&locks[0]);
    for (int i = 0; i < 2; i++)
        pthread_join(threads[i], NULL);
    assert_true(taken[0] && taken[1]);
    assert_int_equal(locks[0].state, 0);
}

static uint64_t guarded_count;

static void *count_under_lock(void *unused)
{
    for (int i = 0; i < 20000; i++) {
        assert_true(tbed_lock_take(&locks[0]));
        guarded_count++;
        tbed_lock_give(&locks[0]);
    }
    return unused;
}

static void one_thread_at_a_time_has_a_lock(void **state)
{
    pthread_t threads[4];
    (void)state;
    for (int i = 0; i < 4; i++)
        assert_int_equal(pthread_create(&threads[i], NULL, count_under_lock, NULL), 0);
    for (int i = 0; i < 4; i++)
        pthread_join(threads[i], NULL);
    assert_int_equal(guarded_count, 80000);
}

static void cancellation_is_put_back(void **state)
{
    int now;
    (void)state;
    int before = tbed_cancel_disable();
    assert_int_equal(before, PTHREAD_CANCEL_ENABLE);
    assert_int_equal(tbed_cancel_disable(), PTHREAD_CANCEL_DISABLE);
    tbed_cancel_restore(before);
    pthread_setcancelstate(PTHREAD_CANCEL_ENABLE, &now);
    assert_int_equal(now, PTHREAD_CANCEL_ENABLE);
}

/* ---- Table ---- */

static void a_table_grows_and_half_of_it_stays_free(void **state)
{
    struct tbed_table *table = NULL;
    (void)state;
    assert_int_equal(tbed_table_find(&table, 1), 0);
    for (uint64_t key = 1; key <= 5000; key++) {
        assert_true(tbed_table_make_room(&table, 1, 256));
        assert_true((table->count + 1) * 2 <= table->capacity);
        assert_true(table->capacity == 256 || (table->count + 1) * 4 > table->capacity);
        tbed_table_add(table, key << 20, key + 1);
        assert_int_equal(table->count, key);
    }
    assert_true(tbed_table_make_room(&table, 10000, 256));
    assert_true((table->count + 10000) * 2 <= table->capacity);
    for (uint64_t key = 1; key <= 5000; key++)
        assert_int_equal(tbed_table_find(&table, key << 20), key + 1);
    assert_int_equal(tbed_table_find(&table, UINT64_C(5001) << 20), 0);
    struct tbed_table *older = table->older;
    assert_true(older != NULL && older->capacity < table->capacity); /* somebody may still be looking there */
    assert_int_equal(tbed_table_find(&older, 1 << 20), 2);
    tbed_table_forget(table);
    for (uint64_t key = 1; key <= 5000; key++)
        assert_true(tbed_table_find(&table, key << 20) == 0 && tbed_table_find(&older, key << 20) == 0);
    assert_true(is_zero((const uint8_t *)table->entries, table->capacity * sizeof *table->entries));
    tbed_table_free(table);
    assert_false(is_mapped(table));
    assert_false(is_mapped(older));
    tbed_table_free(NULL);
}

static void a_table_without_memory_is_unchanged(void **state)
{
    struct tbed_table *table = NULL;
    (void)state;
    assert_true(tbed_table_make_room(&table, 1, 256));
    struct tbed_table *before = table;
    tbed_table_add(table, 7, 8);
    tbed_sandbox_flag_set(true); /* in which nothing was reserved */
    assert_true(tbed_table_make_room(&table, 1, 256));
    assert_false(tbed_table_make_room(&table, 256, 256));
    tbed_sandbox_flag_set(false);
    assert_ptr_equal(table, before);
    assert_int_equal(tbed_table_find(&table, 7), 8);
    tbed_table_free(table);
}

/* ---- Clocks ---- */

static uint64_t user_ticks;

static uint64_t user_clock(void)
{
    return user_ticks += 10;
}

static void a_reading_lies_between_two_others(void **state)
{
    static const enum tbed_clock kinds[] = {TBED_CLOCK_MONOTONIC, TBED_CLOCK_USER, TBED_CLOCK_AUTO};
    (void)state;
    for (size_t i = 0; i < sizeof kinds / sizeof kinds[0]; i++) {
        enum tbed_clock_reason reason;
        struct tbed_clock_state clock = {.kind = tbed_clock_pick(kinds[i], &reason), .user = user_clock};
        struct timespec real;
        uint64_t ticks = tbed_clock_now(&clock), ns = tbed_monotonic_ns();
        clock_gettime(CLOCK_REALTIME, &real);
        struct tbed_clock_reading reading = tbed_clock_read(&clock);
        assert_true(reading.ticks > ticks && reading.ticks < tbed_clock_now(&clock));
        assert_true(reading.monotonic_ns >= ns && reading.monotonic_ns <= tbed_monotonic_ns());
        uint64_t real_ns = (uint64_t)real.tv_sec * 1000000000u + (uint64_t)real.tv_nsec;
        assert_true(reading.realtime_ns >= real_ns && reading.realtime_ns < real_ns + UINT64_C(60000000000));
    }
    struct tbed_clock_state none = {.kind = TBED_CLOCK_USER};
    assert_int_equal(tbed_clock_now(&none), 0);
}

/* The first of several equal readings counts: its ticks are between its own two looks at the clock. */
static void a_reading_is_the_closest_of_five(void **state)
{
    struct tbed_clock_state clock = {.kind = TBED_CLOCK_USER, .user = user_clock};
    (void)state;
    user_ticks = 0;
    assert_int_equal(tbed_clock_read(&clock).ticks, 15);
    assert_int_equal(user_ticks, 100);
}

static void given_ticks_read_no_clock(void **state)
{
    struct tbed_writer_options options = {.given_ticks = true,
                                          .given_ticks_per_second = 1000,
                                          .given_realtime_ns = -5,
                                          .given_resolution_ns = 7};
    struct tbed_header_fields fields = {.anchor_ticks = 1, .anchor_monotonic_ns = 1};
    struct tbed_clock_state clock = {0};
    (void)state;
    tbed_clock_start(&clock, &options, &fields);
    assert_true(clock.is_given && clock.kind == TBED_CLOCK_MONOTONIC && fields.clock == TBED_CLOCK_MONOTONIC);
    assert_true(fields.anchor_ticks == 0 && fields.anchor_monotonic_ns == 0 &&
                fields.anchor_realtime_ns == -5);
    assert_true(fields.ticks_per_second == 1000 && fields.resolution_ns == 7);
    tbed_clock_rate(&clock, &fields);
    assert_int_equal(fields.ticks_per_second, 1000);
    assert_int_equal(tbed_clock_now(&clock), 0);
    tbed_clock_reach(&clock, 50);
    tbed_clock_reach(&clock, 49);
    tbed_clock_reach(&clock, 50);
    assert_int_equal(tbed_clock_now(&clock), 50);
    tbed_clock_reach(&clock, 51);
    assert_int_equal(tbed_clock_now(&clock), 51);
    options.given_ticks_per_second = 0;
    tbed_clock_start(&clock, &options, &fields);
    assert_true(clock.kind == TBED_CLOCK_USER && fields.clock == TBED_CLOCK_USER);
    assert_true(fields.ticks_per_second == 0 && fields.resolution_ns == 0);
}

static void a_clock_has_its_rate(void **state)
{
    struct tbed_writer_options options = {.clock = TBED_CLOCK_MONOTONIC};
    struct tbed_header_fields fields = {0};
    struct tbed_clock_state clock = {0};
    (void)state;
    tbed_clock_start(&clock, &options, &fields);
    assert_true(!clock.is_given && fields.anchor_ticks > 0 && fields.anchor_monotonic_ns > 0);
    tbed_clock_rate(&clock, &fields);
    assert_int_equal(fields.ticks_per_second, 1000000000);
    assert_true(tbed_clock_join(&clock, &fields));
    options = (struct tbed_writer_options){.clock = TBED_CLOCK_USER, .user_clock = user_clock};
    tbed_clock_start(&clock, &options, &fields);
    tbed_clock_rate(&clock, &fields);
    assert_int_equal(fields.ticks_per_second, 0);
    options = (struct tbed_writer_options){.clock = TBED_CLOCK_AUTO};
    tbed_clock_start(&clock, &options, &fields);
    tbed_clock_rate(&clock, &fields);
    assert_true(fields.ticks_per_second > 10000000 && fields.ticks_per_second < UINT64_C(100000000000));
    if (clock.kind == TBED_CLOCK_MONOTONIC)
        return;
    clock.kind = TBED_CLOCK_MONOTONIC; /* measured, it is what is known */
    fields.anchor_ticks = fields.anchor_monotonic_ns = tbed_monotonic_ns();
    tbed_clock_rate(&clock, &fields);
    assert_int_equal(fields.ticks_per_second, 1000000000);
}

/* Seconds that have passed since the anchor by the ticks, and by the clock. */
static bool joins(uint32_t kind, double ticks_s, double clock_s)
{
    uint64_t now = tbed_monotonic_ns();
    struct tbed_clock_state clock = {.user = NULL};
    struct tbed_header_fields fields = {.clock = kind,
                                        .ticks_per_second = 500000000, /* the ticks are ns: twice as many */
                                        .anchor_ticks = now - (uint64_t)(int64_t)(ticks_s * 0.5e9),
                                        .anchor_monotonic_ns = now - (uint64_t)(int64_t)(clock_s * 1e9)};
    return tbed_clock_join(&clock, &fields);
}

static void only_a_trace_with_the_same_clock_is_joined(void **state)
{
    static const struct {
        double ticks_s, clock_s;
        bool joins;
    } cases[] = {
        {0, 0, true},        {10, 10, true},     {10, 10.9, true},   {10, 9.1, true},
        {10, 11.5, false},   {10, 8.5, false},   {1000, 1005, true}, {1000, 995, true},
        {1000, 1007, false}, {1000, 993, false}, {-1, 0, false},     {0.4, 1.2, true},
    };
    uint64_t uptime_s = tbed_monotonic_ns() / 1000000000;
    (void)state;
    for (size_t i = 0; i < sizeof cases / sizeof cases[0]; i++)
        if (cases[i].clock_s < (double)uptime_s && cases[i].ticks_s < (double)uptime_s)
            assert_int_equal(joins(TBED_CLOCK_MONOTONIC, cases[i].ticks_s, cases[i].clock_s), cases[i].joins);
    assert_false(joins(TBED_CLOCK_USER, 0, 0));
    assert_false(joins(TBED_CLOCK_X86_TSC + TBED_CLOCK_ARM64_VIRTUAL - tbed_clock_of_machine(), 0, 0));
    struct tbed_clock_state user = {.user = user_clock}, annotating = {.is_given = true};
    struct tbed_header_fields fields = {
        .clock = TBED_CLOCK_USER, .anchor_monotonic_ns = 1, .anchor_ticks = 123, .ticks_per_second = 1};
    assert_true(tbed_clock_join(&user, &fields));
    assert_true(tbed_clock_join(&annotating, &fields));
    assert_int_equal(annotating.latest_given, 123);
    fields.anchor_monotonic_ns = 0; /* given ticks: not a moment of this machine */
    assert_false(tbed_clock_join(&user, &fields));
}

/* ---- Saying something ---- */

static void expect_mask(const sigset_t *expected)
{
    sigset_t now;
    assert_int_equal(pthread_sigmask(SIG_BLOCK, NULL, &now), 0);
    for (int number = 1; number < NSIG; number++)
        assert_int_equal(sigismember(&now, number), sigismember(expected, number));
}

/* The program does not notice: its mask of signals stays, and none is raised or taken from it. */
static void a_line_that_nobody_reads_costs_the_program_nothing(void **state)
{
    int ends[2], standard_error = dup(STDERR_FILENO);
    sigset_t before, pipe_only, pending;
    (void)state;
    sigemptyset(&pipe_only);
    sigaddset(&pipe_only, SIGPIPE);
    assert_int_equal(pthread_sigmask(SIG_BLOCK, NULL, &before), 0);
    assert_int_equal(pipe(ends), 0);
    dup2(ends[1], STDERR_FILENO);
    close(ends[1]);
    tbed_say("read\n", 5);
    close(ends[0]);
    tbed_say("not read\n", 9); /* SIGPIPE would kill us */
    expect_mask(&before);
    assert_int_equal(pthread_sigmask(SIG_BLOCK, &pipe_only, NULL), 0);
    for (int was_raised = 0; was_raised < 2; was_raised++) {
        tbed_say("not read\n", 9);
        sigpending(&pending);
        assert_int_equal(sigismember(&pending, SIGPIPE), was_raised);
        raise(SIGPIPE);
    }
    assert_int_equal(sigtimedwait(&pipe_only, NULL, &(struct timespec){0}), SIGPIPE);
    pthread_sigmask(SIG_SETMASK, &before, NULL);
    dup2(standard_error, STDERR_FILENO);
    close(standard_error);
}

static void the_kernels_list_of_clocks_is_read_by_names(void **state)
{
    (void)state;
    static const char *const with[] = {"tsc\n", "tsc", "kvm-clock tsc acpi_pm \n", "hpet tsc"};
    static const char *const without[] = {"", "\n", "hpet acpi_pm \n", "hyperv_clocksource_tsc_page hpet \n",
                                          "tsc-early hpet \n"};
    for (size_t i = 0; i < sizeof with / sizeof with[0]; i++)
        assert_true(tbed_clock_list_has_tsc(with[i]));
    for (size_t i = 0; i < sizeof without / sizeof without[0]; i++)
        assert_false(tbed_clock_list_has_tsc(without[i]));
}

static bool is_offered(const char *names)
{
    char path[] = "/tmp/tracebed-clocks-XXXXXX";
    int fd = mkstemp(path);
    assert_true(fd >= 0);
    assert_int_equal(write(fd, names, strlen(names)), strlen(names));
    close(fd);
    bool result = tbed_clock_is_offered(path);
    unlink(path);
    return result;
}

static void a_counter_that_the_kernel_does_not_list_is_not_offered(void **state)
{
    (void)state;
    char many[400];
    memset(many, 'x', sizeof many);
    memcpy(many + sizeof many - 5, " tsc", 5);
    assert_true(is_offered("kvm-clock tsc acpi_pm \n"));
    assert_false(is_offered("kvm-clock acpi_pm \n"));
    assert_false(is_offered(many)); /* beyond what is read */
    assert_true(is_offered(""));    /* the kernel does not say */
    assert_true(tbed_clock_is_offered("/proc/self/no such file"));
    assert_true(tbed_clock_is_offered("/")); /* cannot be read */
}

static void a_clock_has_a_reason(void **state)
{
    enum tbed_clock_reason reason = TBED_CLOCK_UNTOLD;
    (void)state;
    assert_int_equal(tbed_clock_pick(TBED_CLOCK_MONOTONIC, &reason), TBED_CLOCK_MONOTONIC);
    assert_int_equal(reason, TBED_CLOCK_ASKED_FOR);
    assert_int_equal(tbed_clock_pick(TBED_CLOCK_USER, &reason), TBED_CLOCK_USER);
    assert_int_equal(reason, TBED_CLOCK_UNTOLD);
    bool is_counter = tbed_clock_pick(TBED_CLOCK_AUTO, &reason) != TBED_CLOCK_MONOTONIC;
    assert_int_equal(is_counter, reason == TBED_CLOCK_BY_DEFAULT);
    assert_int_equal(tbed_clock_of_machine() == TBED_CLOCK_MONOTONIC, reason == TBED_CLOCK_NOT_STEADY);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(pages_are_zeroed_and_given_back),
        cmocka_unit_test(a_sandbox_has_4_mib_that_were_reserved),
        cmocka_unit_test(the_threads_number_is_known_without_a_call),
        cmocka_unit_test(a_thread_knows_its_locks),
        cmocka_unit_test(a_thread_that_waits_is_woken),
        cmocka_unit_test(one_thread_at_a_time_has_a_lock),
        cmocka_unit_test(cancellation_is_put_back),
        cmocka_unit_test(a_table_grows_and_half_of_it_stays_free),
        cmocka_unit_test(a_table_without_memory_is_unchanged),
        cmocka_unit_test(a_reading_lies_between_two_others),
        cmocka_unit_test(a_reading_is_the_closest_of_five),
        cmocka_unit_test(given_ticks_read_no_clock),
        cmocka_unit_test(a_clock_has_its_rate),
        cmocka_unit_test(the_kernels_list_of_clocks_is_read_by_names),
        cmocka_unit_test(a_counter_that_the_kernel_does_not_list_is_not_offered),
        cmocka_unit_test(a_clock_has_a_reason),
        cmocka_unit_test(only_a_trace_with_the_same_clock_is_joined),
        cmocka_unit_test(a_line_that_nobody_reads_costs_the_program_nothing),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
