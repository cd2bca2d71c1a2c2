/*
 * Tables that have a row for each event or span, one file each.
 *
 * SPDX-License-Identifier: MIT
 */
#ifndef TRACEBED_TABLES_EVENT_TABLES_H
#define TRACEBED_TABLES_EVENT_TABLES_H

#include "reader/tables/base/table.h"

extern const struct table_source tbed_table_spans;
extern const struct table_source tbed_table_events;
extern const struct table_source tbed_table_instants;
extern const struct table_source tbed_table_counters;
extern const struct table_source tbed_table_messages;
extern const struct table_source tbed_table_flows;
extern const struct table_source tbed_table_args;

#endif
