/*
 * Arguments one by one, as JSON, and as texts; see row_args.h.
 *
 * SPDX-License-Identifier: MIT
 */
#include "reader/tables/rows/row_args.h"

#include "reader/core/base/json.h"
#include "reader/core/names/id_info.h"

#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#define SEPARATOR 0x1E

struct numbering {
    uint32_t next;
    char text[24];
};

static void number_key(struct numbering *numbering, struct row_arg *arg)
{
    arg->key_nbytes = (size_t)snprintf(numbering->text, sizeof numbering->text, "arg%u", numbering->next);
    arg->key = numbering->text;
}

/* ---- One by one ---- */

/* The complete name of an id; false: no memory. */
static bool name_of(struct row_names *names, uint32_t id, const char **text_ret, size_t *nbytes_ret)
{
    uint32_t code = id != TBED_ID_INVALID ? row_name_code(names, ROW_NAME, id) : ROW_CODE_NULL;
    *text_ret = "";
    *nbytes_ret = 0;
    if (code != ROW_CODE_NULL && code != ROW_CODE_FAILED)
        tbed_table_names_get(names->texts, code - 1, text_ret, nbytes_ret);
    return code != ROW_CODE_FAILED;
}

static bool each_part(struct row_names *names, uint32_t id, struct numbering *numbering,
                      row_arg_function function, void *context)
{
    const char *at, *next;
    size_t nbytes;
    if (!name_of(names, id, &at, &nbytes))
        return false;
    const char *end = at + nbytes;
    for (at = memchr(at, SEPARATOR, nbytes); at != NULL; at = next, numbering->next++) {
        at++;
        next = memchr(at, SEPARATOR, (size_t)(end - at));
        struct row_arg arg = {.text = at, .nbytes = (size_t)((next != NULL ? next : end) - at)};
        number_key(numbering, &arg);
        if (!function(context, &arg))
            return false;
    }
    return true;
}

static bool each_argument(const struct row_names *names, struct tbed_arguments at, uint32_t count,
                          struct numbering *numbering, row_arg_function function, void *context)
{
    bool goes_on = true;
    for (uint32_t i = 0; i < count && goes_on; i++, numbering->next++) {
        struct tbed_argument argument;
        struct tbed_name name;
        tbed_argument_next(&at, &argument);
        struct row_arg arg = {.argument = &argument};
        enum tbed_status status = argument.name_id != TBED_ID_INVALID
                                      ? tbed_name_get(names->reader, argument.name_id, &name)
                                      : TBED_ERR_CACHE_FULL;
        if (status == TBED_ERR_MEMORY)
            return false;
        if (status == TBED_ERR_CACHE_FULL) {
            number_key(numbering, &arg);
        } else {
            arg.key = name.text;
            arg.key_nbytes = name.nbytes;
        }
        goes_on = function(context, &arg);
    }
    return goes_on;
}

bool tbed_row_args_each(struct row_names *names, uint32_t id, const struct row_arguments *arguments,
                        row_arg_function function, void *context)
{
    struct numbering numbering = {0};
    if (!each_part(names, id, &numbering, function, context))
        return false;
    return arguments == NULL ||
           (each_argument(names, arguments->of_begin, arguments->begin_count, &numbering, function,
                          context) &&
            each_argument(names, arguments->of_end, arguments->end_count, &numbering, function, context));
}

bool tbed_row_args_exist(struct row_names *names, uint32_t id, const struct row_arguments *arguments)
{
    if (arguments != NULL && arguments->begin_count + arguments->end_count > 0)
        return true;
    const char *text;
    size_t nbytes;
    /* Without memory, the caller finds that out when it asks for them. */
    return !name_of(names, id, &text, &nbytes) || memchr(text, SEPARATOR, nbytes) != NULL;
}

/* ---- Texts ---- */

/* The text of an id, of any length. */
static bool put_id_text(const struct row_names *names, uint64_t value, struct tbed_text *text)
{
    uint32_t id = value <= TBED_ID_MAX ? (uint32_t)value : TBED_ID_INVALID;
    size_t nbytes = tbed_id_spell(names->reader, id, TBED_NAME_ALL, NULL, 0);
    if (nbytes == TBED_NO_MEMORY || !tbed_text_reserve(text, nbytes + 1))
        return false;
    size_t made = tbed_id_spell(names->reader, id, TBED_NAME_ALL, text->bytes + text->nbytes, nbytes + 1);
    text->nbytes += made < nbytes ? made : nbytes;
    return made != TBED_NO_MEMORY;
}

