/*
 * The sums of rows; see cells.h.
 *
 * SPDX-License-Identifier: MIT
 */
#include "reader/analysis/sums/cells.h"

#include <stdlib.h>
#include <string.h>

#define ROWS_MIN    64u
#define ROWS_DOUBLE 65536u /* up to here the room doubles; then it grows by half, to waste less */

bool tbed_stat_grow_cells(struct stat_cells *cells, uint32_t cell)
{
    uint32_t kind = cell >> STAT_CELL_ROW_BITS, row = stat_cell_row(cell), *old = &cells->rooms[kind];
    uint64_t room = *old == 0 ? ROWS_MIN : *old;
    if (row < *old)
        return true;
    while (room <= row)
        room += room < ROWS_DOUBLE ? room : room / 2;
    struct stat_cell *larger = room <= SIZE_MAX / sizeof *larger
                                   ? realloc(cells->of_kind[kind], (size_t)room * sizeof *larger)
                                   : NULL;
    cells->is_out_of_memory |= larger == NULL;
    if (larger == NULL)
        return false;
    memset(larger + *old, 0, (size_t)(room - *old) * sizeof *larger);
    cells->of_kind[kind] = larger;
    *old = (uint32_t)room;
    return true;
}

void tbed_stat_cells_clear(struct stat_cells *cells)
{
    for (unsigned kind = 0; kind < STAT_SPAN_KINDS; kind++) {
        for (uint32_t row = 0; row < cells->rooms[kind]; row++)
            tbed_histogram_free(&cells->histograms, &cells->of_kind[kind][row].histogram);
        if (cells->rooms[kind] > 0)
            memset(cells->of_kind[kind], 0, cells->rooms[kind] * sizeof *cells->of_kind[kind]);
    }
    tbed_histograms_close(&cells->histograms);
    cells->extra_count = 0;
    if (cells->extra_row_room > 0)
        memset(cells->extra_of_row, 0, cells->extra_row_room * sizeof *cells->extra_of_row);
}

void tbed_stat_cells_free(struct stat_cells *cells)
{
    tbed_stat_cells_clear(cells);
    for (unsigned kind = 0; kind < STAT_SPAN_KINDS; kind++)
        free(cells->of_kind[kind]);
    free(cells->extras);
    free(cells->extra_of_row);
}

/* ---- Extras ---- */

static bool grow_extra_rows(struct stat_cells *cells, uint32_t row)
{
    uint32_t old = cells->extra_row_room;
    if (row < old)
        return true;
    size_t room = (size_t)row + row / 2 + 64;
    uint32_t *larger = realloc(cells->extra_of_row, room * sizeof *larger);
    cells->is_out_of_memory |= larger == NULL;
    if (larger == NULL)
        return false;
    memset(larger + old, 0, (room - old) * sizeof *larger);
    cells->extra_of_row = larger;
    cells->extra_row_room = (uint32_t)room;
    return true;
}

struct stat_extra *tbed_stat_extra(struct stat_cells *cells, uint32_t row)
{
    if (!grow_extra_rows(cells, row))
        return NULL;
    if (cells->extra_of_row[row] != 0)
        return &cells->extras[cells->extra_of_row[row] - 1];
    if (cells->extra_count == cells->extra_room) {
        size_t room = cells->extra_room == 0 ? 64 : cells->extra_room * 2;
        struct stat_extra *extras = realloc(cells->extras, room * sizeof *extras);
        cells->is_out_of_memory |= extras == NULL;
        if (extras == NULL)
            return NULL;
        cells->extras = extras;
        cells->extra_room = room;
    }
    struct stat_extra *extra = &cells->extras[cells->extra_count++];
    memset(extra, 0, sizeof *extra);
    cells->extra_of_row[row] = (uint32_t)cells->extra_count;
    return extra;
}

const struct stat_extra *tbed_stat_extra_known(const struct stat_cells *cells, uint32_t row)
{
    uint32_t extra = row < cells->extra_row_room ? cells->extra_of_row[row] : 0;
    return extra != 0 ? &cells->extras[extra - 1] : NULL;
}

static bool is_later(const struct stat_place *place, const struct stat_place *than)
{
    if (place->tick != than->tick)
        return place->tick > than->tick;
    if (place->stream != than->stream)
        return place->stream > than->stream;
    return place->order >= than->order;
}

