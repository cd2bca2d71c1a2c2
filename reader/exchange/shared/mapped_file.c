/*
 * A foreign file, mapped for reading; see mapped_file.h.
 *
 * SPDX-License-Identifier: MIT
 */
#include "reader/exchange/shared/mapped_file.h"

#include "reader/core/system/regular_file.h"
#include "reader/exchange/shared/new_file.h"

#include <errno.h>
#include <stdlib.h>
#include <sys/mman.h>
#include <sys/stat.h>
#include <unistd.h>

static enum tbed_status map(int fd, struct mapped_file *file, struct tbed_error *error)
{
    struct stat status;
    *file = (struct mapped_file){.nbytes = 0};
    if (fstat(fd, &status) != 0)
        return tbed_exchange_fail(error, TBED_ERR_READ);
    if (status.st_size == 0)
        return TBED_OK;
    void *bytes = mmap(NULL, (size_t)status.st_size, PROT_READ, MAP_SHARED, fd, 0);
    if (bytes == MAP_FAILED)
        return tbed_exchange_fail(error, TBED_ERR_MAP);
    *file = (struct mapped_file){bytes, (size_t)status.st_size};
    return TBED_OK;
}

enum tbed_status tbed_mapped_file_open(const char *path, int fd, struct mapped_file *file_ret,
                                       struct tbed_error *error_ret)
{
    int own = -1;
    enum tbed_status status = path != NULL ? tbed_regular_open(path, &own) : TBED_OK;
    if (status == TBED_OK)
        status = map(path != NULL ? own : fd, file_ret, error_ret);
    else
        tbed_exchange_fail(error_ret, status);
    if (own >= 0)
        close(own);
    return status;
}

void tbed_mapped_file_close(struct mapped_file *file)
{
    if (file->bytes != NULL)
        munmap((void *)file->bytes, file->nbytes);
    *file = (struct mapped_file){.nbytes = 0};
}

enum tbed_status tbed_mapped_source_open(const char *path, int fd, void **source_ret,
                                         struct tbed_error *error_ret)
{
    struct mapped_file *file = malloc(sizeof *file);
    if (file == NULL)
        return tbed_exchange_fail(error_ret, TBED_ERR_MEMORY);
    enum tbed_status status = tbed_mapped_file_open(path, fd, file, error_ret);
    if (status == TBED_OK)
        *source_ret = file;
    else
        free(file);
    return status;
}

void tbed_mapped_source_close(void *source)
{
    tbed_mapped_file_close(source);
    free(source);
}
