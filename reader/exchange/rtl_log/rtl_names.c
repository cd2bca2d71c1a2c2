/*
 * The names of an RTL_LOGFILE log, each looked up once.
 *
 * The hash of a name is that of its prefixes carried on, so that one pass over a line finds all names that it may
 * start with, however long it is.
 *
 * SPDX-License-Identifier: MIT
 */
#include "format/utf8.h"
#include "reader/exchange/rtl_log/rtl_log.h"

#include <stdlib.h>
#include <string.h>
#include <tracebed/writer.h>

#define HASH_START  UINT64_C(0xCBF29CE484222325)
#define HASH_FACTOR UINT64_C(0x9E3779B97F4A7C15)

struct name {
    const char *text;
    size_t nbytes;
    uint64_t hash;
    uint32_t string_id, format_id; /* INVALID: not asked for yet */
    uint32_t context;              /* of a pair of messages: the name of the scope that says it; else NONE */
    bool is_exact; /* a string of the bed can hold it, and as a context it ends where it should */
};

struct rtl_names {
    struct tbed_writer *writer;
    struct name *items;
    size_t count, room;
    uint32_t *slots; /* of names: number + 1 */
    size_t slot_count;
    char *buffer; /* for formats */
};

static inline uint64_t hash_more(uint64_t hash, char byte)
{
    return (hash ^ (uint8_t)byte) * HASH_FACTOR;
}

static uint64_t hash_of(const char *text, size_t nbytes)
{
    uint64_t hash = HASH_START;
    for (size_t i = 0; i < nbytes; i++)
        hash = hash_more(hash, text[i]);
    return hash;
}

struct rtl_names *tbed_rtl_names_new(struct tbed_writer *writer)
{
    struct rtl_names *names = calloc(1, sizeof *names);
    if (names == NULL)
        return NULL;
    names->writer = writer;
    names->slot_count = 1024;
    names->slots = calloc(names->slot_count, sizeof *names->slots);
    names->buffer = malloc(RTL_LINE_NMAX + 8);
    if (names->slots != NULL && names->buffer != NULL)
        return names;
    tbed_rtl_names_free(names);
    return NULL;
}

void tbed_rtl_names_free(struct rtl_names *names)
{
    if (names == NULL)
        return;
    free(names->items);
    free(names->slots);
    free(names->buffer);
    free(names);
}

/* ---- Names ---- */

static bool is_name(const struct name *item, const struct name *wanted)
{
    return item->hash == wanted->hash && item->context == wanted->context && item->nbytes == wanted->nbytes &&
           memcmp(item->text, wanted->text, wanted->nbytes) == 0;
}

/* Its slot, or the free one where it belongs. */
static size_t slot_find(const struct rtl_names *names, const struct name *wanted)
{
    size_t at = (wanted->hash >> 20) & (names->slot_count - 1);
    while (names->slots[at] != 0 && !is_name(&names->items[names->slots[at] - 1], wanted))
        at = (at + 1) & (names->slot_count - 1);
    return at;
}

static bool slots_grow(struct rtl_names *names)
{
    size_t count = names->slot_count * 2;
    uint32_t *slots = calloc(count, sizeof *slots);
    if (slots == NULL)
        return false;
    for (size_t i = 0; i < names->count; i++) {
        size_t at = (names->items[i].hash >> 20) & (count - 1);
        while (slots[at] != 0)
            at = (at + 1) & (count - 1);
        slots[at] = (uint32_t)i + 1;
    }
    free(names->slots);
    names->slots = slots;
    names->slot_count = count;
    return true;
}

static bool items_grow(struct rtl_names *names)
{
    size_t room = names->room > 0 ? names->room * 2 : 256;
    struct name *items = realloc(names->items, room * sizeof *items);
    if (items == NULL || names->count >= RTL_NAME_NONE - 1)
        return false;
    names->items = items;
    names->room = room;
    return true;
}

