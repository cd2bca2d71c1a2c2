/*
 * Plain traces made of packed ones; see pack_trace.h. Each thread takes the next unit and writes its pages in their places.
 *
 * SPDX-License-Identifier: MIT
 */
#define _GNU_SOURCE 1
#include "reader/core/base/workers.h"
#include "reader/core/container/packed_file.h"
#include "reader/exchange/packed/pack_trace.h"
#include "reader/exchange/shared/file_bytes.h"
#include "reader/exchange/shared/new_file.h"

#include <pthread.h>
#include <stdlib.h>
#include <sys/stat.h>

struct unpacking {
    struct tbed_work work; /* first: run() is given it */
    struct tbed_packed_file file;
    int to;
    bool partly;
    pthread_mutex_t lock; /* protects all below */
    uint64_t lost_page_count;
    struct tbed_error error;
};

struct kit {
    struct tbed_unpacker *unpacker;
    uint8_t *packed, *plain;
};

static void fail(struct unpacking *unpacking, enum tbed_status status, int system_errno, uint64_t offset)
{
    pthread_mutex_lock(&unpacking->lock);
    struct tbed_error *error = &unpacking->error;
    /* Of several damaged units, the first is reported. */
    if (error->status == TBED_OK || (error->status == status && offset < error->offset))
        *error = (struct tbed_error){.status = status, .system_errno = system_errno, .offset = offset};
    pthread_mutex_unlock(&unpacking->lock);
}

static bool has_failed(struct unpacking *unpacking)
{
    pthread_mutex_lock(&unpacking->lock);
    bool failed = unpacking->error.status != TBED_OK;
    pthread_mutex_unlock(&unpacking->lock);
    return failed;
}

/* ---- One unit ---- */

static enum tbed_status kit_open(const struct unpacking *unpacking, struct kit *kit)
{
    *kit = (struct kit){0};
    enum tbed_status status = tbed_unpacker_new(&kit->unpacker);
    if (status != TBED_OK)
        return status;
    uint32_t page_nbytes = unpacking->file.header.page_nbytes;
    kit->packed = malloc(tbed_packed_read_nbytes(&unpacking->file));
    kit->plain = malloc((size_t)tbed_unit_count_max(page_nbytes) * page_nbytes);
    return kit->packed != NULL && kit->plain != NULL ? TBED_OK : TBED_ERR_MEMORY;
}

static void kit_close(struct kit *kit)
{
    tbed_unpacker_free(kit->unpacker);
    free(kit->packed);
    free(kit->plain);
}

static bool unpack(const struct unpacking *unpacking, const struct tbed_packed_unit *unit,
                   const struct kit *kit)
{
    uint8_t *blocks[PACK_UNIT_BLOCKS_MAX];
    uint32_t page_nbytes = unpacking->file.header.page_nbytes;
    for (uint32_t i = 0; i < unit->count; i++)
        blocks[i] = kit->plain + (size_t)i * page_nbytes;
    struct pack_unit to = {.blocks = blocks, .count = unit->count, .block_nbytes = page_nbytes};
    const uint8_t *packed = tbed_packed_read(&unpacking->file, unit, kit->packed);
    return packed != NULL && tbed_unit_unpack(kit->unpacker, packed, unit->packed_nbytes, &to) == TBED_OK;
}

/* Writes the unit's pages, as far as the trace goes. */
static enum tbed_status put_pages(const struct unpacking *unpacking, const struct tbed_packed_unit *unit,
                                  const uint8_t *plain)
{
    uint64_t page_nbytes = unpacking->file.header.page_nbytes;
    enum tbed_status status = TBED_OK;
    for (uint32_t i = 0; i < unit->count && status == TBED_OK; i++) {
        uint64_t offset = unpacking->file.pages.items[unit->first_page + i] * page_nbytes;
        uint64_t left = unpacking->file.header.plain_nbytes - offset;
        const uint8_t *page = plain + i * page_nbytes;
        size_t nbytes = (size_t)(left < page_nbytes ? left : page_nbytes);
        if (!tbed_bytes_are_zero(page + nbytes, (size_t)page_nbytes - nbytes))
            return TBED_ERR_PACKED_UNIT;
        status = file_write(unpacking->to, offset, page, nbytes);
    }
    return status;
}

