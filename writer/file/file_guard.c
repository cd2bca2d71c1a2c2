/*
 * The SIGBUS handler of guarded maps, and what it passes on.
 *
 * The handler uses only atomic loads and stores, one mmap() and, to pass a signal on, sigaction() and the signal mask,
 * all of which are async-signal-safe. It may interrupt any thread anywhere, so it takes no lock.
 *
 * SPDX-License-Identifier: MIT
 */
#include <errno.h>
#include <sched.h>
#include <string.h>
#include <sys/auxv.h>
#include <ucontext.h>
#include <unistd.h>

#include "writer/base/kernel.h"
#include "writer/file/file_guard.h"

#define RANGES_MAX  128
#define ACTIONS_MAX 16 /* a handler that is being called may still read an old one */

int (*tbed_guard_sigaction)(int, const struct sigaction *, struct sigaction *) = sigaction;
bool (*tbed_guard_recover)(void *context);

#define START_REPLACED UINT32_MAX

enum slot_state { SLOT_FREE, SLOT_USED };
static struct slot {
    uint32_t state;       /* atomic */
    uint32_t start_owner; /* atomic: the process that replaces the first window, or START_REPLACED */
    struct tbed_guarded range;
} slots[RANGES_MAX];

static bool is_installed; /* atomic; changed under the lock */
static struct sigaction actions[ACTIONS_MAX];
static uint32_t action_count,
    action_at; /* atomic; the program's action is actions[action_at % ACTIONS_MAX] */

/*
 * Holds the number of the process that took the lock, because a forked child may find it taken by a thread that it does
 * not have.
 */
static uint32_t lock_owner; /* atomic */

static void lock_take(void)
{
    uint32_t own = (uint32_t)getpid(), found = 0;
    while (
        !__atomic_compare_exchange_n(&lock_owner, &found, own, false, __ATOMIC_ACQUIRE, __ATOMIC_RELAXED)) {
        if (found == own) {
            found = 0;
            sched_yield();
        }
    }
}

static void lock_give(void)
{
    __atomic_store_n(&lock_owner, 0, __ATOMIC_RELEASE);
}

/* ---- The program's action ---- */

static struct sigaction action_load(void)
{
    return actions[__atomic_load_n(&action_at, __ATOMIC_ACQUIRE) % ACTIONS_MAX];
}

/* Takes no lock, since a program may change its action in a signal handler. */
static void action_store(const struct sigaction *action)
{
    uint32_t next = __atomic_add_fetch(&action_count, 1, __ATOMIC_RELAXED);
    actions[next % ACTIONS_MAX] = *action;
    __atomic_store_n(&action_at, next, __ATOMIC_RELEASE);
}

/* The kernel repeats a fault when the handler returns; a signal that was sent has to be sent again. */
static void die(int number, bool was_sent)
{
    struct sigaction action = {.sa_handler = SIG_DFL};
    tbed_guard_sigaction(number, &action, NULL);
    if (was_sent)
        raise(number);
}

/* Calls the program's handler as the kernel would have. */
static void call(const struct sigaction *action, int number, siginfo_t *info, void *context)
{
    sigset_t mask = ((ucontext_t *)context)->uc_sigmask;
    if ((action->sa_flags & (int)SA_RESETHAND) != 0)
        action_store(&(struct sigaction){.sa_handler = SIG_DFL});
    if ((action->sa_flags & SA_NODEFER) == 0)
        sigaddset(&mask, number);
    sigprocmask(SIG_SETMASK, &mask, NULL);
    sigprocmask(SIG_BLOCK, &action->sa_mask, NULL);
    if ((action->sa_flags & SA_SIGINFO) != 0)
        action->sa_sigaction(number, info, context);
    else
        action->sa_handler(number);
}

static void pass_on(int number, siginfo_t *info, void *context)
{
    struct sigaction action = action_load();
    bool was_sent = info->si_code <= 0;
    bool has_handler =
        (action.sa_flags & SA_SIGINFO) != 0 || (action.sa_handler != SIG_DFL && action.sa_handler != SIG_IGN);
    if (has_handler)
        call(&action, number, info, context);
    else if (!was_sent || action.sa_handler == SIG_DFL) /* the kernel does not let a fault be ignored */
        die(number, was_sent);
}

