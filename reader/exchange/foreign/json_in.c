/*
 * The JSON reader; see json_in.h.
 *
 * SPDX-License-Identifier: MIT
 */
#define _GNU_SOURCE 1
#include "reader/exchange/foreign/json_in.h"

#include <locale.h>
#include <stdlib.h>
#include <string.h>

#define NUMBER_NMAX 64 /* digits that are looked at */

/* ---- White space and literals ---- */

static inline bool is_space(char byte)
{
    return byte == ' ' || byte == '\n' || byte == '\t' || byte == '\r';
}

static inline bool is_digit(char byte)
{
    return byte >= '0' && byte <= '9';
}

bool tbed_json_in_skip(struct json_in *in)
{
    while (in->at < in->end && is_space(*in->at))
        in->at++;
    return in->at < in->end;
}

static enum json_result take_literal(struct json_in *in, const char *literal)
{
    for (; *literal != '\0'; literal++, in->at++) {
        if (in->at == in->end)
            return JSON_MORE;
        if (*in->at != *literal)
            return JSON_BAD;
    }
    return JSON_OK;
}

/* ---- Strings ---- */

static int hex_of(char byte)
{
    if (is_digit(byte))
        return byte - '0';
    byte |= 0x20;
    return byte >= 'a' && byte <= 'f' ? byte - 'a' + 10 : -1;
}

static enum json_result take_escape(struct json_in *in)
{
    in->at++;
    if (in->at == in->end)
        return JSON_MORE;
    if (*in->at != 'u') {
        if (*in->at == '\0' || strchr("\"\\/bfnrt", *in->at) == NULL)
            return JSON_BAD;
        in->at++;
        return JSON_OK;
    }
    in->at++;
    for (int i = 0; i < 4; i++, in->at++) {
        if (in->at == in->end)
            return JSON_MORE;
        if (hex_of(*in->at) < 0)
            return JSON_BAD;
    }
    return JSON_OK;
}

/* 'at' is behind the first quote; then behind the second. */
static inline enum json_result take_string(struct json_in *in, bool *has_escapes_ret)
{
    *has_escapes_ret = false;
    for (;;) {
        while (in->at < in->end && *in->at != '"' && *in->at != '\\' && (unsigned char)*in->at >= 0x20)
            in->at++;
        if (in->at == in->end)
            return JSON_MORE;
        if (*in->at == '"') {
            in->at++;
            return JSON_OK;
        }
        if (*in->at != '\\')
            return JSON_BAD;
        *has_escapes_ret = true;
        enum json_result result = take_escape(in);
        if (result != JSON_OK)
            return result;
    }
}

static uint32_t unit_of(const char *hex)
{
    return (uint32_t)(hex_of(hex[0]) << 12 | hex_of(hex[1]) << 8 | hex_of(hex[2]) << 4 | hex_of(hex[3]));
}

static char *put_code(char *to, uint32_t code)
{
    if (code < 0x80) {
        *to++ = (char)code;
        return to;
    }
    if (code < 0x800) {
        *to++ = (char)(0xC0 | code >> 6);
    } else {
        if (code < 0x10000) {
            *to++ = (char)(0xE0 | code >> 12);
        } else {
            *to++ = (char)(0xF0 | code >> 18);
            *to++ = (char)(0x80 | (code >> 12 & 0x3F));
        }
        *to++ = (char)(0x80 | (code >> 6 & 0x3F));
    }
    *to++ = (char)(0x80 | (code & 0x3F));
    return to;
}

/* 'at' is behind "\u"; returns the code point, and moves behind its digits. */
static uint32_t take_code(const char **at, const char *end)
{
    uint32_t code = unit_of(*at);
    *at += 4;
    if (code < 0xD800 || code > 0xDFFF)
        return code;
    if (code <= 0xDBFF && end - *at >= 6 && (*at)[0] == '\\' && (*at)[1] == 'u') {
        uint32_t low = unit_of(*at + 2);
        if (low >= 0xDC00 && low <= 0xDFFF) {
            *at += 6;
            return 0x10000 + ((code - 0xD800) << 10) + (low - 0xDC00);
        }
    }
    return 0xFFFD;
}

size_t tbed_json_in_unescape(const struct json_value *string, char *to)
{
    static const char from[] = "bfnrt", meant[] = "\b\f\n\r\t";
    const char *at = string->text, *end = at + string->nbytes;
    char *start = to;
    while (at < end) {
        const char *escape = memchr(at, '\\', (size_t)(end - at));
        size_t plain = (size_t)((escape != NULL ? escape : end) - at);
        memcpy(to, at, plain);
        to += plain;
        at += plain;
        if (at == end)
            break;
        char kind = at[1];
        const char *special = strchr(from, kind);
        at += 2;
        if (kind == 'u')
            to = put_code(to, take_code(&at, end));
        else
            *to++ = special != NULL ? meant[special - from] : kind;
    }
    return (size_t)(to - start);
}

/* ---- Numbers ---- */

