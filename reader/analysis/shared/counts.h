/*
 * Totals whose fields are all counts, so that they can be added up as arrays.
 *
 * SPDX-License-Identifier: MIT
 */
#ifndef TRACEBED_COUNTS_H
#define TRACEBED_COUNTS_H

#include <stddef.h>
#include <stdint.h>
#include <string.h>

static inline void tbed_counts_add(void *into, const void *from, size_t nbytes)
{
    for (size_t at = 0; at < nbytes; at += sizeof(uint64_t)) {
        uint64_t sum, more;
        memcpy(&sum, (const char *)into + at, sizeof sum);
        memcpy(&more, (const char *)from + at, sizeof more);
        sum += more;
        memcpy((char *)into + at, &sum, sizeof sum);
    }
}

/* 'into' and 'from' point to the same type of struct, which holds only counts. */
#define TBED_COUNTS_ADD(into, from)                                                                          \
    do {                                                                                                     \
        _Static_assert(sizeof *(into) % sizeof(uint64_t) == 0, "counts only");                               \
        _Static_assert(sizeof *(into) == sizeof *(from), "of one kind");                                     \
        tbed_counts_add(into, from, sizeof *(into));                                                         \
    } while (0)

#endif
