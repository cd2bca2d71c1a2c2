/*
 * Opens a trace or a foreign file as tables.
 *
 * SPDX-License-Identifier: MIT
 */
#include "reader/tables/base/table.h"

#include <tracebed/exchange.h>

enum tbed_status tbed_tables_open(const char *path, struct tbed_tables **tables_ret,
                                  struct tbed_error *error_ret)
{
    struct tbed_reader *reader;
    bool is_foreign = tbed_format_of_file(path) != NULL;
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