static bool take_digits(struct json_in *in)
{
    const char *first = in->at;
    while (in->at < in->end && is_digit(*in->at))
        in->at++;
    return in->at > first;
}

static enum json_result missing_digit(const struct json_in *in)
{
    return in->at == in->end ? JSON_MORE : JSON_BAD;
}

static enum json_result take_number(struct json_in *in, bool *is_integer_ret)
{
    *is_integer_ret = true;
    in->at += *in->at == '-';
    if (in->at < in->end && *in->at == '0')
        in->at++;
    else if (!take_digits(in))
        return missing_digit(in);
    if (in->at < in->end && *in->at == '.') {
        *is_integer_ret = false;
        in->at++;
        if (!take_digits(in))
            return missing_digit(in);
    }
    if (in->at < in->end && (*in->at | 0x20) == 'e') {
        *is_integer_ret = false;
        in->at++;
        in->at += in->at < in->end && (*in->at == '+' || *in->at == '-');
        if (!take_digits(in))
            return missing_digit(in);
    }
    return in->at == in->end ? JSON_MORE : JSON_OK;
}

bool tbed_json_in_u64(const struct json_value *number, uint64_t *value_ret)
{
    uint64_t value = 0;
    if (!number->is_integer)
        return false;
    for (size_t i = 0; i < number->nbytes; i++)
        if (!is_digit(number->text[i]) || __builtin_mul_overflow(value, 10, &value) ||
            __builtin_add_overflow(value, (uint64_t)(number->text[i] - '0'), &value))
            return false;
    *value_ret = value;
    return true;
}

bool tbed_json_in_i64(const struct json_value *number, int64_t *value_ret)
{
    struct json_value size = *number;
    bool is_negative = size.text[0] == '-';
    size.text += is_negative;
    size.nbytes -= is_negative;
    uint64_t value;
    if (!tbed_json_in_u64(&size, &value) || value > (uint64_t)INT64_MAX + is_negative)
        return false;
    *value_ret = (int64_t)(is_negative ? 0 - value : value);
    return true;
}

/* Digits of a number, without its sign and leading zeros; further ones than there is room for are only noted. */
struct digits {
    char text[NUMBER_NMAX];
    int count;
    int64_t point; /* how many digits are in front of it; may be negative */
    bool is_negative;
};

/* There is a digit at least, perhaps behind a sign. */
static int64_t exponent_of(const char *at, const char *end)
{
    bool is_negative = *at == '-';
    int64_t value = 0;
    for (at += !is_digit(*at); at < end; at++)
        value = value < 100000 ? value * 10 + (*at - '0') : value;
    return is_negative ? -value : value;
}

static void take_apart(const struct json_value *number, struct digits *digits)
{
    const char *at = number->text, *end = at + number->nbytes;
    bool is_behind = false;
    *digits = (struct digits){.is_negative = *at == '-'};
    for (at += digits->is_negative; at < end && (*at | 0x20) != 'e'; at++) {
        if (*at == '.') {
            is_behind = true;
            continue;
        }
        bool is_leading = digits->count == 0 && *at == '0';
        if (!is_leading && digits->count < NUMBER_NMAX)
            digits->text[digits->count++] = *at;
        digits->point += is_leading ? -is_behind : !is_behind;
    }
    if (at < end)
        digits->point += exponent_of(at + 1, end);
}

bool tbed_json_in_scaled(const struct json_value *number, int shift, int64_t *value_ret)
{
    struct digits digits;
    uint64_t value = 0;
    take_apart(number, &digits);
    digits.point += shift;
    *value_ret = 0;
    if (digits.count == 0 || digits.point < 0)
        return true;
    for (int64_t i = 0; i < digits.point; i++)
        if (__builtin_mul_overflow(value, 10,
                                   &value) || /* the first digit is not 0: at once or at the 21st */
            __builtin_add_overflow(value, i < digits.count ? (uint64_t)(digits.text[i] - '0') : 0, &value))
            return false;
    value += digits.point < digits.count && digits.text[digits.point] >= '5';
    if (value > INT64_MAX)
        return false;
    *value_ret = digits.is_negative ? -(int64_t)value : (int64_t)value;
    return true;
}

double tbed_json_in_f64(const struct json_value *number)
{
    char text[400]; /* more digits do not change a double, except in contrived cases */
    size_t nbytes = number->nbytes < sizeof text - 1 ? number->nbytes : sizeof text - 1;
    memcpy(text, number->text, nbytes);
    text[nbytes] = '\0';
    locale_t plain = newlocale(LC_NUMERIC_MASK, "C", (locale_t)0);
    if (plain == (locale_t)0)
        return 0;
    double value = strtod_l(text, NULL, plain);
    freelocale(plain);
    return value;
}

/* ---- Values ---- */