static uint32_t intern(struct rtl_names *names, const struct name *wanted)
{
    size_t slot = slot_find(names, wanted);
    if (names->slots[slot] != 0)
        return names->slots[slot] - 1;
    if (names->count == names->room && !items_grow(names))
        return RTL_NAME_NONE;
    if (names->count * 2 >= names->slot_count) {
        if (!slots_grow(names))
            return RTL_NAME_NONE;
        slot = slot_find(names, wanted);
    }
    struct name *item = &names->items[names->count];
    *item = *wanted;
    item->string_id = item->format_id = TBED_ID_INVALID;
    item->is_exact = tbed_utf8_valid_nbytes((const uint8_t *)item->text, item->nbytes) == item->nbytes &&
                     memchr(item->text, RTL_UNIT, item->nbytes) == NULL;
    names->slots[slot] = (uint32_t)++names->count;
    return (uint32_t)names->count - 1;
}

uint32_t tbed_rtl_name_intern(struct rtl_names *names, const char *text, size_t nbytes)
{
    struct name wanted = {
        .text = text, .nbytes = nbytes, .hash = hash_of(text, nbytes), .context = RTL_NAME_NONE};
    return intern(names, &wanted);
}

uint32_t tbed_rtl_pair_intern(struct rtl_names *names, uint32_t context, const char *text, size_t nbytes)
{
    uint64_t hash = (hash_of(text, nbytes) ^ ((uint64_t)context + 1)) * HASH_FACTOR;
    struct name wanted = {.text = text, .nbytes = nbytes, .hash = hash, .context = context};
    return intern(names, &wanted);
}

bool tbed_rtl_pair_starts(const struct rtl_names *names, uint32_t pair, uint32_t start)
{
    const struct name *whole = &names->items[pair], *part = &names->items[start];
    return whole->context == part->context && part->nbytes > 0 && whole->nbytes > part->nbytes &&
           memcmp(whole->text, part->text, part->nbytes) == 0;
}

static uint32_t pair_string(struct rtl_names *names, const struct name *pair)
{
    struct tbed_component parts[] = {{.id = tbed_rtl_name_string(names, pair->context)},
                                     {.text = " : ", .nbytes = 3},
                                     {.text = pair->text, .nbytes = pair->nbytes}};
    bool has_context = names->items[pair->context].nbytes > 0;
    if (has_context && parts[0].id != TBED_ID_INVALID)
        return tbed_string_alloc(names->writer, parts, 3);
    return tbed_string_intern(names->writer, pair->text, pair->nbytes);
}

uint32_t tbed_rtl_name_string(struct rtl_names *names, uint32_t name)
{
    struct name *item = &names->items[name];
    if (item->string_id == TBED_ID_INVALID && item->context != RTL_NAME_NONE)
        item->string_id = pair_string(names, item);
    else if (item->string_id == TBED_ID_INVALID)
        item->string_id = tbed_string_intern(names->writer, item->text, item->nbytes);
    return item->string_id;
}

uint32_t tbed_rtl_name_format(struct rtl_names *names, uint32_t name)
{
    static const char tail[] = {RTL_UNIT, '%', 's'};
    struct name *item = &names->items[name];
    if (item->format_id == TBED_ID_INVALID) {
        memcpy(names->buffer, item->text, item->nbytes);
        memcpy(names->buffer + item->nbytes, tail, sizeof tail);
        item->format_id = tbed_string_intern(names->writer, names->buffer, item->nbytes + sizeof tail);
    }
    return item->format_id;
}

bool tbed_rtl_name_is_exact(const struct rtl_names *names, uint32_t name)
{
    const struct name *item = &names->items[name];
    return item->is_exact && (item->context == RTL_NAME_NONE || names->items[item->context].is_exact);
}

bool tbed_rtl_name_split(const struct rtl_names *names, rtl_is_open_function *is_open, const void *context,
                         const struct rtl_text *text, size_t *name_nbytes_ret)
{
    size_t first = SIZE_MAX, longest = SIZE_MAX;
    struct name wanted = {.text = text->bytes, .hash = HASH_START, .context = RTL_NAME_NONE};
    for (size_t i = 0; i + 3 <= text->nbytes; i++) {
        if (memcmp(text->bytes + i, " : ", 3) == 0) {
            wanted.nbytes = i;
            uint32_t slot = names->slots[slot_find(names, &wanted)];
            if (slot != 0 && is_open(context, slot - 1))
                longest = i;
            if (first == SIZE_MAX)
                first = i;
        }
        wanted.hash = hash_more(wanted.hash, text->bytes[i]);
    }
    *name_nbytes_ret = longest != SIZE_MAX ? longest : first;
    return first != SIZE_MAX;
}
