/*
 * Numbers of variable length, seven bits a byte, the lowest first. A null is a byte 0x80 and a zero, which no number is.
 *
 * SPDX-License-Identifier: MIT
 */
#ifndef TRACEBED_SQL_VARINT_H
#define TRACEBED_SQL_VARINT_H

#include <tracebed/tables.h>

#define SQL_VARINT_MOST 10u

static inline unsigned char *sql_varint_put(unsigned char *to, uint64_t value)
{
    while (value >= 0x80) {
        *to++ = (unsigned char)(value | 0x80);
        value >>= 7;
    }
    *to++ = (unsigned char)value;
    return to;
}

static inline unsigned char *sql_varint_put_null(unsigned char *to)
{
    *to++ = 0x80;
    *to++ = 0;
    return to;
}

/* False: a null. */
static inline bool sql_varint_get(const unsigned char **at, uint64_t *value_ret)
{
    const unsigned char *from = *at;
    uint64_t value = 0;
    unsigned shift = 0;
    while (*from >= 0x80) {
        value |= (uint64_t)(*from++ & 0x7F) << shift;
        shift += 7;
    }
    value |= (uint64_t)*from << shift;
    bool is_null = *from == 0 && shift > 0;
    *at = from + 1;
    *value_ret = value;
    return !is_null;
}

/* The bits of a value as a number that is small if the value is: near zero, or a double with few digits. */
static inline uint64_t sql_varint_of(enum tbed_column_type type, uint64_t bits)
{
    if (type == TBED_COLUMN_I64)
        return bits << 1 ^ (bits >> 63 != 0 ? UINT64_MAX : 0);
    return type == TBED_COLUMN_F64 ? __builtin_bswap64(bits) : bits;
}

static inline uint64_t sql_varint_back(enum tbed_column_type type, uint64_t number)
{
    if (type == TBED_COLUMN_I64)
        return number >> 1 ^ ((number & 1) != 0 ? UINT64_MAX : 0);
    return type == TBED_COLUMN_F64 ? __builtin_bswap64(number) : number;
}

#endif
