/*
 * A Parquet file that is being written: row groups of columns, and the metadata at its end.
 *
 * Source: Apache Parquet, "File format" and parquet.thrift.
 *
 * SPDX-License-Identifier: MIT
 */
#ifndef TRACEBED_PARQUET_FILE_H
#define TRACEBED_PARQUET_FILE_H

#include "reader/exchange/columns/parquet/parquet_column.h"
#include "reader/exchange/out/export_out.h"

#define PARQUET_COLUMNS_MAX 80

struct parquet_file {
    struct export_out *out;
    struct parquet_column columns[PARQUET_COLUMNS_MAX];
    size_t column_count, row_count; /* rows of the row group */
    uint64_t all_row_count;
    struct parquet_scratch scratch;
    struct parquet_chunk chunk;
    enum tbed_compression compression; /* of pages */
    struct tbed_text groups;           /* the metadata of row groups so far */
    struct tbed_text group;
    size_t group_count;
};

/* Writes the rows that have been put into the columns as a row group. False: no memory, or they could not be written. */
bool tbed_parquet_file_flush(struct parquet_file *file);

/* Writes the metadata, with these pairs of keys and values; a last key of NULL. The same. */
bool tbed_parquet_file_end(struct parquet_file *file, const char *const (*pairs)[2]);
void tbed_parquet_file_free(struct parquet_file *file);

#endif
