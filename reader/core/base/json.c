/*
 * The JSON writer; see json.h.
 *
 * SPDX-License-Identifier: MIT
 */
#define _GNU_SOURCE 1
#include "reader/core/base/json.h"

#include "reader/core/base/inert.h"
#include "reader/core/base/number_text.h"
#include "reader/core/system/system.h"

#include <math.h>
#include <string.h>

static void print(struct tbed_json *json, const char *text, size_t nbytes)
{
    if (json->out != NULL)
        tbed_stream_put(text, nbytes, json->out);
    else
        tbed_text_put(json->text, text, nbytes);
}

static void print_byte(struct tbed_json *json, char byte)
{
    if (json->out != NULL)
        putc_unlocked(byte, json->out);
    else
        tbed_text_put(json->text, &byte, 1);
}

static void before_value(struct tbed_json *json, const char *key)
{
    if (json->needs_comma)
        print_byte(json, ',');
    json->needs_comma = true;
    if (key == NULL)
        return;
    print_byte(json, '"');
    print(json, key, strlen(key));
    print(json, "\":", 2);
}

static void open_bracket(struct tbed_json *json, const char *key, char bracket)
{
    before_value(json, key);
    print_byte(json, bracket);
    json->needs_comma = false;
}

static void close_bracket(struct tbed_json *json, char bracket)
{
    print_byte(json, bracket);
    json->needs_comma = true;
}

void tbed_json_object_open(struct tbed_json *json, const char *key)
{
    open_bracket(json, key, '{');
}

void tbed_json_object_close(struct tbed_json *json)
{
    close_bracket(json, '}');
}

void tbed_json_array_open(struct tbed_json *json, const char *key)
{
    open_bracket(json, key, '[');
}

void tbed_json_array_close(struct tbed_json *json)
{
    close_bracket(json, ']');
}

static size_t plain_nbytes(const uint8_t *at, size_t nbytes)
{
    size_t i = 0;
    while (i < nbytes && at[i] >= 0x20 && at[i] < 0x7F && at[i] != '"' && at[i] != '\\')
        i++;
    return i;
}

static void print_control(struct tbed_json *json, uint8_t byte)
{
    static const char letters[] = "\b\f\n\r\t\"\\", escapes[] = "bfnrt\"\\", digits[] = "0123456789abcdef";
    const char *letter = byte != 0 ? strchr(letters, byte) : NULL;
    if (letter != NULL)
        print(json, (const char[]){'\\', escapes[letter - letters]}, 2);
    else
        print(json, (const char[]){'\\', 'u', '0', '0', digits[byte >> 4], digits[byte & 15]}, 6);
}

/* Controls above ASCII: JSON allows them, terminals and editors obey them. Above 0xFFFF it takes a surrogate pair. */
static void print_code_unit(struct tbed_json *json, uint32_t unit)
{
    static const char digits[] = "0123456789abcdef";
    print(json,
          (const char[]){'\\', 'u', digits[unit >> 12 & 15], digits[unit >> 8 & 15], digits[unit >> 4 & 15],
                         digits[unit & 15]},
          6);
}

static void print_high_control(struct tbed_json *json, uint32_t code)
{
    if (code > 0xFFFF) {
        print_code_unit(json, 0xD800 + ((code - 0x10000) >> 10));
        code = 0xDC00 + (code & 0x3FF);
    }
    print_code_unit(json, code);
}

/* Writes one code point that must be escaped, or one invalid byte, and returns its size. */
static size_t print_special(struct tbed_json *json, const uint8_t *at, size_t nbytes)
{
    uint32_t code;
    size_t size = tbed_code_point(at, nbytes, &code);
    if (size == 0)
        print(json, "\xEF\xBF\xBD", 3);
    else if (size == 1)
        print_control(json, at[0]);
    else if (tbed_is_control(code))
        print_high_control(json, code);
    else
        print(json, (const char *)at, size);
    return size > 0 ? size : 1;
}

void tbed_json_text(struct tbed_json *json, const char *key, const char *text, size_t nbytes)
{
    const uint8_t *at = (const uint8_t *)text;
    before_value(json, key);
    print_byte(json, '"');
    for (size_t i = 0; i < nbytes;) {
        size_t plain = plain_nbytes(at + i, nbytes - i);
        print(json, text + i, plain);
        i += plain;
        if (i < nbytes)
            i += print_special(json, at + i, nbytes - i);
    }
    print_byte(json, '"');
}

void tbed_json_string(struct tbed_json *json, const char *key, const char *text)
{
    if (text == NULL)
        tbed_json_null(json, key);
    else
        tbed_json_text(json, key, text, strlen(text));
}

void tbed_json_null(struct tbed_json *json, const char *key)
{
    before_value(json, key);
    print(json, "null", 4);
}

void tbed_json_u64(struct tbed_json *json, const char *key, uint64_t value)
{
    char digits[20];
    before_value(json, key);
    print(json, digits, tbed_format_u64(digits, value));
}

void tbed_json_i64(struct tbed_json *json, const char *key, int64_t value)
{
    char digits[20];
    before_value(json, key);
    print(json, digits, tbed_format_i64(digits, value));
}

void tbed_json_f64(struct tbed_json *json, const char *key, double value)
{
    if (!isfinite(value)) {
        tbed_json_string(json, key, isnan(value) ? "NaN" : value > 0 ? "Infinity" : "-Infinity");
        return;
    }
    char text[32];
    tbed_format_f64(text, value);
    before_value(json, key);
    print(json, text, strlen(text));
}

void tbed_json_bool(struct tbed_json *json, const char *key, bool value)
{
    before_value(json, key);
    print(json, value ? "true" : "false", value ? 4 : 5);
}

void tbed_json_hex(struct tbed_json *json, const char *key, const void *bytes, size_t nbytes)
{
    static const char digits[] = "0123456789abcdef";
    const uint8_t *at = bytes;
    before_value(json, key);
    print_byte(json, '"');
    for (size_t i = 0; i < nbytes; i++) {
        print_byte(json, digits[at[i] >> 4]);
        print_byte(json, digits[at[i] & 15]);
    }
    print_byte(json, '"');
}

void tbed_json_line(struct tbed_json *json)
{
    print_byte(json, '\n');
    json->needs_comma = false;
}
