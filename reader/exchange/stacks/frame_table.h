/*
 * Numbered frames: functions, or labels of spans, with their files and lines. Texts are in a table of their own.
 *
 * SPDX-License-Identifier: MIT
 */
#ifndef TRACEBED_FRAME_TABLE_H
#define TRACEBED_FRAME_TABLE_H

#include "reader/exchange/stacks/text_table.h"

#include <tracebed/analysis.h>

struct frame {
    uint32_t name, file; /* numbers of texts; 'file' is that of "" if it is unknown */
    uint32_t line;       /* 0: unknown */
};

struct frame_slot {
    uint64_t key; /* the hash */
    uint32_t number;
};

/* A place in code, and the frames that it stands for, the innermost first. */
struct frame_place {
    uint64_t key; /* tbed_hashmap_key32() of its id */
    size_t first; /* in 'lists' */
    uint32_t count;
    uint32_t number; /* of the place, in the order in which they were met */
};

struct frame_table { /* zeroed: empty */
    struct text_table texts;
    TBED_VECTOR(struct frame) frames;
    TBED_HASHMAP(struct frame_slot) slots;

    /* of one trace: see tbed_frame_table_turn() */
    const struct tbed_reader *reader;
    TBED_HASHMAP(struct frame_place) places;
    TBED_VECTOR(uint32_t) lists;
    TBED_VECTOR(uint32_t) ids; /* of places, by their numbers */
};

#define FRAME_NONE UINT32_MAX

/* The number of a frame, which is added if it is not there. NONE: no memory. */
uint32_t tbed_frame_table_add(struct frame_table *table, const char *name, size_t name_nbytes,
                              const char *file, uint32_t line);

/* The same for a frame whose texts are in the table. */
uint32_t tbed_frame_table_put(struct frame_table *table, const struct frame *frame);

/* Places are those of this trace from now on. */
void tbed_frame_table_turn(struct frame_table *table, const struct tbed_reader *reader);

/* The frame of a row: its label, with the file and line of the place that has this name. */
uint32_t tbed_frame_table_row(struct frame_table *table, const struct tbed_stack_row *row);

/* The frames of a place, at least one. Valid until the next place is added. NULL: no memory. */
const struct frame_place *tbed_frame_table_place(struct frame_table *table, uint32_t id);

/* The name of an id, at most 'room' - 1 bytes of it. SIZE_MAX: no memory. */
size_t tbed_frame_name(const struct tbed_reader *reader, uint32_t id, char *buffer, size_t room);

void tbed_frame_table_free(struct frame_table *table);

#endif