static void take_unit(struct unpacking *unpacking, const struct tbed_packed_unit *unit, const struct kit *kit)
{
    enum tbed_status status =
        unpack(unpacking, unit, kit) ? put_pages(unpacking, unit, kit->plain) : TBED_ERR_PACKED_UNIT;
    if (status == TBED_OK)
        return;
    if (status != TBED_ERR_PACKED_UNIT)
        fail(unpacking, status, errno, UINT64_MAX);
    else if (!unpacking->partly)
        fail(unpacking, status, 0, unit->offset);
    pthread_mutex_lock(&unpacking->lock);
    unpacking->lost_page_count += unit->count;
    pthread_mutex_unlock(&unpacking->lock);
}

static void run(struct tbed_work *work, unsigned number)
{
    struct unpacking *unpacking = (struct unpacking *)work;
    struct kit kit;
    size_t item;
    (void)number;
    enum tbed_status status = kit_open(unpacking, &kit);
    if (status != TBED_OK)
        fail(unpacking, status, status == TBED_ERR_MEMORY ? ENOMEM : 0, UINT64_MAX);
    while (!has_failed(unpacking) && tbed_work_take(work, &item))
        take_unit(unpacking, &unpacking->file.units.items[item], &kit);
    kit_close(&kit);
}

/* ---- The file ---- */

static void unpack_all(struct unpacking *unpacking, unsigned thread_count)
{
    const struct tbed_packed_file *file = &unpacking->file;
    if (file->problem != TBED_OK && !unpacking->partly)
        unpacking->error = (struct tbed_error){.status = file->problem, .offset = file->problem_offset};
    else if (ftruncate(unpacking->to, (off_t)file->header.plain_nbytes) != 0)
        unpacking->error =
            (struct tbed_error){.status = TBED_ERR_WRITE, .system_errno = errno, .offset = UINT64_MAX};
    unpacking->work = (struct tbed_work){.item_count = file->units.count, .run = run};
    pthread_mutex_init(&unpacking->lock, NULL); /* on Linux, this cannot fail without attributes */
    if (unpacking->error.status == TBED_OK)
        tbed_work_run(&unpacking->work, tbed_worker_count(thread_count, file->units.count));
    pthread_mutex_destroy(&unpacking->lock);
}

enum tbed_status tbed_trace_unpack(int from, int to, unsigned thread_count, bool partly,
                                   struct pack_report *report_ret, struct tbed_error *error_ret)
{
    struct unpacking unpacking = {.to = to, .partly = partly};
    struct stat status;
    errno = 0;
    if (fstat(from, &status) != 0)
        return tbed_exchange_fail(error_ret, TBED_ERR_READ);
    if (!tbed_packed_fd_is(from))
        return tbed_exchange_fail(error_ret, TBED_ERR_NOT_PACKED);
    enum tbed_status opened =
        tbed_packed_file_open(&unpacking.file, from, NULL, (uint64_t)status.st_size, &unpacking.error);
    if (opened == TBED_OK) {
        unpack_all(&unpacking, thread_count);
        *report_ret = (struct pack_report){.plain_nbytes = unpacking.file.header.plain_nbytes,
                                           .packed_nbytes = unpacking.file.nbytes,
                                           .lost_page_count = unpacking.lost_page_count,
                                           .problem = unpacking.file.problem};
        tbed_packed_file_close(&unpacking.file);
    }
    if (error_ret != NULL)
        *error_ret = unpacking.error;
    return unpacking.error.status;
}
