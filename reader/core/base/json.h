/*
 * The JSON writer, the only code that deals with commas, quotes, escapes and numbers that are not finite. Its output
 * is valid JSON for any input, and inert: controls of all kinds (inert.h) are escaped, and each byte that is not part of a
 * code point becomes U+FFFD.
 *
 * SPDX-License-Identifier: MIT
 */
#ifndef TRACEBED_JSON_H
#define TRACEBED_JSON_H

#include "reader/core/base/text.h"

#include <stdio.h>

struct tbed_json {
    FILE *out;              /* output goes here, */
    struct tbed_text *text; /* or, if 'out' is NULL, here */
    bool needs_comma;
};

/* 'key' is NULL inside an array and at the top; it is written without escapes. */
void tbed_json_object_open(struct tbed_json *json, const char *key);
void tbed_json_object_close(struct tbed_json *json);
void tbed_json_array_open(struct tbed_json *json, const char *key);
void tbed_json_array_close(struct tbed_json *json);

void tbed_json_text(struct tbed_json *json, const char *key, const char *text, size_t nbytes);
void tbed_json_string(struct tbed_json *json, const char *key, const char *text); /* NULL: null */
void tbed_json_u64(struct tbed_json *json, const char *key, uint64_t value);
void tbed_json_i64(struct tbed_json *json, const char *key, int64_t value);
void tbed_json_f64(struct tbed_json *json, const char *key,
                   double value); /* "NaN", "Infinity", "-Infinity" */
void tbed_json_bool(struct tbed_json *json, const char *key, bool value);
void tbed_json_null(struct tbed_json *json, const char *key);
void tbed_json_hex(struct tbed_json *json, const char *key, const void *bytes, size_t nbytes); /* "00ff" */

/* Ends a line between top-level values. */
void tbed_json_line(struct tbed_json *json);

/* A text in quotes, for JSON that is assembled by hand. */
static inline void tbed_json_quote(struct tbed_text *to, const char *text, size_t nbytes)
{
    struct tbed_json json = {.text = to};
    tbed_json_text(&json, NULL, text, nbytes);
}

#endif
