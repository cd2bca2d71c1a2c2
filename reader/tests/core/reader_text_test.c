/*
 * The JSON writer, inert text and numbers as text, byte for byte: what they write is what people and programs see.
 *
 * SPDX-License-Identifier: MIT
 */
#define _GNU_SOURCE 1
#include "reader/core/base/inert.h"
#include "reader/core/base/json.h"
#include "reader/core/base/number_text.h"

#include <float.h>
#include <inttypes.h>
#include <math.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stdlib.h>

#include <cmocka.h>

static void write_everything(struct tbed_json *json)
{
    tbed_json_object_open(json, NULL);
    tbed_json_u64(json, "u", UINT64_MAX);
    tbed_json_i64(json, "i", INT64_MIN);
    tbed_json_array_open(json, "list");
    tbed_json_bool(json, NULL, true);
    tbed_json_bool(json, NULL, false);
    tbed_json_null(json, NULL);
    tbed_json_string(json, NULL, NULL);
    tbed_json_string(json, NULL, "text");
    tbed_json_array_close(json);
    tbed_json_object_open(json, "empty");
    tbed_json_object_close(json);
    tbed_json_f64(json, "f", 0.5);
    tbed_json_f64(json, "nan", NAN);
    tbed_json_f64(json, "above", INFINITY);
    tbed_json_f64(json, "below", -INFINITY);
    tbed_json_hex(json, "bytes", "\x00\x1F\xF0\xA5", 4);
    tbed_json_hex(json, "none", "", 0);
    tbed_json_object_close(json);
    tbed_json_line(json);
    tbed_json_u64(json, NULL, 0);
    tbed_json_line(json);
}

static const char everything[] = "{\"u\":18446744073709551615,\"i\":-9223372036854775808,\"list\":[true,"
                                 "false,null,null,\"text\"],\"empty\":{},"
                                 "\"f\":0.5,\"nan\":\"NaN\",\"above\":\"Infinity\",\"below\":\"-Infinity\","
                                 "\"bytes\":\"001ff0a5\",\"none\":\"\"}\n"
                                 "0\n";

static void values_of_each_kind_are_written(void **state)
{
    struct tbed_text text = {0};
    struct tbed_json to_text = {.text = &text};
    char *bytes;
    size_t nbytes;
    (void)state;
    write_everything(&to_text);
    assert_int_equal(text.nbytes, sizeof everything - 1);
    assert_memory_equal(text.bytes, everything, text.nbytes);
    free(text.bytes);

    struct tbed_json to_file = {.out = open_memstream(&bytes, &nbytes)};
    assert_non_null(to_file.out);
    write_everything(&to_file);
    assert_int_equal(fclose(to_file.out), 0);
    assert_string_equal(bytes, everything);
    free(bytes);
}

/* Control characters are escaped, bytes outside of code points become U+FFFD, and everything else is verbatim. */
static void texts_are_escaped(void **state)
{
    static const struct {
        const char *text, *json, *inert; /* inert with line feeds kept */
    } cases[] = {
        {"", "", ""},
        {" ~", " ~", " ~"},
        {"a\"b\\c", "a\\\"b\\\\c", "a\"b\\c"},
        {"\b\f\n\r\t", "\\b\\f\\n\\r\\t", "\\x08\\x0c\n\\x0d\\x09"},
        {"\x01\x1F\x7F", "\\u0001\\u001f\\u007f", "\\x01\\x1f\\x7f"},
        {"\xC2\x80\xC2\x9F\u00A0", "\\u0080\\u009f\u00A0", "\\xc2\\x80\\xc2\\x9f\u00A0"},
        {"\u061B\u061C\u061D", "\u061B\\u061c\u061D", "\u061B\\xd8\\x9c\u061D"},
        {"\u200D\u200E\u200F\u2010", "\u200D\\u200e\\u200f\u2010",
         "\u200D\\xe2\\x80\\x8e\\xe2\\x80\\x8f\u2010"},
        {"\u2027\u2028\u202E\u202F", "\u2027\\u2028\\u202e\u202F",
         "\u2027\\xe2\\x80\\xa8\\xe2\\x80\\xae\u202F"},
        {"\u2065\u2066\u2069\u206A", "\u2065\\u2066\\u2069\u206A",
         "\u2065\\xe2\\x81\\xa6\\xe2\\x81\\xa9\u206A"},
        {"\uFEFE\uFEFF\uFF00", "\uFEFE\\ufeff\uFF00", "\uFEFE\\xef\\xbb\\xbf\uFF00"},
        {"\U0001F600", "\U0001F600", "\U0001F600"},
        {"\U000DFFFF\U000E0000", "\U000DFFFF\\udb40\\udc00", "\U000DFFFF\\xf3\\xa0\\x80\\x80"},
        {"\U000E007F\U000E0080", "\\udb40\\udc7f\U000E0080", "\\xf3\\xa0\\x81\\xbf\U000E0080"},
        {"a\xFFz", "a\uFFFDz", "a\xFFz"},
        {"\xE2\x82", "\uFFFD\uFFFD",
         "\xE2\\x82"}, /* alone, the second byte is a control of an 8-bit terminal */
        {"\xC0\xAF", "\uFFFD\uFFFD", "\xC0\xAF"},
    };
    (void)state;
    for (size_t i = 0; i < sizeof cases / sizeof cases[0]; i++) {
        struct tbed_text json = {0}, inert = {0};
        size_t nbytes = strlen(cases[i].text), json_nbytes = strlen(cases[i].json);
        tbed_json_quote(&json, cases[i].text, nbytes);
        assert_int_equal(json.nbytes, json_nbytes + 2);
        assert_memory_equal(json.bytes + 1, cases[i].json, json_nbytes);
        assert_true(json.bytes[0] == '"' && json.bytes[json_nbytes + 1] == '"');
        tbed_text_put_inert(&inert, cases[i].text, nbytes, "\n");
        assert_int_equal(inert.nbytes, strlen(cases[i].inert));
        if (inert.nbytes > 0)
            assert_memory_equal(inert.bytes, cases[i].inert, inert.nbytes);
        free(json.bytes);
        free(inert.bytes);
    }
}

