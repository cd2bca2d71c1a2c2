/*
 * The spans of blocks as units of a row scan, for all tables that are about spans.
 *
 * SPDX-License-Identifier: MIT
 */
#ifndef TRACEBED_TABLES_SPAN_UNITS_H
#define TRACEBED_TABLES_SPAN_UNITS_H

#include "reader/tables/rows/row_scan.h"

struct span_unit {
    struct block_span *items;
    size_t count, room, at;
    struct row_arguments *arguments; /* item.arguments - 1 is an index */
    size_t argument_count, argument_room;
    struct stable_block stable; /* holds the block that the arguments are in */
    uint64_t first_id;          /* of the items */
    struct nested *nested;      /* of the items; NULL: not asked for */
    size_t nested_room;
    const struct row_thread *thread;
};

struct span_worker {
    struct row_scan *rows;
    struct block_spans spans;
    struct span_unit *unit; /* that is being read */
    struct tbed_tick_line line;
    struct nesting_space space;
    struct tbed_text scratch;
    bool is_out_of_memory;
};

bool tbed_span_worker_open(struct row_scan *rows, void *worker);
void tbed_span_worker_close(void *worker);
enum tbed_status tbed_span_unit_enter(void *worker, void *unit, size_t block, bool is_kept);
bool tbed_span_unit_peek(void *worker, void *unit, uint64_t *tick_ret);
void tbed_span_unit_close(void *unit);

/* The arguments of an item; NULL: it has none of its own. */
static inline const struct row_arguments *span_unit_arguments(const struct span_unit *unit,
                                                              const struct block_span *item)
{
    return item->arguments != 0 ? &unit->arguments[item->arguments - 1] : NULL;
}

#endif
