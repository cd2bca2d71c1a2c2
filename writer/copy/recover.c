/*
 * tbed_trace_recover(): everything intact in a damaged trace becomes a trace of its own.
 *
 * Source: spec/format.md, section 11.
 *
 * SPDX-License-Identifier: MIT
 */
#include "writer/copy/recover.h"
#include "writer/base/memory.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>
#include <sys/file.h>
#include <sys/mman.h>
#include <sys/stat.h>

#include "format/base/sized.h"
#include "writer/base/fail.h"

static void count_losses(struct tbed_recover *recover)
{
    const struct tbed_loss *losses = recover->losses.items;
    recover->result.counters_are_lost = !recover->counters_are_good;
    recover->result.loss_count = recover->losses.count;
    for (size_t i = 0; i < recover->losses.count; i++)
        recover->result.lost_block_count += losses[i].kind != TBED_BLOCK_NONE ? losses[i].count : 0;
}

static enum tbed_status recover_mapped(struct tbed_recover *recover, int fd)
{
    struct tbed_list damaged = {0};
    enum tbed_status status = tbed_recover_identify(recover);
    if (status != TBED_OK)
        return status;
    bool has_memory = tbed_recover_directory(recover) && tbed_recover_find(recover) &&
                      tbed_recover_choose(recover, &damaged) && tbed_recover_losses(recover, &damaged);
    free(damaged.items);
    if (!has_memory)
        return tbed_fail(recover->error, TBED_ERR_MEMORY, ENOMEM);
    if (recover->found.count == 0 && recover->result.header == TBED_RECOVERED_HEADER_MADE_UP)
        return tbed_fail(recover->error, TBED_ERR_NOT_A_TRACE, 0);
    count_losses(recover);
    return tbed_recover_write(recover, fd);
}

static enum tbed_status check_source(int trace_fd, uint64_t *nbytes_ret, struct tbed_error *error)
{
    struct stat status;
    if (fstat(trace_fd, &status) != 0)
        return tbed_fail(error, TBED_ERR_OPEN, errno);
    if (!S_ISREG(status.st_mode))
        return tbed_fail(error, S_ISDIR(status.st_mode) ? TBED_ERR_IS_DIRECTORY : TBED_ERR_NOT_REGULAR, 0);
    if (flock(trace_fd, LOCK_EX | LOCK_NB) != 0 && errno == EWOULDBLOCK)
        return tbed_fail(error, TBED_ERR_BUSY, 0);
    flock(trace_fd, LOCK_UN);
    *nbytes_ret = (uint64_t)status.st_size;
    return status.st_size != 0 ? TBED_OK : tbed_fail(error, TBED_ERR_EMPTY, 0);
}

static enum tbed_status recover_fd(struct tbed_recover *recover, int trace_fd, int fd)
{
    enum tbed_status status = check_source(trace_fd, &recover->nbytes, recover->error);
    if (status != TBED_OK)
        return status;
    void *map = tbed_shared_map(trace_fd, recover->nbytes, PROT_READ);
    if (map == NULL)
        return tbed_fail(recover->error, TBED_ERR_MAP, errno);
    recover->map = map;
    recover->scratch = malloc(TBED_PAGE_NBYTES_MAX);
    status = recover->scratch != NULL ? recover_mapped(recover, fd)
                                      : tbed_fail(recover->error, TBED_ERR_MEMORY, ENOMEM);
    free(recover->scratch);
    free(recover->found.items);
    free(recover->losses.items);
    free(recover->known.items);
    free(recover->directory.items);
    tbed_shared_unmap(map, recover->nbytes);
    return status;
}

enum tbed_status tbed_trace_recover_sized(int trace_fd, int fd, struct tbed_recovery *recovery_ret,
                                          size_t recovery_nbytes, struct tbed_error *error_ret)
{
    struct tbed_error ignored;
    struct tbed_recover recover = {.error = error_ret != NULL ? error_ret : &ignored};
    enum tbed_status status = recover_fd(&recover, trace_fd, fd);
    if (status == TBED_OK && recovery_ret != NULL)
        tbed_sized_give(recovery_ret, recovery_nbytes, &recover.result, sizeof recover.result);
    return status;
}
