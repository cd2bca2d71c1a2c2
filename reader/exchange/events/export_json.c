/*
 * Texts and values for exports; see chrome_json.h.
 *
 * SPDX-License-Identifier: MIT
 */
#include "reader/exchange/events/export_json.h"

#include "format/base/utf8.h"
#include "reader/core/names/id_info.h"

#include <math.h>
#include <stdio.h>
#include <string.h>

/* Returns whether the id has a text of its own, perhaps with stand-ins in it. */
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

size_t tbed_export_resolve(const struct tbed_reader *reader, uint32_t id, char *buffer, bool *no_memory)
{
    static const char unknown[] = "<unknown>";
    size_t nbytes = TBED_NO_MEMORY;
    if (has_text(reader, id)) {
        nbytes = tbed_id_spell(reader, id, TBED_NAME_ALL, buffer, EXPORT_TEXT_MAX);
        *no_memory |= nbytes == TBED_NO_MEMORY;
    }
    if (nbytes == TBED_NO_MEMORY) {
        memcpy(buffer, unknown, sizeof unknown);
        return sizeof unknown - 1;
    }
    if (nbytes < EXPORT_TEXT_MAX)
        return nbytes;
    return tbed_utf8_cut_nbytes((const uint8_t *)buffer, EXPORT_TEXT_MAX - 1);
}

void tbed_export_value(struct tbed_text *text, const struct tbed_reader *reader,
                       const struct tbed_argument *argument, char *buffer)
{
    struct tbed_json json = {.text = text};
    char pointer[24];
    uint32_t id;
    switch (argument->type) {
    case TBED_ARG_U64:
        tbed_json_u64(&json, NULL, argument->value.u64);
        break;
    case TBED_ARG_I64:
        tbed_json_i64(&json, NULL, argument->value.i64);
        break;
    case TBED_ARG_F64:
        if (isfinite(argument->value.f64)) /* otherwise null, the closest value that viewers accept */
            tbed_json_f64(&json, NULL, argument->value.f64);
        else
            tbed_json_null(&json, NULL);
        break;
    case TBED_ARG_BOOL:
        tbed_json_bool(&json, NULL, argument->value.u64 != 0);
        break;
    case TBED_ARG_POINTER:
        snprintf(pointer, sizeof pointer, "0x%llx", (unsigned long long)argument->value.u64);
        tbed_json_string(&json, NULL, pointer);
        break;
    case TBED_ARG_ID: /* a value above all ids is shown like INVALID */
        id = argument->value.u64 <= TBED_ID_MAX ? argument->value.id : TBED_ID_INVALID;
        tbed_json_text(&json, NULL, buffer, tbed_export_resolve(reader, id, buffer, &text->is_out_of_memory));
        break;
    case TBED_ARG_TEXT:
        tbed_json_text(&json, NULL, argument->value.text, argument->nbytes);
        break;
    default:
        tbed_json_hex(&json, NULL, argument->value.text, argument->nbytes);
    }
}

bool tbed_export_utf8(struct tbed_text *to, const char *text, size_t nbytes)
{
    const uint8_t *at = (const uint8_t *)text;
    bool has_replaced = false;
    while (nbytes > 0) {
        size_t valid = tbed_utf8_valid_nbytes(at, nbytes);
        tbed_text_put(to, (const char *)at, valid);
        at += valid;
        nbytes -= valid;
        if (nbytes == 0)
            break;
        tbed_text_puts(to, "\xEF\xBF\xBD");
        has_replaced = true;
        at++;
        nbytes--;
    }
    return has_replaced;
}
