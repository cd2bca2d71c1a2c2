/*
 * The sums of rows; see cells.h.
 *
 * SPDX-License-Identifier: MIT
 */
#include "reader/analysis/sums/cells.h"

#include <stdlib.h>
#include <string.h>

bool tbed_stat_grow_cells(struct stat_cells *cells, uint32_t cell)
{
    uint64_t room = cells->room == 0 ? 64 * STAT_SPAN_KINDS : cells->room;
    if (cell < cells->room)
        return true;
    while (room <= cell)
        room *= 2;
    struct stat_cell *larger = room <= UINT32_MAX ? realloc(cells->cells, room * sizeof *larger) : NULL;
    cells->is_out_of_memory |= larger == NULL;
    if (larger == NULL)
        return false;
    memset(larger + cells->room, 0, (room - cells->room) * sizeof *larger);
    cells->cells = larger;
    cells->room = (uint32_t)room;
    return true;
}

bool tbed_stat_start_histogram(struct stat_cells *cells, struct stat_cell *cell)
{
    cell->histogram = tbed_histogram_new();
    cells->is_out_of_memory |= cell->histogram == NULL;
    return cell->histogram != NULL;
}

void tbed_stat_cells_clear(struct stat_cells *cells)
{
    for (uint32_t i = 0; i < cells->room; i++)
        tbed_histogram_free(cells->cells[i].histogram);
    if (cells->room > 0)
        memset(cells->cells, 0, cells->room * sizeof *cells->cells);
    cells->extra_count = 0;
}

void tbed_stat_cells_free(struct stat_cells *cells)
{
    tbed_stat_cells_clear(cells);
    free(cells->cells);
    free(cells->extras);
}

/* ---- Extras ---- */

struct stat_extra *tbed_stat_extra(struct stat_cells *cells, uint32_t row)
{
    uint32_t cell = stat_cell_index(row, STAT_OTHER);
    if (!tbed_stat_grow_cells(cells, cell))
        return NULL;
    if (cells->cells[cell].extra != 0)
        return &cells->extras[cells->cells[cell].extra - 1];
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
    cells->cells[cell].extra = (uint32_t)cells->extra_count;
    return extra;
}

const struct stat_extra *tbed_stat_extra_known(const struct stat_cells *cells, uint32_t row)
{
    uint32_t cell = stat_cell_index(row, STAT_OTHER);
    uint32_t extra = cell < cells->room ? cells->cells[cell].extra : 0;
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
    into->open_count += from->open_count;
    into->hit_count += from->hit_count;
    into->counted_hits = stat_sum(into->counted_hits, from->counted_hits);
    into->hit_marks += from->hit_marks;
    into->artifact_value = stat_sum(into->artifact_value, from->artifact_value);
    into->artifact_count += from->artifact_count;
    add_counters(into, from);
}

static void add_histogram(struct stat_cells *cells, struct stat_cell *into, struct stat_cell *from)
{
    if (from->histogram == NULL)
        return;
    if (into->histogram != NULL) {
        cells->is_out_of_memory |= !tbed_histogram_merge(into->histogram, from->histogram);
        tbed_histogram_free(from->histogram);
    } else {
        into->histogram = from->histogram;
    }
    from->histogram = NULL;
}

void tbed_stat_cell_add(struct stat_cells *cells, struct stat_cell *into, struct stat_cell *from)
{
    into->max = from->max > into->max ? from->max : into->max;
    into->max_inverse = from->max_inverse > into->max_inverse ? from->max_inverse : into->max_inverse;
    into->count += from->count;
    into->total += from->total;
    into->children += from->children;
    into->instant_count += from->instant_count;
    add_histogram(cells, into, from);
}

void tbed_stat_cells_add(struct stat_cells *cells, struct stat_cells *from)
{
    cells->is_out_of_memory |= from->is_out_of_memory;
    if (from->room > 0 && !tbed_stat_grow_cells(cells, from->room - 1))
        return;
    for (uint32_t i = 0; i < from->room; i++) {
        struct stat_cell *cell = &from->cells[i];
        if ((cell->count | cell->children | cell->instant_count) != 0)
            tbed_stat_cell_add(cells, &cells->cells[i], cell);
        struct stat_extra *extra = cell->extra != 0 ? tbed_stat_extra(cells, i / STAT_SPAN_KINDS) : NULL;
        if (extra != NULL)
            tbed_stat_extra_add(extra, &from->extras[cell->extra - 1]);
    }
}
