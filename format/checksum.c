/*
 * The checksums of spec/format.md, by xxHash, inlined.
 *
 * SPDX-License-Identifier: MIT
 */
#include "format/checksum.h"

#include "format/layout.h"

#define XXH_INLINE_ALL
#include <xxhash.h>

uint64_t tbed_header_checksum(const void *page)
{
    return XXH3_64bits(page, offsetof(struct tbed_disk_header, checksum));
}

uint64_t tbed_closing_checksum_apart(const void *header, const void *page, size_t page_nbytes)
{
    uint64_t seed = XXH3_64bits((const uint8_t *)header + TBED_HEADER_FIXED_NBYTES, TBED_SHARED_NBYTES);
    size_t rest = sizeof(struct tbed_disk_header);
    return XXH3_64bits_withSeed((const uint8_t *)page + rest, page_nbytes - rest, seed);
}

uint64_t tbed_closing_checksum(const void *page, size_t page_nbytes)
{
    return tbed_closing_checksum_apart(page, page, page_nbytes);
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
