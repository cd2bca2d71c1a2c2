/*
 * UTF-8, against the definition: encode every code point, and it is one step; anything else is none.
 *
 * SPDX-License-Identifier: MIT
 */
#include "format/base/utf8.h"

#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <string.h>

#include <cmocka.h>

/* The definition in RFC 3629, taken literally. */
static size_t encode(uint32_t point, uint8_t bytes[4])
{
    if (point < 0x80) {
        bytes[0] = (uint8_t)point;
        return 1;
    }
    size_t nbytes = point < 0x800 ? 2 : point < 0x10000 ? 3 : 4;
    for (size_t i = nbytes - 1; i > 0; i--, point >>= 6)
        bytes[i] = (uint8_t)(0x80 | (point & 0x3F));
    bytes[0] = (uint8_t)(0xF00 >> nbytes | point);
    return nbytes;
}

static void every_code_point_is_one_step(void **state)
{
    uint8_t bytes[4];
    (void)state;
    for (uint32_t point = 0; point < 0x110000; point++) {
        size_t nbytes = encode(point, bytes);
        if (point >= 0xD800 && point < 0xE000) {
            assert_int_equal(tbed_utf8_step(bytes, nbytes), 0);
            continue;
        }
        assert_int_equal(tbed_utf8_step(bytes, nbytes), nbytes);
        assert_int_equal(tbed_utf8_step(bytes, nbytes - 1), 0);
        assert_int_equal(tbed_utf8_valid_nbytes(bytes, nbytes), nbytes);
    }
}

/* Wherever a text is cut, it ends with the last complete code point. */
static void a_cut_is_between_code_points(void **state)
{
    static const uint32_t points[] = {'a', 0xE9, 0x20AC, 0x10348, 'b', 0x7FF, 0xFFFD};
    uint8_t text[4 * sizeof points / sizeof points[0]];
    size_t nbytes = 0, whole = 0;
    (void)state;
    for (size_t i = 0; i < sizeof points / sizeof points[0]; i++) {
        size_t end = nbytes + encode(points[i], text + nbytes);
        for (; nbytes < end; nbytes++)
            assert_int_equal(tbed_utf8_cut_nbytes(text, nbytes), whole);
        whole = end;
        assert_int_equal(tbed_utf8_cut_nbytes(text, end), end);
    }
    /* Bytes that are not a code point are not cut off; another check reports them. */
    assert_int_equal(tbed_utf8_cut_nbytes((const uint8_t *)"\x80\x80\x80\x80\x80", 5), 5);
    assert_int_equal(tbed_utf8_cut_nbytes((const uint8_t *)"a\xFF", 2), 2);
}

/* All sequences of three bytes after a lead of four, and of one and two; the number that is accepted is known. */
static void nothing_else_is_a_step(void **state)
{
    uint8_t bytes[4];
    size_t counts[5] = {0};
    (void)state;
    for (uint32_t lead = 0; lead < 256; lead++)
        for (uint32_t second = 0; second < 256; second++)
            for (uint32_t third = 0x70; third < 0xD0; third += 8) {
                bytes[0] = (uint8_t)lead;
                bytes[1] = (uint8_t)second;
                bytes[2] = (uint8_t)third;
                bytes[3] = 0x80;
                counts[tbed_utf8_step(bytes, 4)]++;
            }
    assert_int_equal(counts[1], 128 * 256 * 12);
    assert_int_equal(counts[2], (0xE0 - 0xC2) * 64 * 12);
    /* 8 of the 12 third bytes are continuations; E0 and ED have 32 second bytes, the other 14 have 64 */
    assert_int_equal(counts[3], (14 * 64 + 32 + 32) * 8);
    assert_int_equal(counts[4], (48 + 3 * 64 + 16) * 8);
}

static void long_text_is_valid_up_to_its_first_bad_byte(void **state)
{
    uint8_t text[100];
    (void)state;
    for (size_t bad = 0; bad < sizeof text; bad++) {
        memset(text, 'a', sizeof text);
        text[bad] = 0xFF;
        assert_int_equal(tbed_utf8_valid_nbytes(text, sizeof text), bad);
    }
    memset(text, 'a', sizeof text);
    assert_int_equal(tbed_utf8_valid_nbytes(text, sizeof text), sizeof text);
    assert_int_equal(tbed_utf8_valid_nbytes(text, 0), 0);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(every_code_point_is_one_step),
        cmocka_unit_test(nothing_else_is_a_step),
        cmocka_unit_test(a_cut_is_between_code_points),
        cmocka_unit_test(long_text_is_valid_up_to_its_first_bad_byte),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
