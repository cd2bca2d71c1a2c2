/*
 * A table of a trace as lines of text.
 *
 * SPDX-License-Identifier: MIT
 */
#ifndef TRACEBED_TABLE_LINES_H
#define TRACEBED_TABLE_LINES_H

#include "reader/exchange/columns/base/column_export.h"
#include "reader/exchange/out/export_out.h"

/* What a row is written from. */
struct table_lines {
    const struct tbed_table *table;
    struct tbed_scan *scan;
    struct export_out *out;
    struct column_counts counts;
    struct tbed_text clean;
};

static inline bool table_lines_is_null(const struct tbed_column_values *values, size_t row)
{
    return values->nulls != NULL && (values->nulls[row / 64] >> row % 64 & 1) != 0;
}

/* The text of a NAME or TEXT that is not null. */
void tbed_table_lines_get(const struct table_lines *text, enum tbed_column_type type,
                          const struct tbed_column_values *values, size_t row, const char **bytes_ret,
                          size_t *nbytes_ret);

/*
 * Writes the table that is asked for: 'put_head' once, 'put_row' for each row. Both append to text->out->text. Fills job->error
 * if it fails, unless writing does.
 */
enum tbed_status tbed_table_lines_export(const struct export_job *job, struct export_out *out,
                                         void (*put_head)(struct table_lines *text),
                                         void (*put_row)(struct table_lines *text,
                                                         const struct tbed_batch *batch, size_t row));

#endif
