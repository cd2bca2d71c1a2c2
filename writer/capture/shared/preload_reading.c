/*
 * Reads memory that may not be there, without a system call: a fault while it is copied ends the copy.
 *
 * That needs a handler of SIGSEGV, which is there only as long as the program has none: the first time that the program
 * asks for the action of SIGSEGV or sets one, ours is gone for good, and callers let the kernel copy. No thread blocks the
 * signal meanwhile, for the reason that preload_signals.c gives for SIGBUS, whose handler (writer/file/file_guard.h) asks
 * this file first. What a program sets by system calls of its own is not noticed.
 *
 * SPDX-License-Identifier: MIT
 */
#define _GNU_SOURCE 1
#include <signal.h>
#include <stdint.h>
#include <sys/syscall.h>
#include <ucontext.h>
#include <unistd.h>

#include "writer/capture/shared/preload.h"
#include "writer/file/file_guard.h"

static bool is_installed; /* atomic */

bool preload_reading_is_on(void)
{
    return __atomic_load_n(&is_installed, __ATOMIC_RELAXED);
}

#if defined(__x86_64__)

/* The only instruction that may fault, and where it continues then. Vector registers are left alone. */
extern const uint8_t preload_reading_load[], preload_reading_end[];
__asm__(".text\n"
        ".p2align 4\n"
        ".hidden preload_reading_copy\n"
        ".globl preload_reading_copy\n"
        ".type preload_reading_copy, @function\n"
        ".hidden preload_reading_load\n"
        ".globl preload_reading_load\n"
        ".hidden preload_reading_end\n"
        ".globl preload_reading_end\n"
        "preload_reading_copy:\n" /* to, from, nbytes, is_text */
        "    .cfi_startproc\n"
        "    xor %eax, %eax\n"
        "    jmp 2f\n"
        "preload_reading_load:\n"
        "    movzbl (%rsi,%rax), %r8d\n"
        "    mov %r8b, (%rdi,%rax)\n"
        "    inc %rax\n"
        "    test %ecx, %ecx\n"
        "    jz 2f\n"
        "    test %r8d, %r8d\n"
        "    jz preload_reading_end\n"
        "2:  cmp %rdx, %rax\n"
        "    jb preload_reading_load\n"
        "preload_reading_end:\n"
        "    ret\n"
        "    .cfi_endproc\n"
        ".size preload_reading_copy, . - preload_reading_copy\n");

static bool recover(void *context)
{
    greg_t *pc = &((ucontext_t *)context)->uc_mcontext.gregs[REG_RIP];
    bool is_ours = *pc == (greg_t)(uintptr_t)preload_reading_load;
    if (is_ours)
        *pc = (greg_t)(uintptr_t)preload_reading_end;
    return is_ours;
}

/* The program has the default action: the fault is repeated, a signal that was sent has to be sent again. */
static void on_signal(int number, siginfo_t *info, void *context)
{
    struct sigaction action = {.sa_handler = SIG_DFL};
    if (info->si_code > 0 && recover(context))
        return;
    tbed_guard_sigaction(number, &action, NULL);
    if (info->si_code <= 0)
        raise(number);
}

void preload_reading_begin(void)
{
    struct sigaction action = {.sa_sigaction = on_signal, .sa_flags = SA_SIGINFO | SA_ONSTACK | SA_RESTART},
                     old;
    uint64_t blocked = 0;
    sigemptyset(&action.sa_mask);
    if (preload_reading_is_on() ||
        syscall(SYS_rt_sigprocmask, SIG_BLOCK, NULL, &blocked, sizeof blocked) != 0 ||
        blocked >> (SIGSEGV - 1) & 1 || tbed_guard_sigaction(SIGSEGV, NULL, &old) != 0 ||
        (old.sa_flags & SA_SIGINFO) != 0 || old.sa_handler != SIG_DFL)
        return;
    tbed_guard_recover = recover;
    bool is_done = tbed_guard_sigaction(SIGSEGV, &action, NULL) == 0;
    __atomic_store_n(&is_installed, is_done, __ATOMIC_RELEASE);
}

void preload_reading_stop(void)
{
    struct sigaction action = {.sa_handler = SIG_DFL};
    if (__atomic_exchange_n(&is_installed, false, __ATOMIC_ACQ_REL))
        tbed_guard_sigaction(SIGSEGV, &action, NULL);
}

#else

size_t preload_reading_copy(void *to, uintptr_t from, size_t nbytes, bool is_text)
{
    (void)to;
    (void)from;
    (void)nbytes;
    (void)is_text;
    return 0;
}

void preload_reading_begin(void) {}

void preload_reading_stop(void) {}

#endif
