/*
 * Keeps the guard of the trace (writer/file/file_guard.h) in force in a program that does not know of it.
 *
 * The action that the program sets for SIGBUS is kept where the guard passes signals on to, instead of in the kernel, so
 * the program sees its own action and never ours. And no thread blocks SIGBUS: the kernel kills a process for a fault
 * whose signal is blocked. A thread that blocks it is shown a mask that has it.
 *
 * While arguments are read (preload_reading.c), no thread blocks SIGSEGV either; its action is the program's as soon as the
 * program asks for it.
 *
 * What a program sets past the C library, by system calls of its own, is left alone: the guard is then off. After an
 * exec a program that ignores SIGBUS finds the default action.
 *
 * SPDX-License-Identifier: MIT
 */
#define _GNU_SOURCE 1
#include <dlfcn.h>
#include <errno.h>
#include <pthread.h>
#include <signal.h>
#include <string.h>

#include "writer/capture/shared/preload.h"
#include "writer/file/file_guard.h"

#define EXPORTED __attribute__((visibility("default"), used, noinline))

typedef void (*handler)(int);
static int (*real_sigaction)(int, const struct sigaction *, struct sigaction *);
static int (*real_pthread_sigmask)(int, const sigset_t *, sigset_t *);
static int (*real_sigprocmask)(int, const sigset_t *, sigset_t *);
static handler (*real_signal)(int, handler);
static handler (*real_sysv_signal)(int, handler);

/* Of the thread's mask, as the program believes. */
static __thread bool blocks_sigbus __attribute__((tls_model("initial-exec")));
static __thread bool blocks_sigsegv __attribute__((tls_model("initial-exec")));

/* The C standard has no conversion from an object pointer to a function pointer; POSIX guarantees this one. */
#define LOOK_UP(name)                                                                                        \
    do {                                                                                                     \
        void *found = dlsym(RTLD_NEXT, #name);                                                               \
        memcpy(&real_##name, &found, sizeof found);                                                          \
    } while (0)

static void look_up(void)
{
    uint8_t guard = preload_lookup_begin(&preload_thread);
    LOOK_UP(pthread_sigmask);
    LOOK_UP(sigprocmask);
    LOOK_UP(signal);
    LOOK_UP(sysv_signal);
    LOOK_UP(sigaction);
    preload_lookup_end(&preload_thread, guard);
}

void preload_signals_begin(void)
{
    look_up();
    tbed_guard_sigaction = real_sigaction;
}

static bool is_guarded(void)
{
    return tbed_guard_chain(NULL, NULL);
}

static void leave_open(sigset_t *blocked)
{
    if (is_guarded())
        sigdelset(blocked, SIGBUS);
    if (preload_reading_is_on())
        sigdelset(blocked, SIGSEGV);
}

/* ---- Actions ---- */

/* While a handler runs, its mask is blocked as well. */
EXPORTED int sigaction(int number, const struct sigaction *action, struct sigaction *old_ret)
{
    struct sigaction changed;
    if (real_sigaction == NULL)
        look_up();
    if (number == SIGBUS && tbed_guard_chain(action, old_ret))
        return 0;
    if (number == SIGSEGV)
        preload_reading_stop();
    if (action != NULL) {
        changed = *action;
        leave_open(&changed.sa_mask);
        action = &changed;
    }
    return real_sigaction(number, action, old_ret);
}

static handler set_sigbus(handler wanted, int flags)
{
    struct sigaction action = {.sa_handler = wanted, .sa_flags = flags}, old;
    sigemptyset(&action.sa_mask);
    if (wanted == SIG_ERR) {
        errno = EINVAL;
        return SIG_ERR;
    }
    tbed_guard_chain(&action, &old);
    return old.sa_handler;
}

EXPORTED handler signal(int number, handler wanted)
{
    if (real_signal == NULL)
        look_up();
    if (number == SIGSEGV)
        preload_reading_stop();
    return number == SIGBUS && is_guarded() ? set_sigbus(wanted, SA_RESTART) : real_signal(number, wanted);
}

EXPORTED handler bsd_signal(int number, handler wanted); /* <signal.h> hides it */
handler bsd_signal(int number, handler wanted)
{
    return signal(number, wanted);
}

#ifdef __GLIBC__
EXPORTED handler sysv_signal(int number, handler wanted)
{
    if (real_sysv_signal == NULL)
        look_up();
    if (number == SIGSEGV)
        preload_reading_stop();
    return number == SIGBUS && is_guarded() ? set_sigbus(wanted, (int)(SA_RESETHAND | SA_NODEFER))
                                            : real_sysv_signal(number, wanted);
}

/* What <signal.h> calls signal() in strict System V mode. */
EXPORTED handler __sysv_signal(int number, handler wanted)
{
    return sysv_signal(number, wanted);
}
#endif

/* ---- Masks ---- */

/* A wrong 'how' is the real function's to refuse. */
static bool will_block(int number, bool did_block, int how, const sigset_t *set)
{
    bool has = set != NULL && sigismember(set, number) == 1;
    if (set == NULL || (how == SIG_BLOCK && !has))
        return did_block;
    return how == SIG_UNBLOCK ? did_block && !has : has;
}

static int change_mask(int (*real)(int, const sigset_t *, sigset_t *), int how, const sigset_t *set,
                       sigset_t *old_ret)
{
    sigset_t changed;
    bool did_block_sigbus = blocks_sigbus, did_block_sigsegv = blocks_sigsegv;
    bool will_block_sigbus = is_guarded() && will_block(SIGBUS, did_block_sigbus, how, set);
    bool will_block_sigsegv = preload_reading_is_on() && will_block(SIGSEGV, did_block_sigsegv, how, set);
    if (set != NULL && how != SIG_UNBLOCK) {
        changed = *set;
        leave_open(&changed);
        set = &changed;
    }
    int result = real(how, set, old_ret);
    if (result == 0 && did_block_sigbus && old_ret != NULL)
        sigaddset(old_ret, SIGBUS);
    if (result == 0 && did_block_sigsegv && old_ret != NULL)
        sigaddset(old_ret, SIGSEGV);
    if (result == 0) {
        blocks_sigbus = will_block_sigbus;
        blocks_sigsegv = will_block_sigsegv;
    }
    return result;
}

static bool is_changed(void)
{
    return is_guarded() || preload_reading_is_on() || blocks_sigbus || blocks_sigsegv;
}

EXPORTED int pthread_sigmask(int how, const sigset_t *set, sigset_t *old_ret)
{
    if (real_pthread_sigmask == NULL)
        look_up();
    return is_changed() ? change_mask(real_pthread_sigmask, how, set, old_ret)
                        : real_pthread_sigmask(how, set, old_ret);
}

EXPORTED int sigprocmask(int how, const sigset_t *set, sigset_t *old_ret)
{
    if (real_sigprocmask == NULL)
        look_up();
    return is_changed() ? change_mask(real_sigprocmask, how, set, old_ret)
                        : real_sigprocmask(how, set, old_ret);
}
