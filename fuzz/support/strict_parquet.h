/*
 * A strict reader of Parquet files whose pages are not compressed, as far as this project writes them.
 *
 * SPDX-License-Identifier: MIT
 */
#ifndef TRACEBED_FUZZ_STRICT_PARQUET_H
#define TRACEBED_FUZZ_STRICT_PARQUET_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

/*
 * Whether each byte belongs to the format: the metadata are complete, each page decodes to as many values as it says, and
 * texts are UTF-8. '*row_count_ret' is what the metadata say.
 */
bool is_parquet(const uint8_t *bytes, size_t nbytes, uint64_t *row_count_ret);

#endif
