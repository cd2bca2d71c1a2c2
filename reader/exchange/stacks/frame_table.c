/*
 * Numbered frames; see frame_table.h.
 *
 * SPDX-License-Identifier: MIT
 */
#include "reader/exchange/stacks/frame_table.h"

#include "format/base/utf8.h"
#include "reader/core/names/id_info.h"

#define FRAMES_MAX  64u /* functions inlined at one place */
#define NAME_NBYTES 4096u

static uint64_t hash(const struct frame *frame)
{
    uint64_t names = ((uint64_t)frame->name << 32 | frame->file) * UINT64_C(0x9E3779B97F4A7C15);
    uint64_t key = (names ^ names >> 29) + frame->line * UINT64_C(0xD6E8FEB86659FD93);
    return key | 1;
}

uint32_t tbed_frame_table_put(struct frame_table *table, const struct frame *frame)
{
    uint64_t key = hash(frame);
    for (struct frame_slot *slot = TBED_HASHMAP_FIND(&table->slots, key); slot != NULL;
         slot = TBED_HASHMAP_FIND_MORE(&table->slots, slot)) {
        const struct frame *other = &table->frames.items[slot->number];
        if (other->name == frame->name && other->file == frame->file && other->line == frame->line)
            return slot->number;
    }
    struct frame *new_frame = table->frames.count < FRAME_NONE ? TBED_VECTOR_PUSH(&table->frames) : NULL;
    struct frame_slot *slot = new_frame != NULL ? TBED_HASHMAP_INSERT(&table->slots, key) : NULL;
    if (slot == NULL)
        return FRAME_NONE;
    *new_frame = *frame;
    slot->number = (uint32_t)table->frames.count - 1;
    return slot->number;
}

uint32_t tbed_frame_table_add(struct frame_table *table, const char *name, size_t name_nbytes,
                              const char *file, uint32_t line)
{
    file = file != NULL ? file : "";
    struct frame frame = {tbed_text_table_add(&table->texts, name, name_nbytes),
                          tbed_text_table_add(&table->texts, file, strlen(file)), line};
    if (frame.name == TEXT_TABLE_NONE || frame.file == TEXT_TABLE_NONE)
        return FRAME_NONE;
    return tbed_frame_table_put(table, &frame);
}

void tbed_frame_table_turn(struct frame_table *table, const struct tbed_reader *reader)
{
    table->reader = reader;
    TBED_HASHMAP_CLEAR(&table->places);
    table->lists.count = 0;
    table->ids.count = 0;
}

uint32_t tbed_frame_table_row(struct frame_table *table, const struct tbed_stack_row *row)
{
    if (row->depth == 0 || row->id == TBED_ID_INVALID)
        return tbed_frame_table_add(table, row->label, row->label_nbytes, NULL, 0);
    bool is_complete = true;
    struct tbed_id_info info = tbed_id_describe(table->reader, row->id, &is_complete);
    if (!is_complete)
        return FRAME_NONE;
    bool is_code = info.kind != TBED_ID_KIND_STRING && info.function != NULL && info.file != NULL;
    if (is_code)
        return tbed_frame_table_add(table, info.function, strlen(info.function), info.file, info.line);
    return tbed_frame_table_add(table, row->label, row->label_nbytes, info.file, info.line);
}

size_t tbed_frame_name(const struct tbed_reader *reader, uint32_t id, char *buffer, size_t room)
{
    size_t nbytes = tbed_id_spell(reader, id, TBED_NAME_ALL, buffer, room);
    return nbytes == TBED_NO_MEMORY || nbytes < room
               ? nbytes
               : tbed_utf8_cut_nbytes((const uint8_t *)buffer, room - 1);
}

/* A place of which nothing is known but its address, or a string. */
static uint32_t add_unknown(struct frame_table *table, uint32_t id, const char *file, uint32_t line)
{
    char name[NAME_NBYTES];
    size_t nbytes = tbed_frame_name(table->reader, id, name, sizeof name);
    return nbytes == SIZE_MAX ? FRAME_NONE : tbed_frame_table_add(table, name, nbytes, file, line);
}

static bool add_frames(struct frame_table *table, uint32_t id, struct frame_place *place)
{
    struct tbed_frame frames[FRAMES_MAX];
    struct tbed_location location;
    bool is_complete = true;
    size_t count = 0;
    if (tbed_location_resolve(table->reader, id, &location))
        count = tbed_place_frames(table->reader, &location, frames, FRAMES_MAX, &is_complete);
    if (!is_complete)
        return false;
    count = count < FRAMES_MAX ? count : FRAMES_MAX;
    if (count == 0)
        frames[count++] = (struct tbed_frame){0};
    for (size_t i = 0; i < count; i++) {
        const struct tbed_frame *frame = &frames[i];
        uint32_t *item = TBED_VECTOR_PUSH(&table->lists);
        uint32_t number = frame->function != NULL
                              ? tbed_frame_table_add(table, frame->function, strlen(frame->function),
                                                     frame->file, frame->line)
                              : add_unknown(table, id, frame->file, frame->line);
        if (item == NULL || number == FRAME_NONE)
            return false;
        *item = number;
    }
    place->count = (uint32_t)count;
    return true;
}

const struct frame_place *tbed_frame_table_place(struct frame_table *table, uint32_t id)
{
    uint64_t key = tbed_hashmap_key32(id);
    struct frame_place *found = TBED_HASHMAP_FIND(&table->places, key);
    if (found != NULL)
        return found;
    struct frame_place place = {key, table->lists.count, 0, (uint32_t)table->ids.count};
    uint32_t *item = TBED_VECTOR_PUSH(&table->ids);
    found = item != NULL && add_frames(table, id, &place) ? TBED_HASHMAP_ADD(&table->places, key) : NULL;
    if (found == NULL)
        return NULL;
    *item = id;
    *found = place;
    return found;
}

void tbed_frame_table_free(struct frame_table *table)
{
    tbed_text_table_free(&table->texts);
    tbed_vector_free(&table->frames.vector);
    tbed_hashmap_free(&table->slots.map);
    tbed_hashmap_free(&table->places.map);
    tbed_vector_free(&table->lists.vector);
    tbed_vector_free(&table->ids.vector);
    *table = (struct frame_table){0};
}
