/*
 * JSON for the Chrome trace-event export; see chrome_json.h.
 *
 * SPDX-License-Identifier: MIT
 */
#include "reader/exchange/chrome/chrome_json.h"

#include "format/utf8.h"

#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

/* False: there is no memory for 'nbytes' more. */
static bool have_room(struct chrome_text *text, size_t nbytes)
{
    if (text->is_out_of_memory || nbytes <= text->room - text->nbytes)
        return !text->is_out_of_memory;
    size_t room = (text->nbytes + nbytes) * 2 + 256;
    char *grown = realloc(text->bytes, room);
    text->is_out_of_memory = grown == NULL;
    if (grown == NULL)
        return false;
    text->bytes = grown;
    text->room = room;
    return true;
}

void tbed_chrome_put(struct chrome_text *text, const char *bytes, size_t nbytes)
{
    if (nbytes == 0 || !have_room(text, nbytes))
        return;
    memcpy(text->bytes + text->nbytes, bytes, nbytes);
    text->nbytes += nbytes;
}

void tbed_chrome_message(struct chrome_text *text, const struct tbed_reader *reader,
                         const struct tbed_event *event, enum tbed_message_part part)
{
    size_t nbytes = 256;
    bool fits = false;
    while (!fits && have_room(text, nbytes + 1)) {
        size_t room = text->room - text->nbytes;
        nbytes = tbed_message_text(reader, event, part, text->bytes + text->nbytes, room);
        fits = nbytes < room;
    }
    text->nbytes += fits ? nbytes : 0;
}

void tbed_chrome_puts(struct chrome_text *text, const char *string)
{
    tbed_chrome_put(text, string, strlen(string));
}

void tbed_chrome_u64(struct chrome_text *text, uint64_t value)
{
    char digits[20];
    size_t at = sizeof digits;
    do
        digits[--at] = (char)('0' + value % 10);
    while ((value /= 10) > 0);
    tbed_chrome_put(text, digits + at, sizeof digits - at);
}

void tbed_chrome_i64(struct chrome_text *text, int64_t value)
{
    if (value < 0)
        tbed_chrome_put(text, "-", 1);
    tbed_chrome_u64(text, value < 0 ? 0 - (uint64_t)value : (uint64_t)value);
}

void tbed_chrome_f64(struct chrome_text *text, double value)
{
    char number[40];
    if (!isfinite(value)) {
        tbed_chrome_puts(text, "null");
        return;
    }
    snprintf(number, sizeof number, "%.17g", value);
    char *comma = strchr(number, ','); /* some locales' point */
    if (comma != NULL)
        *comma = '.';
    tbed_chrome_puts(text, number);
}

static bool is_plain(uint8_t byte)
{
    return byte >= 0x20 && byte < 0x7F && byte != '"' && byte != '\\';
}

/* What is not plain: gives the bytes taken. */
static size_t quote_special(struct chrome_text *text, const uint8_t *at, size_t nbytes)
{
    char escape[8];
    size_t size = tbed_utf8_step(at, nbytes);
    if (size == 0) {
        tbed_chrome_puts(text, "\xEF\xBF\xBD");
        return 1;
    }
    if (size > 1) {
        tbed_chrome_put(text, (const char *)at, size);
        return size;
    }
    if (*at == '"' || *at == '\\')
        snprintf(escape, sizeof escape, "\\%c", *at);
    else
        snprintf(escape, sizeof escape, "\\u%04x", *at);
    tbed_chrome_puts(text, escape);
    return 1;
}

void tbed_chrome_quote(struct chrome_text *text, const char *bytes, size_t nbytes)
{
    const uint8_t *at = (const uint8_t *)bytes;
    tbed_chrome_put(text, "\"", 1);
    for (size_t i = 0; i < nbytes;) {
        size_t plain = 0;
        while (i + plain < nbytes && is_plain(at[i + plain]))
            plain++;
        tbed_chrome_put(text, bytes + i, plain);
        i += plain;
        if (i < nbytes)
            i += quote_special(text, at + i, nbytes - i);
    }
    tbed_chrome_put(text, "\"", 1);
}

/* Has the id a text of its own, though perhaps with stand-ins in it? */
static bool has_text(const struct tbed_reader *reader, uint32_t id)
{
    struct tbed_string_component component;
    struct tbed_id_info info;
    uint32_t at = 0;
    if (!tbed_id_resolve(reader, id, &info))
        return false;
    if (info.kind != TBED_ID_KIND_STRING)
        return true;
    enum tbed_status status = tbed_string_component_next(reader, id, &at, &component);
    return status == TBED_OK || status == TBED_END;
}

size_t tbed_chrome_resolve(const struct tbed_reader *reader, uint32_t id, char *buffer)
{
    static const char unknown[] = "<unknown>";
    if (!has_text(reader, id)) {
        memcpy(buffer, unknown, sizeof unknown);
        return sizeof unknown - 1;
    }
    size_t nbytes = tbed_id_text(reader, id, TBED_NAME_ALL, buffer, CHROME_TEXT_MAX);
    if (nbytes < CHROME_TEXT_MAX)
        return nbytes;
    return tbed_utf8_cut_nbytes((const uint8_t *)buffer, CHROME_TEXT_MAX - 1);
}

static void put_hex(struct chrome_text *text, const void *bytes, size_t nbytes)
{
    static const char digits[] = "0123456789abcdef";
    const uint8_t *at = bytes;
    tbed_chrome_put(text, "\"", 1);
    for (size_t i = 0; i < nbytes; i++) {
        char pair[2] = {digits[at[i] >> 4], digits[at[i] & 15]};
        tbed_chrome_put(text, pair, 2);
    }
    tbed_chrome_put(text, "\"", 1);
}

void tbed_chrome_value(struct chrome_text *text, const struct tbed_reader *reader,
                       const struct tbed_argument *argument, char *buffer)
{
    char pointer[24];
    switch (argument->type) {
    case TBED_ARG_U64:
        tbed_chrome_u64(text, argument->value.u64);
        break;
    case TBED_ARG_I64:
        tbed_chrome_i64(text, argument->value.i64);
        break;
    case TBED_ARG_F64:
        tbed_chrome_f64(text, argument->value.f64);
        break;
    case TBED_ARG_BOOL:
        tbed_chrome_puts(text, argument->value.u64 != 0 ? "true" : "false");
        break;
    case TBED_ARG_POINTER:
        snprintf(pointer, sizeof pointer, "\"0x%llx\"", (unsigned long long)argument->value.u64);
        tbed_chrome_puts(text, pointer);
        break;
    case TBED_ARG_ID:
        tbed_chrome_quote(text, buffer, tbed_chrome_resolve(reader, argument->value.id, buffer));
        break;
    case TBED_ARG_TEXT:
        tbed_chrome_quote(text, argument->value.text, argument->nbytes);
        break;
    default:
        put_hex(text, argument->value.text, argument->nbytes);
    }
}
