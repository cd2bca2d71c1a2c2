/*
 * Labels and arguments of event ids.
 *
 * SPDX-License-Identifier: MIT
 */
#include "reader/core/file/reader_state.h"
#include "reader/core/names/id_info.h"
#include "reader/core/names/kept_name.h"
#include "reader/core/names/label.h"
#include "reader/core/names/name_cache.h"
#include "reader/core/records/metadata.h"
#include "reader/core/strings/string_walk.h"

#include <stdlib.h>

#define PART_DIVIDER          0x1E
#define BINDINGS_FOLLOWED_MAX 8

/* ---- Parts of an event id ---- */

struct tbed_event_parts {
    struct tbed_string_walk walk;
    const char *rest; /* of the piece in which the last part ended */
    size_t rest_nbytes;
    enum tbed_status end;         /* TBED_OK: there are more parts */
    enum tbed_status part_status; /* the first error in the current part */
    struct tbed_name part;
    bool is_composed; /* the part is in 'bytes' */
    char *bytes;
    size_t capacity;
};

static void parts_start(struct tbed_event_parts *parts, const struct tbed_reader *reader, uint32_t id,
                        const struct tbed_string_budget *budget)
{
    tbed_string_walk_start(&parts->walk, reader, id, budget);
    parts->rest_nbytes = parts->capacity = 0;
    parts->rest = parts->bytes = NULL;
    parts->end = TBED_OK;
}

static bool have_room(struct tbed_event_parts *parts, size_t nbytes)
{
    if (nbytes <= parts->capacity)
        return true;
    size_t capacity = nbytes > SIZE_MAX / 2 ? nbytes : nbytes * 2;
    char *bytes = realloc(parts->bytes, capacity);
    if (bytes == NULL)
        return false;
    parts->bytes = bytes;
    parts->capacity = capacity;
    return true;
}

/* Adds to the part: the first piece by pointer if it is in the map, all others by copy. */
static enum tbed_status part_add(struct tbed_event_parts *parts, const char *text, size_t nbytes,
                                 bool is_in_map)
{
    struct tbed_name *part = &parts->part;
    if (nbytes == 0)
        return TBED_OK;
    if (part->nbytes == 0 && is_in_map) {
        part->text = text;
        part->nbytes = nbytes;
        return TBED_OK;
    }
    if (!have_room(parts, part->nbytes + nbytes)) /* each at most 2^32 - 1 times some budget: cannot wrap */
        return TBED_ERR_MEMORY;
    if (!parts->is_composed && part->nbytes > 0)
        memcpy(parts->bytes, part->text, part->nbytes);
    memcpy(parts->bytes + part->nbytes, text, nbytes);
    parts->is_composed = true;
    part->text = parts->bytes;
    part->nbytes += nbytes;
    return TBED_OK;
}

/* Takes the rest of a piece up to the next divider. '*ended_ret': a divider was found. */
static enum tbed_status part_take(struct tbed_event_parts *parts, bool is_in_map, bool *ended_ret)
{
    const char *divider = memchr(parts->rest, PART_DIVIDER, parts->rest_nbytes);
    size_t nbytes = divider != NULL ? (size_t)(divider - parts->rest) : parts->rest_nbytes;
    enum tbed_status status = part_add(parts, parts->rest, nbytes, is_in_map);
    size_t step = divider != NULL ? nbytes + 1 : nbytes;
    parts->rest += step;
    parts->rest_nbytes -= step;
    *ended_ret = divider != NULL;
    return status;
}

/* A stand-in or the pc of a location is stored in the walk, and the next step overwrites it. */
static bool is_in_map(const struct tbed_event_parts *parts, const char *text)
{
    return text != parts->walk.walk.text;
}

static enum tbed_status part_next(struct tbed_event_parts *parts)
{
    struct tbed_string_node node;
    bool has_ended = false;
    enum tbed_status status = TBED_OK;
    parts->part = (struct tbed_name){.text = "", .id = TBED_ID_INVALID};
    parts->is_composed = false;
    parts->part_status = TBED_OK;
    if (parts->rest_nbytes > 0)
        status = part_take(parts, true, &has_ended);
    while (status == TBED_OK && !has_ended) {
        status = tbed_string_walk_next(&parts->walk, &node);
        if (status != TBED_OK || node.text == NULL)
            continue;
        if (node.step == TBED_STRING_TROUBLE && parts->part_status == TBED_OK)
            parts->part_status = node.status;
        parts->rest = node.text;
        parts->rest_nbytes = node.nbytes;
        status = part_take(parts, is_in_map(parts, node.text), &has_ended);
    }
    parts->end = status; /* the last part ends with the string */
    return status == TBED_END ? TBED_OK : status;
}

enum tbed_status tbed_event_parts_open(const struct tbed_reader *reader, uint32_t id,
                                       const struct tbed_string_budget *budget,
                                       struct tbed_event_parts **parts_ret)
{
    struct tbed_string_budget whole;
    if (!tbed_string_budget_make(budget, &whole))
        return TBED_ERR_ARGUMENT;
    struct tbed_event_parts *parts = malloc(sizeof *parts);
    if (parts == NULL)
        return TBED_ERR_MEMORY;
    parts_start(parts, reader, id, &whole);
    *parts_ret = parts;
    return TBED_OK;
}

enum tbed_status tbed_event_parts_next(struct tbed_event_parts *parts, struct tbed_name *part_ret)
{
    if (parts->end != TBED_OK)
        return parts->end;
    enum tbed_status status = part_next(parts);
    if (status != TBED_OK)
        return status;
    *part_ret = parts->part;
    return parts->part_status;
}

