/*
 * Memory at addresses that we choose.
 *
 * SPDX-License-Identifier: MIT
 */
#define _GNU_SOURCE 1
#include <stdint.h>
#include <sys/mman.h>
#include <sys/syscall.h>
#include <unistd.h>

#include "writer/capture/entries/entries.h"

/* Not by mmap(): ThreadSanitizer ends a program that wants an address outside of what it takes for the program's. */
void *functions_map_at(uintptr_t address, size_t nbytes)
{
    long pages = syscall(SYS_mmap, address, nbytes, PROT_READ | PROT_WRITE,
                         MAP_PRIVATE | MAP_ANONYMOUS | MAP_NORESERVE | MAP_FIXED_NOREPLACE, -1, 0);
    if (pages == -1)
        return NULL;
    if ((uintptr_t)pages == address)
        return (void *)address;
    syscall(SYS_munmap, pages, nbytes); /* a kernel before 4.17 */
    return NULL;
}
