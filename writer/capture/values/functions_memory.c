/*
 * Reads the process's own memory without a fault where it cannot be read: by copying it, or by the kernel if the program
 * handles faults itself.
 *
 * SPDX-License-Identifier: MIT
 */
#define _GNU_SOURCE 1
#if defined(__clang__)
#pragma clang attribute push(__attribute__((target("general-regs-only"))), apply_to = function)
#else
#pragma GCC target("general-regs-only")
#endif
#include <errno.h>
#include <sys/uio.h>
#include <unistd.h>

#include "writer/capture/values/functions_arguments.h"
#include "writer/file/file_guard.h"

#define PAGE_NBYTES 4096u

/* In two parts, because the kernel copies all of a part or nothing of it. */
static size_t copy_by_kernel(void *to, uintptr_t from, size_t nbytes)
{
    int saved_errno = errno;
    size_t first = PAGE_NBYTES - from % PAGE_NBYTES;
    first = first < nbytes ? first : nbytes;
    struct iovec own = {.iov_base = to, .iov_len = nbytes};
    struct iovec parts[2] = {{.iov_base = (void *)from, .iov_len = first}, /* NOLINT */
                             {.iov_base = (void *)(from + first), .iov_len = nbytes - first}};
    ssize_t got = process_vm_readv(getpid(), &own, 1, parts, first < nbytes ? 2 : 1, 0);
    errno = saved_errno;
    return got > 0 ? (size_t)got : 0;
}

static bool is_guarded; /* atomic; a fault of a file that was cut is dealt with, too */

void functions_memory_prepare(void)
{
    __atomic_store_n(&is_guarded, tbed_guard_chain(NULL, NULL), __ATOMIC_RELAXED);
}

bool functions_memory_is_quick(void)
{
    return preload_reading_is_on() && __atomic_load_n(&is_guarded, __ATOMIC_RELAXED);
}

size_t functions_memory_copy(void *to, uintptr_t from, size_t nbytes, bool is_text)
{
    return functions_memory_is_quick() ? preload_reading_copy(to, from, nbytes, is_text)
                                       : copy_by_kernel(to, from, nbytes);
}
#if defined(__clang__)
#pragma clang attribute pop
#endif
