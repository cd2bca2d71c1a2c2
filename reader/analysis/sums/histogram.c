/*
 * The slow half of the histogram; see histogram.h.
 *
 * SPDX-License-Identifier: MIT
 */
#include "reader/analysis/sums/histogram.h"

#include <stdlib.h>

struct tbed_histogram *tbed_histogram_new(void)
{
    return calloc(1, sizeof(struct tbed_histogram));
}

void tbed_histogram_free(struct tbed_histogram *histogram)
{
    if (histogram == NULL)
        return;
    for (unsigned i = 0; i < TBED_HISTOGRAM_OCTAVES; i++)
        free(histogram->octaves[i]);
    free(histogram);
}

uint64_t *tbed_histogram_grow(struct tbed_histogram *histogram, unsigned octave)
{
    histogram->octaves[octave] = calloc(TBED_HISTOGRAM_SUBS, sizeof(uint64_t));
    return histogram->octaves[octave];
}

bool tbed_histogram_merge(struct tbed_histogram *into, const struct tbed_histogram *from)
{
    for (unsigned octave = 0; octave < TBED_HISTOGRAM_OCTAVES; octave++) {
        const uint64_t *counts = from->octaves[octave];
        if (counts == NULL)
            continue;
        if (into->octaves[octave] == NULL && tbed_histogram_grow(into, octave) == NULL)
            return false;
        for (unsigned sub = 0; sub < TBED_HISTOGRAM_SUBS; sub++)
            into->octaves[octave][sub] += counts[sub];
    }
    return true;
}

/* The middle of the bucket, or its only value. */
static uint64_t bucket_middle(unsigned octave, unsigned sub)
{
    if (octave <= 1)
        return octave * TBED_HISTOGRAM_SUBS + sub;
    unsigned shift = octave - 1;
    uint64_t low = (uint64_t)(TBED_HISTOGRAM_SUBS + sub) << shift;
    return low + ((uint64_t)1 << (shift - 1));
}

uint64_t tbed_histogram_percentile(const struct tbed_histogram *histogram, uint64_t count, double fraction)
{
    double wanted = (double)count * fraction;
    uint64_t rank = (uint64_t)wanted;
    rank += (double)rank < wanted || rank == 0; /* round up: the rank-th smallest, from 1 */
    uint64_t seen = 0, value = 0;
    for (unsigned octave = 0; octave < TBED_HISTOGRAM_OCTAVES; octave++) {
        const uint64_t *counts = histogram->octaves[octave];
        for (unsigned sub = 0; counts != NULL && sub < TBED_HISTOGRAM_SUBS; sub++) {
            if (counts[sub] == 0)
                continue;
            value = bucket_middle(octave, sub);
            seen += counts[sub];
            if (seen >= rank)
                return value;
        }
    }
    return value;
}
