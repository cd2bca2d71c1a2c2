/*
 * Compression of blocks that are in memory, each on its own: for formats whose pages are compressed.
 *
 * SPDX-License-Identifier: MIT
 */
#ifndef TRACEBED_COLUMNS_BLOCK_PACK_H
#define TRACEBED_COLUMNS_BLOCK_PACK_H

#include "reader/core/base/text.h"

#include <tracebed/export.h>

struct block_packer;

/*
 * 'compression' is not BY_NAME; NONE copies. Errors: ERR_MEMORY; ERR_NO_LIBRARY.
 */
enum tbed_status tbed_block_packer_open(enum tbed_compression compression, struct block_packer **packer_ret);

/* Appends the block to 'to'. False: no memory. */
bool tbed_block_pack(struct block_packer *packer, const void *bytes, size_t nbytes, struct tbed_text *to);
void tbed_block_packer_close(struct block_packer *packer); /* NULL is allowed */

#endif
