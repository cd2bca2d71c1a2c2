/*
 * Programs that enter a sandbox, seen in time.
 *
 * A program confines itself by prctl() or by the system call seccomp, for which the C library has no function, so even
 * libseccomp goes through prctl() or syscall(). Both are interposed. Before a filter takes hold, everything is prepared
 * for recording without system calls (writer/base/sandbox_state.h). In seccomp's strict mode, and after PR_SET_TSC,
 * reading the clock raises a signal, so the thread stops recording; its events are dropped and counted.
 *
 * A filter may be for the calling thread alone or, with SECCOMP_FILTER_FLAG_TSYNC, for all. It is treated as one for all,
 * because threads and processes that it starts inherit it. Not seen: a program that makes the system call itself.
 *
 * SPDX-License-Identifier: MIT
 */
#define _GNU_SOURCE 1
#include <dlfcn.h>
#include <errno.h>
#include <linux/prctl.h> /* not <sys/prctl.h>, whose prctl() has no fixed parameters */
#include <linux/seccomp.h>
#include <string.h>
#include <sys/syscall.h>
#include <unistd.h>

#include "writer/base/sandbox_state.h"
#include "writer/capture/launch/launch.h"
#include "writer/capture/shared/preload.h"
#include "writer/file/usable.h"

#define EXPORTED       __attribute__((visibility("default"), used, noinline))
#define PREPARE_NBYTES ((uint64_t)16 << 20)

/* ---- Going in ---- */

enum change { NO_CHANGE, ENTERS_FILTER, ENTERS_STRICT, CLOCK_OFF, CLOCK_ON };

/* What has to be undone if the system call fails. */
struct before {
    uint8_t guard;
    bool was_sandboxed;
};

/*
 * A child of vfork() runs in its parent's memory, and is about to call exec: what it enters is not the parent's. A process
 * that is in a sandbox already must not ask for its number.
 */
static bool is_borrowed(const struct tbed_file *file)
{
    return !tbed_is_sandboxed() && tbed_has_joined(file) && file->live->pid != (uint32_t)getpid();
}

static bool has_own_clock(const struct tbed_file *file)
{
    return file->clock.kind == TBED_CLOCK_X86_TSC || file->clock.kind == TBED_CLOCK_ARM64_VIRTUAL;
}

/* Without preparation, as in a signal handler, there is only what happens to be ready. */
static void prepare(struct preload_thread *thread)
{
    if (thread->guard == PRELOAD_FREE) {
        preload_guard_set(thread, PRELOAD_RECORDING);
        bool has_recorder = thread->recorder != NULL || preload_recorder_get(thread) != NULL;
        preload_guard_set(thread, PRELOAD_APART);
        if (has_recorder)
            preload_modules_register();
        preload_guard_set(thread, PRELOAD_FREE);
    }
    tbed_sandbox_enter(preload_writer, PREPARE_NBYTES);
}

static void enter(struct preload_thread *thread, enum change change)
{
    struct tbed_file *file = tbed_file_of(preload_writer);
    int saved_errno = errno;
    if (is_borrowed(file))
        return;
    launch_notes_find();  /* for programs that are started inside */
    tbed_is_usable(file); /* a forked child joins now or never */
    if (change == ENTERS_FILTER)
        prepare(thread);
    if (change == CLOCK_OFF) {
        __atomic_store_n(&preload_clock_is_off, true, __ATOMIC_RELAXED);
        tbed_sandbox_enter(preload_writer, 0);
    }
    if (change != ENTERS_FILTER || !has_own_clock(file))
        preload_guard_set(thread, PRELOAD_STOPPED);
    errno = saved_errno;
}

static struct before begin(enum change change)
{
    struct preload_thread *thread = &preload_thread;
    struct before before = {.guard = thread->guard, .was_sandboxed = tbed_is_sandboxed()};
    bool enters = change == ENTERS_FILTER || change == ENTERS_STRICT || change == CLOCK_OFF;
    if (enters && preload_writer != NULL && thread->guard != PRELOAD_STOPPED &&
        (!before.was_sandboxed || change != ENTERS_FILTER))
        enter(thread, change);
    return before;
}

static void end(enum change change, const struct before *before, bool has_succeeded)
{
    if (change == NO_CHANGE || preload_writer == NULL)
        return;
    bool is_undone = !has_succeeded && change != CLOCK_ON;
    if (is_undone ||
        (has_succeeded && change == CLOCK_ON && __atomic_load_n(&preload_clock_is_off, __ATOMIC_RELAXED))) {
        preload_guard_set(&preload_thread, is_undone ? before->guard : PRELOAD_FREE);
        tbed_sandbox_flag_set(is_undone && before->was_sandboxed);
        if (change == CLOCK_OFF || change == CLOCK_ON)
            __atomic_store_n(&preload_clock_is_off, false, __ATOMIC_RELAXED);
    }
}

/* ---- What the program calls ---- */

/* libseccomp asks what the kernel can do by calls without a filter, which fail. */
static enum change change_of_mode(unsigned long is_strict, unsigned long is_filter, unsigned long filter)
{
    if (is_strict)
        return ENTERS_STRICT;
    return is_filter && filter != 0 ? ENTERS_FILTER : NO_CHANGE;
}

