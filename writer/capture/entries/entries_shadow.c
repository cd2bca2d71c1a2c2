/*
 * The cells of return addresses that were replaced. They are reserved as they are needed, take memory where a stack was in
 * use, and stay.
 *
 * SPDX-License-Identifier: MIT
 */
#define _GNU_SOURCE 1
#include <errno.h>
#include <stdint.h>
#include <sys/mman.h>

#include "writer/base/sandbox_state.h"
#include "writer/capture/entries/entries.h"

#define ROOT_NBYTES   (sizeof(void *) << (FUNCTIONS_SHADOW_ROOT_BITS - FUNCTIONS_SHADOW_BRANCH_BITS))
#define BRANCH_NBYTES (sizeof(void *) << (FUNCTIONS_SHADOW_BRANCH_BITS - FUNCTIONS_SHADOW_LEAF_BITS))
#define LEAF_NBYTES   ((size_t)2 << FUNCTIONS_SHADOW_LEAF_BITS) /* two words for each */

static void *reserve(size_t nbytes)
{
    int flags = MAP_PRIVATE | MAP_ANONYMOUS | MAP_NORESERVE;
    void *pages = mmap(NULL, nbytes, PROT_READ | PROT_WRITE, flags, -1, 0);
    return pages != MAP_FAILED ? pages : NULL;
}

bool functions_shadow_prepare(void)
{
    return functions_map_at(FUNCTIONS_SHADOW_ROOT, ROOT_NBYTES) != NULL;
}

/* Threads and signal handlers may do this at once; one wins. */
static void *child_of(void **parent, size_t nbytes)
{
    void *child = __atomic_load_n(parent, __ATOMIC_ACQUIRE), *expected = NULL;
    if (child != NULL || tbed_is_sandboxed())
        return child;
    child = reserve(nbytes);
    if (child != NULL &&
        !__atomic_compare_exchange_n(parent, &expected, child, false, __ATOMIC_ACQ_REL, __ATOMIC_ACQUIRE)) {
        munmap(child, nbytes);
        child = expected;
    }
    return child;
}

struct functions_cell *functions_cell_make(uintptr_t place)
{
    void **root = (void **)FUNCTIONS_SHADOW_ROOT;
    if (place >> FUNCTIONS_SHADOW_ROOT_BITS != 0)
        return NULL;
    int saved_errno = errno;
    void **branch = child_of(&root[place >> FUNCTIONS_SHADOW_BRANCH_BITS], BRANCH_NBYTES);
    if (branch != NULL)
        child_of(&branch[place >> FUNCTIONS_SHADOW_LEAF_BITS & 1023], LEAF_NBYTES);
    errno = saved_errno;
    return functions_cell_find(place);
}
