/*
 * Units of packed traces: a few blocks of one kind, usually neighbours in one stream, packed together and unpacked alone.
 *
 * Shape:   tbed_unit_pack() takes any content, also that of damaged blocks, and tbed_unit_unpack() gives back the same
 *          bytes. The packed bytes say how they were packed, but not how many blocks of which size they hold, nor where
 *          they end; the caller keeps that, and a checksum if it wants one.
 * Trust:   what is unpacked may be hostile. Memory and time are bounded by the size of the blocks.
 * Threads: a packer or an unpacker belongs to one thread.
 * Source:  spec/packed.md, "Units".
 *
 * SPDX-License-Identifier: MIT
 */
#ifndef TRACEBED_CORE_PACK_UNIT_H
#define TRACEBED_CORE_PACK_UNIT_H

#include <stddef.h>
#include <stdint.h>

#include "tracebed/format.h"

#define PACK_UNIT_BLOCKS_MAX 16
#define PACK_UNIT_NBYTES_MAX 1048576u /* count × block_nbytes is at most this */

struct pack_unit {
    uint8_t *const *blocks; /* each of 'block_nbytes'; packing does not change them */
    uint32_t count;         /* 1 … PACK_UNIT_BLOCKS_MAX */
    uint32_t block_nbytes;  /* a power of two, 4,096 … 1 MiB */
};

/* The most blocks of this size that a unit may have. */
static inline uint32_t tbed_unit_count_max(uint32_t block_nbytes)
{
    uint32_t count = PACK_UNIT_NBYTES_MAX / block_nbytes;
    return count < PACK_UNIT_BLOCKS_MAX ? count : PACK_UNIT_BLOCKS_MAX;
}

/* The most bytes that packing it can give. */
static inline size_t tbed_unit_bound(const struct pack_unit *unit)
{
    return 1 + (size_t)unit->count * unit->block_nbytes;
}

struct tbed_packer;
struct tbed_unpacker;

/* Errors: ERR_NO_LIBRARY (libzstd), ERR_MEMORY; '*packer_ret' is then NULL. */
enum tbed_status tbed_packer_new(struct tbed_packer **packer_ret);
void tbed_packer_free(struct tbed_packer *packer);
enum tbed_status tbed_unpacker_new(struct tbed_unpacker **unpacker_ret);
void tbed_unpacker_free(struct tbed_unpacker *unpacker);

/* Fills 'out', which has room for tbed_unit_bound(), and returns the number of bytes. Does not fail. */
size_t tbed_unit_pack(struct tbed_packer *packer, const struct pack_unit *unit, uint8_t *out);

/*
 * Fills the blocks with what the 'nbytes' of 'in' hold.
 *
 * Errors: ERR_PACKED_UNIT. The blocks' content is then not specified.
 */
enum tbed_status tbed_unit_unpack(struct tbed_unpacker *unpacker, const uint8_t *in, size_t nbytes,
                                  const struct pack_unit *unit);

#endif
