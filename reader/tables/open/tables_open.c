/*
 * Opens a trace or a foreign file as tables.
 *
 * SPDX-License-Identifier: MIT
 */
#include "reader/tables/profile/profile_tables.h"

#include <tracebed/exchange.h>

/* The tables of a reader, which belongs to them then; otherwise it is closed. */
static enum tbed_status give_reader(struct tbed_reader *reader, struct tbed_tables **tables_ret)
{
    enum tbed_status status = tbed_tables_of_reader(reader, tables_ret);
    if (status == TBED_OK)
        (*tables_ret)->owns_reader = true;
    else
        tbed_reader_close(reader);
    return status;
}

static enum tbed_status open_import(const char *path, struct tbed_tables **tables_ret,
                                    struct tbed_error *error_ret)
{
    struct tbed_import_report report = {0};
    struct tbed_reader *reader;
    enum tbed_status status = tbed_import_open(path, &reader, &report, error_ret);
    if (status == TBED_OK)
        status = give_reader(reader, tables_ret);
    if (status == TBED_OK && tbed_profile_keep_damage(*tables_ret, &report) != TBED_OK) {
        tbed_tables_close(*tables_ret);
        status = TBED_ERR_MEMORY;
    }
    return status;
}

enum tbed_status tbed_tables_open(const char *path, struct tbed_tables **tables_ret,
                                  struct tbed_error *error_ret)
{
    struct tbed_reader *reader;
    const struct tbed_format *format = tbed_format_of_file(path);
    if (format != NULL && format->kind == TBED_FOREIGN_PROFILE)
        return tbed_profile_tables_open(path, tables_ret, error_ret);
    if (format != NULL)
        return open_import(path, tables_ret, error_ret);
    enum tbed_status status = tbed_reader_open(path, NULL, &reader, error_ret);
    return status == TBED_OK ? give_reader(reader, tables_ret) : status;
}
