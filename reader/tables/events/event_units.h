/*
 * The events of blocks as units of a row scan, for all tables that are about events.
 *
 * SPDX-License-Identifier: MIT
 */
#ifndef TRACEBED_TABLES_EVENT_UNITS_H
#define TRACEBED_TABLES_EVENT_UNITS_H

#include "reader/tables/rows/row_scan.h"

struct event_unit {
    struct tbed_block block;
    const uint64_t *at, *end;
    uint64_t base;           /* tick of delta 0 */
    struct tbed_event event; /* the next one, if 'has_event' */
    bool has_event;
    struct open_stack stack;    /* only if ends have names */
    struct stable_block stable; /* holds the block */
    const struct row_thread *thread;
};

struct event_worker {
    struct row_scan *rows;
    uint32_t types;      /* a bit for each enum tbed_event_type that is wanted */
    bool has_ends;       /* an END gets the id and the category of its span */
    struct row_range ts; /* events at other times are left out */
    struct tbed_tick_line line;
    struct tbed_text scratch;
    bool is_out_of_memory;
};

/* The caller sets the fields of the worker up to 'ts'. */
void tbed_event_worker_close(void *worker);
enum tbed_status tbed_event_unit_enter(void *worker, void *unit, size_t block, bool is_kept);
bool tbed_event_unit_peek(void *worker, void *unit, uint64_t *tick_ret);
void tbed_event_unit_close(void *unit);

/* Moves to the next event that is wanted. */
void tbed_event_unit_advance(struct event_worker *worker, struct event_unit *unit);

#endif
