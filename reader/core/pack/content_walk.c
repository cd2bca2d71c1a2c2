/*
 * String entries and records of a block, taken apart and put together; see unit_walk.h.
 *
 * SPDX-License-Identifier: MIT
 */
#include "reader/core/pack/unit_walk.h"

#include "format/checksum.h"
#include "format/layout.h"

/* ---- Strings ---- */

#define REFERENCE_NBYTES  4
#define REFERENCE_MARK    0x80u /* in the column of texts */
#define REFERENCE_BIT     0x80000000u
#define ENTRY_HEAD_NBYTES 8 /* before the content */

/* The bytes that a component's first byte begins, if it is text; a reference has the bits 10. */
static inline uint32_t text_nbytes(uint8_t first)
{
    return first < 0xC0 ? 1 : first < 0xE0 ? 2 : first < 0xF0 ? 3 : first < 0xF8 ? 4 : 1;
}

static inline bool is_reference(uint8_t first, uint32_t left)
{
    return (first & 0xC0) == 0x80 && left >= REFERENCE_NBYTES;
}

/* 0: to the last entry; else by the reference that had this place in the last entry. */
BOTH_WAYS uint32_t reference(struct unit_walk *walk, uint32_t id, uint32_t index, bool packs)
{
    struct walk_before *before = &walk->content;
    uint32_t *last = &before->references[index < WALK_REFERENCES ? index : WALK_REFERENCES - 1];
    uint64_t code = packs && id != before->entry ? 1 + fold((uint64_t)id - *last) : 0;
    code = column_value(&walk->columns, COLUMN_REFERENCE, code, packs);
    uint64_t value = code == 0 ? before->entry : *last + unfold(code - 1);
    if (value > TBED_ID_MAX)
        walk->columns.is_damaged = true;
    return *last = (uint32_t)value & TBED_ID_MAX;
}

static uint32_t big_endian_load(const uint8_t *at)
{
    return (uint32_t)at[0] << 24 | (uint32_t)at[1] << 16 | (uint32_t)at[2] << 8 | at[3];
}

static void big_endian_store(uint8_t *at, uint32_t value)
{
    at[0] = (uint8_t)(value >> 24);
    at[1] = (uint8_t)(value >> 16);
    at[2] = (uint8_t)(value >> 8);
    at[3] = (uint8_t)value;
}

#define REFERENCE_BIT 0x80000000u

/* How many bytes from 'at' on are ASCII. */
static size_t ascii_nbytes(const uint8_t *at, size_t left)
{
    size_t nbytes = 0;
    while (left - nbytes >= 8) {
        uint64_t high = walk_load(at + nbytes) & UINT64_C(0x8080808080808080);
        if (high != 0)
            return nbytes + (size_t)__builtin_ctzll(high) / 8;
        nbytes += 8;
    }
    while (nbytes < left && at[nbytes] < 0x80)
        nbytes++;
    return nbytes;
}

/* The text up to the next byte that is not ASCII; returns its size. */
BOTH_WAYS size_t content_ascii(struct unit_walk *walk, uint8_t *at, size_t left, bool packs)
{
    const struct column *column = &walk->columns.c[COLUMN_CONTENT];
    size_t there = packs ? left : (size_t)(column->end - column->at);
    size_t nbytes = ascii_nbytes(packs ? at : column->at, there < left ? there : left);
    column_bytes(&walk->columns, COLUMN_CONTENT, at, nbytes, packs);
    return nbytes;
}

BOTH_WAYS void content(struct unit_walk *walk, uint8_t *at, uint32_t nbytes, bool packs)
{
    struct columns *columns = &walk->columns;
    uint8_t *end = at + nbytes;
    uint32_t index = 0;
    while ((at += content_ascii(walk, at, (size_t)(end - at), packs)) < end) {
        uint8_t first = packs ? *at : 0;
        uint32_t left = (uint32_t)(end - at);
        bool is_id = packs && is_reference(first, left);
        first = column_byte(columns, COLUMN_CONTENT, is_id ? REFERENCE_MARK : first, packs);
        if (is_reference(first, left)) {
            uint32_t id = packs ? big_endian_load(at) & TBED_ID_MAX : 0;
            id = reference(walk, id, index++, packs);
            if (!packs)
                big_endian_store(at, REFERENCE_BIT | id);
            at += REFERENCE_NBYTES;
            continue;
        }
        uint32_t step = text_nbytes(first) < left ? text_nbytes(first) : left;
        if (!packs)
            *at = first;
        if (step > 1)
            column_bytes(columns, COLUMN_CONTENT, at + 1, step - 1, packs);
        at += step;
    }
}

/* An entry of which the first eight bytes and the padding are as they should be. */
static bool is_regular_entry(const uint8_t *at, const uint8_t *end)
{
    uint32_t nbytes = (uint32_t)walk_load(at);
    size_t room = (size_t)(end - at) - ENTRY_HEAD_NBYTES;
    return nbytes > 0 && nbytes <= room &&
           tbed_bytes_are_zero(at + ENTRY_HEAD_NBYTES + nbytes, tbed_round_up(nbytes, 8) - nbytes);
}

