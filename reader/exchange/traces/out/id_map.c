/*
 * What the ids of a trace are in a new trace; see id_map.h.
 *
 * A string gets its place, and so its id, when it is first asked for; its content is copied later, because it refers to other
 * strings. The content keeps its size: a reference takes four bytes.
 *
 * SPDX-License-Identifier: MIT
 */
#include "reader/exchange/traces/out/id_map.h"

#include "format/checksum.h"
#include "format/string.h"
#include "reader/core/strings/string_table.h"

#include <errno.h>

/* ---- Pages ---- */

static uint32_t *used_of_last(struct strings_out *strings)
{
    return &strings->used.items[strings->used.count - 1];
}

static bool add_page(struct strings_out *strings)
{
    struct trace_file *file = strings->file;
    struct tbed_block_fields fields = {.kind = TBED_BLOCK_STRINGS,
                                       .stream = strings->stream,
                                       .sequence = strings->page_count,
                                       .string_page = strings->page_count};
    uint8_t *page = malloc(file->page_nbytes);
    bool has_room = TBED_VECTOR_RESERVE(&strings->pages, strings->pages.count + 1) &&
                    TBED_VECTOR_RESERVE(&strings->used, strings->used.count + 1);
    if (page == NULL || !has_room) {
        free(page);
        tbed_trace_file_fail(file, TBED_ERR_MEMORY, ENOMEM);
        return false;
    }
    if ((uint64_t)(strings->page_count + 1) * file->page_nbytes >
        (uint64_t)(TBED_ID_MAX - TBED_ID_METADATA) * 8)
        tbed_trace_file_fail(file, TBED_ERR_WRITE, EFBIG);
    tbed_trace_file_begin(file, page, &fields);
    strings->page_count++;
    strings->pages.items[strings->pages.count++] = page;
    strings->used.items[strings->used.count++] = TBED_BLOCK_HEADER_NBYTES;
    return true;
}

/* The place of a new entry; NULL: it is too large, or the file has failed. */
static uint8_t *take_place(struct strings_out *strings, uint32_t nbytes, uint32_t *id_ret)
{
    uint64_t entry_nbytes = tbed_string_entry_nbytes(nbytes);
    uint32_t page_nbytes = strings->file->page_nbytes;
    if (entry_nbytes > page_nbytes - TBED_BLOCK_HEADER_NBYTES) {
        strings->dropped_count++;
        return NULL;
    }
    if (strings->pages.count == 0 || entry_nbytes > page_nbytes - *used_of_last(strings))
        if (!add_page(strings))
            return NULL;
    uint32_t *used = used_of_last(strings);
    uint8_t *place = strings->pages.items[strings->pages.count - 1] + *used;
    *id_ret = tbed_string_id_make(strings->page_count - 1, page_nbytes, *used);
    *used += (uint32_t)entry_nbytes;
    strings->string_count++;
    return place;
}

static void end_pages(struct strings_out *strings, size_t count)
{
    for (size_t i = 0; i < count; i++) {
        tbed_trace_file_end(strings->file, strings->pages.items[i], strings->used.items[i], 0, 0);
        free(strings->pages.items[i]);
    }
    strings->pages.count -= count;
    strings->used.count -= count;
    for (size_t i = 0; i < strings->pages.count; i++) {
        strings->pages.items[i] = strings->pages.items[i + count];
        strings->used.items[i] = strings->used.items[i + count];
    }
}

/* ---- Entries ---- */

/* The content is there already. */
static void store_head(uint8_t *place, uint32_t nbytes)
{
    struct tbed_disk_string head = {
        tbed_le32_make(nbytes), tbed_le32_make(tbed_string_hash(place + TBED_STRING_HEAD_NBYTES, nbytes))};
    memcpy(place, &head, sizeof head);
}

/* Copies the content with the references of the new trace. It has been checked. */
static void copy_content(struct strings_out *strings, const struct waiting_string *waiting)
{
    struct tbed_string_entry entry;
    struct tbed_content_component component;
    uint32_t at = 0;
    if (tbed_string_find_near(waiting->source->reader, waiting->id, &waiting->source->near, &entry) !=
        TBED_OK)
        return;
    uint8_t *content = waiting->place + TBED_STRING_HEAD_NBYTES;
    memcpy(content, entry.content, entry.nbytes);
    for (uint32_t from = 0; tbed_content_next(entry.content, entry.nbytes, &at, &component) == TBED_OK;
         from = at)
        if (component.is_reference) {
            uint32_t id = UINT32_C(0x80000000) | tbed_id_map(strings, waiting->source, component.id);
            for (unsigned i = 0; i < 4; i++)
                content[from + i] = (uint8_t)(id >> (24 - 8 * i));
        }
    store_head(waiting->place, entry.nbytes);
}

