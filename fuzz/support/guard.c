/*
 * Places inputs just before an inaccessible page, so that every read beyond their end crashes.
 *
 * SPDX-License-Identifier: MIT
 */
#include <string.h>
#include <sys/mman.h>

#include "fuzz/support/fuzz.h"

#define ROOM_NBYTES  ((size_t)4 << 20)
#define GUARD_NBYTES 65536

static uint8_t *guard_end(void)
{
    static uint8_t *end;
    if (end != NULL)
        return end;
    uint8_t *room =
        mmap(NULL, ROOM_NBYTES + GUARD_NBYTES, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
    REQUIRE(room != MAP_FAILED && mprotect(room + ROOM_NBYTES, GUARD_NBYTES, PROT_NONE) == 0);
    end = room + ROOM_NBYTES;
    return end;
}

uint8_t *guarded_copy(const uint8_t *data, size_t nbytes)
{
    if (nbytes > ROOM_NBYTES)
        return NULL;
    uint8_t *copy = guard_end() - ((nbytes + 7) & ~(size_t)7);
    if (nbytes > 0)
        memcpy(copy, data, nbytes);
    return copy;
}
