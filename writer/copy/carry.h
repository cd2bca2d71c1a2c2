/*
 * What a file of a series takes over from the one before.
 *
 * SPDX-License-Identifier: MIT
 */
#ifndef TRACEBED_WRITER_CARRY_H
#define TRACEBED_WRITER_CARRY_H

#include "writer/store/store.h"

struct tbed_carried { /* what was put into a new file, and where it is now; begins as zeros */
    uint8_t *room;    /* the new file while it is being filled */
    uint64_t room_nbytes;
    bool room_is_lost; /* its pages are not in the file */
    uint64_t page_count, backed_pages;
    uint32_t *moved; /* by page of the old file; moved_nbytes of memory */
    size_t moved_nbytes;
    struct tbed_block_writer strings, records; /* as the store's will be */
    uint64_t cells_offset;                     /* 0: none */
    uint32_t cells_next, cells_sequence;
};

/* Makes most of the room that will be needed in the new file 'fd', while threads are recording. */
enum tbed_status tbed_carry_prepare(const struct tbed_store *store, int fd, struct tbed_carried *carried,
                                    struct tbed_error *error);
/* Frees what was prepared and not used, if anything. */
void tbed_carry_release(const struct tbed_store *store, struct tbed_carried *carried);
/*
 * Fills the new file 'fd' with all strings of the store's file and those records that later events can need. Where
 * 'goes_on' the blocks that this process is filling are left unsealed, and in '*carried'. 'moved' is the caller's
 * to free. Where other threads may be writing, the caller holds 'state_lock'.
 */
enum tbed_status tbed_carry(const struct tbed_store *store, int fd, uint64_t file_id,
                            const struct tbed_disk_series *series, bool goes_on, struct tbed_carried *carried,
                            struct tbed_error *error);

#endif
