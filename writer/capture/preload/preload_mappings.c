/*
 * mmap(), munmap() and mremap() of usable anonymous memory. Reserved ranges (PROT_NONE) and mapped files are not the
 * program's memory.
 *
 * SPDX-License-Identifier: MIT
 */
#define _GNU_SOURCE 1
#include <errno.h>
#include <stdarg.h>
#include <sys/mman.h>
#include <unistd.h>

#include "writer/capture/shared/preload.h"

#define EXPORTED __attribute__((visibility("default"), used, noinline))
#define FRAME    ((const uintptr_t *)__builtin_frame_address(0))

extern const uint8_t __ehdr_start[] __attribute__((visibility("hidden")));
extern const uint8_t _end[] __attribute__((visibility("hidden")));

/* The writer's own calls pass through here too. */
static bool is_wanted(const uintptr_t *frame)
{
    uintptr_t pc = frame[1];
    return preload_mode.has_mappings && pc - (uintptr_t)__ehdr_start >= (uintptr_t)(_end - __ehdr_start);
}

static size_t whole_pages(size_t nbytes)
{
    size_t page = (size_t)sysconf(_SC_PAGESIZE);
    return (nbytes + page - 1) & ~(page - 1);
}

/* Records that the range is no longer mapped as before. */
static void record_unmap(const void *address, size_t nbytes, const uintptr_t *frame)
{
    struct preload_thread *thread = &preload_thread;
    struct tbed_recorder *recorder = preload_mode.is_light ? NULL : preload_enter(thread);
    if (recorder == NULL)
        return;
    int saved_errno = *thread->errno_at;
    tbed_unmap_record(recorder, preload_location(thread, frame[1]), (uintptr_t)address, whole_pages(nbytes));
    *thread->errno_at = saved_errno;
    preload_leave(thread);
}

static void record_remap(const void *old, size_t old_nbytes, const void *mapping, size_t nbytes,
                         uint64_t begin_tick, const uintptr_t *frame)
{
    struct preload_thread *thread = &preload_thread;
    struct tbed_recorder *recorder = preload_enter(thread);
    if (recorder == NULL)
        return;
    int saved_errno = *thread->errno_at;
    uint32_t caller = preload_caller(thread, frame);
    tbed_remap_record(recorder, caller, (uintptr_t)old, whole_pages(old_nbytes), (uintptr_t)mapping,
                      whole_pages(nbytes), begin_tick);
    *thread->errno_at = saved_errno;
    preload_leave(thread);
}

static void *map(void *address, size_t nbytes, int protection, int flags, int fd, off_t offset,
                 const uintptr_t *frame)
{
    bool wanted = is_wanted(frame);
    if (wanted && (flags & MAP_FIXED) && nbytes > 0)
        record_unmap(address, nbytes, frame);
    void *mapping = preload_real.mmap(address, nbytes, protection, flags, fd, offset);
    if (wanted && mapping != MAP_FAILED && (flags & MAP_ANONYMOUS) && protection != PROT_NONE)
        preload_record_alloc(TBED_FUNCTION_MMAP, mapping, whole_pages(nbytes), frame);
    return mapping;
}

EXPORTED void *mmap(void *address, size_t nbytes, int protection, int flags, int fd, off_t offset)
{
    return map(address, nbytes, protection, flags, fd, offset, FRAME);
}

#ifdef __GLIBC__ /* musl has one function of two names */
EXPORTED void *mmap64(void *address, size_t nbytes, int protection, int flags, int fd, off64_t offset)
{
    return map(address, nbytes, protection, flags, fd, offset, FRAME);
}
#endif

EXPORTED int munmap(void *address, size_t nbytes)
{
    bool can_succeed = nbytes > 0 && ((uintptr_t)address & ((uintptr_t)sysconf(_SC_PAGESIZE) - 1)) == 0;
    if (is_wanted(FRAME) && can_succeed)
        record_unmap(address, nbytes, FRAME);
    return preload_real.munmap(address, nbytes);
}

/*
 * Also records the move of a mapping that was not recorded, such as a file's: readers find no mapping there and ignore
 * it.
 */
EXPORTED void *mremap(void *old, size_t old_nbytes, size_t nbytes, int flags, ...)
{
    void *wish = NULL;
    uint64_t begin_tick = is_wanted(FRAME) && !preload_mode.is_light ? preload_realloc_begin() : 0;
    if (flags & MREMAP_FIXED) {
        va_list rest;
        va_start(rest, flags);
        wish = va_arg(rest, void *);
        va_end(rest);
    }
    void *mapping = preload_real.mremap(old, old_nbytes, nbytes, flags, wish);
    if (begin_tick != 0 && mapping != MAP_FAILED && old_nbytes > 0)
        record_remap(old, old_nbytes, mapping, nbytes, begin_tick, FRAME);
    return mapping;
}
