/*
 * A worker's table of ids; see name_table.h.
 *
 * SPDX-License-Identifier: MIT
 */
#include "reader/analysis/spans/name_table.h"

#include <stdlib.h>
#include <string.h>

enum tbed_status tbed_name_table_open(struct name_table *table)
{
    memset(table, 0, sizeof *table);
    table->root = calloc(NAME_ROOT_COUNT, sizeof *table->root);
    return table->root == NULL ? TBED_ERR_MEMORY : TBED_OK;
}

static void free_leaves(struct name_table *table)
{
    /* By the slots, not by the root: most of the root was never touched. */
    for (struct name_chunk *chunk = table->chunks; chunk != NULL; chunk = chunk->next) {
        for (uint32_t i = 0; i < chunk->used; i++) {
            if (chunk->slots[i].id > TBED_ID_MAX)
                continue; /* no id finds it */
            struct name_slot ***leaf = &table->root[chunk->slots[i].id >> NAME_LEAF_BITS];
            free(*leaf);
            *leaf = NULL;
        }
    }
}

void tbed_name_table_close(struct name_table *table)
{
    if (table->root != NULL)
        free_leaves(table);
    while (table->chunks != NULL) {
        struct name_chunk *chunk = table->chunks;
        table->chunks = chunk->next;
        for (uint32_t i = 0; i < chunk->used; i++)
            tbed_histogram_free(chunk->slots[i].histogram);
        free(chunk);
    }
    free(table->extras);
    free(table->root);
    memset(table, 0, sizeof *table);
}

static struct name_slot *new_slot(struct name_table *table)
{
    struct name_chunk *chunk = table->chunks;
    if (chunk == NULL || chunk->used == NAME_CHUNK_COUNT) {
        chunk = aligned_alloc(64, sizeof *chunk);
        if (chunk == NULL)
            return NULL;
        chunk->used = 0;
        chunk->next = table->chunks;
        table->chunks = chunk;
    }
    return &chunk->slots[chunk->used];
}

/* Takes the slot that new_slot() found. */
static struct name_slot *use_slot(struct name_table *table, struct name_slot *slot, uint32_t id)
{
    memset(slot, 0, sizeof *slot);
    slot->id = id;
    slot->min_ticks = UINT64_MAX;
    table->chunks->used++;
    table->slot_count++;
    return slot;
}

struct name_slot *tbed_name_table_add_loose(struct name_table *table, uint32_t id)
{
    struct name_slot *slot = new_slot(table);
    if (slot != NULL)
        return use_slot(table, slot, id);
    table->out_of_memory = true;
    return &table->spare;
}

/* Leaves nothing half made: the slot is counted only when its leaf is there. */
struct name_slot *tbed_name_table_add(struct name_table *table, uint32_t id)
{
    struct name_slot *slot = new_slot(table);
    struct name_slot ***leaf = &table->root[id >> NAME_LEAF_BITS];
    if (*leaf == NULL && slot != NULL)
        *leaf = calloc(NAME_LEAF_COUNT, sizeof **leaf);
    if (slot == NULL || *leaf == NULL) {
        table->out_of_memory = true;
        return &table->spare;
    }
    (*leaf)[id & (NAME_LEAF_COUNT - 1)] = slot;
    return use_slot(table, slot, id);
}

struct name_extra *tbed_name_table_extra(struct name_table *table, struct name_slot *slot)
{
    if (slot->extra != 0)
        return &table->extras[slot->extra - 1];
    if (table->extra_count == table->extra_room) {
        size_t room = table->extra_room == 0 ? 64 : table->extra_room * 2;
        struct name_extra *extras = realloc(table->extras, room * sizeof *extras);
        if (extras == NULL) {
            table->out_of_memory = true;
            return NULL;
        }
        table->extras = extras;
        table->extra_room = room;
    }
    memset(&table->extras[table->extra_count], 0, sizeof *table->extras);
    slot->extra = (uint32_t)++table->extra_count;
    return &table->extras[slot->extra - 1];
}

bool tbed_name_slot_start(struct name_table *table, struct name_slot *slot)
{
    slot->histogram = slot == &table->spare ? NULL : tbed_histogram_new();
    if (slot->histogram == NULL)
        table->out_of_memory = true;
    return slot->histogram != NULL;
}

static bool place_is_later(const struct name_place *place, const struct name_place *than)
{
    if (place->tick != than->tick)
        return place->tick > than->tick;
    if (place->block != than->block)
        return place->block > than->block;
    return place->word >= than->word;
}

void tbed_name_slot_counter(struct name_table *table, struct name_slot *slot, double value,
                            struct name_place place)
{
    struct name_extra *extra = tbed_name_table_extra(table, slot);
    if (extra == NULL)
        return;
    bool first = extra->counter_count++ == 0;
    extra->counter_min = first || value < extra->counter_min ? value : extra->counter_min;
    extra->counter_max = first || value > extra->counter_max ? value : extra->counter_max;
    if (first || place_is_later(&place, &extra->counter_place)) {
        extra->counter_last = value;
        extra->counter_place = place;
    }
}

static void merge_counters(struct name_extra *into, const struct name_extra *from)
{
    if (from->counter_count == 0)
        return;
    bool first = into->counter_count == 0;
    if (first || from->counter_min < into->counter_min)
        into->counter_min = from->counter_min;
    if (first || from->counter_max > into->counter_max)
        into->counter_max = from->counter_max;
    if (first || place_is_later(&from->counter_place, &into->counter_place)) {
        into->counter_last = from->counter_last;
        into->counter_place = from->counter_place;
    }
    into->counter_count += from->counter_count;
}

static void merge_extra(struct name_table *into, struct name_slot *slot, const struct name_extra *from)
{
    struct name_extra *extra = tbed_name_table_extra(into, slot);
    if (extra == NULL)
        return;
    extra->unknown_count += from->unknown_count;
    extra->open_count += from->open_count;
    for (size_t i = 0; i < 5; i++)
        extra->severity_counts[i] += from->severity_counts[i];
    merge_counters(extra, from);
}

static void merge_spans(struct name_table *into, struct name_slot *slot, const struct name_slot *from)
{
    if (from->count == 0 || (slot->histogram == NULL && !tbed_name_slot_start(into, slot)))
        return;
    slot->count += from->count;
    slot->total_ticks += from->total_ticks;
    slot->min_ticks = from->min_ticks < slot->min_ticks ? from->min_ticks : slot->min_ticks;
    slot->max_ticks = from->max_ticks > slot->max_ticks ? from->max_ticks : slot->max_ticks;
    if (!tbed_histogram_merge(slot->histogram, from->histogram))
        into->out_of_memory = true;
}

void tbed_name_table_merge_slot(struct name_table *into, struct name_slot *slot,
                                const struct name_table *from, const struct name_slot *from_slot)
{
    slot->self_ticks += from_slot->self_ticks;
    slot->instant_count += from_slot->instant_count;
    merge_spans(into, slot, from_slot);
    if (from_slot->extra != 0) {
        struct name_extra extra = from->extras[from_slot->extra - 1]; /* both tables may be one, and move */
        merge_extra(into, slot, &extra);
    }
}

void tbed_name_table_merge(struct name_table *into, const struct name_table *from)
{
    for (const struct name_chunk *chunk = from->chunks; chunk != NULL; chunk = chunk->next)
        for (uint32_t i = 0; i < chunk->used; i++) {
            const struct name_slot *slot = &chunk->slots[i];
            tbed_name_table_merge_slot(into, tbed_name_table_slot(into, slot->id), from, slot);
        }
    into->out_of_memory |= from->out_of_memory;
}
