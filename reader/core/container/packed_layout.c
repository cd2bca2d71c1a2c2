/*
 * The layout of a packed file; see packed_layout.h. Pure functions.
 *
 * SPDX-License-Identifier: MIT
 */
#include "reader/core/container/packed_layout.h"

#include "format/checksum.h"

bool tbed_packed_is(const void *bytes, size_t nbytes)
{
    return nbytes >= 8 && memcmp(bytes, TBED_PACKED_MAGIC, 8) == 0;
}

static bool page_size_is_possible(uint32_t nbytes)
{
    return nbytes >= TBED_PAGE_NBYTES_MIN && nbytes <= TBED_PAGE_NBYTES_MAX && (nbytes & (nbytes - 1)) == 0;
}

enum tbed_status tbed_packed_header_load(const struct tbed_disk_packed_header *disk,
                                         struct tbed_packed_header *header_ret, uint64_t *offset_ret)
{
    *header_ret = (struct tbed_packed_header){.page_nbytes = tbed_le32_load(disk->page_nbytes),
                                              .plain_nbytes = tbed_le64_load(disk->plain_nbytes)};
    *offset_ret = offsetof(struct tbed_disk_packed_header, version);
    if (tbed_le32_load(disk->version) != TBED_PACKED_VERSION)
        return TBED_ERR_VERSION;
    *offset_ret = offsetof(struct tbed_disk_packed_header, checksum);
    if (tbed_hash64(disk, offsetof(struct tbed_disk_packed_header, checksum)) !=
        tbed_le64_load(disk->checksum))
        return TBED_ERR_PACKED_HEADER;
    *offset_ret = offsetof(struct tbed_disk_packed_header, flags);
    if (tbed_le64_load(disk->flags) != 0)
        return TBED_ERR_FLAGS;
    *offset_ret = offsetof(struct tbed_disk_packed_header, page_nbytes);
    if (!page_size_is_possible(header_ret->page_nbytes))
        return TBED_ERR_PACKED_HEADER;
    *offset_ret = offsetof(struct tbed_disk_packed_header, plain_nbytes);
    bool is_possible = header_ret->plain_nbytes != 0 &&
                       (header_ret->plain_nbytes - 1) / header_ret->page_nbytes < UINT32_MAX;
    if (!is_possible)
        return TBED_ERR_PACKED_HEADER;
    *offset_ret = offsetof(struct tbed_disk_packed_header, zero_32);
    return tbed_bytes_are_zero(disk->zero_32, sizeof disk->zero_32) ? TBED_OK : TBED_ERR_PACKED_HEADER;
}

void tbed_packed_header_store(struct tbed_disk_packed_header *disk_ret,
                              const struct tbed_packed_header *header)
{
    *disk_ret = (struct tbed_disk_packed_header){.version = tbed_le32_make(TBED_PACKED_VERSION),
                                                 .page_nbytes = tbed_le32_make(header->page_nbytes),
                                                 .plain_nbytes = tbed_le64_make(header->plain_nbytes)};
    memcpy(disk_ret->magic, TBED_PACKED_MAGIC, 8);
    disk_ret->checksum =
        tbed_le64_make(tbed_hash64(disk_ret, offsetof(struct tbed_disk_packed_header, checksum)));
}

bool tbed_packed_head_load(const uint8_t *bytes, uint64_t nbytes, uint32_t magic, uint32_t page_nbytes,
                           struct tbed_packed_head *head_ret)
{
    struct tbed_disk_packed_unit disk;
    if (nbytes < sizeof disk)
        return false;
    memcpy(&disk, bytes, sizeof disk);
    *head_ret = (struct tbed_packed_head){.count = tbed_le32_load(disk.count),
                                          .packed_nbytes = tbed_le32_load(disk.packed_nbytes),
                                          .checksum = tbed_le64_load(disk.checksum)};
    if (tbed_le32_load(disk.magic) != magic || tbed_le32_load(disk.zero_12) != 0 || head_ret->count == 0 ||
        head_ret->count > tbed_unit_count_max(page_nbytes) ||
        nbytes < tbed_packed_head_nbytes(head_ret->count))
        return false;
    struct pack_unit unit = {.count = head_ret->count, .block_nbytes = page_nbytes};
    if (head_ret->packed_nbytes == 0 || head_ret->packed_nbytes > tbed_unit_bound(&unit))
        return false;
    for (uint32_t i = 0; i < head_ret->count; i++) {
        tbed_le32 page;
        memcpy(&page, bytes + sizeof disk + 4 * (size_t)i, sizeof page);
        head_ret->pages[i] = tbed_le32_load(page);
    }
    return true;
}

size_t tbed_packed_head_store(uint8_t *bytes, uint32_t magic, const struct tbed_packed_head *head)
{
    struct tbed_disk_packed_unit disk = {.magic = tbed_le32_make(magic),
                                         .count = tbed_le32_make(head->count),
                                         .packed_nbytes = tbed_le32_make(head->packed_nbytes),
                                         .checksum = tbed_le64_make(head->checksum)};
    memcpy(bytes, &disk, sizeof disk);
    for (uint32_t i = 0; i < head->count; i++) {
        tbed_le32 page = tbed_le32_make(head->pages[i]);
        memcpy(bytes + sizeof disk + 4 * (size_t)i, &page, sizeof page);
    }
    return tbed_packed_head_nbytes(head->count);
}

uint64_t tbed_packed_checksum(const struct tbed_packed_head *head, const uint8_t *packed)
{
    uint8_t bytes[TBED_PACKED_HEAD_NBYTES_MAX];
    size_t nbytes = tbed_packed_head_store(bytes, TBED_PACKED_UNIT_MAGIC, head);
    size_t fields_nbytes = offsetof(struct tbed_disk_packed_unit, checksum);
    size_t pages_at = sizeof(struct tbed_disk_packed_unit);
    uint64_t checksum = tbed_hash64(bytes, fields_nbytes);
    checksum = tbed_checksum_continue(checksum, bytes + pages_at, nbytes - pages_at);
    return tbed_checksum_continue(checksum, packed, head->packed_nbytes);
}

bool tbed_packed_trailer_load(const struct tbed_disk_packed_trailer *disk,
                              struct tbed_packed_trailer *trailer_ret)
{
    *trailer_ret = (struct tbed_packed_trailer){.index_offset = tbed_le64_load(disk->index_offset),
                                                .index_nbytes = tbed_le64_load(disk->index_nbytes),
                                                .index_checksum = tbed_le64_load(disk->index_checksum)};
    return memcmp(disk->magic, TBED_PACKED_END_MAGIC, 8) == 0 &&
           tbed_le64_load(disk->checksum) ==
               tbed_hash64(disk, offsetof(struct tbed_disk_packed_trailer, checksum));
}

void tbed_packed_trailer_store(struct tbed_disk_packed_trailer *disk_ret,
                               const struct tbed_packed_trailer *trailer)
{
    *disk_ret = (struct tbed_disk_packed_trailer){.index_offset = tbed_le64_make(trailer->index_offset),
                                                  .index_nbytes = tbed_le64_make(trailer->index_nbytes),
                                                  .index_checksum = tbed_le64_make(trailer->index_checksum)};
    memcpy(disk_ret->magic, TBED_PACKED_END_MAGIC, 8);
    disk_ret->checksum =
        tbed_le64_make(tbed_hash64(disk_ret, offsetof(struct tbed_disk_packed_trailer, checksum)));
}
