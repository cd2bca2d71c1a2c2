/*
 * Asynchronous spans; see async_pass.h.
 *
 * SPDX-License-Identifier: MIT
 */
#include "reader/analysis/statistics/async_pass.h"

#include "reader/analysis/assembly/neighbours.h"
#include "reader/analysis/filter/filter.h"
#include "reader/analysis/statistics/maker.h"
#include "reader/core/file/gateway.h"

#include <stdlib.h>

/* An open span. Spans with the same id and key form a list, the newest first. */
struct async_open {
    uint64_t key, begin_tick;
    uint32_t id, stream, category;
    uint32_t older; /* index + 1, 0: none. In an unused entry: the next unused one */
};

struct async_table {
    struct async_open *opens;
    uint32_t *places; /* hash table of index + 1 of the newest span in each list */
    size_t open_room, place_count, used_places;
    size_t open_used;
    uint32_t free_list;
};

static size_t async_hash(uint32_t id, uint64_t key)
{
    uint64_t hash = (key ^ (uint64_t)id << 32 ^ id) * 0x9E3779B97F4A7C15u;
    return (size_t)(hash ^ hash >> 29);
}

/* The slot that holds (id, key), or the free slot where it belongs. */
static size_t find_place(const struct async_table *table, uint32_t id, uint64_t key)
{
    size_t place = async_hash(id, key) & (table->place_count - 1);
    for (;; place = (place + 1) & (table->place_count - 1)) {
        uint32_t at = table->places[place];
        if (at == 0 || (table->opens[at - 1].id == id && table->opens[at - 1].key == key))
            return place;
    }
}

/* Closes the hole at 'hole' by moving up the following entries that are not in their home slot. */
static void close_hole(struct async_table *table, size_t hole)
{
    size_t mask = table->place_count - 1;
    table->used_places--;
    for (size_t at = (hole + 1) & mask; table->places[at] != 0; at = (at + 1) & mask) {
        const struct async_open *open = &table->opens[table->places[at] - 1];
        size_t home = async_hash(open->id, open->key) & mask;
        if (((at - home) & mask) >= ((at - hole) & mask)) {
            table->places[hole] = table->places[at];
            hole = at;
        }
    }
    table->places[hole] = 0;
}

static bool grow_places(struct async_table *table)
{
    size_t old_count = table->place_count;
    uint32_t *old = table->places;
    size_t count = old_count == 0 ? 256 : old_count * 2;
    uint32_t *places = calloc(count, sizeof *places);
    if (places == NULL)
        return false;
    table->places = places;
    table->place_count = count;
    for (size_t i = 0; i < old_count; i++)
        if (old[i] != 0) {
            const struct async_open *open = &table->opens[old[i] - 1];
            places[find_place(table, open->id, open->key)] = old[i];
        }
    free(old);
    return true;
}

/* An unused entry, by index + 1; 0: no memory. */
static uint32_t take_open(struct async_table *table)
{
    uint32_t at = table->free_list;
    if (at != 0) {
        table->free_list = table->opens[at - 1].older;
        return at;
    }
    if (table->open_used == table->open_room) {
        size_t room = table->open_room == 0 ? 256 : table->open_room * 2;
        struct async_open *opens = room < UINT32_MAX ? realloc(table->opens, room * sizeof *opens) : NULL;
        if (opens == NULL)
            return 0;
        table->opens = opens;
        table->open_room = room;
    }
    return (uint32_t)++table->open_used;
}

static bool begin_async(struct async_table *table, const struct tbed_event *event)
{
    if (table->used_places * 2 >= table->place_count && !grow_places(table))
        return false;
    uint32_t at = take_open(table);
    if (at == 0)
        return false;
    size_t place = find_place(table, event->id, event->of.async.key);
    table->used_places += table->places[place] == 0;
    table->opens[at - 1] = (struct async_open){.key = event->of.async.key,
                                               .begin_tick = event->tick,
                                               .id = event->id,
                                               .stream = event->stream,
                                               .category = event->category,
                                               .older = table->places[place]};
    table->places[place] = at;
    return true;
}

/* False: none was open. */
static bool end_async(struct async_table *table, const struct tbed_event *event, struct async_open *open_ret)
{
    if (table->place_count == 0)
        return false;
    size_t place = find_place(table, event->id, event->of.async.key);
    uint32_t at = table->places[place];
    if (at == 0)
        return false;
    struct async_open *open = &table->opens[at - 1];
    *open_ret = *open;
    table->places[place] = open->older;
    if (open->older == 0) {
        open->older = table->free_list;
        table->free_list = at;
        close_hole(table, place);
        return true;
    }
    open->older = table->free_list;
    table->free_list = at;
    return true;
}

