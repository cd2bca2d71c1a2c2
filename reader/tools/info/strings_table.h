/*
 * String entries and bindings as tables, for `tracebed strings` with --csv, --columns or --sort.
 *
 * SPDX-License-Identifier: MIT
 */
#ifndef TRACEBED_STRINGS_TABLE_H
#define TRACEBED_STRINGS_TABLE_H

#include "reader/tools/info/strings_ids.h"
#include "reader/tools/query/query.h"

/* What the tables consist of. */
extern const struct table strings_entries, strings_bindings;

/* Prints one of them, without what is not shown. */
void strings_table_print(const struct query *query, struct query_trace *trace,
                         const struct strings_shown *shown, bool bindings);

#endif
