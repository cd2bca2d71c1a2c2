/*
 * Durations counted in a log-linear histogram: 64 buckets per octave, so that a bucket's middle differs by at most
 * 1/128 from any value in it.
 *
 * A name that is rarely used has a short sorted list of its buckets, since a trace may have millions of names. If it is
 * used often, it gets a table of 32-bit counts from its lowest octave to its highest one, in which counting is one
 * increment. A count that leaves 32 bits gets a second half.
 *
 * SPDX-License-Identifier: MIT
 */
#ifndef TRACEBED_HISTOGRAM_H
#define TRACEBED_HISTOGRAM_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "reader/core/base/number_text.h"

#define TBED_HISTOGRAM_SUB_BITS 6
#define TBED_HISTOGRAM_SUBS     (1u << TBED_HISTOGRAM_SUB_BITS)
/* Octave 0 holds 0 … 63 exactly; octave n > 0 holds [2^(n+5), 2^(n+6)). */
#define TBED_HISTOGRAM_OCTAVES (64 - TBED_HISTOGRAM_SUB_BITS + 1)
#define TBED_HISTOGRAM_BUCKETS (TBED_HISTOGRAM_OCTAVES * TBED_HISTOGRAM_SUBS)

/* Must be zeroed before use: then it is an empty list. */
struct tbed_histogram {
    uint32_t *counts;      /* in a list: bucket << 20 | count */
    uint16_t first;        /* a table: the bucket of its first count; a list: the number of its entries */
    uint16_t bucket_count; /* of a table; 0: a list */
    uint16_t added;        /* to a list */
    uint8_t size_class;    /* of a list that is not empty */
    bool is_wide;          /* the table is followed by the upper halves of its counts */
};

/* Where histograms have their memory; must be zeroed before use. */
#define TBED_HISTOGRAM_CLASSES 18u
struct tbed_histograms {
    void *unused[TBED_HISTOGRAM_CLASSES]; /* lists of freed pieces */
    uint8_t *at, *end;                    /* the rest of the newest slab */
    struct histogram_slab *slabs, *oldest;
};

static inline unsigned tbed_histogram_bucket(uint64_t value)
{
    /* Below 128 the value is its own bucket; above, the seven leading bits, the first of which is always set, remain. */
    unsigned top = 63u ^ (unsigned)__builtin_clzll(value | (2 * TBED_HISTOGRAM_SUBS - 1));
    unsigned shift = top - TBED_HISTOGRAM_SUB_BITS;
    return shift * TBED_HISTOGRAM_SUBS + (unsigned)(value >> shift);
}

/* The bucket's count in a table; NULL: it has none yet. */
static inline uint32_t *tbed_histogram_place(const struct tbed_histogram *histogram, unsigned bucket)
{
    unsigned index = bucket - histogram->first;
    return index < histogram->bucket_count ? &histogram->counts[index] : NULL;
}

/* Adds to any bucket; all places may move. False: no memory; nothing was counted. */
bool tbed_histogram_count(struct tbed_histograms *all, struct tbed_histogram *histogram, unsigned bucket,
                          uint64_t count);

/* To be called when an increment of the bucket's place made it 0; all places may move. False: no memory. */
bool tbed_histogram_carry(struct tbed_histogram *histogram, unsigned bucket);

/* False: no memory; the value was not counted. */
static inline bool tbed_histogram_add(struct tbed_histograms *all, struct tbed_histogram *histogram,
                                      uint64_t value)
{
    unsigned bucket = tbed_histogram_bucket(value);
    uint32_t *place = tbed_histogram_place(histogram, bucket);
    if (__builtin_expect(place == NULL, 0))
        return tbed_histogram_count(all, histogram, bucket, 1);
    return __builtin_expect(++*place != 0, 1) || tbed_histogram_carry(histogram, bucket);
}

/* Moves the counts of 'from', which is left empty, to 'into'. False: no memory. */
bool tbed_histogram_merge(struct tbed_histograms *all, struct tbed_histogram *into,
                          struct tbed_histogram *from);

/*
 * How many of 'count' values are at or below the percentile: the fraction of them, rounded up, and 1 at least. 0.9 of 100 is 90
 * as a double, and more in a register that has more bits.
 */
static inline uint64_t tbed_percentile_rank(uint64_t count, double fraction)
{
    double wanted = tbed_as_double((double)count * fraction);
    uint64_t rank = (uint64_t)wanted;
    return rank + ((double)rank < wanted || rank == 0);
}

/*
 * The value that a 'fraction' (0 … 1) of all values are at or below; 'count' is the number of values added.
 */
uint64_t tbed_histogram_percentile(const struct tbed_histogram *histogram, uint64_t count, double fraction);

/* The same, but its bucket; and a bucket's middle, or its only value. */
unsigned tbed_histogram_percentile_bucket(const struct tbed_histogram *histogram, uint64_t count,
                                          double fraction);
uint64_t tbed_histogram_middle(unsigned bucket);

/* The next bucket that has a count, in ascending order; '*at' is 0 at first. False after the last. */
bool tbed_histogram_next(const struct tbed_histogram *histogram, unsigned *at, unsigned *bucket_ret,
                         uint64_t *count_ret);

/* Empties it. */
void tbed_histogram_free(struct tbed_histograms *all, struct tbed_histogram *histogram);

/* Takes over the memory of all histograms of 'from', which is left empty. */
void tbed_histograms_take(struct tbed_histograms *all, struct tbed_histograms *from);

/* Frees the memory. Every table must have been freed before. */
void tbed_histograms_close(struct tbed_histograms *all);

#endif