void tbed_event_parts_close(struct tbed_event_parts *parts)
{
    if (parts == NULL)
        return;
    free(parts->bytes);
    free(parts);
}

/* ---- Labels ---- */

/* Returns whether the label ends at 'at'. */
static bool label_ends(const struct tbed_string_entry *entry, uint32_t at)
{
    return entry->content[at] == PART_DIVIDER || at == entry->nbytes - 1;
}

/* A string that begins with its label, up to a divider or its end. */
static bool label_in_text(const struct tbed_content_component *text, const struct tbed_string_entry *entry,
                          uint32_t at, uint32_t id, struct tbed_name *label_ret)
{
    const uint8_t *divider = memchr(text->text, PART_DIVIDER, text->nbytes);
    size_t nbytes = divider != NULL ? (size_t)(divider - text->text) : text->nbytes;
    bool is_all = divider == NULL && at == entry->nbytes - 1;
    *label_ret = (struct tbed_name){(const char *)text->text, nbytes, is_all ? id : TBED_ID_INVALID};
    return nbytes <= TBED_LABEL_NBYTES_MAX && (divider != NULL || is_all);
}

/* tbed_bindings_follow() with a lower limit, so that a label found this way is never too deep. */
static bool follow(const struct tbed_reader *reader, uint32_t *id)
{
    for (int i = 0; *id <= TBED_ID_METADATA; i++)
        if (i == BINDINGS_FOLLOWED_MAX || !tbed_binding_find(reader->metadata, *id, id))
            return false;
    return true;
}

/* A plain text without a divider is its own label. It is kept: there are few, and many event ids refer to each. */
static bool plain_label_find(const struct tbed_reader *reader, uint32_t id, struct tbed_name *label_ret)
{
    struct tbed_meaning meaning;
    struct tbed_content_component text;
    if (tbed_name_cache_find(reader->names, TBED_NAME_PLAIN, id, reader->epoch, label_ret) == TBED_OK)
        return true;
    if (tbed_meaning_find(reader, id, &meaning) != TBED_OK || !tbed_meaning_is_plain(&meaning, &text) ||
        text.nbytes > TBED_LABEL_NBYTES_MAX || memchr(text.text, PART_DIVIDER, text.nbytes) != NULL)
        return false;
    struct tbed_name_fact fact = {.kind = TBED_NAME_PLAIN,
                                  .id = id,
                                  .epoch = UINT64_MAX,
                                  .is_in_map = true,
                                  .name = {(const char *)text.text, text.nbytes, id}};
    if (tbed_name_cache_keep(reader->names, &fact, label_ret) != TBED_OK)
        *label_ret = fact.name;
    return true;
}

/* The common shapes, which need no copy. label_make() handles all others and reports their errors. */
static bool label_find(const struct tbed_reader *reader, uint32_t id, struct tbed_name *label_ret)
{
    struct tbed_meaning meaning;
    struct tbed_content_component first;
    uint32_t at = 0;
    if (!follow(reader, &id) || tbed_meaning_find(reader, id, &meaning) != TBED_OK)
        return false;
    const struct tbed_string_entry *entry = &meaning.entry;
    enum tbed_status status = tbed_content_next(entry->content, entry->nbytes, &at, &first);
    if (status == TBED_END)
        *label_ret = (struct tbed_name){"", 0, id};
    if (status != TBED_OK)
        return status == TBED_END;
    if (!first.is_reference)
        return label_in_text(&first, entry, at, id, label_ret);
    id = first.id;
    return label_ends(entry, at) && follow(reader, &id) && plain_label_find(reader, id, label_ret);
}

static enum tbed_status label_make(const struct tbed_reader *reader, uint32_t id, struct tbed_name *label_ret)
{
    struct tbed_label_strings strings = tbed_label_strings(reader);
    struct tbed_label label = {0};
    enum tbed_status status = TBED_ERR_MEMORY;
    if (tbed_label_make(&strings, id, &label)) {
        bool is_settled = label.status == TBED_OK && label.lowest_id > TBED_ID_METADATA;
        struct tbed_name_fact fact = {.kind = TBED_NAME_LABEL,
                                      .id = id,
                                      .epoch = is_settled ? UINT64_MAX : reader->epoch,
                                      .status = label.status,
                                      .name = {label.text, label.nbytes, TBED_ID_INVALID}};
        status = tbed_name_cache_keep(reader->names, &fact, label_ret);
    }
    free(label.text);
    return status;
}

enum tbed_status tbed_event_label(const struct tbed_reader *reader, uint32_t id, struct tbed_name *label_ret)
{
    struct tbed_name label;
    enum tbed_status status;
    if (tbed_id_is_place(reader, id)) {
        status = tbed_name_get(reader, id, &label);
        if (status == TBED_OK)
            *label_ret = (struct tbed_name){label.text, label.nbytes, TBED_ID_INVALID};
        return status;
    }
    if (label_find(reader, id, &label)) {
        *label_ret = label;
        return tbed_kept_name_pay(reader, id, TBED_OK, label_ret);
    }
    status = tbed_name_cache_find(reader->names, TBED_NAME_LABEL, id, reader->epoch, label_ret);
    return status == TBED_END ? label_make(reader, id, label_ret)
                              : tbed_kept_name_pay(reader, id, status, label_ret);
}
