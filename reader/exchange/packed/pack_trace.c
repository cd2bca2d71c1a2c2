/*
 * Packed traces written; see pack_trace.h.
 *
 * Each thread takes the next unit, reads its pages, packs them, and waits until the units before it are written. So the file
 * does not depend on the threads, and memory does not grow with it.
 *
 * SPDX-License-Identifier: MIT
 */
#define _GNU_SOURCE 1
#include "reader/exchange/packed/pack_trace.h"

#include "format/checksum.h"
#include "reader/core/base/workers.h"
#include "reader/exchange/packed/pack_plan.h"
#include "reader/exchange/shared/file_bytes.h"
#include "reader/exchange/shared/new_file.h"

#include <errno.h>
#include <pthread.h>
#include <stdlib.h>

struct packing {
    struct tbed_work work; /* first: run() is given it */
    int from, to;
    struct tbed_packed_header header;
    struct pack_plan plan;
    pthread_mutex_t lock; /* protects all below */
    pthread_cond_t turned;
    size_t next; /* the unit to be written next */
    uint64_t offset;
    TBED_VECTOR(uint8_t) index;
    enum tbed_status status;
    int system_errno;
};

/* What a thread has for its work. */
struct kit {
    struct tbed_packer *packer;
    uint8_t *plain, *packed; /* a unit, and the same packed with its head */
};

static enum tbed_status kit_open(const struct packing *packing, struct kit *kit)
{
    uint32_t page_nbytes = packing->header.page_nbytes;
    struct pack_unit largest = {.count = tbed_unit_count_max(page_nbytes), .block_nbytes = page_nbytes};
    *kit = (struct kit){0};
    enum tbed_status status = tbed_packer_new(&kit->packer);
    if (status != TBED_OK)
        return status;
    kit->plain = malloc((size_t)largest.count * page_nbytes);
    kit->packed = malloc(TBED_PACKED_HEAD_NBYTES_MAX + tbed_unit_bound(&largest) + TBED_PACKED_ALIGN);
    return kit->plain != NULL && kit->packed != NULL ? TBED_OK : TBED_ERR_MEMORY;
}

static void kit_close(struct kit *kit)
{
    tbed_packer_free(kit->packer);
    free(kit->plain);
    free(kit->packed);
}

/* The caller has the lock. */
static void fail(struct packing *packing, enum tbed_status status, int system_errno)
{
    if (packing->status == TBED_OK) {
        packing->status = status;
        packing->system_errno = system_errno;
    }
    pthread_cond_broadcast(&packing->turned);
}

/* ---- One unit ---- */

static bool read_pages(const struct packing *packing, const struct planned_unit *unit, uint8_t *plain)
{
    uint64_t page_nbytes = packing->header.page_nbytes;
    for (uint32_t i = 0; i < unit->count; i++) {
        uint64_t offset = unit->pages[i] * page_nbytes, left = packing->header.plain_nbytes - offset;
        size_t nbytes = (size_t)(left < page_nbytes ? left : page_nbytes);
        if (!file_read(packing->from, offset, nbytes, plain + i * page_nbytes))
            return false;
        memset(plain + i * page_nbytes + nbytes, 0, (size_t)page_nbytes - nbytes);
    }
    return true;
}

/* Packs the unit behind its head, and returns the head. */
static struct tbed_packed_head pack(const struct packing *packing, const struct planned_unit *unit,
                                    const struct kit *kit)
{
    uint8_t *blocks[PACK_UNIT_BLOCKS_MAX];
    struct tbed_packed_head head = {.count = unit->count};
    for (uint32_t i = 0; i < unit->count; i++) {
        blocks[i] = kit->plain + (size_t)i * packing->header.page_nbytes;
        head.pages[i] = unit->pages[i];
    }
    struct pack_unit from = {
        .blocks = blocks, .count = unit->count, .block_nbytes = packing->header.page_nbytes};
    uint8_t *packed = kit->packed + tbed_packed_head_nbytes(unit->count);
    head.packed_nbytes = (uint32_t)tbed_unit_pack(kit->packer, &from, packed);
    head.checksum = tbed_packed_checksum(&head, packed);
    tbed_packed_head_store(kit->packed, TBED_PACKED_UNIT_MAGIC, &head);
    memset(packed + head.packed_nbytes, 0, TBED_PACKED_ALIGN);
    return head;
}

static void add_to_index(struct packing *packing, const struct tbed_packed_head *head)
{
    uint8_t *entry = TBED_VECTOR_EXTEND(&packing->index, tbed_packed_head_nbytes(head->count));
    if (entry == NULL)
        fail(packing, TBED_ERR_MEMORY, ENOMEM);
    else
        tbed_packed_head_store(entry, TBED_PACKED_ENTRY_MAGIC, head);
}

