/*
 * Logs of RTL_LOGFILE in the registry of formats.
 *
 * SPDX-License-Identifier: MIT
 */
#include "reader/core/system/regular_file.h"
#include "reader/exchange/rtl_log/rtl_log.h"
#include "reader/exchange/shared/exchange_format.h"
#include "reader/exchange/shared/new_file.h"

#include <stdlib.h>
#include <sys/mman.h>
#include <sys/stat.h>
#include <unistd.h>

static enum tbed_status map_log(int fd, struct rtl_text *log, struct tbed_error *error)
{
    struct stat status;
    if (fstat(fd, &status) != 0)
        return tbed_exchange_fail(error, TBED_ERR_READ);
    void *bytes = mmap(NULL, (size_t)status.st_size, PROT_READ, MAP_SHARED, fd, 0);
    if (bytes == MAP_FAILED)
        return tbed_exchange_fail(error, TBED_ERR_MAP);
    *log = (struct rtl_text){bytes, (size_t)status.st_size};
    return TBED_OK;
}

static enum tbed_status open_log(const char *path, int fd, void **source_ret, struct tbed_error *error_ret)
{
    int own = -1;
    enum tbed_status status = path != NULL ? tbed_regular_open(path, &own) : TBED_OK;
    struct rtl_text *log = status == TBED_OK ? malloc(sizeof *log) : NULL;
    if (log != NULL)
        status = map_log(path != NULL ? own : fd, log, error_ret);
    else
        tbed_exchange_fail(error_ret, status = status == TBED_OK ? TBED_ERR_MEMORY : status);
    if (own >= 0)
        close(own);
    if (status != TBED_OK)
        free(log);
    else
        *source_ret = log;
    return status;
}

static void close_log(void *source)
{
    struct rtl_text *log = source;
    munmap((void *)log->bytes, log->nbytes);
    free(log);
}

static enum tbed_status import_log(const void *source, int fd, struct tbed_import_report *report,
                                   struct tbed_error *error_ret)
{
    return tbed_rtl_import(source, fd, report, error_ret);
}

const struct exchange_format tbed_exchange_rtl_log = {
    .about = {.kind = TBED_FOREIGN_RTL_LOG,
              .name = "rtl-log",
              .summary = "text log of OpenOffice's RTL_LOGFILE",
              .extensions = ".log",
              .can_import = true,
              .can_export = true,
              .exports_to_stdout = true},
    .has_start = tbed_rtl_is_log,
    .open = open_log,
    .close = close_log,
    .import = import_log,
};
