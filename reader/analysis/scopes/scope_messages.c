/*
 * Which messages are of pairs; see scope_messages.h.
 *
 * SPDX-License-Identifier: MIT
 */
#include "reader/analysis/scopes/scope_messages.h"

#include <stdlib.h>
#include <string.h>

enum scope_format_kind {
    FORMAT_PLAIN = 1, /* starts with something else */
    FORMAT_BRACE,
    FORMAT_TEXT,       /* starts with "%s": the argument decides */
    FORMAT_TEXT_ALONE, /* and there is no more */
};

void tbed_scope_formats_free(struct scope_formats *formats)
{
    free(formats->slots);
    free(formats->text);
}

const char *tbed_scope_id_text(struct scope_formats *formats, const struct tbed_reader *reader, uint32_t id,
                               size_t *nbytes_ret)
{
    size_t nbytes = 0;
    *nbytes_ret = 0;
    if (tbed_string_resolve(reader, id, formats->text, formats->room, &nbytes) != TBED_OK)
        return "";
    if (nbytes >= formats->room) {
        char *text = realloc(formats->text, nbytes + 1);
        if (text == NULL) {
            formats->is_out_of_memory = true;
            return "";
        }
        formats->text = text;
        formats->room = nbytes + 1;
        tbed_string_resolve(reader, id, text, formats->room, &nbytes);
    }
    *nbytes_ret = nbytes;
    return formats->text;
}

static bool is_brace(const char *text, size_t nbytes)
{
    return nbytes > 0 && (text[0] == '{' || text[0] == '}');
}

static uint32_t kind_of(struct scope_formats *formats, const struct tbed_reader *reader,
                        const struct tbed_event *event)
{
    size_t nbytes;
    const char *text = tbed_scope_id_text(formats, reader, event->id, &nbytes);
    const char *unit = nbytes > 0 && event->of.message.has_context ? memchr(text, SCOPE_UNIT, nbytes) : NULL;
    const char *format = unit != NULL ? unit + 1 : text;
    nbytes -= (size_t)(format - text);
    if (is_brace(format, nbytes))
        return FORMAT_BRACE;
    if (nbytes < 2 || memcmp(format, "%s", 2) != 0)
        return FORMAT_PLAIN;
    return nbytes == 2 ? FORMAT_TEXT_ALONE : FORMAT_TEXT;
}

static struct scope_format *find(const struct scope_formats *formats, uint32_t key)
{
    size_t at = (size_t)(key * UINT64_C(0x9E3779B97F4A7C15) >> 20) & (formats->slot_count - 1);
    while (formats->slots[at].kind != 0 && formats->slots[at].key != key)
        at = (at + 1) & (formats->slot_count - 1);
    return &formats->slots[at];
}

static bool grow(struct scope_formats *formats)
{
    struct scope_formats old = *formats;
    if (old.slot_count > 0 && old.count * 2 < old.slot_count)
        return true;
    formats->slot_count = old.slot_count > 0 ? old.slot_count * 2 : 64;
    formats->slots = calloc(formats->slot_count, sizeof *formats->slots);
    if (formats->slots == NULL) {
        *formats = old;
        formats->is_out_of_memory = true;
        return false;
    }
    for (size_t i = 0; i < old.slot_count; i++)
        if (old.slots[i].kind != 0)
            *find(formats, old.slots[i].key) = old.slots[i];
    free(old.slots);
    return true;
}

/* The first argument is a text that starts so. */
static bool says_brace(const struct tbed_event *event)
{
    struct tbed_arguments at = event->arguments;
    struct tbed_argument argument;
    if (event->argument_count == 0)
        return false;
    tbed_argument_next(&at, &argument);
    return argument.type == TBED_ARG_TEXT && is_brace(argument.value.text, argument.nbytes);
}

enum scope_message tbed_scope_message(struct scope_formats *formats, const struct tbed_reader *reader,
                                      const struct tbed_event *event)
{
    if (event->id == TBED_ID_INVALID)
        return says_brace(event) ? SCOPE_MESSAGE_TEXT : SCOPE_MESSAGE_OTHER;
    if (!grow(formats))
        return SCOPE_MESSAGE_OTHER;
    uint32_t key = event->id << 1 | event->of.message.has_context;
    struct scope_format *format = find(formats, key);
    if (format->kind == 0) {
        *format = (struct scope_format){key, kind_of(formats, reader, event)};
        formats->count++;
    }
    if (format->kind == FORMAT_BRACE || (format->kind == FORMAT_TEXT && says_brace(event)))
        return SCOPE_MESSAGE_FORMATTED;
    return format->kind == FORMAT_TEXT_ALONE && says_brace(event) ? SCOPE_MESSAGE_TEXT : SCOPE_MESSAGE_OTHER;
}
