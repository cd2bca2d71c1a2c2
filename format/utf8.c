/*
 * UTF-8, checked by the table of RFC 3629.
 *
 * SPDX-License-Identifier: MIT
 */
#include "format/utf8.h"

#include <stdbool.h>
#include <string.h>

static bool is_continuation(uint8_t byte)
{
    return (byte & 0xC0) == 0x80;
}

static size_t three_byte_step(const uint8_t *at, size_t nbytes)
{
    if (nbytes < 3 || !is_continuation(at[1]) || !is_continuation(at[2]))
        return 0;
    if (at[0] == 0xE0 && at[1] < 0xA0) /* overlong */
        return 0;
    if (at[0] == 0xED && at[1] > 0x9F) /* surrogate */
        return 0;
    return 3;
}

static size_t four_byte_step(const uint8_t *at, size_t nbytes)
{
    if (nbytes < 4 || !is_continuation(at[1]) || !is_continuation(at[2]) || !is_continuation(at[3]))
        return 0;
    if (at[0] == 0xF0 && at[1] < 0x90) /* overlong */
        return 0;
    if (at[0] == 0xF4 && at[1] > 0x8F) /* above U+10FFFF */
        return 0;
    return 4;
}

size_t tbed_utf8_step(const uint8_t *at, size_t nbytes)
{
    if (nbytes == 0)
        return 0;
    uint8_t first = at[0];
    if (first < 0x80)
        return 1;
    if (first >= 0xC2 && first <= 0xDF)
        return nbytes >= 2 && is_continuation(at[1]) ? 2 : 0;
    if (first >= 0xE0 && first <= 0xEF)
        return three_byte_step(at, nbytes);
    if (first >= 0xF0 && first <= 0xF4)
        return four_byte_step(at, nbytes);
    return 0;
}

size_t tbed_utf8_valid_nbytes(const uint8_t *text, size_t nbytes)
{
    size_t at = 0;
    while (at < nbytes) {
        uint64_t word;
        while (nbytes - at >= 8) { /* eight ASCII bytes at a time */
            memcpy(&word, text + at, 8);
            if (word & 0x8080808080808080u)
                break;
            at += 8;
        }
        if (at == nbytes)
            break;
        size_t step = tbed_utf8_step(text + at, nbytes - at);
        if (step == 0)
            break;
        at += step;
    }
    return at;
}
