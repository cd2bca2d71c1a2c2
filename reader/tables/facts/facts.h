/*
 * Tables of what records say, one file each: processes, threads, strings, drops and so on.
 *
 * SPDX-License-Identifier: MIT
 */
#ifndef TRACEBED_TABLES_FACTS_H
#define TRACEBED_TABLES_FACTS_H

#include "reader/tables/base/table.h"

extern const struct table_source tbed_table_processes;

/* For tables whose state is the index of the next row: a size_t. */
enum tbed_status tbed_facts_open_index(struct tbed_scan *scan);
void tbed_facts_close(struct tbed_scan *scan); /* free(state) */

/* A tick as a time; 0: null. */
void tbed_facts_put_tick(struct table_rows *rows, unsigned column, const struct tbed_reader *reader,
                         uint64_t tick);

#endif