/* Returns whether the filter takes the span and it does not go on beyond its window. */
static bool count_span(struct stat_worker *worker, struct stat_cells *cells, const struct async_open *open,
                       uint64_t end_tick)
{
    uint64_t begin_tick = open->begin_tick;
    bool is_cut;
    if (!tbed_filter_takes_span(worker->maker->source->filter, open->stream, open->id, open->category,
                                &begin_tick, &end_tick, &is_cut))
        return false;
    uint32_t cell = stat_cell_index(stat_row(worker, open->id) & STAT_ROW_MAX, STAT_OTHER);
    if (tbed_stat_grow_cells(cells, cell))
        stat_cell_end(cells, stat_cell(cells, cell),
                      tbed_ticks_between(cells->resolution, begin_tick, end_tick));
    return !is_cut;
}

/* Adds the event to the cells. False: no memory. */
static bool take_async(struct async_table *table, struct stat_worker *worker, struct stat_cells *cells,
                       const struct tbed_event *event)
{
    const struct tbed_filter *filter = worker->maker->source->filter;
    struct async_open open;
    if (event->type == TBED_EVENT_ASYNC_BEGIN)
        return !tbed_filter_takes_event(filter, event) || begin_async(table, event);
    if (event->type != TBED_EVENT_ASYNC_END)
        return true;
    if (end_async(table, event, &open)) {
        count_span(worker, cells, &open, event->tick);
        return true;
    }
    if (!tbed_filter_takes_unknown(filter, event->stream, event->id, event->tick))
        return true;
    struct stat_extra *extra = tbed_stat_extra(cells, stat_row(worker, event->id) & STAT_ROW_MAX);
    if (extra != NULL)
        extra->unknown_count++;
    return extra != NULL;
}

/* A span that never ended lasts until the last tick of the stream that it began in. */
static void count_open(const struct async_table *table, struct stat_worker *worker, struct stat_cells *cells)
{
    const struct tbed_reader *reader = worker->maker->source->reader;
    for (size_t i = 0; i < table->place_count; i++)
        for (uint32_t at = table->places[i]; at != 0; at = table->opens[at - 1].older) {
            const struct async_open *open = &table->opens[at - 1];
            uint64_t last_tick = tbed_stream_last_tick(reader, open->stream, open->begin_tick);
            uint32_t row = stat_row(worker, open->id) & STAT_ROW_MAX;
            struct stat_extra *extra = tbed_stat_extra(cells, row);
            if (count_span(worker, cells, open, last_tick) && extra != NULL)
                extra->open_count++;
        }
}

static bool merge_async(struct tbed_merge *merge, struct stat_worker *worker, struct stat_cells *cells)
{
    struct async_table table = {0};
    struct tbed_event event;
    enum tbed_status status = TBED_OK;
    bool fine = true;
    while (fine && (status = tbed_merge_next(merge, &event)) == TBED_OK)
        fine = take_async(&table, worker, cells, &event);
    fine = fine && status == TBED_END;
    if (fine)
        count_open(&table, worker, cells);
    free(table.opens);
    free(table.places);
    return fine && !cells->is_out_of_memory && !worker->out_of_memory;
}

/*
 * The streams of the blocks that have asynchronous spans, each once: blocks are numbered by stream. NULL: no
 * memory.
 */
static uint32_t *list_streams(const struct stat_maker *maker, size_t *count_ret)
{
    uint32_t *streams = malloc(sizeof *streams);
    size_t count = 0, room = 1;
    for (size_t i = 0; streams != NULL && i < maker->source->chunk_count; i++) {
        struct tbed_block block;
        if (!(maker->chunk_marks[i] & STAT_CHUNK_HAS_ASYNCS) ||
            tbed_event_block_look(maker->source->reader, maker->source->blocks[i], &block) != TBED_OK ||
            (count > 0 && streams[count - 1] == block.stream))
            continue;
        if (count == room) {
            uint32_t *more = realloc(streams, (room *= 2) * sizeof *more);
            if (more == NULL)
                free(streams);
            streams = more;
        }
        if (streams != NULL)
            streams[count++] = block.stream;
    }
    *count_ret = count;
    return streams;
}

bool tbed_async_pass(struct stat_worker *worker, struct stat_cells *cells)
{
    struct tbed_merge *merge;
    size_t count = 0;
    if (worker->totals.async_event_count == 0)
        return true;
    uint32_t *streams = list_streams(worker->maker, &count);
    bool fine =
        streams != NULL && tbed_merge_open(worker->maker->source->reader, streams, count, &merge) == TBED_OK;
    free(streams);
    if (!fine)
        return false;
    tbed_filter_limit_merge(worker->maker->source->filter, merge);
    fine = merge_async(merge, worker, cells);
    tbed_merge_close(merge);
    return fine;
}
