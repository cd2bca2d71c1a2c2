/*
 * Durations counted in a log-linear histogram: 64 buckets per octave, so that a bucket's middle differs by at
 * most 1/128 from any value in it. Octaves are allocated when first hit, since the durations of one name span
 * few of them.
 *
 * SPDX-License-Identifier: MIT
 */
#ifndef TRACEBED_HISTOGRAM_H
#define TRACEBED_HISTOGRAM_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#define TBED_HISTOGRAM_SUB_BITS 6
#define TBED_HISTOGRAM_SUBS     (1u << TBED_HISTOGRAM_SUB_BITS)
/* Octave 0 holds 0 … 63 exactly; octave n > 0 holds [2^(n+5), 2^(n+6)). */
#define TBED_HISTOGRAM_OCTAVES (64 - TBED_HISTOGRAM_SUB_BITS + 1)

struct tbed_histogram {
    uint64_t *octaves[TBED_HISTOGRAM_OCTAVES];
};

/* Allocates the octave; NULL: no memory. */
uint64_t *tbed_histogram_grow(struct tbed_histogram *histogram, unsigned octave);

/* False: no memory; the value was not counted. */
static inline bool tbed_histogram_add(struct tbed_histogram *histogram, uint64_t value)
{
    unsigned top = 63u - (unsigned)__builtin_clzll(value | (TBED_HISTOGRAM_SUBS - 1));
    unsigned octave = top - (TBED_HISTOGRAM_SUB_BITS - 1);
    /* In octave 0 the value is its own bucket; above, the leading bit is dropped. */
    unsigned shift = octave - (octave != 0);
    uint64_t *counts = histogram->octaves[octave];
    if (__builtin_expect(counts == NULL, 0)) {
        counts = tbed_histogram_grow(histogram, octave);
        if (counts == NULL)
            return false;
    }
    counts[(value >> shift) & (TBED_HISTOGRAM_SUBS - 1)]++;
    return true;
}

/* Adds the counts of 'from'. False: no memory. */
bool tbed_histogram_merge(struct tbed_histogram *into, const struct tbed_histogram *from);

/* The value that a 'fraction' (0 … 1) of all values are at or below; 'count' is the number of values added. */
uint64_t tbed_histogram_percentile(const struct tbed_histogram *histogram, uint64_t count, double fraction);

struct tbed_histogram *tbed_histogram_new(void);
void tbed_histogram_free(struct tbed_histogram *histogram);

#endif
