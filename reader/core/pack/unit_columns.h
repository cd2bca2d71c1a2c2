/*
 * The columns that the blocks of a unit are taken apart into, and the values in them. One call does both directions: where
 * 'packs' is true, a value is appended and returned; otherwise the next one is read and returned.
 *
 * Packing never runs out of room: see COLUMN_NBYTES. Unpacking beyond the end of a column gives zeros and sets
 * 'is_damaged', so that callers need to look only once in a while.
 *
 * Source: spec/packed.md, "Columns".
 *
 * SPDX-License-Identifier: MIT
 */
#ifndef TRACEBED_CORE_UNIT_COLUMNS_H
#define TRACEBED_CORE_UNIT_COLUMNS_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <string.h>

#include "format/base/bytes.h"
#include "reader/core/pack/pack_unit.h"

#define BOTH_WAYS static inline __attribute__((always_inline))

enum column_number {
    COLUMN_BLOCK,     /* headers, ends and stacks of blocks */
    COLUMN_REST,      /* what follows the regular content of blocks */
    COLUMN_RUN,       /* how many tokens in a row were as expected */
    COLUMN_MISS,      /* how the next one is given */
    COLUMN_TOKEN_LOW, /* its number */
    COLUMN_TOKEN_HIGH,
    COLUMN_NEW_TAG, /* what a new one means */
    COLUMN_NEW_ID,
    COLUMN_NEW_SECOND,
    COLUMN_TICK_CLASS, /* from event to event */
    COLUMN_TICK_REST,
    COLUMN_SPAN_CLASS, /* from the end of a SPAN to its begin */
    COLUMN_SPAN_REST,
    COLUMN_BITS, /* low bits of both */
    COLUMN_WIDE, /* what is too large for a class or a rest */
    COLUMN_SIZE,
    COLUMN_ALLOC, /* addresses */
    COLUMN_FREE,
    COLUMN_COUNTER,
    COLUMN_WORD,      /* other words of records */
    COLUMN_TEXT,      /* and texts, and packed values */
    COLUMN_BEGIN,     /* begin ticks of REALLOC */
    COLUMN_ENTRY,     /* sizes of string entries, and whether their hashes are right */
    COLUMN_HASH,      /* those that are not */
    COLUMN_CONTENT,   /* texts of strings */
    COLUMN_REFERENCE, /* and references in them */
    COLUMN_RECORD,    /* the first two words of records */
    COLUMN_EVEN,      /* their other words, by halves */
    COLUMN_ODD,
    COLUMN_COUNT,
};

/*
 * No column grows by more than 10 bytes for 8 bytes of a block (a number of 64 bits for each word), and the columns of a
 * unit are discarded if they have more than twice its bytes, so this is also the room that unpacking needs.
 */
#define COLUMN_NBYTES       (2 * (size_t)PACK_UNIT_NBYTES_MAX)
#define COLUMN_SLACK_NBYTES 16 /* bits are loaded and stored eight bytes at a time */

struct column {
    uint8_t *start, *at, *end; /* 'end' is for reading */
};

struct columns {
    struct column c[COLUMN_COUNT];
    uint64_t bits; /* of COLUMN_BITS, not yet stored */
    uint32_t bit_count;
    bool is_damaged;
};

BOTH_WAYS uint64_t fold(uint64_t value) /* small negative numbers become small */
{
    return value << 1 ^ (0 - (value >> 63));
}

BOTH_WAYS uint64_t unfold(uint64_t value)
{
    return value >> 1 ^ (0 - (value & 1));
}

BOTH_WAYS uint8_t column_byte(struct columns *columns, enum column_number number, uint8_t value, bool packs)
{
    struct column *column = &columns->c[number];
    if (packs)
        return *column->at++ = value;
    if (column->at < column->end)
        return *column->at++;
    columns->is_damaged = true;
    return 0;
}

/* LEB128 from its second byte on; at most ten bytes, and below 2^64. */
static __attribute__((noinline)) uint64_t column_value_rest(struct columns *columns, struct column *column,
                                                            uint64_t value)
{
    for (uint32_t shift = 7; shift < 64 && column->at < column->end; shift += 7) {
        uint64_t byte = *column->at++;
        if (shift == 63 && byte > 1)
            break;
        value |= (byte & 127) << shift;
        if (byte < 128)
            return value;
    }
    columns->is_damaged = true;
    return 0;
}

BOTH_WAYS uint64_t column_value(struct columns *columns, enum column_number number, uint64_t value,
                                bool packs)
{
    struct column *column = &columns->c[number];
    if (packs) {
        uint64_t left = value;
        for (; left >= 128; left >>= 7)
            *column->at++ = (uint8_t)(left | 128);
        *column->at++ = (uint8_t)left;
        return value;
    }
    uint8_t first = column_byte(columns, number, 0, false);
    return first < 128 ? first : column_value_rest(columns, column, first & 127);
}

/* A number as the difference to an expected one. */
BOTH_WAYS uint64_t column_difference(struct columns *columns, enum column_number number, uint64_t value,
                                     uint64_t expected, bool packs)
{
    uint64_t folded = column_value(columns, number, packs ? fold(value - expected) : 0, packs);
    return packs ? value : expected + unfold(folded);
}

/* 'bytes' of a block. */
BOTH_WAYS void column_bytes(struct columns *columns, enum column_number number, uint8_t *bytes, size_t nbytes,
                            bool packs)
{
    struct column *column = &columns->c[number];
    if (packs)
        memcpy(column->at, bytes, nbytes);
    else if (nbytes <= (size_t)(column->end - column->at))
        memcpy(bytes, column->at, nbytes);
    else {
        columns->is_damaged = true;
        return;
    }
    column->at += nbytes;
}

/* Less than 32 bits. */
BOTH_WAYS uint64_t column_bits(struct columns *columns, uint64_t value, uint32_t count, bool packs)
{
    struct column *column = &columns->c[COLUMN_BITS];
    uint64_t word;
    if (packs) {
        columns->bits |= value << columns->bit_count;
        *(tbed_le64 *)column->at = tbed_le64_make(columns->bits);
    } else {
        word = tbed_le64_load(*(const tbed_le64 *)column->at);
        value = word >> columns->bit_count & ((UINT64_C(1) << count) - 1);
    }
    columns->bit_count += count;
    uint32_t nbytes = columns->bit_count >> 3;
    columns->bit_count &= 7;
    if (packs)
        columns->bits >>= nbytes * 8;
    else if (nbytes + (columns->bit_count > 0) > (size_t)(column->end - column->at)) {
        columns->is_damaged = true;
        return 0;
    }
    column->at += nbytes;
    return value;
}

#endif