void tbed_stat_add_counter(struct stat_extra *extra, double value, struct stat_place place)
{
    bool is_first = extra->counter_count++ == 0;
    extra->counter_min = is_first || value < extra->counter_min ? value : extra->counter_min;
    extra->counter_max = is_first || value > extra->counter_max ? value : extra->counter_max;
    if (is_first || is_later(&place, &extra->counter_place)) {
        extra->counter_last = value;
        extra->counter_place = place;
    }
}

/* ---- Merging ---- */

static void add_counters(struct stat_extra *into, const struct stat_extra *from)
{
    if (from->counter_count == 0)
        return;
    bool is_first = into->counter_count == 0;
    if (is_first || from->counter_min < into->counter_min)
        into->counter_min = from->counter_min;
    if (is_first || from->counter_max > into->counter_max)
        into->counter_max = from->counter_max;
    if (is_first || is_later(&from->counter_place, &into->counter_place)) {
        into->counter_last = from->counter_last;
        into->counter_place = from->counter_place;
    }
    into->counter_count += from->counter_count;
}

void tbed_stat_extra_add(struct stat_extra *into, const struct stat_extra *from)
{
    into->unknown_count += from->unknown_count;
    into->off_cpu_ticks += from->off_cpu_ticks;
    into->open_count += from->open_count;
    into->hit_count += from->hit_count;
    into->counted_hits = stat_sum(into->counted_hits, from->counted_hits);
    into->hit_marks += from->hit_marks;
    into->artifact_value = stat_sum(into->artifact_value, from->artifact_value);
    into->artifact_count += from->artifact_count;
    add_counters(into, from);
}

void tbed_stat_cell_add(struct stat_cells *cells, struct stat_cell *into, struct stat_cell *from)
{
    into->max = from->max > into->max ? from->max : into->max;
    into->max_inverse = from->max_inverse > into->max_inverse ? from->max_inverse : into->max_inverse;
    into->count += from->count;
    into->total += from->total;
    into->self += from->self;
    into->instant_count += from->instant_count;
    cells->is_out_of_memory |= !tbed_histogram_merge(&cells->histograms, &into->histogram, &from->histogram);
}

static void add_kind(struct stat_cells *cells, struct stat_cells *from, enum stat_kind kind)
{
    uint32_t room = from->rooms[kind];
    if (room > 0 && !tbed_stat_grow_cells(cells, stat_cell_index(room - 1, kind)))
        return;
    for (uint32_t row = 0; row < room; row++) {
        struct stat_cell *cell = &from->of_kind[kind][row];
        if ((cell->count | cell->self | cell->instant_count) != 0)
            tbed_stat_cell_add(cells, &cells->of_kind[kind][row], cell);
    }
}

void tbed_stat_cells_add(struct stat_cells *cells, struct stat_cells *from)
{
    cells->is_out_of_memory |= from->is_out_of_memory;
    tbed_histograms_take(&cells->histograms, &from->histograms);
    for (unsigned kind = 0; kind < STAT_SPAN_KINDS; kind++)
        add_kind(cells, from, kind);
    for (uint32_t row = 0; row < from->extra_row_room; row++) {
        const struct stat_extra *known = tbed_stat_extra_known(from, row);
        struct stat_extra *extra = known != NULL ? tbed_stat_extra(cells, row) : NULL;
        if (extra != NULL)
            tbed_stat_extra_add(extra, known);
    }
}

void tbed_stat_cells_join(struct stat_cells *cells, uint32_t into, uint32_t from)
{
    const struct stat_extra *known = tbed_stat_extra_known(cells, from);
    for (unsigned kind = 0; kind < STAT_SPAN_KINDS; kind++) {
        if (from >= cells->rooms[kind] || !tbed_stat_grow_cells(cells, stat_cell_index(into, kind)))
            continue;
        struct stat_cell *cell = &cells->of_kind[kind][from];
        tbed_stat_cell_add(cells, &cells->of_kind[kind][into], cell);
        *cell = (struct stat_cell){.count = 0};
    }
    if (known == NULL)
        return;
    struct stat_extra copy = *known, *extra = tbed_stat_extra(cells, into);
    if (extra != NULL)
        tbed_stat_extra_add(extra, &copy);
    cells->extra_of_row[from] = 0;
}