/* An entry; its number of bytes, or 0: the columns are damaged. */
BOTH_WAYS uint32_t entry(struct unit_walk *walk, uint8_t *at, const uint8_t *end, bool packs)
{
    struct columns *columns = &walk->columns;
    uint8_t *text = at + ENTRY_HEAD_NBYTES;
    uint32_t nbytes = packs ? (uint32_t)walk_load(at) : 0, hash = packs ? (uint32_t)(walk_load(at) >> 32) : 0;
    bool is_wrong = packs && tbed_string_hash(text, nbytes) != hash;
    uint64_t head = column_value(columns, COLUMN_ENTRY, (uint64_t)nbytes << 1 | is_wrong, packs);
    if (head >> 1 == 0 || head >> 1 > (size_t)(end - text))
        return 0;
    nbytes = (uint32_t)(head >> 1);
    is_wrong = head & 1;
    content(walk, text, nbytes, packs);
    if (!packs)
        hash = tbed_string_hash(text, nbytes);
    if (is_wrong)
        column_bytes(columns, COLUMN_HASH, (uint8_t *)&hash, sizeof hash, packs);
    uint32_t padded = (uint32_t)tbed_round_up(nbytes, 8);
    if (!packs) {
        walk_store(at, nbytes | (uint64_t)hash << 32);
        memset(text + nbytes, 0, padded - nbytes);
    }
    return ENTRY_HEAD_NBYTES + padded;
}

uint8_t *tbed_strings_pack(struct unit_walk *walk, uint8_t *at, uint8_t *end, uint32_t first_id)
{
    for (uint32_t nbytes; at < end && is_regular_entry(at, end); at += nbytes) {
        nbytes = entry(walk, at, end, true);
        walk->content.entry = first_id & TBED_ID_MAX;
        first_id += nbytes / 8;
    }
    return at;
}

bool tbed_strings_unpack(struct unit_walk *walk, uint8_t *at, uint8_t *end, uint32_t first_id)
{
    for (uint32_t nbytes; at < end; at += nbytes) {
        nbytes = entry(walk, at, end, false);
        if (nbytes == 0)
            return false;
        walk->content.entry = first_id & TBED_ID_MAX;
        first_id += nbytes / 8;
    }
    return true;
}

/* ---- Records ---- */

/* 32 bits, by an expected value. */
BOTH_WAYS uint32_t half(struct columns *columns, enum column_number number, uint32_t value, uint32_t expected,
                        bool packs)
{
    uint64_t difference = (uint64_t)(int64_t)(int32_t)(value - expected);
    return (uint32_t)column_difference(columns, number, expected + difference, expected, packs);
}

/* A word of a record, by 'expected'; what it is becomes the next expectation. */
BOTH_WAYS void record_word(struct unit_walk *walk, enum column_number low, enum column_number high,
                           uint8_t *at, uint32_t expected[2], bool packs)
{
    uint64_t word = packs ? walk_load(at) : 0;
    expected[0] = half(&walk->columns, low, (uint32_t)word, expected[0], packs);
    expected[1] = half(&walk->columns, high, (uint32_t)(word >> 32), expected[1], packs);
    if (!packs)
        walk_store(at, expected[0] | (uint64_t)expected[1] << 32);
}

static bool is_regular_size(uint64_t nbytes, const uint8_t *at, const uint8_t *end)
{
    return nbytes >= 8 && nbytes % 8 == 0 && nbytes <= (size_t)(end - at);
}

/* A record; its number of bytes, or 0: the columns are damaged. */
BOTH_WAYS uint32_t record(struct unit_walk *walk, uint8_t *at, const uint8_t *end, bool packs)
{
    uint32_t(*before)[2] = walk->content.words;
    record_word(walk, COLUMN_RECORD, COLUMN_RECORD, at, before[0], packs);
    uint32_t type = before[0][0], nbytes = before[0][1];
    if (!packs && !is_regular_size(nbytes, at, end))
        return 0;
    if (nbytes > 8)
        record_word(walk, COLUMN_RECORD, COLUMN_RECORD, at + 8, before[1], packs);
    for (uint32_t i = 16; i < nbytes; i += 8) {
        if (type == TBED_RECORD_STACKS) /* the caller is mostly the stack before */
            before[2][1] = before[1][0] + i / 8 - 3;
        record_word(walk, COLUMN_EVEN, COLUMN_ODD, at + i, before[2], packs);
    }
    return nbytes;
}

uint8_t *tbed_records_pack(struct unit_walk *walk, uint8_t *at, uint8_t *end)
{
    while (at < end && is_regular_size(walk_load(at) >> 32, at, end))
        at += record(walk, at, end, true);
    return at;
}

bool tbed_records_unpack(struct unit_walk *walk, uint8_t *at, uint8_t *end)
{
    for (uint32_t nbytes; at < end; at += nbytes) {
        nbytes = record(walk, at, end, false);
        if (nbytes == 0)
            return false;
    }
    return true;
}
