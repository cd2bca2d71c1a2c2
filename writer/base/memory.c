/*
 * Memory of the writer: pages from mmap().
 *
 * SPDX-License-Identifier: MIT
 */
#include <sys/mman.h>

#include "writer/base/memory.h"

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
