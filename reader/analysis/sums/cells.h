/*
 * The sums behind the statistics: cells of spans, by row and kind, and extras for figures that few rows have.
 *
 * Each worker has its own cells, so that no event takes a lock. Row numbers are shared by all workers.
 *
 * SPDX-License-Identifier: MIT
 */
#ifndef TRACEBED_CELLS_H
#define TRACEBED_CELLS_H

#include "reader/analysis/shared/resolution.h"
#include "reader/analysis/sums/histogram.h"

#include <tracebed/analysis.h>

/* By the text of a category. The first ones are categories of spans, with their own cells in a row. */
enum stat_kind {
    STAT_OTHER,
    STAT_QUERY, /* Query, GenericActivity */
    STAT_BLOCKED,
    STAT_LOAD,
    STAT_HASHING,
    STAT_SPAN_KINDS,
    STAT_HIT = STAT_SPAN_KINDS,
    STAT_HIT_COUNT,
    STAT_ARTIFACT,
};

/* The spans of one row and kind; one cache line. 'instant_count' is used in a row's first cell only. */
struct stat_cell {
    uint64_t count, total;
    uint64_t self;             /* 'total' less the ticks of the spans' children: may be negative */
    uint64_t max, max_inverse; /* the minimum is ~max_inverse, so that a zeroed cell is a valid start */
    union {
        struct tbed_histogram histogram;
        uint16_t percentiles[4]; /* buckets + 1, 0: none; when rows are made from the cells */
    };
    uint64_t instant_count;
};
_Static_assert(sizeof(struct stat_cell) == 64 || sizeof(void *) < 8, "one cache line");

/*
 * The position of an event, to decide which is last and which follows: by order in a stream, by tick between
 * streams.
 */
struct stat_place {
    uint64_t stream, order, tick;
};

/* Figures that few rows have. */
struct stat_extra {
    uint64_t unknown_count, open_count, off_cpu_ticks;
    uint64_t hit_count;               /* instants QueryCacheHit */
    uint64_t counted_hits, hit_marks; /* sum and number of QueryCacheHitCount */
    uint64_t mark_hint;               /* tbed_stat_mark() */
    uint64_t artifact_value, artifact_count;
    uint64_t counter_count;
    double counter_last, counter_min, counter_max;
    struct stat_place counter_place;
};

/*
 * Must be zeroed before use. The cells of a kind are an array by row, which is empty as long as no span has this kind: few
 * traces have any but STAT_OTHER.
 */
struct stat_cells {
    struct stat_cell *of_kind[STAT_SPAN_KINDS];
    uint32_t rooms[STAT_SPAN_KINDS];
    struct tbed_histograms histograms;
    struct stat_extra *extras;
    size_t extra_count, extra_room;
    uint32_t *extra_of_row; /* index of the row's extra + 1; 0: none */
    uint32_t extra_row_room;
    uint64_t resolution; /* ticks; times are rounded down to it before durations are computed */
    bool has_histograms;
    bool is_out_of_memory; /* once set, the sums are unusable */
};

/* Rows have 28 bits. The number of a row's first cell is that of the row. */
#define STAT_CELL_ROW_BITS 28

static inline uint32_t stat_cell_index(uint32_t row, enum stat_kind kind)
{
    return (uint32_t)kind << STAT_CELL_ROW_BITS | row;
}

static inline uint32_t stat_cell_row(uint32_t cell)
{
    return cell & ((1u << STAT_CELL_ROW_BITS) - 1);
}

/* Whether there is room for the cell. */
static inline bool stat_cell_exists(const struct stat_cells *cells, uint32_t cell)
{
    return stat_cell_row(cell) < cells->rooms[cell >> STAT_CELL_ROW_BITS];
}

/* A cell that exists. */
static inline struct stat_cell *stat_cell(const struct stat_cells *cells, uint32_t cell)
{
    return &cells->of_kind[cell >> STAT_CELL_ROW_BITS][stat_cell_row(cell)];
}

/* Makes room for the cell. False: no memory. */
bool tbed_stat_grow_cells(struct stat_cells *cells, uint32_t cell);
void tbed_stat_cells_free(struct stat_cells *cells);
void tbed_stat_cells_clear(struct stat_cells *cells); /* keeps the allocated room */

/* The row's extra, created on the first call; valid until the next one is created. NULL: no memory. */
struct stat_extra *tbed_stat_extra(struct stat_cells *cells, uint32_t row);

/* The row's extra if it has one; else NULL. */
const struct stat_extra *tbed_stat_extra_known(const struct stat_cells *cells, uint32_t row);

void tbed_stat_add_counter(struct stat_extra *extra, double value, struct stat_place place);

/* Adds all of 'from', and takes over its histograms. */
void tbed_stat_cells_add(struct stat_cells *cells, struct stat_cells *from);

/* Adds one row to another one, and empties it. */
void tbed_stat_cells_join(struct stat_cells *cells, uint32_t into, uint32_t from);

/* Add one cell, taking over its histogram, and one extra. */
void tbed_stat_cell_add(struct stat_cells *cells, struct stat_cell *into, struct stat_cell *from);
void tbed_stat_extra_add(struct stat_extra *into, const struct stat_extra *from);

/* Saturating addition. */
static inline uint64_t stat_sum(uint64_t left, uint64_t right)
{
    return right > UINT64_MAX - left ? UINT64_MAX : left + right;
}

static inline void stat_cell_add_sums(struct stat_cell *cell, uint64_t ticks)
{
    cell->count++;
    cell->total += ticks;
    if (__builtin_expect(ticks > cell->max, 0))
        cell->max = ticks;
    if (__builtin_expect(~ticks > cell->max_inverse, 0))
        cell->max_inverse = ~ticks;
}

/* Adds a span of 'ticks' to the cell, which must exist. */
static inline void stat_cell_end(struct stat_cells *cells, struct stat_cell *cell, uint64_t ticks)
{
    stat_cell_add_sums(cell, ticks);
    if (cells->has_histograms &&
        __builtin_expect(!tbed_histogram_add(&cells->histograms, &cell->histogram, ticks), 0))
        cells->is_out_of_memory = true;
}

/* The shortest span of the cell; 0: it has none. */
static inline uint64_t stat_cell_min(const struct stat_cell *cell)
{
    return cell->count > 0 ? ~cell->max_inverse : 0;
}

#endif
