/*
 * The JSON reader: values of a text that is in memory, or of which a part is. Strict as RFC 8259 is, except that bytes of
 * strings need not be UTF-8. It takes no memory, and nesting is bounded.
 *
 *     struct json_in in = {text, text + nbytes};
 *     tbed_json_in_value(&in, &value)             a value of any type; of an object or array, its whole text
 *     struct json_in members = tbed_json_in_inside(&value);
 *     while (tbed_json_in_member(&members, &key, &value)) ...    of an object that was read as a value
 *     while (tbed_json_in_element(&members, &value)) ...         of an array that was
 *
 * SPDX-License-Identifier: MIT
 */
#ifndef TRACEBED_EXCHANGE_JSON_IN_H
#define TRACEBED_EXCHANGE_JSON_IN_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#define JSON_DEPTH_MAX 512u

struct json_in {
    const char *at, *end;
};

enum json_result {
    JSON_OK,
    JSON_MORE, /* the text ends inside the value; of a number, or before one, perhaps */
    JSON_BAD,  /* 'at' is the first byte that cannot be */
};

enum json_type { JSON_NULL, JSON_FALSE, JSON_TRUE, JSON_NUMBER, JSON_STRING, JSON_ARRAY, JSON_OBJECT };

struct json_value {
    enum json_type type;
    bool has_escapes; /* a string */
    bool is_integer;  /* a number without a point or an exponent */
    const char *text; /* of a string what is between the quotes; otherwise all of it */
    size_t nbytes;
};

/* Moves to the first byte that is not white space. False: there is none. */
bool tbed_json_in_skip(struct json_in *in);

/* Reads the next value. After MORE and BAD '*value_ret' is undefined. */
enum json_result tbed_json_in_value(struct json_in *in, struct json_value *value_ret);

/* The inside of an object or an array that was read as a value: correct JSON, so the next two cannot fail. */
struct json_in tbed_json_in_inside(const struct json_value *value);
bool tbed_json_in_member(struct json_in *in, struct json_value *key_ret, struct json_value *value_ret);
bool tbed_json_in_element(struct json_in *in, struct json_value *value_ret);

/*
 * Writes the string without escapes to 'to', which has room for 'nbytes' of it; half a surrogate pair becomes U+FFFD.
 * Returns how many bytes there are.
 */
size_t tbed_json_in_unescape(const struct json_value *string, char *to);

/* The number as an integer; false if it is none, or out of range. */
bool tbed_json_in_u64(const struct json_value *number, uint64_t *value_ret);
bool tbed_json_in_i64(const struct json_value *number, int64_t *value_ret);
double tbed_json_in_f64(const struct json_value *number);

/*
 * The number times 10^'shift', rounded to the nearest integer, halves away from zero; computed in decimal, so nothing is
 * rounded twice. False: out of range.
 */
bool tbed_json_in_scaled(const struct json_value *number, int shift, int64_t *value_ret);

static inline bool tbed_json_in_is(const struct json_value *string, const char *text, size_t nbytes)
{
    return string->nbytes == nbytes && __builtin_memcmp(string->text, text, nbytes) == 0;
}
#define TBED_JSON_IS(string, literal) tbed_json_in_is(string, literal, sizeof literal - 1)

#endif