static void put_hex(struct tbed_text *text, const char *bytes, size_t nbytes)
{
    static const char digits[] = "0123456789abcdef";
    for (size_t i = 0; i < nbytes; i++) {
        char pair[2] = {digits[(uint8_t)bytes[i] >> 4], digits[(uint8_t)bytes[i] & 15]};
        tbed_text_put(text, pair, 2);
    }
}

static void put_pointer(struct tbed_text *text, uint64_t value)
{
    char pointer[24];
    snprintf(pointer, sizeof pointer, "0x%llx", (unsigned long long)value);
    tbed_text_puts(text, pointer);
}

bool tbed_row_arg_text(const struct row_names *names, const struct row_arg *arg, struct tbed_text *text)
{
    const struct tbed_argument *argument = arg->argument;
    struct tbed_json json = {.text = text};
    bool fine = true;
    if (argument == NULL) {
        tbed_text_put(text, arg->text, arg->nbytes);
        return !text->is_out_of_memory;
    }
    switch (argument->type) {
    case TBED_ARG_U64:
        tbed_text_u64(text, argument->value.u64);
        break;
    case TBED_ARG_I64:
        tbed_text_i64(text, argument->value.i64);
        break;
    case TBED_ARG_F64:
        if (isfinite(argument->value.f64))
            tbed_json_f64(&json, NULL, argument->value.f64);
        else
            tbed_text_puts(text, isnan(argument->value.f64) ? "NaN"
                                 : argument->value.f64 < 0  ? "-Infinity"
                                                            : "Infinity");
        break;
    case TBED_ARG_BOOL:
        tbed_text_puts(text, argument->value.u64 != 0 ? "true" : "false");
        break;
    case TBED_ARG_POINTER:
        put_pointer(text, argument->value.u64);
        break;
    case TBED_ARG_ID:
        fine = put_id_text(names, argument->value.u64, text);
        break;
    case TBED_ARG_TEXT:
        tbed_text_put(text, argument->value.text, argument->nbytes);
        break;
    default:
        put_hex(text, argument->value.text, argument->nbytes);
    }
    return fine && !text->is_out_of_memory;
}

/* ---- JSON ---- */

struct json_state {
    const struct row_names *names;
    struct tbed_text *json;
    struct tbed_text value;
    bool needs_comma, has_failed;
};

static bool is_bare(const struct tbed_argument *argument)
{
    if (argument == NULL)
        return false;
    return argument->type == TBED_ARG_U64 || argument->type == TBED_ARG_I64 ||
           argument->type == TBED_ARG_BOOL ||
           (argument->type == TBED_ARG_F64 && isfinite(argument->value.f64));
}

static bool put_member(void *context, const struct row_arg *arg)
{
    struct json_state *state = context;
    struct tbed_text *json = state->json;
    tbed_text_puts(json, state->needs_comma ? "," : "{");
    state->needs_comma = true;
    tbed_json_quote(json, arg->key, arg->key_nbytes);
    tbed_text_puts(json, ":");
    if (is_bare(arg->argument))
        return tbed_row_arg_text(state->names, arg, json);
    state->value.nbytes = 0;
    if (!tbed_row_arg_text(state->names, arg, &state->value))
        return false;
    tbed_json_quote(json, state->value.nbytes > 0 ? state->value.bytes : "", state->value.nbytes);
    return !json->is_out_of_memory;
}

bool tbed_row_args_json(struct row_names *names, uint32_t id, const struct row_arguments *arguments,
                        struct tbed_text *json)
{
    struct json_state state = {.names = names, .json = json};
    bool fine = tbed_row_args_each(names, id, arguments, put_member, &state);
    if (state.needs_comma)
        tbed_text_puts(json, "}");
    free(state.value.bytes);
    return fine && !json->is_out_of_memory;
}

void tbed_row_args_put(struct table_rows *rows, unsigned column, struct row_names *names, uint32_t id,
                       const struct row_arguments *arguments, struct tbed_text *scratch)
{
    if (!table_rows_wants(rows, column))
        return;
    scratch->nbytes = 0;
    if (!tbed_row_args_exist(names, id, arguments))
        tbed_table_put_null(rows, column);
    else if (!tbed_row_args_json(names, id, arguments, scratch))
        rows->is_out_of_memory = true;
    else
        tbed_table_put_text(rows, column, scratch->nbytes > 0 ? scratch->bytes : NULL, scratch->nbytes);
}
