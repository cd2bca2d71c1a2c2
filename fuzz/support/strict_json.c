/*
 * A parser of JSON that only checks.
 *
 * SPDX-License-Identifier: MIT
 */
#include "format/base/utf8.h"
#include "fuzz/support/strict.h"

#include <stdint.h>
#include <string.h>

#define DEPTH_MAX 5000

struct json {
    const char *at, *end;
};

static bool skip(struct json *json, char wanted)
{
    if (json->at == json->end || *json->at != wanted)
        return false;
    json->at++;
    return true;
}

static bool skip_word(struct json *json, const char *word)
{
    while (*word != '\0')
        if (!skip(json, *word++))
            return false;
    return true;
}

static void skip_space(struct json *json)
{
    while (skip(json, ' ') || skip(json, '\t') || skip(json, '\n') || skip(json, '\r'))
        ;
}

static bool skip_digits(struct json *json)
{
    const char *begin = json->at;
    while (json->at < json->end && *json->at >= '0' && *json->at <= '9')
        json->at++;
    return json->at > begin;
}

static bool skip_number(struct json *json)
{
    skip(json, '-');
    if (!skip(json, '0') && !skip_digits(json))
        return false;
    if (skip(json, '.') && !skip_digits(json))
        return false;
    if (!skip(json, 'e') && !skip(json, 'E'))
        return true;
    if (!skip(json, '+'))
        skip(json, '-');
    return skip_digits(json);
}

static bool take_hex(struct json *json, unsigned *code_ret)
{
    static const char digits[] = "0123456789abcdef0123456789ABCDEF";
    *code_ret = 0;
    for (int i = 0; i < 4; i++, json->at++) {
        const char *digit = json->at < json->end ? memchr(digits, *json->at, 32) : NULL;
        if (digit == NULL)
            return false;
        *code_ret = *code_ret << 4 | (unsigned)((digit - digits) & 15);
    }
    return true;
}

static bool skip_escape(struct json *json)
{
    unsigned code, low;
    if (json->at == json->end)
        return false;
    char kind = *json->at++;
    if (kind != 'u')
        return memchr("\"\\/bfnrt", kind, 8) != NULL;
    if (!take_hex(json, &code) || (code >= 0xDC00 && code <= 0xDFFF))
        return false;
    if (code < 0xD800 || code > 0xDBFF)
        return true;
    return skip_word(json, "\\u") && take_hex(json, &low) && low >= 0xDC00 && low <= 0xDFFF;
}

static bool skip_string(struct json *json)
{
    if (!skip(json, '"'))
        return false;
    while (!skip(json, '"')) {
        if (skip(json, '\\')) {
            if (!skip_escape(json))
                return false;
            continue;
        }
        size_t step = json->at < json->end && (uint8_t)*json->at >= ' '
                          ? tbed_utf8_step((const uint8_t *)json->at, (size_t)(json->end - json->at))
                          : 0;
        if (step == 0)
            return false;
        json->at += step;
    }
    return true;
}

static bool skip_value(struct json *json, int depth);

static bool skip_member(struct json *json, bool is_object, int depth)
{
    skip_space(json);
    if (is_object) {
        if (!skip_string(json))
            return false;
        skip_space(json);
        if (!skip(json, ':'))
            return false;
    }
    bool is_good = skip_value(json, depth);
    skip_space(json);
    return is_good;
}

static bool skip_members(struct json *json, char end, int depth)
{
    skip_space(json);
    if (skip(json, end))
        return true;
    do {
        if (depth == 0 || !skip_member(json, end == '}', depth - 1))
            return false;
    } while (skip(json, ','));
    return skip(json, end);
}

static bool skip_value(struct json *json, int depth)
{
    skip_space(json);
    if (skip(json, '{'))
        return skip_members(json, '}', depth);
    if (skip(json, '['))
        return skip_members(json, ']', depth);
    if (json->at == json->end)
        return false;
    switch (*json->at) {
    case '"':
        return skip_string(json);
    case 't':
        return skip_word(json, "true");
    case 'f':
        return skip_word(json, "false");
    case 'n':
        return skip_word(json, "null");
    default:
        return skip_number(json);
    }
}

bool is_json_lines(const char *text, size_t nbytes)
{
    struct json json = {text, text + nbytes};
    while (json.at < json.end)
        if (!skip_value(&json, DEPTH_MAX) || !skip(&json, '\n'))
            return false;
    return true;
}
