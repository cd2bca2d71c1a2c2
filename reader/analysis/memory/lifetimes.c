/*
 * Lifetimes of blocks; see lifetimes.h.
 *
 * SPDX-License-Identifier: MIT
 */
#include "reader/analysis/memory/lifetimes.h"

#include <stdlib.h>
#include <string.h>

bool tbed_lifetimes_grow(struct lifetimes *lifetimes, size_t room, size_t old_room)
{
    if (!lifetimes->is_kept)
        return true;
    struct lifetime *items = realloc(lifetimes->items, room * sizeof *items);
    if (items == NULL)
        return false;
    memset(items + old_room, 0, (room - old_room) * sizeof *items);
    lifetimes->items = items;
    return true;
}

void tbed_lifetimes_close(struct lifetimes *lifetimes, size_t count)
{
    for (size_t i = 0; lifetimes->items != NULL && i < count; i++)
        tbed_histogram_free(&lifetimes->histograms, &lifetimes->items[i].histogram);
    tbed_histograms_close(&lifetimes->histograms);
    free(lifetimes->items);
}

static uint64_t sum(uint64_t left, uint64_t right)
{
    return right > UINT64_MAX - left ? UINT64_MAX : left + right;
}

/* Ticks that a program gives may go back. */
void tbed_lifetimes_add(struct lifetimes *lifetimes, size_t site, uint64_t begin_tick, uint64_t end_tick)
{
    if (!lifetimes->is_kept)
        return;
    struct lifetime *lifetime = &lifetimes->items[site];
    uint64_t ticks = end_tick > begin_tick ? end_tick - begin_tick : 0;
    lifetime->count++;
    lifetime->total_ticks = sum(lifetime->total_ticks, ticks);
    lifetime->max_ticks = ticks > lifetime->max_ticks ? ticks : lifetime->max_ticks;
    if (!tbed_histogram_add(&lifetimes->histograms, &lifetime->histogram, ticks))
        lifetimes->is_out_of_memory = true;
}

void tbed_lifetimes_move(struct lifetimes *into, size_t into_site, struct lifetimes *from, size_t from_site)
{
    if (!into->is_kept)
        return;
    struct lifetime *to = &into->items[into_site], *of = &from->items[from_site];
    to->count += of->count;
    to->total_ticks = sum(to->total_ticks, of->total_ticks);
    to->max_ticks = of->max_ticks > to->max_ticks ? of->max_ticks : to->max_ticks;
    if (!tbed_histogram_merge(&into->histograms, &to->histogram, &of->histogram))
        into->is_out_of_memory = true;
}

/* The middle of a bucket may be above all values in it. */
static uint64_t percentile(const struct lifetime *lifetime, double fraction)
{
    uint64_t ticks = tbed_histogram_percentile(&lifetime->histogram, lifetime->count, fraction);
    return ticks < lifetime->max_ticks ? ticks : lifetime->max_ticks;
}

void tbed_lifetimes_fill(const struct lifetime *lifetime, struct tbed_allocation_site *site)
{
    if (lifetime->count == 0)
        return;
    site->lifetime_ticks = lifetime->total_ticks;
    site->lifetime_max_ticks = lifetime->max_ticks;
    site->lifetime_p50_ticks = percentile(lifetime, 0.5);
    site->lifetime_p99_ticks = percentile(lifetime, 0.99);
}