static enum change change_of_prctl(unsigned long option, unsigned long a, unsigned long b)
{
    if (option == PR_SET_SECCOMP)
        return change_of_mode(a == SECCOMP_MODE_STRICT, a == SECCOMP_MODE_FILTER, b);
    if (option == PR_SET_TSC)
        return a == PR_TSC_SIGSEGV ? CLOCK_OFF : a == PR_TSC_ENABLE ? CLOCK_ON : NO_CHANGE;
    return NO_CHANGE;
}

/*
 * The table starts with plain system calls, for callers that are earlier than our constructor. The names are used by the
 * assembly below.
 */
long preload_raw_syscall(long number, ...) __attribute__((visibility("hidden")));
long (*preload_real_syscall)(long number, ...)
    __attribute__((visibility("hidden"), used)) = preload_raw_syscall;
static int (*real_prctl)(int option, ...);

__attribute__((constructor)) static void look_up(void)
{
    uint8_t guard = preload_lookup_begin(&preload_thread);
    void *found_syscall = dlsym(RTLD_NEXT, "syscall"), *found_prctl = dlsym(RTLD_NEXT, "prctl");
    if (found_syscall != NULL)
        memcpy(&preload_real_syscall, &found_syscall, sizeof found_syscall);
    memcpy(&real_prctl, &found_prctl, sizeof found_prctl);
    preload_lookup_end(&preload_thread, guard);
}

EXPORTED int prctl(int option, unsigned long a, unsigned long b, unsigned long c, unsigned long d);
int prctl(int option, unsigned long a, unsigned long b, unsigned long c, unsigned long d)
{
    enum change change = change_of_prctl((unsigned long)option, a, b);
    struct before before = begin(change);
    int result = real_prctl != NULL ? real_prctl(option, a, b, c, d)
                                    : (int)preload_raw_syscall(SYS_prctl, (long)option, a, b, c, d);
    end(change, &before, result >= 0);
    return result;
}

/* What syscall() calls for the two numbers that may be of interest. */
long preload_syscall_watched(long number, unsigned long a, unsigned long b, unsigned long c, unsigned long d,
                             unsigned long e, unsigned long f) __attribute__((visibility("hidden"), used));
long preload_syscall_watched(long number, unsigned long a, unsigned long b, unsigned long c, unsigned long d,
                             unsigned long e, unsigned long f)
{
    enum change change = number == SYS_prctl
                             ? change_of_prctl(a, b, c)
                             : change_of_mode(a == SECCOMP_SET_MODE_STRICT, a == SECCOMP_SET_MODE_FILTER, c);
    struct before before = begin(change);
    long result = preload_real_syscall(number, a, b, c, d, e, f);
    end(change, &before, result >= 0);
    return result;
}

long preload_syscall_failed(long result) __attribute__((visibility("hidden"), used));
long preload_syscall_failed(long result)
{
    errno = (int)-result;
    return -1;
}

/*
 * syscall() passes all other numbers on without a frame of its own: what calls it may not expect a stack to be used (a
 * thread made by the system call clone), and programs call it often for futexes.
 */

/* clang-format off */
#define FUNCTION(name) ".globl " name "\n.type " name ", %function\n" name ":\n"
#define SIZE(name)     ".size " name ", . - " name "\n"
#if defined(__x86_64__)
__asm__(".text\n"
        FUNCTION("syscall")
        "endbr64\n"
        "cmpq $157, %rdi\n" /* SYS_prctl */
        "je preload_syscall_watched\n"
        "cmpq $317, %rdi\n" /* SYS_seccomp */
        "je preload_syscall_watched\n"
        "jmp *preload_real_syscall(%rip)\n"
        SIZE("syscall")
        ".hidden preload_raw_syscall\n"
        FUNCTION("preload_raw_syscall")
        "endbr64\n"
        "movq %rdi, %rax\n"
        "movq %rsi, %rdi\n"
        "movq %rdx, %rsi\n"
        "movq %rcx, %rdx\n"
        "movq %r8, %r10\n"
        "movq %r9, %r8\n"
        "movq 8(%rsp), %r9\n"
        "syscall\n"
        "cmpq $-4095, %rax\n"
        "jae 1f\n"
        "ret\n"
        "1: movq %rax, %rdi\n"
        "jmp preload_syscall_failed\n"
        SIZE("preload_raw_syscall"));
_Static_assert(SYS_prctl == 157 && SYS_seccomp == 317, "as in the assembly");
#elif defined(__aarch64__)
__asm__(".text\n"
        FUNCTION("syscall")
        "cmp x0, #167\n" /* SYS_prctl */
        "b.eq preload_syscall_watched\n"
        "cmp x0, #277\n" /* SYS_seccomp */
        "b.eq preload_syscall_watched\n"
        "adrp x16, preload_real_syscall\n"
        "ldr x16, [x16, :lo12:preload_real_syscall]\n"
        "br x16\n"
        SIZE("syscall")
        ".hidden preload_raw_syscall\n"
        FUNCTION("preload_raw_syscall")
        "mov x8, x0\n"
        "mov x0, x1\n"
        "mov x1, x2\n"
        "mov x2, x3\n"
        "mov x3, x4\n"
        "mov x4, x5\n"
        "mov x5, x6\n"
        "svc #0\n"
        "cmn x0, #4095\n"
        "b.cs preload_syscall_failed\n"
        "ret\n"
        SIZE("preload_raw_syscall"));
_Static_assert(SYS_prctl == 167 && SYS_seccomp == 277, "as in the assembly");
#endif
/* clang-format on */
