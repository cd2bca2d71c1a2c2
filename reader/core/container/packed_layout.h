/*
 * The layout of a packed file: its header, the heads of units, the index and the trailer; spec/packed.md, "The file". What
 * is inside a unit is the business of reader/core/pack.
 *
 * SPDX-License-Identifier: MIT
 */
#ifndef TRACEBED_PACKED_LAYOUT_H
#define TRACEBED_PACKED_LAYOUT_H

#include "format/base/bytes.h"
#include "format/layout.h"
#include "reader/core/pack/pack_unit.h"

#include <tracebed/format.h>

#define TBED_PACKED_VERSION     1u
#define TBED_PACKED_UNIT_MAGIC  0x54494E55u /* "UNIT" */
#define TBED_PACKED_ENTRY_MAGIC 0x52544E45u /* "ENTR" */
#define TBED_PACKED_END_MAGIC   "packends"
#define TBED_PACKED_ALIGN       8u

struct tbed_disk_packed_header {
    uint8_t magic[8];
    tbed_le32 version;
    tbed_le32 page_nbytes;
    tbed_le64 plain_nbytes;
    tbed_le64 flags; /* incompatible ones; none are defined */
    uint8_t zero_32[24];
    tbed_le64 checksum; /* of what is before it */
};
_Static_assert(sizeof(struct tbed_disk_packed_header) == 64, "spec/packed.md, header");

/* Followed by the page numbers, 4 bytes each; in the file, then by the packed bytes. */
struct tbed_disk_packed_unit {
    tbed_le32 magic;
    tbed_le32 count;
    tbed_le32 packed_nbytes;
    tbed_le32 zero_12;
    tbed_le64 checksum; /* of the fields before it, the page numbers and the packed bytes */
};
_Static_assert(sizeof(struct tbed_disk_packed_unit) == 24, "spec/packed.md, unit");

struct tbed_disk_packed_trailer {
    uint8_t magic[8];
    tbed_le64 index_offset;
    tbed_le64 index_nbytes;
    tbed_le64 index_checksum;
    tbed_le64 checksum; /* of what is before it */
};
_Static_assert(sizeof(struct tbed_disk_packed_trailer) == 40, "spec/packed.md, trailer");

/* The most bytes that the head of a unit takes. */
#define TBED_PACKED_HEAD_NBYTES_MAX (sizeof(struct tbed_disk_packed_unit) + 4u * PACK_UNIT_BLOCKS_MAX)

struct tbed_packed_header {
    uint32_t page_nbytes;
    uint64_t plain_nbytes;
};

/* The head of a unit. It precedes the unit, and the index repeats it. */
struct tbed_packed_head {
    uint32_t count;
    uint32_t packed_nbytes;
    uint64_t checksum;
    uint32_t pages[PACK_UNIT_BLOCKS_MAX];
};

struct tbed_packed_trailer {
    uint64_t index_offset, index_nbytes, index_checksum;
};

static inline size_t tbed_packed_head_nbytes(uint32_t count)
{
    return sizeof(struct tbed_disk_packed_unit) + 4 * (size_t)count;
}

/* The bytes from a unit's start to the next one's. */
static inline uint64_t tbed_packed_unit_nbytes(const struct tbed_packed_head *head)
{
    return tbed_round_up(tbed_packed_head_nbytes(head->count) + head->packed_nbytes, TBED_PACKED_ALIGN);
}

/* Do the file's first bytes say that it is packed? */
bool tbed_packed_is(const void *bytes, size_t nbytes);

/* Errors: ERR_VERSION, ERR_FLAGS, ERR_PACKED_HEADER; '*offset_ret' is that of the field. */
enum tbed_status tbed_packed_header_load(const struct tbed_disk_packed_header *disk,
                                         struct tbed_packed_header *header_ret, uint64_t *offset_ret);
void tbed_packed_header_store(struct tbed_disk_packed_header *disk_ret,
                              const struct tbed_packed_header *header);

/* Loads the head at 'bytes', of which there are 'nbytes', if one with this magic is there and is possible. */
bool tbed_packed_head_load(const uint8_t *bytes, uint64_t nbytes, uint32_t magic, uint32_t page_nbytes,
                           struct tbed_packed_head *head_ret);
/* Returns how many bytes were stored, at most TBED_PACKED_HEAD_NBYTES_MAX. */
size_t tbed_packed_head_store(uint8_t *bytes, uint32_t magic, const struct tbed_packed_head *head);

/* The checksum of a unit with this head and these packed bytes. */
uint64_t tbed_packed_checksum(const struct tbed_packed_head *head, const uint8_t *packed);

bool tbed_packed_trailer_load(const struct tbed_disk_packed_trailer *disk,
                              struct tbed_packed_trailer *trailer_ret);
void tbed_packed_trailer_store(struct tbed_disk_packed_trailer *disk_ret,
                               const struct tbed_packed_trailer *trailer);

#endif
