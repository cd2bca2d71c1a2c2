/*
 * Spans that have ended; see ended.h.
 *
 * SPDX-License-Identifier: MIT
 */
#include "reader/analysis/sums/ended.h"

#define AHEAD 16u /* counts that are on their way to the cache */

/* The counts to which one is to be added for each span; 'nowhere' if it has been done. */
struct counting {
    struct stat_cells *cells;
    const struct stat_ended *ended;
    uint32_t nowhere;
    uint32_t *places[STAT_ENDED_MAX];
};

/* The count of span 'at' has left its 32 bits. Its histogram moves, in which the counts up to 'end' may be, too. */
static __attribute__((noinline)) void carry(struct counting *counting, size_t at, size_t end)
{
    struct stat_cells *cells = counting->cells;
    const struct stat_ended *span = &counting->ended[at];
    cells->is_out_of_memory |=
        !tbed_histogram_carry(&stat_cell(cells, span->row)->histogram, tbed_histogram_bucket(span->ticks));
    for (size_t i = at + 1; i < end; i++) {
        span = &counting->ended[i];
        if (counting->places[i] != &counting->nowhere)
            counting->places[i] = tbed_histogram_place(&stat_cell(cells, span->row)->histogram,
                                                       tbed_histogram_bucket(span->ticks));
    }
}

static inline void count(struct counting *counting, size_t at, size_t end)
{
    if (__builtin_expect(++*counting->places[at] == 0, 0))
        carry(counting, at, end);
}

/* Counts span 'at', whose histogram has no place for it, and may move: those before it are counted first. */
static __attribute__((noinline)) void count_new(struct counting *counting, size_t at)
{
    struct stat_cells *cells = counting->cells;
    const struct stat_ended *span = &counting->ended[at];
    for (size_t i = at > AHEAD ? at - AHEAD : 0; i < at; i++) {
        count(counting, i, at);
        counting->places[i] = &counting->nowhere;
    }
    counting->places[at] = &counting->nowhere;
    cells->is_out_of_memory |= !tbed_histogram_count(
        &cells->histograms, &stat_cell(cells, span->row)->histogram, tbed_histogram_bucket(span->ticks), 1);
}

void tbed_stat_add_ended(struct stat_cells *cells, const struct stat_ended *ended, size_t ended_count)
{
    struct counting counting;
    struct stat_cell *base = cells->of_kind[STAT_OTHER];
    counting.cells = cells;
    counting.ended = ended;
    counting.nowhere = 0;
    const bool has_histograms = cells->has_histograms;
    for (size_t i = 0; i < ended_count; i++) {
        struct stat_cell *cell = &base[ended[i].row];
        cell->self += ended[i].self;
        stat_cell_add_sums(cell, ended[i].ticks);
        if (!has_histograms)
            continue;
        const struct tbed_histogram *histogram = &cell->histogram;
        unsigned index = tbed_histogram_bucket(ended[i].ticks) - histogram->first;
        if (__builtin_expect(index < histogram->bucket_count, 1)) {
            counting.places[i] = &histogram->counts[index];
            __builtin_prefetch(counting.places[i], 1);
        } else {
            count_new(&counting, i);
        }
        if (i >= AHEAD)
            count(&counting, i - AHEAD, i + 1);
    }
    if (!has_histograms)
        return;
    for (size_t i = ended_count > AHEAD ? ended_count - AHEAD : 0; i < ended_count; i++)
        count(&counting, i, ended_count);
}
