/*
 * Whole scans for tests: rows counted and hashed, so that scans in different orders can be compared.
 *
 * SPDX-License-Identifier: MIT
 */
#ifndef TRACEBED_TABLE_SUMS_H
#define TRACEBED_TABLE_SUMS_H

#include <tracebed/tables.h>

struct table_sum {
    uint64_t rows, hash; /* the sum of the hashes of all rows */
};

/* The hash of a row, over the columns that were asked for; names count by their texts. */
uint64_t table_row_hash(const struct tbed_scan *scan, const struct tbed_table *table,
                        const struct tbed_batch *batch, size_t row);

/* Scans to the end. Returns the status instead of END if it is another. */
enum tbed_status table_sum(struct tbed_tables *tables, const struct tbed_table *table,
                           const struct tbed_scan_options *options, struct table_sum *sum_ret);

/* The bits of these columns, which are separated by commas; unknown ones are left out. */
uint64_t table_columns(const struct tbed_table *table, const char *names);
uint32_t table_column(const struct tbed_table *table, const char *name);

bool table_is_null(const struct tbed_batch *batch, uint32_t column, size_t row);

#endif
