/*
 * Sums of a timeline; see part_sums.h.
 *
 * SPDX-License-Identifier: MIT
 */
#include "reader/analysis/timeline/part_sums.h"

#include "reader/analysis/shared/resolution.h"

#include <stdlib.h>

/* ---- Tables ---- */

static bool have_entry(struct part_table *table)
{
    if (table->count < table->room)
        return true;
    size_t room = table->room == 0 ? 64 : table->room * 2;
    struct part_entry *entries = realloc(table->entries, room * sizeof *entries);
    if (entries == NULL)
        return false;
    table->entries = entries;
    table->room = room;
    return true;
}

static void *add(struct part_table *table, uint32_t id, size_t part_count)
{
    void *parts = have_entry(table) ? calloc(part_count, table->item_nbytes) : NULL;
    if (parts == NULL || !tbed_number_map_add(&table->by_id, id, (uint32_t)table->count)) {
        free(parts);
        return NULL;
    }
    table->entries[table->count++] = (struct part_entry){id, parts};
    return parts;
}

void *tbed_part_table_get(struct part_table *table, uint32_t id, size_t part_count)
{
    if (table->last != NULL && table->last_id == id)
        return table->last;
    uint32_t at = tbed_number_map_find(&table->by_id, id);
    table->last = at != NUMBER_MAP_NONE ? table->entries[at].parts : add(table, id, part_count);
    table->last_id = id;
    return table->last;
}

void tbed_part_table_free(struct part_table *table)
{
    for (size_t i = 0; i < table->count; i++)
        free(table->entries[i].parts);
    free(table->entries);
    tbed_number_map_free(&table->by_id);
}

/* ---- Times ---- */

size_t tbed_parts_of(const struct parts *parts, uint64_t tick)
{
    uint64_t since = tick > parts->first_tick ? tick - parts->first_tick : 0;
    return since / parts->each < parts->count ? (size_t)(since / parts->each) : parts->count - 1;
}

uint64_t tbed_parts_tick(const struct parts *parts, size_t part)
{
    uint64_t tick;
    bool is_possible = !__builtin_mul_overflow(parts->each, part, &tick) &&
                       !__builtin_add_overflow(parts->first_tick, tick, &tick);
    return is_possible ? tick : UINT64_MAX;
}

void tbed_parts_add_time(const struct parts *parts, struct part_span *sums, uint64_t begin, uint64_t end)
{
    if (begin >= end)
        return;
    size_t first = tbed_parts_of(parts, begin), last = tbed_parts_of(parts, end);
    if (first == last) {
        sums[first].ticks += tbed_ticks_between(parts->resolution, begin, end);
        return;
    }
    sums[first].ticks += tbed_ticks_between(parts->resolution, begin, tbed_parts_tick(parts, first + 1));
    sums[last].ticks += tbed_ticks_between(parts->resolution, tbed_parts_tick(parts, last), end);
    sums[first + 1].full++;
    sums[last].full--;
}

void tbed_parts_settle(const struct parts *parts, struct part_span *sums)
{
    uint64_t full = 0;
    for (size_t i = 0; i < parts->count; i++) {
        full += sums[i].full;
        sums[i].full = 0;
        sums[i].ticks += full * tbed_ticks_between(parts->resolution, tbed_parts_tick(parts, i),
                                                   tbed_parts_tick(parts, i + 1));
    }
}

void tbed_part_spans_add(struct part_span *into, const struct part_span *from, size_t count)
{
    for (size_t i = 0; i < count; i++) {
        into[i].count += from[i].count;
        into[i].ticks += from[i].ticks;
        into[i].full += from[i].full;
    }
}

/* ---- Values ---- */

void tbed_part_value_take(struct part_value *sums, double value)
{
    sums->min = sums->count == 0 || value < sums->min ? value : sums->min;
    sums->max = sums->count == 0 || value > sums->max ? value : sums->max;
    sums->sum += value;
    sums->count++;
}

void tbed_part_values_add(struct part_value *into, const struct part_value *from, size_t count)
{
    for (size_t i = 0; i < count; i++) {
        if (from[i].count == 0)
            continue;
        bool is_first = into[i].count == 0;
        into[i].min = is_first || from[i].min < into[i].min ? from[i].min : into[i].min;
        into[i].max = is_first || from[i].max > into[i].max ? from[i].max : into[i].max;
        into[i].sum += from[i].sum;
        into[i].count += from[i].count;
    }
}
