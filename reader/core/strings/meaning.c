/*
 * The meaning of one id, and what is shown for an id without one.
 *
 * SPDX-License-Identifier: MIT
 */
#include "reader/core/records/locations.h"
#include "reader/core/strings/string_walk.h"

#include <stdio.h>

static enum tbed_status entry_find(const struct tbed_reader *reader, uint32_t id,
                                   struct tbed_meaning *meaning)
{
    enum tbed_status status = tbed_string_find(reader, id, &meaning->entry);
    meaning->kind = TBED_STRING_IS_ENTRY;
    return status == TBED_OK ? tbed_content_check(meaning->entry.content, meaning->entry.nbytes) : status;
}

enum tbed_status tbed_meaning_find(const struct tbed_reader *reader, uint32_t id,
                                   struct tbed_meaning *meaning_ret)
{
    struct tbed_unit_info unit;
    if (id > TBED_ID_METADATA)
        return entry_find(reader, id, meaning_ret);
    meaning_ret->kind = TBED_STRING_IS_BOUND;
    if (tbed_id_follow(reader, id, &meaning_ret->id))
        return TBED_OK;
    if (!tbed_location_find(reader, id, &unit, &meaning_ret->pc))
        return TBED_ERR_STRING_UNBOUND;
    meaning_ret->kind = TBED_STRING_IS_LOCATION;
    meaning_ret->id = unit.name_id;
    return TBED_OK;
}

bool tbed_meaning_is_plain(const struct tbed_meaning *meaning, struct tbed_content_component *text_ret)
{
    uint32_t at = 0;
    if (meaning->kind != TBED_STRING_IS_ENTRY)
        return false;
    enum tbed_status status = tbed_content_next(meaning->entry.content, meaning->entry.nbytes, &at, text_ret);
    if (status == TBED_END)
        *text_ret = (struct tbed_content_component){.text = meaning->entry.content};
    return status == TBED_END ||
           (status == TBED_OK && !text_ret->is_reference && at == meaning->entry.nbytes - 1);
}

static const char *stand_in_format(enum tbed_status status)
{
    switch (status) {
    case TBED_ERR_STRING_UNBOUND:
        return "<id %u>";
    case TBED_ERR_STRING_ID:
        return "<dangling id %u>";
    case TBED_ERR_STRING_END:
        return "<unterminated id %u>";
    case TBED_ERR_STRING_UTF8:
        return "<not UTF-8: id %u>";
    default: /* its length, its hash */
        return "<damaged id %u>";
    }
}

size_t tbed_stand_in(char text[TBED_STAND_IN_NBYTES], uint32_t id, enum tbed_status status)
{
    if (id == TBED_ID_INVALID)
        return (size_t)snprintf(text, TBED_STAND_IN_NBYTES, "<no id>");
    if (status == TBED_ERR_STRING_CYCLE || status == TBED_ERR_STRING_DEPTH)
        return (size_t)snprintf(text, TBED_STAND_IN_NBYTES, "%s", tbed_refusal_text(status));
#pragma GCC diagnostic push
#pragma GCC diagnostic ignored "-Wformat-nonliteral"
    return (size_t)snprintf(text, TBED_STAND_IN_NBYTES, stand_in_format(status), id);
#pragma GCC diagnostic pop
}

const char *tbed_refusal_text(enum tbed_status status)
{
    switch (status) {
    case TBED_ERR_STRING_CYCLE:
        return "<cycle>";
    case TBED_ERR_STRING_DEPTH:
        return "<too deep>";
    case TBED_ERR_STRING_COMPONENTS:
        return "<too many components>";
    case TBED_ERR_STRING_BYTES:
        return "<too long>";
    case TBED_ERR_MEMORY:
        return "<no memory>";
    default: /* the file changed while it was being read */
        return "<damaged>";
    }
}
