/*
 * How recorders tell the helper thread that a page was claimed. Where there is no helper they do its work themselves.
 *
 * SPDX-License-Identifier: MIT
 */
#include <linux/futex.h>
#include <signal.h>
#include <sys/mman.h>
#include <sys/syscall.h>
#include <unistd.h>

#include "writer/file/private.h"

void tbed_helper_wake(struct tbed_helper *helper)
{
    __atomic_fetch_add(&helper->wake, 1, __ATOMIC_SEQ_CST);
    if (__atomic_load_n(&helper->is_asleep, __ATOMIC_SEQ_CST))
        syscall(SYS_futex, &helper->wake, FUTEX_WAKE_PRIVATE, 1, NULL, NULL, 0);
}

bool tbed_helper_is_busy(const struct tbed_writer *writer)
{
    return __atomic_load_n(&writer->helper.is_running, __ATOMIC_ACQUIRE) &&
           __atomic_load_n(&writer->claimed_pages, __ATOMIC_RELAXED) >= TBED_HELPER_BUSY_PAGES;
}

/*
 * pthread_create() allocates, which a signal handler must not. Who blocks no signal is in none, but for SA_NODEFER.
 */
static bool may_start_here(void)
{
    sigset_t blocked;
    return pthread_sigmask(SIG_SETMASK, NULL, &blocked) == 0 && sigisemptyset(&blocked);
}

/* Without a helper a page is at least faulted in by one call instead of sixteen faults. */
static void populate_here(struct tbed_writer *writer, uint64_t page)
{
    madvise(writer->map + (page << writer->page_shift), writer->page_nbytes, MADV_POPULATE_WRITE);
}

void tbed_helper_page_taken(struct tbed_writer *writer, uint64_t page, bool is_low)
{
    struct tbed_helper *helper = &writer->helper;
    uint32_t claimed = __atomic_add_fetch(&writer->claimed_pages, 1, __ATOMIC_RELAXED);
    if (tbed_helper_is_busy(writer)) {
        if (is_low || (writer->rotation.is_wanted && page + 1 >= writer->rotation.page_limit))
            tbed_helper_wake(helper);
        return;
    }
    if (claimed > 2) /* the first pages of a small process are never filled */
        populate_here(writer, page);
    if (claimed >= TBED_HELPER_BUSY_PAGES && may_start_here()) /* a forked child's */
        writer->hooks->start_helper(writer);
}
