/*
 * A streaming JSON printer: commas, quotes, escapes and non-finite numbers are its business alone.
 *
 * SPDX-License-Identifier: MIT
 */
#define _GNU_SOURCE 1
#include "format/utf8.h"
#include "reader/tools/shared/tool.h"

#include <math.h>
#include <string.h>

static void print(struct tool_json *json, const char *text, size_t nbytes)
{
    fwrite_unlocked(text, 1, nbytes, json->out);
}

static void before_value(struct tool_json *json, const char *key)
{
    if (json->needs_comma)
        putc_unlocked(',', json->out);
    json->needs_comma = true;
    if (key == NULL)
        return;
    putc_unlocked('"', json->out);
    print(json, key, strlen(key));
    print(json, "\":", 2);
}

static void open_bracket(struct tool_json *json, const char *key, char bracket)
{
    before_value(json, key);
    putc_unlocked(bracket, json->out);
    json->needs_comma = false;
}

static void close_bracket(struct tool_json *json, char bracket)
{
    putc_unlocked(bracket, json->out);
    json->needs_comma = true;
}

void tool_json_object_open(struct tool_json *json, const char *key)
{
    open_bracket(json, key, '{');
}

void tool_json_object_close(struct tool_json *json)
{
    close_bracket(json, '}');
}

void tool_json_array_open(struct tool_json *json, const char *key)
{
    open_bracket(json, key, '[');
}

void tool_json_array_close(struct tool_json *json)
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

static void print_control(struct tool_json *json, uint8_t byte)
{
    static const char letters[] = "\b\f\n\r\t\"\\", escapes[] = "bfnrt\"\\";
    const char *letter = byte != 0 ? strchr(letters, byte) : NULL;
    if (letter != NULL)
        fprintf(json->out, "\\%c", escapes[letter - letters]);
    else
        fprintf(json->out, "\\u%04x", byte);
}

/* One code point that is not plain, or one byte that is none; gives its size. */
static size_t print_special(struct tool_json *json, const uint8_t *at, size_t nbytes)
{
    size_t size = tbed_utf8_step(at, nbytes);
    if (size == 0)
        print(json, "\xEF\xBF\xBD", 3);
    else if (size == 1)
        print_control(json, at[0]);
    else if (at[0] == 0xC2 && at[1] < 0xA0) /* C1 controls: JSON allows them, terminals obey them */
        print_control(json, at[1]);
    else
        print(json, (const char *)at, size);
    return size > 0 ? size : 1;
}

void tool_json_text(struct tool_json *json, const char *key, const char *text, size_t nbytes)
{
    const uint8_t *at = (const uint8_t *)text;
    before_value(json, key);
    putc_unlocked('"', json->out);
    for (size_t i = 0; i < nbytes;) {
        size_t plain = plain_nbytes(at + i, nbytes - i);
        print(json, text + i, plain);
        i += plain;
        if (i < nbytes)
            i += print_special(json, at + i, nbytes - i);
    }
    putc_unlocked('"', json->out);
}

void tool_json_string(struct tool_json *json, const char *key, const char *text)
{
    if (text == NULL)
        tool_json_null(json, key);
    else
        tool_json_text(json, key, text, strlen(text));
}

void tool_json_null(struct tool_json *json, const char *key)
{
    before_value(json, key);
    print(json, "null", 4);
}

void tool_json_u64(struct tool_json *json, const char *key, uint64_t value)
{
    char digits[20];
    before_value(json, key);
    print(json, digits, tbed_format_u64(digits, value));
}

void tool_json_i64(struct tool_json *json, const char *key, int64_t value)
{
    char digits[21] = "-";
    bool negative = value < 0;
    uint64_t size = negative ? 0 - (uint64_t)value : (uint64_t)value;
    before_value(json, key);
    print(json, digits + !negative, tbed_format_u64(digits + 1, size) + negative);
}

void tool_json_f64(struct tool_json *json, const char *key, double value)
{
    if (!isfinite(value)) {
        tool_json_string(json, key, isnan(value) ? "NaN" : value > 0 ? "Infinity" : "-Infinity");
        return;
    }
    char text[32];
    tbed_format_f64(text, value);
    before_value(json, key);
    print(json, text, strlen(text));
}

void tool_json_bool(struct tool_json *json, const char *key, bool value)
{
    before_value(json, key);
    print(json, value ? "true" : "false", value ? 4 : 5);
}

void tool_json_hex(struct tool_json *json, const char *key, const void *bytes, size_t nbytes)
{
    static const char digits[] = "0123456789abcdef";
    const uint8_t *at = bytes;
    before_value(json, key);
    putc_unlocked('"', json->out);
    for (size_t i = 0; i < nbytes; i++) {
        putc_unlocked(digits[at[i] >> 4], json->out);
        putc_unlocked(digits[at[i] & 15], json->out);
    }
    putc_unlocked('"', json->out);
}

void tool_json_line(struct tool_json *json)
{
    putc_unlocked('\n', json->out);
    json->needs_comma = false;
}