static uint32_t add_string(struct strings_out *strings, struct id_map *source, uint32_t id)
{
    struct tbed_string_entry entry;
    uint32_t new_id = TBED_ID_INVALID;
    if (tbed_string_find_near(source->reader, id, &source->near, &entry) == TBED_OK &&
        tbed_content_check(entry.content, entry.nbytes) == TBED_OK) {
        uint8_t *place = take_place(strings, entry.nbytes, &new_id);
        struct waiting_string *waiting = place != NULL ? TBED_VECTOR_PUSH(&strings->waiting) : NULL;
        if (waiting != NULL)
            *waiting = (struct waiting_string){source, id, place};
        else if (place != NULL)
            tbed_trace_file_fail(strings->file, TBED_ERR_MEMORY, ENOMEM);
    }
    if (!tbed_number_map_add(&source->strings, id, new_id))
        tbed_trace_file_fail(strings->file, TBED_ERR_MEMORY, ENOMEM);
    return new_id;
}

static uint32_t map_string(struct strings_out *strings, struct id_map *source, uint32_t id)
{
    uint32_t at = id % ID_CACHE_COUNT;
    if (source->cache[at].id == id)
        return source->cache[at].new_id;
    uint32_t new_id = tbed_number_map_find(&source->strings, id);
    if (new_id == NUMBER_MAP_NONE)
        new_id = add_string(strings, source, id);
    source->cache[at].id = id;
    source->cache[at].new_id = new_id;
    return new_id;
}

static uint32_t map_reserved(struct strings_out *strings, struct id_map *source, uint32_t id)
{
    uint32_t new_id = id, at = id % ID_CACHE_COUNT;
    if (source->first_reserved != 0)
        new_id = id < source->reserved_end ? id + source->first_reserved : TBED_ID_MAX_RESERVED;
    if (source->cache[at].id == id && id != 0)
        return new_id;
    if (!tbed_id_map_has(source, id) && !tbed_number_map_add(&source->used, id, 0))
        tbed_trace_file_fail(strings->file, TBED_ERR_MEMORY, ENOMEM);
    source->cache[at].id = id;
    source->cache[at].new_id = new_id;
    return new_id;
}

bool tbed_id_map_has(const struct id_map *source, uint32_t id)
{
    return tbed_number_map_find(&source->used, id) != NUMBER_MAP_NONE;
}

uint32_t tbed_id_map(struct strings_out *strings, struct id_map *source, uint32_t id)
{
    if (id > TBED_ID_MAX)
        return TBED_ID_INVALID;
    if (id > TBED_ID_INVALID)
        return map_string(strings, source, id);
    return id >= TBED_ID_METADATA ? id : map_reserved(strings, source, id);
}

uint32_t tbed_strings_out_text(struct strings_out *strings, const char *text, uint32_t nbytes)
{
    uint32_t id = TBED_ID_INVALID;
    uint8_t *place = take_place(strings, nbytes + 1, &id);
    if (place == NULL)
        return TBED_ID_INVALID;
    uint8_t *content = place + TBED_STRING_HEAD_NBYTES;
    memcpy(content, text, nbytes);
    content[nbytes] = TBED_STRING_TERMINATOR;
    store_head(place, nbytes + 1);
    return id;
}

void tbed_strings_out_settle(struct strings_out *strings)
{
    while (strings->waiting.count > 0 && strings->file->status == TBED_OK) {
        struct waiting_string waiting = strings->waiting.items[--strings->waiting.count];
        copy_content(strings, &waiting);
    }
    if (strings->pages.count > 1)
        end_pages(strings, strings->pages.count - 1);
}

void tbed_strings_out_close(struct strings_out *strings)
{
    tbed_strings_out_settle(strings);
    end_pages(strings, strings->pages.count);
}

void tbed_strings_out_free(struct strings_out *strings)
{
    for (size_t i = 0; i < strings->pages.count; i++)
        free(strings->pages.items[i]);
    tbed_vector_free(&strings->pages.vector);
    tbed_vector_free(&strings->used.vector);
    tbed_vector_free(&strings->waiting.vector);
}

void tbed_id_map_free(struct id_map *source)
{
    tbed_number_map_free(&source->strings);
    tbed_number_map_free(&source->used);
}
