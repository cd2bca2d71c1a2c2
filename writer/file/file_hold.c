/*
 * How many processes use one open file: the one that opened it, and children that it forked and that joined the trace.
 *
 * The shared lock that shows that a writer is alive belongs to the open file, and lasts as long as any map or descriptor of
 * it. A forked child has both already, so it need not open and map the file again. But whoever changes the lock changes it
 * for all: so only the last of them may. The count is in memory that they share; at 0 nobody can join any more.
 *
 * Not for flight recorders, where each process needs a lock of its own, nor for series, where each has a file of its own.
 *
 * SPDX-License-Identifier: MIT
 */
#include <sys/mman.h>

#include "writer/file/file.h"

#define ANCHORS_PER_SECOND 10 /* readers use no more: spec/format.md, section 8.3 */

struct tbed_hold {
    uint32_t user_count;   /* atomic; of a killed process it stays, as the count in the header does */
    tbed_word anchor_tick; /* atomic: when one of them last compared the clocks; 0: none has */
};

void tbed_hold_begin(struct tbed_file *file)
{
    if (file->fields.ring_page_count != 0 || file->is_in_series)
        return;
    void *page = mmap(NULL, sizeof *file->hold, PROT_READ | PROT_WRITE, MAP_SHARED | MAP_ANONYMOUS, -1, 0);
    if (page == MAP_FAILED) /* children open the file themselves */
        return;
    file->hold = page;
    __atomic_store_n(&file->hold->user_count, 1, __ATOMIC_RELEASE);
}

bool tbed_hold_join(struct tbed_file *file)
{
    uint32_t count = file->hold != NULL ? __atomic_load_n(&file->hold->user_count, __ATOMIC_ACQUIRE) : 0;
    while (count != 0 && !__atomic_compare_exchange_n(&file->hold->user_count, &count, count + 1, false,
                                                      __ATOMIC_ACQ_REL, __ATOMIC_ACQUIRE))
        continue;
    return count != 0;
}

void tbed_hold_forget(struct tbed_file *file)
{
    if (file->hold != NULL)
        munmap(file->hold, sizeof *file->hold);
    file->hold = NULL;
}

bool tbed_hold_leave(struct tbed_file *file)
{
    bool was_last =
        file->hold == NULL || __atomic_fetch_sub(&file->hold->user_count, 1, __ATOMIC_ACQ_REL) == 1;
    tbed_hold_forget(file);
    return was_last;
}

bool tbed_hold_takes_anchor(struct tbed_file *file)
{
    if (file->hold == NULL)
        return true;
    uint64_t now = tbed_clock_now(&file->clock);
    uint64_t last = __atomic_load_n(&file->hold->anchor_tick, __ATOMIC_RELAXED);
    if (last != 0 && now - last < file->fields.ticks_per_second / ANCHORS_PER_SECOND)
        return false;
    __atomic_store_n(&file->hold->anchor_tick, now, __ATOMIC_RELAXED);
    return true;
}
