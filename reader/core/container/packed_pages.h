/*
 * The plain bytes of a packed file, in memory of the plain file's size, most of which is untouched: a unit is unpacked into
 * its pages when one of them is needed for the first time.
 *
 * What is unpacked stays, so pointers into it are valid until the file is closed, with one exception: code that reads
 * many blocks one after another says so with a lease. A unit that was only used inside leases is given back some time
 * after the last of them has ended, and unpacked again if it is needed again. About TBED_PACKED_IDLE_NBYTES are kept.
 *
 * Threads: any number may take pages. A lease belongs to the thread that began it.
 *
 * SPDX-License-Identifier: MIT
 */
#ifndef TRACEBED_PACKED_PAGES_H
#define TRACEBED_PACKED_PAGES_H

#include "reader/core/container/packed_file.h"

#define TBED_PACKED_IDLE_NBYTES ((size_t)64 << 20)

struct tbed_packed;

/* As tbed_packed_file_open(), of which the result is part. 'fd' is duplicated. Errors: also ERR_NO_LIBRARY. */
enum tbed_status tbed_packed_open(int fd, const void *bytes, uint64_t nbytes, struct tbed_packed **packed_ret,
                                  struct tbed_error *error_ret);
void tbed_packed_close(struct tbed_packed *packed); /* NULL is allowed */

const struct tbed_packed_file *tbed_packed_file(const struct tbed_packed *packed);
const uint8_t *tbed_packed_plain(const struct tbed_packed *packed);

/*
 * Makes a page's bytes present. Pages that no unit has are zeros. 'stays': whatever leases there are, it is kept.
 * Errors: ERR_PACKED_UNIT: its unit is damaged, and its bytes are zeros.
 */
enum tbed_status tbed_packed_page_take(struct tbed_packed *packed, uint64_t page, bool stays);

/*
 * A lease, zeroed at first: between enter and leave, it holds what its thread takes; thereafter it goes on holding that
 * until it is emptied, when pointers into it become invalid. Leases of a thread are left in the reverse order. 'packed'
 * may be NULL: nothing is held then, at no cost.
 */
struct tbed_lease {
    struct tbed_packed *packed;
    struct tbed_lease *outer;
    uint32_t last; /* the unit that was taken last, + 1 */
    TBED_VECTOR(uint32_t) units;
};
void tbed_lease_push(struct tbed_lease *lease);
void tbed_lease_pop(struct tbed_lease *lease);
void tbed_lease_drop(struct tbed_lease *lease);

static inline void tbed_lease_enter(struct tbed_lease *lease, struct tbed_packed *packed)
{
    lease->packed = packed;
    if (packed != NULL)
        tbed_lease_push(lease);
}

static inline void tbed_lease_leave(struct tbed_lease *lease)
{
    if (lease->packed != NULL)
        tbed_lease_pop(lease);
}

static inline void tbed_lease_empty(struct tbed_lease *lease)
{
    if (lease->packed != NULL)
        tbed_lease_drop(lease);
}

/* One that lasts from begin to end. */
static inline void tbed_lease_begin(struct tbed_lease *lease, struct tbed_packed *packed)
{
    *lease = (struct tbed_lease){0};
    tbed_lease_enter(lease, packed);
}

static inline void tbed_lease_end(struct tbed_lease *lease)
{
    tbed_lease_leave(lease);
    tbed_lease_empty(lease);
}

#endif