static void a_zero_byte_is_escaped_although_it_ends_the_list_of_those_kept(void **state)
{
    struct tbed_text text = {0};
    (void)state;
    tbed_json_quote(&text, "a\0b", 3);
    tbed_text_put_inert(&text, "a\0b", 3, "\n");
    assert_int_equal(text.nbytes, strlen("\"a\\u0000b\"a\\x00b"));
    assert_memory_equal(text.bytes, "\"a\\u0000b\"a\\x00b", text.nbytes);
    free(text.bytes);
}

static void integers_are_as_printf_prints_them(void **state)
{
    char expected[32], found[32];
    (void)state;
    for (unsigned shift = 0; shift < 64; shift++)
        for (int more = -1; more <= 1; more++) {
            uint64_t value = (UINT64_C(1) << shift) + (uint64_t)more;
            memset(found, '#', sizeof found);
            size_t nbytes = (size_t)snprintf(expected, sizeof expected, "%" PRIu64, value);
            assert_int_equal(tbed_format_u64(found, value), nbytes);
            assert_memory_equal(found, expected, nbytes);
            assert_int_equal(found[nbytes], '#');
            memset(found, '#', sizeof found);
            nbytes = (size_t)snprintf(expected, sizeof expected, "%" PRId64, (int64_t)value);
            assert_int_equal(tbed_format_i64(found, (int64_t)value), nbytes);
            assert_memory_equal(found, expected, nbytes);
            assert_int_equal(found[nbytes], '#');
        }
}

static void doubles_are_as_short_as_they_can_be(void **state)
{
    static const struct {
        double value;
        const char *text;
    } cases[] = {
        {0, "0.0"},
        {-0.0, "-0.0"},
        {1, "1.0"},
        {0.1, "0.1"},
        {0.07, "0.07"}, /* 0.07000000000000001 with 16 digits */
        {-2.5, "-2.5"},
        {1e21, "1e+21"},
        {5e-324, "5e-324"},
        {1e-310, "1e-310"},
        {1.0 / 3, "0.3333333333333333"},
        {0.1 + 0.2, "0.30000000000000004"},
        {DBL_MIN, "2.2250738585072014e-308"},
        {DBL_MAX, "1.7976931348623157e+308"},
        {NAN, "nan"},
        {INFINITY, "inf"},
    };
    char buffer[32];
    (void)state;
    for (size_t i = 0; i < sizeof cases / sizeof cases[0]; i++)
        assert_string_equal(tbed_format_f64(buffer, cases[i].value), cases[i].text);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(values_of_each_kind_are_written),
        cmocka_unit_test(texts_are_escaped),
        cmocka_unit_test(a_zero_byte_is_escaped_although_it_ends_the_list_of_those_kept),
        cmocka_unit_test(integers_are_as_printf_prints_them),
        cmocka_unit_test(doubles_are_as_short_as_they_can_be),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
