/*
 * What the tables of events have in common: which column of a table has what.
 *
 * SPDX-License-Identifier: MIT
 */
#ifndef TRACEBED_TABLES_EVENTS_H
#define TRACEBED_TABLES_EVENTS_H

#include "reader/tables/events/event_units.h"

/* Numbers of columns. Those that a table does not have are NONE, which no scan asks for. */
struct event_columns {
    struct row_columns row;
    unsigned id, label, name, category, args;
    unsigned type, dur, key, phase;           /* any event */
    unsigned value, integer, whole, unit;     /* counters */
    unsigned text, severity, format, context; /* messages */
};
#define EVENT_COLUMN_NONE 63u

struct event_table {
    struct event_columns columns;
    uint32_t types; /* a bit for each enum tbed_event_type */
};

/* The scan of such a table, which begins at its own 'open'. */
enum tbed_status tbed_event_table_open(struct tbed_scan *scan, const struct event_table *table);

#endif
