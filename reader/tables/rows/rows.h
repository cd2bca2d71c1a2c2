/*
 * Tables that have a row for each event or span, one file each.
 *
 * SPDX-License-Identifier: MIT
 */
#ifndef TRACEBED_TABLES_ROWS_H
#define TRACEBED_TABLES_ROWS_H

#include "reader/tables/base/table.h"

extern const struct table_source tbed_table_spans;

/* About how many events there are. */
uint64_t tbed_row_estimate(struct tbed_tables *tables);

#endif
