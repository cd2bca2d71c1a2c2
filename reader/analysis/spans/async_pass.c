/*
 * Asynchronous spans; see async_pass.h.
 *
 * SPDX-License-Identifier: MIT
 */
#include "reader/analysis/spans/async_pass.h"

#include "reader/analysis/spans/span_scan.h"

#include <stdlib.h>

/* A span that is open. Those of one id and key form a list, the newest first. */
struct async_open {
    uint64_t key, begin_tick;
    uint32_t id;
    uint32_t older; /* index + 1, 0: none. Of a free one: the next free one */
};

struct async_table {
    struct async_open *opens;
    uint32_t *places; /* hash table of index + 1 of the newest ones */
    size_t open_room, place_count, used_places;
    size_t open_used;
    uint32_t free_list;
};

static size_t async_hash(uint32_t id, uint64_t key)
{
    uint64_t hash = (key ^ (uint64_t)id << 32 ^ id) * 0x9E3779B97F4A7C15u;
    return (size_t)(hash ^ hash >> 29);
}

/* The place that holds (id, key), or the free one where it belongs. */
static size_t find_place(const struct async_table *table, uint32_t id, uint64_t key)
{
    size_t place = async_hash(id, key) & (table->place_count - 1);
    for (;; place = (place + 1) & (table->place_count - 1)) {
        uint32_t at = table->places[place];
        if (at == 0 || (table->opens[at - 1].id == id && table->opens[at - 1].key == key))
            return place;
    }
}

/* Closes the hole at 'hole': what stands after it and does not belong there moves up. */
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

/* An unused one, by index + 1; 0: no memory. */
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
                                               .older = table->places[place]};
    table->places[place] = at;
    return true;
}

/* False: none was open. */
static bool end_async(struct async_table *table, const struct tbed_event *event, uint64_t *begin_tick_ret)
{
    if (table->place_count == 0)
        return false;
    size_t place = find_place(table, event->id, event->of.async.key);
    uint32_t at = table->places[place];
    if (at == 0)
        return false;
    struct async_open *open = &table->opens[at - 1];
    *begin_tick_ret = open->begin_tick;
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

static bool take_async(struct async_table *table, struct name_table *names, const struct tbed_event *event)
{
    if (event->type == TBED_EVENT_ASYNC_BEGIN)
        return begin_async(table, event);
    if (event->type != TBED_EVENT_ASYNC_END)
        return true;
    struct name_slot *slot = tbed_name_table_slot(names, event->id);
    uint64_t begin_tick;
    if (end_async(table, event, &begin_tick)) {
        tbed_name_slot_end(names, slot, event->tick > begin_tick ? event->tick - begin_tick : 0);
        return true;
    }
    struct name_extra *extra = tbed_name_table_extra(names, slot);
    if (extra != NULL)
        extra->unknown_count++;
    return extra != NULL;
}

static void count_async_open(const struct async_table *table, struct name_table *names)
{
    for (size_t i = 0; i < table->place_count; i++)
        for (uint32_t at = table->places[i]; at != 0; at = table->opens[at - 1].older) {
            struct name_slot *slot = tbed_name_table_slot(names, table->opens[at - 1].id);
            struct name_extra *extra = tbed_name_table_extra(names, slot);
            if (extra != NULL)
                extra->open_count++;
        }
}

uint32_t *tbed_marked_streams(struct tbed_reader *reader, const uint8_t *block_marks, size_t block_count,
                              uint8_t mark, size_t *count_ret)
{
    uint32_t *streams = NULL;
    size_t count = 0, room = 0;
    for (size_t i = 0; i < block_count; i++) {
        struct tbed_block block;
        if (!(block_marks[i] & mark) || tbed_event_block_get(reader, i, &block) != TBED_OK ||
            (count > 0 && streams[count - 1] == block.stream))
            continue;
        if (count == room) {
            room = room == 0 ? 16 : room * 2;
            uint32_t *more = realloc(streams, room * sizeof *more);
            if (more == NULL) {
                free(streams);
                return NULL;
            }
            streams = more;
        }
        streams[count++] = block.stream;
    }
    *count_ret = count;
    return streams;
}

static enum tbed_status merge_async(struct tbed_merge *merge, struct name_table *names)
{
    struct async_table table = {0};
    struct tbed_event event;
    bool fine = true;
    while (fine && tbed_merge_next(merge, &event) == TBED_OK)
        fine = take_async(&table, names, &event);
    if (fine)
        count_async_open(&table, names);
    free(table.opens);
    free(table.places);
    return fine && !names->out_of_memory ? TBED_OK : TBED_ERR_MEMORY;
}

enum tbed_status tbed_async_pass(struct tbed_reader *reader, const uint8_t *block_marks, size_t block_count,
                                 struct name_table *names)
{
    struct tbed_merge *merge;
    size_t stream_count = 0;
    uint32_t *streams = tbed_marked_streams(reader, block_marks, block_count, SPAN_MARK_ASYNC, &stream_count);
    if (streams == NULL)
        return TBED_ERR_MEMORY;
    enum tbed_status status = tbed_merge_open(reader, streams, stream_count, &merge);
    if (status == TBED_OK) {
        status = merge_async(merge, names);
        tbed_merge_close(merge);
    }
    free(streams);
    return status;
}
