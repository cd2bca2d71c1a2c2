/*
 * The names in an RTL_LOGFILE log, each interned once.
 *
 * The hash of a name extends the hashes of its prefixes, so one pass over a line finds all names that it may start
 * with, however long it is.
 *
 * SPDX-License-Identifier: MIT
 */
#include "format/base/utf8.h"
#include "reader/core/base/hashmap.h"
#include "reader/core/base/vector.h"
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
    uint32_t string_id, format_id; /* INVALID: not requested yet */
    uint32_t context; /* for a pair of messages, the name of the scope that writes it; otherwise NONE */
    bool is_exact;    /* a string of the trace can hold it, and as a context it is split where it should be */
};

struct name_slot {
    uint64_t hash; /* never 0 */
    uint32_t number;
};

struct rtl_names {
    struct tbed_writer *writer;
    TBED_VECTOR(struct name) names;
    TBED_HASHMAP(struct name_slot) numbers; /* by hash */
    char *buffer;                           /* for formats */
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
    names->buffer = malloc(RTL_LINE_NMAX + 8);
    if (names->buffer != NULL)
        return names;
    tbed_rtl_names_free(names);
    return NULL;
}

void tbed_rtl_names_free(struct rtl_names *names)
{
    if (names == NULL)
        return;
    tbed_vector_free(&names->names.vector);
    tbed_hashmap_free(&names->numbers.map);
    free(names->buffer);
    free(names);
}

/* ---- Names ---- */

static bool is_name(const struct name *item, const struct name *wanted)
{
    return item->hash == wanted->hash && item->context == wanted->context && item->nbytes == wanted->nbytes &&
           memcmp(item->text, wanted->text, wanted->nbytes) == 0;
}

/* A hash as a key. */
static uint64_t key_of(const struct name *name)
{
    return name->hash != 0 ? name->hash : 1;
}

/* Finds the number of a name, or RTL_NAME_NONE. */
static uint32_t number_find(const struct rtl_names *names, const struct name *wanted)
{
    const struct name_slot *slot = TBED_HASHMAP_FIND(&names->numbers, key_of(wanted));
    while (slot != NULL && !is_name(&names->names.items[slot->number], wanted))
        slot = TBED_HASHMAP_FIND_MORE(&names->numbers, slot);
    return slot != NULL ? slot->number : RTL_NAME_NONE;
}

static uint32_t intern(struct rtl_names *names, const struct name *wanted)
{
    uint32_t number = number_find(names, wanted);
    if (number != RTL_NAME_NONE)
        return number;
    if (names->names.count >= RTL_NAME_NONE - 1 || !TBED_HASHMAP_RESERVE(&names->numbers, 1))
        return RTL_NAME_NONE;
    struct name *item = TBED_VECTOR_PUSH(&names->names);
    if (item == NULL)
        return RTL_NAME_NONE;
    *item = *wanted;
    item->string_id = item->format_id = TBED_ID_INVALID;
    item->is_exact = tbed_utf8_valid_nbytes((const uint8_t *)item->text, item->nbytes) == item->nbytes &&
                     memchr(item->text, RTL_UNIT, item->nbytes) == NULL;
    struct name_slot *slot = TBED_HASHMAP_INSERT(&names->numbers, key_of(wanted));
    slot->number = (uint32_t)names->names.count - 1;
    return slot->number;
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
    const struct name *whole = &names->names.items[pair], *part = &names->names.items[start];
    return whole->context == part->context && part->nbytes > 0 && whole->nbytes > part->nbytes &&
           memcmp(whole->text, part->text, part->nbytes) == 0;
}

static uint32_t pair_string(struct rtl_names *names, const struct name *pair)
{
    struct tbed_component parts[] = {{.id = tbed_rtl_name_string(names, pair->context)},
                                     {.text = " : ", .nbytes = 3},
                                     {.text = pair->text, .nbytes = pair->nbytes}};
    bool has_context = names->names.items[pair->context].nbytes > 0;
    if (has_context && parts[0].id != TBED_ID_INVALID)
        return tbed_string_alloc(names->writer, parts, 3);
    return tbed_string_intern(names->writer, pair->text, pair->nbytes);
}

uint32_t tbed_rtl_name_string(struct rtl_names *names, uint32_t name)
{
    struct name *item = &names->names.items[name];
    if (item->string_id == TBED_ID_INVALID && item->context != RTL_NAME_NONE)
        item->string_id = pair_string(names, item);
    else if (item->string_id == TBED_ID_INVALID)
        item->string_id = tbed_string_intern(names->writer, item->text, item->nbytes);
    return item->string_id;
}

uint32_t tbed_rtl_name_format(struct rtl_names *names, uint32_t name)
{
    static const char tail[] = {RTL_UNIT, '%', 's'};
    struct name *item = &names->names.items[name];
    if (item->format_id == TBED_ID_INVALID) {
        memcpy(names->buffer, item->text, item->nbytes);
        memcpy(names->buffer + item->nbytes, tail, sizeof tail);
        item->format_id = tbed_string_intern(names->writer, names->buffer, item->nbytes + sizeof tail);
    }
    return item->format_id;
}

bool tbed_rtl_name_is_exact(const struct rtl_names *names, uint32_t name)
{
    const struct name *item = &names->names.items[name];
    return item->is_exact && (item->context == RTL_NAME_NONE || names->names.items[item->context].is_exact);
}

bool tbed_rtl_name_split(const struct rtl_names *names, rtl_is_open_function *is_open, const void *context,
                         const struct rtl_text *text, size_t *name_nbytes_ret)
{
    size_t first = SIZE_MAX, longest = SIZE_MAX;
    struct name wanted = {.text = text->bytes, .hash = HASH_START, .context = RTL_NAME_NONE};
    for (size_t i = 0; i + 3 <= text->nbytes; i++) {
        if (memcmp(text->bytes + i, " : ", 3) == 0) {
            wanted.nbytes = i;
            uint32_t number = number_find(names, &wanted);
            if (number != RTL_NAME_NONE && is_open(context, number))
                longest = i;
            if (first == SIZE_MAX)
                first = i;
        }
        wanted.hash = hash_more(wanted.hash, text->bytes[i]);
    }
    *name_nbytes_ret = longest != SIZE_MAX ? longest : first;
    return first != SIZE_MAX;
}
