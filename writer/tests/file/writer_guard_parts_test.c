/*
 * The guard of mapped files without a writer: its behaviour when the kernel refuses a call, and the signal actions that
 * a library between the program and the kernel sees.
 *
 * Each case runs in a process of its own, because it changes the action of a signal or a limit.
 *
 * SPDX-License-Identifier: MIT
 */
#include "writer/file/file_guard.h"
#include "writer/tests/support.h"

#include <errno.h>
#include <fcntl.h>
#include <linux/filter.h>
#include <linux/seccomp.h>
#include <pthread.h>
#include <stdlib.h>
#include <sys/mman.h>
#include <sys/prctl.h>
#include <sys/resource.h>
#include <sys/syscall.h>
#include <sys/wait.h>
#include <unistd.h>

enum { NBYTES = 1 << 20, WINDOW = 1 << 16 };

#define NEED(holds)                                                                                          \
    do {                                                                                                     \
        if (!(holds))                                                                                        \
            return __LINE__ % 256;                                                                           \
    } while (0)

static int in_child(int (*body)(void))
{
    int status;
    pid_t child = fork();
    if (child == 0) {
        setrlimit(RLIMIT_CORE, &(struct rlimit){0, 0});
        signal(SIGBUS, SIG_DFL); /* cmocka has set a handler */
        alarm(30);
        _exit(body());
    }
    assert_int_equal(waitpid(child, &status, 0), child);
    return status;
}

/* Maps a file and truncates it. */
static volatile uint8_t *lost_map(void)
{
    int fd = open(test_path("lost"), O_RDWR | O_CREAT | O_TRUNC | O_CLOEXEC, 0600);
    uint8_t *map = mmap(NULL, NBYTES, PROT_READ | PROT_WRITE, MAP_SHARED, fd, 0);
    close(fd);
    return map == MAP_FAILED ? NULL : map;
}

static volatile bool is_lost; /* set by a handler, as are the bytes of a map */

static bool guard(volatile uint8_t *map)
{
    return tbed_guard_add(&(struct tbed_guarded){(uint8_t *)map, NBYTES, WINDOW, (bool *)&is_lost, NULL});
}

#ifdef SYS_mmap2 /* with 64-bit offsets on 32-bit machines */
#define MMAP_CALL SYS_mmap2
#else
#define MMAP_CALL SYS_mmap
#endif

/* Makes mmap() of this size fail, or of any size if it is 0. */
static bool refuse_mapping(uint32_t nbytes)
{
    struct sock_filter code[] = {
        BPF_STMT(BPF_LD | BPF_W | BPF_ABS, offsetof(struct seccomp_data, nr)),
        BPF_JUMP(BPF_JMP | BPF_JEQ | BPF_K, MMAP_CALL, 0, 3),
        BPF_STMT(BPF_LD | BPF_W | BPF_ABS, offsetof(struct seccomp_data, args[1])),
        BPF_JUMP(BPF_JMP | (nbytes == 0 ? BPF_JGE : BPF_JEQ) | BPF_K, nbytes, 0, 1),
        BPF_STMT(BPF_RET | BPF_K, SECCOMP_RET_ERRNO | ENOMEM),
        BPF_STMT(BPF_RET | BPF_K, SECCOMP_RET_ALLOW),
    };
    struct sock_fprog program = {sizeof code / sizeof code[0], code};
    return prctl(PR_SET_NO_NEW_PRIVS, 1, 0, 0, 0) == 0 &&
           prctl(PR_SET_SECCOMP, SECCOMP_MODE_FILTER, &program) == 0;
}

/* ---- Faults ---- */

/* Returns how many bytes of the map the guard has replaced by memory. */
static size_t rescued_nbytes(volatile uint8_t *map)
{
    size_t count = 0;
    int fds[2];
    if (pipe(fds) != 0)
        return SIZE_MAX;
    for (size_t at = 0; at < NBYTES; at += 4096)
        count += write(fds[1], (uint8_t *)map + at, 1) == 1; /* EFAULT otherwise */
    close(fds[0]);
    close(fds[1]);
    return count * 4096;
}

