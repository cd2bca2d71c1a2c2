/*
 * Traces as Parquet: a folder with a folder for each table, in which each trace has a file.
 *
 * SPDX-License-Identifier: MIT
 */
#include "reader/exchange/columns/base/block_pack.h"
#include "reader/exchange/columns/parquet/parquet_rows.h"
#include "reader/exchange/shared/new_file.h"

#include <errno.h>
#include <stdio.h>
#include <string.h>
#include <sys/stat.h>

static enum tbed_status fail_plainly(struct tbed_error *error, enum tbed_status status)
{
    errno = 0;
    return tbed_exchange_fail(error, status);
}

/* Zstandard, or gzip where libzstd is missing, unless one of them was asked for. */
static enum tbed_status choose_compression(const struct export_job *job, enum tbed_compression *compression)
{
    struct block_packer *packer;
    bool is_free = job->options.compression == TBED_COMPRESSION_BY_NAME;
    *compression = is_free ? TBED_COMPRESSION_ZSTD : job->options.compression;
    enum tbed_status status = tbed_block_packer_open(*compression, &packer);
    if (status == TBED_ERR_NO_LIBRARY && is_free) {
        *compression = TBED_COMPRESSION_GZIP;
        return TBED_OK;
    }
    if (status != TBED_OK)
        return fail_plainly(job->error, status);
    tbed_block_packer_close(packer);
    return TBED_OK;
}

static enum tbed_status make_folder(const struct export_job *job, const char *path)
{
    return mkdir(path, 0777) == 0 || errno == EEXIST ? TBED_OK
                                                     : tbed_exchange_fail(job->error, TBED_ERR_OPEN);
}

/* ---- A file ---- */

static enum tbed_status write_open_file(const struct column_export *export, const struct tbed_table *table,
                                        enum tbed_compression compression, int fd,
                                        struct column_counts *counts)
{
    const struct export_job *job = export->job;
    struct export_out out;
    struct tbed_error error;
    uint64_t nbytes = 0;
    tbed_export_out_open(&out, fd,
                         TBED_COMPRESSION_NONE); /* pages are compressed instead: this cannot fail */
    enum tbed_status status = tbed_parquet_table_write(export, table, compression, &out, counts);
    enum tbed_status closed = tbed_export_out_close(&out, &nbytes, &error);
    job->result->nbytes += nbytes;
    if (closed != TBED_OK && (status == TBED_OK || status == TBED_ERR_MEMORY)) {
        *job->error = error;
        return closed;
    }
    return status == TBED_OK ? TBED_OK : fail_plainly(job->error, status);
}

static enum tbed_status write_file(const struct column_export *export, const struct tbed_table *table,
                                   enum tbed_compression compression, const char *path,
                                   struct tbed_reader *reader)
{
    const struct export_job *job = export->job;
    struct column_counts counts = {0};
    struct new_file file;
    enum tbed_status status = tbed_new_file_open(
        path, job->options.overwrite, tbed_new_file_mode_of_readers(&reader, 1), &file, job->error);
    if (status == TBED_ERR_EXISTS) { /* which of the traces it is */
        struct tbed_trace_info info;
        tbed_reader_info(reader, &info);
        job->error->detail = info.file_id;
    }
    if (status != TBED_OK)
        return status;
    status = write_open_file(export, table, compression, file.fd, &counts);
    if (status != TBED_OK) {
        tbed_new_file_abandon(&file);
        return status;
    }
    tbed_column_export_count(job, table, &counts);
    return tbed_new_file_commit(&file, job->error);
}

/* ---- A trace ---- */

static enum tbed_status write_table(const struct column_export *export, const struct tbed_table *table,
                                    enum tbed_compression compression, const char *to,
                                    struct tbed_reader *reader)
{
    char path[NEW_FILE_PATH_NBYTES];
    int length = snprintf(path, sizeof path, "%s/%s", to, table->name);
    if (length < 0 || (size_t)length + 64 > sizeof path) {
        errno = ENAMETOOLONG;
        return tbed_exchange_fail(export->job->error, TBED_ERR_OPEN);
    }
    enum tbed_status status = make_folder(export->job, path);
    if (status != TBED_OK)
        return status;
    snprintf(path + length, sizeof path - (size_t)length, "/%s.parquet", export->key.file_id);
    return write_file(export, table, compression, path, reader);
}

static enum tbed_status write_tables(const struct column_export *export, const struct tbed_table *only,
                                     enum tbed_compression compression, const char *to,
                                     struct tbed_reader *reader)
{
    const struct tbed_table *table;
    enum tbed_status status = TBED_OK;
    for (size_t i = 0; status == TBED_OK && (table = tbed_table_get(i)) != NULL; i++)
        if (only != NULL ? table == only : tbed_column_export_has(table))
            status = write_table(export, table, compression, to, reader);
    return status;
}

static enum tbed_status write_trace(const struct export_job *job, size_t index, const struct tbed_table *only,
                                    enum tbed_compression compression, const char *to)
{
    struct tbed_reader *reader = job->readers[index];
    struct column_export export = {.job = job, .filter = tbed_export_job_filter(job, index)};
    if (tbed_tables_of_reader(reader, &export.tables) != TBED_OK)
        return fail_plainly(job->error, TBED_ERR_MEMORY);
    tbed_trace_key_get(reader, job->options.host, &export.key);
    enum tbed_status status = write_tables(&export, only, compression, to, reader);
    tbed_tables_close(export.tables);
    return status;
}

static enum tbed_status export_folder(const struct export_job *job, const char *to)
{
    const struct tbed_table *only;
    enum tbed_compression compression;
    job->result->written = "row";
    if (!tbed_column_export_table(job, &only))
        return fail_plainly(job->error, TBED_ERR_ARGUMENT);
    enum tbed_status status = choose_compression(job, &compression);
    if (status == TBED_OK)
        status = make_folder(job, to);
    for (size_t i = 0; i < job->reader_count && status == TBED_OK; i++)
        status = write_trace(job, i, only, compression, to);
    if (compression == TBED_COMPRESSION_GZIP && job->options.compression == TBED_COMPRESSION_BY_NAME)
        job->result->notes[TBED_EXPORT_NOTE_GZIP] += job->reader_count;
    return status;
}

const struct exchange_format tbed_exchange_parquet = {
    .about = {.kind = TBED_FOREIGN_PARQUET,
              .name = "parquet",
              .summary = "a folder of tables for DuckDB, ClickHouse and pandas",
              .extensions = ".parquet",
              .can_export = true,
              .has_export = true,
              .exports_many = true,
              .exports_folder = true,
              .compresses = true,
              .takes_table = true,
              .takes_host = true},
    .export_folder = export_folder,
};
