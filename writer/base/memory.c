/*
 * Memory of the writer: pages from mmap(), and maps of files.
 *
 * SPDX-License-Identifier: MIT
 */
#include <errno.h>
#include <stdint.h>
#include <sys/mman.h>

#include "writer/base/memory.h"
#include "writer/base/sandbox_state.h"

#define SYSTEM_PAGE_NBYTES   4096u
#define RESERVE_NBYTES       ((size_t)4 << 20)
#define RESERVE_PIECE_NBYTES ((size_t)1 << 20) /* more is not given to one caller */

/* For a process in a sandbox: handed out piece by piece, and never given back. */
static uint8_t *reserve; /* atomic */
static size_t reserve_used;

static void *map_pages(size_t nbytes)
{
    void *pages = mmap(NULL, nbytes, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
    return pages == MAP_FAILED ? NULL : pages;
}

void tbed_pages_reserve(void)
{
    uint8_t *pages = map_pages(RESERVE_NBYTES), *expected = NULL;
    if (pages != NULL &&
        !__atomic_compare_exchange_n(&reserve, &expected, pages, false, __ATOMIC_ACQ_REL, __ATOMIC_ACQUIRE))
        munmap(pages, RESERVE_NBYTES);
}

static void *take_reserved(size_t nbytes)
{
    uint8_t *pages = __atomic_load_n(&reserve, __ATOMIC_ACQUIRE);
    size_t piece = (nbytes + SYSTEM_PAGE_NBYTES - 1) & ~(size_t)(SYSTEM_PAGE_NBYTES - 1);
    if (pages == NULL || nbytes > RESERVE_PIECE_NBYTES)
        return NULL;
    size_t at = __atomic_load_n(&reserve_used, __ATOMIC_RELAXED);
    do {
        if (piece > RESERVE_NBYTES - at)
            return NULL;
    } while (!__atomic_compare_exchange_n(&reserve_used, &at, at + piece, false, __ATOMIC_RELAXED,
                                          __ATOMIC_RELAXED));
    return pages + at;
}

void *tbed_pages_alloc(size_t nbytes)
{
    return tbed_is_sandboxed() ? take_reserved(nbytes) : map_pages(nbytes);
}

void tbed_pages_free(void *pages, size_t nbytes)
{
    if (pages != NULL && !tbed_is_sandboxed())
        munmap(pages, nbytes);
}

void *tbed_shared_map(int fd, uint64_t nbytes, int protection)
{
    if (nbytes > SIZE_MAX) {
        errno = ENOMEM;
        return NULL;
    }
    void *map = mmap(NULL, (size_t)nbytes, protection, MAP_SHARED, fd, 0);
    return map == MAP_FAILED ? NULL : map;
}

void tbed_shared_unmap(const void *map, uint64_t nbytes)
{
    munmap((void *)(uintptr_t)map, (size_t)nbytes);
}
