/*
 * Blocks of a program's own pools, which it shows us by tracebed/pool.h.
 *
 * A pool's first block often has the address of the memory that the pool got from malloc(). So that these are two blocks,
 * the address is stored with a number made of the pool's name above its 48 bits.
 *
 * SPDX-License-Identifier: MIT
 */
#define _GNU_SOURCE 1
#include <errno.h>
#include <string.h>

#include "writer/capture/shared/preload.h"

#define EXPORTED __attribute__((visibility("default"), used, noinline))
#define FRAME    ((const uintptr_t *)__builtin_frame_address(0))

#define ADDRESS_BITS     48u
#define POOLS            0xFFFu /* a FREE event has 60 bits for an address */
#define POOL_NAME_NBYTES 63u

static uint64_t pool_address(const char *pool, const void *address)
{
    uint64_t hash = 0xCBF29CE484222325u;
    for (size_t i = 0; pool[i] != '\0' && i < POOL_NAME_NBYTES; i++)
        hash = (hash ^ (unsigned char)pool[i]) * 0x100000001B3u;
    uint64_t low = (uintptr_t)address & (((uint64_t)1 << ADDRESS_BITS) - 1);
    return address != NULL ? (hash % POOLS + 1) << ADDRESS_BITS | low : 0;
}

/* The pool as a frame inside of its caller. */
static uint32_t pool_stack(struct preload_thread *thread, const char *pool, const uintptr_t *frame)
{
    char text[POOL_NAME_NBYTES + 8] = "[pool ";
    size_t nbytes = strnlen(pool, POOL_NAME_NBYTES), head = strlen(text);
    uint32_t caller = preload_caller(thread, frame);
    memcpy(text + head, pool, nbytes);
    text[head + nbytes] = ']';
    if (preload_mode.frame_count == 0)
        caller = tbed_stack_intern(preload_writer, TBED_ID_INVALID, caller);
    return tbed_stack_intern(preload_writer, caller,
                             tbed_string_intern(preload_writer, text, head + nbytes + 1));
}

static void record(struct preload_thread *thread, struct tbed_recorder *recorder, const char *pool,
                   uint64_t old, uint64_t address, size_t nbytes, const uintptr_t *frame)
{
    if (address == 0) {
        if (!preload_mode.is_light)
            tbed_free_record(recorder, preload_location(thread, frame[1]), TBED_FUNCTION_UNKNOWN, old);
        return;
    }
    uint32_t id = pool_stack(thread, pool, frame);
    if (preload_mode.is_light)
        tbed_instant_record(recorder, id);
    else if (old != 0)
        tbed_realloc_record(recorder, id, old, address, nbytes, tbed_recorder_now(recorder));
    else
        tbed_alloc_record(recorder, id, TBED_FUNCTION_UNKNOWN, address, nbytes);
}

EXPORTED void tbed_preload_pool(const char *pool, const void *old, const void *address, size_t nbytes);
EXPORTED void tbed_preload_pool(const char *pool, const void *old, const void *address, size_t nbytes)
{
    struct preload_thread *thread = &preload_thread;
    struct tbed_recorder *recorder = old != NULL || address != NULL ? preload_enter(thread) : NULL;
    if (recorder == NULL)
        return;
    int saved_errno = *thread->errno_at;
    record(thread, recorder, pool, pool_address(pool, old), pool_address(pool, address), nbytes, FRAME);
    *thread->errno_at = saved_errno;
    preload_leave(thread);
}
