/*
 * Thrift's compact protocol, as far as the metadata of a Parquet file needs it: structs, lists, integers and texts.
 *
 * SPDX-License-Identifier: MIT
 */
#ifndef TRACEBED_THRIFT_PUT_H
#define TRACEBED_THRIFT_PUT_H

#include "reader/core/base/text.h"

#define THRIFT_DEPTH_MAX 8

enum thrift_type {
    THRIFT_TRUE = 1,
    THRIFT_FALSE = 2,
    THRIFT_BYTE = 3,
    THRIFT_I16 = 4,
    THRIFT_I32 = 5,
    THRIFT_I64 = 6,
    THRIFT_BINARY = 8,
    THRIFT_LIST = 9,
    THRIFT_STRUCT = 12,
};

/* Where a struct is being written; zeroed except for 'to': at its start. */
struct thrift {
    struct tbed_text *to;
    unsigned field[THRIFT_DEPTH_MAX]; /* the last one of each struct that is open */
    unsigned depth;
};

void tbed_thrift_varint(struct tbed_text *to, uint64_t value);
void tbed_thrift_zigzag(struct tbed_text *to, int64_t value);

/* Fields of a struct come in the order of their numbers, which are at most 15: none of Parquet's is larger. */
void tbed_thrift_bool(struct thrift *thrift, unsigned field, bool value);
void tbed_thrift_byte(struct thrift *thrift, unsigned field, uint8_t value);
void tbed_thrift_i32(struct thrift *thrift, unsigned field, int32_t value);
void tbed_thrift_i64(struct thrift *thrift, unsigned field, int64_t value);
void tbed_thrift_binary(struct thrift *thrift, unsigned field, const void *bytes, size_t nbytes);
void tbed_thrift_string(struct thrift *thrift, unsigned field, const char *string);

/* A struct in a field, or as the next element of a list ('field' 0), until tbed_thrift_end(). */
void tbed_thrift_begin(struct thrift *thrift, unsigned field);
void tbed_thrift_end(struct thrift *thrift); /* also the end of the outermost struct */
void tbed_thrift_empty(struct thrift *thrift, unsigned field);

/* A list: its elements follow. */
void tbed_thrift_list(struct thrift *thrift, unsigned field, enum thrift_type type, size_t count);

#endif
