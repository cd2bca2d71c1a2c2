/*
 * Thrift's compact protocol; see thrift_put.h.
 *
 * SPDX-License-Identifier: MIT
 */
#include "reader/exchange/columns/parquet/thrift_put.h"

static void put_byte(struct tbed_text *to, unsigned value)
{
    char byte = (char)(uint8_t)value;
    tbed_text_put(to, &byte, 1);
}

void tbed_thrift_varint(struct tbed_text *to, uint64_t value)
{
    for (; value >= 0x80; value >>= 7)
        put_byte(to, (unsigned)(value & 0x7F) | 0x80);
    put_byte(to, (unsigned)value);
}

void tbed_thrift_zigzag(struct tbed_text *to, int64_t value)
{
    tbed_thrift_varint(to, (uint64_t)value << 1 ^ (value < 0 ? UINT64_MAX : 0));
}

static void put_field(struct thrift *thrift, unsigned field, enum thrift_type type)
{
    unsigned *last = &thrift->field[thrift->depth];
    put_byte(thrift->to, (field - *last) << 4 | type);
    *last = field;
}

void tbed_thrift_bool(struct thrift *thrift, unsigned field, bool value)
{
    put_field(thrift, field, value ? THRIFT_TRUE : THRIFT_FALSE);
}

void tbed_thrift_byte(struct thrift *thrift, unsigned field, uint8_t value)
{
    put_field(thrift, field, THRIFT_BYTE);
    put_byte(thrift->to, value);
}

void tbed_thrift_i32(struct thrift *thrift, unsigned field, int32_t value)
{
    put_field(thrift, field, THRIFT_I32);
    tbed_thrift_zigzag(thrift->to, value);
}

void tbed_thrift_i64(struct thrift *thrift, unsigned field, int64_t value)
{
    put_field(thrift, field, THRIFT_I64);
    tbed_thrift_zigzag(thrift->to, value);
}

void tbed_thrift_binary(struct thrift *thrift, unsigned field, const void *bytes, size_t nbytes)
{
    if (field != 0)
        put_field(thrift, field, THRIFT_BINARY);
    tbed_thrift_varint(thrift->to, nbytes);
    tbed_text_put(thrift->to, bytes, nbytes);
}

void tbed_thrift_string(struct thrift *thrift, unsigned field, const char *string)
{
    tbed_thrift_binary(thrift, field, string, strlen(string));
}

void tbed_thrift_begin(struct thrift *thrift, unsigned field)
{
    if (field != 0)
        put_field(thrift, field, THRIFT_STRUCT);
    thrift->field[++thrift->depth] = 0;
}

void tbed_thrift_end(struct thrift *thrift)
{
    put_byte(thrift->to, 0);
    if (thrift->depth > 0)
        thrift->depth--;
}

void tbed_thrift_empty(struct thrift *thrift, unsigned field)
{
    tbed_thrift_begin(thrift, field);
    tbed_thrift_end(thrift);
}

void tbed_thrift_list(struct thrift *thrift, unsigned field, enum thrift_type type, size_t count)
{
    put_field(thrift, field, THRIFT_LIST);
    if (count < 15) {
        put_byte(thrift->to, (unsigned)count << 4 | type);
    } else {
        put_byte(thrift->to, 0xF0 | type);
        tbed_thrift_varint(thrift->to, count);
    }
}
