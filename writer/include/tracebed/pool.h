/*
 * tracebed/pool.h: shows the blocks of an allocator of the program's own, such as a pool or an arena, to
 * 'tracebed record', which by itself sees only what the allocator gets from malloc().
 *
 *   void *block = my_pool_take(pool, 40);
 *   tbed_pool_alloc("nodes", block, 40);
 *   ...
 *   tbed_pool_free("nodes", block);
 *   my_pool_give(pool, block);
 *
 * Reports then have the pool as "[pool nodes]", and with 'record --stacks' its callers too. The memory that the pool itself
 * allocates is recorded as well, so it counts twice.
 *
 * Nothing has to be linked, and a program that is not recorded does nothing here but load a pointer and compare it. A
 * program that links the writing library calls tbed_alloc_record() and so on instead.
 *
 * Order:     record a block after it was handed out, and before it is taken back.
 * Threads:   any. Signals: from a signal handler, the first call of a source file may deadlock in the loader.
 * Ownership: the name is copied; up to 63 bytes are used.
 *
 * SPDX-License-Identifier: MIT
 */
#ifndef TRACEBED_POOL_H
#define TRACEBED_POOL_H

#include <dlfcn.h>
#include <stddef.h>
#include <string.h>
#include <tracebed/types.h>

#ifdef __cplusplus
extern "C" {
#endif

/* What the recorder provides. 'old' is NULL for a new block; 'address' is NULL if the block is gone. */
typedef void (*tbed_pool_function)(const char *pool, const void *old, const void *address, size_t nbytes);

/* Not recorded. */
TBED_INLINE void tbed_pool_ignore(const char *pool, const void *old, const void *address, size_t nbytes)
{
    (void)pool, (void)old, (void)address, (void)nbytes;
}

TBED_INLINE tbed_pool_function tbed_pool_recorder(void)
{
    static tbed_pool_function known;
    tbed_pool_function function;
    __atomic_load(&known, &function, __ATOMIC_RELAXED);
    if (!function) { /* C++ programs may forbid NULL */
        void *found;
        function = tbed_pool_ignore; /* also for the calls of an allocator that dlsym() uses */
        __atomic_store(&known, &function, __ATOMIC_RELAXED);
        found = dlsym(RTLD_DEFAULT, "tbed_preload_pool");
        if (found)
            memcpy(&function, &found, sizeof function);
        __atomic_store(&known, &function, __ATOMIC_RELAXED);
    }
    return function;
}

#ifdef __cplusplus
}
#endif

/* Macros, so that the function and the line that call them are recorded. */

/* tbed_pool_alloc(const char *pool, const void *address, size_t nbytes): a block was handed out. */
#define tbed_pool_alloc(pool, address, nbytes) TBED_POOL_TELL_(pool, NULL, address, nbytes)

/* tbed_pool_free(const char *pool, const void *address): a block is about to be taken back. */
#define tbed_pool_free(pool, address) TBED_POOL_TELL_(pool, address, NULL, 0)

/*
 * tbed_pool_resize(const char *pool, const void *old, const void *address, size_t nbytes): a block was resized, and perhaps
 * moved. Call it only if that did not fail.
 */
#define tbed_pool_resize(pool, old, address, nbytes) TBED_POOL_TELL_(pool, old, address, nbytes)

#define TBED_POOL_TELL_(pool, old, address, nbytes)                                                          \
    do {                                                                                                     \
        tbed_pool_function tbed_pool_function_ = tbed_pool_recorder();                                       \
        if (tbed_pool_function_ != tbed_pool_ignore)                                                         \
            tbed_pool_function_(pool, old, address, nbytes);                                                 \
    } while (0)

#endif