/* Writes the unit when it is its turn. */
static void put(struct packing *packing, size_t item, const struct tbed_packed_head *head,
                const uint8_t *bytes)
{
    pthread_mutex_lock(&packing->lock);
    while (packing->next != item && packing->status == TBED_OK)
        pthread_cond_wait(&packing->turned, &packing->lock);
    size_t nbytes = (size_t)tbed_packed_unit_nbytes(head);
    if (packing->status == TBED_OK) {
        enum tbed_status status = file_write(packing->to, packing->offset, bytes, nbytes);
        if (status != TBED_OK)
            fail(packing, status, errno);
        add_to_index(packing, head);
        packing->offset += nbytes;
        packing->next++;
        pthread_cond_broadcast(&packing->turned);
    }
    pthread_mutex_unlock(&packing->lock);
}

static bool has_failed(struct packing *packing)
{
    pthread_mutex_lock(&packing->lock);
    bool failed = packing->status != TBED_OK;
    pthread_mutex_unlock(&packing->lock);
    return failed;
}

static void fail_locking(struct packing *packing, enum tbed_status status, int system_errno)
{
    pthread_mutex_lock(&packing->lock);
    fail(packing, status, system_errno);
    pthread_mutex_unlock(&packing->lock);
}

static void run(struct tbed_work *work, unsigned number)
{
    struct packing *packing = (struct packing *)work;
    struct kit kit;
    size_t item;
    (void)number;
    enum tbed_status status = kit_open(packing, &kit);
    if (status != TBED_OK)
        fail_locking(packing, status, status == TBED_ERR_MEMORY ? ENOMEM : 0);
    while (!has_failed(packing) && tbed_work_take(work, &item)) {
        const struct planned_unit *unit = &packing->plan.units.items[item];
        if (!read_pages(packing, unit, kit.plain)) {
            fail_locking(packing, TBED_ERR_READ, errno);
            break;
        }
        struct tbed_packed_head head = pack(packing, unit, &kit);
        put(packing, item, &head, kit.packed);
    }
    kit_close(&kit);
}

/* ---- The file ---- */

static void put_bytes(struct packing *packing, const void *bytes, size_t nbytes)
{
    if (packing->status != TBED_OK)
        return;
    enum tbed_status status = file_write(packing->to, packing->offset, bytes, nbytes);
    if (status != TBED_OK)
        fail(packing, status, errno);
    packing->offset += nbytes;
}

static void put_header(struct packing *packing)
{
    struct tbed_disk_packed_header disk;
    tbed_packed_header_store(&disk, &packing->header);
    put_bytes(packing, &disk, sizeof disk);
    uint8_t *copy = TBED_VECTOR_EXTEND(&packing->index, sizeof disk);
    if (copy == NULL)
        fail(packing, TBED_ERR_MEMORY, ENOMEM);
    else
        memcpy(copy, &disk, sizeof disk);
}

static void put_end(struct packing *packing)
{
    if (packing->status != TBED_OK)
        return;
    struct tbed_packed_trailer trailer = {.index_offset = packing->offset,
                                          .index_nbytes = packing->index.count,
                                          .index_checksum =
                                              tbed_hash64(packing->index.items, packing->index.count)};
    struct tbed_disk_packed_trailer disk;
    tbed_packed_trailer_store(&disk, &trailer);
    put_bytes(packing, packing->index.items, packing->index.count);
    put_bytes(packing, &disk, sizeof disk);
}

static void pack_all(struct packing *packing, unsigned thread_count)
{
    packing->work = (struct tbed_work){.item_count = packing->plan.units.count, .run = run};
    pthread_mutex_init(&packing->lock, NULL); /* on Linux, these cannot fail without attributes */
    pthread_cond_init(&packing->turned, NULL);
    put_header(packing);
    if (packing->status == TBED_OK)
        tbed_work_run(&packing->work, tbed_worker_count(thread_count, packing->plan.units.count));
    put_end(packing);
    tbed_vector_free(&packing->index.vector);
    pthread_cond_destroy(&packing->turned);
    pthread_mutex_destroy(&packing->lock);
}

enum tbed_status tbed_trace_pack(int from, int to, unsigned thread_count, struct pack_report *report_ret,
                                 struct tbed_error *error_ret)
{
    struct tbed_reader *reader = NULL;
    struct packing packing = {.from = from, .to = to};
    const struct tbed_reader_options options = {.size = sizeof options, .skip_hashes = true};
    errno = 0;
    if (tbed_packed_fd_is(from))
        return tbed_exchange_fail(error_ret, TBED_ERR_PACKED);
    enum tbed_status status = tbed_reader_open_fd(from, &options, &reader, error_ret);
    if (status != TBED_OK)
        return status;
    packing.header = (struct tbed_packed_header){.page_nbytes = reader->header.page_nbytes,
                                                 .plain_nbytes = reader->map.nbytes};
    packing.status = tbed_pack_plan_make(reader, &packing.plan);
    tbed_reader_close(reader);
    if (packing.status == TBED_OK)
        pack_all(&packing, thread_count);
    tbed_pack_plan_free(&packing.plan);
    *report_ret =
        (struct pack_report){.plain_nbytes = packing.header.plain_nbytes, .packed_nbytes = packing.offset};
    errno = packing.system_errno;
    return packing.status == TBED_OK ? TBED_OK : tbed_exchange_fail(error_ret, packing.status);
}
