/*
 * Mappings of memory that are live at one moment: ranges that do not overlap, by address. There are few of them, so they
 * stand in one sorted array.
 *
 * A mapping may lose parts, and come to pieces. It is gone with its last piece.
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
    uint64_t tick;   /* of its allocation */
    uint64_t number; /* the same for all pieces of one */
    uint32_t site;
};

struct mappings { /* zero: none */
    struct mapping *items;
    size_t count, room;
    uint64_t next_number;
};

void tbed_mappings_close(struct mappings *mappings);

/* Adds one that overlaps none; its number is set here. False: no memory. */
bool tbed_mappings_add(struct mappings *mappings, struct mapping mapping);

/* More are followed by no kernel's default; of a trace that was made to be slow the rest is let go of. */
#define MAPPINGS_MAX 32768u

/* Before each cut: one in the middle of a mapping adds one. False: no memory. */
bool tbed_mappings_make_room(struct mappings *mappings);

/* Takes out the lowest part that lies in the range. False: there is none. '*is_last_ret': its mapping is gone. */
bool tbed_mappings_cut(struct mappings *mappings, uint64_t start, uint64_t end, struct mapping *part_ret,
                       bool *is_last_ret);

/* The first piece that ends above the address; NULL: none. */
const struct mapping *tbed_mappings_above(const struct mappings *mappings, uint64_t address);

#endif
