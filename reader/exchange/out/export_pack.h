/*
 * Compression of an export: gzip by zlib, Zstandard by libzstd, which is loaded when it is needed.
 *
 * SPDX-License-Identifier: MIT
 */
#ifndef TRACEBED_EXCHANGE_EXPORT_PACK_H
#define TRACEBED_EXCHANGE_EXPORT_PACK_H

#include <stdbool.h>
#include <stddef.h>
#include <tracebed/export.h>

struct export_packer;

/* Takes compressed bytes; false: they could not be written. */
typedef bool (*export_pack_function)(void *context, const void *bytes, size_t nbytes);

/* '*packer_ret' is NULL for TBED_COMPRESSION_NONE. Errors: ERR_MEMORY, ERR_NO_LIBRARY. */
enum tbed_status tbed_export_packer_open(enum tbed_compression compression, export_pack_function put,
                                         void *context, struct export_packer **packer_ret);

/* False once 'put' has failed, or there is no memory. */
bool tbed_export_packer_put(struct export_packer *packer, const void *bytes, size_t nbytes);

/* Ends the compressed data. */
bool tbed_export_packer_end(struct export_packer *packer);
void tbed_export_packer_close(struct export_packer *packer); /* NULL is allowed */

#endif
