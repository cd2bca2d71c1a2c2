/*
 * The functions interposed before the allocator's own. Each passes its call on unchanged, and records it.
 *
 * A free is recorded before it happens and an allocation after it, so that a block that passes from one thread to
 * another never seems to have two owners. A failed call is recorded with address 0.
 *
 * SPDX-License-Identifier: MIT
 */
#define _GNU_SOURCE 1
#include <errno.h>
#include <malloc.h>
#include <stdint.h>
#include <stdlib.h>
#include <string.h>

#include "writer/capture/shared/preload.h"

#define EXPORTED __attribute__((visibility("default"), used, noinline))
#define FRAME    ((const uintptr_t *)__builtin_frame_address(0))

void preload_record_alloc(enum tbed_alloc_function function, const void *address, size_t nbytes,
                          const uintptr_t *frame)
{
    struct preload_thread *thread = &preload_thread;
    frame = preload_outer_take(thread, frame);
    struct tbed_recorder *recorder = preload_enter(thread);
    if (recorder == NULL)
        return;
    int saved_errno = *thread->errno_at;
    uint32_t caller = preload_caller(thread, frame);
    if (!preload_mode.is_light) {
        tbed_alloc_record(recorder, caller, function, (uintptr_t)address, nbytes);
        preload_resident_count(thread, recorder, nbytes);
    } else if (address != NULL) {
        tbed_instant_record(recorder, caller);
    }
    *thread->errno_at = saved_errno;
    preload_leave(thread);
}

void preload_record_free(const void *address, const uintptr_t *frame)
{
    struct preload_thread *thread = &preload_thread;
    /* A free does not open the trace: dlsym() may be the caller. */
    if (preload_mode.is_light || preload_writer == NULL)
        return;
    frame = preload_outer_take(thread, frame);
    struct tbed_recorder *recorder = preload_enter(thread);
    if (recorder == NULL)
        return;
    int saved_errno = *thread->errno_at;
    uint32_t location = preload_location(thread, frame[1]);
    tbed_free_record(recorder, location, TBED_FUNCTION_MALLOC, (uintptr_t)address);
    *thread->errno_at = saved_errno;
    preload_leave(thread);
}

uint64_t preload_realloc_begin(void)
{
    struct preload_thread *thread = &preload_thread;
    if (TBED_UNLIKELY(thread->guard == PRELOAD_STOPPED)) /* counted when the call is over */
        return 0;
    struct tbed_recorder *recorder = preload_enter(thread);
    if (recorder == NULL)
        return 0;
    uint64_t tick = tbed_recorder_now(recorder);
    preload_leave(thread);
    return tick;
}

void preload_record_realloc(uintptr_t old, const void *address, size_t nbytes, uint64_t begin_tick,
                            const uintptr_t *frame)
{
    struct preload_thread *thread = &preload_thread;
    if (preload_mode.is_light) {
        preload_record_alloc(TBED_FUNCTION_REALLOC, address, nbytes, frame);
        return;
    }
    struct tbed_recorder *recorder = preload_enter(thread);
    if (recorder == NULL)
        return;
    int saved_errno = *thread->errno_at;
    uint32_t caller = preload_caller(thread, frame);
    tbed_realloc_record(recorder, caller, old, (uintptr_t)address, nbytes, begin_tick);
    preload_resident_count(thread, recorder, nbytes);
    *thread->errno_at = saved_errno;
    preload_leave(thread);
}

/* The size that the caller meant; the real function itself rejects an overflow. */
static inline size_t product(size_t count, size_t nbytes)
{
    size_t total;
    return __builtin_mul_overflow(count, nbytes, &total) ? SIZE_MAX : total;
}

/* The size that the loader asked for is unknown, but the end of the arena is known. */
static void *move_from_arena(const void *old, size_t nbytes, const uintptr_t *frame)
{
    void *address = preload_real.malloc(nbytes);
    size_t left = (size_t)(preload_arena + PRELOAD_ARENA_NBYTES - (const uint8_t *)old);
    if (address != NULL)
        memcpy(address, old, nbytes < left ? nbytes : left);
    preload_record_alloc(TBED_FUNCTION_REALLOC, address, nbytes, frame);
    return address;
}

EXPORTED void *malloc(size_t nbytes)
{
    void *address = preload_real.malloc(nbytes);
    preload_record_alloc(TBED_FUNCTION_MALLOC, address, nbytes, FRAME);
    return address;
}

EXPORTED void *calloc(size_t count, size_t nbytes)
{
    void *address = preload_real.calloc(count, nbytes);
    preload_record_alloc(TBED_FUNCTION_CALLOC, address, product(count, nbytes), FRAME);
    return address;
}

EXPORTED void free(void *address)
{
    if (address == NULL || preload_arena_owns(address))
        return;
    preload_record_free(address, FRAME);
    preload_real.free(address);
}

EXPORTED void *realloc(void *old, size_t nbytes)
{
    uintptr_t old_address = (uintptr_t)old;
    if (TBED_UNLIKELY(preload_arena_owns(old)))
        return move_from_arena(old, nbytes, FRAME);
    uint64_t begin_tick = preload_realloc_begin();
    void *address = preload_real.realloc(old, nbytes);
    preload_record_realloc(old_address, address, nbytes, begin_tick, FRAME);
    return address;
}

/*
 * The C library's reallocarray() calls realloc(), which is ours, so the call would be recorded twice. Does the same
 * work instead.
 */
EXPORTED void *reallocarray(void *old, size_t count, size_t nbytes)
{
    uintptr_t old_address = (uintptr_t)old;
    size_t total = product(count, nbytes);
    if (TBED_UNLIKELY(preload_arena_owns(old)))
        return move_from_arena(old, total, FRAME);
    uint64_t begin_tick = preload_realloc_begin();
    void *address =
        total == SIZE_MAX ? preload_real.reallocarray(old, count, nbytes) : preload_real.realloc(old, total);
    preload_record_realloc(old_address, address, total, begin_tick, FRAME);
    return address;
}

EXPORTED int posix_memalign(void **address_ret, size_t alignment, size_t nbytes)
{
    int error = preload_real.posix_memalign(address_ret, alignment, nbytes);
    preload_record_alloc(TBED_FUNCTION_ALIGNED, error == 0 ? *address_ret : NULL, nbytes, FRAME);
    return error;
}

EXPORTED void *aligned_alloc(size_t alignment, size_t nbytes)
{
    void *address = preload_real.aligned_alloc(alignment, nbytes);
    preload_record_alloc(TBED_FUNCTION_ALIGNED, address, nbytes, FRAME);
    return address;
}

EXPORTED void *memalign(size_t alignment, size_t nbytes)
{
    void *address = preload_real.memalign(alignment, nbytes);
    preload_record_alloc(TBED_FUNCTION_ALIGNED, address, nbytes, FRAME);
    return address;
}

EXPORTED void *valloc(size_t nbytes)
{
    void *address = preload_real.valloc(nbytes);
    preload_record_alloc(TBED_FUNCTION_ALIGNED, address, nbytes, FRAME);
    return address;
}

#ifdef __GLIBC__
EXPORTED void *pvalloc(size_t nbytes)
{
    void *address = preload_real.pvalloc(nbytes);
    preload_record_alloc(TBED_FUNCTION_ALIGNED, address, nbytes, FRAME);
    return address;
}
#endif
