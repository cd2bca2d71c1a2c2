/*
 * Words of the file that several processes change at once.
 *
 * SPDX-License-Identifier: MIT
 */
#ifndef TRACEBED_WRITER_SHARED_WORDS_H
#define TRACEBED_WRITER_SHARED_WORDS_H

#include "format/layout.h"

static inline uint64_t tbed_shared_load(const tbed_le64 *at)
{
    return __atomic_load_n((const uint64_t *)(const void *)at, __ATOMIC_ACQUIRE);
}

static inline uint64_t tbed_shared_add(tbed_le64 *at, uint64_t value)
{
    return __atomic_fetch_add((uint64_t *)(void *)at, value, __ATOMIC_ACQ_REL);
}

static inline bool tbed_shared_swap(tbed_le64 *at, uint64_t *expected, uint64_t value)
{
    return __atomic_compare_exchange_n((uint64_t *)(void *)at, expected, value, false, __ATOMIC_ACQ_REL,
                                       __ATOMIC_ACQUIRE);
}

#endif
