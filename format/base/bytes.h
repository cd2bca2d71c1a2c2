/*
 * Bytes on disk: little-endian fields that cannot be read natively by mistake.
 *
 * Not here: where the fields are (layout.h), what they mean (the check functions).
 *
 * SPDX-License-Identifier: MIT
 */
#ifndef TRACEBED_BYTES_H
#define TRACEBED_BYTES_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <string.h>

#include <tracebed/types.h>

/* Alignment 1, so a struct of them has no padding and needs no packing attribute. */
typedef struct {
    uint8_t b[2];
} tbed_le16;
typedef struct {
    uint8_t b[4];
} tbed_le32;
typedef struct {
    uint8_t b[8];
} tbed_le64;

/* Each is one unrolled expression, which gcc 12 and clang 14 compile to a single mov; they keep a loop as a loop. */
static inline uint16_t tbed_le16_load(tbed_le16 v)
{
    return (uint16_t)(v.b[0] | v.b[1] << 8);
}

static inline uint32_t tbed_le32_load(tbed_le32 v)
{
    return (uint32_t)v.b[0] | (uint32_t)v.b[1] << 8 | (uint32_t)v.b[2] << 16 | (uint32_t)v.b[3] << 24;
}

static inline uint64_t tbed_le64_load(tbed_le64 v)
{
    return (uint64_t)v.b[0] | (uint64_t)v.b[1] << 8 | (uint64_t)v.b[2] << 16 | (uint64_t)v.b[3] << 24 |
           (uint64_t)v.b[4] << 32 | (uint64_t)v.b[5] << 40 | (uint64_t)v.b[6] << 48 | (uint64_t)v.b[7] << 56;
}

static inline tbed_le16 tbed_le16_make(uint16_t v)
{
    return (tbed_le16){{(uint8_t)v, (uint8_t)(v >> 8)}};
}

static inline tbed_le32 tbed_le32_make(uint32_t v)
{
    return (tbed_le32){{(uint8_t)v, (uint8_t)(v >> 8), (uint8_t)(v >> 16), (uint8_t)(v >> 24)}};
}

static inline tbed_le64 tbed_le64_make(uint64_t v)
{
    return (tbed_le64){{(uint8_t)v, (uint8_t)(v >> 8), (uint8_t)(v >> 16), (uint8_t)(v >> 24),
                        (uint8_t)(v >> 32), (uint8_t)(v >> 40), (uint8_t)(v >> 48), (uint8_t)(v >> 56)}};
}

/* The integers at an address of any alignment. */
static inline uint32_t tbed_le32_at(const void *bytes)
{
    return tbed_le32_load(*(const tbed_le32 *)bytes);
}

static inline uint64_t tbed_le64_at(const void *bytes)
{
    return tbed_le64_load(*(const tbed_le64 *)bytes);
}

/* Words in a file are aligned to their size. On 32-bit machines, the alignment of uint64_t may be only 4. */
typedef uint64_t tbed_aligned_word __attribute__((aligned(8)));

/* Load words that a live writer may be storing at this moment: one acquire load, into a local. */
static inline uint64_t tbed_word_load(const void *word)
{
    return tbed_word_order(__atomic_load_n((const tbed_aligned_word *)word, __ATOMIC_ACQUIRE));
}

/* Raw words are in the order of the file. */
static inline uint64_t tbed_raw_word_load(const void *word)
{
    return __atomic_load_n((const tbed_aligned_word *)word, __ATOMIC_ACQUIRE);
}

static inline uint32_t tbed_word32_load(const void *word)
{
    return tbed_word32_order(__atomic_load_n((const uint32_t *)word, __ATOMIC_ACQUIRE));
}

static inline void tbed_word_store(void *word, uint64_t value)
{
    __atomic_store_n((tbed_aligned_word *)word, tbed_word_order(value), __ATOMIC_RELEASE);
}

static inline void tbed_word32_store(void *word, uint32_t value)
{
    __atomic_store_n((uint32_t *)word, tbed_word32_order(value), __ATOMIC_RELEASE);
}

static inline void tbed_raw_word_store(void *word, uint64_t raw)
{
    __atomic_store_n((tbed_aligned_word *)word, raw, __ATOMIC_RELEASE);
}

static inline bool tbed_bytes_are_zero(const void *bytes, size_t nbytes)
{
    const uint8_t *at = bytes;
    while (nbytes >= 8) {
        uint64_t word;
        memcpy(&word, at, 8);
        if (word != 0)
            return false;
        at += 8;
        nbytes -= 8;
    }
    for (; nbytes > 0; nbytes--)
        if (*at++ != 0)
            return false;
    return true;
}

static inline uint64_t tbed_round_up(uint64_t value, uint64_t power_of_two)
{
    return (value + power_of_two - 1) & ~(power_of_two - 1);
}

#endif
