/*
 * Memory and locks of the writer: pages from mmap, futexes that know their owner.
 *
 * SPDX-License-Identifier: MIT
 */
#include <linux/futex.h>
#include <sys/mman.h>
#include <sys/syscall.h>
#include <unistd.h>

#include "writer/private.h"

void *tbed_pages_alloc(size_t nbytes)
{
    void *pages = mmap(NULL, nbytes, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
    return pages == MAP_FAILED ? NULL : pages;
}

void tbed_pages_free(void *pages, size_t nbytes)
{
    if (pages != NULL)
        munmap(pages, nbytes);
}

/* Its address tells threads apart without a system call. Initial-exec: never allocated on first use. */
static __thread char tbed_thread_mark __attribute__((tls_model("initial-exec")));

bool tbed_lock_take(struct tbed_lock *lock)
{
    if (__atomic_load_n(&lock->owner, __ATOMIC_RELAXED) == &tbed_thread_mark)
        return false;
    uint32_t state = 0;
    if (!__atomic_compare_exchange_n(&lock->state, &state, 1, false, __ATOMIC_ACQUIRE, __ATOMIC_RELAXED)) {
        while (__atomic_exchange_n(&lock->state, 2, __ATOMIC_ACQUIRE) != 0)
            syscall(SYS_futex, &lock->state, FUTEX_WAIT_PRIVATE, 2, NULL, NULL, 0);
    }
    __atomic_store_n(&lock->owner, &tbed_thread_mark, __ATOMIC_RELAXED);
    return true;
}

void tbed_lock_give(struct tbed_lock *lock)
{
    __atomic_store_n(&lock->owner, NULL, __ATOMIC_RELAXED);
    if (__atomic_exchange_n(&lock->state, 0, __ATOMIC_RELEASE) == 2)
        syscall(SYS_futex, &lock->state, FUTEX_WAKE_PRIVATE, 1, NULL, NULL, 0);
}
