/*
 * The encodings of Parquet's pages. Pure functions that append to a text.
 *
 * Source: Apache Parquet, "Encodings".
 *
 * SPDX-License-Identifier: MIT
 */
#ifndef TRACEBED_PARQUET_ENCODE_H
#define TRACEBED_PARQUET_ENCODE_H

#include "reader/core/base/text.h"

enum parquet_encoding {
    PARQUET_PLAIN = 0,
    PARQUET_RLE = 3,
    PARQUET_DELTA = 5, /* DELTA_BINARY_PACKED */
    PARQUET_DICTIONARY = 8,
};

void tbed_parquet_put_le32(struct tbed_text *to, uint32_t value);
void tbed_parquet_put_le64(struct tbed_text *to, const uint64_t *values, size_t count);

/* Bits that a value below or equal to this needs; 0 for 0. */
unsigned tbed_parquet_width(uint64_t greatest);

/* Runs of equal values and groups of packed ones (RLE / bit-packing hybrid), each below 2^width; 'width' is at most 32. */
void tbed_parquet_put_hybrid(struct tbed_text *to, const uint64_t *values, size_t count, unsigned width);

/* DELTA_BINARY_PACKED of 64-bit values, at least one. */
void tbed_parquet_put_delta(struct tbed_text *to, const uint64_t *values, size_t count);

/* A text of PLAIN: its length and its bytes. */
void tbed_parquet_put_bytes(struct tbed_text *to, const char *bytes, size_t nbytes);

#endif
