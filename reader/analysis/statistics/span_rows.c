/*
 * Rows of spans, made in the memory of their cells: there may be millions, and a row is larger than a cell.
 *
 * SPDX-License-Identifier: MIT
 */
#include "reader/analysis/statistics/statistics_rows.h"

#include <stdlib.h>
#include <string.h>

#define NOWHERE UINT32_MAX

/* The sums of one label. */
struct row_sums {
    struct stat_cell cells[STAT_SPAN_KINDS], all;
    const struct stat_extra *extra;
};

static bool is_span(const struct stat_cells *cells, uint32_t row)
{
    const struct stat_extra *extra = tbed_stat_extra_known(cells, row);
    if (extra != NULL && (extra->unknown_count | extra->hit_count | extra->hit_marks) != 0)
        return true;
    for (unsigned kind = 0; kind < STAT_SPAN_KINDS; kind++)
        if (row < cells->rooms[kind] && cells->of_kind[kind][row].count != 0)
            return true;
    return false;
}

/* ---- Percentiles ---- */

/* Keeps all counts of a row's histogram. False: no memory. */
static bool keep_durations(struct stat_durations *durations, uint32_t place,
                           const struct tbed_histogram *histogram)
{
    unsigned at = 0, bucket;
    uint64_t count;
    durations->parts[place].first = durations->count;
    while (tbed_histogram_next(histogram, &at, &bucket, &count)) {
        if (durations->count == durations->room) {
            size_t room = durations->room * 2 + 256;
            struct tbed_duration_count *counts = realloc(durations->counts, room * sizeof *counts);
            if (counts == NULL)
                return false;
            durations->counts = counts;
            durations->room = room;
        }
        durations->counts[durations->count++] =
            (struct tbed_duration_count){tbed_histogram_middle(bucket), count};
    }
    durations->parts[place].count = durations->count - durations->parts[place].first;
    return true;
}

/*
 * Replaces the histograms of all kinds by the buckets of the row's percentiles, in the cell of this kind. 'durations' may be
 * NULL.
 */
static void settle_percentiles(struct stat_cells *cells, unsigned main_kind, uint32_t row, uint32_t place,
                               struct stat_durations *durations)
{
    static const double fractions[] = {0.5, 0.9, 0.99, 0.999};
    struct stat_cell *first = &cells->of_kind[main_kind][row];
    uint64_t count = first->count;
    uint16_t buckets[4] = {0};
    for (unsigned kind = 0; kind < STAT_SPAN_KINDS; kind++) {
        struct stat_cell *cell = row < cells->rooms[kind] ? &cells->of_kind[kind][row] : NULL;
        if (cell == NULL || kind == main_kind)
            continue;
        count += cell->count;
        cells->is_out_of_memory |=
            !tbed_histogram_merge(&cells->histograms, &first->histogram, &cell->histogram);
    }
    for (unsigned i = 0; i < 4 && first->histogram.counts != NULL; i++)
        buckets[i] = (uint16_t)(tbed_histogram_percentile_bucket(&first->histogram, count, fractions[i]) + 1);
    if (durations != NULL && first->histogram.counts != NULL)
        cells->is_out_of_memory |= !keep_durations(durations, place, &first->histogram);
    tbed_histogram_free(&cells->histograms, &first->histogram);
    memcpy(first->percentiles, buckets, sizeof buckets);
}

static uint64_t percentile(const struct stat_cell *all, uint64_t resolution, uint16_t bucket)
{
    if (bucket == 0)
        return 0;
    resolution = resolution > 0 ? resolution : 1;
    uint64_t ticks = tbed_histogram_middle(bucket - 1u);
    ticks = (ticks + resolution / 2) / resolution * resolution;
    ticks = ticks < stat_cell_min(all) ? stat_cell_min(all) : ticks;
    return ticks > all->max ? all->max : ticks;
}

/* ---- Figures ---- */

/* The value of a sum that should not be negative: a negative one becomes 0. */
static uint64_t settle(uint64_t signed_sum)
{
    return signed_sum > INT64_MAX ? 0 : signed_sum;
}

/* 'first' is the row's cell of the main kind, whose cells are being replaced. */
static void sum_row(const struct stat_cells *cells, uint32_t row, unsigned main_kind,
                    const struct stat_cell *first, struct row_sums *sums)
{
    static const struct stat_extra none;
    const struct stat_extra *extra = tbed_stat_extra_known(cells, row);
    struct stat_cell *all = &sums->all;
    *sums = (struct row_sums){.extra = extra != NULL ? extra : &none};
    for (unsigned kind = 0; kind < STAT_SPAN_KINDS; kind++) {
        const struct stat_cell *cell = first;
        if (kind != main_kind)
            cell = row < cells->rooms[kind] ? &cells->of_kind[kind][row] : NULL;
        if (cell == NULL)
            continue;
        sums->cells[kind] = *cell;
        all->max = cell->max > all->max ? cell->max : all->max;
        all->max_inverse = cell->max_inverse > all->max_inverse ? cell->max_inverse : all->max_inverse;
        all->count += cell->count;
        all->total += cell->total;
        all->self += cell->self;
    }
    memcpy(all->percentiles, first->percentiles, sizeof first->percentiles);
}

static void fill_kinds(const struct row_sums *sums, struct tbed_span_row *row)
{
    const struct stat_cell *cells = sums->cells;
    row->time_ticks = row->total_ticks - cells[STAT_HASHING].total;
    row->invocation_count = cells[STAT_OTHER].count + cells[STAT_QUERY].count;
    row->cache_misses = cells[STAT_QUERY].count;
    row->cache_hits = stat_sum(sums->extra->hit_count, sums->extra->counted_hits);
    row->blocked_ticks = cells[STAT_BLOCKED].total;
    row->load_ticks = settle(cells[STAT_LOAD].self);
    row->hashing_ticks = settle(cells[STAT_HASHING].self);
}

