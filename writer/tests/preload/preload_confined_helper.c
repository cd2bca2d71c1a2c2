/*
 * Enters a sandbox that allows every system call, or turns the clock off, or fails to, and allocates inside. Or sets
 * actions and masks of SIGBUS in every way. Prints what a program can see of it.
 *
 *   preload_confined_helper filter | call | clock | refused | vfork | signals
 *
 * SPDX-License-Identifier: MIT
 */
#define _GNU_SOURCE 1
#include <errno.h>
#include <linux/filter.h>
#include <linux/seccomp.h>
#include <pthread.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/prctl.h>
#include <sys/syscall.h>
#include <sys/wait.h>
#include <unistd.h>

#include "writer/tests/preload/preload_confined_log.h"

static struct sock_filter allow = {.code = BPF_RET | BPF_K, .k = SECCOMP_RET_ALLOW};
static struct sock_fprog filter = {.len = 1, .filter = &allow};

__attribute__((noinline)) static void allocate(size_t nbytes)
{
    void *volatile block = malloc(nbytes);
    block = realloc(block, nbytes);
    free(block);
    void *pages = mmap(NULL, 4096, PROT_READ, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
    pages = mremap(pages, 4096, 8192, MREMAP_MAYMOVE);
    munmap(pages, 8192);
}

static void *allocate_in_thread(void *unused)
{
    allocate(CONFINED_THREAD);
    return unused;
}

static void start_thread(void)
{
    pthread_t thread;
    if (pthread_create(&thread, NULL, allocate_in_thread, NULL) == 0)
        pthread_join(thread, NULL);
}

/* Twice, since programs add filters to filters. */
static int enter_filter(int by_call)
{
    int result = prctl(PR_SET_NO_NEW_PRIVS, 1, 0, 0, 0);
    for (int i = 0; i < 2; i++)
        result |= by_call ? (int)syscall(SYS_seccomp, SECCOMP_SET_MODE_FILTER, 0, &filter)
                          : prctl(PR_SET_SECCOMP, SECCOMP_MODE_FILTER, &filter);
    return result;
}

/* What is left as it was is recorded as before. */
static int be_refused(void)
{
    int wrong = prctl(PR_SET_SECCOMP, SECCOMP_MODE_FILTER, (void *)8) == 0;
    wrong |= syscall(SYS_seccomp, SECCOMP_SET_MODE_STRICT, 1, NULL) == 0;
    wrong |= syscall(SYS_prctl, PR_SET_TSC, 77, 0, 0, 0) == 0;
    wrong |= prctl(PR_SET_SECCOMP, 77, 0) == 0;
    return wrong || syscall(SYS_close, -1) == 0 || errno != EBADF;
}

/* The child shares our memory, but not our sandbox. */
static int let_child_enter(void)
{
    int status = 1;
    pid_t pid = vfork();
    if (pid == 0) {
        enter_filter(0);
        execl("/bin/true", "true", (char *)NULL);
        _exit(1);
    }
    waitpid(pid, &status, 0);
    return status;
}

/* Nothing may look at the clock meanwhile. */
static int turn_clock(int state)
{
    return prctl(PR_SET_TSC, state, 0, 0, 0);
}

/* ---- Signals ---- */

static volatile sig_atomic_t count;
typedef void (*handler)(int);
handler bsd_signal(int number, handler wanted);
handler __sysv_signal(int number, handler wanted);

static void handle(int number)
{
    count += number == SIGBUS ? 1 : 100;
}

static const char *name_of(handler found)
{
    return found == SIG_DFL ? "default" : found == SIG_IGN ? "ignored" : found == SIG_ERR ? "error" : "ours";
}

static void set_actions(void)
{
    printf("%s\n", name_of(signal(SIGBUS, handle)));
    raise(SIGBUS);
    raise(SIGBUS);
    printf("%s\n", name_of(bsd_signal(SIGBUS, SIG_IGN)));
    raise(SIGBUS);
    printf("%s\n", name_of(sysv_signal(SIGBUS, handle)));
    raise(SIGBUS);
    printf("%s\n", name_of(__sysv_signal(SIGBUS, SIG_DFL))); /* it was for one time */
    printf("%s\n", name_of(signal(SIGBUS, SIG_ERR)));
    printf("%s\n", name_of(signal(SIGUSR1, handle)));
    raise(SIGUSR1);
    printf("%s\n", name_of(sysv_signal(SIGUSR1, SIG_IGN)));
    printf("%d\n", (int)count);
}

static void set_masks(void)
{
    sigset_t set, old;
    sigemptyset(&set);
    sigaddset(&set, SIGBUS);
    int (*const functions[])(int, const sigset_t *, sigset_t *) = {sigprocmask, pthread_sigmask};
    for (int i = 0; i < 2; i++) {
        functions[i](SIG_BLOCK, &set, NULL);
        functions[i](SIG_BLOCK, NULL, &old);
        printf("%d", sigismember(&old, SIGBUS));
        functions[i](SIG_UNBLOCK, &set, &old);
        printf("%d", sigismember(&old, SIGBUS));
        functions[i](SIG_SETMASK, &set, &old);
        printf("%d", sigismember(&old, SIGBUS));
        sigaddset(&old, SIGUSR2);
        functions[i](SIG_SETMASK, &old, NULL);
        functions[i](SIG_UNBLOCK, &old, &old);
        printf("%d %d\n", sigismember(&old, SIGBUS), functions[i](77, &set, NULL) != 0);
    }
}

int main(int argument_count, char **arguments)
{
    const char *what = argument_count > 1 ? arguments[1] : "";
    int wrong = 0;
    if (strcmp(what, "signals") == 0) {
        set_actions();
        set_masks();
        return 0;
    }
    allocate(CONFINED_BEFORE);
    if (strcmp(what, "filter") == 0)
        wrong = enter_filter(0);
    else if (strcmp(what, "call") == 0)
        wrong = enter_filter(1);
    else if (strcmp(what, "refused") == 0)
        wrong = be_refused();
    else if (strcmp(what, "vfork") == 0)
        wrong = let_child_enter();
    else if (strcmp(what, "clock") == 0)
        wrong = turn_clock(PR_TSC_SIGSEGV);
    allocate(CONFINED_INSIDE);
    if (strcmp(what, "clock") == 0)
        wrong |= turn_clock(PR_TSC_ENABLE);
    start_thread();
    allocate(CONFINED_AFTER);
    printf("%d\n", wrong);
    return 0;
}
