/*
 * What exports of tables have in common: which tables there are to export, the scan, and what tells one trace from others.
 *
 * SPDX-License-Identifier: MIT
 */
#ifndef TRACEBED_COLUMNS_COLUMN_EXPORT_H
#define TRACEBED_COLUMNS_COLUMN_EXPORT_H

#include "reader/exchange/shared/exchange_format.h"

#include <tracebed/tables.h>

/* What tells a trace from others. */
struct trace_key {
    const char *host; /* NULL: unknown */
    char file_id[20]; /* 16 hexadecimal digits */
    bool has_boot, has_start;
    int64_t boot_ns;  /* since 1970, to the second */
    int64_t start_ns; /* CLOCK_REALTIME at ts 0 */
};

struct column_export {
    const struct export_job *job;
    struct tbed_tables *tables;
    const struct tbed_filter *filter;
    struct trace_key key;
};

/* What came of one table. */
struct column_counts {
    uint64_t row_count, replaced_count, shortened_count;
};

void tbed_trace_key_get(struct tbed_reader *reader, const char *host, struct trace_key *key_ret);

/* The table that the options name. '*table_ret' is NULL if they name none. False: there is no such table, or it has parameters. */
bool tbed_column_export_table(const struct export_job *job, const struct tbed_table **table_ret);

/* Whether a table is one of those that are exported if none is named. */
bool tbed_column_export_has(const struct tbed_table *table);

/* A scan of these columns, a bit each; 0: all. Errors: those of tbed_scan_open(). */
enum tbed_status tbed_column_export_scan(const struct column_export *export, const struct tbed_table *table,
                                         uint64_t columns, struct tbed_scan **scan_ret);

/* Adds a table's counts to the result. */
void tbed_column_export_count(const struct export_job *job, const struct tbed_table *table,
                              const struct column_counts *counts);

#endif
