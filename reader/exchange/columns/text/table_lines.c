/*
 * A table of a trace as lines of text; see table_lines.h.
 *
 * SPDX-License-Identifier: MIT
 */
#include "reader/exchange/columns/text/table_lines.h"

#include "reader/exchange/shared/new_file.h"
#include "reader/tables/base/table.h"

#include <errno.h>

void tbed_table_lines_get(const struct table_lines *text, enum tbed_column_type type,
                          const struct tbed_column_values *values, size_t row, const char **bytes_ret,
                          size_t *nbytes_ret)
{
    if (type == TBED_COLUMN_NAME) {
        tbed_scan_name(text->scan, values->codes[row], bytes_ret, nbytes_ret);
        return;
    }
    *bytes_ret = table_text_at(values, row);
    *nbytes_ret = values->offsets[row + 1] - values->offsets[row];
}

static enum tbed_status put_rows(struct table_lines *text,
                                 void (*put_row)(struct table_lines *text, const struct tbed_batch *batch,
                                                 size_t row))
{
    struct tbed_batch batch;
    enum tbed_status status;
    while ((status = tbed_scan_next(text->scan, &batch)) == TBED_OK)
        for (size_t row = 0; row < batch.row_count; row++) {
            put_row(text, &batch, row);
            text->counts.row_count++;
            if (text->clean.is_out_of_memory || !tbed_export_out_spill(text->out))
                return TBED_ERR_MEMORY;
        }
    return status == TBED_END ? TBED_OK : status;
}

static enum tbed_status write_table(const struct column_export *export, struct table_lines *text,
                                    void (*put_head)(struct table_lines *text),
                                    void (*put_row)(struct table_lines *text, const struct tbed_batch *batch,
                                                    size_t row))
{
    enum tbed_status status = tbed_column_export_scan(export, text->table, 0, &text->scan);
    if (status != TBED_OK)
        return status;
    put_head(text);
    status = put_rows(text, put_row);
    tbed_column_export_count(export->job, text->table, &text->counts);
    tbed_scan_close(text->scan);
    free(text->clean.bytes);
    errno = 0;
    return status == TBED_OK ? TBED_OK : tbed_exchange_fail(export->job->error, status);
}

enum tbed_status tbed_table_lines_export(const struct export_job *job, struct export_out *out,
                                         void (*put_head)(struct table_lines *text),
                                         void (*put_row)(struct table_lines *text,
                                                         const struct tbed_batch *batch, size_t row))
{
    struct column_export export = {.job = job, .filter = tbed_export_job_filter(job, 0)};
    struct table_lines text = {.out = out};
    errno = 0;
    if (!tbed_column_export_table(job, &text.table))
        return tbed_exchange_fail(job->error, TBED_ERR_ARGUMENT);
    if (text.table == NULL)
        text.table = tbed_table_find("spans");
    if (tbed_tables_of_reader(job->readers[0], &export.tables) != TBED_OK)
        return tbed_exchange_fail(job->error, TBED_ERR_MEMORY);
    enum tbed_status status = write_table(&export, &text, put_head, put_row);
    tbed_tables_close(export.tables);
    return status;
}
