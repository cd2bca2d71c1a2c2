/*
 * Reads the process's own memory without a fault where it cannot be read.
 *
 * SPDX-License-Identifier: MIT
 */
#define _GNU_SOURCE 1
#include <errno.h>
#include <sys/uio.h>
#include <unistd.h>

#include "writer/capture/values/functions_arguments.h"

#define PAGE_NBYTES 4096u

/* In two parts, because the kernel copies all of a part or nothing of it. */
size_t functions_memory_copy(void *to, uintptr_t from, size_t nbytes)
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
