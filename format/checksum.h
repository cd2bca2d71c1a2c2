/*
 * The checksums of spec/format.md: XXH3-64 of pages, headers and strings. Pure functions.
 *
 * SPDX-License-Identifier: MIT
 */
#ifndef TRACEBED_CHECKSUM_H
#define TRACEBED_CHECKSUM_H

#include <stddef.h>
#include <stdint.h>

/* Section 3.1: the checksum of the fields that never change, which with it take 'nbytes' of the header page. */
uint64_t tbed_header_checksum(const void *page, size_t nbytes);

/* Section 3.2: a checksum that continues another one, which is its seed. */
uint64_t tbed_checksum_continue(uint64_t checksum, const void *bytes, size_t nbytes);

/* Section 4: the checksum of a block whose fields are final. 64 <= used_nbytes <= the block's size. */
uint64_t tbed_block_checksum(const void *block, size_t used_nbytes);

/* The same; 'header' is a copy that already has the final fields, and 'payload' is [64, used). */
uint64_t tbed_block_checksum_apart(const void *header, const void *payload, size_t payload_nbytes);

/* Section 7: the hash in a string entry. */
uint32_t tbed_string_hash(const void *content, size_t nbytes);

/* XXH3-64, for tables in memory; not part of the format. */
uint64_t tbed_hash64(const void *bytes, size_t nbytes);

#endif
