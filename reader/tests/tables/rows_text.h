/*
 * A table as text, and the rules that every batch must keep.
 *
 * SPDX-License-Identifier: MIT
 */
#ifndef TRACEBED_ROWS_TEXT_H
#define TRACEBED_ROWS_TEXT_H

#include <stdio.h>
#include <tracebed/tables.h>

/* Prints a row: values with tabs between them, NULL for none; tabs, line ends, zeros and backslashes in texts are
 * escaped. */
void rows_text_row(FILE *out, const struct tbed_scan *scan, const struct tbed_table *table,
                   const struct tbed_batch *batch, size_t row);

/* Prints a line with the names of the columns, and all rows. Returns the status that ended the scan: END is fine. */
enum tbed_status rows_text_print(FILE *out, struct tbed_tables *tables, const struct tbed_table *table,
                                 const struct tbed_scan_options *options);

/* The same as a text that the caller frees. Aborts unless the scan ends with END. */
char *rows_text_of(struct tbed_tables *tables, const char *name, const struct tbed_scan_options *options);

/* Which rule of <tracebed/tables.h> a batch breaks; NULL: none. 'columns' are those asked for; 0: all. */
const char *rows_text_broken(const struct tbed_scan *scan, const struct tbed_table *table,
                             const struct tbed_batch *batch, uint64_t columns);

#endif
