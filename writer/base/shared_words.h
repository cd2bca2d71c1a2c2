/*
 * Words of the file that several processes change at once.
 *
 * SPDX-License-Identifier: MIT
 */
#ifndef TRACEBED_WRITER_SHARED_WORDS_H
#define TRACEBED_WRITER_SHARED_WORDS_H

#include <tracebed/types.h>

#include "format/layout.h"

static inline uint64_t tbed_shared_load(const tbed_le64 *at)
{
    return tbed_word_order(__atomic_load_n((const tbed_word *)(const void *)at, __ATOMIC_ACQUIRE));
}

/* False: it was not '*expected', which then is what it was. */
static inline bool tbed_shared_swap(tbed_le64 *at, uint64_t *expected, uint64_t value)
{
    uint64_t raw = tbed_word_order(*expected);
    bool is_swapped = __atomic_compare_exchange_n((tbed_word *)(void *)at, &raw, tbed_word_order(value),
                                                  false, __ATOMIC_ACQ_REL, __ATOMIC_ACQUIRE);
    *expected = tbed_word_order(raw);
    return is_swapped;
}

/* Returns what it was. */
static inline uint64_t tbed_shared_add(tbed_le64 *at, uint64_t value)
{
    if (__BYTE_ORDER__ == __ORDER_LITTLE_ENDIAN__)
        return __atomic_fetch_add((tbed_word *)(void *)at, value, __ATOMIC_ACQ_REL);
    uint64_t now = tbed_shared_load(at);
    while (!tbed_shared_swap(at, &now, now + value)) {
    }
    return now;
}

#endif
