/*
 * A table of a trace as a Parquet file.
 *
 * SPDX-License-Identifier: MIT
 */
#ifndef TRACEBED_PARQUET_ROWS_H
#define TRACEBED_PARQUET_ROWS_H

#include "reader/exchange/columns/base/column_export.h"
#include "reader/exchange/out/export_out.h"

/*
 * 'compression' is that of pages; 'out' has none of its own. Errors: those of a scan; ERR_MEMORY, also if writing failed,
 * which 'out' knows.
 */
enum tbed_status tbed_parquet_table_write(const struct column_export *export, const struct tbed_table *table,
                                          enum tbed_compression compression, struct export_out *out,
                                          struct column_counts *counts);

#endif
