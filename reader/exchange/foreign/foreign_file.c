/*
 * Opens a foreign file; see foreign_file.h.
 *
 * SPDX-License-Identifier: MIT
 */
#define _GNU_SOURCE 1
#include "reader/exchange/foreign/foreign_file.h"
#include "reader/core/system/regular_file.h"
#include "reader/exchange/shared/new_file.h"

#include <fcntl.h>
#include <stdlib.h>
#include <sys/stat.h>
#include <unistd.h>

static enum tbed_status open_into(const char *path, int fd, struct foreign_file *file)
{
    struct stat status;
    enum tbed_status opened = TBED_OK;
    if (path != NULL)
        opened = tbed_regular_open(path, &file->fd);
    else if ((file->fd = fcntl(fd, F_DUPFD_CLOEXEC, 0)) < 0)
        opened = TBED_ERR_OPEN;
    if (opened == TBED_OK && fstat(file->fd, &status) != 0)
        opened = TBED_ERR_READ;
    if (opened == TBED_OK)
        file->nbytes = (uint64_t)status.st_size;
    return opened;
}

enum tbed_status tbed_foreign_file_open(const char *path, int fd, void **source_ret,
                                        struct tbed_error *error_ret)
{
    struct foreign_file *file = malloc(sizeof *file);
    if (file == NULL)
        return tbed_exchange_fail(error_ret, TBED_ERR_MEMORY);
    file->fd = -1;
    enum tbed_status status = open_into(path, fd, file);
    if (status == TBED_OK) {
        *source_ret = file;
        return TBED_OK;
    }
    tbed_exchange_fail(error_ret, status);
    tbed_foreign_file_close(file);
    return status;
}

void tbed_foreign_file_close(void *source)
{
    struct foreign_file *file = source;
    if (file->fd >= 0)
        close(file->fd);
    free(file);
}
