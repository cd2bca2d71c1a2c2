/*
 * How recorders let the helper thread know that a page was claimed. Without a helper they do its work themselves.
 *
 * SPDX-License-Identifier: MIT
 */
#include <signal.h>

#include "writer/base/kernel.h"
#include "writer/base/sandbox_state.h"
#include "writer/pages/pages.h"

#define BUSY_PAGES 16 /* pages claimed by this process before the helper has anything to do */

void tbed_helper_wake(struct tbed_helper_link *link)
{
    __atomic_fetch_add(&link->wake, 1, __ATOMIC_SEQ_CST);
    if (__atomic_load_n(&link->is_asleep, __ATOMIC_SEQ_CST))
        tbed_futex_wake_one(&link->wake);
}

bool tbed_helper_is_busy(const struct tbed_file *file)
{
    return __atomic_load_n(&file->helper_link.is_running, __ATOMIC_ACQUIRE) &&
           __atomic_load_n(&file->process.claimed_pages, __ATOMIC_RELAXED) >= BUSY_PAGES;
}

/*
 * pthread_create() allocates, which a signal handler must not do. A thread that blocks no signal is not in a handler
 * (except with SA_NODEFER).
 */
static bool may_start_here(void)
{
    sigset_t blocked;
    return pthread_sigmask(SIG_SETMASK, NULL, &blocked) == 0 && sigisemptyset(&blocked);
}

/* Without a helper a page is at least faulted in by one call instead of sixteen faults. */
static void populate_here(struct tbed_file *file, uint64_t page)
{
    madvise(file->map + (page << file->page_shift), file->page_nbytes, MADV_POPULATE_WRITE);
}

void tbed_helper_page_taken(struct tbed_file *file, uint64_t page, bool is_low)
{
    uint64_t full = file->growth.full_page_count;
    uint32_t claimed = __atomic_add_fetch(&file->process.claimed_pages, 1, __ATOMIC_RELAXED);
    if (tbed_is_sandboxed())
        return;
    if (tbed_helper_is_busy(file)) {
        if (is_low || (full != 0 && page + 1 >= full))
            tbed_helper_wake(&file->helper_link);
        return;
    }
    if (claimed > 2) /* the first pages of a small process are never filled */
        populate_here(file, page);
    uint32_t enough = file->is_synced_often ? 1 : BUSY_PAGES;
    if (claimed >= enough && may_start_here()) /* in a forked child, which starts without one */
        file->hooks->start_helper(file);
}