static int a_window_is_replaced(void)
{
    volatile uint8_t *map = lost_map();
    NEED(guard(map) && !is_lost && rescued_nbytes(map) == 0);
    map[3 * WINDOW + 5000] = 7;
    NEED(is_lost && map[3 * WINDOW + 5000] == 7 && map[3 * WINDOW] == 0 && map[4 * WINDOW - 1] == 0);
    NEED(rescued_nbytes(map) == WINDOW);
    map[NBYTES - 1] = 8;
    NEED(map[NBYTES - 1] == 8 && rescued_nbytes(map) == 2 * WINDOW);
    return 0;
}

static int shared_memory_is_used_where_private_is_limited(void)
{
    volatile uint8_t *map = lost_map();
    NEED(guard(map));
    NEED(setrlimit(RLIMIT_DATA, &(struct rlimit){0, 0}) == 0);
    NEED(mmap(NULL, WINDOW, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0) == MAP_FAILED);
    map[5] = 7;
    NEED(is_lost && map[5] == 7 && rescued_nbytes(map) == WINDOW);
    return 0;
}

static int the_whole_map_is_replaced_where_a_window_cannot_be(void)
{
    volatile uint8_t *map = lost_map();
    NEED(guard(map) && refuse_mapping(WINDOW));
    map[5] = 7;
    NEED(is_lost && map[5] == 7 && map[NBYTES - 1] == 0 && rescued_nbytes(map) == NBYTES);
    return 0;
}

static int nothing_can_be_replaced(void)
{
    volatile uint8_t *map = lost_map();
    NEED(guard(map) && refuse_mapping(0));
    map[5] = 7; /* deadly */
    return 1;
}

static int a_map_that_is_guarded_no_more(void)
{
    volatile uint8_t *map = lost_map(), *other = lost_map();
    NEED(guard(map) && guard(other));
    tbed_guard_remove((uint8_t *)map);
    other[0] = 1;
    NEED(other[0] == 1);
    map[0] = 1; /* deadly */
    return 1;
}

static void a_fault_costs_a_window_of_the_map(void **state)
{
    (void)state;
    assert_int_equal(in_child(a_window_is_replaced), 0);
    assert_int_equal(in_child(shared_memory_is_used_where_private_is_limited), 0);
    assert_int_equal(in_child(the_whole_map_is_replaced_where_a_window_cannot_be), 0);
    assert_int_equal(in_child(nothing_can_be_replaced), SIGBUS);
    assert_int_equal(in_child(a_map_that_is_guarded_no_more), SIGBUS);
}

/* ---- The handler ---- */

static int calls_left; /* of sigaction(), before it fails */

static int failing_sigaction(int number, const struct sigaction *action, struct sigaction *old_ret)
{
    if (calls_left-- > 0)
        return sigaction(number, action, old_ret);
    errno = EPERM;
    return -1;
}

static bool has_handler(void)
{
    struct sigaction now;
    sigaction(SIGBUS, NULL, &now);
    return (now.sa_flags & SA_SIGINFO) != 0;
}

static int the_kernel_refuses_the_handler(void)
{
    volatile uint8_t *map = lost_map();
    tbed_guard_sigaction = failing_sigaction;
    for (int calls = 0; calls < 2; calls++) {
        calls_left = calls;
        NEED(!guard(map) && !has_handler());
        NEED(!tbed_guard_chain(NULL, NULL));
    }
    calls_left = 2;
    NEED(guard(map) && has_handler() && calls_left == 0);
    NEED(guard(lost_map())); /* already installed */
    map[0] = 1;
    NEED(map[0] == 1);
    return 0;
}

static int there_are_many_ranges(void)
{
    int count = 0;
    while (count < 1000 && guard(lost_map()))
        count++;
    NEED(count >= 16 && count < 1000);
    NEED(!guard(lost_map()));
    return 0;
}

static void on_signal(int number)
{
    (void)number;
}

