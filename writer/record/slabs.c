/*
 * The memory of recorders: slabs, which are never given back before the writer is.
 *
 * A slab is 64 KiB: one page of hot halves, which a forked child finds zeroed; one page of kept halves; then the cold
 * parts. So a recorder's other parts are found by arithmetic.
 *
 * SPDX-License-Identifier: MIT
 */

#include <errno.h>
#include <stdlib.h>

#include "writer/base/kernel.h"
#include "writer/base/memory.h"
#include "writer/base/sandbox_state.h"
#include "writer/record/recorders.h"

static void *slab_alloc(void)
{
    if (tbed_is_sandboxed()) /* it takes system calls */
        return NULL;
    uint8_t *slab = tbed_pages_alloc(TBED_SLAB_NBYTES);
    if (slab == NULL || madvise(slab, TBED_RECORDER_KEPT_OFFSET, MADV_WIPEONFORK) == 0)
        return slab;
    tbed_pages_free(slab, TBED_SLAB_NBYTES);
    return NULL;
}

static struct tbed_slab *slab_header(uint8_t *slab)
{
    return (struct tbed_slab *)(slab + 2 * TBED_RECORDER_KEPT_OFFSET);
}

void tbed_recorders_begin(struct tbed_recorders *recorders, uint8_t *slab)
{
    recorders->slabs = slab_header(slab);
}

static bool slab_add(struct tbed_recorders *recorders)
{
    uint8_t *slab = slab_alloc();
    if (slab == NULL)
        return false;
    struct tbed_slab *header = slab_header(slab);
    header->next = recorders->slabs;
    __atomic_store_n(&recorders->slabs, header,
                     __ATOMIC_RELEASE); /* a signal handler may be walking the list */
    return true;
}

static size_t unused_count(const struct tbed_recorders *recorders)
{
    const struct tbed_slab *slab = recorders->slabs;
    return slab != NULL ? TBED_SLAB_RECORDER_COUNT - slab->used_count : 0;
}

/* One at a time, because a small process has one thread, and a slab has twelve pages of memory to touch. */
static struct tbed_recorder *recorder_add(struct tbed_recorders *recorders)
{
    struct tbed_slab *slab = recorders->slabs;
    struct tbed_recorder *hot =
        (struct tbed_recorder *)(void *)((uint8_t *)slab - 2 * TBED_RECORDER_KEPT_OFFSET) + slab->used_count;
    struct tbed_recorder_cold *cold = (struct tbed_recorder_cold *)(slab + 1) + slab->used_count;
    tbed_kept_of(hot)->cold = cold;
    cold->recorders = recorders;
    cold->recorder = hot;
    __atomic_store_n(&slab->used_count, slab->used_count + 1, __ATOMIC_RELEASE);
    return hot;
}

struct tbed_recorder *tbed_recorder_take(struct tbed_recorders *recorders)
{
    if (recorders->free == NULL && unused_count(recorders) == 0 && !slab_add(recorders))
        return NULL;
    if (recorders->free == NULL)
        return recorder_add(recorders);
    struct tbed_recorder *recorder = recorders->free;
    recorders->free = tbed_cold_of(recorder)->next_free;
    return recorder;
}

void tbed_recorders_prepare(struct tbed_recorders *recorders)
{
    const struct tbed_recorder *free = recorders->free;
    size_t count = unused_count(recorders);
    for (; free != NULL && count < TBED_SLAB_RECORDER_COUNT; count++)
        free = tbed_cold_of(free)->next_free;
    if (count >= TBED_SLAB_RECORDER_COUNT)
        return;
    while (unused_count(recorders) > 0) { /* only the newest slab has any */
        struct tbed_recorder *recorder = recorder_add(recorders);
        tbed_cold_of(recorder)->next_free = recorders->free;
        recorders->free = recorder;
    }
    slab_add(recorders);
}

size_t tbed_recorders_each(struct tbed_recorders *recorders, bool (*act)(struct tbed_recorder *))
{
    size_t count = 0;
    struct tbed_slab *newest = __atomic_load_n(&recorders->slabs, __ATOMIC_ACQUIRE);
    for (struct tbed_slab *slab = newest; slab != NULL; slab = slab->next) {
        struct tbed_recorder_cold *colds = (struct tbed_recorder_cold *)(slab + 1);
        size_t used_count = __atomic_load_n(&slab->used_count, __ATOMIC_ACQUIRE);
        for (size_t i = 0; i < used_count; i++)
            if (colds[i].is_open) /* a parent's as well: one of our threads may be taking it over */
                count += act(colds[i].recorder);
    }
    return count;
}

void tbed_end_notes_free(struct tbed_end_note *first)
{
    int kept_errno = errno;
    while (first != NULL) {
        struct tbed_end_note *next = first->next;
        free(first);
        first = next;
    }
    errno = kept_errno;
}

void tbed_recorders_free(struct tbed_recorders *recorders)
{
    while (recorders->slabs != NULL) {
        struct tbed_slab *slab = recorders->slabs;
        struct tbed_recorder_cold *colds = (struct tbed_recorder_cold *)(slab + 1);
        for (size_t i = 0; i < slab->used_count; i++) {
            tbed_end_notes_free(colds[i].end_notes);
            if (colds[i].stack_nbytes != 0)
                tbed_pages_free(tbed_kept_of(colds[i].recorder)->stack, colds[i].stack_nbytes);
        }
        recorders->slabs = slab->next;
        tbed_pages_free((uint8_t *)slab - 2 * TBED_RECORDER_KEPT_OFFSET, TBED_SLAB_NBYTES);
    }
}
