/*
 * A set of native places in code; see native_ids.h.
 *
 * One bit for each reserved id records whether it was seen, so every id and every stack is examined once. The bits
 * take 64 MiB of address space, and only the parts that are touched take memory.
 *
 * SPDX-License-Identifier: MIT
 */
#define _GNU_SOURCE 1
#include "reader/core/names/native_ids.h"
#include "reader/core/system/system.h"

#include <stdlib.h>
#include <sys/mman.h>

#define SEEN_NBYTES (((size_t)TBED_ID_MAX_RESERVED + 1) / 8)

bool tbed_native_ids_open(struct tbed_native_ids *set)
{
    void *seen =
        mmap(NULL, SEEN_NBYTES, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS | MAP_NORESERVE, -1, 0);
    if (seen == MAP_FAILED)
        return false;
    *set = (struct tbed_native_ids){.seen = seen};
    return true;
}

void tbed_native_ids_free(struct tbed_native_ids *set)
{
    free(set->ids);
    if (set->seen != NULL)
        munmap(set->seen, SEEN_NBYTES);
    *set = (struct tbed_native_ids){0};
}

/* Is it new? Ids that are not reserved never are. */
static bool see(struct tbed_native_ids *set, uint32_t id)
{
    if (id > TBED_ID_MAX_RESERVED)
        return false;
    uint64_t bit = UINT64_C(1) << id % 64;
    bool is_new = (set->seen[id / 64] & bit) == 0;
    set->seen[id / 64] |= bit;
    return is_new;
}

static void keep(struct tbed_native_ids *set, uint32_t id)
{
    if (set->count == set->room) {
        size_t room = set->room == 0 ? 256 : 2 * set->room;
        uint32_t *ids = realloc(set->ids, room * sizeof *ids);
        set->is_out_of_memory |= ids == NULL;
        if (ids == NULL)
            return;
        set->ids = ids;
        set->room = room;
    }
    set->ids[set->count++] = id;
}

void tbed_native_ids_add(struct tbed_native_ids *set, const struct tbed_reader *reader, uint32_t id,
                         bool whole_stacks)
{
    while (see(set, id)) {
        struct tbed_location location;
        uint32_t direct, parent;
        if (tbed_location_resolve(reader, id, &location) && location.source == TBED_FRAMES_NONE &&
            location.unit.kind == TBED_UNIT_NATIVE && (location.id == id || see(set, location.id)))
            keep(set, location.id);
        if (!whole_stacks || !tbed_stack_get(reader, id, &direct, &parent))
            return;
        id = parent;
    }
}

static int compare_ids(const void *left, const void *right)
{
    const uint32_t *a = left, *b = right;
    return *a < *b ? -1 : *a > *b;
}

void tbed_native_ids_sort(struct tbed_native_ids *set)
{
    if (set->count > 1)
        qsort(set->ids, set->count, sizeof *set->ids, compare_ids);
}