/* ---- Our own faults ---- */

static bool replace(uint8_t *start, uint64_t nbytes)
{
    int protection = PROT_READ | PROT_WRITE, flags = MAP_ANONYMOUS | MAP_NORESERVE | MAP_FIXED;
    /* Not mmap(), which a preloaded library may record. Shared memory is not subject to RLIMIT_DATA. */
    return syscall(TBED_SYS_MMAP, start, (size_t)nbytes, protection, flags | MAP_PRIVATE, -1, 0) != -1 ||
           syscall(TBED_SYS_MMAP, start, (size_t)nbytes, protection, flags | MAP_SHARED, -1, 0) != -1;
}

static uint64_t window_nbytes(const struct tbed_guarded *range)
{
    uint64_t system_page = getauxval(AT_PAGESZ);
    return range->window_nbytes > system_page ? range->window_nbytes : system_page;
}

/*
 * A file's first window has the counts of its drops, so it is replaced only once: otherwise, a thread that was held up
 * here would set back what others have counted since. False: another thread of this process is replacing it or has done
 * so; the access is tried again. A forked child takes over from a thread that it does not have.
 */
static bool start_claim(struct slot *slot)
{
    uint32_t own = (uint32_t)getpid(), found = __atomic_load_n(&slot->start_owner, __ATOMIC_ACQUIRE);
    if (found == own)
        sched_yield();
    return found != own && found != START_REPLACED &&
           __atomic_compare_exchange_n(&slot->start_owner, &found, own, false, __ATOMIC_ACQ_REL,
                                       __ATOMIC_ACQUIRE);
}

static bool start_replace(struct slot *slot, uint64_t nbytes)
{
    bool is_replaced = replace(slot->range.start, nbytes);
    __atomic_store_n(&slot->start_owner, is_replaced ? START_REPLACED : 0, __ATOMIC_RELEASE);
    return is_replaced;
}

/* If the process has too many mappings already, replaces all from there on, or the whole range, which adds none. */
static bool window_replace(struct slot *slot, uint64_t offset)
{
    const struct tbed_guarded *range = &slot->range;
    uint64_t rest = range->nbytes - offset,
             nbytes = window_nbytes(range) < rest ? window_nbytes(range) : rest;
    if (offset == 0)
        return !start_claim(slot) || start_replace(slot, nbytes) || start_replace(slot, range->nbytes);
    if (replace(range->start + offset, nbytes))
        return true;
    return start_claim(slot) ? start_replace(slot, range->nbytes) : replace(range->start + offset, rest);
}

static bool rescue(struct slot *slot, uintptr_t address)
{
    const struct tbed_guarded *range = &slot->range;
    uint64_t offset = address - (uintptr_t)range->start;
    offset -= offset % window_nbytes(range);
    __atomic_store_n(range->is_lost, true, __ATOMIC_SEQ_CST);
    /* Before another thread, whose block may lie in the same window, can store events into it that nobody counts. */
    if (range->file != NULL)
        range->file->hooks->stop_recorders(range->file);
    if (!window_replace(slot, offset))
        return false;
    if (range->file != NULL) /* not of the header */
        __atomic_fetch_add(&range->file->drops.at_faults, offset != 0, __ATOMIC_RELAXED);
    return true;
}

static struct slot *find(uintptr_t address)
{
    for (size_t i = 0; i < RANGES_MAX; i++) {
        struct slot *slot = &slots[i];
        if (__atomic_load_n(&slot->state, __ATOMIC_ACQUIRE) == SLOT_USED &&
            address - (uintptr_t)slot->range.start < slot->range.nbytes)
            return slot;
    }
    return NULL;
}

static void on_signal(int number, siginfo_t *info, void *context)
{
    int kept_errno = errno;
    uintptr_t address = (uintptr_t)info->si_addr;
    struct slot *slot = info->si_code > 0 ? find(address) : NULL;
    bool is_done = info->si_code > 0 && tbed_guard_recover != NULL && tbed_guard_recover(context);
    if (!is_done && (slot == NULL || !rescue(slot, address)))
        pass_on(number, info, context);
    errno = kept_errno;
}

