/*
 * Opens a trace or a foreign file as tables.
 *
 * SPDX-License-Identifier: MIT
 */
#include "reader/tables/profile/profile_tables.h"

#include <tracebed/exchange.h>

enum tbed_status tbed_tables_open(const char *path, struct tbed_tables **tables_ret,
                                  struct tbed_error *error_ret)
{
    struct tbed_reader *reader;
    const struct tbed_format *format = tbed_format_of_file(path);
    bool is_foreign = format != NULL;
    if (is_foreign && format->kind == TBED_FOREIGN_PROFILE)
        return tbed_profile_tables_open(path, tables_ret, error_ret);
    enum tbed_status status = is_foreign ? tbed_import_open(path, &reader, NULL, error_ret)
                                         : tbed_reader_open(path, NULL, &reader, error_ret);
    if (status != TBED_OK)
        return status;
    status = tbed_tables_of_reader(reader, tables_ret);
    if (status == TBED_OK)
        (*tables_ret)->owns_reader = true;
    else
        tbed_reader_close(reader);
    return status;
}
