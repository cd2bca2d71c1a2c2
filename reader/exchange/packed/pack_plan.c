/*
 * Which pages of a trace are packed together; see pack_plan.h.
 *
 * What is read when a trace is opened comes first, each kind in units of its own: the header page, the directory, cells,
 * records, strings, and pages that no reader knows. Then come the events, stream by stream, which is how they are read; a
 * stream has units of its own if it has enough blocks for one.
 *
 * SPDX-License-Identifier: MIT
 */
#define _GNU_SOURCE 1
#include "reader/exchange/packed/pack_plan.h"

#include "format/file/directory.h"

#include <stdlib.h>
#include <sys/mman.h>

struct planning {
    const struct tbed_reader *reader;
    struct pack_plan *plan;
    struct tbed_extent known;
    uint64_t page_count;
    uint8_t *taken; /* a byte a page, mostly untouched memory where the file has holes */
    uint32_t count_max;
    bool begins_unit; /* the next page does not go into the last unit */
    bool no_memory;
};

static bool is_hole(struct planning *planning, uint64_t page)
{
    const struct tbed_map *map = &planning->reader->map;
    uint64_t page_nbytes = planning->reader->header.page_nbytes, start = page * page_nbytes;
    uint64_t end = map->nbytes - start < page_nbytes ? map->nbytes : start + page_nbytes;
    return tbed_map_data_from(map, &planning->known, start) >= end;
}

static void add(struct planning *planning, uint64_t page)
{
    struct pack_plan *plan = planning->plan;
    if (page >= planning->page_count || planning->taken[page] || is_hole(planning, page))
        return;
    struct planned_unit *unit = plan->units.count > 0 ? &plan->units.items[plan->units.count - 1] : NULL;
    if (unit == NULL || planning->begins_unit || unit->count == planning->count_max)
        unit = TBED_VECTOR_PUSH(&plan->units);
    planning->no_memory |= unit == NULL;
    if (unit == NULL)
        return;
    planning->begins_unit = false;
    planning->taken[page] = 1;
    unit->pages[unit->count++] = (uint32_t)page;
}

static void add_directory(struct planning *planning)
{
    uint32_t page_nbytes = planning->reader->header.page_nbytes;
    uint64_t group = (uint64_t)tbed_directory_page_count(page_nbytes) + 1;
    for (uint64_t page = tbed_directory_first_count(page_nbytes); page < planning->page_count;) {
        uint64_t data =
            tbed_map_data_from(&planning->reader->map, &planning->known, page * page_nbytes) / page_nbytes;
        if (data == page)
            add(planning, page);
        page += data <= page ? group : (data - page + group - 1) / group * group;
    }
}

static void add_kind(struct planning *planning, enum tbed_block_kind kind)
{
    planning->begins_unit = true;
    for (size_t i = 0; i < planning->reader->index.lists[kind].count; i++)
        add(planning, tbed_index_at(&planning->reader->index, kind, i)->page);
}

/* Events of streams with few blocks share units. */
static void add_events(struct planning *planning)
{
    const struct tbed_index *index = &planning->reader->index;
    const struct tbed_stream_range *ranges = index->stream_ranges.items;
    bool was_long = true;
    for (size_t i = 0; i < index->stream_ranges.count; i++) {
        bool is_long = ranges[i].count >= planning->count_max;
        planning->begins_unit |= is_long || was_long;
        was_long = is_long;
        for (size_t j = 0; j < ranges[i].count; j++)
            add(planning, tbed_index_at(index, TBED_BLOCK_EVENTS, ranges[i].first + j)->page);
    }
}

static void add_others(struct planning *planning)
{
    uint32_t page_nbytes = planning->reader->header.page_nbytes;
    planning->begins_unit = true;
    for (uint64_t page = 0; page < planning->page_count; page++) {
        page = tbed_map_data_from(&planning->reader->map, &planning->known, page * page_nbytes) / page_nbytes;
        add(planning, page);
    }
}

/* Puts the units [from, middle) of events behind those from 'middle' on. */
static void put_events_last(struct planning *planning, size_t from, size_t middle)
{
    struct planned_unit *units = planning->plan->units.items;
    size_t count = planning->plan->units.count, events = middle - from, others = count - middle;
    struct planned_unit *copy = others > 0 ? malloc(others * sizeof *copy) : NULL;
    planning->no_memory |= others > 0 && copy == NULL;
    if (copy == NULL)
        return;
    memcpy(copy, units + middle, others * sizeof *copy);
    memmove(units + from + others, units + from, events * sizeof *copy);
    memcpy(units + from, copy, others * sizeof *copy);
    free(copy);
}

static void plan_all(struct planning *planning)
{
    struct pack_plan *plan = planning->plan;
    add(planning, 0);
    planning->begins_unit = true;
    add_directory(planning);
    add_kind(planning, TBED_BLOCK_CELLS);
    add_kind(planning, TBED_BLOCK_RECORDS);
    add_kind(planning, TBED_BLOCK_STRINGS);
    size_t from = plan->units.count;
    add_events(planning);
    size_t middle = plan->units.count;
    add_others(planning);
    if (!planning->no_memory)
        put_events_last(planning, from, middle);
}

enum tbed_status tbed_pack_plan_make(const struct tbed_reader *reader, struct pack_plan *plan_ret)
{
    *plan_ret = (struct pack_plan){0};
    struct planning planning = {.reader = reader, .plan = plan_ret};
    planning.page_count = (reader->map.nbytes - 1) / reader->header.page_nbytes + 1;
    planning.count_max = tbed_unit_count_max(reader->header.page_nbytes);
    planning.taken = mmap(NULL, (size_t)planning.page_count, PROT_READ | PROT_WRITE,
                          MAP_PRIVATE | MAP_ANONYMOUS | MAP_NORESERVE, -1, 0);
    if (planning.taken == MAP_FAILED)
        return TBED_ERR_MEMORY;
    plan_all(&planning);
    munmap(planning.taken, (size_t)planning.page_count);
    if (planning.no_memory)
        tbed_pack_plan_free(plan_ret);
    return planning.no_memory ? TBED_ERR_MEMORY : TBED_OK;
}

void tbed_pack_plan_free(struct pack_plan *plan)
{
    tbed_vector_free(&plan->units.vector);
}
