/*
 * The memory mappings that are live at one moment: disjoint ranges, sorted by address. There are few of them, so
 * they are stored in one sorted array.
 *
 * A mapping may lose parts and be split into pieces. It is gone when its last piece is.
 *
 * SPDX-License-Identifier: MIT
 */
#ifndef TRACEBED_MAPPINGS_H
#define TRACEBED_MAPPINGS_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

struct mapping {
    uint64_t start, end;
    uint64_t tick;                   /* of its allocation */
    uint64_t number;                 /* the same for all pieces of one */
    uint64_t whole_start, whole_end; /* as mapped, likewise */
    uint32_t site, stream;
};

struct mappings { /* zero: none */
    struct mapping *items;
    size_t count, room;
    uint64_t next_number;
};

void tbed_mappings_close(struct mappings *mappings);

/* Adds a mapping that must not overlap any other, and sets its number. False: no memory. */
bool tbed_mappings_add(struct mappings *mappings, struct mapping mapping);

/* Bounds the time that a malicious trace can cost: at this number, all mappings are given up. */
#define MAPPINGS_MAX 32768u

/* To be called before each cut, since a cut in the middle of a mapping adds a piece. False: no memory. */
bool tbed_mappings_make_room(struct mappings *mappings);

/* Removes the lowest part that lies in the range. False: there is none. '*is_last_ret': its mapping is gone. */
bool tbed_mappings_cut(struct mappings *mappings, uint64_t start, uint64_t end, struct mapping *part_ret,
                       bool *is_last_ret);

/* The first piece that ends above the address, or NULL. */
const struct mapping *tbed_mappings_above(const struct mappings *mappings, uint64_t address);

#endif
