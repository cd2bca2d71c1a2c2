/*
 * The encodings of Parquet's pages; see parquet_encode.h.
 *
 * SPDX-License-Identifier: MIT
 */
#include "reader/exchange/columns/parquet/parquet_encode.h"

#include "reader/exchange/columns/parquet/thrift_put.h"

#define GROUP           8  /* values are packed in multiples of this */
#define PACKED_GROUPS   63 /* at most in a run, so that its header is one byte */
#define MINIBLOCK       32
#define MINIBLOCK_COUNT 4
#define BLOCK           (MINIBLOCK * MINIBLOCK_COUNT)

static void store_le(char *to, uint64_t value, size_t nbytes)
{
    for (size_t i = 0; i < nbytes; i++)
        to[i] = (char)(uint8_t)(value >> 8 * i);
}

void tbed_parquet_put_le32(struct tbed_text *to, uint32_t value)
{
    char bytes[4];
    store_le(bytes, value, sizeof bytes);
    tbed_text_put(to, bytes, sizeof bytes);
}

void tbed_parquet_put_le64(struct tbed_text *to, const uint64_t *values, size_t count)
{
    if (!tbed_text_reserve(to, count * 8))
        return;
    for (size_t i = 0; i < count; i++)
        store_le(to->bytes + to->nbytes + i * 8, values[i], 8);
    to->nbytes += count * 8;
}

unsigned tbed_parquet_width(uint64_t greatest)
{
    return greatest == 0 ? 0 : 64 - (unsigned)__builtin_clzll(greatest);
}

void tbed_parquet_put_bytes(struct tbed_text *to, const char *bytes, size_t nbytes)
{
    tbed_parquet_put_le32(to, (uint32_t)nbytes);
    tbed_text_put(to, bytes, nbytes);
}

/* ---- Packed bits ---- */

/* Values of 'width' bits, the first one in the lowest bits; 'count' is a multiple of 8, so that they fill bytes. */
static void put_packed(struct tbed_text *to, const uint64_t *values, size_t count, unsigned width)
{
    uint64_t bits = 0;
    unsigned have = 0;
    if (width == 0 || !tbed_text_reserve(to, count / 8 * width + 8))
        return;
    char *at = to->bytes + to->nbytes;
    for (size_t i = 0; i < count; i++) {
        uint64_t above = have > 0 ? values[i] >> (64 - have) : 0;
        bits |= values[i] << have;
        for (have += width; have >= 8; have -= 8, bits = bits >> 8 | above << 56, above >>= 8)
            *at++ = (char)(uint8_t)bits;
    }
    to->nbytes = (size_t)(at - to->bytes);
}

/* ---- Runs and packed groups ---- */

static size_t run_length(const uint64_t *values, size_t count)
{
    size_t length = 1;
    while (length < count && values[length] == values[0])
        length++;
    return length;
}

static void put_run(struct tbed_text *to, uint64_t value, size_t count, unsigned width)
{
    char bytes[4];
    tbed_thrift_varint(to, (uint64_t)count << 1);
    store_le(bytes, value, sizeof bytes);
    tbed_text_put(to, bytes, (width + 7) / 8);
}

/* 'count' is a multiple of 8, or what is left, which is padded with zeros. */
static void put_groups(struct tbed_text *to, const uint64_t *values, size_t count, unsigned width)
{
    uint64_t last[GROUP] = {0};
    size_t complete = count / GROUP * GROUP;
    tbed_thrift_varint(to, (uint64_t)((count + GROUP - 1) / GROUP) << 1 | 1);
    put_packed(to, values, complete, width);
    if (complete == count)
        return;
    memcpy(last, values + complete, (count - complete) * sizeof *values);
    put_packed(to, last, GROUP, width);
}

void tbed_parquet_put_hybrid(struct tbed_text *to, const uint64_t *values, size_t count, unsigned width)
{
    size_t start = 0, at = 0; /* those from start to at are not written yet: complete groups */
    while (at < count) {
        size_t length = run_length(values + at, count - at);
        if (length >= GROUP || at + length == count) {
            /* A run of at least 8 is worth it; values that complete a group may be part of one. */
            if (length < GROUP)
                break;
            if (at > start)
                put_groups(to, values + start, at - start, width);
            put_run(to, values[at], length, width);
            start = at += length;
            continue;
        }
        at += count - at < GROUP ? count - at : GROUP;
        if (at - start == PACKED_GROUPS * GROUP) {
            put_groups(to, values + start, at - start, width);
            start = at;
        }
    }
    if (count > start)
        put_groups(to, values + start, count - start, width);
}

/* ---- Differences ---- */

static void put_miniblock(struct tbed_text *to, const uint64_t *deltas, size_t count, uint64_t least,
                          unsigned width)
{
    uint64_t packed[MINIBLOCK] = {0};
    for (size_t i = 0; i < count; i++)
        packed[i] = deltas[i] - least;
    put_packed(to, packed, MINIBLOCK, width);
}

static void put_block(struct tbed_text *to, const uint64_t *deltas, size_t count)
{
    int64_t least = INT64_MAX;
    char widths[MINIBLOCK_COUNT] = {0};
    for (size_t i = 0; i < count; i++)
        least = (int64_t)deltas[i] < least ? (int64_t)deltas[i] : least;
    for (size_t i = 0; i < MINIBLOCK_COUNT; i++) {
        uint64_t any = 0;
        for (size_t j = i * MINIBLOCK; j < (i + 1) * MINIBLOCK && j < count; j++)
            any |= deltas[j] - (uint64_t)least;
        widths[i] = (char)tbed_parquet_width(any);
    }
    tbed_thrift_zigzag(to, least);
    tbed_text_put(to, widths, sizeof widths);
    for (size_t i = 0; i * MINIBLOCK < count; i++) {
        size_t left = count - i * MINIBLOCK;
        put_miniblock(to, deltas + i * MINIBLOCK, left < MINIBLOCK ? left : MINIBLOCK, (uint64_t)least,
                      (unsigned)widths[i]);
    }
}

void tbed_parquet_put_delta(struct tbed_text *to, const uint64_t *values, size_t count)
{
    uint64_t deltas[BLOCK];
    tbed_thrift_varint(to, BLOCK);
    tbed_thrift_varint(to, MINIBLOCK_COUNT);
    tbed_thrift_varint(to, count);
    tbed_thrift_zigzag(to, (int64_t)values[0]);
    for (size_t at = 1; at < count;) {
        size_t in_block = 0;
        for (; in_block < BLOCK && at < count; in_block++, at++)
            deltas[in_block] = values[at] - values[at - 1];
        put_block(to, deltas, in_block);
    }
}
