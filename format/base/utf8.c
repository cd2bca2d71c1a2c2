/*
 * UTF-8, checked by the table of RFC 3629.
 *
 * SPDX-License-Identifier: MIT
 */
#include "format/base/utf8.h"

#include <string.h>

size_t tbed_utf8_step(const uint8_t *at, size_t nbytes)
{
    struct tbed_utf8 point;
    if (nbytes == 0 || at[0] < 0x80)
        return nbytes > 0;
    if (!tbed_utf8_begin(&point, at[0]) || point.left >= nbytes)
        return 0;
    size_t size = 1;
    while (point.left > 0)
        if (!tbed_utf8_continue(&point, at[size++]))
            return 0;
    return size;
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

size_t tbed_utf8_cut_nbytes(const uint8_t *text, size_t nbytes)
{
    size_t start = nbytes; /* bytes of the last code point, if it has more than one */
    while (start > 0 && nbytes - start < 4 && (text[start - 1] & 0xC0) == 0x80)
        start--;
    if (start == 0 || text[start - 1] < 0xC0)
        return nbytes;
    struct tbed_utf8 point;
    bool is_cut = tbed_utf8_begin(&point, text[start - 1]) && point.left > nbytes - start;
    return is_cut ? start - 1 : nbytes;
}