static int a_library_sees_the_programs_actions(void)
{
    struct sigaction old = {.sa_flags = 77}, new = {.sa_handler = on_signal};
    volatile uint8_t *map = lost_map();
    NEED(!tbed_guard_chain(&new, &old)); /* without our handler, the action is left to the kernel */
    sigaction(SIGBUS, &(struct sigaction){.sa_handler = SIG_IGN}, NULL);
    NEED(guard(map));
    NEED(tbed_guard_chain(NULL, &old) && old.sa_handler == SIG_IGN);
    NEED(tbed_guard_chain(&new, &old) && old.sa_handler == SIG_IGN);
    NEED(tbed_guard_chain(NULL, &old) && old.sa_handler == on_signal);
    NEED(tbed_guard_chain(NULL, NULL) && has_handler());
    for (int i = 0; i < 100; i++) { /* the old and the new action may be the same object */
        new.sa_handler = i % 2 == 0 ? SIG_IGN : on_signal;
        NEED(tbed_guard_chain(&new, &new) && (new.sa_handler == on_signal) == (i % 2 == 0));
    }
    tbed_guard_remove((uint8_t *)map);
    sigaction(SIGBUS, NULL, &old);
    NEED(old.sa_handler == on_signal); /* the program's latest action */
    NEED(!tbed_guard_chain(NULL, NULL));
    tbed_guard_remove(NULL);
    tbed_guard_remove((uint8_t *)map);
    return 0;
}

static void the_handler_is_installed_once_and_passes_signals_on(void **state)
{
    (void)state;
    assert_int_equal(in_child(the_kernel_refuses_the_handler), 0);
    assert_int_equal(in_child(there_are_many_ranges), 0);
    assert_int_equal(in_child(a_library_sees_the_programs_actions), 0);
}

static int the_last_of_several_is_lost(void)
{
    volatile uint8_t *maps[5];
    for (size_t i = 0; i < 5; i++)
        NEED(guard(maps[i] = lost_map()));
    maps[4][0] = 7;
    NEED(is_lost && maps[4][0] == 7 && rescued_nbytes(maps[3]) == 0);
    return 0;
}

static void each_of_several_maps_is_guarded(void **state)
{
    (void)state;
    assert_int_equal(in_child(the_last_of_several_is_lost), 0);
}

/* ---- The lock ---- */

static bool threads_stop; /* atomic */

static void *guard_and_release(void *map)
{
    while (!__atomic_load_n(&threads_stop, __ATOMIC_RELAXED)) {
        guard(map);
        tbed_guard_remove(map);
    }
    return NULL;
}

/* Many children inherit a lock that is held by a thread of the parent, which they do not have. */
static int children_of_busy_threads(void)
{
    pthread_t threads[2];
    volatile uint8_t *own = lost_map();
    for (size_t i = 0; i < 2; i++)
        NEED(pthread_create(&threads[i], NULL, guard_and_release, (void *)lost_map()) == 0);
    for (int i = 0; i < 300; i++) {
        int status;
        pid_t child = fork();
        if (child == 0) {
            alarm(10); /* kills a child that waits forever */
            bool is_guarded = guard(own);
            tbed_guard_remove((uint8_t *)own);
            _exit(!is_guarded);
        }
        NEED(waitpid(child, &status, 0) == child && status == 0);
    }
    __atomic_store_n(&threads_stop, true, __ATOMIC_RELAXED);
    for (size_t i = 0; i < 2; i++)
        pthread_join(threads[i], NULL);
    return 0;
}

static void a_forked_child_never_waits_for_a_thread_of_its_parent(void **state)
{
    (void)state;
    assert_int_equal(in_child(children_of_busy_threads), 0);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(a_fault_costs_a_window_of_the_map),
        cmocka_unit_test(the_handler_is_installed_once_and_passes_signals_on),
        cmocka_unit_test(each_of_several_maps_is_guarded),
        cmocka_unit_test(a_forked_child_never_waits_for_a_thread_of_its_parent),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
