/*
 * The wrappers of the preload tests' helper programs and libraries: each calls one function of the allocator,
 * and writes to the log what it has done. Every module that includes this has wrappers of its own.
 *
 * SPDX-License-Identifier: MIT
 */
#ifndef TRACEBED_PRELOAD_WRAPPERS_H
#define TRACEBED_PRELOAD_WRAPPERS_H

#include <dlfcn.h>
#include <errno.h>
#include <link.h>
#include <malloc.h>
#include <stdlib.h>
#include <string.h>
#include <sys/syscall.h>
#include <unistd.h>

#include "tracebed/format.h"
#include "writer/tests/preload/preload_log.h"

static struct log_file *log_file;

static uint32_t wrapper_find(const struct log_wrapper *wanted)
{
    for (uint64_t i = 0; i < log_file->wrapper_count; i++)
        if (memcmp(&log_file->wrappers[i], wanted, sizeof *wanted) == 0)
            return (uint32_t)i;
    uint64_t index = __atomic_fetch_add(&log_file->wrapper_count, 1, __ATOMIC_RELAXED);
    if (index >= LOG_WRAPPER_COUNT_MAX)
        abort();
    log_file->wrappers[index] = *wanted;
    return (uint32_t)index;
}

static uint32_t wrapper_register(const void *function)
{
    Dl_info info;
    struct link_map *map;
    struct log_wrapper wrapper;
    memset(&wrapper, 0, sizeof wrapper);
    if (dladdr1(function, &info, (void **)&map, RTLD_DL_LINKMAP) == 0)
        abort();
    const char *slash = strrchr(info.dli_fname, '/');
    strncpy(wrapper.module, slash != NULL ? slash + 1 : info.dli_fname, sizeof wrapper.module - 1);
    wrapper.address = (uint64_t)((uintptr_t)function - map->l_addr);
    return wrapper_find(&wrapper);
}

static struct log_entry *log_begin(void)
{
    uint64_t index = __atomic_fetch_add(&log_file->entry_count, 1, __ATOMIC_RELAXED);
    if (index >= LOG_ENTRY_COUNT_MAX)
        abort();
    return &log_file->entries[index];
}

__attribute__((noinline, unused)) static void log_add(enum log_call call, enum tbed_alloc_function function,
                                                      uint32_t wrapper, uintptr_t address,
                                                      uintptr_t old_address, size_t nbytes)
{
    int saved_errno = errno;
    struct log_entry *entry = log_begin();
    entry->pid = (uint32_t)syscall(SYS_getpid);
    entry->tid = (uint32_t)syscall(SYS_gettid);
    entry->call = (uint8_t)call;
    entry->function = (uint8_t)function;
    entry->wrapper = (uint8_t)wrapper;
    entry->address = address;
    entry->old_address = old_address;
    entry->nbytes = nbytes;
    __atomic_store_n(&entry->is_complete, 1, __ATOMIC_RELEASE);
    errno = saved_errno;
}

/* Each wrapper knows its number, once wrappers_register() has run. Only what the module calls has a number. */
#define WRAPPER(result, name, parameters)                                                                    \
    static uint32_t name##_number;                                                                           \
    __attribute__((noinline, unused)) static result name parameters
#define REGISTER(name) ((name##_number) = wrapper_register((const void *)(uintptr_t)(name)))

WRAPPER(void *, do_malloc, (size_t nbytes))
{
    void *address = malloc(nbytes);
    log_add(LOG_ALLOC, TBED_FUNCTION_MALLOC, do_malloc_number, (uintptr_t)address, 0, nbytes);
    return address;
}

WRAPPER(void, do_free, (void *address))
{
    if (address != NULL)
        log_add(LOG_FREE, TBED_FUNCTION_MALLOC, do_free_number, (uintptr_t)address, 0, 0);
    free(address);
    __asm__ volatile("" ::: "memory"); /* no tail call: it would hide us */
}

WRAPPER(void *, do_calloc, (size_t count, size_t nbytes))
{
    size_t total;
    void *address = calloc(count, nbytes);
    if (__builtin_mul_overflow(count, nbytes, &total))
        total = SIZE_MAX;
    log_add(LOG_ALLOC, TBED_FUNCTION_CALLOC, do_calloc_number, (uintptr_t)address, 0, total);
    return address;
}

WRAPPER(void *, do_realloc, (void *old, size_t nbytes))
{
    uintptr_t old_address = (uintptr_t)old;
    void *address = realloc(old, nbytes);
    log_add(LOG_REALLOC, TBED_FUNCTION_REALLOC, do_realloc_number, (uintptr_t)address, old_address, nbytes);
    return address;
}

WRAPPER(void *, do_reallocarray, (void *old, size_t count, size_t nbytes))
{
    size_t total;
    uintptr_t old_address = (uintptr_t)old;
    void *address = reallocarray(old, count, nbytes);
    if (__builtin_mul_overflow(count, nbytes, &total))
        total = SIZE_MAX;
    log_add(LOG_REALLOC, TBED_FUNCTION_REALLOC, do_reallocarray_number, (uintptr_t)address, old_address,
            total);
    return address;
}

WRAPPER(void *, do_posix_memalign, (size_t alignment, size_t nbytes, int *error_ret))
{
    void *address = NULL;
    *error_ret = posix_memalign(&address, alignment, nbytes);
    log_add(LOG_ALLOC, TBED_FUNCTION_ALIGNED, do_posix_memalign_number, (uintptr_t)address, 0, nbytes);
    return address;
}

WRAPPER(void *, do_aligned_alloc, (size_t alignment, size_t nbytes))
{
    void *address = aligned_alloc(alignment, nbytes);
    log_add(LOG_ALLOC, TBED_FUNCTION_ALIGNED, do_aligned_alloc_number, (uintptr_t)address, 0, nbytes);
    return address;
}

WRAPPER(void *, do_memalign, (size_t alignment, size_t nbytes))
{
    void *address = memalign(alignment, nbytes);
    log_add(LOG_ALLOC, TBED_FUNCTION_ALIGNED, do_memalign_number, (uintptr_t)address, 0, nbytes);
    return address;
}

WRAPPER(void *, do_valloc, (size_t nbytes))
{
    void *address = valloc(nbytes);
    log_add(LOG_ALLOC, TBED_FUNCTION_ALIGNED, do_valloc_number, (uintptr_t)address, 0, nbytes);
    return address;
}

WRAPPER(void *, do_pvalloc, (size_t nbytes))
{
    void *address = pvalloc(nbytes);
    log_add(LOG_ALLOC, TBED_FUNCTION_ALIGNED, do_pvalloc_number, (uintptr_t)address, 0, nbytes);
    return address;
}

__attribute__((unused)) static void wrappers_register(struct log_file *file)
{
    log_file = file;
    REGISTER(do_malloc);
    REGISTER(do_free);
    REGISTER(do_calloc);
    REGISTER(do_realloc);
    REGISTER(do_reallocarray);
    REGISTER(do_posix_memalign);
    REGISTER(do_aligned_alloc);
    REGISTER(do_memalign);
    REGISTER(do_valloc);
    REGISTER(do_pvalloc);
}

#endif