/* ---- Installing and restoring ---- */

/*
 * On the program's alternate stack if there is one, as runtimes that manage their own stacks require. All signals are
 * blocked meanwhile: another handler that recorded here would fault in the same page, and the kernel kills a process for
 * a fault whose signal is blocked.
 */
static bool install(void)
{
    struct sigaction action = {.sa_sigaction = on_signal, .sa_flags = SA_SIGINFO | SA_ONSTACK | SA_RESTART},
                     old;
    sigfillset(&action.sa_mask);
    if (is_installed)
        return true;
    if (tbed_guard_sigaction(SIGBUS, NULL, &old) != 0)
        return false;
    action_store(&old); /* before a signal can arrive */
    if (tbed_guard_sigaction(SIGBUS, &action, NULL) != 0)
        return false;
    __atomic_store_n(&is_installed, true, __ATOMIC_RELEASE);
    return true;
}

/* A handler that the program has installed since may pass signals on to ours, which then passes them on to 'old'. */
static void restore(void)
{
    struct sigaction now, old = action_load();
    if (!is_installed || tbed_guard_sigaction(SIGBUS, NULL, &now) != 0 || (now.sa_flags & SA_SIGINFO) == 0 ||
        now.sa_sigaction != on_signal)
        return;
    if (tbed_guard_sigaction(SIGBUS, &old, NULL) == 0)
        __atomic_store_n(&is_installed, false, __ATOMIC_RELEASE);
}

static struct slot *slot_of(const uint8_t *start)
{
    for (size_t i = 0; i < RANGES_MAX; i++)
        if (start == NULL ? slots[i].state == SLOT_FREE
                          : slots[i].state == SLOT_USED && slots[i].range.start == start)
            return &slots[i];
    return NULL;
}

bool tbed_guard_add(const struct tbed_guarded *range)
{
    lock_take();
    struct slot *slot = slot_of(NULL);
    bool is_added = slot != NULL && install();
    if (is_added) {
        slot->range = *range;
        __atomic_store_n(&slot->start_owner, 0, __ATOMIC_RELAXED);
        __atomic_store_n(&slot->state, SLOT_USED, __ATOMIC_RELEASE);
    }
    lock_give();
    return is_added;
}

void tbed_guard_remove(const uint8_t *start)
{
    lock_take();
    struct slot *slot = start != NULL ? slot_of(start) : NULL;
    if (slot != NULL)
        __atomic_store_n(&slot->state, SLOT_FREE, __ATOMIC_RELEASE);
    bool has_any = false;
    for (size_t i = 0; i < RANGES_MAX; i++)
        has_any |= slots[i].state == SLOT_USED;
    if (!has_any)
        restore();
    lock_give();
}

void tbed_guard_admit_thread(void)
{
    sigset_t own;
    sigemptyset(&own);
    sigaddset(&own, SIGBUS);
    pthread_sigmask(SIG_UNBLOCK, &own, NULL);
}

void tbed_guard_enter(const struct tbed_file *file, void *map, uint64_t nbytes, bool *is_lost)
{
    struct tbed_guarded range = {
        .start = map, .nbytes = nbytes, .window_nbytes = file->page_nbytes, .is_lost = is_lost};
    *is_lost = false;
    if (file->is_guarded)
        tbed_guard_add(&range);
}

void tbed_guard_leave(const struct tbed_file *file, const void *map)
{
    if (file->is_guarded)
        tbed_guard_remove(map);
}

bool tbed_guard_chain(const struct sigaction *action, struct sigaction *old_ret)
{
    struct sigaction old = action_load(), new = action != NULL ? *action : old;
    if (!__atomic_load_n(&is_installed, __ATOMIC_ACQUIRE))
        return false;
    if (action != NULL)
        action_store(&new);
    if (old_ret != NULL) /* may be 'action' */
        *old_ret = old;
    return true;
}
