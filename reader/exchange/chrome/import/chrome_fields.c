/*
 * The members of a Chrome trace event: which ones matter, and what they mean as texts, numbers and keys.
 *
 * SPDX-License-Identifier: MIT
 */
#include "format/checksum.h"
#include "reader/exchange/chrome/import/chrome_import.h"

#include <string.h>

#define US_DIGITS   3 /* of a nanosecond in a microsecond */
#define NUMBER_NMAX 30
#define KEY_OF_TEXT (UINT64_C(1) << 63)

/* ---- Members ---- */

static struct json_value *field_of(struct chrome_fields *fields, const struct json_value *key)
{
#define FIELD(name, member)                                                                                  \
    {                                                                                                        \
        name, sizeof name - 1, offsetof(struct chrome_fields, member)                                        \
    }
    static const struct {
        const char *key;
        size_t nbytes, at;
    } known[] = {FIELD("ph", phase),  FIELD("ts", ts),     FIELD("id", id),      FIELD("pid", pid),
                 FIELD("tid", tid),   FIELD("dur", dur),   FIELD("id2", id2),    FIELD("cat", category),
                 FIELD("name", name), FIELD("args", args), FIELD("scope", scope)};
#undef FIELD
    for (size_t i = 0; i < sizeof known / sizeof known[0]; i++)
        if (tbed_json_in_is(key, known[i].key, known[i].nbytes))
            return (struct json_value *)(void *)((char *)fields + known[i].at);
    return NULL;
}

void tbed_chrome_fields_read(const struct json_value *object, struct chrome_fields *fields)
{
    struct json_in in = tbed_json_in_inside(object);
    struct json_value key, value;
    memset(fields, 0, sizeof *fields);
    while (tbed_json_in_member(&in, &key, &value)) {
        struct json_value *field = field_of(fields, &key);
        if (field != NULL)
            *field = value;
    }
}

struct json_value tbed_chrome_member(const struct json_value *object, const char *name)
{
    struct json_value key, value, found = {.type = JSON_NULL};
    if (object->type != JSON_OBJECT)
        return found;
    struct json_in in = tbed_json_in_inside(object);
    while (tbed_json_in_member(&in, &key, &value))
        if (tbed_json_in_is(&key, name, strlen(name)))
            found = value;
    return found;
}

/* ---- Texts ---- */

struct chrome_piece tbed_chrome_text(struct chrome_import *chrome, const struct json_value *value)
{
    struct tbed_text *scratch = &chrome->scratch;
    struct chrome_piece piece = {value->nbytes > 0 ? value->text : "", value->nbytes};
    if (value->type != JSON_STRING || !value->has_escapes || value->nbytes > scratch->room - scratch->nbytes)
        return piece;
    piece.text = scratch->bytes + scratch->nbytes;
    piece.nbytes = tbed_json_in_unescape(value, scratch->bytes + scratch->nbytes);
    scratch->nbytes += piece.nbytes;
    return piece;
}

uint32_t tbed_chrome_intern(struct chrome_import *chrome, const struct json_value *value)
{
    struct chrome_piece piece = tbed_chrome_text(chrome, value);
    return tbed_event_intern(&chrome->events, piece.text, piece.nbytes);
}

/* ---- Numbers ---- */

bool tbed_chrome_number(const struct json_value *value, struct json_value *number)
{
    char text[NUMBER_NMAX + 1];
    *number = *value;
    if (value->type == JSON_NUMBER)
        return true;
    if (value->type != JSON_STRING || value->nbytes == 0 || value->nbytes > NUMBER_NMAX)
        return false;
    memcpy(text, value->text, value->nbytes);
    text[value->nbytes] = ' '; /* a number ends with the byte behind it */
    struct json_in in = {text, text + value->nbytes + 1};
    bool is_number = tbed_json_in_value(&in, number) == JSON_OK && number->type == JSON_NUMBER &&
                     number->nbytes == value->nbytes;
    number->text = value->text;
    return is_number;
}

bool tbed_chrome_ns(const struct json_value *value, int64_t *ns)
{
    struct json_value number;
    return tbed_chrome_number(value, &number) && tbed_json_in_scaled(&number, US_DIGITS, ns);
}

bool tbed_chrome_scalar(const struct json_value *value, struct tbed_argument *argument)
{
    *argument = (struct tbed_argument){.type = TBED_ARG_U64, .name_id = TBED_ID_INVALID, .nbytes = 8};
    if (value->type == JSON_TRUE || value->type == JSON_FALSE) {
        argument->type = TBED_ARG_BOOL;
        argument->value.u64 = value->type == JSON_TRUE;
        return true;
    }
    if (value->type != JSON_NUMBER)
        return false;
    if (tbed_json_in_u64(value, &argument->value.u64))
        return true;
    argument->type = TBED_ARG_I64;
    if (tbed_json_in_i64(value, &argument->value.i64))
        return true;
    argument->type = TBED_ARG_F64;
    argument->value.f64 = tbed_json_in_f64(value);
    return true;
}

/* ---- Keys ---- */

static uint64_t hash(const struct json_value *value)
{
    return tbed_hash64(value->nbytes > 0 ? value->text : "", value->nbytes);
}

uint64_t tbed_chrome_key(const struct json_value *value, uint32_t *number_ret)
{
    struct json_value number;
    uint64_t key;
    int64_t below;
    *number_ret = 0;
    if (value->type == JSON_NULL)
        return 0;
    bool is_number = tbed_chrome_number(value, &number);
    if (is_number && tbed_json_in_u64(&number, &key)) {
        *number_ret = key < UINT32_MAX ? (uint32_t)key : 0;
        return key;
    }
    if (is_number && tbed_json_in_i64(&number, &below))
        return (uint64_t)below;
    return hash(value) | KEY_OF_TEXT;
}

static int digit_of(char byte)
{
    char lower = byte | 0x20;
    return byte >= '0' && byte <= '9' ? byte - '0' : lower >= 'a' && lower <= 'f' ? lower - 'a' + 10 : -1;
}

/* "0x12" */
static bool hex_key(const struct json_value *id, uint64_t *key)
{
    const char *at = id->text, *end = at + id->nbytes;
    if (end - at < 3 || end - at > 18 || at[0] != '0' || at[1] != 'x')
        return false;
    *key = 0;
    for (at += 2; at < end; at++) {
        if (digit_of(*at) < 0)
            return false;
        *key = *key << 4 | (uint64_t)digit_of(*at);
    }
    return true;
}

/* The id; with its scope, or its category; and with the process if it is local to that. */
uint64_t tbed_chrome_async_key(const struct chrome_fields *fields, bool is_flow)
{
    struct json_value global = tbed_chrome_member(&fields->id2, "global");
    struct json_value local = tbed_chrome_member(&fields->id2, "local");
    bool is_local = fields->id.type == JSON_NULL && global.type == JSON_NULL && local.type != JSON_NULL;
    const struct json_value *id = fields->id.type != JSON_NULL ? &fields->id : is_local ? &local : &global;
    const struct json_value *scope = fields->scope.type != JSON_NULL ? &fields->scope : &fields->category;
    uint64_t key = 0;
    uint32_t number;
    if (id->type != JSON_STRING || !hex_key(id, &key))
        key = tbed_chrome_key(id, &number);
    bool is_own = is_flow ? TBED_JSON_IS(scope, "flow") : TBED_JSON_IS(scope, "async");
    if (!is_own && scope->nbytes > 0)
        key = tbed_event_key(key, hash(scope));
    return is_local ? tbed_event_key(key, tbed_chrome_key(&fields->pid, &number)) : key;
}
