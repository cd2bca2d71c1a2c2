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
    return __atomic_load_n((const tbed_word *)(const void *)at, __ATOMIC_ACQUIRE);
}

static inline uint64_t tbed_shared_add(tbed_le64 *at, uint64_t value)
{
    return __atomic_fetch_add((tbed_word *)(void *)at, value, __ATOMIC_ACQ_REL);
}

static inline bool tbed_shared_swap(tbed_le64 *at, uint64_t *expected, uint64_t value)
{
    return __atomic_compare_exchange_n((tbed_word *)(void *)at, expected, value, false, __ATOMIC_ACQ_REL,
                                       __ATOMIC_ACQUIRE);
}

#endif
