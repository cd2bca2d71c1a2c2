/*
 * How long blocks of memory lived: figures of each site of a heap, which are kept only if they are asked for.
 *
 * SPDX-License-Identifier: MIT
 */
#ifndef TRACEBED_LIFETIMES_H
#define TRACEBED_LIFETIMES_H

#include "reader/analysis/sums/histogram.h"
#include <tracebed/analysis.h>

struct lifetime {
    uint64_t count, total_ticks, max_ticks;
    struct tbed_histogram histogram;
};

struct lifetimes { /* zero: none are kept */
    struct lifetime *items;
    struct tbed_histograms histograms;
    bool is_kept, is_out_of_memory; /* once the latter is set, the figures are unusable */
};

/* Makes room for more sites than there are. False: no memory. */
bool tbed_lifetimes_grow(struct lifetimes *lifetimes, size_t room, size_t old_room);
void tbed_lifetimes_close(struct lifetimes *lifetimes, size_t count);

/* Adds a block to a site. */
void tbed_lifetimes_add(struct lifetimes *lifetimes, size_t site, uint64_t begin_tick, uint64_t end_tick);

/* Adds a site to another one, and empties it. Call tbed_histograms_take() before. */
void tbed_lifetimes_move(struct lifetimes *into, size_t into_site, struct lifetimes *from, size_t from_site);

void tbed_lifetimes_fill(const struct lifetime *lifetime, struct tbed_allocation_site *site);

#endif
