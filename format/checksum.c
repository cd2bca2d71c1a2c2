/*
 * The checksums of spec/format.md, by xxHash, inlined.
 *
 * SPDX-License-Identifier: MIT
 */
#include "format/checksum.h"

#include "format/layout.h"

/*
 * Blocks are mostly hashed when they are no longer in the cache of the core that hashes them. Memory then answers too
 * late for the distance that xxHash chooses, which also stops short of the next 4 KiB.
 */
#define XXH_PREFETCH_DIST 2048
#define XXH_INLINE_ALL
#include <xxhash.h>

uint64_t tbed_header_checksum(const void *page, size_t nbytes)
{
    return XXH3_64bits(page, nbytes - sizeof((struct tbed_disk_header *)NULL)->checksum);
}

uint64_t tbed_checksum_continue(uint64_t checksum, const void *bytes, size_t nbytes)
{
    return XXH3_64bits_withSeed(bytes, nbytes, checksum);
}

uint64_t tbed_block_checksum_apart(const void *header, const void *payload, size_t payload_nbytes)
{
    uint64_t seed = XXH3_64bits(header, offsetof(struct tbed_disk_block, checksum));
    return XXH3_64bits_withSeed(payload, payload_nbytes, seed);
}

uint64_t tbed_block_checksum(const void *block, size_t used_nbytes)
{
    const uint8_t *payload = (const uint8_t *)block + TBED_BLOCK_HEADER_NBYTES;
    return tbed_block_checksum_apart(block, payload, used_nbytes - TBED_BLOCK_HEADER_NBYTES);
}

uint32_t tbed_string_hash(const void *content, size_t nbytes)
{
    return (uint32_t)XXH3_64bits(content, nbytes);
}

uint64_t tbed_hash64(const void *bytes, size_t nbytes)
{
    return XXH3_64bits(bytes, nbytes);
}