static enum json_result take_scalar(struct json_in *in, struct json_value *value)
{
    value->text = in->at;
    enum json_result result;
    switch (*in->at) {
    case '"':
        in->at++;
        value->type = JSON_STRING;
        value->text = in->at;
        result = take_string(in, &value->has_escapes);
        value->nbytes = (size_t)(in->at - value->text) - (result == JSON_OK);
        return result;
    case 't':
        value->type = JSON_TRUE;
        result = take_literal(in, "true");
        break;
    case 'f':
        value->type = JSON_FALSE;
        result = take_literal(in, "false");
        break;
    case 'n':
        value->type = JSON_NULL;
        result = take_literal(in, "null");
        break;
    default:
        value->type = JSON_NUMBER;
        if (*in->at != '-' && !is_digit(*in->at))
            return JSON_BAD;
        result = take_number(in, &value->is_integer);
    }
    value->nbytes = (size_t)(in->at - value->text);
    return result;
}

/* The containers that are open: a bit for each, set for an object. */
struct open_containers {
    uint64_t bits[JSON_DEPTH_MAX / 64];
    unsigned count;
};

static bool is_in_object(const struct open_containers *open)
{
    return open->bits[(open->count - 1) / 64] >> (open->count - 1) % 64 & 1;
}

static bool push(struct open_containers *open, bool is_object)
{
    if (open->count == JSON_DEPTH_MAX)
        return false;
    uint64_t bit = UINT64_C(1) << open->count % 64;
    uint64_t *word = &open->bits[open->count / 64];
    *word = is_object ? *word | bit : *word & ~bit;
    open->count++;
    return true;
}

static enum json_result expect(struct json_in *in, char byte)
{
    if (!tbed_json_in_skip(in))
        return JSON_MORE;
    if (*in->at != byte)
        return JSON_BAD;
    in->at++;
    return JSON_OK;
}

/* The key of a member, and its colon. */
static enum json_result take_key(struct json_in *in)
{
    bool has_escapes;
    enum json_result result = expect(in, '"');
    if (result == JSON_OK)
        result = take_string(in, &has_escapes);
    return result == JSON_OK ? expect(in, ':') : result;
}

/* Behind a value: closes containers that end, and moves to the next value. Sets 'is_over' behind the outermost. */
static enum json_result take_behind(struct json_in *in, struct open_containers *open, bool *is_over)
{
    while (open->count > 0) {
        if (!tbed_json_in_skip(in))
            return JSON_MORE;
        bool is_object = is_in_object(open);
        if (*in->at == ',') {
            in->at++;
            return is_object ? take_key(in) : JSON_OK;
        }
        if (*in->at != (is_object ? '}' : ']'))
            return JSON_BAD;
        in->at++;
        open->count--;
    }
    *is_over = true;
    return JSON_OK;
}

/* Opens a container; 'is_empty' if it has closed at once. */
static enum json_result take_open(struct json_in *in, struct open_containers *open, bool *is_empty)
{
    bool is_object = *in->at == '{';
    if (!push(open, is_object))
        return JSON_BAD;
    in->at++;
    if (!tbed_json_in_skip(in))
        return JSON_MORE;
    *is_empty = *in->at == (is_object ? '}' : ']');
    if (*is_empty) {
        in->at++;
        open->count--;
        return JSON_OK;
    }
    return is_object ? take_key(in) : JSON_OK;
}

static enum json_result take_container(struct json_in *in)
{
    struct open_containers open;
    struct json_value value;
    enum json_result result = JSON_OK;
    open.count = 0;
    for (bool is_over = false; result == JSON_OK && !is_over;) {
        bool is_whole = true;
        if (!tbed_json_in_skip(in))
            return JSON_MORE;
        if (*in->at == '{' || *in->at == '[')
            result = take_open(in, &open, &is_whole);
        else
            result = take_scalar(in, &value);
        if (result == JSON_OK && is_whole)
            result = take_behind(in, &open, &is_over);
    }
    return result;
}

enum json_result tbed_json_in_value(struct json_in *in, struct json_value *value_ret)
{
    if (!tbed_json_in_skip(in))
        return JSON_MORE;
    if (*in->at != '{' && *in->at != '[')
        return take_scalar(in, value_ret);
    *value_ret = (struct json_value){.type = *in->at == '{' ? JSON_OBJECT : JSON_ARRAY, .text = in->at};
    enum json_result result = take_container(in);
    value_ret->nbytes = (size_t)(in->at - value_ret->text);
    return result;
}

/* ---- Members ---- */

struct json_in tbed_json_in_inside(const struct json_value *value)
{
    return (struct json_in){value->text + 1, value->text + value->nbytes};
}

/* The next value of a container; its last byte closes it. */
bool tbed_json_in_element(struct json_in *in, struct json_value *value_ret)
{
    while (in->end - in->at > 1 && (*in->at == ',' || is_space(*in->at)))
        in->at++;
    return in->end - in->at > 1 && tbed_json_in_value(in, value_ret) == JSON_OK;
}

bool tbed_json_in_member(struct json_in *in, struct json_value *key_ret, struct json_value *value_ret)
{
    if (!tbed_json_in_element(in, key_ret))
        return false;
    expect(in, ':');
    return tbed_json_in_value(in, value_ret) == JSON_OK;
}