static void fill_row(const struct row_sums *sums, const struct stat_label *label, uint64_t resolution,
                     struct tbed_span_row *row)
{
    const struct stat_cell *all = &sums->all;
    memset(row, 0, sizeof *row); /* with the padding, for those who compare rows */
    row->name = label->text;
    row->name_nbytes = label->nbytes;
    row->count = all->count;
    row->unknown_count = sums->extra->unknown_count;
    row->off_cpu_ticks = sums->extra->off_cpu_ticks;
    row->open_count = sums->extra->open_count;
    row->total_ticks = all->total;
    row->self_ticks = settle(all->self);
    row->min_ticks = stat_cell_min(all);
    row->max_ticks = all->max;
    row->p50_ticks = percentile(all, resolution, all->percentiles[0]);
    row->p90_ticks = percentile(all, resolution, all->percentiles[1]);
    row->p99_ticks = percentile(all, resolution, all->percentiles[2]);
    row->p999_ticks = percentile(all, resolution, all->percentiles[3]);
    fill_kinds(sums, row);
}

/* ---- All rows ---- */

/*
 * Replaces the cells of a kind by the rows of the same numbers, as far as they have a place. From the last to the first, since
 * the cells from the current one on have been used where its row is put. NULL: no memory.
 */
static struct tbed_span_row *expand(struct stat_maker *maker, struct stat_cells *cells, unsigned main_kind,
                                    const uint32_t *places)
{
    uint32_t label_count = maker->labels.count, known_count = cells->rooms[main_kind];
    known_count = known_count < label_count ? known_count : label_count;
    struct tbed_span_row *rows = realloc(cells->of_kind[main_kind], label_count * sizeof *rows);
    if (rows == NULL)
        free(cells->of_kind[main_kind]); /* they have no histograms any more */
    cells->of_kind[main_kind] = NULL;
    cells->rooms[main_kind] = 0;
    for (uint32_t row = label_count; row-- > 0 && rows != NULL;) {
        const struct stat_label *label = &maker->labels.rows[row];
        struct stat_cell first = {.count = 0};
        struct row_sums sums;
        if (places[row] == NOWHERE)
            continue;
        if (row < known_count)
            memcpy(&first, (const char *)rows + row * sizeof first, sizeof first);
        sum_row(cells, row, main_kind, &first, &sums);
        maker->workers[0].totals.negative_count += sums.all.self > INT64_MAX;
        fill_row(&sums, label, cells->resolution, &rows[row]);
        rows[row].id = stat_label_id(maker, label);
        rows[row].part = stat_label_part(maker, label);
    }
    return rows;
}

/* Moves each row to its place, and cuts off the others. */
static struct tbed_span_row *arrange(struct tbed_span_row *rows, uint32_t *places, uint32_t label_count,
                                     size_t count)
{
    for (uint32_t row = 0; row < label_count; row++)
        while (places[row] != NOWHERE && places[row] != row) {
            uint32_t place = places[row];
            struct tbed_span_row moved = rows[place];
            rows[place] = rows[row];
            rows[row] = moved;
            places[row] = places[place];
            places[place] = place;
        }
    struct tbed_span_row *cut = realloc(rows, count * sizeof *rows);
    return cut != NULL ? cut : rows;
}

/* The kind that most rows have. */
static unsigned find_main_kind(const struct stat_cells *cells)
{
    unsigned main_kind = 0;
    for (unsigned kind = 1; kind < STAT_SPAN_KINDS; kind++)
        if (cells->rooms[kind] > cells->rooms[main_kind])
            main_kind = kind;
    return main_kind;
}

bool tbed_stat_make_span_rows(struct stat_maker *maker, struct stat_cells *cells, const uint32_t *order,
                              uint32_t order_count, struct tbed_span_row **rows_ret, size_t *count_ret,
                              struct stat_durations *durations)
{
    uint32_t count = 0, label_count = maker->labels.count, last = 0;
    unsigned main_kind = find_main_kind(cells);
    uint32_t *places = malloc(label_count * sizeof *places);
    if (places == NULL)
        return false;
    memset(places, 0xFF, label_count * sizeof *places);
    for (uint32_t i = 0; i < order_count; i++) {
        if (!is_span(cells, order[i]))
            continue;
        places[order[i]] = count++;
        last = order[i] > last ? order[i] : last;
    }
    bool fine = count == 0 || tbed_stat_grow_cells(cells, stat_cell_index(last, main_kind));
    if (durations != NULL) {
        durations->parts = calloc((size_t)count + 1, sizeof *durations->parts);
        durations->part_count = durations->parts != NULL ? count : 0;
        fine &= durations->parts != NULL;
    }
    if (count > 0 && fine) {
        for (uint32_t row = 0; row < label_count; row++)
            if (places[row] != NOWHERE)
                settle_percentiles(cells, main_kind, row, places[row], durations);
        tbed_histograms_close(&cells->histograms);
        *rows_ret = expand(maker, cells, main_kind, places);
        fine = *rows_ret != NULL;
    }
    if (count > 0 && fine)
        *rows_ret = arrange(*rows_ret, places, label_count, count);
    *count_ret = fine ? count : 0;
    free(places);
    return fine && !cells->is_out_of_memory;
}
