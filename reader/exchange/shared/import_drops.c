/*
 * Counts the events that an import had to drop; see import_drops.h.
 *
 * SPDX-License-Identifier: MIT
 */
#include "reader/exchange/shared/import_drops.h"

#include "reader/exchange/shared/new_file.h"

#include <errno.h>

enum tbed_status tbed_import_count_drops(const struct tbed_writer *writer, struct tbed_import_report *report,
                                         struct tbed_error *error)
{
    static const struct {
        enum tbed_drop_cause cause;
        enum tbed_status status;
    } fatal[] = {{TBED_DROP_DISK_FULL, TBED_ERR_DISK_FULL},
                 {TBED_DROP_SIZE_LIMIT, TBED_ERR_WRITE}, /* a limit of the process, or of the file system */
                 {TBED_DROP_IO_ERROR, TBED_ERR_WRITE},
                 {TBED_DROP_NO_MEMORY, TBED_ERR_MEMORY}};
    for (unsigned cause = 0; cause < TBED_DROP_CAUSE_COUNT; cause++)
        report->drop_count += tbed_writer_drop_count(writer, cause);
    for (size_t i = 0; i < sizeof fatal / sizeof fatal[0]; i++) {
        errno = fatal[i].cause == TBED_DROP_SIZE_LIMIT ? EFBIG : 0;
        if (tbed_writer_drop_count(writer, fatal[i].cause) > 0)
            return tbed_exchange_fail(error, fatal[i].status);
    }
    return TBED_OK;
}
