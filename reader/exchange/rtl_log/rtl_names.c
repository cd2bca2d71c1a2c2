/*
 * The names of an RTL_LOGFILE log, each looked up once, and how often each is open on a thread.
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
    bool is_exact; /* a string of the bed can hold it, and as a context it ends where it should */
};

struct open {
    uint64_t key; /* thread << 32 | name */
    uint32_t count;
    bool is_taken;
};

struct rtl_names {
    struct tbed_writer *writer;
    struct name *items;
    size_t count, room;
    uint32_t *slots; /* of names: number + 1 */
    size_t slot_count;
    struct open *opens;
    size_t open_count, open_room;
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
    names->slot_count = names->open_room = 1024;
    names->slots = calloc(names->slot_count, sizeof *names->slots);
    names->opens = calloc(names->open_room, sizeof *names->opens);
    names->buffer = malloc(RTL_LINE_NMAX + 8);
    if (names->slots != NULL && names->opens != NULL && names->buffer != NULL)
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
    free(names->opens);
    free(names->buffer);
    free(names);
}

/* ---- Names ---- */

bool tbed_rtl_name_is(const struct rtl_names *names, uint32_t name, const char *text, size_t nbytes)
{
    const struct name *item = &names->items[name];
    return item->nbytes == nbytes && memcmp(item->text, text, nbytes) == 0;
}

/* Its slot, or the free one where it belongs. */
static size_t slot_find(const struct rtl_names *names, uint64_t hash, const char *text, size_t nbytes)
{
    size_t at = (hash >> 20) & (names->slot_count - 1);
    for (; names->slots[at] != 0; at = (at + 1) & (names->slot_count - 1)) {
        uint32_t name = names->slots[at] - 1;
        if (names->items[name].hash == hash && tbed_rtl_name_is(names, name, text, nbytes))
            break;
    }
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

uint32_t tbed_rtl_name_intern(struct rtl_names *names, const char *text, size_t nbytes)
{
    uint64_t hash = hash_of(text, nbytes);
    size_t slot = slot_find(names, hash, text, nbytes);
    if (names->slots[slot] != 0)
        return names->slots[slot] - 1;
    if (names->count == names->room && !items_grow(names))
        return RTL_NAME_NONE;
    if (names->count * 2 >= names->slot_count) {
        if (!slots_grow(names))
            return RTL_NAME_NONE;
        slot = slot_find(names, hash, text, nbytes);
    }
    bool is_exact = tbed_utf8_valid_nbytes((const uint8_t *)text, nbytes) == nbytes &&
                    memchr(text, RTL_UNIT, nbytes) == NULL;
    names->items[names->count] =
        (struct name){text, nbytes, hash, TBED_ID_INVALID, TBED_ID_INVALID, is_exact};
    names->slots[slot] = (uint32_t)++names->count;
    return (uint32_t)names->count - 1;
}

uint32_t tbed_rtl_name_string(struct rtl_names *names, uint32_t name)
{
    struct name *item = &names->items[name];
    if (item->string_id == TBED_ID_INVALID)
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
    return names->items[name].is_exact;
}

/* ---- Open scopes ---- */

static struct open *open_find(const struct rtl_names *names, uint64_t key)
{
    size_t at = (key * HASH_FACTOR >> 20) & (names->open_room - 1);
    while (names->opens[at].is_taken && names->opens[at].key != key)
        at = (at + 1) & (names->open_room - 1);
    return &names->opens[at];
}

static bool opens_grow(struct rtl_names *names)
{
    struct rtl_names larger = *names;
    larger.open_room *= 2;
    larger.opens = calloc(larger.open_room, sizeof *larger.opens);
    if (larger.opens == NULL)
        return false;
    for (size_t i = 0; i < names->open_room; i++)
        if (names->opens[i].is_taken)
            *open_find(&larger, names->opens[i].key) = names->opens[i];
    free(names->opens);
    *names = larger;
    return true;
}

bool tbed_rtl_name_open(struct rtl_names *names, uint32_t thread, uint32_t name, int change)
{
    uint64_t key = (uint64_t)thread << 32 | name;
    if (names->open_count * 2 >= names->open_room && !opens_grow(names))
        return false;
    struct open *open = open_find(names, key);
    names->open_count += !open->is_taken;
    *open = (struct open){key, open->count + (uint32_t)change, true};
    return true;
}

uint32_t tbed_rtl_name_open_count(const struct rtl_names *names, uint32_t thread, uint32_t name)
{
    return open_find(names, (uint64_t)thread << 32 | name)->count;
}

bool tbed_rtl_name_split(const struct rtl_names *names, uint32_t thread, const char *text, size_t nbytes,
                         size_t *name_nbytes_ret)
{
    size_t first = SIZE_MAX, longest = SIZE_MAX;
    uint64_t hash = HASH_START;
    for (size_t i = 0; i + 3 <= nbytes; i++) {
        if (text[i] == ' ' && text[i + 1] == ':' && text[i + 2] == ' ') {
            uint32_t slot = names->slots[slot_find(names, hash, text, i)];
            if (slot != 0 && tbed_rtl_name_open_count(names, thread, slot - 1) > 0)
                longest = i;
            if (first == SIZE_MAX)
                first = i;
        }
        hash = hash_more(hash, text[i]);
    }
    *name_nbytes_ret = longest != SIZE_MAX ? longest : first;
    return first != SIZE_MAX;
}
